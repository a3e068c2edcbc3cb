<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Connection\Feed;
use Adjourn\Connection\Session;
use Adjourn\Protocol\Opcode;

/** Jobs that the server sends as they become ready. It is made anew after each reconnect. */
final class Subscription
{
    /** @param \Closure(array<string, mixed>): Job $job */
    public function __construct(
        private readonly Session $session,
        private readonly Feed $feed,
        private readonly \Closure $job,
    ) {
    }

    /**
     * The next job, or null if none came in time.
     *
     * @throws Error\AdjournException if the server ended the subscription
     */
    public function next(int $waitMs = 0, ?CancelToken $cancel = null): ?Job
    {
        $until = $this->session->clock->nowMs() + $waitMs;
        while (true) {
            while (($fields = array_shift($this->feed->jobs)) !== null) {
                $job = ($this->job)($fields);
                if (!$job->isLost()) {
                    return $job;
                }
            }
            if ($this->feed->error !== null) {
                throw $this->feed->error;
            }
            if ($this->session->clock->nowMs() >= $until || $cancel?->isCancelled()) {
                return null;
            }
            $this->session->step($until);
        }
    }

    /** Lets the server send more jobs before others are settled. Credit cannot be taken back. */
    public function addCredit(int $jobs, int $bytes = 0): void
    {
        if ($jobs < 0 || $jobs > Limit::CREDIT_JOBS_MAX || $bytes < 0 || $bytes > Limit::CREDIT_BYTES_MAX) {
            throw new Error\UsageError('Credit goes from 0 to 65,536 jobs and 268,435,456 bytes.');
        }
        // A new connection asks for the whole again.
        $this->feed->fields = [
            'credit_jobs' => min($this->feed->fields['credit_jobs'] + $jobs, Limit::CREDIT_JOBS_MAX),
            'credit_bytes' => min($this->feed->fields['credit_bytes'] + $bytes, Limit::CREDIT_BYTES_MAX),
        ] + $this->feed->fields;
        if ($this->feed->id !== null) {
            try {
                $this->session->call(Opcode::Credit, ['subscription' => $this->feed->id, 'credit_jobs' => $jobs, 'credit_bytes' => $bytes]);
            } catch (Error\TimeoutError) {
                // The connection was lost, and the subscription with it.
            }
        }
    }

    /** Whether the server knows of the subscription now. */
    public function stands(): bool
    {
        return $this->feed->stands;
    }

    /** Ends it. Jobs that came and were not handed out are given back without an attempt. */
    public function close(): void
    {
        if ($this->feed->isClosed) {
            return;
        }
        $this->session->unsubscribe($this->feed);
        $leases = array_map(
            static fn (array $job): array => ['job' => $job['job'], 'fence' => $job['fence']],
            $this->feed->jobs,
        );
        $this->feed->jobs = [];
        foreach (array_chunk($leases, max(1, $this->session->limits()->leasesMax)) as $part) {
            $this->session->call(Opcode::Release, ['delay_ms' => Release::NOT_STARTED, 'leases' => $part]);
        }
    }
}
