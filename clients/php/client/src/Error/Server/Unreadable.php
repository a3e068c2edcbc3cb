<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The server's disk cannot read the requested data. What to do: tell the operator; the message names the file. */
final class Unreadable extends ServerError
{
}
