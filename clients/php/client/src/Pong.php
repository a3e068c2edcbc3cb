<?php

declare(strict_types=1);

namespace Adjourn;

/** The answer to PING: the server's wall clock, and how long the answer took. */
final readonly class Pong
{
    public function __construct(
        public int $nowMs,
        public int $roundTripMs,
    ) {
    }
}
