<?php

declare(strict_types=1);

namespace Adjourn;

enum BuriedReason: int
{
    case ByConsumer = 1;
    case AttemptsUsedUp = 2;
    case TooLate = 3;
    /** A reason of a newer server. No frame has this number. */
    case Unknown = -1;

    /** Null for a job that is not buried. */
    public static function of(int $number): ?self
    {
        return $number === 0 ? null : self::tryFrom($number) ?? self::Unknown;
    }
}
