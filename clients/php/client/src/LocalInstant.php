<?php

declare(strict_types=1);

namespace Adjourn;

/** An instant of a schedule, and what the clocks of its zone show. */
final readonly class LocalInstant
{
    public function __construct(
        public int $instantMs,
        /** Date, time, offset and abbreviation in the zone: `2027-03-28 03:00:00 +02:00 CEST`. */
        public string $local,
    ) {
    }
}
