<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\ServerError;
use Adjourn\Error\TimeoutError;
use Adjourn\Limit;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Opcode;

use function count;
use function strlen;

/** The calls without an answer: which of them to send, which to send again, and what becomes of the others. */
final class Calls
{
    private const UNSENT_BYTES_MAX = 1 << 20;
    /** A call that was on so many garbled connections is not sent again: its answer may be what cannot be read. */
    private const FAULTS_MAX = 3;
    /** The request id of HELLO. No call has it. */
    public const HELLO_ID = 0xFFFFFFFF;

    /** @var array<int, Call> by request id, in the order of their first sending */
    public array $open = [];
    /** Of the server, as far as it is known. */
    public Limits $limits;
    /** Whether connections have a session, which numbers pushes. Without one, keys tell whether a push is a repeated one. */
    public bool $haveSession = false;
    /** No call waits for longer than until then. */
    public int $latestMs = PHP_INT_MAX;
    /** How long a call may take at most, because the process is to end; null: as long as its time-out says. */
    private ?int $hurryMs = null;
    private int $lastId = 0;
    private int $nextNumber = 1;

    /** @param \Closure(int): bool $isTaken whether a subscription has this request id */
    public function __construct(
        private readonly Clock $clock,
        private readonly int $timeoutMs,
        private readonly \Closure $isTaken,
    ) {
        $this->limits = new Limits();
    }

    public function get(int $id): ?Call
    {
        return $this->open[$id] ?? null;
    }

    public function hasOnWire(): bool
    {
        foreach ($this->open as $call) {
            if ($call->isOnWire) {
                return true;
            }
        }

        return false;
    }

    /** Whether a push under a key waits that may have been applied: sent again, it has a certain outcome. */
    public function haveDoubtfulPush(): bool
    {
        foreach ($this->open as $call) {
            if ($call->mayBeApplied && isset($call->fields['idempotency'])) {
                return true;
            }
        }

        return false;
    }

    /** @param array<string, mixed> $fields */
    public function add(Opcode $opcode, array $fields, ?int $timeoutMs = null, bool $isOwn = false, bool $isFirst = false): Call
    {
        do {
            // The largest id is HELLO's own.
            $id = $this->lastId = $this->lastId + 1 >= self::HELLO_ID ? 1 : $this->lastId + 1;
        } while (isset($this->open[$id]) || ($this->isTaken)($id));
        $call = new Call(
            $id,
            $opcode,
            $fields,
            $this->clock->nowMs(),
            $timeoutMs,
            $this->timeoutMs,
            $isOwn,
        );
        if ($this->hurryMs !== null) {
            $call->deadlineMs = min($call->deadlineMs, $call->madeMs + $this->hurryMs);
        }
        if ($isFirst) {
            $this->open = [$id => $call] + $this->open;
        } else {
            $this->open[$id] = $call;
        }

        return $call;
    }

    /** From now on no call takes longer than this, those under way included. Null takes it back for new ones. */
    public function hurry(?int $ms): void
    {
        $this->hurryMs = $ms;
        if ($ms !== null) {
            $latestMs = $this->clock->nowMs() + $ms;
            foreach ($this->open as $call) {
                $call->deadlineMs = min($call->deadlineMs, $latestMs);
            }
        }
    }

    /** It has its answer, or will get none. */
    public function done(Call $call): void
    {
        $call->isOnWire = false;
        unset($this->open[$call->id]);
    }

    public function fail(Call $call, \Throwable $error): void
    {
        $this->done($call);
        if (!$call->isDone) {
            $call->fail($error);
        }
    }

    public static function outcomeUnknown(Call $call, string $why): OutcomeUnknown
    {
        return new OutcomeUnknown($call->opcode->name . " may have been applied: $why");
    }

    /** Ends the calls whose deadline has passed. Those on the connection stay here until their answer comes, so that it is recognised. */
    public function expire(int $now): void
    {
        foreach ($this->open as $call) {
            if (($now < $call->deadlineMs && $now < $this->latestMs) || $call->isDone) {
                continue;
            }
            $isSent = $call->isOnWire || $call->mayBeApplied;
            $call->isCancelled ? $call->fulfil(['jobs' => []]) : $call->fail(match (true) {
                $call->isRead() || !$isSent => $call->error ?? new TimeoutError($call->opcode->name . ' got no answer in time.'),
                default => self::outcomeUnknown($call, 'no answer came in time.'),
            });
            $call->isAbandoned = true;
            if (!$call->isOnWire) {
                unset($this->open[$call->id]);
            } elseif ($call->opcode === Opcode::Reserve) {
                $this->add(Opcode::Cancel, ['request' => $call->id], isOwn: true);
            }
        }
    }

    /** Puts what may be sent into the output. */
    public function send(Wire $wire, int $now, bool $onlyRepeatable = false): void
    {
        $inFlight = 0;
        $waiting = 0;
        $oldest = null;
        foreach ($this->open as $call) {
            if ($call->firstNumber !== null) {
                $oldest = $oldest === null ? $call->firstNumber : min($oldest, $call->firstNumber);
            }
            if ($call->isOnWire) {
                ++$inFlight;
                $waiting += $call->opcode === Opcode::Reserve ? 1 : 0;
            }
        }
        $holdsPushes = false;
        foreach ($this->open as $call) {
            if ($call->isOnWire) {
                continue;
            }
            // One place is kept for PING.
            $isFull = $inFlight >= $this->limits->inFlightMax - 1 || $wire->unsentBytes() >= self::UNSENT_BYTES_MAX;
            if ($isFull && $call->opcode !== Opcode::Ping) {
                continue;
            }
            $isPush = $call->opcode === Opcode::Push;
            if ($now < $call->notBeforeMs || ($isPush && $holdsPushes)) {
                $holdsPushes = $holdsPushes || $isPush;
                continue;
            }
            if ($call->opcode === Opcode::Reserve && ++$waiting > intdiv($this->limits->inFlightMax, 2)) {
                continue;
            }
            if (!$this->haveSession) {
                $call->drawKey();
            }
            if ($onlyRepeatable && !$call->isRepeatable()) {
                continue;
            }
            if ($call->isNumbered() && !$this->number($call, $oldest)) {
                $holdsPushes = true;
                continue;
            }
            $oldest ??= $call->firstNumber;
            $this->put($call, $wire, $now);
            ++$inFlight;
        }
    }

    /** The connection is over: some calls are to be sent again, the others end. `$fault`: the server broke the protocol on it. */
    public function takeOffWire(Wire $wire, bool $hasSession, ?ProtocolError $fault = null): void
    {
        foreach ($this->open as $call) {
            if (!$call->isOnWire) {
                continue;
            }
            $call->isOnWire = false;
            $wasSent = $wire->sentBytes > $call->outputOffset;
            $call->mayBeApplied = $call->mayBeApplied || $wasSent;
            if ($call->isAbandoned || $call->opcode === Opcode::Subscribe) {
                $this->done($call);
            } elseif ($call->isOfConnection()) {
                $this->done($call);
                $call->isOwn ? $call->fulfil([]) : $call->fail(new TimeoutError('The connection was lost.'));
            } elseif ($wasSent) {
                $call->faults += $fault === null ? 0 : 1;
                // Without WELCOME its numbers belong to a session that nobody can resume.
                if (!$call->isRepeatable() || ($call->isNumbered() && !$hasSession) || $call->faults >= self::FAULTS_MAX) {
                    $this->fail($call, $fault ?? self::outcomeUnknown($call, 'the connection was lost before its answer.'));
                }
            }
        }
    }

    /** The numbers of the old session mean nothing in the new one. What was sent with this HELLO is of the new one. */
    public function forgetSession(): void
    {
        $ofNew = array_filter($this->open, static fn (Call $call): bool => $call->isOnWire && $call->firstNumber !== null);
        if ($ofNew === []) {
            $this->nextNumber = 1;
        }
        foreach ($this->open as $call) {
            if ($call->isOnWire || !$call->isNumbered()) {
                continue;
            }
            if ($call->mayBeApplied) {
                $this->fail($call, self::outcomeUnknown($call, 'the queue has forgotten the session.'));
            } else {
                $call->firstNumber = null;
            }
        }
    }

    /** There is no connection, and there is no hope for one. */
    public function failAll(\Throwable $error): void
    {
        foreach ($this->open as $call) {
            if ($call->isOnWire) {
                continue;
            }
            $this->fail($call, $call->mayBeApplied && !$call->isRead()
                ? self::outcomeUnknown($call, $error->getMessage())
                : $error);
        }
    }

    /** Gives a PUSH its numbers, unless the window would leave an unanswered one behind. */
    private function number(Call $call, ?int $oldest): bool
    {
        if ($call->firstNumber === null) {
            $jobs = count($call->fields['jobs']);
            if ($oldest !== null && $this->nextNumber + $jobs - $oldest > Limit::PRODUCER_WINDOW_MAX) {
                return false;
            }
            $call->firstNumber = $this->nextNumber;
            $this->nextNumber += $jobs;
        }
        $call->fields['sequence'] = $call->firstNumber;

        return true;
    }

    private function put(Call $call, Wire $wire, int $now): void
    {
        $fields = $call->fields;
        if ($call->opcode === Opcode::Reserve) {
            $fields['wait_ms'] = $fields['wait_ms'] === 0 ? 0 : max(1, $call->madeMs + $fields['wait_ms'] - $now);
        }
        $frame = Codec::encode($call->opcode, $call->id, $fields);
        if (strlen($frame) - Codec::LENGTH_BYTES > $this->limits->frameBytesMax) {
            // The server would close the connection.
            $this->fail($call, ServerError::of(ErrorReply::ofItem(
                ErrorCode::TooLarge->value,
                'the frame exceeds ' . $this->limits->frameBytesMax . ' bytes.',
            )));

            return;
        }
        $call->outputOffset = $wire->queuedBytes;
        $wire->queue($frame);
        $call->isOnWire = true;
        $call->sentMs = $now;
        ++$call->copies;
    }
}
