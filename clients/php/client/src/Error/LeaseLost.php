<?php

declare(strict_types=1);

namespace Adjourn\Error;

use Adjourn\LeaseEnd;

/** The lease of the job is over. Another consumer may have the job: stop the work, and leave the job alone. */
final class LeaseLost extends AdjournError
{
    public function __construct(public readonly LeaseEnd $end, string $message)
    {
        parent::__construct($message, false, false);
    }
}
