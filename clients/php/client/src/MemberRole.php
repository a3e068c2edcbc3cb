<?php

declare(strict_types=1);

namespace Adjourn;

enum MemberRole: int
{
    case Learner = 0;
    case Voter = 1;
    case Leader = 2;
    /** A role of a newer server. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
