<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\AdjournError;
use Adjourn\Error\ClosedError;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\ServerError;
use Adjourn\Error\SessionTaken;
use Adjourn\Error\TimeoutError;
use Adjourn\Error\WrongQueue;
use Adjourn\Options;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Adjourn\Release;

/**
 * One session over as many connections as it takes. Calls wait here until they are answered.
 *
 * Nothing runs in the background: the session sends, receives and reconnects while a caller waits in `await` or calls
 * `step`. A signal handler may call `step`, too: it returns at once if it interrupted the session. Fibers may share a
 * session if its clock and its transport let others run while they wait.
 */
final class Session
{
    private const CALLS_MAX = 4096;
    private const PRODUCER_WINDOW = 16_384;
    private const DRAIN_MS_MAX = 2000;
    private const DISCONNECTED_PAUSE_MS = 5000;
    private const STEP_MS_MAX = 500;
    private const CANCEL_MS_MAX = 5000;
    private const UNSENT_BYTES_MAX = 1 << 20;
    private const RETRY_MS_MIN = 50;
    private const RETRY_MS_MAX = 1000;
    private const GRACE_MS_MIN = 400;
    private const REQUEST_ID_MAX = 0xFFFFFFFF;

    private ?Wire $wire = null;
    private ?Welcome $welcome = null;
    private ?Pulse $pulse = null;
    private readonly Search $search;
    public readonly LeaseClock $leases;
    private Unseen $unseen;
    /** @var array<int, Call> by request id, in the order of their first sending */
    private array $calls = [];
    /** @var list<Feed> */
    private array $feeds = [];
    /** @var array<string, array{job: int, fence: int}> leases that end with the session */
    private array $held = [];
    /** @var list<array{job: int, fence: int}> leases that were presumed lost, and that the server may still hold for this client */
    private array $owed = [];
    private int $lastId = 0;
    private int $nextNumber = 1;
    private int $dialAtMs = 0;
    private ?int $drainUntilMs = null;
    private bool $consumes = false;
    private bool $isBusy = false;
    /** The fiber that is at work, if it is one. */
    private ?\Fiber $busyFiber = null;
    private int $pid;
    /** Why nothing can be called any more. */
    private ?\Throwable $end = null;

    public function __construct(
        private readonly Options $options,
        private readonly Dialer $dialer = new TcpDialer(),
        public readonly Clock $clock = new SystemClock(),
    ) {
        $this->search = new Search($options->addresses, $options->reconnectWaitMaxMs);
        $this->leases = new LeaseClock();
        $this->unseen = new Unseen();
        $this->pid = getmypid();
    }

    public function limits(): Limits
    {
        return $this->welcome?->limits ?? new Limits();
    }

    public function welcome(): ?Welcome
    {
        return $this->welcome;
    }

    public function isConnected(): bool
    {
        return $this->wire !== null && $this->drainUntilMs === null && $this->pid === getmypid();
    }

    /** Whether nothing can be called any more. */
    public function hasEnded(): bool
    {
        return $this->end !== null;
    }

    /** Whether a signal handler has interrupted the session: it cannot be continued, and the handler must not throw. */
    public function isBusy(): bool
    {
        return $this->isBusy && $this->busyFiber === \Fiber::getCurrent();
    }

    /** @param array<string, mixed> $fields */
    public function submit(Opcode $opcode, array $fields = [], ?int $timeoutMs = null): Call
    {
        $this->guard();
        if ($this->end !== null) {
            throw $this->end;
        }
        while (count($this->calls) >= self::CALLS_MAX && !$this->isBusy()) {
            $this->step($this->clock->nowMs() + self::STEP_MS_MAX);
        }
        $this->consumes = $this->consumes || $opcode === Opcode::Reserve || $opcode === Opcode::Subscribe;

        return $this->add($opcode, $fields, $timeoutMs);
    }

    /**
     * Works until the call is done.
     *
     * @return array<string, mixed> the fields of the answer
     * @throws \Adjourn\Error\AdjournException
     */
    public function await(Call $call, ?\Adjourn\CancelToken $cancel = null): array
    {
        $until = $call->deadlineMs;
        $isCancelled = false;
        if ($this->isBusy()) {
            // A signal handler has interrupted the session: it can be continued only when the handler has returned.
            unset($this->calls[$call->id]);
            throw new TimeoutError($call->opcode->name . ' was not sent: a signal handler called while the client was at work.');
        }
        while (!$call->isDone) {
            if ($cancel?->isCancelled() && !$isCancelled) {
                $isCancelled = true;
                $until = $this->clock->nowMs() + self::CANCEL_MS_MAX;
                if ($call->isOnWire && $this->end === null) {
                    $this->add(Opcode::Cancel, ['request' => $call->id], isOwn: true);
                }
            }
            if ($isCancelled && (!$call->isOnWire || $this->clock->nowMs() >= $until)) {
                $call->isAbandoned = true;
                $call->fulfil(['jobs' => []]);
                break;
            }
            $this->step($until);
        }
        if (!$call->isOnWire) {
            unset($this->calls[$call->id]);
        }
        if ($call->error !== null) {
            throw $call->error;
        }

        return $call->answer;
    }

    /**
     * @param array<string, mixed> $fields
     * @return array<string, mixed>
     */
    public function call(Opcode $opcode, array $fields = [], ?int $timeoutMs = null, ?\Adjourn\CancelToken $cancel = null): array
    {
        return $this->await($this->submit($opcode, $fields, $timeoutMs), $cancel);
    }

    public function subscribe(Feed $feed): void
    {
        $this->guard();
        if ($this->end !== null) {
            throw $this->end;
        }
        $this->consumes = true;
        $this->feeds[] = $feed;
        $this->sendFeed($feed);
        $until = $this->clock->nowMs() + $this->options->requestTimeoutMs;
        while (!$feed->stands && $feed->error === null) {
            if ($this->clock->nowMs() >= $until) {
                $feed->error = new TimeoutError('SUBSCRIBE got no answer in time.');
            }
            $this->step($until);
        }
        if ($feed->error !== null) {
            $this->unsubscribe($feed);
            throw $feed->error;
        }
    }

    public function unsubscribe(Feed $feed): void
    {
        $this->feeds = array_values(array_filter($this->feeds, static fn (Feed $f): bool => $f !== $feed));
        if ($feed->id !== null && $this->wire !== null && $this->end === null && $feed->error === null) {
            // What is delivered before DONE still belongs to the subscription.
            $closing = $this->add(Opcode::Unsubscribe, ['subscription' => $feed->id]);
            $this->feeds[] = $feed;
            try {
                $this->await($closing);
            } catch (AdjournError) {
                // It ended with its connection.
            }
            $this->feeds = array_values(array_filter($this->feeds, static fn (Feed $f): bool => $f !== $feed));
        }
        $feed->isClosed = true;
        $feed->id = null;
    }

    /** Gives jobs back that no handler has started. Nobody waits for the answer. @param list<array{job: int, fence: int}> $leases */
    public function giveBack(array $leases, int $delayMs = Release::NOT_STARTED): void
    {
        foreach (array_chunk($leases, max(1, $this->limits()->leasesMax)) as $part) {
            $this->add(Opcode::Release, ['delay_ms' => $delayMs, 'leases' => $part], isOwn: true);
        }
    }

    /**
     * Sends, receives and reconnects, and returns as soon as something has happened, at the latest at `untilMs`.
     */
    public function step(int $untilMs): void
    {
        if ($this->isBusy) {
            if (!$this->isBusy()) {
                // Another fiber does the work. It is up to the clock to let it.
                $this->clock->sleepMs(1);
            }

            return;
        }
        $this->guard();
        $this->isBusy = true;
        $this->busyFiber = \Fiber::getCurrent();
        try {
            $now = $this->clock->nowMs();
            $this->presumeLost($now);
            $this->expire($now);
            if ($this->end !== null) {
                return;
            }
            if ($this->wire === null) {
                $this->connect($now, $untilMs);
            } else {
                $this->carry($now, $untilMs);
            }
        } finally {
            $this->isBusy = false;
            $this->busyFiber = null;
        }
    }

    /** Says GOODBYE if there is a connection. Always ends, at the latest after `timeoutMs`. */
    public function close(int $timeoutMs): void
    {
        if ($this->pid === getmypid() && $this->end === null && $this->isConnected() && !$this->isBusy()) {
            $until = $this->clock->nowMs() + $timeoutMs;
            $call = $this->add(Opcode::Goodbye, [], $timeoutMs);
            while (!$call->isDone && $this->wire !== null && $this->drainUntilMs === null && $this->clock->nowMs() < $until) {
                $this->step($until);
            }
        }
        $this->stop(new ClosedError('The client was closed.'));
        $this->wire?->close();
        $this->wire = null;
    }

    // Calls

    /** @param array<string, mixed> $fields */
    private function add(Opcode $opcode, array $fields, ?int $timeoutMs = null, bool $isOwn = false, bool $isFirst = false): Call
    {
        do {
            // The largest id is HELLO's own.
            $id = $this->lastId = $this->lastId + 1 >= self::REQUEST_ID_MAX ? 1 : $this->lastId + 1;
        } while (isset($this->calls[$id]) || $this->feedOf($id) !== null);
        $call = new Call(
            $id,
            $opcode,
            $fields,
            $this->clock->nowMs(),
            $timeoutMs,
            $this->options->requestTimeoutMs,
            $isOwn,
        );
        $this->calls = $isFirst ? [$call->id => $call] + $this->calls : $this->calls + [$call->id => $call];

        return $call;
    }

    private function done(Call $call): void
    {
        $call->isOnWire = false;
        unset($this->calls[$call->id]);
    }

    private function failCall(Call $call, \Throwable $error): void
    {
        $this->done($call);
        if (!$call->isDone) {
            $call->fail($error);
        }
    }

    private function outcomeUnknown(Call $call, string $why): OutcomeUnknown
    {
        return new OutcomeUnknown($call->opcode->name . " may have been applied: $why");
    }

    private function expire(int $now): void
    {
        foreach ($this->calls as $call) {
            if ($now < $call->deadlineMs || $call->isDone) {
                continue;
            }
            $isSent = $call->isOnWire || $call->mayBeApplied;
            $call->fail(match (true) {
                $call->opcode->isRead() || !$isSent => $call->error ?? new TimeoutError($call->opcode->name . ' got no answer in time.'),
                default => $this->outcomeUnknown($call, 'no answer came in time.'),
            });
            $call->isAbandoned = true;
            if (!$call->isOnWire) {
                unset($this->calls[$call->id]);
            } elseif ($call->opcode === Opcode::Reserve) {
                $this->add(Opcode::Cancel, ['request' => $call->id], isOwn: true);
            }
        }
    }

    /** Puts what may be sent into the output. */
    private function sendCalls(int $now): void
    {
        $inFlight = 0;
        $waiting = 0;
        $oldest = null;
        foreach ($this->calls as $call) {
            if ($call->isNumbered() && $call->firstNumber !== null) {
                $oldest = $oldest === null ? $call->firstNumber : min($oldest, $call->firstNumber);
            }
            if ($call->isOnWire) {
                ++$inFlight;
                $waiting += $call->opcode === Opcode::Reserve ? 1 : 0;
            }
        }
        $holdsPushes = false;
        foreach ($this->calls as $call) {
            // One place is kept for PING.
            $isFull = $inFlight >= $this->limits()->inFlightMax - 1 || $this->wire->unsentBytes() >= self::UNSENT_BYTES_MAX;
            if ($call->isOnWire || ($isFull && $call->opcode !== Opcode::Ping)) {
                continue;
            }
            $isPush = $call->opcode === Opcode::Push;
            if ($now < $call->notBeforeMs || ($isPush && $holdsPushes)) {
                $holdsPushes = $holdsPushes || $isPush;
                continue;
            }
            if ($call->opcode === Opcode::Reserve && ++$waiting > intdiv($this->limits()->inFlightMax, 2)) {
                continue;
            }
            if ($call->isNumbered() && !$this->number($call, $oldest)) {
                $holdsPushes = true;
                continue;
            }
            $oldest ??= $call->firstNumber;
            $this->send($call, $now);
            ++$inFlight;
        }
    }

    /** Gives a PUSH its numbers, unless the window would leave an unanswered one behind. */
    private function number(Call $call, ?int $oldest): bool
    {
        if ($call->firstNumber === null) {
            $jobs = count($call->fields['jobs']);
            if ($oldest !== null && $this->nextNumber + $jobs - $oldest > self::PRODUCER_WINDOW) {
                return false;
            }
            $call->firstNumber = $this->nextNumber;
            $this->nextNumber += $jobs;
        }
        $call->fields['sequence'] = $call->firstNumber;

        return true;
    }

    private function send(Call $call, int $now): void
    {
        $fields = $call->fields;
        if ($call->opcode === Opcode::Reserve) {
            $fields['wait_ms'] = $fields['wait_ms'] === 0 ? 0 : max(1, $call->madeMs + $fields['wait_ms'] - $now);
        }
        $frame = Codec::encode($call->opcode, $call->id, $fields);
        if (strlen($frame) - Codec::LENGTH_BYTES > $this->limits()->frameBytesMax) {
            // The server would close the connection.
            $this->failCall($call, ServerError::of(ErrorReply::ofItem(
                ErrorCode::TooLarge->value,
                'the frame exceeds ' . $this->limits()->frameBytesMax . ' bytes.',
            )));

            return;
        }
        $call->outputOffset = $this->wire->queuedBytes;
        $this->wire->queue($frame);
        $call->isOnWire = true;
        $call->sentMs = $now;
        ++$call->copies;
    }

    // One connection

    private function carry(int $now, int $untilMs): void
    {
        if ($this->pulse->looks($now)) {
            // The handler was away: the connection may have ended since. Find out before something is sent on it.
            $this->read($now);
        }
        if ($this->handleFrames() || $this->wire === null) {
            return;
        }
        if ($this->wire->hasEnded()) {
            $this->lose('the server closed it');

            return;
        }
        if ($this->drainUntilMs === null) {
            $this->beat($now);
            $this->sendCalls($now);
        }
        if ($this->wire->flush()) {
            $this->pulse->spoken($now);
        }
        $giveUpAt = $this->giveUpAt();
        if ($now >= $giveUpAt['ms']) {
            $this->lose($giveUpAt['why']);

            return;
        }
        $this->wire->wait(min($untilMs, $giveUpAt['ms'], $this->nextTimer(), $now + self::STEP_MS_MAX) - $now);
        $this->read($this->clock->nowMs());
        $this->handleFrames();
    }

    private function read(int $now): void
    {
        if ($this->wire?->receive()) {
            $this->pulse->heard($now);
        }
    }

    private function beat(int $now): void
    {
        if ($now >= $this->pulse->pingAtMs($this->provenMs())) {
            $this->add(Opcode::Ping, [], isOwn: true);
            $this->pulse->pinged($now);
        }
    }

    private function nextTimer(): int
    {
        $next = $this->drainUntilMs ?? $this->pulse->pingAtMs($this->provenMs());
        foreach ($this->calls as $call) {
            $next = min($next, $call->isDone ? PHP_INT_MAX : $call->deadlineMs);
            if (!$call->isOnWire && $call->notBeforeMs > 0) {
                $next = min($next, $call->notBeforeMs);
            }
        }

        return min($next, $this->leases->lostAtMs() ?? PHP_INT_MAX);
    }

    /** @return array{ms: int, why: string} */
    private function giveUpAt(): array
    {
        if ($this->drainUntilMs !== null) {
            $isDrained = array_filter($this->calls, static fn (Call $call): bool => $call->isOnWire) === [];

            return ['ms' => $isDrained ? 0 : $this->drainUntilMs, 'why' => 'the server sent this client away'];
        }
        $first = ['ms' => $this->pulse->lostAtMs(), 'why' => 'nothing came for too long'];
        foreach ($this->calls as $call) {
            if ($call->isOnWire) {
                $stuck = $this->pulse->stuckAtMs($call->sentMs + $call->waitMs());
                if ($stuck < $first['ms']) {
                    $first = ['ms' => $stuck, 'why' => $call->opcode->name . ' got no answer'];
                }
            }
        }

        return $first;
    }

    private function provenMs(): ?int
    {
        return $this->options->leasesOutlive ? null : $this->leases->provenMs();
    }

    /** The connection is over. What may be sent again waits for the next one. */
    private function lose(string $why, ?ProtocolError $fault = null): void
    {
        $this->options->logger->info("adjourn: the connection is lost: $why", ['server' => $this->welcome?->serverName]);
        $wire = $this->wire;
        $this->wire = null;
        $this->drainUntilMs = null;
        $wire->close();
        $this->takeOffWire($wire, $fault);
        $this->dialAtMs = $this->clock->nowMs() + $this->search->waitMs();
        $this->calls = array_filter($this->calls, static fn (Call $call): bool => $call->opcode !== Opcode::Subscribe);
        foreach ($this->feeds as $feed) {
            $feed->stands = false;
            $feed->id = null;
        }
    }

    private function takeOffWire(Wire $wire, ?ProtocolError $fault = null): void
    {
        foreach ($this->calls as $call) {
            if (!$call->isOnWire) {
                continue;
            }
            $call->isOnWire = false;
            $wasSent = $wire->sentBytes > $call->outputOffset;
            $call->mayBeApplied = $call->mayBeApplied || $wasSent;
            $feed = $this->feedOf($call->id);
            if ($feed !== null) {
                $feed->id = null;
            }
            if ($call->isAbandoned || $call->opcode === Opcode::Subscribe) {
                $this->done($call);
            } elseif ($call->isOfConnection()) {
                $this->done($call);
                $call->isOwn ? $call->fulfil([]) : $call->fail(new TimeoutError('The connection was lost.'));
            } elseif ($wasSent && $fault !== null) {
                $this->failCall($call, $fault);
            } elseif ($wasSent && (!$call->isRepeatable() || ($call->isNumbered() && $this->welcome === null))) {
                // Without WELCOME its numbers belong to a session that nobody can resume.
                $this->failCall($call, $this->outcomeUnknown($call, 'the connection was lost before its answer.'));
            }
        }
    }

    private function handleFrames(): bool
    {
        $hasHandled = false;
        try {
            while ($this->wire !== null && ($frame = $this->wire->nextFrame()) !== null) {
                $hasHandled = true;
                $this->handleFrame($frame);
            }
        } catch (Malformed $error) {
            $this->lose('the stream is garbled', new ProtocolError($error->getMessage(), $error));
            $hasHandled = true;
        }

        return $hasHandled;
    }

    private function handleFrame(string $frame): void
    {
        try {
            $message = Codec::decode($frame);
            if ($message !== null) {
                $this->handle($message);
            }
        } catch (Malformed $error) {
            $id = strlen($frame) < Codec::HEAD_BYTES ? 0 : unpack('V', $frame, 4)[1];
            $call = $this->calls[$id] ?? null;
            $this->options->logger->error('adjourn: a frame cannot be decoded: ' . $error->getMessage());
            if ($call !== null && $call->isOnWire) {
                $this->failCall($call, new ProtocolError($error->getMessage(), $error));
            }
        }
    }

    private function handle(Message $message): void
    {
        if ($message->opcode === Opcode::GoingAway) {
            $this->goesAway($message->fields);

            return;
        }
        $call = $this->calls[$message->requestId] ?? null;
        $feed = $this->feedOf($message->requestId);
        if ($message->opcode === Opcode::Deliver) {
            if ($feed !== null) {
                $this->prove($message, $feed->sentMs);
                array_push($feed->jobs, ...$this->receive($message->fields['jobs']));
            }

            return;
        }
        if ($message->opcode === Opcode::Error) {
            $reply = ErrorReply::of($message->fields);
            if ($call !== null && $call->isOnWire) {
                $this->refused($call, $reply);
            } elseif ($feed !== null) {
                $this->feedRefused($feed, $reply);
            } else {
                $this->options->logger->warning("adjourn: the server says: $reply->message");
            }

            return;
        }
        if ($call === null || !$call->isOnWire) {
            return;
        }
        if ($message->opcode !== $call->opcode->answer()) {
            $this->failCall($call, new ProtocolError("{$call->opcode->name} was answered with {$message->opcode->name}."));

            return;
        }
        $this->prove($message, $call->sentMs);
        if ($message->opcode !== Opcode::Pong) {
            $this->pulse->moved($this->clock->nowMs());
        }
        $this->answered($call, $message->fields);
    }

    private function prove(Message $message, int $sentMs): void
    {
        $hasJobs = in_array($message->opcode, [Opcode::Reserved, Opcode::Deliver], true) && $message->fields['jobs'] !== [];
        if ($message->opcode->isProof() || $hasJobs) {
            $this->leases->proven($sentMs);
        }
        if ($message->opcode === Opcode::Pong) {
            $this->leases->showsClock($sentMs, $message->fields['clock_ms']);
        }
    }

    /** @param array<string, mixed> $answer */
    private function answered(Call $call, array $answer): void
    {
        $this->done($call);
        $items = match ($call->opcode) {
            Opcode::Push => 'jobs',
            Opcode::Finish, Opcode::Release, Opcode::Touch, Opcode::Bury => 'leases',
            default => null,
        };
        if ($items !== null && count($answer['results']) !== count($call->fields[$items])) {
            $call->isDone || $call->fail(new ProtocolError("{$call->opcode->name} got an answer for another number of $items."));

            return;
        }
        switch ($call->opcode) {
            case Opcode::Reserve:
                if ($call->isAbandoned) {
                    $this->giveBack(array_map(self::lease(...), $answer['jobs']));

                    return;
                }
                $jobs = $this->receive($answer['jobs']);
                if ($jobs === [] && $answer['jobs'] !== [] && !$call->isDone) {
                    // They came too late. The wait goes on.
                    $this->calls[$call->id] = $call;

                    return;
                }
                $answer['jobs'] = $jobs;
                break;
            case Opcode::Leases:
                if ($call->isOwn) {
                    $this->leasesShown($answer);

                    return;
                }
                $answer['jobs'] = $this->receive($answer['jobs']);
                break;
            case Opcode::Finish:
            case Opcode::Release:
            case Opcode::Bury:
                foreach ($call->fields['leases'] as $lease) {
                    unset($this->held[self::name($lease)]);
                }
                break;
            case Opcode::Subscribe:
                $feed = $this->feedOf($call->id);
                if ($feed !== null) {
                    $feed->stands = true;
                }
                break;
            case Opcode::ClusterStatus:
                $this->search->learn(array_column($answer['members'], 'client_address'));
                break;
            default:
        }
        $answer['copies'] = $call->copies;
        if (!$call->isDone) {
            $call->fulfil($answer);
        }
    }

    private function refused(Call $call, ErrorReply $reply): void
    {
        $call->isOnWire = false;
        $call->mayBeApplied = $call->mayBeApplied || $reply->mayBeApplied;
        $code = $reply->known();
        $feed = $call->opcode === Opcode::Subscribe ? $this->feedOf($call->id) : null;
        if ($call->opcode === Opcode::Goodbye || $call->isOfConnection() || ($call->isOwn && !($code?->movesOn() ?? false))) {
            $this->done($call);
            $call->isOwn || $call->opcode === Opcode::Goodbye
                ? $call->fulfil([])
                : $call->fail(ServerError::of($reply));
            if ($code === ErrorCode::Unsupported && $call->opcode === Opcode::Leases) {
                $this->unseen->close();
            }
            if (($code?->movesOn() ?? false) && $call->opcode !== Opcode::Goodbye) {
                $this->drain($reply);
            }

            return;
        }
        if ($code?->movesOn() ?? false) {
            $this->drain($reply);
            if ($feed !== null) {
                $this->done($call);
                $feed->id = null;

                return;
            }
        }
        if ($reply->mayBeApplied && !$call->isRepeatable()) {
            $this->failCall($call, $this->outcomeUnknown($call, $reply->message));
        } elseif ($code?->movesOn() ?? false) {
            $call->error = null;
            if ($call->isAbandoned) {
                $this->done($call);
            }
        } elseif ($code === ErrorCode::Busy || ($code === null && $reply->isRetryable)) {
            $this->tryLater($call, $reply);
        } else {
            $error = $call->mayBeApplied && $call->opcode === Opcode::Push
                ? $this->outcomeUnknown($call, $reply->message)
                : ServerError::of($reply);
            if ($feed !== null) {
                $this->feeds = array_values(array_filter($this->feeds, static fn (Feed $f): bool => $f !== $feed));
                $feed->error = $error;
            }
            $this->failCall($call, $error);
        }
    }

    /** Waits, and sends the same again. If there is no time for that, the caller gets the server's answer. */
    private function tryLater(Call $call, ErrorReply $reply): void
    {
        $bound = min(self::RETRY_MS_MIN << min($call->refusals++, 10), self::RETRY_MS_MAX);
        $call->notBeforeMs = $this->clock->nowMs() + max($reply->retryAfterMs, random_int(0, $bound));
        if ($call->isAbandoned || $call->notBeforeMs >= $call->deadlineMs) {
            $this->failCall($call, $call->mayBeApplied && !$call->opcode->isRead()
                ? $this->outcomeUnknown($call, $reply->message)
                : ServerError::of($reply));

            return;
        }
        $call->error = null;
    }

    private function drain(ErrorReply $reply): void
    {
        $this->search->hint($reply->leader);
        $this->search->pause($reply->retryAfterMs);
        $this->drainUntilMs ??= $this->clock->nowMs() + self::DRAIN_MS_MAX;
    }

    /** @param array<string, mixed> $fields */
    private function goesAway(array $fields): void
    {
        $this->options->logger->info("adjourn: the server closes the connection: {$fields['message']}");
        if ($fields['reason'] === 3) {
            $this->wire->close();
            $this->wire = null;
            $this->stop(new SessionTaken('Another process has resumed this session.'));

            return;
        }
        $this->search->pause($fields['reason'] === 4 ? self::DISCONNECTED_PAUSE_MS : 0);
        $this->drainUntilMs ??= $this->clock->nowMs() + self::DRAIN_MS_MAX;
    }

    // Leases

    /**
     * Adds to each job how long it is the client's own, and leaves out those whose lease is over.
     *
     * @param list<array<string, mixed>> $jobs
     * @return list<array<string, mixed>>
     */
    private function receive(array $jobs): array
    {
        if ($this->leases->areLost()) {
            $this->giveBack(array_map(self::lease(...), $jobs));

            return [];
        }
        $now = $this->clock->nowMs();
        $own = [];
        foreach ($jobs as $job) {
            $this->unseen->came($job['fence']);
            $left = $this->leases->leftMs($now, $job['ttr_left_ms'], $job['deadline_ms']);
            if ($left > 0) {
                $own[] = $job + ['left_ms' => $left, 'until_ms' => $now + $left, 'epoch' => $this->leases->epoch];
                if (!$this->options->leasesOutlive) {
                    $lease = self::lease($job);
                    $this->held[self::name($lease)] = $lease;
                }
            }
        }

        return $own;
    }

    private function presumeLost(int $now): void
    {
        if ($this->leases->presume($now)) {
            $this->options->logger->warning('adjourn: no server vouched for the leases within the grace: they are presumed lost.');
            $this->owed = array_merge($this->owed, array_values($this->held));
            $this->held = [];
            foreach ($this->feeds as $feed) {
                $feed->jobs = [];
            }
        }
    }

    /** @param array<string, mixed> $answer of the LEASES that the session itself asked for */
    private function leasesShown(array $answer): void
    {
        $settling = [];
        foreach ($this->calls as $call) {
            foreach (in_array($call->opcode, [Opcode::Finish, Opcode::Release, Opcode::Bury], true) ? $call->fields['leases'] : [] as $lease) {
                $settling[self::name($lease)] = true;
            }
        }
        $unseen = array_filter($answer['jobs'], fn (array $job): bool => $this->unseen->isUnseen($job['fence'])
            && !isset($settling[self::name($job)]));
        $this->giveBack(array_values(array_map(self::lease(...), $unseen)));
        if (($answer['marks'] & 1) === 1) {
            $last = end($answer['jobs']);
            $this->askForLeases($last === false ? 0 : $last['job']);
        } else {
            $this->unseen->close();
        }
    }

    private function askForLeases(int $after): void
    {
        $this->add(Opcode::Leases, ['after' => $after, 'jobs_max' => $this->limits()->reserveJobsMax], isOwn: true, isFirst: true);
    }

    /**
     * @param array{job: int, fence: int} $job
     * @return array{job: int, fence: int}
     */
    private static function lease(array $job): array
    {
        return ['job' => $job['job'], 'fence' => $job['fence']];
    }

    /** @param array{job: int, fence: int} $lease */
    private static function name(array $lease): string
    {
        return "{$lease['job']}-{$lease['fence']}";
    }

    // Subscriptions

    private function feedOf(int $id): ?Feed
    {
        foreach ($this->feeds as $feed) {
            if ($feed->id === $id) {
                return $feed;
            }
        }

        return null;
    }

    private function sendFeed(Feed $feed): Call
    {
        $call = $this->add(Opcode::Subscribe, $feed->fields);
        $feed->id = $call->id;
        $feed->sentMs = $this->clock->nowMs();

        return $call;
    }

    private function feedRefused(Feed $feed, ErrorReply $reply): void
    {
        $feed->id = null;
        $feed->stands = false;
        if ($reply->known()?->movesOn()) {
            $this->drain($reply);
        } else {
            $feed->error = ServerError::of($reply);
        }
    }

    // The way to a connection

    private function connect(int $now, int $untilMs): void
    {
        if ($now < $this->dialAtMs) {
            $this->clock->sleepMs(min($this->dialAtMs - $now, max($untilMs - $now, 1), self::STEP_MS_MAX));

            return;
        }
        $wasAnswered = false;
        $last = null;
        foreach ($this->search->round() as $address) {
            $left = $untilMs - $this->clock->nowMs();
            if ($left <= 0) {
                return;
            }
            try {
                $reply = $this->greet($address, min($this->options->connectTimeoutMs, $left));
            } catch (ConnectionError|ProtocolError $error) {
                $this->options->logger->debug("adjourn: $address: {$error->getMessage()}");
                $last = $error;
                continue;
            }
            if ($reply === null) {
                return;
            }
            $wasAnswered = true;
            $this->search->pause($reply->retryAfterMs);
            $this->search->hint($reply->leader);
            if (!$reply->isRetryable && $reply->known() !== ErrorCode::SessionUnknown) {
                $this->failAll(ServerError::of($reply));

                return;
            }
            $last = ServerError::of($reply);
        }
        $this->dialAtMs = $this->clock->nowMs() + $this->search->waitMs();
        if ($this->welcome === null && !$wasAnswered && $last !== null) {
            // A first connection fails at once: the address may be wrong.
            $this->failAll($last);
        }
        foreach ($this->calls as $call) {
            // What the caller is told if its time is over before it was sent.
            $call->error = $call->mayBeApplied ? null : $last;
        }
    }

    /** Says HELLO. Null if the server welcomed this client, else its refusal. */
    private function greet(Address $address, int $timeoutMs): ?ErrorReply
    {
        $until = $this->clock->nowMs() + $timeoutMs;
        $wire = new Wire($this->dialer->dial($address, $timeoutMs));
        $said = $this->clock->nowMs();
        $wire->queue(Codec::encode(Opcode::Hello, self::REQUEST_ID_MAX, $this->hello()));
        if ($this->welcome === null) {
            // A new session: what waits goes in the same packet. It is refused if HELLO is.
            $this->wire = $wire;
            $this->sendCalls($said);
            $this->wire = null;
        }
        $reply = null;
        try {
            $reply = $this->awaitWelcome($wire, $until);
        } catch (Malformed $error) {
            throw new ProtocolError("$address does not speak this protocol: {$error->getMessage()}", $error);
        } finally {
            if (!$reply instanceof Welcome) {
                if ($reply instanceof ErrorReply) {
                    // Nothing that was sent behind a refused HELLO is applied.
                    $wire->sentBytes = 0;
                }
                $wire->close();
                $this->takeOffWire($wire);
            }
        }
        if ($reply instanceof ErrorReply) {
            return $reply;
        }
        if ($reply === null) {
            throw new ConnectionError("$address did not answer HELLO.");
        }
        $this->welcomed($wire, $reply, $said);

        return null;
    }

    private function awaitWelcome(Wire $wire, int $until): Welcome|ErrorReply|null
    {
        while (($now = $this->clock->nowMs()) < $until && !$wire->hasEnded()) {
            $wire->flush();
            $wire->wait($until - $now);
            $wire->receive();
            while (($frame = $wire->nextFrame()) !== null) {
                $message = Codec::decode($frame);
                if ($message?->opcode === Opcode::Welcome) {
                    return Welcome::of($message->fields);
                }
                if ($message?->opcode === Opcode::Error && in_array($message->requestId, [0, self::REQUEST_ID_MAX], true)) {
                    return ErrorReply::of($message->fields);
                }
            }
        }

        return null;
    }

    /** @return array<string, mixed> */
    private function hello(): array
    {
        return [
            'magic' => 'ADJ1',
            'version_min' => 1,
            'version_max' => 1,
            'options' => $this->options->leasesOutlive ? 1 : 0,
            'heartbeat_ms' => $this->options->heartbeatMs,
            'session' => $this->welcome?->session ?? 0,
            'secret' => $this->welcome?->secret ?? str_repeat("\0", 16),
            'client_name' => $this->options->clientName,
            'token' => $this->options->token,
        ];
    }

    private function welcomed(Wire $wire, Welcome $welcome, int $said): void
    {
        if ($this->welcome !== null && $this->welcome->clusterId !== $welcome->clusterId) {
            $wire->close();
            $this->stop(new WrongQueue('Another queue answers at this address: its cluster id differs.'));

            return;
        }
        $isNew = !$welcome->isResumed;
        $this->welcome = $welcome;
        $this->wire = $wire;
        $this->search->learn($welcome->members);
        $this->search->found();
        $hasGrace = !$this->options->leasesOutlive && $welcome->heartbeatMs > 0;
        $grace = $hasGrace ? max($welcome->graceMs, self::GRACE_MS_MIN) : null;
        $areKept = $this->options->leasesOutlive || $welcome->areLeasesKept;
        $this->leases->welcomed($said, $grace, $areKept, $welcome->clockMs);
        $this->pulse = new Pulse($this->clock->nowMs(), $welcome->heartbeatMs, $grace);
        $this->options->logger->debug('adjourn: connected', ['server' => $welcome->serverName, 'resumed' => $welcome->isResumed]);
        if ($isNew) {
            $this->forgetSession();
        }
        if (!$areKept) {
            $this->held = [];
            foreach ($this->feeds as $feed) {
                $feed->jobs = [];
            }
        }
        if ($this->owed !== []) {
            $this->giveBack($this->owed, 0);
            $this->owed = [];
        }
        if ($this->consumes) {
            // WELCOME may have taken long: the answer to PING tells the ends of leases more exactly.
            $this->add(Opcode::Ping, [], isOwn: true);
        }
        foreach ($this->feeds as $feed) {
            if ($feed->id === null && !$feed->isClosed && $feed->error === null) {
                $this->sendFeed($feed);
            }
        }
        if ($welcome->areLeasesKept && $this->consumes && !$this->options->leasesOutlive) {
            $this->unseen->ask();
            $this->askForLeases(0);
        } else {
            $this->unseen->close();
        }
    }

    /** The numbers of the old session mean nothing in the new one. What was sent with this HELLO is of the new one. */
    private function forgetSession(): void
    {
        $ofNew = array_filter($this->calls, static fn (Call $call): bool => $call->isOnWire && $call->firstNumber !== null);
        if ($ofNew === []) {
            $this->nextNumber = 1;
        }
        foreach ($this->calls as $call) {
            if ($call->isOnWire || !$call->isNumbered()) {
                continue;
            }
            if ($call->mayBeApplied) {
                $this->failCall($call, $this->outcomeUnknown($call, 'the queue has forgotten the session.'));
            } else {
                $call->firstNumber = null;
            }
        }
    }

    // Ends

    private function failAll(\Throwable $error): void
    {
        foreach ($this->calls as $call) {
            if ($call->isOnWire) {
                continue;
            }
            $this->failCall($call, $call->mayBeApplied && !$call->opcode->isRead()
                ? $this->outcomeUnknown($call, $error->getMessage())
                : $error);
        }
    }

    private function stop(\Throwable $end): void
    {
        $this->end = $end;
        foreach ($this->calls as $call) {
            $isUnknown = ($call->isOnWire || $call->mayBeApplied) && !$call->opcode->isRead();
            $this->failCall($call, $isUnknown ? $this->outcomeUnknown($call, $end->getMessage()) : $end);
        }
        foreach ($this->feeds as $feed) {
            $feed->stands = false;
            $feed->error ??= $end;
        }
        ++$this->leases->epoch;
    }

    /** A child after fork() has a copy of its parent's socket and session: it leaves both alone, and opens its own. */
    private function guard(): void
    {
        if ($this->pid === getmypid()) {
            return;
        }
        $this->pid = getmypid();
        // This closes the copy alone: the connection is the parent's.
        $this->wire?->close();
        $this->wire = null;
        $this->welcome = null;
        $this->drainUntilMs = null;
        $this->nextNumber = 1;
        $this->dialAtMs = 0;
        $this->isBusy = false;
        $this->consumes = false;
        $this->calls = [];
        $this->held = [];
        $this->owed = [];
        $this->unseen = new Unseen();
        foreach ($this->feeds as $feed) {
            $feed->jobs = [];
            $feed->stands = false;
            $feed->error = new ClosedError('The subscription belongs to the parent process.');
        }
        $this->feeds = [];
    }
}
