<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The frame or a field in it cannot be decoded. What to do: fix the client. */
final class Malformed extends ServerError
{
}
