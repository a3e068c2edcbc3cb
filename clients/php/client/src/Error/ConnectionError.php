<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** No server could be reached. Nothing was sent. */
final class ConnectionError extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, true, false, 0, $previous);
    }
}
