<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\CancelToken;
use Adjourn\Error\AdjournError;
use Adjourn\Error\ClosedError;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\SessionTaken;
use Adjourn\Error\TimeoutError;
use Adjourn\Error\WrongQueue;
use Adjourn\Options;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\ConnectionFrames;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Opcode;

use function count;

/**
 * One session over as many connections as it takes. Calls wait here until they are answered. The session is opened when
 * something needs it: until then connections have none, and pushes are known by keys.
 *
 * Nothing runs in the background: the session sends, receives and reconnects while a caller waits in `await` or calls
 * `step`. A signal handler may call `step`, too: it returns at once if it interrupted the session. Fibers may share a
 * session if its clock and its transport let others run while they wait.
 */
final class Session
{
    private const CALLS_MAX = 4096;
    private const DISCONNECTED_PAUSE_MS = 5000;
    private const STEP_MS_MAX = 500;
    private const CANCEL_MS_MAX = 2000;
    private const GRACE_MS_MIN = 400;
    /** The queue remembers a limited number of keys: a client that pushes more jobs than this opens a session, and numbers them. */
    private const KEYED_JOBS_MAX = 1024;
    /** Longer than any call takes. */
    private const LONG_MS = 86_400_000;

    public readonly LeaseClock $leases;
    private readonly Search $search;
    private Calls $calls;
    private Feeds $feeds;
    private Holdings $holdings;
    private Answers $answers;
    private Connector $connector;
    private ?Link $link = null;
    private int $connections = 0;
    private ?Welcome $welcome = null;
    /** Another process has resumed the session: this client does not take it back when its connection ends. */
    private bool $isTaken = false;
    private bool $consumes = false;
    private int $pushedJobs = 0;
    private bool $isBusy = false;
    /** The fiber that is at work, if it is one. */
    private ?\Fiber $busyFiber = null;
    private int $pid;
    /** Why nothing can be called any more. */
    private ?\Throwable $end = null;

    public function __construct(
        private readonly Options $options,
        private readonly Dialer $dialer,
        public readonly Clock $clock = new SystemClock(),
    ) {
        $this->search = new Search($options->addresses, $options->reconnectWaitMaxMs);
        $this->leases = new LeaseClock();
        $this->begin();
    }

    /** From now on connections have a session. One that has none ends when it is answered. */
    public function open(): void
    {
        if ($this->calls->haveSession) {
            return;
        }
        $this->calls->haveSession = true;
        $this->leaveForSession();
    }

    public function limits(): Limits
    {
        return $this->calls->limits;
    }

    public function welcome(): ?Welcome
    {
        return $this->welcome;
    }

    public function isConnected(): bool
    {
        return $this->link !== null && !$this->link->isDraining() && $this->pid === getmypid();
    }

    /** The present connection, as one of all that this session had; null if it has none. */
    public function connectionNumber(): ?int
    {
        return $this->isConnected() ? $this->connections : null;
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
        // A key that the caller has chosen stays the same in a session.
        $this->pushedJobs += $opcode === Opcode::Push && !isset($fields['idempotency']) ? count($fields['jobs']) : 0;
        if ($this->consumes || $opcode === Opcode::Leases || $this->pushedJobs > self::KEYED_JOBS_MAX) {
            $this->open();
        }

        return $this->calls->add($opcode, $fields, $timeoutMs);
    }

    /**
     * Works until the call is done.
     *
     * @return array<string, mixed> the fields of the answer
     * @throws \Adjourn\Error\AdjournException
     */
    public function await(Call $call, ?CancelToken $cancel = null): array
    {
        $giveUpAtMs = PHP_INT_MAX;
        if ($this->isBusy()) {
            // A signal handler has interrupted the session: it can be continued only when the handler has returned.
            unset($this->calls->open[$call->id]);
            throw new TimeoutError($call->opcode->name . ' was not sent: a signal handler called while the client was at work.');
        }
        while (!$call->isDone) {
            if ($cancel?->isCancelled() && !$call->isCancelled) {
                $call->isCancelled = true;
                $giveUpAtMs = $this->clock->nowMs() + self::CANCEL_MS_MAX;
                if ($call->isOnWire && $this->end === null) {
                    $this->calls->add(Opcode::Cancel, ['request' => $call->id], isOwn: true);
                }
            }
            if ($call->isCancelled && (!$call->isOnWire || $this->clock->nowMs() >= $giveUpAtMs)) {
                $call->isAbandoned = true;
                $call->fulfil(['jobs' => []]);
                break;
            }
            $this->step(min($call->deadlineMs, $giveUpAtMs, $this->calls->latestMs));
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
    public function call(Opcode $opcode, array $fields = [], ?int $timeoutMs = null, ?CancelToken $cancel = null): array
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
        $this->open();
        $this->feeds->add($feed);
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
        if ($feed->id !== null && $this->link !== null && $this->end === null && $feed->error === null) {
            try {
                $this->await($this->feeds->close($feed));
            } catch (AdjournError) {
                // It ended with its connection.
            }
        }
        $this->feeds->remove($feed);
        $feed->isClosed = true;
        $feed->id = null;
    }

    /** Lets no call wait for longer than until then, those that are under way included. Null: as long as its time-out says. */
    public function endCallsBy(?int $ms): void
    {
        $this->calls->latestMs = $ms ?? PHP_INT_MAX;
    }

    /** The process is to end: from now on no call takes longer than this, those under way included. Null takes it back. */
    public function hurry(?int $ms): void
    {
        $this->calls->hurry($ms);
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
            $this->holdings->giveBack($this->feeds->takeHalfOver($now));
            $this->calls->expire($now);
            if ($this->end !== null) {
                return;
            }
            if ($this->link !== null) {
                $this->carry($this->link, $now, $untilMs);
            } elseif (($connected = $this->connector->connect($this->welcome, $untilMs)) !== null) {
                $this->welcomed($connected);
            }
        } finally {
            $this->isBusy = false;
            $this->busyFiber = null;
        }
    }

    /** Says GOODBYE if there is a connection. Always ends, at the latest after `timeoutMs`. */
    public function close(int $timeoutMs, bool $saysGoodbye = true): void
    {
        $hasToSay = $this->welcome?->session !== 0 || $this->calls->open !== [];
        if ($saysGoodbye && $hasToSay && $this->pid === getmypid() && $this->end === null && $this->isConnected() && !$this->isBusy()) {
            $until = $this->clock->nowMs() + $timeoutMs;
            foreach ($this->calls->open as $waiting) {
                // GOODBYE ends the wait of a RESERVE. Other calls are answered as always.
                $waiting->isCancelled = $waiting->isCancelled || $waiting->opcode === Opcode::Reserve;
            }
            $call = $this->calls->add(Opcode::Goodbye, [], $timeoutMs);
            while (!$call->isDone && $this->isConnected() && $this->clock->nowMs() < $until) {
                $this->step($until);
            }
        }
        $this->stop(new ClosedError('The client was closed.'));
        $this->hangUp();
    }

    // One connection

    /** Ends a connection without a session once it is answered. */
    private function leaveForSession(): void
    {
        if ($this->welcome?->session === 0) {
            $this->link?->drain('a session is needed', self::LONG_MS);
        }
    }

    private function carry(Link $link, int $now, int $untilMs): void
    {
        $link->look($now);
        if ($this->handleFrames() || $this->link === null) {
            return;
        }
        if ($link->wire->hasEnded()) {
            $this->lose('the server closed it');

            return;
        }
        $link->send($now);
        $fault = $link->wait($now, $untilMs);
        if ($fault !== null) {
            $this->lose($fault);

            return;
        }
        $this->handleFrames();
    }

    private function handleFrames(): bool
    {
        $hasHandled = false;
        try {
            while ($this->link !== null && ($frame = $this->link->wire->nextFrame()) !== null) {
                $hasHandled = true;
                $this->handleFrame($this->link, $frame);
            }
        } catch (Malformed $error) {
            $this->lose('the stream is garbled', new ProtocolError($error->getMessage(), $error));
            $hasHandled = true;
        }

        return $hasHandled;
    }

    private function handleFrame(Link $link, string $frame): void
    {
        try {
            $message = Codec::decode($frame);
            if ($message?->opcode === Opcode::GoingAway) {
                $this->goesAway($link, $message->fields);
            } elseif ($message !== null) {
                $this->answers->take($message, $link);
            }
        } catch (Malformed $error) {
            $this->answers->cannotDecode($frame, $error);
        }
    }

    /** @param array<string, mixed> $fields */
    private function goesAway(Link $link, array $fields): void
    {
        $this->options->logger->info("adjourn: the server closes the connection: {$fields['message']}");
        if ($fields['reason'] === ConnectionFrames::GOING_AWAY_SESSION_TAKEN_OVER && !$this->search->tookItselfOver()) {
            $this->isTaken = true;
        }
        $this->search->pause($fields['reason'] === ConnectionFrames::GOING_AWAY_DISCONNECTED ? self::DISCONNECTED_PAUSE_MS : 0);
        $link->drain('the server sent this client away');
    }

    private function welcomed(Welcomed $connected): void
    {
        $welcome = $connected->welcome;
        if ($this->welcome !== null && $this->welcome->clusterId !== $welcome->clusterId) {
            $connected->wire->close();
            $this->stop(new WrongQueue('Another queue answers at this address: its cluster id differs.'));

            return;
        }
        $areOutliving = $this->options->leasesOutlive;
        $isAgain = $this->welcome !== null;
        $this->welcome = $welcome;
        $this->calls->limits = $welcome->limits;
        $this->search->learn($welcome->members);
        $this->search->found($welcome->isResumed);
        $hasGrace = !$areOutliving && $welcome->session !== 0 && $welcome->heartbeatMs > 0;
        $grace = $hasGrace ? max($welcome->graceMs, self::GRACE_MS_MIN) : null;
        $areKept = $areOutliving || $welcome->areLeasesKept;
        $this->leases->welcomed($connected->saidMs, $grace, $areKept, $welcome->clockMs);
        ++$this->connections;
        $this->link = new Link($connected->wire, $welcome, $grace, !$areOutliving, $this->calls, $this->leases, $this->clock);
        if ($this->calls->haveSession) {
            // Perhaps something needs it since HELLO was said.
            $this->leaveForSession();
        }
        if ($isAgain) {
            $this->options->logger->info('adjourn: connected again', ['server' => $welcome->serverName, 'resumed' => $welcome->isResumed]);
        }
        if (!$welcome->isResumed) {
            $this->calls->forgetSession();
        }
        if (!$areKept) {
            $this->holdings->forget();
            $this->feeds->forgetJobs();
        }
        $this->holdings->giveBackOwed();
        if ($this->consumes) {
            // WELCOME may have taken long: the answer to PING tells the ends of leases more exactly.
            $this->calls->add(Opcode::Ping, [], isOwn: true);
        }
        $this->holdings->giveBack($this->feeds->takeJobsOfLost());
        $this->feeds->renew();
        if ($welcome->areLeasesKept && $this->consumes && !$areOutliving) {
            $this->holdings->askForUnseen();
        } else {
            $this->holdings->trustAll();
        }
    }

    private function presumeLost(int $now): void
    {
        if ($this->leases->presume($now)) {
            $this->options->logger->warning('adjourn: no server vouched for the leases within the grace: they are presumed lost.');
            $this->holdings->lose();
            $this->feeds->forgetJobs();
        }
    }

    // Ends

    /** The connection is over. What may be sent again waits for the next one. */
    private function lose(string $why, ?ProtocolError $fault = null): void
    {
        $this->options->logger->info("adjourn: the connection is lost: $why", ['server' => $this->welcome?->serverName]);
        $wire = $this->link->wire;
        $this->hangUp();
        $this->feeds->takeOffWire();
        $this->calls->takeOffWire($wire, $this->welcome !== null, $fault);
        $this->feeds->lost();
        $this->connector->pause();
        if ($this->isTaken) {
            $this->stop(new SessionTaken('Another process has resumed this session.'));
        }
    }

    /** Closes this process's end of the connection. */
    private function hangUp(): void
    {
        $this->link?->wire->close();
        $this->link = null;
    }

    private function stop(\Throwable $end): void
    {
        $this->end = $end;
        foreach ($this->calls->open as $call) {
            $isUnknown = ($call->isOnWire || $call->mayBeApplied) && !$call->isRead();
            $this->calls->fail($call, $isUnknown ? Calls::outcomeUnknown($call, $end->getMessage()) : $end);
        }
        $this->feeds->end($end);
        ++$this->leases->epoch;
    }

    // A process

    private function begin(): void
    {
        $this->pid = getmypid();
        $this->calls = new Calls($this->clock, $this->options->requestTimeoutMs, fn (int $id): bool => $this->feeds->of($id) !== null);
        $this->feeds = new Feeds($this->calls, $this->clock);
        $this->holdings = new Holdings($this->leases, $this->calls, $this->options->leasesOutlive);
        $this->connector = new Connector($this->options, $this->dialer, $this->clock, $this->search, $this->calls, $this->feeds);
        $this->answers = new Answers(
            $this->calls,
            $this->feeds,
            $this->holdings,
            $this->leases,
            $this->search,
            $this->clock,
            $this->options->logger,
        );
    }

    /** A child after fork() has a copy of its parent's socket and session: it leaves both alone, and opens its own. */
    private function guard(): void
    {
        if ($this->pid === getmypid()) {
            return;
        }
        // This closes the copy alone: the connection is the parent's.
        $this->hangUp();
        $this->feeds->forgetJobs();
        $this->feeds->end(new ClosedError('The subscription belongs to the parent process.'));
        $this->welcome = null;
        $this->isBusy = false;
        $this->isTaken = false;
        $this->consumes = false;
        $this->pushedJobs = 0;
        $this->begin();
    }
}
