<?php

declare(strict_types=1);

namespace Adjourn\Error;

use Adjourn\Protocol\ConnectionFrames;

/** An ERROR frame, or the code of one job or lease. */
final readonly class ErrorReply
{
    public function __construct(
        public int $code,
        public bool $isRetryable,
        public bool $mayBeApplied,
        public int $retryAfterMs,
        public string $leader,
        public string $message,
    ) {
    }

    /** @param array<string, mixed> $f the fields of ERROR */
    public static function of(array $f): self
    {
        return new self(
            $f['code'],
            ($f['marks'] & ConnectionFrames::ERROR_MARKS_RETRYABLE) !== 0,
            // Unknown values are for the careful.
            $f['applied'] !== ConnectionFrames::APPLIED_NO,
            $f['retry_after_ms'],
            $f['leader'],
            $f['message'],
        );
    }

    /** The code of one job in PUSHED, or of one lease in SETTLED. Every code but OUTCOME_UNKNOWN says that nothing was changed. */
    public static function ofItem(int $code, string $message, bool $mayBeApplied = false): self
    {
        $known = ErrorCode::tryFrom($code);

        return new self(
            $code,
            $known?->isRetryable() ?? false,
            $mayBeApplied || $known === ErrorCode::OutcomeUnknown,
            0,
            '',
            $message,
        );
    }

    public function known(): ?ErrorCode
    {
        return ErrorCode::tryFrom($this->code);
    }

    /** Whether the client leaves this server and continues at another, or here with a new session. */
    public function movesOn(): bool
    {
        return match ($this->known()) {
            ErrorCode::NotLeader, ErrorCode::NoLeader, ErrorCode::Stopping, ErrorCode::SessionUnknown => true,
            default => false,
        };
    }
}
