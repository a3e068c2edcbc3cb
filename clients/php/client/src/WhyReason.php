<?php

declare(strict_types=1);

namespace Adjourn;

/** One reason why a job is not running, or why a topic or a group gives no job. */
final readonly class WhyReason
{
    public function __construct(
        public Why $why,
        /** When it began, on the wall clock, in milliseconds since the Unix epoch; null if it is not known. */
        public ?int $sinceMs,
        /** When it ends, on the wall clock, in milliseconds since the Unix epoch; null if it is not known. */
        public ?int $untilMs,
        /** With Why::Behind: how many jobs come first. With a limit of leases: how many leases there are. Else 0. */
        public int $jobs,
        /** A sentence for a person. It may change between versions of the server: decide by `why`. */
        public string $text,
    ) {
    }

    /** @param array<string, mixed> $f an item of REASONS */
    public static function of(array $f): self
    {
        return new self(Why::of($f['why']), $f['since_ms'] ?: null, $f['until_ms'] ?: null, $f['jobs'], $f['text']);
    }
}
