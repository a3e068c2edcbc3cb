<?php

declare(strict_types=1);

namespace Adjourn;

/** A schedule in a list. */
final readonly class ListedSchedule
{
    public function __construct(
        public string $topic,
        public string $name,
        public ScheduleState $state,
        public ScheduleRules $rules,
    ) {
    }

    /** @param array<string, mixed> $f an item of SCHEDULES */
    public static function of(array $f): self
    {
        return new self($f['topic'], $f['name'], ScheduleState::of($f), ScheduleRules::ofWire($f));
    }
}
