<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Attributes;
use Adjourn\Body\BodyCodec;
use Adjourn\Body\JsonCodec;
use Adjourn\BulkChange;
use Adjourn\BulkStep;
use Adjourn\BuriedReason;
use Adjourn\CancelToken;
use Adjourn\Changed;
use Adjourn\Connection\LeaseClock;
use Adjourn\Due;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\ServerError;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\Job;
use Adjourn\JobRef;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\Lease;
use Adjourn\ListOrder;
use Adjourn\NewJob;
use Adjourn\PushOutcome;
use Adjourn\PushResult;
use Adjourn\Queue;
use Adjourn\Reason;
use Adjourn\Release;
use Adjourn\Topic;
use Adjourn\TopicReport;

/**
 * A queue in memory, for tests of code that uses one. Time passes when the test says so, and when `reserve` waits: then
 * the clock moves to the next due job, or to the end of the wait.
 *
 * It has no sessions, no policies of topics and no limits.
 */
final class FakeQueue implements Queue
{
    private const PRIORITY = 1024;
    private const PRIORITY_UNSAID = 0xFFFFFFFF;
    private const TTR_MS = 60_000;

    /** @var array<int, FakeJob> by id */
    private array $jobs = [];
    /** @var array<string, bool> topics, and whether they are paused */
    private array $paused = [];
    /** @var array<string, array<string, int>> pushed, finished, deleted, expired */
    private array $totals = [];
    /** @var array<string, array<int, int>> standings of topics with weights */
    private array $standings = [];
    private int $lastId = 0;
    private int $lastFence = 0;
    private readonly LeaseClock $leases;

    public function __construct(
        public readonly TestClock $clock = new TestClock(),
        private readonly BodyCodec $codec = new JsonCodec(),
    ) {
        $this->leases = new LeaseClock();
    }

    public function push(
        string $topic,
        mixed $body,
        ?int $delayMs = null,
        ?\DateTimeInterface $at = null,
        ?string $key = null,
        IfExists $ifExists = IfExists::Reject,
        ?int $ttrMs = null,
        ?int $priority = null,
        array $headers = [],
    ): PushResult {
        $job = $body instanceof NewJob
            ? $body
            : new NewJob($body, $delayMs, $at, $key, $ifExists, $ttrMs, $priority, $headers);

        return $this->pushMany($topic, [$job])[0]->orThrow();
    }

    public function pushMany(string $topic, iterable $jobs, int $batchJobsMax = 4096): array
    {
        Topic::check($topic);
        $results = [];
        foreach ($jobs as $job) {
            $this->sweep();
            $results[] = $this->add($topic, $job);
        }

        return $results;
    }

    public function reserve(string|array $topics, int $waitMs = 0, int $jobsMax = 1, ?CancelToken $cancel = null): array
    {
        $fields = Topic::fields($topics);
        $names = array_column($fields['topics'], 'topic');
        $weights = $fields['weights'] === null ? null : array_column($fields['weights'], 'weight');
        $until = $this->clock->nowMs() + $waitMs;
        $taken = [];
        while (!$cancel?->isCancelled()) {
            $this->sweep();
            while (count($taken) < $jobsMax && ($job = $this->next($names, $weights)) !== null) {
                $taken[] = $this->grant($job);
            }
            $left = $until - $this->clock->nowMs();
            if ($taken !== [] || $left <= 0) {
                break;
            }
            $this->clock->advance(min($left, $this->untilNextMs()));
        }

        return $taken;
    }

    public function finish(Lease|Job $lease): void
    {
        $job = $this->held($lease);
        ++$this->totals[$job->topic]['finished'];
        if ($job->attributes->retentionMs > 0) {
            $job->state = JobState::Finished;
            $job->finishedMs = $this->clock->wallMs();
        } else {
            unset($this->jobs[$job->id]);
        }
    }

    public function release(Lease|Job $lease, ?Release $how = null, string $reason = ''): void
    {
        $job = $this->held($lease);
        $delayMs = ($how ?? Release::backoff())->delayMs;
        $job->reason = $reason === '' ? $job->reason : Reason::cut($reason);
        if ($delayMs === Release::NOT_STARTED) {
            --$job->attempts;
            $job->state = JobState::Ready;
        } else {
            $this->fail($job, $delayMs === Release::BACKOFF ? null : $delayMs);
        }
    }

    public function touch(Lease|Job $lease, ?int $ttrMs = null): void
    {
        $job = $this->held($lease);
        $job->untilMs = $this->clock->wallMs() + ($ttrMs ?? $job->ttrMs);
        if ($lease instanceof Job) {
            $lease->touched($this->clock->nowMs(), $ttrMs);
        }
    }

    public function bury(Lease|Job $lease, string $reason = ''): void
    {
        $job = $this->held($lease);
        $job->reason = $reason === '' ? $job->reason : Reason::cut($reason);
        $job->state = JobState::Buried;
        $job->buried = BuriedReason::ByConsumer;
    }

    public function get(int|JobRef $job): JobReport
    {
        return $this->found($job)->report($this->clock->wallMs(), true);
    }

    public function delete(int|JobRef $job): Changed
    {
        $found = $this->found($job);
        $this->remove($found, 'deleted');

        return self::changed($found);
    }

    public function reschedule(int|JobRef $job, ?int $delayMs = null, ?\DateTimeInterface $at = null): Changed
    {
        $found = $this->waiting($job);
        $found->due(Due::of($delayMs, $at), $this->clock->wallMs());

        return self::changed($found);
    }

    public function runNow(int|JobRef $job): Changed
    {
        $found = $this->waiting($job);
        if ($found->state === JobState::Delayed) {
            $found->due(Due::afterMs(0), $this->clock->wallMs());
        }

        return self::changed($found);
    }

    public function kick(int|JobRef $job): Changed
    {
        $found = $this->found($job);
        if ($found->state !== JobState::Buried) {
            throw self::refusal(ErrorCode::WrongState);
        }
        $this->unbury($found);

        return self::changed($found);
    }

    public function kickMany(string $topic, int $jobsMax = 1024): int
    {
        $buried = array_filter($this->ofTopic($topic), static fn (FakeJob $j): bool => $j->state === JobState::Buried);
        usort($buried, self::inOrder(...));
        $kicked = array_slice($buried, 0, $jobsMax);
        array_map($this->unbury(...), $kicked);

        return count($kicked);
    }

    public function peek(string $topic): ?JobReport
    {
        $this->sweep();
        $jobs = $this->ofTopic(Topic::check($topic));
        foreach ([JobState::Ready, JobState::Delayed] as $state) {
            $found = array_filter($jobs, static fn (FakeJob $j): bool => $j->state === $state);
            usort($found, $state === JobState::Ready
                ? self::inOrder(...)
                : static fn (FakeJob $a, FakeJob $b): int => [$a->dueMs, $a->id] <=> [$b->dueMs, $b->id]);
            if ($found !== []) {
                return $found[0]->report($this->clock->wallMs(), true);
            }
        }

        return null;
    }

    public function pause(string $topic): void
    {
        $this->known($topic);
        $this->paused[$topic] = true;
    }

    public function resume(string $topic): void
    {
        $this->known($topic);
        $this->paused[$topic] = false;
    }

    public function list(Filter $filter, ListOrder $order = ListOrder::Due, bool $withBodies = false, int $pageJobsMax = 256): iterable
    {
        $jobs = $this->matching($filter);
        usort($jobs, static fn (FakeJob $a, FakeJob $b): int => match ($order) {
            ListOrder::Due => [$a->dueMs, $a->id] <=> [$b->dueMs, $b->id],
            ListOrder::Id => $a->id <=> $b->id,
            ListOrder::Key => [$a->key, $a->id] <=> [$b->key, $b->id],
        });
        foreach ($jobs as $job) {
            if ($order !== ListOrder::Key || $job->key !== null) {
                yield $job->report($this->clock->wallMs(), $withBodies);
            }
        }
    }

    public function count(Filter $filter): int
    {
        return count($this->matching($filter));
    }

    public function bulk(BulkChange $change, Filter $filter, string $cursor = '', int $stepJobsMax = 1024): iterable
    {
        $changed = 0;
        $inTheWay = 0;
        foreach ($this->matching($filter) as $job) {
            try {
                if ($change->to !== null) {
                    if ($job->state === JobState::Reserved) {
                        continue;
                    }
                    if ($job->key !== null && $this->byKey($change->to, $job->key) !== null) {
                        ++$inTheWay;
                        continue;
                    }
                    ++$this->totals[$job->topic]['deleted'];
                    $this->topic($change->to);
                    $job->topic = $change->to;
                    ++$this->totals[$job->topic]['pushed'];
                } else {
                    match ($change->kind) {
                        0 => $this->delete($job->id),
                        1 => $this->kick($job->id),
                        2 => $this->runNow($job->id),
                        default => $this->reschedule($job->id, at: \Adjourn\Time::at($change->dueMs)),
                    };
                }
                ++$changed;
            } catch (ServerError) {
                // Jobs that cannot be changed this way are skipped.
            }
        }
        yield new BulkStep($changed, $inTheWay, '');
    }

    public function topics(): array
    {
        $this->sweep();
        ksort($this->paused);
        $reports = [];
        foreach ($this->paused as $topic => $isPaused) {
            $topic = (string) $topic;
            $counts = array_fill(0, 5, 0);
            $oldest = 0;
            foreach ($this->ofTopic($topic) as $job) {
                ++$counts[$job->state->value];
                $oldest = $job->state === JobState::Ready ? max($oldest, $this->clock->wallMs() - $job->dueMs) : $oldest;
            }
            $totals = $this->totals[$topic];
            $reports[] = new TopicReport(
                $topic,
                $isPaused,
                $counts[0],
                $counts[1],
                $counts[2],
                $counts[3],
                $totals['pushed'],
                $totals['finished'],
                $totals['deleted'],
                $totals['expired'],
                $oldest,
            );
        }

        return $reports;
    }

    public function deleteTopic(string $topic): void
    {
        $this->known($topic);
        if ($this->ofTopic($topic) !== []) {
            throw self::refusal(ErrorCode::WrongState);
        }
        unset($this->paused[$topic], $this->totals[$topic]);
    }

    public function close(int $timeoutMs = 2000): void
    {
    }

    private function add(string $topic, NewJob $new): PushResult
    {
        $fields = $new->fields($this->codec);
        $attributes = Attributes::decode($fields['attributes']);
        $old = $new->key === null ? null : $this->byKey($topic, $new->key);
        $now = $this->clock->wallMs();
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
            if ($new->ifExists === IfExists::Postpone && in_array($old->state, [JobState::Delayed, JobState::Ready], true)) {
                $old->body = $fields['body'];
                $old->attributes = $attributes;
                $old->priority = self::priority($fields['priority']);
                $old->ttrMs = $new->ttrMs ?? self::TTR_MS;
                $old->capMs = $new->postponeMaxMs === null ? PHP_INT_MAX : $old->pushedMs + $new->postponeMaxMs;
                $old->due($new->due, $now);

                return new PushResult(PushOutcome::Postponed, $old->id);
            }
            $this->remove($old, 'deleted');
        }
        $job = new FakeJob(
            ++$this->lastId,
            $topic,
            $new->key,
            self::priority($fields['priority']),
            $new->ttrMs ?? self::TTR_MS,
            $attributes,
            $fields['body'],
            $new->due,
            $now,
        );
        if ($job->expiresMs() < $job->dueMs) {
            return new PushResult(PushOutcome::Refused, null, ErrorCode::ExpiresBeforeDue->value);
        }
        $this->topic($topic);
        ++$this->totals[$topic]['pushed'];
        $this->jobs[$job->id] = $job;

        return new PushResult($old === null ? PushOutcome::Pushed : PushOutcome::Replaced, $job->id);
    }

    /** What the clock asks for: jobs that become due, leases that end, jobs that expire. */
    private function sweep(): void
    {
        $now = $this->clock->wallMs();
        foreach ($this->jobs as $job) {
            if ($job->state === JobState::Reserved && $job->untilMs <= $now) {
                $this->fail($job, null);
            }
            if ($job->state === JobState::Delayed && $job->dueMs <= $now) {
                $job->state = JobState::Ready;
            }
            $isOver = $job->state === JobState::Finished
                && $job->finishedMs + $job->attributes->retentionMs <= $now;
            if ($isOver) {
                unset($this->jobs[$job->id]);
            } elseif ($job->expiresMs() <= $now && !in_array($job->state, [JobState::Reserved, JobState::Finished], true)) {
                $this->remove($job, 'expired');
            }
        }
    }

    private function fail(FakeJob $job, ?int $delayMs): void
    {
        $now = $this->clock->wallMs();
        if ($job->attributes->attemptsMax !== null && $job->attempts >= $job->attributes->attemptsMax) {
            $job->state = JobState::Buried;
            $job->buried = BuriedReason::AttemptsUsedUp;

            return;
        }
        $wait = $delayMs ?? $job->attributes->backoff?->waitMs($job->attempts) ?? 0;
        $job->state = JobState::Ready;
        if ($wait > 0) {
            $job->capMs = PHP_INT_MAX;
            $job->due(Due::afterMs($wait), $now);
        }
    }

    /** @param list<string> $names @param list<int>|null $weights */
    private function next(array $names, ?array $weights): ?FakeJob
    {
        $first = [];
        foreach ($names as $place => $name) {
            $ready = ($this->paused[$name] ?? false) ? [] : array_filter(
                $this->ofTopic($name),
                static fn (FakeJob $job): bool => $job->state === JobState::Ready,
            );
            if ($ready !== []) {
                usort($ready, self::inOrder(...));
                $first[$place] = $ready[0];
            }
        }
        if ($first === []) {
            return null;
        }
        if ($weights === null) {
            usort($first, self::inOrder(...));

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

    private function grant(FakeJob $job): Job
    {
        $wall = $this->clock->wallMs();
        ++$job->attempts;
        $job->state = JobState::Reserved;
        $job->fence = ++$this->lastFence;
        $job->untilMs = $wall + $job->ttrMs;
        $job->reservedFirstMs ??= $wall;
        $job->reservedLastMs = $wall;

        return new Job([
            'job' => $job->id,
            'fence' => $job->fence,
            'due_ms' => $job->dueMs,
            'priority' => $job->priority,
            'attempts' => $job->attempts,
            'topic' => $job->topic,
            'key' => $job->key ?? '',
            'attributes' => $job->attributes->encode(),
            'body' => $job->body,
            'left_ms' => $job->ttrMs,
            'until_ms' => $this->clock->nowMs() + $job->ttrMs,
            'epoch' => $this->leases->epoch,
        ], $this, $this->codec, $this->clock, $this->leases);
    }

    private function held(Lease|Job $lease): FakeJob
    {
        $this->sweep();
        $id = $lease instanceof Job ? $lease->lease : $lease;
        $job = $this->jobs[$id->job] ?? null;
        if ($job === null || $job->state !== JobState::Reserved || $job->fence !== $id->fence) {
            throw self::refusal(ErrorCode::StaleLease);
        }

        return $job;
    }

    private function found(int|JobRef $ref): FakeJob
    {
        $this->sweep();
        $fields = is_int($ref) ? ['job' => $ref] : $ref->fields;
        $job = isset($fields['job']) ? $this->jobs[$fields['job']] ?? null : $this->byKey($fields['topic'], $fields['key']);

        return $job ?? throw self::refusal(ErrorCode::NotFound);
    }

    private function waiting(int|JobRef $ref): FakeJob
    {
        $job = $this->found($ref);

        return match ($job->state) {
            JobState::Delayed, JobState::Ready => $job,
            JobState::Reserved => throw self::refusal(ErrorCode::Reserved),
            default => throw self::refusal(ErrorCode::WrongState),
        };
    }

    private function byKey(string $topic, string $key): ?FakeJob
    {
        foreach ($this->ofTopic($topic) as $job) {
            if ($job->key === $key) {
                return $job;
            }
        }

        return null;
    }

    /** @return list<FakeJob> */
    private function ofTopic(string $topic): array
    {
        return array_values(array_filter($this->jobs, static fn (FakeJob $job): bool => $job->topic === $topic));
    }

    /** @return list<FakeJob> */
    private function matching(Filter $filter): array
    {
        $this->sweep();
        $now = $this->clock->wallMs();

        return array_values(array_filter($this->jobs, static fn (FakeJob $job): bool => $filter->matches($job->report($now, false))));
    }

    private function unbury(FakeJob $job): void
    {
        $job->attempts = 0;
        $job->buried = null;
        $job->due(Due::afterMs(0), $this->clock->wallMs());
    }

    private function remove(FakeJob $job, string $total): void
    {
        unset($this->jobs[$job->id]);
        if ($job->state !== JobState::Finished) {
            ++$this->totals[$job->topic][$total];
        }
    }

    private function topic(string $topic): void
    {
        $this->paused[$topic] ??= false;
        $this->totals[$topic] ??= ['pushed' => 0, 'finished' => 0, 'deleted' => 0, 'expired' => 0];
    }

    private function known(string $topic): void
    {
        if (!isset($this->paused[$topic])) {
            throw self::refusal(ErrorCode::NotFound);
        }
    }

    private function untilNextMs(): int
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

        return max(1, $next);
    }

    private static function inOrder(FakeJob $a, FakeJob $b): int
    {
        return [$a->priority, $a->dueMs, $a->id] <=> [$b->priority, $b->dueMs, $b->id];
    }

    private static function priority(int $priority): int
    {
        return $priority === self::PRIORITY_UNSAID ? self::PRIORITY : $priority;
    }

    private static function changed(FakeJob $job): Changed
    {
        return new Changed($job->id, $job->dueMs, $job->state);
    }

    private static function refusal(ErrorCode $code): \Adjourn\Error\AdjournError
    {
        return ServerError::of(ErrorReply::ofItem($code->value, ''));
    }
}
