<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** Another process resumed this session. The client has stopped. */
final class SessionTaken extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, true, 0, $previous);
    }
}
