<?php

declare(strict_types=1);

namespace Adjourn;

/** A job after a change. After a delete, its state before. */
final readonly class Changed
{
    public function __construct(
        public int $job,
        public int $dueMs,
        public JobState $state,
        /** After the change, and of a deleted job before it. Null if it is not known. */
        public ?int $version = null,
    ) {
    }

    /** @param array<string, mixed> $f the fields of the answer */
    public static function of(array $f): self
    {
        return new self($f['job'], $f['due_ms'], JobState::of($f['state']), $f['version'] ?: null);
    }
}
