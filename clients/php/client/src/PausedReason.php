<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ScheduleFrames;

/** Why a schedule does not fire at present. */
enum PausedReason: int
{
    /** A user paused it. */
    case User = ScheduleFrames::PAUSED_USER;
    /** Too many of its jobs failed one after another. */
    case Failures = ScheduleFrames::PAUSED_FAILURES;
    /** A reason that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    /** Null for a schedule that fires. */
    public static function of(int $number): ?self
    {
        return $number === ScheduleFrames::PAUSED_NOT_PAUSED ? null : self::tryFrom($number) ?? self::Unknown;
    }
}
