<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The other side broke the protocol. */
final class ProtocolError extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, true, 0, $previous);
    }
}
