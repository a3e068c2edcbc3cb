<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Attributes;
use Adjourn\BuriedReason;
use Adjourn\Due;
use Adjourn\Error\ErrorCode;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\JobState;
use Adjourn\LatePolicy;
use Adjourn\NewJob;
use Adjourn\PushOutcome;
use Adjourn\PushResult;
use Adjourn\TopicPolicy;
use Adjourn\TopicReport;

/** The jobs and topics of the fake, and what becomes of them as time passes. */
final class FakeEngine
{
    private const PRIORITY = 1024;
    private const PRIORITY_UNSAID = 0xFFFFFFFF;
    private const TTR_MS = 60_000;

    /** @var array<int, FakeJob> by id */
    private array $jobs = [];
    /** @var array<string, FakeTopic> by name */
    private array $topics = [];
    /** @var array<string, array<int, int>> standings of topics with weights */
    private array $standings = [];
    private int $lastId = 0;
    private int $lastFence = 0;

    public function __construct(private readonly TestClock $clock)
    {
    }

    /** What the clock asks for: jobs that become due, leases that end, jobs that expire. */
    public function sweep(): void
    {
        $now = $this->clock->wallMs();
        foreach ($this->jobs as $job) {
            if ($job->state === JobState::Reserved && $job->untilMs <= $now) {
                $this->fail($job, null);
            }
            if ($job->state === JobState::Delayed && $job->dueMs <= $now) {
                $job->state = JobState::Ready;
            }
            if ($job->state === JobState::Finished && $job->finishedMs + $job->rememberMs <= $now) {
                unset($this->jobs[$job->id]);
            } elseif ($job->expiresMs() <= $now && !in_array($job->state, [JobState::Reserved, JobState::Finished], true)) {
                $this->expire($job);
            }
        }
    }

    /** @param array<string, mixed> $fields of the new job in PUSH */
    public function add(string $topic, NewJob $new, array $fields): PushResult
    {
        $now = $this->clock->wallMs();
        $policy = ($this->topics[$topic] ?? new FakeTopic($topic))->policy;
        $attributes = self::withDefaults(Attributes::decode($fields['attributes']), $policy, $new->due, $now);
        $old = $new->key === null ? null : $this->byKey($topic, $new->key);
        if ($old !== null) {
            $refuses = static fn (ErrorCode $code): PushResult => new PushResult(PushOutcome::Refused, $old->id, $code->value);
            if ($new->ifExists === IfExists::Reject) {
                return $refuses(ErrorCode::KeyExists);
            }
            if ($new->ifExists === IfExists::Keep) {
                return new PushResult(PushOutcome::Kept, $old->id);
            }
            if ($old->state === JobState::Reserved && $new->ifExists !== IfExists::ReplaceAny) {
                return $refuses(ErrorCode::Reserved);
            }
        }
        $isPostponed = $new->ifExists === IfExists::Postpone
            && in_array($old?->state, [JobState::Delayed, JobState::Ready], true);
        $excess = $this->excess($topic, $policy, $fields['body'], $old);
        if ($excess !== null) {
            return new PushResult(PushOutcome::Refused, null, $excess->value);
        }
        $priority = $fields['priority'] === self::PRIORITY_UNSAID ? $policy->priority ?? self::PRIORITY : $fields['priority'];
        $ttrMs = $new->ttrMs ?? $policy->ttrMs ?? self::TTR_MS;
        if ($isPostponed) {
            $old->body = $fields['body'];
            $old->attributes = $attributes;
            $old->priority = $priority;
            $old->ttrMs = $ttrMs;
            $old->capMs = $new->postponeMaxMs === null ? PHP_INT_MAX : $old->pushedMs + $new->postponeMaxMs;
            $old->due($new->due, $now);

            return new PushResult(PushOutcome::Postponed, $old->id);
        }
        $job = new FakeJob(++$this->lastId, $topic, $new->key, $priority, $ttrMs, $attributes, $fields['body'], $new->due, $now);
        if ($job->expiresMs() < $job->dueMs) {
            return new PushResult(PushOutcome::Refused, null, ErrorCode::ExpiresBeforeDue->value);
        }
        if ($old !== null) {
            $this->remove($old);
        }
        ++$this->topic($topic)->pushed;
        $this->jobs[$job->id] = $job;

        return new PushResult($old === null ? PushOutcome::Pushed : PushOutcome::Replaced, $job->id);
    }

    /**
     * Leases the next job of these topics; null if none may be delivered.
     *
     * @param list<string> $names
     * @param list<int>|null $weights
     */
    public function take(array $names, ?array $weights): ?FakeJob
    {
        $job = $this->next($names, $weights);
        if ($job !== null) {
            $wall = $this->clock->wallMs();
            $this->topics[$job->topic]->delivered($this->clock->nowMs());
            ++$job->attempts;
            $job->state = JobState::Reserved;
            $job->fence = ++$this->lastFence;
            $job->untilMs = $wall + $job->ttrMs;
            $job->reservedFirstMs ??= $wall;
            $job->reservedLastMs = $wall;
        }

        return $job;
    }

    /**
     * How long to wait until something may be delivered.
     *
     * @param list<string> $names
     */
    public function untilNextMs(array $names): int
    {
        $next = PHP_INT_MAX;
        foreach ($this->jobs as $job) {
            $at = match ($job->state) {
                JobState::Delayed => $job->dueMs,
                JobState::Reserved => $job->untilMs,
                default => PHP_INT_MAX,
            };
            $next = min($next, $at - $this->clock->wallMs());
        }
        foreach (array_intersect_key($this->topics, array_flip($names)) as $topic) {
            $next = min($next, $topic->heldBackMs($this->clock->nowMs()) ?: PHP_INT_MAX);
        }

        return max(1, $next);
    }

    public function finish(FakeJob $job): void
    {
        $topic = $this->topics[$job->topic];
        ++$topic->finished;
        $job->rememberMs = $job->attributes->retentionMs ?? $topic->policy->rememberMs ?? 0;
        if ($job->rememberMs > 0) {
            $job->state = JobState::Finished;
            $job->finishedMs = $this->clock->wallMs();
        } else {
            unset($this->jobs[$job->id]);
        }
    }

    /** An attempt has failed. The job waits for this time, or for its backoff. */
    public function fail(FakeJob $job, ?int $delayMs): void
    {
        if ($job->attributes->attemptsMax !== null && $job->attempts >= $job->attributes->attemptsMax) {
            $this->setAside($job, BuriedReason::AttemptsUsedUp);

            return;
        }
        $wait = $delayMs ?? $job->attributes->backoff?->waitMs($job->attempts) ?? 0;
        $job->state = JobState::Ready;
        if ($wait > 0) {
            $job->capMs = PHP_INT_MAX;
            $job->due(Due::afterMs($wait), $this->clock->wallMs());
        }
    }

    /** Buries it, or moves it to the dead letters. */
    public function setAside(FakeJob $job, BuriedReason $why): void
    {
        $to = $this->topics[$job->topic]->policy->deadLetters;
        if ($to === null) {
            $job->state = JobState::Buried;
            $job->buried = $why;

            return;
        }
        $this->move($job, $to);
        $job->isDeadLetter = true;
        $job->reason ??= $why->name;
        $this->unbury($job);
    }

    public function unbury(FakeJob $job): void
    {
        $job->attempts = 0;
        $job->buried = null;
        $job->due(Due::afterMs(0), $this->clock->wallMs());
    }

    /** Takes it out, and counts it as deleted. */
    public function remove(FakeJob $job): void
    {
        unset($this->jobs[$job->id]);
        if ($job->state !== JobState::Finished) {
            ++$this->topics[$job->topic]->deleted;
        }
    }

    public function move(FakeJob $job, string $to): void
    {
        ++$this->topics[$job->topic]->deleted;
        ++$this->topic($to)->pushed;
        $job->topic = $to;
        $job->isDeadLetter = false;
    }

    public function get(int $id): ?FakeJob
    {
        return $this->jobs[$id] ?? null;
    }

    public function byKey(string $topic, string $key): ?FakeJob
    {
        foreach ($this->ofTopic($topic) as $job) {
            if ($job->key === $key && !$job->isDeadLetter) {
                return $job;
            }
        }

        return null;
    }

    /** @return list<FakeJob> */
    public function ofTopic(string $topic): array
    {
        return array_values(array_filter($this->jobs, static fn (FakeJob $job): bool => $job->topic === $topic));
    }

    /** @return list<FakeJob> in the order of delivery */
    public function inOrder(string $topic, JobState $state): array
    {
        $jobs = array_filter($this->ofTopic($topic), static fn (FakeJob $job): bool => $job->state === $state);
        usort($jobs, self::compare(...));

        return $jobs;
    }

    /** @return list<FakeJob> the delayed ones */
    public function byDue(string $topic): array
    {
        $jobs = $this->inOrder($topic, JobState::Delayed);
        usort($jobs, static fn (FakeJob $a, FakeJob $b): int => [$a->dueMs, $a->id] <=> [$b->dueMs, $b->id]);

        return $jobs;
    }

    /** @return list<FakeJob> */
    public function matching(Filter $filter): array
    {
        $now = $this->clock->wallMs();

        return array_values(array_filter($this->jobs, static fn (FakeJob $job): bool => $filter->matches($job->report($now, false))));
    }

    /** The topic, which is created if it is new. */
    public function topic(string $name): FakeTopic
    {
        return $this->topics[$name] ??= new FakeTopic($name);
    }

    public function knownTopic(string $name): ?FakeTopic
    {
        return $this->topics[$name] ?? null;
    }

    public function deleteTopic(string $name): void
    {
        unset($this->topics[$name]);
    }

    /** @return list<TopicReport> sorted by name */
    public function reports(): array
    {
        ksort($this->topics, SORT_STRING);

        return array_map(
            fn (FakeTopic $topic): TopicReport => $topic->report($this->ofTopic($topic->name), $this->clock->wallMs()),
            array_values($this->topics),
        );
    }

    /** @param list<string> $names @param list<int>|null $weights */
    private function next(array $names, ?array $weights): ?FakeJob
    {
        $first = [];
        foreach ($names as $place => $name) {
            $this->setLateOnesAside($name);
            $job = $this->mayDeliver($name) ? $this->inOrder($name, JobState::Ready)[0] ?? null : null;
            if ($job !== null) {
                $first[$place] = $job;
            }
        }
        if ($first === []) {
            return null;
        }
        if ($weights === null) {
            usort($first, self::compare(...));

            return $first[0];
        }
        $standings = &$this->standings[json_encode([$names, $weights])];
        $best = null;
        foreach (array_keys($first) as $place) {
            $standings[$place] = ($standings[$place] ?? 0) + $weights[$place];
            $best = $best === null || $standings[$place] > $standings[$best] ? $place : $best;
        }
        $standings[$best] -= array_sum(array_intersect_key($weights, $first));

        return $first[$best];
    }

    private function mayDeliver(string $name): bool
    {
        $topic = $this->topics[$name] ?? null;
        if ($topic === null || $topic->isPaused || $topic->heldBackMs($this->clock->nowMs()) > 0) {
            return false;
        }

        return count($this->inOrder($name, JobState::Reserved)) < ($topic->policy->leasesMax ?? PHP_INT_MAX);
    }

    /** Here jobs come due in time, so only a first delivery may be late. */
    private function setLateOnesAside(string $name): void
    {
        $late = ($this->topics[$name] ?? null)?->policy->late;
        if ($late === null || !$this->mayDeliver($name)) {
            return;
        }
        foreach ($this->inOrder($name, JobState::Ready) as $job) {
            if ($job->attempts === 0 && $this->clock->wallMs() - $job->dueMs > $late->afterMs) {
                match ($late->action) {
                    LatePolicy::BURY => $this->setAside($job, BuriedReason::TooLate),
                    LatePolicy::DROP => $this->expire($job),
                    default => null,
                };
            }
        }
    }

    private function expire(FakeJob $job): void
    {
        unset($this->jobs[$job->id]);
        ++$this->topics[$job->topic]->expired;
    }

    /** Why a job cannot be added; null if it can. */
    private function excess(string $topic, TopicPolicy $policy, string $body, ?FakeJob $replaced): ?ErrorCode
    {
        $others = array_filter($this->ofTopic($topic), static fn (FakeJob $job): bool => $job !== $replaced);
        $use = ($this->topics[$topic] ?? new FakeTopic($topic))->settings(array_values($others));

        return match (true) {
            strlen($body) > ($policy->bodyBytesMax ?? PHP_INT_MAX) => ErrorCode::TooLarge,
            $use->jobs >= ($policy->jobsMax ?? PHP_INT_MAX) => ErrorCode::Quota,
            $use->bytes + strlen($body) > ($policy->bytesMax ?? PHP_INT_MAX) => ErrorCode::Quota,
            default => null,
        };
    }

    /** What the job does not say, the topic decides when the job is pushed. */
    private static function withDefaults(Attributes $own, TopicPolicy $policy, Due $due, int $wallMs): Attributes
    {
        $dueMs = $due->isAt() ? max($due->ms, $wallMs) : $wallMs + $due->ms;
        $expires = $policy->expiresAfterMs === null ? null : Due::atMs($dueMs + $policy->expiresAfterMs);

        return new Attributes(...[
            'expires' => $own->expires ?? $expires,
            'attemptsMax' => $own->attemptsMax ?? $policy->attemptsMax,
            'backoff' => $own->backoff ?? $policy->backoff,
        ] + get_object_vars($own));
    }

    private static function compare(FakeJob $a, FakeJob $b): int
    {
        return [$a->priority, $a->dueMs, $a->id] <=> [$b->priority, $b->dueMs, $b->id];
    }
}
