<?php

declare(strict_types=1);

namespace Adjourn;

/**
 * The durations of one stage of the work on a node, in microseconds: over its last one to two minutes, at most 1 % too
 * high, and 0 if there are none.
 */
final readonly class StageReport
{
    /** @param string $stage wait, commit, apply, lateness; a newer server may have others */
    public function __construct(
        public string $stage,
        public int $count,
        public int $p50Us,
        public int $p99Us,
        public int $p999Us,
        public int $maxUs,
    ) {
    }

    /** @param array<string, mixed> $f */
    public static function of(array $f): self
    {
        return new self($f['stage'], $f['count'], $f['p50_us'], $f['p99_us'], $f['p999_us'], $f['max_us']);
    }
}
