<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. What to do: send HELLO first, with a
 * valid token.
 */
final class Unauthenticated extends ServerError
{
}
