<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ConnectionError;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\ServerError;
use Adjourn\Options;
use Adjourn\Protocol\Malformed;

/** The way to a connection: goes round the addresses, says HELLO, and waits between two rounds. */
final class Connector
{
    private const WAIT_MS_MAX = 500;
    /** A wait for a socket may end this much before its time. */
    private const EARLY_MS_MAX = 1;
    private const REPEATS_MAX = 10;

    private readonly Greeting $greeting;
    private int $dialAtMs = 0;
    /** Rounds in which nobody answered, for a push that may have been applied. */
    private int $repeats = 0;

    public function __construct(
        private readonly Options $options,
        private readonly Dialer $dialer,
        private readonly Clock $clock,
        private readonly Search $search,
        private readonly Calls $calls,
        private readonly Feeds $feeds,
    ) {
        $this->greeting = new Greeting($options, $clock);
    }

    /** The connection is over: the next round is after a wait. */
    public function pause(): void
    {
        $this->dialAtMs = $this->clock->nowMs() + $this->search->waitMs();
    }

    /** A welcomed connection, or null if there is none yet. `$last` is the session to resume. */
    public function connect(?Welcome $last, int $untilMs): ?Welcomed
    {
        $now = $this->clock->nowMs();
        if ($now < $this->dialAtMs) {
            $this->clock->sleepMs(min($this->dialAtMs - $now, max($untilMs - $now, 1), self::WAIT_MS_MAX));

            return null;
        }
        $wasAnswered = false;
        $mayStillAnswer = false;
        $error = null;
        foreach ($this->search->round() as $address) {
            $now = $this->clock->nowMs();
            if ($now >= $untilMs) {
                return null;
            }
            $patienceMs = $this->search->patienceMs($this->options->connectTimeoutMs);
            $giveUpAtMs = min($now + $patienceMs, $untilMs);
            try {
                $reply = $this->greet($address, $last, $giveUpAtMs);
            } catch (ConnectionError|ProtocolError $error) {
                $this->options->logger->debug("adjourn: $address: {$error->getMessage()}");
                if ($this->clock->nowMs() < $giveUpAtMs - self::EARLY_MS_MAX) {
                    $this->search->answered($address);
                } else {
                    $this->search->silent($address);
                    $mayStillAnswer = $mayStillAnswer || $patienceMs < $this->options->connectTimeoutMs;
                }
                continue;
            }
            $this->search->answered($address);
            if ($reply instanceof Welcomed) {
                $this->repeats = 0;

                return $reply;
            }
            $wasAnswered = true;
            $this->search->pause($reply->retryAfterMs);
            $this->search->hint($reply->leader);
            $error = ServerError::of($reply);
            if (!$reply->isRetryable && $reply->known() !== ErrorCode::SessionUnknown) {
                $this->calls->failAll($error);

                return null;
            }
        }
        $this->pause();
        $repeats = $this->calls->haveDoubtfulPush() && ++$this->repeats <= self::REPEATS_MAX;
        if ($last === null && !$wasAnswered && !$mayStillAnswer && $error !== null && !$repeats) {
            // A first connection fails in the first round in which each address had its whole time: the address may be wrong. But a
            // push under a key that may have been applied is worth a few more.
            $this->calls->failAll($error);
        }
        foreach ($this->calls->open as $call) {
            // What the caller is told if its time is over before it was sent.
            $call->error = $call->mayBeApplied ? null : $error;
        }

        return null;
    }

    /** Says HELLO. */
    private function greet(Address $address, ?Welcome $last, int $untilMs): Welcomed|ErrorReply
    {
        $wire = new Wire($this->dialer->dial($address, max(1, $untilMs - $this->clock->nowMs())));
        $said = $this->clock->nowMs();
        $wire->queue($this->greeting->hello($last, $this->calls->haveSession));
        if ($last === null && ($this->search->isAlone() || !$this->calls->haveSession)) {
            // No session, or a new one: what waits goes in the same packet. It is refused if HELLO is. A member that does not answer
            // would leave the outcome of what cannot be repeated unknown, although another one may answer.
            $this->calls->send($wire, $said, onlyRepeatable: !$this->search->isAlone());
        }
        $reply = null;
        $garbled = null;
        try {
            $reply = $this->greeting->await($wire, $untilMs);
        } catch (Malformed $garbled) {
            // It knows no PUSH.
            $wire->sentBytes = 0;
            throw new ProtocolError("$address does not speak this protocol: {$garbled->getMessage()}", $garbled);
        } finally {
            // Also if a signal handler has thrown, perhaps before the sent bytes were counted.
            if (($reply ?? $garbled) === null && $last !== null) {
                $this->search->gaveUpHello();
            }
            if (!$reply instanceof Welcome) {
                if ($reply instanceof ErrorReply || $wire->isRefused) {
                    // Nothing that was sent behind a refused HELLO is applied, and nothing that was not read.
                    $wire->sentBytes = 0;
                }
                $wire->close();
                $this->feeds->takeOffWire();
                $this->calls->takeOffWire($wire, $last !== null);
            }
        }

        return match (true) {
            $reply instanceof Welcome => new Welcomed($wire, $reply, $said),
            $reply instanceof ErrorReply => $reply,
            default => throw new ConnectionError("$address: " . ($wire->failure?->getMessage() ?? 'it did not answer HELLO.'), $wire->failure),
        };
    }
}
