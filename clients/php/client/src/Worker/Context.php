<?php

declare(strict_types=1);

namespace Adjourn\Worker;

/** What a handler may ask its worker. */
final readonly class Context
{
    public function __construct(private Worker $worker)
    {
    }

    /**
     * Call it between the chunks of long work: it sends heartbeats, touches the job when half of its lease is over, and
     * throws if the handler has to stop.
     *
     * @throws \Adjourn\Error\LeaseLost another consumer may have the job
     * @throws Stopped the worker is stopping and its time is over
     * @throws RunTooLong the handler has run for maxRunMs
     */
    public function tick(): void
    {
        $this->worker->tick();
    }

    /** Whether the worker is to stop: a handler that can end early should. */
    public function isStopping(): bool
    {
        return $this->worker->health()->isStopping;
    }
}
