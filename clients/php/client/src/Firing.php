<?php

declare(strict_types=1);

namespace Adjourn;

/** What a schedule did at an instant, or at several ones. Times are on the wall clock. */
final readonly class Firing
{
    public function __construct(
        /** The instant; the first of several that it skipped together. */
        public int $instantMs,
        /** The last of them. */
        public int $lastMs,
        /** How many they are; 10,000 means that or more. */
        public int $instants,
        /** When the schedule fired or skipped it. */
        public int $atMs,
        /** The job that it pushed; null if it skipped it. */
        public ?int $job,
        /** What became of it. */
        public FiringOutcome $outcome,
    ) {
    }

    /** @param array<string, mixed> $f an item of the history in SCHEDULE */
    public static function of(array $f): self
    {
        return new self($f['instant_ms'], $f['last_ms'], $f['instants'], $f['at_ms'], $f['job'] ?: null, FiringOutcome::of($f['fired']));
    }
}
