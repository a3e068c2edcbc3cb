<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Body\BodyCodec;
use Adjourn\Error\UsageError;
use Adjourn\Protocol\JobFrames;

use function in_array;

/**
 * The parts of a job that `edit` changes. Give at least one, with named arguments; the others stay as they are. To take
 * parts away, name them in `unset`: then the default of the topic or the queue counts, as for a new job.
 */
final readonly class JobEdit
{
    /** Parameters, and the parts of a job that they change. */
    private const PARTS = [
        'body' => JobFrames::EDITED_BODY,
        'delayMs' => JobFrames::EDITED_DUE,
        'at' => JobFrames::EDITED_DUE,
        'ttrMs' => JobFrames::EDITED_TTR,
        'priority' => JobFrames::EDITED_PRIORITY,
        'headers' => JobFrames::EDITED_HEADERS,
        'expiresAfterMs' => JobFrames::EDITED_EXPIRES,
        'expiresAt' => JobFrames::EDITED_EXPIRES,
        'attemptsMax' => JobFrames::EDITED_ATTEMPTS_MAX,
        'backoff' => JobFrames::EDITED_BACKOFF,
        'retentionMs' => JobFrames::EDITED_DEDUPE_RETENTION,
        'group' => JobFrames::EDITED_GROUP,
    ];
    /** Every job has these. */
    private const NOT_UNSET = ['body', 'delayMs', 'at'];

    /** Bits of JobFrames::EDITED_*. */
    private int $edited;

    /**
     * @param mixed $body encoded as in NewJob, and with it the header `content-type`; null is the `null` of JSON
     * @param int|null $delayMs due this long after the queue accepts the edit
     * @param \DateTimeInterface|null $at due at this time
     * @param int|null $ttrMs how long a consumer may hold the job, 100 ms to seven days
     * @param int|null $priority lower numbers first
     * @param array<string, string>|null $headers in place of all that the job has but `content-type`, which goes with the body unless it
     *     is given here. The headers of a trace are not added
     * @param int|null $expiresAfterMs dropped when this long has passed since the edit
     * @param int|null $attemptsMax buried after this many failed attempts; NewJob::ATTEMPTS_UNLIMITED: never
     * @param int|null $retentionMs how long the key stays taken after FINISH
     * @param string|null $group the group in its topic that it belongs to
     * @param list<string> $unset names of the parameters above it, except `body`, `delayMs` and `at`
     */
    public function __construct(
        public mixed $body = Unedited::Body,
        public ?int $delayMs = null,
        public ?\DateTimeInterface $at = null,
        public ?int $ttrMs = null,
        public ?int $priority = null,
        public ?array $headers = null,
        public ?int $expiresAfterMs = null,
        public ?\DateTimeInterface $expiresAt = null,
        public ?int $attemptsMax = null,
        public ?Backoff $backoff = null,
        public ?int $retentionMs = null,
        public ?string $group = null,
        public array $unset = [],
    ) {
        $this->edited = $this->given() | $this->takenAway();
        if ($this->edited === 0) {
            throw new UsageError('An edit changes at least one part of a job: write new JobEdit(priority: 3), for example.');
        }
        foreach (['headers' => [], 'retentionMs' => 0, 'group' => ''] as $name => $nothing) {
            if ($this->$name === $nothing) {
                throw new UsageError("To take \"$name\" away, write unset: ['$name'].");
            }
        }
        $this->job();
    }

    /**
     * @internal
     *
     * @return array<string, mixed> the fields of EDIT, besides the job and its version
     */
    public function fields(BodyCodec $codec): array
    {
        $fields = $this->job()->fields($codec);
        unset($fields['key'], $fields['if_exists']);

        return ['edited' => $this->edited] + $fields;
    }

    /** The parts that get another value. */
    private function given(): int
    {
        $parts = 0;
        foreach (self::PARTS as $name => $part) {
            // Null is a value only of the body.
            if ($this->$name !== ($name === 'body' ? Unedited::Body : null)) {
                $parts |= $part;
            }
        }

        return $parts;
    }

    private function takenAway(): int
    {
        $given = $this->given();
        $parts = 0;
        foreach ($this->unset as $name) {
            if (!isset(self::PARTS[$name]) || in_array($name, self::NOT_UNSET, true)) {
                throw new UsageError("\"$name\" is no part of a job that can be taken away.");
            }
            if (($given & self::PARTS[$name]) !== 0) {
                throw new UsageError("\"$name\" cannot be set and taken away at once.");
            }
            $parts |= self::PARTS[$name];
        }

        return $parts;
    }

    /** A push of the new values: it checks and encodes them. What it says of the other parts is not used. */
    private function job(): NewJob
    {
        return new NewJob(
            body: $this->body === Unedited::Body ? '' : $this->body,
            delayMs: $this->delayMs,
            at: $this->at,
            ttrMs: $this->ttrMs,
            priority: $this->priority,
            headers: $this->headers ?? [],
            expiresAfterMs: $this->expiresAfterMs,
            expiresAt: $this->expiresAt,
            attemptsMax: $this->attemptsMax,
            backoff: $this->backoff,
            retentionMs: $this->retentionMs,
            group: $this->group,
        );
    }
}
