<?php

declare(strict_types=1);

namespace Adjourn;

/** A topic's policy and its use. */
final readonly class TopicSettings
{
    public function __construct(
        public TopicPolicy $policy,
        public bool $isPaused,
        public int $jobs,
        public int $bytes,
    ) {
    }
}
