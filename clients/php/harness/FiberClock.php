<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Connection\Clock;
use Adjourn\Connection\SystemClock;

/** Lets other fibers run while one sleeps. */
final class FiberClock implements Clock
{
    private readonly SystemClock $inner;

    public function __construct()
    {
        $this->inner = new SystemClock();
    }

    public function nowMs(): int
    {
        return $this->inner->nowMs();
    }

    public function sleepMs(int $ms): void
    {
        if (\Fiber::getCurrent() === null) {
            $this->inner->sleepMs($ms);

            return;
        }
        $until = $this->nowMs() + $ms;
        do {
            \Fiber::suspend();
        } while ($this->nowMs() < $until);
    }
}
