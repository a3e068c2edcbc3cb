<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Psr\Log\AbstractLogger;

/** Keeps what was logged. */
final class Lines extends AbstractLogger
{
    /** @var list<string> */
    public array $lines = [];

    public function log($level, $message, array $context = []): void
    {
        $this->lines[] = "$level: $message";
    }
}
