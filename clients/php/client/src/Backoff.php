<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\AttributesCodec;
use Adjourn\Protocol\Malformed;

/** How long a job waits after a failed attempt. The jitter shortens a wait by a random part, 0 to 100 percent. */
final readonly class Backoff
{
    private const FIXED = AttributesCodec::BACKOFF_KIND_FIXED;
    private const LINEAR = AttributesCodec::BACKOFF_KIND_LINEAR;
    private const EXPONENTIAL = AttributesCodec::BACKOFF_KIND_EXPONENTIAL;
    private const WAITS = AttributesCodec::BACKOFF_KIND_LIST;

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
        if ($waitsMs === [] || count($waitsMs) > Limit::BACKOFF_LIST_MAX) {
            throw new Error\UsageError('A list of waits has 1 to ' . Limit::BACKOFF_LIST_MAX . '.');
        }

        return new self(self::WAITS, array_values($waitsMs), $jitterPercent);
    }

    /**
     * @internal By the names in the protocol.
     *
     * @return array{kind: int, jitter: int, waits_ms: list<int>}
     */
    public function wire(): array
    {
        return ['kind' => $this->kind, 'jitter' => $this->jitterPercent, 'waits_ms' => $this->valuesMs];
    }

    /**
     * @internal
     *
     * @param array{kind: int, jitter: int, waits_ms: list<int>} $backoff
     * @throws Malformed
     */
    public static function ofWire(array $backoff): self
    {
        $fits = match ($backoff['kind']) {
            self::FIXED => count($backoff['waits_ms']) === 1,
            self::LINEAR, self::EXPONENTIAL => count($backoff['waits_ms']) === 2,
            default => $backoff['waits_ms'] !== [],
        };
        if (!$fits || $backoff['jitter'] > 100) {
            throw Malformed::element('backoff');
        }

        return new self($backoff['kind'], $backoff['waits_ms'], $backoff['jitter']);
    }
}
