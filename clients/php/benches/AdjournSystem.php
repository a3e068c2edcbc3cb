<?php

declare(strict_types=1);

namespace Adjourn\Benches;

use Adjourn\Client;
use Adjourn\Filter;
use Adjourn\NewJob;
use Adjourn\Worker\Worker;
use Adjourn\Worker\WorkerOptions;

/** This client, with the options of its README. */
final class AdjournSystem implements System
{
    private readonly Client $queue;

    public function __construct(string $address, private readonly string $topic)
    {
        $this->queue = new Client("adjourn://$address");
    }

    public function connect(): void
    {
        $this->queue->connect();
    }

    public function pushOne(int $jobs): void
    {
        $body = str_repeat('x', self::BODY_BYTES);
        for (; $jobs > 0; --$jobs) {
            $this->queue->push($this->topic, $body, delayMs: 1000 * self::DELAY_S);
        }
    }

    public function pushMany(int $jobs): void
    {
        $this->pushAll($jobs, new NewJob(str_repeat('x', self::BODY_BYTES), delayMs: 1000 * self::DELAY_S));
    }

    public function fill(int $jobs): void
    {
        $this->pushAll($jobs, new NewJob(str_repeat('x', self::BODY_BYTES)));
    }

    public function work(): void
    {
        (new Worker($this->queue, new WorkerOptions(stopsWhenEmpty: true)))->run($this->topic, static fn () => null);
    }

    public function left(): int
    {
        return $this->queue->count(new Filter($this->topic));
    }

    private function pushAll(int $jobs, NewJob $job): void
    {
        $all = (static function () use ($jobs, $job): iterable {
            for (; $jobs > 0; --$jobs) {
                yield $job;
            }
        })();
        foreach ($this->queue->pushMany($this->topic, $all, batchJobsMax: self::BATCH_JOBS) as $result) {
            $result->orThrow();
        }
    }
}
