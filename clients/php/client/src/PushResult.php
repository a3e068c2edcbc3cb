<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\ServerError;

/** What became of one pushed job. */
final readonly class PushResult
{
    /**
     * @param int|null $job the job's id; for Kept, and for a refusal by a key, the id of the job that exists; for an unknown
     *     outcome, the id of the job to look at
     */
    public function __construct(
        public PushOutcome $outcome,
        public ?int $job,
        public int $code = 0,
    ) {
    }

    /** @param array{outcome: int, code: int, job: int} $fields */
    public static function of(array $fields): self
    {
        $job = $fields['job'] ?: null;
        $outcome = PushOutcome::tryFrom($fields['outcome']);

        return $outcome === null
            // Of a newer server: only a look at the job tells.
            ? new self(PushOutcome::Refused, $job, ErrorCode::OutcomeUnknown->value)
            : new self($outcome, $job, $fields['code']);
    }

    /** Why the job was refused; null if it was not. */
    public function error(): ?\Adjourn\Error\AdjournError
    {
        if ($this->outcome !== PushOutcome::Refused) {
            return null;
        }
        $job = $this->job === null ? '' : 'job ' . U64::toString($this->job);
        $why = match (ErrorCode::tryFrom($this->code)) {
            ErrorCode::KeyExists => "$job has this key already.",
            ErrorCode::OutcomeUnknown => 'The outcome of this push is unknown' . ($job === '' ? '.' : ": look at $job."),
            ErrorCode::Reserved => "$job has this key, and a consumer works on it.",
            default => '',
        };

        return ServerError::of(ErrorReply::ofItem($this->code, $why), $this->job);
    }

    /** @throws \Adjourn\Error\AdjournException if the job was refused */
    public function orThrow(): self
    {
        $error = $this->error();
        if ($error !== null) {
            throw $error;
        }

        return $this;
    }
}
