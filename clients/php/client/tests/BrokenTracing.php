<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Job;
use Adjourn\Tracing;

/** Throws before or after what it surrounds, or calls it not once, or returns what is no result. */
final readonly class BrokenTracing implements Tracing
{
    /** @param array<mixed> $headers for each job */
    public function __construct(private bool $isBefore, private bool $isAfter, private int $runs, private array $headers)
    {
    }

    public function push(string $topic, ?int $jobs, \Closure $push): array
    {
        return $this->surround(fn () => $push($this->headers));
    }

    public function process(Job $job, \Closure $handle): mixed
    {
        return $this->surround($handle);
    }

    private function surround(\Closure $run): array
    {
        $this->isBefore && throw new \LogicException('Before.');
        for ($n = 0; $n < $this->runs; ++$n) {
            try {
                $run();
            } finally {
                $this->isAfter && throw new \LogicException('After.');
            }
        }

        return [];
    }
}
