<?php

declare(strict_types=1);

namespace Adjourn;

/** What PUSH does if the topic has a job with the same key. */
enum IfExists: int
{
    /** Refuse the new job. */
    case Reject = 0;
    /** Keep the old job, and answer with its id. */
    case Keep = 1;
    /** Replace the old job, unless it is reserved. */
    case Replace = 2;
    /** Replace the old job even if it is reserved: its lease is stale from then on. */
    case ReplaceAny = 3;
    /** Give the old job the new body and due time; it keeps its id. */
    case Postpone = 4;
}
