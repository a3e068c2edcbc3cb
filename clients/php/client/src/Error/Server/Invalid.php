<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** A value is out of range. What to do: correct the value; the message names it. */
final class Invalid extends ServerError
{
}
