<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/** What happens if the topic has a job with the key. */
enum IfExists: int
{
    /** The push of this job is refused. */
    case Reject = 0;
    /** The job that is there stays; its id is the answer. */
    case Keep = 1;
    /** The new job takes its place, unless it is reserved. */
    case Replace = 2;
    /** The new job takes its place, even if it is reserved. */
    case ReplaceAny = 3;
    /** The job that is there waits for the new due time. */
    case Postpone = 4;
}
