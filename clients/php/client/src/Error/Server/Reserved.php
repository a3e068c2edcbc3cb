<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job is reserved, and the request needs one that is not. */
final class Reserved extends ServerError
{
}
