<?php

declare(strict_types=1);

namespace Adjourn\Tests;

/** Polls for a condition, with a deadline. */
final class Eventually
{
    public static function holds(callable $condition, string $what, int $withinMs = 15_000): void
    {
        $until = hrtime(true) + $withinMs * 1_000_000;
        while (!$condition()) {
            if (hrtime(true) > $until) {
                throw new \RuntimeException("$what (after $withinMs ms)");
            }
            usleep(2000);
        }
    }
}
