<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The disk is nearly full: pushes are refused. */
final class DiskFull extends ServerError
{
}
