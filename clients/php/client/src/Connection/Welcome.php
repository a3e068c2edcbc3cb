<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Protocol\ConnectionFrames;

/** What the server said in WELCOME. */
final readonly class Welcome
{
    /** @param list<string> $members client addresses */
    private function __construct(
        public string $clusterId,
        /** 0: none */
        public int $session,
        public string $secret,
        public bool $isResumed,
        public bool $areLeasesKept,
        public int $heartbeatMs,
        public int $graceMs,
        public Limits $limits,
        public string $serverName,
        public array $members,
        /** 0: not shown */
        public int $clockMs,
    ) {
    }

    /** @param array<string, mixed> $f */
    public static function of(array $f): self
    {
        return new self(
            $f['cluster_id'],
            $f['session'],
            $f['secret'],
            ($f['marks'] & ConnectionFrames::WELCOME_MARKS_RESUMED) !== 0,
            ($f['marks'] & ConnectionFrames::WELCOME_MARKS_LEASES_KEPT) !== 0,
            $f['heartbeat_ms'],
            $f['session_grace_ms'],
            new Limits(
                $f['frame_bytes_max'],
                $f['body_bytes_max'],
                $f['push_jobs_max'],
                $f['leases_max'],
                $f['reserve_jobs_max'],
                $f['in_flight_max'],
            ),
            $f['server_name'],
            array_column($f['members'], 'address'),
            $f['clock_ms'],
        );
    }
}
