<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The server's disk cannot read the requested data. */
final class Unreadable extends ServerError
{
}
