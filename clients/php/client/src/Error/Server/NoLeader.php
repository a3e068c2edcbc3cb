<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** No leader is elected yet. What to do: try again after `retry_after_ms`, here or at another member. */
final class NoLeader extends ServerError
{
}
