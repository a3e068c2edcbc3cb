<?php

declare(strict_types=1);

namespace Adjourn\Benches;

/** One library, with one connection, on one topic that nothing else uses. */
interface System
{
    public const BODY_BYTES = 64;
    public const DELAY_S = 3600;
    public const BATCH_JOBS = 64;
    public const TTR_S = 60;

    /** Makes the connection, so that the time for it does not count. */
    public function connect(): void;

    /** Pushes delayed jobs, each awaited before the next is sent. */
    public function pushOne(int $jobs): void;

    /** Pushes delayed jobs in the quickest way that the library has: batches, several under way if it can. */
    public function pushMany(int $jobs): void;

    /** Pushes ready jobs. */
    public function fill(int $jobs): void;

    /** Runs the library's worker, with a handler that does nothing, until no job is ready. */
    public function work(): void;

    /** Jobs that are not finished. */
    public function left(): int;
}
