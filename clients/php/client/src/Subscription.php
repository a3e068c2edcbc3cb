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
