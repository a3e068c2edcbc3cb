<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Psr\Log\AbstractLogger;
use Psr\Log\LogLevel;

/** Where a worker logs that was given no logger: warnings and worse go to PHP's own log, which is stderr on the command line. */
final class ErrorLog extends AbstractLogger
{
    private const UNHEARD = [LogLevel::DEBUG, LogLevel::INFO, LogLevel::NOTICE];

    public function log($level, $message, array $context = []): void
    {
        if (!in_array($level, self::UNHEARD, true)) {
            error_log((string) $message);
        }
    }
}
