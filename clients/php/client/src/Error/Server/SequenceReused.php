<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * The sequence number, or the idempotency key, of the job was used for another job. What to do: fix the client: each job needs its
 * own number. Push the job under a new one.
 */
final class SequenceReused extends ServerError
{
}
