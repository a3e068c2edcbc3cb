<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ErrorReply;
use Adjourn\Error\ServerError;
use Adjourn\Protocol\Opcode;

/** The subscriptions of a session. Each connection needs them anew. */
final class Feeds
{
    /** @var list<Feed> */
    private array $all = [];

    public function __construct(
        private readonly Calls $calls,
        private readonly Clock $clock,
    ) {
    }

    /** The one whose SUBSCRIBE has this request id. */
    public function of(int $id): ?Feed
    {
        foreach ($this->all as $feed) {
            if ($feed->id === $id) {
                return $feed;
            }
        }

        return null;
    }

    public function add(Feed $feed): void
    {
        $this->all[] = $feed;
        $this->send($feed);
    }

    public function remove(Feed $feed): void
    {
        $this->all = array_values(array_filter($this->all, static fn (Feed $f): bool => $f !== $feed));
    }

    /** Asks UNSUBSCRIBE. What is delivered before DONE still belongs to the subscription. */
    public function close(Feed $feed): Call
    {
        return $this->calls->add(Opcode::Unsubscribe, ['subscription' => $feed->id]);
    }

    /**
     * The jobs that wait in subscriptions of an earlier connection. The credit starts anew: they would come on top of it.
     *
     * @return list<array<string, mixed>>
     */
    public function takeJobsOfLost(): array
    {
        $waiting = [];
        foreach ($this->lostOnes() as $feed) {
            array_push($waiting, ...$feed->jobs);
            $feed->jobs = [];
        }

        return $waiting;
    }

    /**
     * The jobs whose leases are half over, and that nobody has taken: no lease is to end here, where it would count as an attempt.
     *
     * @return list<array<string, mixed>>
     */
    public function takeHalfOver(int $now): array
    {
        if ($this->all === []) {
            return [];
        }
        $over = [];
        foreach ($this->all as $feed) {
            foreach ($feed->jobs as $place => $job) {
                if ($now >= $job['until_ms'] - intdiv($job['left_ms'], 2)) {
                    $over[] = $job;
                    unset($feed->jobs[$place]);
                }
            }
            $feed->jobs = array_values($feed->jobs);
        }

        return array_values(array_filter($over, static fn (array $job): bool => $now < $job['until_ms']));
    }

    /** Subscribes again on a new connection. */
    public function renew(): void
    {
        foreach ($this->lostOnes() as $feed) {
            $this->send($feed);
        }
    }

    /** The connection is over. */
    public function lost(): void
    {
        $this->calls->open = array_filter($this->calls->open, static fn (Call $call): bool => $call->opcode !== Opcode::Subscribe);
        foreach ($this->all as $feed) {
            $feed->stands = false;
            $feed->id = null;
        }
    }

    /** A SUBSCRIBE that was sent will get no answer. */
    public function takeOffWire(): void
    {
        foreach ($this->all as $feed) {
            if ($feed->id !== null && $this->calls->get($feed->id)?->isOnWire) {
                $feed->id = null;
            }
        }
    }

    /** The leases are lost: so are the jobs that wait here. */
    public function forgetJobs(): void
    {
        foreach ($this->all as $feed) {
            $feed->jobs = [];
        }
    }

    /** The server ended it. Says whether another server is to be asked. */
    public function refused(Feed $feed, ErrorReply $reply): bool
    {
        $feed->id = null;
        $feed->stands = false;
        if ($reply->movesOn()) {
            return true;
        }
        $feed->error = ServerError::of($reply);

        return false;
    }

    /** Nothing comes any more. */
    public function end(\Throwable $why): void
    {
        foreach ($this->all as $feed) {
            $feed->stands = false;
            $feed->error ??= $why;
        }
    }

    /** @return array<int, Feed> */
    private function lostOnes(): array
    {
        return array_filter($this->all, static fn (Feed $f): bool => $f->id === null && !$f->isClosed && $f->error === null);
    }

    private function send(Feed $feed): void
    {
        $feed->id = $this->calls->add(Opcode::Subscribe, $feed->fields)->id;
        $feed->sentMs = $this->clock->nowMs();
    }
}
