<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\FilterCodec;

/** Conditions of LIST, COUNT and BULK: a job matches if it meets all of them. */
final readonly class Filter
{
    /**
     * @param list<JobState>|null $states null: all but Finished
     * @param string|null $group only jobs that belong to this group
     */
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
        public ?string $group = null,
    ) {
        if ($topic !== null) {
            Topic::check($topic);
        }
        if ($group !== null) {
            Group::check($group);
        }
        if ($buried === BuriedReason::Unknown || in_array(JobState::Unknown, $states ?? [], true)) {
            throw new Error\UsageError('A filter cannot name what this client does not know.');
        }
    }

    public function encode(): string
    {
        return FilterCodec::encode([
            'topic' => $this->topic,
            'states' => $this->states === null ? null : array_reduce(
                $this->states,
                static fn (int $bits, JobState $state): int => $bits | 1 << $state->value,
                0,
            ),
            'due_from_ms' => $this->dueFrom === null ? null : Time::ms($this->dueFrom),
            'due_before_ms' => $this->dueBefore === null ? null : Time::ms($this->dueBefore),
            'key_prefix' => $this->keyPrefix,
            'attempts_min' => $this->attemptsMin,
            'attempts_max' => $this->attemptsMax,
            'buried' => $this->buried?->value,
            'reason' => $this->reasonContains,
            'group' => $this->group,
        ]);
    }
}
