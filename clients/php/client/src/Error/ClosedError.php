<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The client was closed. */
final class ClosedError extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, false, 0, $previous);
    }
}
