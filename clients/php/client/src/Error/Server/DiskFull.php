<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The disk is nearly full: pushes are refused. What to do: free space on the server; settling and deleting still work. */
final class DiskFull extends ServerError
{
}
