<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job is no longer of the version that was named. */
final class Changed extends ServerError
{
}
