<?php

declare(strict_types=1);

namespace Adjourn;

/** Where a group of a topic stands. */
final readonly class GroupReport
{
    public function __construct(
        public string $name,
        /** Its jobs that wait for a consumer. */
        public int $ready,
        /** Its jobs that a consumer has. */
        public int $reserved,
        /** For how many milliseconds the next of its jobs has been ready; 0 if none is. */
        public int $oldestMs,
        /** How many jobs it gives at a turn, 1 to 1,000. */
        public int $weight,
        /** `setGroup` paused it. */
        public bool $isPaused,
        /** What holds it back; null if nothing does. */
        public ?Why $hold,
        /** When that ends, on the wall clock; null if it is not known. */
        public ?int $untilMs,
    ) {
    }

    /** @param array<string, mixed> $f an item of GROUPS */
    public static function of(array $f): self
    {
        $hold = Why::of($f['hold']);

        return new self(
            $f['name'],
            $f['ready'],
            $f['reserved'],
            $f['oldest_ms'],
            $f['weight'],
            $f['paused'] !== 0,
            $hold === Why::Next ? null : $hold,
            $f['until_ms'] ?: null,
        );
    }
}
