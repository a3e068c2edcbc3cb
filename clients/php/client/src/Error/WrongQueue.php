<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The address leads to another queue than before: the cluster id differs. The client has stopped. */
final class WrongQueue extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, true, 0, $previous);
    }
}
