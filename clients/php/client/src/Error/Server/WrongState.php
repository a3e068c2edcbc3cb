<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job is not in the required state. What to do: check with GET. */
final class WrongState extends ServerError
{
}
