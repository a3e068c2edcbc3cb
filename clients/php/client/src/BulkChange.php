<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\JobFrames;

/** What BULK does to each job that matches. */
final readonly class BulkChange
{
    public const DELETE = JobFrames::CHANGE_DELETE;
    public const KICK = JobFrames::CHANGE_KICK;
    public const RUN_NOW = JobFrames::CHANGE_RUN_NOW;
    public const RESCHEDULE = JobFrames::CHANGE_RESCHEDULE;
    public const MOVE = JobFrames::CHANGE_MOVE;

    private function __construct(
        public int $kind,
        public int $dueMs = 0,
        public ?string $to = null,
    ) {
    }

    public static function delete(): self
    {
        return new self(self::DELETE);
    }

    public static function kick(): self
    {
        return new self(self::KICK);
    }

    public static function runNow(): self
    {
        return new self(self::RUN_NOW);
    }

    public static function reschedule(\DateTimeInterface $at): self
    {
        return new self(self::RESCHEDULE, Time::ms($at));
    }

    public static function moveTo(string $topic): self
    {
        return new self(self::MOVE, 0, Topic::check($topic));
    }
}
