<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ScheduleFrames;

/** Where a schedule stands. */
final readonly class ScheduleState
{
    public function __construct(
        /** Its id. */
        public int $schedule,
        /** Its next instant, on the wall clock; null if there is none any more. */
        public ?int $nextMs,
        /** Instants at which it pushed a job. */
        public int $fired,
        /** How often it was set; `setSchedule` can be made to depend on it. */
        public int $version,
        /** Its jobs that have not ended. */
        public int $running,
        /** Jobs that failed one after another until now. */
        public int $failures,
        /** Why it does not fire at present; null if it fires. */
        public ?PausedReason $paused,
        /** What the user who paused it noted; empty for nothing. */
        public string $pauseNote,
        /** Its next instant has come, and is about to be fired. */
        public bool $hasCome,
        /** Its next instant has come, and waits until an earlier job has ended. */
        public bool $isHeld,
    ) {
    }

    /** @param array<string, mixed> $f the state and the note of SCHEDULE, or an item of SCHEDULES */
    public static function of(array $f): self
    {
        return new self(
            $f['schedule'],
            $f['next_ms'] ?: null,
            $f['fired'],
            $f['version'],
            $f['running'],
            $f['failures'],
            PausedReason::of($f['paused']),
            $f['pause_note'],
            ($f['marks'] & ScheduleFrames::SCHEDULE_MARKS_COME) !== 0,
            ($f['marks'] & ScheduleFrames::SCHEDULE_MARKS_HELD) !== 0,
        );
    }
}
