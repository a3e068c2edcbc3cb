<?php

declare(strict_types=1);

namespace Adjourn;

/** Points in time are milliseconds since the Unix epoch. */
final class Time
{
    public static function ms(\DateTimeInterface $at): int
    {
        return $at->getTimestamp() * 1000 + intdiv((int) $at->format('u'), 1000);
    }

    public static function at(int $epochMs): \DateTimeImmutable
    {
        return (new \DateTimeImmutable('@' . intdiv($epochMs, 1000)))->modify(sprintf('+%d milliseconds', $epochMs % 1000));
    }
}
