<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** A connection on which the server answered HELLO with WELCOME. */
final readonly class Welcomed
{
    public function __construct(
        public Wire $wire,
        public Welcome $welcome,
        /** When HELLO was sent, or earlier. */
        public int $saidMs,
    ) {
    }
}
