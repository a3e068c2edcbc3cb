<?php

declare(strict_types=1);

namespace Adjourn\Benches;

use Pheanstalk\Contract\PheanstalkInterface;
use Pheanstalk\Pheanstalk;

/** With Pheanstalk. It has neither batches nor pipelines: many jobs are pushed one after the other. */
final class PheanstalkSystem implements System
{
    private readonly Pheanstalk $pheanstalk;

    public function __construct(string $address, private readonly string $tube)
    {
        [$host, $port] = explode(':', $address);
        $this->pheanstalk = Pheanstalk::create($host, (int) $port);
        $this->pheanstalk->useTube($tube);
    }

    public function connect(): void
    {
        $this->pheanstalk->stats();
    }

    public function pushOne(int $jobs): void
    {
        $this->put($jobs, self::DELAY_S);
    }

    public function pushMany(int $jobs): void
    {
        $this->put($jobs, self::DELAY_S);
    }

    public function fill(int $jobs): void
    {
        $this->put($jobs, 0);
    }

    public function work(): void
    {
        $this->pheanstalk->watchOnly($this->tube);
        while (($job = $this->pheanstalk->reserveWithTimeout(0)) !== null) {
            // Here the handler would have its turn.
            $this->pheanstalk->delete($job);
        }
    }

    public function left(): int
    {
        $stats = $this->pheanstalk->statsTube($this->tube);

        return (int) $stats['current-jobs-ready'] + (int) $stats['current-jobs-delayed'] + (int) $stats['current-jobs-reserved'];
    }

    private function put(int $jobs, int $delayS): void
    {
        $body = str_repeat('x', self::BODY_BYTES);
        for (; $jobs > 0; --$jobs) {
            $this->pheanstalk->put($body, PheanstalkInterface::DEFAULT_PRIORITY, $delayS, self::TTR_S);
        }
    }
}
