<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * HELLO is missing, its token is unknown or has expired, or the token does not grant this request. What to do: show the message:
 * HELLO needs another token, or the token another right.
 */
final class Unauthorised extends ServerError
{
}
