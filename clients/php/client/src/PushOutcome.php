<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/** What became of a pushed job. */
enum PushOutcome: int
{
    /** It is in the queue, and durable; `job` is its id. */
    case Pushed = 0;
    /** A job with this key exists; `job` is the id of that one. */
    case Kept = 1;
    /** It took the place of the job with its key; `job` is its own, new id. */
    case Replaced = 2;
    /** `code` is an error code; `job` is the existing job for `KEY_EXISTS` and `RESERVED`, else 0. */
    case Refused = 3;
    /** The job with its key waits for the new due time; `job` is the id of that one. */
    case Postponed = 4;
}
