<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/** Where a job stands. */
enum JobState: int
{
    /** Its due time lies ahead. */
    case Delayed = 0;
    /** It waits for a consumer. */
    case Ready = 1;
    /** A consumer holds it under a lease. */
    case Reserved = 2;
    /** It is set aside until somebody kicks it. */
    case Buried = 3;
    /** It was finished, and is still remembered. */
    case Finished = 4;
    /** A state that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
