<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Error\UsageError;

/** A duration as tests write it: milliseconds, a text such as `1h 30m`, or a DateInterval. */
final class Duration
{
    private const UNITS = ['d' => 86_400_000, 'h' => 3_600_000, 'm' => 60_000, 's' => 1000, 'ms' => 1];

    public static function ms(int|string|\DateInterval $duration): int
    {
        if (is_int($duration)) {
            return $duration;
        }
        if ($duration instanceof \DateInterval) {
            $from = new \DateTimeImmutable('@0');
            $to = $from->add($duration);

            return $to->getTimestamp() * 1000 + intdiv((int) $to->format('u'), 1000);
        }
        if (preg_match('/^(\d{1,15}(d|h|ms|m|s) ?)+$/D', $duration) !== 1) {
            throw new UsageError("\"$duration\" is no duration: write 15m, 1h 30m, 2d, 10s or 500ms.");
        }
        preg_match_all('/(\d+)([a-z]+)/', $duration, $parts, PREG_SET_ORDER);

        return array_sum(array_map(static fn (array $part): int => (int) $part[1] * self::UNITS[$part[2]], $parts));
    }

    public static function text(int $ms): string
    {
        $parts = [];
        foreach (self::UNITS as $unit => $unitMs) {
            $count = intdiv($ms, $unitMs);
            $ms -= $count * $unitMs;
            if ($count > 0) {
                $parts[] = "$count$unit";
            }
        }

        return $parts === [] ? '0s' : implode(' ', $parts);
    }
}
