<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** When to send a heartbeat, and when a connection counts as lost. */
final class Pulse
{
    /** While the client waits for something, it asks at least this often whether the server is there. */
    private const EVERY_MS_MAX = 3000;
    /** A server may take so long for an answer while nothing else moves, or two heartbeats if that is more. */
    private const ANSWER_MS_MAX = 5000;

    private readonly int $everyMs;
    /** How long an answer may take while nothing else moves. */
    private readonly int $answerMs;
    private int $heardMs;
    private int $spokenMs;
    private int $pingedMs;
    private int $movedMs;
    /** The client was not in this library before: a silence until then says nothing of the server. */
    private int $listensSinceMs;
    private int $lookedMs;

    public function __construct(int $nowMs, int $heartbeatMs, ?int $graceMs)
    {
        $wish = $heartbeatMs > 0 ? $heartbeatMs : self::EVERY_MS_MAX;
        $this->everyMs = max(25, min($wish, self::EVERY_MS_MAX, $graceMs === null ? PHP_INT_MAX : max(100, intdiv($graceMs, 4))));
        $this->answerMs = max(self::ANSWER_MS_MAX, 2 * $this->everyMs);
        $this->heardMs = $this->spokenMs = $this->pingedMs = $this->movedMs = $nowMs;
        $this->listensSinceMs = $this->lookedMs = $nowMs;
    }

    /** Called in each step. Says whether the client has been away. */
    public function looks(int $nowMs): bool
    {
        $wasAway = $nowMs - $this->lookedMs > $this->everyMs;
        if ($wasAway) {
            $this->listensSinceMs = $nowMs;
        }
        $this->lookedMs = $nowMs;

        return $wasAway;
    }

    /** The client has waited for its socket, where it hears everything, until `untilMs`. Only what came on top of that was an absence. */
    public function waited(int $untilMs, int $nowMs): void
    {
        if ($nowMs - $untilMs > $this->everyMs) {
            $this->listensSinceMs = $nowMs;
        }
        $this->lookedMs = $nowMs;
    }

    /** Bytes came. */
    public function heard(int $nowMs): void
    {
        $this->heardMs = $nowMs;
    }

    /** Bytes were taken by the socket. */
    public function spoken(int $nowMs): void
    {
        $this->spokenMs = $this->movedMs = $nowMs;
    }

    /** An answer came that a server gives only if it makes progress. */
    public function moved(int $nowMs): void
    {
        $this->movedMs = $nowMs;
    }

    public function pinged(int $nowMs): void
    {
        $this->pingedMs = $nowMs;
    }

    /** When to send PING. */
    public function pingAtMs(?int $provenMs): int
    {
        $quiet = min($this->heardMs, $this->spokenMs, $provenMs ?? PHP_INT_MAX);

        return max($quiet, $this->pingedMs) + $this->everyMs;
    }

    /** When the connection counts as lost if nothing comes. */
    public function lostAtMs(): int
    {
        return max($this->heardMs, $this->listensSinceMs) + 2 * $this->everyMs;
    }

    /** When the connection is given up if a request that was due for its answer at `dueMs` gets none, and nothing else moves. */
    public function stuckAtMs(int $dueMs): int
    {
        return max($dueMs, $this->movedMs, $this->listensSinceMs) + $this->answerMs;
    }
}
