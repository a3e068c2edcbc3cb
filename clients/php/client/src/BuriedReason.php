<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/** Why a job is buried. */
enum BuriedReason: int
{
    /** A consumer buried it, or its push. */
    case ByConsumer = 1;
    /** Its attempts are used up. */
    case AttemptsUsedUp = 2;
    /** It was too late. */
    case TooLate = 3;
    /** A reason that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    /** Null for 0. */
    public static function of(int $number): ?self
    {
        return $number === 0 ? null : self::tryFrom($number) ?? self::Unknown;
    }
}
