<?php

declare(strict_types=1);

namespace Adjourn;

/** What became of the instants of a schedule in a part of a time that has passed. */
final readonly class FilledPart
{
    public function __construct(
        /** Instants in this part. */
        public int $instants,
        /** Jobs that were pushed. A dry run pushes none. */
        public int $pushed,
        /** Instants whose job is in the topic already, by its key. */
        public int $kept,
        /** Jobs that the topic's policy, or a limit of the queue, does not allow. */
        public int $refused,
        /** From when the next part goes on; null if this was the last one. */
        public ?\DateTimeImmutable $next,
    ) {
    }

    /**
     * @param array{next_ms: int, bytes: int, instants: int, pushed: int, kept: int, refused: int} $f the fields of SCHEDULE_FILLED
     *
     * @internal
     */
    public static function of(array $f): self
    {
        return new self($f['instants'], $f['pushed'], $f['kept'], $f['refused'], $f['next_ms'] === 0 ? null : Time::at($f['next_ms']));
    }
}
