<?php

declare(strict_types=1);

namespace Adjourn\Laravel;

use Adjourn\Error\AdjournError;
use Adjourn\Job as Leased;
use Adjourn\Release;
use Adjourn\Tracing;
use Adjourn\U64;
use Illuminate\Container\Container;
use Illuminate\Contracts\Queue\Job as JobContract;
use Illuminate\Queue\Jobs\Job;
use Psr\Log\LoggerInterface;

/** A leased job, as Laravel's worker sees it. */
class AdjournJob extends Job implements JobContract
{
    public function __construct(
        Container $container,
        private readonly Leased $leased,
        private readonly LoggerInterface $logger,
        private readonly Tracing $tracing,
        string $connectionName,
        string $queue,
    ) {
        $this->container = $container;
        $this->connectionName = $connectionName;
        $this->queue = $queue;
    }

    public function fire()
    {
        $this->tracing->process($this->leased, fn () => parent::fire());
    }

    public function delete()
    {
        parent::delete();
        $this->settle('finished', fn () => $this->leased->finish());
    }

    public function release($delay = 0)
    {
        parent::release($delay);
        $this->settle('released', fn () => $this->leased->release(Release::afterMs(1000 * max(0, $this->secondsUntil($delay)))));
    }

    public function attempts()
    {
        return $this->leased->attempts;
    }

    public function getJobId()
    {
        return U64::toString($this->leased->id);
    }

    public function getRawBody()
    {
        return $this->leased->body;
    }

    /** For long jobs: call `touch` on it, or look whether the lease is lost. */
    public function leased(): Leased
    {
        return $this->leased;
    }

    /**
     * Laravel counts what it is told: an exception here would be an exception of the job. If the lease is lost, another
     * worker has the job; if the server cannot be asked, the job comes back when its lease ends.
     */
    private function settle(string $what, callable $settle): void
    {
        try {
            $settle();
        } catch (AdjournError $error) {
            $this->logger->warning("adjourn: job {$this->getJobId()} was not $what: {$error->getMessage()}", [
                'exception' => $error,
                'queue' => $this->queue,
                'attempts' => $this->leased->attempts,
            ]);
        }
    }
}
