<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Body\BodyCodec;
use Adjourn\Body\JsonCodec;
use Adjourn\Error\UsageError;

/** What the jobs of a schedule have in common, as the queue shows it. `setSchedule` takes it as it is. */
final readonly class JobTemplate
{
    public function __construct(
        public string $body,
        /** Null: the default of the topic. */
        public ?int $priority,
        /** Null: the default of the topic. */
        public ?int $ttrMs,
        public Attributes $attributes,
    ) {
    }

    /** The body as its content type says: what was set as an array comes back as one. */
    public function payload(BodyCodec $codec = new JsonCodec()): mixed
    {
        return $codec->decode($this->body, Headers::get($this->attributes->headers, 'content-type'));
    }

    /**
     * @internal The fields of SCHEDULE_SET that describe the jobs.
     *
     * @param mixed $job a template, a NewJob, or a body
     * @return array<string, mixed>
     */
    public static function fieldsOf(mixed $job, BodyCodec $codec): array
    {
        if ($job instanceof self) {
            return [
                'priority' => $job->priority ?? Limit::PRIORITY_UNSAID,
                'ttr_ms' => $job->ttrMs ?? 0,
                'attributes' => $job->attributes->encode(),
                'body' => $job->body,
            ];
        }
        $new = $job instanceof NewJob ? $job : new NewJob($job);
        if ($new->key !== null || $new->postponeMaxMs !== null || $new->buried !== null || $new->due != Due::of(null, null)) {
            throw new UsageError('The jobs of a schedule have no time and no key of their own: leave them out of the NewJob. The rules say when, and under which key.');
        }

        return array_intersect_key($new->fields($codec), ['priority' => true, 'ttr_ms' => true, 'attributes' => true, 'body' => true]);
    }

    /** @param array<string, mixed> $f the fields of SCHEDULE */
    public static function of(array $f): self
    {
        return new self(
            $f['body'],
            $f['priority'] === Limit::PRIORITY_UNSAID ? null : $f['priority'],
            $f['ttr_ms'] ?: null,
            Attributes::decode($f['attributes']),
        );
    }
}
