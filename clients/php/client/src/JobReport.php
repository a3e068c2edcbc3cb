<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Body\BodyCodec;
use Adjourn\Body\JsonCodec;

/** A job as the queue shows it, without a lease. Times are on the wall clock; null if it is not known, or did not happen. */
final readonly class JobReport
{
    public function __construct(
        public int $id,
        public string $topic,
        public ?string $key,
        public JobState $state,
        public ?BuriedReason $buried,
        public int $priority,
        public int $attempts,
        public int $dueMs,
        public int $ttrMs,
        public int $ttrLeftMs,
        public Attributes $attributes,
        public string $body,
        public int $bodyBytes,
        public ?int $pushedMs = null,
        public ?int $reservedFirstMs = null,
        public ?int $reservedLastMs = null,
        public ?int $editedMs = null,
        /** Who got the last lease: the client's address, its token and its name. Only a token with the right `admin` for all topics sees it. */
        public ?string $heldBy = null,
        public ?string $reason = null,
        public ?int $finishedMs = null,
        /** Grows with each change of the job; `reschedule` and `edit` can be made to depend on it. Null if it is not known. */
        public ?int $version = null,
    ) {
    }

    /** The body as its content type says: what was pushed as an array comes back as one. */
    public function payload(BodyCodec $codec = new JsonCodec()): mixed
    {
        return $codec->decode($this->body, Headers::get($this->attributes->headers, 'content-type'));
    }

    /** How long after its push the job is due, or was; null if it is not known. */
    public function delayMs(): ?int
    {
        return $this->pushedMs === null ? null : $this->dueMs - $this->pushedMs;
    }

    /** @param array<string, mixed> $f the fields of JOB, or of an item of JOBS */
    public static function of(array $f): self
    {
        return new self(
            id: $f['job'],
            topic: $f['topic'],
            key: $f['key'] === '' ? null : $f['key'],
            state: JobState::of($f['state']),
            buried: BuriedReason::of($f['buried']),
            priority: $f['priority'],
            attempts: $f['attempts'],
            dueMs: $f['due_ms'],
            ttrMs: $f['ttr_ms'],
            ttrLeftMs: $f['ttr_left_ms'],
            attributes: Attributes::decode($f['attributes']),
            body: $f['body'],
            bodyBytes: $f['body_bytes'] ?? strlen($f['body']),
            pushedMs: $f['pushed_ms'] ?: null,
            reservedFirstMs: $f['reserved_first_ms'] ?: null,
            reservedLastMs: $f['reserved_last_ms'] ?: null,
            editedMs: $f['edited_ms'] ?: null,
            heldBy: $f['held_by'] === '' ? null : $f['held_by'],
            reason: $f['reason'] === '' ? null : $f['reason'],
            // An item of JOBS has neither of these.
            finishedMs: ($f['finished_ms'] ?? 0) ?: null,
            version: ($f['version'] ?? 0) ?: null,
        );
    }
}
