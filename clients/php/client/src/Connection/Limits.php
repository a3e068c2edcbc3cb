<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Protocol\ConnectionFrames;

/** Limits of the server; before the first WELCOME, those of a server with the default configuration. */
final readonly class Limits
{
    public function __construct(
        public int $frameBytesMax = ConnectionFrames::DEFAULT_FRAME_BYTES_MAX,
        public int $bodyBytesMax = ConnectionFrames::DEFAULT_BODY_BYTES_MAX,
        public int $pushJobsMax = ConnectionFrames::DEFAULT_PUSH_JOBS_MAX,
        public int $leasesMax = ConnectionFrames::DEFAULT_LEASES_MAX,
        public int $reserveJobsMax = ConnectionFrames::DEFAULT_RESERVE_JOBS_MAX,
        public int $inFlightMax = ConnectionFrames::DEFAULT_IN_FLIGHT_MAX,
    ) {
    }
}
