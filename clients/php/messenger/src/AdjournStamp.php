<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\IfExists;
use Symfony\Component\Messenger\Exception\InvalidArgumentException;
use Symfony\Component\Messenger\Stamp\StampInterface;

/** What a message says to the queue when it is sent. A key holds for the first sending only: a retry has none. */
final readonly class AdjournStamp implements StampInterface
{
    /**
     * @param IfExists|null $ifExists null: a message with this key that waits is replaced. One that is handled stays, and this one
     *     is sent without a key, so that it is handled after it
     * @param string|null $group the group in its topic that the message belongs to, such as a tenant. Its retries belong to it, too
     */
    public function __construct(
        public ?string $key = null,
        public ?IfExists $ifExists = null,
        public ?int $priority = null,
        public ?int $ttrMs = null,
        public ?\DateTimeInterface $at = null,
        public ?string $group = null,
    ) {
        if ($key === null && $ifExists !== null) {
            throw new InvalidArgumentException('ifExists is about messages with the same key: give the message a key, too.');
        }
    }
}
