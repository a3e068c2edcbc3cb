<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\SettingsCodec;

/** What happens to a job that was due longer ago than `afterMs`. */
final readonly class LatePolicy
{
    public const RATE = SettingsCodec::LATE_ACTION_RATE;
    public const SPREAD = SettingsCodec::LATE_ACTION_SPREAD;
    public const BURY = SettingsCodec::LATE_ACTION_BURY;
    public const DROP = SettingsCodec::LATE_ACTION_DROP;

    private function __construct(
        public int $afterMs,
        public int $action,
        public int $value,
    ) {
    }

    public static function rate(int $afterMs, int $jobsPerSecond): self
    {
        return new self($afterMs, self::RATE, $jobsPerSecond);
    }

    public static function spread(int $afterMs, int $withinMs): self
    {
        return new self($afterMs, self::SPREAD, $withinMs);
    }

    public static function bury(int $afterMs): self
    {
        return new self($afterMs, self::BURY, 0);
    }

    public static function drop(int $afterMs): self
    {
        return new self($afterMs, self::DROP, 0);
    }

    /**
     * @internal By the names in the protocol.
     *
     * @return array{after_ms: int, action: int, value: int}
     */
    public function wire(): array
    {
        return ['after_ms' => $this->afterMs, 'action' => $this->action, 'value' => $this->value];
    }

    /**
     * @internal
     *
     * @param array{after_ms: int, action: int, value: int} $late
     */
    public static function ofWire(array $late): self
    {
        return new self($late['after_ms'], $late['action'], $late['value']);
    }
}
