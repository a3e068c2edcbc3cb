<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ScheduleFrames;

/** Which of the instants of a schedule that passed unnoticed are fired late. */
enum Missed: int
{
    /** None of them. */
    case None = ScheduleFrames::MISSED_NONE;
    /** The last one. */
    case Last = ScheduleFrames::MISSED_LAST;
    /** All of them, up to a number. */
    case All = ScheduleFrames::MISSED_ALL;
    /** A choice that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
