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
    /** By how much the wall clock was ahead of the monotonic one when they were read last. */
    private int $aheadMs = PHP_INT_MAX;

    public function nowMs(): int
    {
        $now = intdiv(hrtime(true), 1_000_000);
        $aheadMs = (int) (microtime(true) * 1000) - $now;
        if ($aheadMs - self::SLEPT_MS_MIN > $this->aheadMs) {
            $this->sleptMs += $aheadMs - $this->aheadMs;
        }
        $this->aheadMs = $aheadMs;

        return $now + $this->sleptMs;
    }

    public function sleepMs(int $ms): void
    {
        if ($ms > 0) {
            usleep($ms * 1000);
        }
    }
}
