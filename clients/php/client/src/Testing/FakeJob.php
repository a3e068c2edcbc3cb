<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Attributes;
use Adjourn\BuriedReason;
use Adjourn\Due;
use Adjourn\JobReport;
use Adjourn\JobState;

/** A job in the fake. */
final class FakeJob
{
    public JobState $state = JobState::Delayed;
    public ?BuriedReason $buried = null;
    public int $attempts = 0;
    public int $fence = 0;
    public int $untilMs = 0;
    public ?string $reason = null;
    public ?int $reservedFirstMs = null;
    public ?int $reservedLastMs = null;
    public ?int $finishedMs = null;
    public int $dueMs;
    public int $capMs = PHP_INT_MAX;
    /** How long it is remembered after FINISH. */
    public int $rememberMs = 0;
    /** It is not found by its key. */
    public bool $isDeadLetter = false;

    public function __construct(
        public readonly int $id,
        public string $topic,
        public readonly ?string $key,
        public int $priority,
        public int $ttrMs,
        public Attributes $attributes,
        public string $body,
        Due $due,
        public readonly int $pushedMs,
    ) {
        $this->due($due, $pushedMs);
    }

    public function due(Due $due, int $nowMs): void
    {
        $this->dueMs = min($this->capMs, $due->isAt() ? $due->ms : $nowMs + $due->ms);
        $this->state = $this->dueMs <= $nowMs ? JobState::Ready : JobState::Delayed;
    }

    public function expiresMs(): int
    {
        $expires = $this->attributes->expires;

        return $expires === null ? PHP_INT_MAX : ($expires->isAt() ? $expires->ms : $this->pushedMs + $expires->ms);
    }

    public function report(int $nowMs, bool $withBody): JobReport
    {
        return new JobReport(
            $this->id,
            $this->topic,
            $this->key,
            $this->state,
            $this->buried,
            $this->priority,
            $this->attempts,
            $this->dueMs,
            $this->ttrMs,
            $this->state === JobState::Reserved ? max(0, $this->untilMs - $nowMs) : 0,
            $this->attributes,
            $withBody ? $this->body : '',
            strlen($this->body),
            $this->pushedMs,
            $this->reservedFirstMs,
            $this->reservedLastMs,
            null,
            $this->reason,
            $this->finishedMs,
        );
    }
}
