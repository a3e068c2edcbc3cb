<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Body\BodyCodec;
use Adjourn\Connection\Clock;
use Adjourn\Connection\LeaseClock;
use Adjourn\Error\LeaseLost;

/**
 * A job that this client holds. Settle it once: finish, release or bury.
 *
 * The lease ends at its deadline. A handler that needs longer calls `touch` in time; one that does something that must
 * not be done twice calls `throwIfLost` right before.
 */
final class Job
{
    public readonly Lease $lease;
    public readonly int $id;
    public readonly string $topic;
    public readonly ?string $key;
    public readonly int $priority;
    /** How often the job was reserved, this time included. */
    public readonly int $attempts;
    public readonly int $dueMs;
    public readonly string $body;
    public readonly Attributes $attributes;
    /** @var array<string, string> */
    public readonly array $headers;
    private readonly int $ownMs;
    private int $untilMs;
    private readonly int $epoch;
    private bool $isStale = false;
    private bool $isSettled = false;

    /** @param array<string, mixed> $fields of a delivered job, with `left_ms`, `until_ms` and `epoch` */
    public function __construct(
        array $fields,
        private readonly Client $client,
        private readonly BodyCodec $codec,
        private readonly Clock $clock,
        private readonly LeaseClock $leases,
    ) {
        $this->lease = new Lease($fields['job'], $fields['fence']);
        $this->id = $fields['job'];
        $this->topic = $fields['topic'];
        $this->key = $fields['key'] === '' ? null : $fields['key'];
        $this->priority = $fields['priority'];
        $this->attempts = $fields['attempts'];
        $this->dueMs = $fields['due_ms'];
        $this->body = $fields['body'];
        $this->attributes = Attributes::decode($fields['attributes']);
        $this->headers = $this->attributes->headers;
        $this->ownMs = $fields['left_ms'];
        $this->untilMs = $fields['until_ms'];
        $this->epoch = $fields['epoch'];
    }

    /** The body as its content type says: what was pushed as an array comes back as one. */
    public function payload(): mixed
    {
        return $this->codec->decode($this->body, Headers::get($this->headers, 'content-type'));
    }

    /** How long the lease lasts yet. */
    public function leftMs(): int
    {
        return $this->isLost() ? 0 : $this->untilMs - $this->clock->nowMs();
    }

    /** Another consumer may have the job: settle nothing. */
    public function isLost(): bool
    {
        return $this->end() !== null;
    }

    /** @throws LeaseLost */
    public function throwIfLost(): void
    {
        $end = $this->end();
        if ($end !== null) {
            throw new LeaseLost($end, "The lease $this->lease is over: {$end->value}.");
        }
    }

    /** Why the lease is over; null while it is not. */
    public function end(): ?LeaseEnd
    {
        return match (true) {
            $this->isStale => LeaseEnd::Stale,
            $this->epoch !== $this->leases->epoch => $this->leases->why,
            $this->clock->nowMs() >= $this->untilMs => LeaseEnd::TimeOver,
            default => null,
        };
    }

    public function isSettled(): bool
    {
        return $this->isSettled;
    }

    /** Whether this is the client that reserved the job. */
    public function isOf(Client $client): bool
    {
        return $this->client === $client;
    }

    /** How long a lease on this job lasts, as far as the client knows. */
    public function ownMs(): int
    {
        return $this->ownMs;
    }

    public function finish(): void
    {
        $this->settle(fn () => $this->client->finish($this));
    }

    public function release(?Release $how = null, string $reason = ''): void
    {
        $this->settle(fn () => $this->client->release($this, $how, $reason));
    }

    public function bury(string $reason = ''): void
    {
        $this->settle(fn () => $this->client->bury($this, $reason));
    }

    public function touch(?int $ttrMs = null): void
    {
        $this->throwIfLost();
        $this->client->touch($this, $ttrMs);
    }

    /** @internal The lease was restarted by a TOUCH that was sent at `sentMs`. */
    public function touched(int $sentMs, ?int $ttrMs): void
    {
        $this->untilMs = $sentMs + ($ttrMs === null ? $this->ownMs : LeaseClock::surely($ttrMs));
    }

    /** @internal The server has finished, released or buried it. */
    public function settled(): void
    {
        $this->isSettled = true;
    }

    /** @internal The server says that the lease is over. */
    public function lost(): void
    {
        $this->isStale = true;
    }

    private function settle(callable $settle): void
    {
        $this->throwIfLost();
        $settle();
        $this->settled();
    }
}
