<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\Due;
use Adjourn\Error\AdjournException;

/** A handler throws this to choose the time of the next attempt, whatever the job's backoff. */
final class TryAgain extends \RuntimeException implements AdjournException
{
    public function __construct(public readonly int $afterMs, string $reason = '', ?\Throwable $previous = null)
    {
        Due::afterMs($afterMs);
        parent::__construct($reason, 0, $previous);
    }
}
