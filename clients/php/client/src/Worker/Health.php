<?php

declare(strict_types=1);

namespace Adjourn\Worker;

/** What a worker does. `isConsuming` is the question of a health check: would a ready job be worked on? */
final readonly class Health
{
    /** @param int|null $answeredMsAgo when the queue answered last */
    public function __construct(
        public bool $isConsuming,
        public bool $isStopping,
        public ?int $answeredMsAgo,
        public int $finished,
        public int $failed,
        public int $lost,
        public ?int $currentJob,
    ) {
    }
}
