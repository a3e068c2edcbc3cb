<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/** What a member of the cluster is. */
enum MemberRole: int
{
    /** It receives the log and does not vote. */
    case Learner = 0;
    /** It votes, and its disk counts. */
    case Voter = 1;
    /** A voter that leads. */
    case Leader = 2;
    /** A role that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
