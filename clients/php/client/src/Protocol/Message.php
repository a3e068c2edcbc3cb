<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/** A decoded frame. */
final readonly class Message
{
    /** @param array<string, mixed> $fields by their names in protocol.md; 0 or empty for a field that the peer left out */
    public function __construct(
        public Opcode $opcode,
        public int $requestId,
        public array $fields,
    ) {
    }
}
