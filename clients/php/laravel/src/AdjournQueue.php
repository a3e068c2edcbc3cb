<?php

declare(strict_types=1);

namespace Adjourn\Laravel;

use Adjourn\Backoff;
use Adjourn\BulkChange;
use Adjourn\Client;
use Adjourn\Error\AdjournError;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\Server\Paused;
use Adjourn\Error\TimeoutError;
use Adjourn\Filter;
use Adjourn\JobState;
use Adjourn\NewJob;
use Adjourn\Worker\StopSignals;
use Illuminate\Contracts\Queue\ClearableQueue;
use Illuminate\Contracts\Queue\Queue as QueueContract;
use Illuminate\Queue\Queue;
use Psr\Log\LoggerInterface;

/**
 * Laravel's queue on Adjourn. A queue of Laravel is a topic.
 *
 * Laravel decides about attempts and backoff. A job that the server buried would never reach `failed()`. So each job says that it
 * has no limit of attempts and no backoff, which overrides the defaults of the topic and of the server.
 *
 * Laravel also decides, by its lock, whether a unique job is dispatched: a job has no key here. The next one is dispatched before
 * the worker deletes the one at work, and would be lost to its key.
 */
class AdjournQueue extends Queue implements QueueContract, ClearableQueue
{
    /** A job's lease lasts longer than its timeout: the worker is to end the job, not the lease. */
    private const TTR_MARGIN_S = 10;
    /** How long one look for jobs lasts beyond `block_for` if the server does not answer. */
    private const LOOK_MS_MAX = 5000;
    /** The same while there is no connection: the worker sleeps between two looks, and hears signals at once. */
    private const LOOK_AWAY_MS_MAX = 1000;
    /** Where a payload says to which group its job belongs: `queue:retry` pushes the payload alone. */
    private const GROUP = 'messageGroup';

    private readonly StopSignals $signals;
    private bool $isAway = false;

    public function __construct(
        private readonly Client $client,
        private readonly LoggerInterface $logger,
        private readonly string $default = 'default',
        private readonly int $retryAfterS = 90,
        private readonly int $blockForMs = 0,
        bool $dispatchAfterCommit = false,
    ) {
        $this->dispatchAfterCommit = $dispatchAfterCommit;
        $this->signals = new StopSignals($client);
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
        return $this->client->push($this->topic($queue), $this->newJob($payload, null))->job;
    }

    /** Pushes all jobs in as few requests as they fit into. Those that wait for a transaction are pushed when it is committed. */
    public function bulk($jobs, $data = '', $queue = null)
    {
        $together = [];
        foreach ((array) $jobs as $job) {
            $delay = is_object($job) ? $job->delay ?? null : null;
            $payload = $this->createPayload($job, $this->topic($queue), $data);
            if ($this->shouldDispatchAfterCommit($job) && $this->container->bound('db.transactions')) {
                $this->enqueuePayload($job, $payload, $queue, $delay);
            } else {
                $together[] = [$job, $payload, $delay];
            }
        }
        $newJobs = array_map(fn (array $one): NewJob => $this->newJob($one[1], $one[2]), $together);
        foreach ($this->client->pushMany($this->topic($queue), $newJobs) as $place => $pushed) {
            [$job, $payload, $delay] = $together[$place];
            // Laravel tells its listeners of each.
            $this->enqueueUsing($job, $payload, $queue, $delay, static fn (): int => $pushed->orThrow()->job);
        }
    }

    public function pop($queue = null)
    {
        try {
            $jobs = $this->reserve($this->topic($queue));
        } catch (Paused) {
            return null;
        }

        $tracing = $this->client->options()->tracing;

        return $jobs === []
            ? null
            : new AdjournJob($this->container, $jobs[0], $this->logger, $tracing, $this->connectionName, $this->topic($queue));
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

    /** The group is the one that `onGroup` of a job sets, or that its method `messageGroup` returns. */
    protected function createPayloadArray($job, $queue, $data = '')
    {
        $isNamed = is_object($job) && method_exists($job, 'messageGroup');
        $group = is_object($job) ? $job->messageGroup ?? ($isNamed ? $job->messageGroup() : null) : null;

        return parent::createPayloadArray($job, $queue, $data) + ($group === null ? [] : [self::GROUP => (string) $group]);
    }

    private function enqueue($job, $data, $queue, $delay)
    {
        return $this->enqueuePayload($job, $this->createPayload($job, $this->topic($queue), $data), $queue, $delay);
    }

    private function enqueuePayload($job, string $payload, $queue, $delay)
    {
        return $this->enqueueUsing(
            $job,
            $payload,
            $queue,
            $delay,
            fn ($payload, $queue, $delay = null) => $this->client->push($this->topic($queue), $this->newJob($payload, $delay))->job,
        );
    }

    private function newJob(string $payload, $delay): NewJob
    {
        $at = $delay instanceof \DateTimeInterface ? $delay : null;
        $said = json_decode($payload, true);
        $timeout = $said['timeout'] ?? null;

        return new NewJob(
            body: $payload,
            delayMs: $at === null && $delay !== null ? max(0, $this->secondsUntil($delay)) * 1000 : null,
            at: $at,
            ttrMs: 1000 * (is_numeric($timeout) && $timeout > 0 ? (int) $timeout + self::TTR_MARGIN_S : $this->retryAfterS),
            headers: ['content-type' => 'application/json'],
            attemptsMax: NewJob::ATTEMPTS_UNLIMITED,
            backoff: Backoff::fixed(0),
            group: $said[self::GROUP] ?? null,
        );
    }

    /** @return list<\Adjourn\Job> none also while no server answers, or when the process is to end */
    private function reserve(string $topic): array
    {
        $session = $this->client->session();
        $stop = $this->signals->watch();
        $hasBeenThere = $session->welcome() !== null;
        if ($hasBeenThere) {
            $patienceMs = $this->client->isConnected() ? self::LOOK_MS_MAX : self::LOOK_AWAY_MS_MAX;
            $session->endCallsBy($session->clock->nowMs() + $this->blockForMs + $patienceMs);
        }
        try {
            $jobs = $this->client->reserve($topic, $this->blockForMs, cancel: $stop);
            $this->isAway = $this->isAway && !$this->client->isConnected();

            return $jobs;
        } catch (ConnectionError|TimeoutError $error) {
            // The first connection may have failed because the address is wrong: Laravel reports it.
            if (!$hasBeenThere && !$stop->isCancelled()) {
                throw $error;
            }
            $this->tellAway($error);

            return [];
        } finally {
            $session->endCallsBy(null);
        }
    }

    private function tellAway(AdjournError $error): void
    {
        if (!$this->isAway) {
            $this->logger->warning("adjourn: no jobs for now: {$error->getMessage()}");
        }
        $this->isAway = true;
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
