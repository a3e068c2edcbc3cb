<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\U64;

/**
 * Leases that the session holds although their jobs never came, because the connection broke before. Fences only grow,
 * and a connection delivers in the order of its grants: of earlier connections everything came up to the highest fence
 * seen, and of the new one everything comes before the LEASED that shows it.
 */
final class Unseen
{
    private int $through = 0;
    /** @var array<int, true> fences that came while the question is open */
    private array $since = [];
    private bool $isOpen = false;

    public function came(int $fence): void
    {
        if ($this->isOpen) {
            $this->since[$fence] = true;
        } elseif (U64::compare($fence, $this->through) > 0) {
            $this->through = $fence;
        }
    }

    public function ask(): void
    {
        $this->isOpen = true;
    }

    public function close(): void
    {
        $this->isOpen = false;
        foreach (array_keys($this->since) as $fence) {
            $this->came($fence);
        }
        $this->since = [];
    }

    public function isUnseen(int $fence): bool
    {
        return U64::compare($fence, $this->through) > 0 && !isset($this->since[$fence]);
    }
}
