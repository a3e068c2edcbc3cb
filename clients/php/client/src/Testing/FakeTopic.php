<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\JobState;
use Adjourn\TopicPolicy;
use Adjourn\TopicReport;
use Adjourn\TopicSettings;

/** A topic in the fake: its counts, its policy, and how fast it may deliver. */
final class FakeTopic
{
    /** As much as one tenth of a second's deliveries may come at once. */
    private const BURSTS_PER_SECOND = 10;

    public bool $isPaused = false;
    public TopicPolicy $policy;
    public int $pushed = 0;
    public int $finished = 0;
    public int $deleted = 0;
    public int $expired = 0;
    /** When the deliveries so far would be over at the topic's rate, on the test's clock. */
    private float $deliveredUntilMs = 0;

    public function __construct(public readonly string $name)
    {
        $this->policy = new TopicPolicy();
    }

    /** Takes what the change sets or takes away. The rest stays. */
    public function change(TopicPolicy $change): void
    {
        $settings = array_filter(get_object_vars($change), static fn (mixed $value): bool => $value !== null)
            + get_object_vars($this->policy);
        $this->policy = new TopicPolicy(...array_merge($settings, array_fill_keys($change->unset, null), ['unset' => []]));
    }

    /** For how long the rate holds the next delivery back. */
    public function heldBackMs(int $nowMs): int
    {
        $rate = $this->policy->ratePerSecond;
        if ($rate === null) {
            return 0;
        }
        $burstMs = (max(1, intdiv($rate, self::BURSTS_PER_SECOND)) - 1) * 1000 / $rate;

        return max(0, (int) ceil($this->deliveredUntilMs - $burstMs - $nowMs));
    }

    public function delivered(int $nowMs): void
    {
        if ($this->policy->ratePerSecond !== null) {
            $this->deliveredUntilMs = max($this->deliveredUntilMs, $nowMs) + 1000 / $this->policy->ratePerSecond;
        }
    }

    /** @param list<FakeJob> $jobs of this topic */
    public function report(array $jobs, int $wallMs): TopicReport
    {
        $counts = array_fill_keys(array_column(JobState::cases(), 'value'), 0);
        $oldest = 0;
        foreach ($jobs as $job) {
            ++$counts[$job->state->value];
            $oldest = $job->state === JobState::Ready ? max($oldest, $wallMs - $job->dueMs) : $oldest;
        }

        return new TopicReport(
            $this->name,
            $this->isPaused,
            $counts[JobState::Delayed->value],
            $counts[JobState::Ready->value],
            $counts[JobState::Reserved->value],
            $counts[JobState::Buried->value],
            $this->pushed,
            $this->finished,
            $this->deleted,
            $this->expired,
            $oldest,
        );
    }

    /** @param list<FakeJob> $jobs of this topic */
    public function settings(array $jobs): TopicSettings
    {
        $living = array_filter($jobs, static fn (FakeJob $job): bool => $job->state !== JobState::Finished);

        return new TopicSettings($this->policy, $this->isPaused, count($living), array_sum(array_map(
            static fn (FakeJob $job): int => strlen($job->body),
            $living,
        )));
    }
}
