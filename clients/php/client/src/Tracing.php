<?php

declare(strict_types=1);

namespace Adjourn;

/**
 * Follows jobs from push to handler. `OpenTelemetry\Tracing` does it with OpenTelemetry. What it throws is logged once, and changes no push and no handler.
 */
interface Tracing
{
    /**
     * Surrounds a push.
     *
     * @param int|null $jobs how many; null if a generator makes them
     * @param \Closure(array<string, string>): list<PushResult> $push pushes. Each job gets these headers. One that it names itself
     *     wins; with a `traceparent` of its own it gets none
     * @return list<PushResult> what `$push` returns
     */
    public function push(string $topic, ?int $jobs, \Closure $push): array;

    /**
     * Surrounds a handler. It runs before the job is settled, unless the handler settles it.
     *
     * @param \Closure(): mixed $handle
     * @return mixed what `$handle` returns
     */
    public function process(Job $job, \Closure $handle): mixed;
}
