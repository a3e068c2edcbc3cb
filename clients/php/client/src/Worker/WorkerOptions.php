<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\Error\UsageError;

/** How a worker works. */
final readonly class WorkerOptions
{
    /**
     * @param int $prefetch jobs that wait in memory while a handler works: they save a round trip each. Their leases run already. A tick or
     *     alarm gives back those whose leases are half over, and so does the end of a handler: a handler that does neither must not
     *     take longer than half of a lease. If the process dies, each of them has used up an attempt
     * @param int $stopMs a worker that is told to stop ends within this time, and so does its handler
     * @param int|null $maxRunMs a handler that runs for longer is stopped by its next tick or alarm, and its job is released as
     *     a failed attempt. So no lease is extended for ever. Null: it may run for as long as it ticks
     * @param bool $usesAlarm touch the job, and stop a handler whose lease is lost, from SIGALRM, once a second.
     *     Leave it off if the handler uses alarms itself, and give the job a ttr that covers the handler
     * @param bool $handlesSignals stop on SIGTERM and SIGINT
     * @param list<callable(\Adjourn\Job, callable): mixed> $middleware the first is the outermost: fn ($job, $next) => $next($job)
     * @param bool $stopsWhenEmpty for a cron job: end when no job is ready
     * @param int|null $maxJobs end after this many jobs, so that a supervisor starts a fresh process
     * @param int $waitMs the longest wait of one RESERVE
     */
    public function __construct(
        public int $prefetch = 0,
        public int $stopMs = 10_000,
        public ?int $maxRunMs = 3_600_000,
        public bool $usesAlarm = false,
        public bool $handlesSignals = true,
        public array $middleware = [],
        public bool $stopsWhenEmpty = false,
        public ?int $maxJobs = null,
        public int $waitMs = 20_000,
    ) {
        if ($prefetch < 0 || $prefetch > 1000) {
            throw new UsageError('prefetch goes from 0 to 1,000.');
        }
        if ($stopMs < 1 || $waitMs < 1 || ($maxRunMs !== null && $maxRunMs < 1)) {
            throw new UsageError('A time is at least 1 ms.');
        }
        if ($usesAlarm && !function_exists('pcntl_alarm')) {
            throw new UsageError('usesAlarm needs the extension pcntl.');
        }
    }
}
