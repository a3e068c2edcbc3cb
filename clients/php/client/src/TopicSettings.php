<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\TopicFrames;

/** A topic's policy and its use. What the topic does not set of retries, the policy shows as the server's defaults. */
final readonly class TopicSettings
{
    public function __construct(
        public TopicPolicy $policy,
        public bool $isPaused,
        public int $jobs,
        public int $bytes,
        /** `attemptsMax` is the server's default, and not set here. */
        public bool $areAttemptsOfServer = false,
        /** The same of `backoff`. */
        public bool $isBackoffOfServer = false,
        /** How long the pause lasts; 0 if there is none, or if it does not end by itself. */
        public int $pauseLeftMs = 0,
    ) {
    }

    /** @param array<string, mixed> $f the fields of TOPIC_SETTINGS */
    public static function of(array $f): self
    {
        return new self(
            TopicPolicy::decode($f['settings']),
            ($f['marks'] & TopicFrames::SETTINGS_MARKS_PAUSED) !== 0,
            $f['jobs'],
            $f['bytes'],
            ($f['marks'] & TopicFrames::SETTINGS_MARKS_ATTEMPTS_OF_SERVER) !== 0,
            ($f['marks'] & TopicFrames::SETTINGS_MARKS_BACKOFF_OF_SERVER) !== 0,
            $f['pause_left_ms'],
        );
    }
}
