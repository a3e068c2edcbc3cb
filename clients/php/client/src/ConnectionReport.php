<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\TopicFrames;

/** A client that is connected to the leader. */
final readonly class ConnectionReport
{
    /** @param list<string> $topics some of the topics that it waits for */
    public function __construct(
        public int $connection,
        public ?int $session,
        public int $sinceMs,
        public int $leases,
        public int $subscriptions,
        public int $reserves,
        public int $creditJobs,
        public int $creditBytes,
        public int $unsentBytes,
        public bool $hasMoreTopics,
        public string $address,
        public string $clientName,
        public array $topics,
    ) {
    }

    /** @param array<string, mixed> $f */
    public static function of(array $f): self
    {
        return new self(
            $f['connection'],
            $f['session'] ?: null,
            $f['since_ms'],
            $f['leases'],
            $f['subscriptions'],
            $f['reserves'],
            $f['credit_jobs'],
            $f['credit_bytes'],
            $f['unsent_bytes'],
            ($f['marks'] & TopicFrames::CONNECTION_MARKS_MORE_TOPICS) !== 0,
            $f['address'],
            $f['client_name'],
            $f['topics'],
        );
    }
}
