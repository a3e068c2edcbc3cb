<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\Connection\Clock;
use Adjourn\Job;
use Psr\Log\LoggerInterface;

/** Logs a failure once for each job and reason: ten at once, and one a second on average. It counts what it leaves out. */
final class FailureLog
{
    private const REMEMBERED_MAX = 1024;
    private const LINES_MAX = 10;
    private const LINE_MS = 1000;

    /** @var array<string, true> the newest last */
    private array $logged = [];
    private int $leftOut = 0;
    private float $lines = self::LINES_MAX;
    private int $countedMs;

    public function __construct(
        private readonly LoggerInterface $logger,
        private readonly Clock $clock,
    ) {
        $this->countedMs = $clock->nowMs();
    }

    public function failed(Job $job, string $reason, \Throwable $error): void
    {
        $name = "$job->id $reason";
        if (isset($this->logged[$name])) {
            return;
        }
        if (!$this->mayWrite()) {
            // It is not remembered: the job's next failure may be logged.
            ++$this->leftOut;

            return;
        }
        $this->logged[$name] = true;
        if (count($this->logged) > self::REMEMBERED_MAX) {
            unset($this->logged[array_key_first($this->logged)]);
        }
        $more = $this->leftOut > 0 ? " ($this->leftOut other failures were not logged)" : '';
        $this->leftOut = 0;
        $this->logger->warning("adjourn: the handler of job $job->lease failed at attempt $job->attempts: $reason$more", ['exception' => $error]);
    }

    private function mayWrite(): bool
    {
        $now = $this->clock->nowMs();
        $this->lines = min(self::LINES_MAX, $this->lines + ($now - $this->countedMs) / self::LINE_MS);
        $this->countedMs = $now;
        if ($this->lines < 1) {
            return false;
        }
        --$this->lines;

        return true;
    }
}
