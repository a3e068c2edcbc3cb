<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\Tagged;

/** Conditions of LIST, COUNT and BULK: a job matches if it meets all of them. */
final readonly class Filter
{
    /** @param list<JobState>|null $states null: all but Finished */
    public function __construct(
        public ?string $topic = null,
        public ?array $states = null,
        public ?\DateTimeInterface $dueFrom = null,
        public ?\DateTimeInterface $dueBefore = null,
        public ?string $keyPrefix = null,
        public ?int $attemptsMin = null,
        public ?int $attemptsMax = null,
        public ?BuriedReason $buried = null,
        public ?string $reasonContains = null,
    ) {
        if ($topic !== null) {
            Topic::check($topic);
        }
        if ($buried === BuriedReason::Unknown || in_array(JobState::Unknown, $states ?? [], true)) {
            throw new Error\UsageError('A filter cannot name what this client does not know.');
        }
    }

    public function encode(): string
    {
        $elements = [];
        $add = static function (int $tag, ?string $value) use (&$elements): void {
            if ($value !== null) {
                $elements[] = [$tag, $value];
            }
        };
        $number = static fn (string $code, ?int $n): ?string => $n === null ? null : pack($code, $n);
        $time = static fn (?\DateTimeInterface $at): ?string => $at === null ? null : pack('P', Time::ms($at));
        $add(1, $this->topic);
        $add(2, $this->states === null ? null : chr(array_reduce(
            $this->states,
            static fn (int $bits, JobState $state): int => $bits | 1 << $state->value,
            0,
        )));
        $add(3, $time($this->dueFrom));
        $add(4, $time($this->dueBefore));
        $add(5, $this->keyPrefix);
        $add(6, $number('V', $this->attemptsMin));
        $add(7, $number('V', $this->attemptsMax));
        $add(8, $number('C', $this->buried?->value));
        $add(9, $this->reasonContains);

        return Tagged::encode($elements);
    }

    public function matches(JobReport $job): bool
    {
        $states = $this->states ?? [JobState::Delayed, JobState::Ready, JobState::Reserved, JobState::Buried];

        return ($this->topic === null || $job->topic === $this->topic)
            && in_array($job->state, $states, true)
            && ($this->dueFrom === null || $job->dueMs >= Time::ms($this->dueFrom))
            && ($this->dueBefore === null || $job->dueMs < Time::ms($this->dueBefore))
            && ($this->keyPrefix === null || ($job->key !== null && str_starts_with($job->key, $this->keyPrefix)))
            && ($this->attemptsMin === null || $job->attempts >= $this->attemptsMin)
            && ($this->attemptsMax === null || $job->attempts <= $this->attemptsMax)
            && ($this->buried === null || $job->buried === $this->buried)
            && ($this->reasonContains === null || str_contains($job->reason ?? '', $this->reasonContains));
    }
}
