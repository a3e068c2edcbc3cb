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

    /** @param array<string, mixed> $f the fields of the answer */
    public static function of(array $f): self
    {
        return new self(
            $f['now'],
            $f['uptime_ms'],
            $f['connections'],
            $f['sessions'],
            $f['waiting'],
            $f['applied_index'],
            $f['term'],
            bin2hex(strrev($f['state_hash'])),
            TopicReport::of($f['totals']),
            array_map(TopicReport::of(...), $f['topics']),
            array_map(StageReport::of(...), $f['stages']),
        );
    }
}
