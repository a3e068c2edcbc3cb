<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** Time as the client counts it, in milliseconds. */
interface Clock
{
    /** Never goes back, is not set by anybody, and counts the time for which the machine slept. */
    public function nowMs(): int;

    public function sleepMs(int $ms): void;
}
