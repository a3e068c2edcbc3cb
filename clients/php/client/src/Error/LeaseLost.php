<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The lease of the job is over. Another consumer may have the job: stop the work, and leave the job alone. */
final class LeaseLost extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, false, 0, $previous);
    }
}
