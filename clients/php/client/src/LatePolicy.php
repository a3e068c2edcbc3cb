<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\Malformed;

/** What happens to a job that was due longer ago than `afterMs`. */
final readonly class LatePolicy
{
    public const RATE = 0;
    public const SPREAD = 1;
    public const BURY = 2;
    public const DROP = 3;

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

    public function encode(): string
    {
        return pack('PCP', $this->afterMs, $this->action, $this->value);
    }

    public static function decode(string $value): self
    {
        if (strlen($value) !== 17) {
            throw new Malformed('The setting "late" has the wrong length.');
        }
        $f = unpack('Pafter/Caction/Pvalue', $value);

        return new self($f['after'], $f['action'], $f['value']);
    }
}
