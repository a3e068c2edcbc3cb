<?php

declare(strict_types=1);

namespace Adjourn;

/** Ends a wait early: a signal handler sets it, and the client that waits for jobs sends CANCEL. */
final class CancelToken
{
    private bool $isCancelled = false;

    public function cancel(): void
    {
        $this->isCancelled = true;
    }

    public function isCancelled(): bool
    {
        return $this->isCancelled;
    }
}
