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
    private const DRAIN_MS_MAX = 2000;
    private const DISCONNECTED_PAUSE_MS = 5000;
    private const STEP_MS_MAX = 500;
    private const CANCEL_MS_MAX = 5000;
    private const RETRY_MS_MIN = 50;
    private const RETRY_MS_MAX = 1000;
    private const GRACE_MS_MIN = 400;

    private ?Wire $wire = null;
    private ?Welcome $welcome = null;
    private ?Pulse $pulse = null;
    private readonly Search $search;
    public readonly LeaseClock $leases;
    private readonly Greeting $greeting;
    private Holdings $holdings;
    private Calls $calls;
    /** @var list<Feed> */
    private array $feeds = [];
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
        $this->greeting = new Greeting($options, $clock);
        $this->holdings = new Holdings($this->leases, $options->leasesOutlive);
        $this->calls = $this->newCalls();
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
        while (count($this->calls->open) >= self::CALLS_MAX && !$this->isBusy()) {
            $this->step($this->clock->nowMs() + self::STEP_MS_MAX);
        }
        $this->consumes = $this->consumes || $opcode === Opcode::Reserve || $opcode === Opcode::Subscribe;

        return $this->calls->add($opcode, $fields, $timeoutMs);
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
            unset($this->calls->open[$call->id]);
            throw new TimeoutError($call->opcode->name . ' was not sent: a signal handler called while the client was at work.');
        }
        while (!$call->isDone) {
            if ($cancel?->isCancelled() && !$isCancelled) {
                $isCancelled = true;
                $until = $this->clock->nowMs() + self::CANCEL_MS_MAX;
                if ($call->isOnWire && $this->end === null) {
                    $this->calls->add(Opcode::Cancel, ['request' => $call->id], isOwn: true);
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
            unset($this->calls->open[$call->id]);
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
            $closing = $this->calls->add(Opcode::Unsubscribe, ['subscription' => $feed->id]);
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
            $this->calls->add(Opcode::Release, ['delay_ms' => $delayMs, 'leases' => $part], isOwn: true);
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
            $this->calls->expire($now);
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
            $call = $this->calls->add(Opcode::Goodbye, [], $timeoutMs);
            while (!$call->isDone && $this->wire !== null && $this->drainUntilMs === null && $this->clock->nowMs() < $until) {
                $this->step($until);
            }
        }
        $this->stop(new ClosedError('The client was closed.'));
        $this->wire?->close();
        $this->wire = null;
    }

    // Calls

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
            $this->calls->send($this->wire, $this->limits(), $now);
        }
        if ($this->wire->flush()) {
            $this->pulse->spoken($now);
        }
        $giveUpAt = $this->giveUpAt();
        if ($now >= $giveUpAt['ms']) {
            $this->lose($giveUpAt['why']);

            return;
        }
        $wakeAt = max($now, min($untilMs, $giveUpAt['ms'], $this->nextTimer(), $now + self::STEP_MS_MAX));
        $this->wire->wait($wakeAt - $now);
        $now = $this->clock->nowMs();
        $this->pulse->waited($wakeAt, $now);
        $this->read($now);
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
            $this->calls->add(Opcode::Ping, [], isOwn: true);
            $this->pulse->pinged($now);
        }
    }

    private function nextTimer(): int
    {
        $next = $this->drainUntilMs ?? $this->pulse->pingAtMs($this->provenMs());
        foreach ($this->calls->open as $call) {
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
            return ['ms' => $this->calls->hasOnWire() ? $this->drainUntilMs : 0, 'why' => 'the server sent this client away'];
        }
        $first = ['ms' => $this->pulse->lostAtMs(), 'why' => 'nothing came for too long'];
        foreach ($this->calls->open as $call) {
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
        $this->calls->open = array_filter($this->calls->open, static fn (Call $call): bool => $call->opcode !== Opcode::Subscribe);
        foreach ($this->feeds as $feed) {
            $feed->stands = false;
            $feed->id = null;
        }
    }

    private function takeOffWire(Wire $wire, ?ProtocolError $fault = null): void
    {
        foreach ($this->feeds as $feed) {
            if ($feed->id !== null && $this->calls->get($feed->id)?->isOnWire) {
                $feed->id = null;
            }
        }
        $this->calls->takeOffWire($wire, $this->welcome !== null, $fault);
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
            $call = $this->calls->get($id);
            $this->options->logger->error('adjourn: a frame cannot be decoded: ' . $error->getMessage());
            if ($call !== null && $call->isOnWire) {
                $this->calls->fail($call, new ProtocolError($error->getMessage(), $error));
            }
        }
    }

    private function handle(Message $message): void
    {
        if ($message->opcode === Opcode::GoingAway) {
            $this->goesAway($message->fields);

            return;
        }
        $call = $this->calls->get($message->requestId);
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
            $this->calls->fail($call, new ProtocolError("{$call->opcode->name} was answered with {$message->opcode->name}."));

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
        $this->calls->done($call);
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
                    $this->giveBack(array_map(Holdings::lease(...), $answer['jobs']));

                    return;
                }
                $jobs = $this->receive($answer['jobs']);
                if ($jobs === [] && $answer['jobs'] !== [] && !$call->isDone) {
                    // They came too late. The wait goes on.
                    $this->calls->open[$call->id] = $call;

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
                $this->holdings->settled($call->fields['leases']);
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
            $this->calls->done($call);
            $call->isOwn || $call->opcode === Opcode::Goodbye
                ? $call->fulfil([])
                : $call->fail(ServerError::of($reply));
            if ($code === ErrorCode::Unsupported && $call->opcode === Opcode::Leases) {
                $this->holdings->unseen->close();
            }
            if (($code?->movesOn() ?? false) && $call->opcode !== Opcode::Goodbye) {
                $this->drain($reply);
            }

            return;
        }
        if ($code?->movesOn() ?? false) {
            $this->drain($reply);
            if ($feed !== null) {
                $this->calls->done($call);
                $feed->id = null;

                return;
            }
        }
        if ($reply->mayBeApplied && !$call->isRepeatable()) {
            $this->calls->fail($call, Calls::outcomeUnknown($call, $reply->message));
        } elseif ($code?->movesOn() ?? false) {
            $call->error = null;
            if ($call->isAbandoned) {
                $this->calls->done($call);
            }
        } elseif ($code === ErrorCode::Busy || ($code === null && $reply->isRetryable)) {
            $this->tryLater($call, $reply);
        } else {
            $error = $call->mayBeApplied && $call->opcode === Opcode::Push
                ? Calls::outcomeUnknown($call, $reply->message)
                : ServerError::of($reply);
            if ($feed !== null) {
                $this->feeds = array_values(array_filter($this->feeds, static fn (Feed $f): bool => $f !== $feed));
                $feed->error = $error;
            }
            $this->calls->fail($call, $error);
        }
    }

    /** Waits, and sends the same again. If there is no time for that, the caller gets the server's answer. */
    private function tryLater(Call $call, ErrorReply $reply): void
    {
        $bound = min(self::RETRY_MS_MIN << min($call->refusals++, 10), self::RETRY_MS_MAX);
        $call->notBeforeMs = $this->clock->nowMs() + max($reply->retryAfterMs, random_int(0, $bound));
        if ($call->isAbandoned || $call->notBeforeMs >= $call->deadlineMs) {
            $this->calls->fail($call, $call->mayBeApplied && !$call->opcode->isRead()
                ? Calls::outcomeUnknown($call, $reply->message)
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
     * @param list<array<string, mixed>> $jobs
     * @return list<array<string, mixed>> those that are the client's own, with the end of their lease
     */
    private function receive(array $jobs): array
    {
        if ($this->leases->areLost()) {
            $this->giveBack(array_map(Holdings::lease(...), $jobs));

            return [];
        }

        return $this->holdings->receive($jobs, $this->clock->nowMs());
    }

    private function presumeLost(int $now): void
    {
        if ($this->leases->presume($now)) {
            $this->options->logger->warning('adjourn: no server vouched for the leases within the grace: they are presumed lost.');
            $this->holdings->lose();
            foreach ($this->feeds as $feed) {
                $feed->jobs = [];
            }
        }
    }

    /** @param array<string, mixed> $answer of the LEASES that the session itself asked for */
    private function leasesShown(array $answer): void
    {
        $this->giveBack($this->holdings->neverCame($answer['jobs'], $this->calls->open));
        if (($answer['marks'] & 1) === 1) {
            $last = end($answer['jobs']);
            $this->askForLeases($last === false ? 0 : $last['job']);
        } else {
            $this->holdings->unseen->close();
        }
    }

    private function askForLeases(int $after): void
    {
        $this->calls->add(Opcode::Leases, ['after' => $after, 'jobs_max' => $this->limits()->reserveJobsMax], isOwn: true, isFirst: true);
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
        $call = $this->calls->add(Opcode::Subscribe, $feed->fields);
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
                $this->calls->failAll(ServerError::of($reply));

                return;
            }
            $last = ServerError::of($reply);
        }
        $this->dialAtMs = $this->clock->nowMs() + $this->search->waitMs();
        if ($this->welcome === null && !$wasAnswered && $last !== null) {
            // A first connection fails at once: the address may be wrong.
            $this->calls->failAll($last);
        }
        foreach ($this->calls->open as $call) {
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
        $wire->queue($this->greeting->hello($this->welcome));
        if ($this->welcome === null) {
            // A new session: what waits goes in the same packet. It is refused if HELLO is.
            $this->calls->send($wire, $this->limits(), $said);
        }
        $reply = null;
        try {
            $reply = $this->greeting->await($wire, $until);
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
            $this->calls->forgetSession();
        }
        if (!$areKept) {
            $this->holdings->forget();
            foreach ($this->feeds as $feed) {
                $feed->jobs = [];
            }
        }
        $this->giveBack($this->holdings->takeOwed(), 0);
        if ($this->consumes) {
            // WELCOME may have taken long: the answer to PING tells the ends of leases more exactly.
            $this->calls->add(Opcode::Ping, [], isOwn: true);
        }
        foreach ($this->feeds as $feed) {
            if ($feed->id === null && !$feed->isClosed && $feed->error === null) {
                // The credit starts anew: what waits here would come on top of it.
                $this->giveBack(array_map(Holdings::lease(...), $feed->jobs));
                $feed->jobs = [];
                $this->sendFeed($feed);
            }
        }
        if ($welcome->areLeasesKept && $this->consumes && !$this->options->leasesOutlive) {
            $this->holdings->unseen->ask();
            $this->askForLeases(0);
        } else {
            $this->holdings->unseen->close();
        }
    }

    // Ends

    private function stop(\Throwable $end): void
    {
        $this->end = $end;
        foreach ($this->calls->open as $call) {
            $isUnknown = ($call->isOnWire || $call->mayBeApplied) && !$call->opcode->isRead();
            $this->calls->fail($call, $isUnknown ? Calls::outcomeUnknown($call, $end->getMessage()) : $end);
        }
        foreach ($this->feeds as $feed) {
            $feed->stands = false;
            $feed->error ??= $end;
        }
        ++$this->leases->epoch;
    }

    private function newCalls(): Calls
    {
        return new Calls($this->clock, $this->options->requestTimeoutMs, fn (int $id): bool => $this->feedOf($id) !== null);
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
        $this->dialAtMs = 0;
        $this->isBusy = false;
        $this->consumes = false;
        $this->calls = $this->newCalls();
        $this->holdings = new Holdings($this->leases, $this->options->leasesOutlive);
        foreach ($this->feeds as $feed) {
            $feed->jobs = [];
            $feed->stands = false;
            $feed->error = new ClosedError('The subscription belongs to the parent process.');
        }
        $this->feeds = [];
    }
}
