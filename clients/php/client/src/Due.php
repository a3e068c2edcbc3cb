<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\PushFrames;

/** When a job is due: some time after the queue accepts it, or at a point on the wall clock. */
final readonly class Due
{
    private const AFTER = PushFrames::DUE_KIND_AFTER;
    private const AT = PushFrames::DUE_KIND_AT;

    private function __construct(
        public int $ms,
        public int $kind,
    ) {
    }

    public static function afterMs(int $delayMs): self
    {
        if ($delayMs < 0 || $delayMs > Limit::DELAY_MS_MAX) {
            throw new Error\UsageError('A delay goes from 0 to ten years of milliseconds.');
        }

        return new self($delayMs, self::AFTER);
    }

    /** A DateTimeInterface always has a zone. A text is refused, because it may have none. */
    public static function at(\DateTimeInterface $at): self
    {
        return self::atMs(Time::ms($at));
    }

    /** Milliseconds since the Unix epoch. */
    public static function atMs(int $epochMs): self
    {
        return new self($epochMs, self::AT);
    }

    /** One of the two that the caller named; at once if it named none. */
    public static function of(?int $delayMs, ?\DateTimeInterface $at): self
    {
        if ($delayMs !== null && $at !== null) {
            throw new Error\UsageError('Give either delayMs or at, not both.');
        }

        return $at === null ? self::afterMs($delayMs ?? 0) : self::at($at);
    }

    /** One of the two, which the caller has to name. */
    public static function named(?int $delayMs, ?\DateTimeInterface $at): self
    {
        if ($delayMs === null && $at === null) {
            throw new Error\UsageError('Name delayMs or at. To make a job ready, call runNow.');
        }

        return self::of($delayMs, $at);
    }

    /** @internal As it came, in an attribute of a job. */
    public static function ofWire(int $kind, int $ms): self
    {
        return new self($ms, $kind);
    }
}
