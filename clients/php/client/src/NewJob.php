<?php

declare(strict_types=1);

namespace Adjourn;

use function is_string;
use function strlen;

/** A job to push. Build it with named arguments; everything but the body has a default of the topic or the queue. */
final readonly class NewJob
{
    /** For `attemptsMax`: the job is tried for ever, whatever the topic and the server have as defaults. */
    public const ATTEMPTS_UNLIMITED = 0xFFFFFFFF;

    public Due $due;

    /**
     * @param mixed $body a string goes as it is; anything else goes through the client's body codec (JSON by default)
     * @param int|null $delayMs due this long after the queue accepts the job
     * @param \DateTimeInterface|null $at due at this time
     * @param int|null $ttrMs how long a consumer may hold the job, 100 ms to seven days
     * @param int|null $priority lower numbers first
     * @param array<string, string> $headers
     * @param int|null $expiresAfterMs dropped when this long has passed since the push
     * @param int|null $attemptsMax buried after this many failed attempts; ATTEMPTS_UNLIMITED: never
     * @param int|null $retentionMs how long the key stays taken after FINISH
     * @param int|null $postponeMaxMs with IfExists::Postpone: due at the latest this long after the first push
     * @param string|null $group the group in its topic that it belongs to, such as a tenant: 1 to 255 bytes of UTF-8 without control characters. It counts
     *     in a topic whose groups take turns; see the settings of TopicPolicy that begin with `group`, and `fair`
     * @param string|null $buried it is buried from the start, for this reason, which may be empty: for a job that comes from elsewhere
     * @param \DateTimeInterface|null $createdAt when the producer made it; only shown
     * @param string|null $scheduleReference bytes that say which schedule made it; only shown
     */
    public function __construct(
        public mixed $body,
        ?int $delayMs = null,
        ?\DateTimeInterface $at = null,
        public ?string $key = null,
        public IfExists $ifExists = IfExists::Reject,
        public ?int $ttrMs = null,
        public ?int $priority = null,
        public array $headers = [],
        public ?int $expiresAfterMs = null,
        public ?\DateTimeInterface $expiresAt = null,
        public ?int $attemptsMax = null,
        public ?Backoff $backoff = null,
        public ?int $retentionMs = null,
        public ?int $postponeMaxMs = null,
        public ?string $group = null,
        public ?\DateTimeInterface $createdAt = null,
        public ?string $scheduleReference = null,
        public ?string $buried = null,
    ) {
        $this->due = Due::of($delayMs, $at);
        if ($body instanceof self) {
            throw new Error\UsageError('The body of a job is no NewJob: write new NewJob($body, delayMs: 60_000).');
        }
        if ($key !== null) {
            self::checkKey($key);
        } elseif ($ifExists !== IfExists::Reject) {
            throw new Error\UsageError('ifExists is about jobs with the same key: give the job a key, too.');
        }
        if ($group !== null) {
            Group::check($group);
        }
        if ($ttrMs !== null && ($ttrMs < Limit::TTR_MS_MIN || $ttrMs > Limit::TTR_MS_MAX)) {
            throw new Error\UsageError('ttrMs goes from 100 to 604,800,000.');
        }
    }

    /**
     * The job that the arguments of `push` describe. A NewJob says everything itself: what stands beside it would be lost.
     *
     * @param array<string, string> $headers
     */
    public static function of(
        mixed $body,
        ?int $delayMs,
        ?\DateTimeInterface $at,
        ?string $key,
        IfExists $ifExists,
        ?int $ttrMs,
        ?int $priority,
        array $headers,
        ?string $group,
    ): self {
        if (!$body instanceof self) {
            return new self($body, $delayMs, $at, $key, $ifExists, $ttrMs, $priority, $headers, group: $group);
        }
        if ([$delayMs, $at, $key, $ifExists, $ttrMs, $priority, $headers, $group] !== [null, null, null, IfExists::Reject, null, null, [], null]) {
            throw new Error\UsageError('A NewJob says everything itself: write new NewJob($body, delayMs: 60_000, key: ...), and nothing beside it.');
        }

        return $body;
    }

    /** @return self a job of a list */
    public static function listed(mixed $job): self
    {
        return $job instanceof self ? $job : throw new Error\UsageError('pushMany takes a list of NewJob: write new NewJob($body).');
    }

    public static function checkKey(string $key): void
    {
        if ($key === '' || strlen($key) > Limit::KEY_BYTES_MAX || preg_match('/^[^\p{Cc}]+$/Du', $key) !== 1) {
            throw new Error\UsageError('A key has 1 to 256 bytes of UTF-8 without control characters.');
        }
    }

    /**
     * @param array<string, string> $traceHeaders of the push. A job with a `traceparent` of its own is in another trace: it gets none
     * @return array<string, mixed> the fields of a job in PUSH
     */
    public function fields(Body\BodyCodec $codec, array $traceHeaders = []): array
    {
        $headers = $this->headers;
        $body = $this->body;
        if (!is_string($body)) {
            [$body, $contentType] = $codec->encode($body);
            if (Headers::get($headers, 'content-type') === null) {
                $headers['content-type'] = $contentType;
            }
        }
        if ($traceHeaders !== []) {
            $headers = Headers::withTrace($headers, $traceHeaders);
        }
        $attributes = $headers === [] && $this->saysNoMore() ? '' : (new Attributes(
            headers: $headers,
            expires: $this->expiresAfterMs === null && $this->expiresAt === null
                ? null
                : Due::of($this->expiresAfterMs, $this->expiresAt),
            attemptsMax: $this->attemptsMax,
            backoff: $this->backoff,
            group: $this->group,
            retentionMs: $this->retentionMs,
            createdAtMs: $this->createdAt === null ? null : Time::ms($this->createdAt),
            scheduleReference: $this->scheduleReference,
            postponeMaxMs: $this->postponeMaxMs,
            buried: $this->buried,
        ))->encode();

        return [
            'due_ms' => $this->due->ms,
            'priority' => $this->priority ?? Limit::PRIORITY_UNSAID,
            'ttr_ms' => $this->ttrMs ?? 0,
            'due_kind' => $this->due->kind,
            'if_exists' => $this->ifExists->value,
            'key' => $this->key ?? '',
            'attributes' => $attributes,
            'body' => $body,
        ];
    }

    /** Whether it has nothing that goes as an attribute, beside its headers. */
    private function saysNoMore(): bool
    {
        return $this->expiresAfterMs === null && $this->expiresAt === null && $this->attemptsMax === null && $this->backoff === null
            && $this->retentionMs === null && $this->postponeMaxMs === null && $this->group === null && $this->createdAt === null
            && $this->scheduleReference === null && $this->buried === null;
    }
}
