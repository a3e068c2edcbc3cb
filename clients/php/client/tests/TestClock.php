<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Connection\Clock;

/** A clock that stands still until a test moves it. */
final class TestClock implements Clock
{
    private int $nowMs = 0;

    public function nowMs(): int
    {
        return $this->nowMs;
    }

    public function advance(int $ms): void
    {
        $this->nowMs += max(0, $ms);
    }

    public function sleepMs(int $ms): void
    {
        $this->advance($ms);
    }
}
