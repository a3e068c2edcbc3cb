<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Job;
use Adjourn\Tracing;

/** Remembers what it surrounds, and gives each push a number as its trace. */
final class RecordedTracing implements Tracing
{
    /** @var list<string> */
    public array $seen = [];

    /** @param array<string, string> $headers for each job, beside its trace */
    public function __construct(private readonly array $headers = [])
    {
    }

    public function push(string $topic, ?int $jobs, \Closure $push): array
    {
        $trace = (string) count($this->seen);
        $this->seen[] = 'push ' . ($jobs ?? 'some') . " in $trace";

        return $push(['traceparent' => $trace] + $this->headers);
    }

    public function process(Job $job, \Closure $handle): mixed
    {
        $this->seen[] = "process in {$job->headers['traceparent']}";
        try {
            return $handle();
        } catch (\Throwable $error) {
            $this->seen[] = "failed: {$error->getMessage()}";
            throw $error;
        } finally {
            $this->seen[] = 'processed';
        }
    }
}
