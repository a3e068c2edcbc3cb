<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\LeaseEnd;

/**
 * How long the client may treat its leases as its own. It counts from moments that are never later than the server's:
 * when HELLO, PING or a request was sent, not when its answer came.
 */
final class LeaseClock
{
    /** The two clocks may differ in speed by one part in this many. */
    private const DRIFT_PARTS = 1000;
    /** A pair of clocks is used for this long if no better one comes. */
    private const PAIR_MS_MAX = 10_000;

    /** Changes each time that all leases of the session are lost. */
    public int $epoch = 0;
    /** Why they were lost last. */
    public LeaseEnd $why = LeaseEnd::Stale;
    /** Null: the leases do not end with the session. */
    private ?int $graceMs = null;
    private int $provenMs = 0;
    private ?int $lostMs = null;
    private int $saidMs = 0;
    private int $clockMs = 0;

    /** What is left of a time for sure. */
    public static function surely(int $ms): int
    {
        return $ms - intdiv($ms + self::DRIFT_PARTS - 1, self::DRIFT_PARTS);
    }

    /** A connection was welcomed whose HELLO was sent at `saidMs`. */
    public function welcomed(int $saidMs, ?int $graceMs, bool $areKept, int $clockMs): void
    {
        if (!$areKept) {
            $this->why = LeaseEnd::Stale;
            ++$this->epoch;
        }
        // A WELCOME that keeps leases proves nothing: a node that was followed as leader may have sent it.
        if (!$areKept || $this->lostMs !== null) {
            $this->provenMs = $saidMs;
            $this->lostMs = null;
        }
        $this->graceMs = $graceMs === null ? null : self::surely($graceMs);
        $this->clockMs = 0;
        $this->showsClock($saidMs, $clockMs);
    }

    /**
     * PONG to a PING that was sent at `saidMs`, or WELCOME to HELLO. Each pair is a lower bound; the one whose answer was
     * under way for the shortest time is the best, until the clocks may have drifted.
     */
    public function showsClock(int $saidMs, int $clockMs): void
    {
        if ($clockMs <= 0) {
            return;
        }
        $isBetter = $saidMs - $clockMs > $this->saidMs - $this->clockMs;
        if ($this->clockMs === 0 || $isBetter || $saidMs - $this->saidMs > self::PAIR_MS_MAX) {
            $this->saidMs = $saidMs;
            $this->clockMs = $clockMs;
        }
    }

    /** An answer came that proves that the session was connected to the leader after `sentMs`. */
    public function proven(int $sentMs): void
    {
        if ($this->lostMs === null || $sentMs > $this->lostMs) {
            $this->lostMs = null;
            $this->provenMs = max($this->provenMs, $sentMs);
        }
    }

    public function provenMs(): int
    {
        return $this->provenMs;
    }

    /** Presumes all leases lost if it is time. Says whether that is new. */
    public function presume(int $nowMs): bool
    {
        if ($this->graceMs === null || $this->lostMs !== null || $nowMs < $this->provenMs + $this->graceMs) {
            return false;
        }
        $this->lostMs = $nowMs;
        $this->why = LeaseEnd::PresumedLost;
        ++$this->epoch;

        return true;
    }

    public function areLost(): bool
    {
        return $this->lostMs !== null;
    }

    /** When the leases are to be presumed lost; null if never. */
    public function lostAtMs(): ?int
    {
        return $this->graceMs === null || $this->lostMs !== null ? null : $this->provenMs + $this->graceMs;
    }

    /** For how long a delivered job is the client's own, from `nowMs` on; 0 or less if its lease is over. */
    public function leftMs(int $nowMs, int $ttrLeftMs, int $deadlineMs): int
    {
        $left = $ttrLeftMs;
        if ($this->clockMs > 0 && $deadlineMs > 0) {
            $left = min($left, $this->saidMs + $deadlineMs - $this->clockMs - $nowMs);
        }

        return $left <= 0 ? 0 : self::surely($left);
    }
}
