<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * The token lacks the right that this request needs. What to do: use a token with that right, or add the right to this one; the
 * message names it.
 */
final class Forbidden extends ServerError
{
}
