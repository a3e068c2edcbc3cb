<?php

declare(strict_types=1);

namespace Adjourn;

/** The right to one job until its deadline. Pass the fence to systems that can refuse stale work. */
final readonly class Lease implements \Stringable
{
    public function __construct(
        public int $job,
        public int $fence,
    ) {
    }

    /** From "4-4", as `adjourn reserve` prints it. */
    public static function parse(string $text): self
    {
        $parts = explode('-', $text);
        if (count($parts) !== 2) {
            throw new Error\UsageError("\"$text\" is not a lease: it looks like 4-4.");
        }

        return new self(U64::parse($parts[0]), U64::parse($parts[1]));
    }

    public function __toString(): string
    {
        return U64::toString($this->job) . '-' . U64::toString($this->fence);
    }
}
