<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** A request failed. The marks say what a caller may do: decide by them and by the class, never by the message. */
abstract class AdjournError extends \RuntimeException implements AdjournException
{
    /**
     * @param bool $isRetryable the same request may succeed later, as it is
     * @param bool $mayBeApplied false: nothing was changed, and a repeat is safe. True: it may have been applied
     */
    public function __construct(
        string $message,
        public readonly bool $isRetryable,
        public readonly bool $mayBeApplied,
        public readonly int $retryAfterMs = 0,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }
}
