<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

/** A job that a middleware such as RateLimited releases again and again. After 40 attempts its time is over, and it fails. */
class OftenReleased extends Recorder
{
    public function retryUntil(): \DateTimeInterface
    {
        return new \DateTimeImmutable('+1 second');
    }

    public function handle(): void
    {
        if ($this->attempts() < 40) {
            $this->release(0);

            return;
        }
        self::$seen[] = "$this->name {$this->attempts()}";
        while (time() <= $this->job->retryUntil()) {
            usleep(10_000);
        }
        throw new \RuntimeException("$this->name fails");
    }
}
