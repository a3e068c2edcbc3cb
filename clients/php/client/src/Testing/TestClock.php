<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Connection\Clock;
use Adjourn\Time;

/** A clock that stands still until a test moves it. */
final class TestClock implements Clock
{
    private int $nowMs = 0;
    private readonly int $startMs;

    public function __construct(?\DateTimeInterface $start = null)
    {
        $this->startMs = Time::ms($start ?? new \DateTimeImmutable('2026-01-01T00:00:00Z'));
    }

    public function nowMs(): int
    {
        return $this->nowMs;
    }

    public function wallMs(): int
    {
        return $this->startMs + $this->nowMs;
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
