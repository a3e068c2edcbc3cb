<?php

declare(strict_types=1);

namespace Adjourn;

/** A schedule that was set. */
final readonly class Scheduled
{
    public function __construct(
        /** Its id. */
        public int $schedule,
        /** How often it was set. */
        public int $version,
        /** Its next instant, on the wall clock; null if there is none. */
        public ?int $nextMs,
    ) {
    }

    /** @param array<string, mixed> $f the fields of SCHEDULED */
    public static function of(array $f): self
    {
        return new self($f['schedule'], $f['version'], $f['next_ms'] ?: null);
    }
}
