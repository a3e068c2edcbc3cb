<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** Limits of the server; before the first WELCOME, those of a server with the default configuration. */
final readonly class Limits
{
    public function __construct(
        public int $frameBytesMax = 1_114_112,
        public int $bodyBytesMax = 1_048_576,
        public int $pushJobsMax = 4096,
        public int $leasesMax = 4096,
        public int $reserveJobsMax = 1024,
        public int $inFlightMax = 1024,
    ) {
    }
}
