<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so. What to do: wait
 * `retry_after_ms`, then send less at once; finishing or deleting jobs frees memory.
 */
final class Busy extends ServerError
{
}
