<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** No answer came in time. Nothing was changed: the request was a read, or it was never sent. */
final class TimeoutError extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, true, false, 0, $previous);
    }
}
