<?php

declare(strict_types=1);

namespace Adjourn;

/** Names one job, by its id or by its key. */
final readonly class JobRef
{
    /** @param array{job: int}|array{topic: string, key: string} $fields */
    private function __construct(public array $fields)
    {
    }

    public static function id(int $job): self
    {
        return new self(['job' => $job]);
    }

    public static function key(string $topic, string $key): self
    {
        NewJob::checkKey($key);

        return new self(['topic' => Topic::check($topic), 'key' => $key]);
    }
}
