<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ScheduleFrames;

/** What became of an instant of a schedule. */
enum FiringOutcome: int
{
    /** It pushed the job, which has not ended. */
    case Pushed = ScheduleFrames::FIRED_PUSHED;
    /** It pushed the job, and a consumer finished that. */
    case Finished = ScheduleFrames::FIRED_FINISHED;
    /** It pushed the job, and that was buried, or moved to the dead letters. */
    case Failed = ScheduleFrames::FIRED_FAILED;
    /** It pushed the job, and that was deleted or replaced. */
    case Deleted = ScheduleFrames::FIRED_DELETED;
    /** It pushed the job, and that expired, or was dropped because it was late. */
    case Expired = ScheduleFrames::FIRED_EXPIRED;
    /** It was skipped: it had passed when the schedule was looked at. */
    case Missed = ScheduleFrames::FIRED_MISSED;
    /** It was skipped: an earlier job had not ended. */
    case Overlap = ScheduleFrames::FIRED_OVERLAP;
    /** It was skipped: the topic's policy, or a limit of the queue, did not allow the job. */
    case Refused = ScheduleFrames::FIRED_REFUSED;
    /** It was skipped: the topic has a job with the key, which may be buried or remembered. */
    case KeyTaken = ScheduleFrames::FIRED_KEY_TAKEN;
    /** An outcome that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}
