<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Protocol\Opcode;

/** One connection, from WELCOME to its end: when to send PING, for how long to wait, and when to give it up. */
final class Link
{
    private const DRAIN_MS_MAX = 2000;
    private const WAIT_MS_MAX = 500;

    private readonly Pulse $pulse;
    /** When something was read last. */
    private int $readMs;
    private ?int $drainUntilMs = null;
    private string $drainWhy = '';

    /** @param bool $needsProof whether leases are lost without answers of the leader */
    public function __construct(
        public readonly Wire $wire,
        Welcome $welcome,
        ?int $graceMs,
        private readonly bool $needsProof,
        private readonly Calls $calls,
        private readonly LeaseClock $leases,
        private readonly Clock $clock,
    ) {
        $this->readMs = $clock->nowMs();
        $this->pulse = new Pulse($this->readMs, $welcome->heartbeatMs, $graceMs);
    }

    /** Nothing new is sent. The connection ends when the answers to what was sent have come, or do not come. */
    public function drain(string $why, int $msMax = self::DRAIN_MS_MAX): void
    {
        $this->drainUntilMs ??= $this->clock->nowMs() + $msMax;
        $this->drainWhy = $why;
    }

    public function isDraining(): bool
    {
        return $this->drainUntilMs !== null;
    }

    /** If the client was away, the connection may have ended since. Finds out before something is sent on it. */
    public function look(int $now): void
    {
        if ($this->pulse->looks($now)) {
            $this->read($now);
        }
    }

    /** An answer came that a server gives only if it makes progress. */
    public function moved(): void
    {
        $this->pulse->moved($this->readMs);
    }

    /** Sends PING if it is time, and what else may be sent. */
    public function send(int $now): void
    {
        if ($this->drainUntilMs === null) {
            if ($now >= $this->pulse->pingAtMs($this->provenMs())) {
                $this->calls->add(Opcode::Ping, [], isOwn: true);
                $this->pulse->pinged($now);
            }
            $this->calls->send($this->wire, $now);
        }
        if ($this->wire->flush()) {
            $this->pulse->spoken($now);
        }
    }

    /** Waits until something comes or has to be done, and takes what has come. If the connection is to be given up, says why instead. */
    public function wait(int $now, int $untilMs): ?string
    {
        $giveUpAtMs = $this->giveUpAtMs();
        if ($now >= $giveUpAtMs) {
            return $this->whyGivenUp($giveUpAtMs);
        }
        $wakeAt = max($now, min($untilMs, $giveUpAtMs, $this->nextTimer(), $now + self::WAIT_MS_MAX));
        $this->wire->wait($wakeAt - $now);
        $now = $this->clock->nowMs();
        $this->pulse->waited($wakeAt, $now);
        $this->read($now);

        return null;
    }

    private function read(int $now): void
    {
        if ($this->wire->receive()) {
            $this->pulse->heard($now);
            $this->readMs = $now;
        }
    }

    private function nextTimer(): int
    {
        $next = $this->drainUntilMs ?? $this->pulse->pingAtMs($this->provenMs());
        foreach ($this->calls->open as $call) {
            $next = min($next, $call->isDone ? PHP_INT_MAX : min($call->deadlineMs, $this->calls->latestMs));
            if (!$call->isOnWire && $call->notBeforeMs > 0) {
                $next = min($next, $call->notBeforeMs);
            }
        }

        return min($next, $this->leases->lostAtMs() ?? PHP_INT_MAX);
    }

    private function giveUpAtMs(): int
    {
        if ($this->drainUntilMs !== null) {
            return $this->calls->hasOnWire() ? $this->drainUntilMs : 0;
        }
        $atMs = $this->pulse->lostAtMs();
        foreach ($this->calls->open as $call) {
            if ($call->isOnWire) {
                $atMs = min($atMs, $this->pulse->stuckAtMs($call->sentMs + $call->waitMs));
            }
        }

        return $atMs;
    }

    private function whyGivenUp(int $atMs): string
    {
        if ($this->drainUntilMs !== null) {
            return $this->drainWhy;
        }
        foreach ($this->calls->open as $call) {
            if ($atMs < $this->pulse->lostAtMs() && $call->isOnWire && $this->pulse->stuckAtMs($call->sentMs + $call->waitMs) === $atMs) {
                return $call->opcode->name . ' got no answer';
            }
        }

        return 'nothing came for too long';
    }

    private function provenMs(): ?int
    {
        return $this->needsProof ? $this->leases->provenMs() : null;
    }
}
