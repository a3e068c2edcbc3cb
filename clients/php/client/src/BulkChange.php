<?php

declare(strict_types=1);

namespace Adjourn;

/** What BULK does to each job that matches. */
final readonly class BulkChange
{
    private function __construct(
        public int $kind,
        public int $dueMs = 0,
        public ?string $to = null,
    ) {
    }

    public static function delete(): self
    {
        return new self(0);
    }

    public static function kick(): self
    {
        return new self(1);
    }

    public static function runNow(): self
    {
        return new self(2);
    }

    public static function reschedule(\DateTimeInterface $at): self
    {
        return new self(3, Time::ms($at));
    }

    public static function moveTo(string $topic): self
    {
        return new self(4, 0, Topic::check($topic));
    }
}
