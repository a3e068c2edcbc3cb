<?php

declare(strict_types=1);

namespace Adjourn;

/** How a job is given back. */
final readonly class Release
{
    /** The attempt failed; the job waits for its backoff. */
    public const BACKOFF = -1;
    /** The work was not started: no attempt is counted. */
    public const NOT_STARTED = -2;

    private function __construct(public int $delayMs)
    {
    }

    public static function backoff(): self
    {
        return new self(self::BACKOFF);
    }

    public static function notStarted(): self
    {
        return new self(self::NOT_STARTED);
    }

    /** The attempt failed; the next one is after this time, whatever the job's backoff. */
    public static function afterMs(int $delayMs): self
    {
        return new self(Due::afterMs($delayMs)->ms);
    }
}
