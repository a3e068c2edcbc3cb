<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\IfExists;
use Symfony\Component\Messenger\Stamp\StampInterface;

/** What a message says to the queue when it is sent. A key holds for the first sending only: a retry has none. */
final readonly class AdjournStamp implements StampInterface
{
    public function __construct(
        public ?string $key = null,
        public IfExists $ifExists = IfExists::Keep,
        public ?int $priority = null,
        public ?int $ttrMs = null,
        public ?\DateTimeInterface $at = null,
    ) {
    }
}
