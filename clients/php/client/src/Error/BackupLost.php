<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The server does not hold the backup any more: take another one. */
final class BackupLost extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, false, 0, $previous);
    }
}
