<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The request may have been applied, or may still be: look before you repeat it. */
final class OutcomeUnknown extends AdjournError
{
    public function __construct(string $message, ?\Throwable $previous = null)
    {
        parent::__construct($message, false, true, 0, $previous);
    }
}
