<?php

declare(strict_types=1);

namespace Adjourn;

enum JobState: int
{
    case Delayed = 0;
    case Ready = 1;
    case Reserved = 2;
    case Buried = 3;
    /** Finished, and still remembered. */
    case Finished = 4;
    /** A state of a newer server. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
