<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ScheduleFrames;

/** What a schedule does when the clocks of its zone are changed. */
enum Dst: int
{
    /** As cron: a time that is skipped fires at once after the gap, a repeated one fires once. */
    case Vixie = ScheduleFrames::DST_VIXIE;
    /** A time that is skipped does not fire, a repeated one fires twice. */
    case Literal = ScheduleFrames::DST_LITERAL;
    /** A mode that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
