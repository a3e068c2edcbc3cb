<?php

declare(strict_types=1);

namespace Adjourn;

/** Counts of the whole queue. */
final readonly class Stats
{
    /**
     * @param list<TopicReport> $topics
     * @param list<StageReport> $stages where the time of the answering node goes; none from a server that does not know them
     */
    public function __construct(
        public int $nowMs,
        public int $uptimeMs,
        public int $connections,
        public int $sessions,
        public int $waiting,
        public int $appliedIndex,
        public int $term,
        public string $stateHash,
        public TopicReport $all,
        public array $topics,
        public array $stages = [],
    ) {
    }
}
