<?php

declare(strict_types=1);

namespace Adjourn;

/** A schedule as it stands. */
final readonly class ScheduleReport
{
    /** @param list<Firing> $history what it did of late, the oldest first; at most 20 */
    public function __construct(
        public ScheduleState $state,
        public ScheduleRules $rules,
        public JobTemplate $template,
        public array $history,
    ) {
    }

    /** @param array<string, mixed> $f the fields of SCHEDULE */
    public static function of(array $f): self
    {
        return new self(
            ScheduleState::of($f['state'] + ['pause_note' => $f['pause_note']]),
            ScheduleRules::ofWire($f),
            JobTemplate::of($f),
            array_map(Firing::of(...), $f['history']),
        );
    }
}
