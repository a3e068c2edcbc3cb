<?php

declare(strict_types=1);

namespace Adjourn;

/** One step of a bulk change. Keep the cursor to continue from here; an empty one means that this was the last step. */
final readonly class BulkStep
{
    public function __construct(
        public int $jobs,
        public int $skipped,
        public string $cursor,
    ) {
    }
}
