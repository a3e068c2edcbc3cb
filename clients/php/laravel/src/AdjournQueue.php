<?php

declare(strict_types=1);

namespace Adjourn\Laravel;

use Adjourn\BulkChange;
use Adjourn\Client;
use Adjourn\Error\Server\Paused;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\JobState;
use Adjourn\NewJob;
use Illuminate\Contracts\Queue\ClearableQueue;
use Illuminate\Contracts\Queue\Queue as QueueContract;
use Illuminate\Contracts\Queue\ShouldBeUnique;
use Illuminate\Contracts\Queue\ShouldBeUniqueUntilProcessing;
use Illuminate\Queue\Queue;
use Psr\Log\LoggerInterface;

/**
 * Laravel's queue on Adjourn. A queue of Laravel is a topic.
 *
 * Laravel decides about attempts and backoff. The driver never sets them on the server: a job that the server buried
 * would never reach `failed()`.
 */
class AdjournQueue extends Queue implements QueueContract, ClearableQueue
{
    /** A job's lease lasts longer than its timeout: the worker is to end the job, not the lease. */
    private const TTR_MARGIN_S = 10;
    private const KEY_BYTES_MAX = 256;

    public function __construct(
        private readonly Client $client,
        private readonly LoggerInterface $logger,
        private readonly string $default = 'default',
        private readonly int $retryAfterS = 90,
        private readonly int $blockForMs = 0,
        bool $dispatchAfterCommit = false,
    ) {
        $this->dispatchAfterCommit = $dispatchAfterCommit;
    }

    public function size($queue = null)
    {
        return $this->count($queue, JobState::Delayed, JobState::Ready, JobState::Reserved);
    }

    public function pendingSize($queue = null)
    {
        return $this->count($queue, JobState::Ready);
    }

    public function delayedSize($queue = null)
    {
        return $this->count($queue, JobState::Delayed);
    }

    public function reservedSize($queue = null)
    {
        return $this->count($queue, JobState::Reserved);
    }

    public function creationTimeOfOldestPendingJob($queue = null)
    {
        $job = $this->client->peek($this->topic($queue));

        return $job === null || $job->state !== JobState::Ready || $job->pushedMs === null ? null : intdiv($job->pushedMs, 1000);
    }

    public function push($job, $data = '', $queue = null)
    {
        return $this->enqueue($job, $data, $queue, null);
    }

    public function later($delay, $job, $data = '', $queue = null)
    {
        return $this->enqueue($job, $data, $queue, $delay);
    }

    public function pushRaw($payload, $queue = null, array $options = [])
    {
        return $this->send($payload, $queue, null, null);
    }

    public function pop($queue = null)
    {
        try {
            $jobs = $this->client->reserve($this->topic($queue), $this->blockForMs);
        } catch (Paused) {
            return null;
        }

        return $jobs === []
            ? null
            : new AdjournJob($this->container, $jobs[0], $this->logger, $this->connectionName, $this->topic($queue));
    }

    /** Deletes all jobs of a queue, for `queue:clear`. */
    public function clear($queue)
    {
        $cleared = 0;
        foreach ($this->client->bulk(BulkChange::delete(), new Filter($this->topic($queue))) as $step) {
            $cleared += $step->jobs;
        }

        return $cleared;
    }

    public function client(): Client
    {
        return $this->client;
    }

    private function enqueue($job, $data, $queue, $delay)
    {
        $key = is_object($job) ? $this->key($job) : null;

        return $this->enqueueUsing(
            $job,
            $this->createPayload($job, $this->topic($queue), $data),
            $queue,
            $delay,
            fn ($payload, $queue, $delay = null) => $this->send($payload, $queue, $delay, $key),
        );
    }

    private function send(string $payload, $queue, $delay, ?string $key): int
    {
        $at = $delay instanceof \DateTimeInterface ? $delay : null;
        $timeout = json_decode($payload, true)['timeout'] ?? null;

        return $this->client->push($this->topic($queue), new NewJob(
            body: $payload,
            delayMs: $at === null && $delay !== null ? max(0, $this->secondsUntil($delay)) * 1000 : null,
            at: $at,
            key: $key,
            ifExists: $key === null ? IfExists::Reject : IfExists::Keep,
            ttrMs: 1000 * (is_numeric($timeout) && $timeout > 0 ? (int) $timeout + self::TTR_MARGIN_S : $this->retryAfterS),
            headers: ['content-type' => 'application/json'],
        ))->job;
    }

    /**
     * The key of a unique job: while it lives, a second one is not added. A job that is unique only until it is
     * processed has none: its key would be taken while it runs.
     */
    private function key(object $job): ?string
    {
        if (!$job instanceof ShouldBeUnique || $job instanceof ShouldBeUniqueUntilProcessing) {
            return null;
        }
        $id = method_exists($job, 'uniqueId') ? $job->uniqueId() : $job->uniqueId ?? '';
        $key = $job::class . ':' . $id;

        return strlen($key) <= self::KEY_BYTES_MAX && preg_match('/^[^\p{Cc}]+$/Du', $key) === 1 ? $key : hash('sha256', $key);
    }

    private function topic($queue): string
    {
        return $queue ?: $this->default;
    }

    private function count($queue, JobState ...$states): int
    {
        return $this->client->count(new Filter($this->topic($queue), $states));
    }
}
