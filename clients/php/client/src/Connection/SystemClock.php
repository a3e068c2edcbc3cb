<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/**
 * The machine's monotonic clock. It stands still while the machine sleeps, and the wall clock does not: what the wall
 * clock gained meanwhile is added. Somebody who sets the wall clock forward makes leases end early here, never late.
 */
final class SystemClock implements Clock
{
    private const SLEPT_MS_MIN = 1000;

    private int $sleptMs = 0;
    private ?int $seenMs = null;
    private int $seenWallMs = 0;

    public function nowMs(): int
    {
        $now = intdiv(hrtime(true), 1_000_000);
        $wall = (int) (microtime(true) * 1000);
        if ($this->seenMs !== null) {
            $gained = ($wall - $this->seenWallMs) - ($now - $this->seenMs);
            if ($gained > self::SLEPT_MS_MIN) {
                $this->sleptMs += $gained;
            }
        }
        $this->seenMs = $now;
        $this->seenWallMs = $wall;

        return $now + $this->sleptMs;
    }

    public function sleepMs(int $ms): void
    {
        if ($ms > 0) {
            usleep($ms * 1000);
        }
    }
}
