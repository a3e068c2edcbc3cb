<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\Codec;

/** How a job is given back. */
final readonly class Release
{
    /** The attempt failed; the job waits for its backoff. */
    public const BACKOFF = Codec::RELEASE_BY_BACKOFF;
    /** The work was not started: no attempt is counted. */
    public const NOT_STARTED = Codec::RELEASE_NOT_STARTED;

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

    /** The work was not started, and is not to be before this delay is over: no attempt is counted. */
    public static function parked(int $delayMs): self
    {
        return new self(Codec::RELEASE_PARKED + Due::afterMs($delayMs)->ms);
    }

    /** The attempt failed; the next one is after this time, whatever the job's backoff. */
    public static function afterMs(int $delayMs): self
    {
        return new self(Due::afterMs($delayMs)->ms);
    }
}
