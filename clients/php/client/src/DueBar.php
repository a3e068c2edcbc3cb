<?php

declare(strict_types=1);

namespace Adjourn;

/** How many jobs are due in a part of a time. */
final readonly class DueBar
{
    /** @param ?\DateTimeImmutable $start it goes on to the next bar, and the last one has no end; null for the jobs before the first bar */
    public function __construct(
        public ?\DateTimeImmutable $start,
        public int $jobs,
    ) {
    }

    /**
     * @param array{start_ms: int, jobs: int} $fields
     *
     * @internal
     */
    public static function of(array $fields): self
    {
        return new self($fields['start_ms'] === 0 ? null : Time::at($fields['start_ms']), $fields['jobs']);
    }
}
