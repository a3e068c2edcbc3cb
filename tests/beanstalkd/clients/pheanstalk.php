<?php

declare(strict_types=1);

// Runs Pheanstalk, unchanged, against a server: `pheanstalk.php HOST PORT`.
//
// It leaves the values of statistics as text, with the quotes that newer servers put around some of them.

use Pheanstalk\Contract\JobIdInterface;
use Pheanstalk\Exception\DeadlineSoonException;
use Pheanstalk\Exception\JobNotFoundException;
use Pheanstalk\Exception\JobTooBigException;
use Pheanstalk\Exception\ServerException;
use Pheanstalk\Job;
use Pheanstalk\JobId;
use Pheanstalk\Pheanstalk;

require __DIR__ . '/checks.php';
require_once 'Pheanstalk/autoload.php';

final class PheanstalkChecks extends Checks
{
    private const SHARED_JOBS = 100;
    private const TTR_S = 60;

    public function putAndReserve(): void
    {
        $queue = $this->connect();
        $later = $queue->put('later', 20, 0, 90);
        $first = $queue->put('first', 10, 0, 60);
        $delayed = $queue->put('delayed', 0, LONG_S, 30);
        $wanted = ['id' => (string) $later->getId(), 'tube' => $this->tube];
        $wanted += ['state' => 'ready', 'pri' => '20', 'delay' => '0', 'ttr' => '90'];
        self::equal(self::stats($queue, $later, ...array_keys($wanted)), $wanted);
        $wanted = ['state' => 'delayed', 'pri' => '0', 'delay' => (string) LONG_S, 'ttr' => '30'];
        self::equal(self::stats($queue, $delayed, ...array_keys($wanted)), $wanted);
        foreach ([$first, $later] as $job) {
            self::reserve($queue, $job);
            self::equal(self::stats($queue, $job, 'state', 'reserves'), ['state' => 'reserved', 'reserves' => '1']);
            $queue->delete($job);
            self::throws(JobNotFoundException::class, fn () => $queue->delete($job));
        }
        self::equal($queue->reserveWithTimeout(0), null);
        $queue->delete($delayed);
    }

    public function tubes(): void
    {
        $other = "$this->tube-other";
        $queue = Pheanstalk::create($this->host, $this->port);
        self::equal([$queue->listTubeUsed(true), $queue->listTubesWatched(true)], ['default', ['default']]);
        $queue->useTube($this->tube)->watch($this->tube)->watch($other);
        self::equal($queue->listTubeUsed(true), $this->tube);
        $watched = $queue->listTubesWatched(true);
        sort($watched);
        $wanted = ['default', $this->tube, $other];
        sort($wanted);
        self::equal($watched, $wanted);
        $queue->watchOnly($this->tube);
        self::equal($queue->listTubesWatched(true), [$this->tube]);
        $error = self::throws(ServerException::class, fn () => $queue->ignore($this->tube));
        self::isTrue(str_contains($error->getMessage(), 'NOT_IGNORED'), $error->getMessage());
        $job = $queue->put('x');
        $names = $queue->listTubes();
        self::equal(array_diff([$this->tube, 'default'], $names), [], 'what list-tubes lacks');
        $queue->delete($job);
        $used = $queue->withUsedTube($other, fn (Pheanstalk $queue) => $queue->listTubeUsed(true));
        self::equal([$used, $queue->listTubeUsed(true)], [$other, $this->tube]);
    }

    public function reserveOfNothing(): void
    {
        $queue = $this->connect();
        self::equal([$queue->reserveWithTimeout(0), $queue->reserveWithTimeout(1)], [null, null]);
    }

    public function reserveWaits(): void
    {
        $producer = self::inProcess(function (): string {
            $queue = $this->connect();
            self::until(fn () => $queue->statsTube($this->tube)['current-waiting'] === '1');

            return (string) $queue->put('wakes')->getId();
        });
        $queue = $this->connect();
        $job = $queue->reserve();
        self::equal([(string) $job->getId(), $job->getData()], [$producer(), 'wakes']);
        $queue->delete($job);
    }

    public function delay(): void
    {
        $queue = $this->connect();
        $job = $queue->put('soon', delay: 1);
        self::reserve($queue, $job);
        $queue->release($job, delay: 1);
        self::reserve($queue, $job);
        self::equal(self::stats($queue, $job, 'reserves'), ['reserves' => '2']);
        $queue->release($job, 7, LONG_S);
        self::equal($queue->reserveWithTimeout(0), null);
        self::equal(self::stats($queue, $job, 'state', 'pri'), ['state' => 'delayed', 'pri' => '7']);
        $left = (int) $queue->statsJob($job)['time-left'];
        self::isTrue($left > LONG_S - PATIENCE_S && $left <= LONG_S, "$left s are left");
        $queue->delete($job);
    }

    public function releaseWithPriority(): void
    {
        $queue = $this->connect();
        $first = $queue->put('first', 10);
        $second = $queue->put('second', 20);
        self::reserve($queue, $first);
        $queue->release($first, 30);
        self::reserve($queue, $second);
        self::reserve($queue, $first);
        self::equal(self::stats($queue, $first, 'pri'), ['pri' => '30']);
        $queue->delete($first);
        $queue->delete($second);
    }

    public function buryAndKick(): void
    {
        $queue = $this->connect();
        self::equal($queue->kick(10), 0);
        $jobs = array_map(fn (int $priority) => $queue->put("$priority", $priority), [1, 2, 3]);
        foreach ($jobs as $job) {
            $queue->bury(self::reserve($queue, $job), 5);
        }
        $delayed = $queue->put('delayed', delay: LONG_S);
        self::equal($queue->peekBuried()?->getId(), $jobs[0]->getId());
        self::equal(self::stats($queue, $jobs[0], 'state', 'pri'), ['state' => 'buried', 'pri' => '5']);
        self::equal($queue->reserveWithTimeout(0), null);
        // Only buried jobs, as long as there are any.
        self::equal([$queue->kick(2), $queue->kick(10)], [2, 1]);
        self::equal(self::stats($queue, $delayed, 'state'), ['state' => 'delayed']);
        self::equal($queue->kick(10), 1);
        foreach ([...$jobs, $delayed] as $job) {
            self::equal(self::stats($queue, $job, 'state'), ['state' => 'ready']);
            $queue->delete($job);
        }
    }

    public function kickJob(): void
    {
        $queue = $this->connect();
        $job = $queue->put('x', delay: LONG_S);
        $queue->kickJob($job);
        self::reserve($queue, $job);
        self::throws(JobNotFoundException::class, fn () => $queue->kickJob($job));
        $queue->bury($job);
        $queue->kickJob($job);
        self::reserve($queue, $job);
        $queue->delete($job);
        self::throws(JobNotFoundException::class, fn () => $queue->kickJob($job));
    }

    public function peek(): void
    {
        $queue = $this->connect();
        self::equal([$queue->peekReady(), $queue->peekDelayed(), $queue->peekBuried()], [null, null, null]);
        $ready = $queue->put('ready', 2);
        $mostUrgent = $queue->put('most urgent', 1);
        $last = $queue->put('last', delay: 2 * LONG_S);
        $delayed = $queue->put('delayed', delay: LONG_S);
        $found = [$queue->peekReady(), $queue->peekDelayed(), $queue->peek(new JobId($ready->getId()))];
        self::equal(array_map(fn (Job $job) => $job->getId(), $found), [$mostUrgent->getId(), $delayed->getId(), $ready->getId()]);
        self::equal(array_map(fn (Job $job) => $job->getData(), $found), ['most urgent', 'delayed', 'ready']);
        foreach ([$ready, $mostUrgent, $last, $delayed] as $job) {
            $queue->delete($job);
            self::throws(JobNotFoundException::class, fn () => $queue->peek($job));
        }
    }

    public function touch(): void
    {
        [$queue, $stranger] = [$this->connect(), $this->connect()];
        $job = $queue->put('x', ttr: self::TTR_S);
        self::reserve($queue, $job);
        $left = fn (): int => (int) $queue->statsJob($job)['time-left'];
        self::until(fn () => $left() <= self::TTR_S - 2);
        $begin = hrtime(true);
        $queue->touch($job);
        $found = $left();
        $tookS = (int) ceil((hrtime(true) - $begin) / 1e9);
        self::isTrue($found >= self::TTR_S - $tookS && $found <= self::TTR_S, "$found s are left");
        self::throws(JobNotFoundException::class, fn () => $stranger->touch($job));
        $queue->delete($job);
        self::throws(JobNotFoundException::class, fn () => $queue->touch($job));
    }

    public function jobsOfOthers(): void
    {
        [$queue, $stranger] = [$this->connect(), $this->connect()];
        $job = $queue->put('x');
        self::reserve($queue, $job);
        foreach (['release', 'bury', 'delete'] as $method) {
            self::throws(JobNotFoundException::class, fn () => $stranger->$method($job));
        }
        self::equal(self::stats($stranger, $job, 'state'), ['state' => 'reserved']);
        $queue->delete($job);
        foreach (['release', 'bury', 'delete'] as $method) {
            self::throws(JobNotFoundException::class, fn () => $queue->$method($job));
        }
        self::throws(ServerException::class, fn () => $queue->statsJob($job));
    }

    public function statsOfServer(): void
    {
        $queue = $this->connect();
        $before = $queue->stats();
        $job = $queue->put('x');
        $stats = $queue->stats();
        foreach (['cmd-put', 'total-jobs'] as $name) {
            self::isTrue((int) $stats[$name] > (int) $before[$name], "$name has grown");
        }
        foreach (['current-jobs-ready', 'current-connections', 'current-producers', 'current-tubes', 'max-job-size', 'pid'] as $name) {
            self::isTrue(ctype_digit($stats[$name]) && (int) $stats[$name] > 0, "$name is $stats[$name]");
        }
        self::equal($stats->draining, 'false');
        $queue->delete($job);
    }

    public function statsOfTube(): void
    {
        $queue = $this->connect();
        self::throws(ServerException::class, fn () => $queue->statsTube("$this->tube-unknown"));
        $jobs = array_map(fn (int $priority) => $queue->put('x', $priority), [1, 2, 3, 2000]);
        array_push($jobs, $queue->put('x', delay: LONG_S), $queue->put('x', delay: LONG_S));
        self::reserve($queue, $jobs[0]);
        $queue->bury(self::reserve($queue, $jobs[1]));
        $found = $queue->statsTube($this->tube);
        foreach (['ready' => '2', 'reserved' => '1', 'delayed' => '2', 'buried' => '1'] as $name => $count) {
            self::equal($found["current-jobs-$name"], $count, $name);
        }
        $wanted = ['total-jobs' => '6', 'current-using' => '1', 'current-watching' => '1', 'current-waiting' => '0', 'pause' => '0'];
        foreach ($wanted as $name => $count) {
            self::equal($found[$name], $count, $name);
        }
        // As Laravel asks.
        self::equal([trim($found->name, '"'), $found->current_jobs_ready], [$this->tube, '2']);
        array_walk($jobs, $queue->delete(...));
    }

    public function pauseTube(): void
    {
        $queue = $this->connect();
        self::throws(ServerException::class, fn () => $queue->pauseTube("$this->tube-unknown", 1));
        $job = $queue->put('x');
        $queue->pauseTube($this->tube, LONG_S);
        self::equal($queue->reserveWithTimeout(0), null);
        $stats = $queue->statsTube($this->tube);
        self::equal($stats['pause'], (string) LONG_S);
        $left = (int) $stats['pause-time-left'];
        self::isTrue($left > 0 && $left <= LONG_S, "$left s are left");
        $queue->resumeTube($this->tube);
        self::reserve($queue, $job);
        $queue->delete($job);
    }

    public function twoConsumers(): void
    {
        $consume = function (): string {
            $taken = '';
            $queue = $this->connect();
            // Both have a job before one of them takes all others.
            $job = $queue->reserveWithTimeout(PATIENCE_S);
            self::until(fn () => (int) $queue->statsTube($this->tube)['total-jobs'] === self::SHARED_JOBS + 2);
            for (; $job !== null; $job = $queue->reserveWithTimeout(0)) {
                $taken .= $job->getId() . ' ';
                $queue->delete($job);
            }

            return $taken;
        };
        $consumers = [self::inProcess($consume), self::inProcess($consume)];
        $queue = $this->connect();
        $ids = [$queue->put('first')->getId(), $queue->put('second')->getId()];
        self::until(fn () => $queue->statsTube($this->tube)['current-jobs-reserved'] === '2');
        for ($number = 0; $number < self::SHARED_JOBS; $number++) {
            $ids[] = $queue->put("$number")->getId();
        }
        $taken = array_map(fn (callable $consumer) => $consumer(), $consumers);
        self::isTrue($taken[0] !== '' && $taken[1] !== '', 'both have taken jobs');
        $all = array_map('intval', explode(' ', trim(implode('', $taken))));
        sort($all);
        sort($ids);
        self::equal($all, $ids);
    }

    public function closedConnection(): void
    {
        [$dying, $queue] = [$this->connect(), $this->connect()];
        $job = $queue->put('x', ttr: LONG_S);
        self::reserve($dying, $job);
        self::equal($queue->reserveWithTimeout(0), null);
        unset($dying);
        self::reserve($queue, $job);
        $queue->delete($job);
    }

    public function killedProcess(): void
    {
        $queue = $this->connect();
        $job = $queue->put('x', ttr: LONG_S);
        $dying = self::inProcess(fn (): string => (string) self::reserve($this->connect(), $job)->getId());
        self::equal($dying(), (string) $job->getId());
        self::reserve($queue, $job);
        $queue->delete($job);
    }

    public function largeBody(): void
    {
        $bytes = implode('', array_map('chr', range(0, 255)));
        $body = substr("\r\nRESERVED 1 2\r\n$bytes" . random_bytes(BODY_BYTES), 0, BODY_BYTES);
        $queue = $this->connect();
        $job = $queue->put($body);
        self::isTrue($queue->peek($job)->getData() === $body, 'the same body is peeked at');
        self::isTrue($queue->reserveWithTimeout(PATIENCE_S)?->getData() === $body, 'the same body is reserved');
        $queue->delete($job);
    }

    public function jobTooBig(): void
    {
        $queue = $this->connect();
        $most = (int) $queue->stats()['max-job-size'];
        self::throws(JobTooBigException::class, fn () => $queue->put(str_repeat('x', $most + 1)));
        // The connection is as good as before.
        self::equal($queue->listTubeUsed(true), $this->tube);
        $job = $queue->put(str_repeat('x', $most));
        self::equal(strlen($queue->peek($job)->getData()), $most);
        $queue->delete($job);
    }

    public function deadlineSoon(): void
    {
        $queue = $this->connect();
        $job = $queue->put('x', ttr: 1);
        self::reserve($queue, $job);
        $warnings = 0;
        self::until(function () use ($queue, $job, &$warnings): bool {
            // beanstalkd looks at the jobs of a connection when it sends something.
            try {
                self::reserve($queue, $job);
            } catch (DeadlineSoonException) {
                $warnings++;

                return false;
            }

            // Without a warning, this program paused for longer than the job's ttr.
            return $warnings > 0;
        });
        $queue->delete($job);
    }

    /** A client that uses and watches the check's tube. */
    private function connect(): Pheanstalk
    {
        $queue = Pheanstalk::create($this->host, $this->port);
        $queue->useTube($this->tube)->watchOnly($this->tube);

        return $queue;
    }

    /** Reserves the job that must be next. */
    private static function reserve(Pheanstalk $queue, Job $expected): Job
    {
        $job = $queue->reserveWithTimeout(PATIENCE_S);
        self::equal([$job?->getId(), $job?->getData()], [$expected->getId(), $expected->getData()], 'the job');

        return $job;
    }

    /** @return array<string, string> */
    private static function stats(Pheanstalk $queue, JobIdInterface $job, string ...$names): array
    {
        $found = $queue->statsJob($job);

        return array_combine($names, array_map(fn (string $name) => trim($found[$name], '"'), $names));
    }
}

(new PheanstalkChecks($argv[1], (int) $argv[2]))->run('pheanstalk', 'php-pda-pheanstalk');
