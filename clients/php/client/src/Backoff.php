<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\Malformed;

/** How long a job waits after a failed attempt. The jitter shortens a wait by a random part, 0 to 100 percent. */
final readonly class Backoff
{
    private const FIXED = 0;
    private const LINEAR = 1;
    private const EXPONENTIAL = 2;
    private const WAITS = 3;
    private const LIST_MAX = 32;

    /** @param non-empty-list<int> $valuesMs */
    private function __construct(
        public int $kind,
        public array $valuesMs,
        public int $jitterPercent,
    ) {
        if ($jitterPercent < 0 || $jitterPercent > 100) {
            throw new Error\UsageError('A jitter goes from 0 to 100 percent.');
        }
        foreach ($valuesMs as $ms) {
            if ($ms < 0 || $ms > 0xFFFFFFFF) {
                throw new Error\UsageError('A wait goes from 0 to 4,294,967,295 ms.');
            }
        }
    }

    public static function fixed(int $waitMs, int $jitterPercent = 0): self
    {
        return new self(self::FIXED, [$waitMs], $jitterPercent);
    }

    public static function linear(int $stepMs, int $maxMs, int $jitterPercent = 0): self
    {
        return new self(self::LINEAR, [$stepMs, $maxMs], $jitterPercent);
    }

    public static function exponential(int $firstMs, int $maxMs, int $jitterPercent = 0): self
    {
        return new self(self::EXPONENTIAL, [$firstMs, $maxMs], $jitterPercent);
    }

    /** The last wait repeats. */
    public static function waits(array $waitsMs, int $jitterPercent = 0): self
    {
        if ($waitsMs === [] || count($waitsMs) > self::LIST_MAX) {
            throw new Error\UsageError('A list of waits has 1 to ' . self::LIST_MAX . '.');
        }

        return new self(self::WAITS, array_values($waitsMs), $jitterPercent);
    }

    /** The wait after this failed attempt, without jitter; the first attempt is 1. */
    public function waitMs(int $attempt): int
    {
        $v = $this->valuesMs;

        return match ($this->kind) {
            self::FIXED => $v[0],
            self::LINEAR => min($v[0] * $attempt, $v[1]),
            self::EXPONENTIAL => $attempt > 32 ? $v[1] : min($v[0] << ($attempt - 1), $v[1]),
            default => $v[min($attempt, count($v)) - 1],
        };
    }

    public function encode(): string
    {
        return pack('CCV*', $this->kind, $this->jitterPercent, ...$this->valuesMs);
    }

    /** False for a kind of a newer version: only the server has to know it. */
    public static function hasKnownKind(string $value): bool
    {
        return ord($value[0] ?? "\0") <= self::WAITS;
    }

    public static function decode(string $value): self
    {
        $values = strlen($value) < 6 ? [] : array_values(unpack('V*', $value, 2));
        $fits = match (strlen($value) < 6 ? null : ord($value[0])) {
            self::FIXED => count($values) === 1,
            self::LINEAR, self::EXPONENTIAL => count($values) === 2,
            self::WAITS => count($values) <= self::LIST_MAX,
            default => false,
        };
        if (!$fits || strlen($value) !== 2 + 4 * count($values) || ord($value[1]) > 100) {
            throw new Malformed('A backoff cannot be decoded.');
        }

        return new self(ord($value[0]), $values, ord($value[1]));
    }
}
