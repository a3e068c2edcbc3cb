<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. What to do: finish or
 * delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark *retryable*: wait `retry_after_ms`.
 */
final class Quota extends ServerError
{
}
