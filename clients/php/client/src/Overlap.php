<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ScheduleFrames;

/** What a schedule does at an instant while an earlier job of it has not ended. */
enum Overlap: int
{
    /** Pushes another job. */
    case Allow = ScheduleFrames::OVERLAP_ALLOW;
    /** Pushes no job. */
    case Skip = ScheduleFrames::OVERLAP_SKIP;
    /** Pushes the job as soon as the earlier one has ended; further instants until then are skipped. */
    case QueueOne = ScheduleFrames::OVERLAP_QUEUE_ONE;
    /** Deletes the earlier job, also a reserved one, and pushes another. */
    case Replace = ScheduleFrames::OVERLAP_REPLACE;
    /** A choice that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
