<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\Job;
use Symfony\Component\Messenger\Stamp\NonSendableStampInterface;

/** The job of a received message: null if the message was looked up, and not leased. */
final readonly class AdjournReceivedStamp implements NonSendableStampInterface
{
    public function __construct(
        public int $id,
        public ?Job $job,
    ) {
    }
}
