<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\TopicFrames;

/** Counts of one topic, or of the whole queue. */
final readonly class TopicReport
{
    public function __construct(
        public string $topic,
        public bool $isPaused,
        public int $delayed,
        public int $ready,
        public int $reserved,
        public int $buried,
        public int $pushed,
        public int $finished,
        public int $deleted,
        public int $expired,
        public int $oldestReadyMs,
        /** How many long polls and subscriptions want its jobs, on any member that the leader serves; 0 for the whole queue. */
        public int $consumers = 0,
        /** How many milliseconds late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered. */
        public int $lateMs = 0,
    ) {
    }

    /** @param array<string, mixed> $f of one topic, or the sums over all */
    public static function of(array $f): self
    {
        return new self(
            $f['topic'] ?? '',
            (($f['marks'] ?? 0) & TopicFrames::TOPIC_MARKS_PAUSED) !== 0,
            $f['delayed'],
            $f['ready'],
            $f['reserved'],
            $f['buried'],
            $f['pushed'],
            $f['finished'],
            $f['deleted'],
            $f['expired'],
            $f['oldest_ready_ms'],
            $f['consumers'] ?? 0,
            $f['late_ms'] ?? 0,
        );
    }

    /** Jobs that are delayed, ready, reserved or buried. */
    public function jobs(): int
    {
        return $this->delayed + $this->ready + $this->reserved + $this->buried;
    }
}
