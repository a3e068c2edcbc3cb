<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job is not in the required state. */
final class WrongState extends ServerError
{
}
