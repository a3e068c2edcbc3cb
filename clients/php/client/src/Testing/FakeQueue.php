<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Body\BodyCodec;
use Adjourn\Body\JsonCodec;
use Adjourn\BulkChange;
use Adjourn\BulkStep;
use Adjourn\BuriedReason;
use Adjourn\CancelToken;
use Adjourn\Changed;
use Adjourn\Connection\LeaseClock;
use Adjourn\Due;
use Adjourn\Error\AdjournError;
use Adjourn\Error\AdjournException;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\Server\NotFound;
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
use Adjourn\PushResult;
use Adjourn\Queue;
use Adjourn\Reason;
use Adjourn\Release;
use Adjourn\Topic;
use Adjourn\TopicPolicy;
use Adjourn\TopicReport;
use Adjourn\TopicSettings;

/**
 * A queue in memory, for tests of code that uses one. Time passes when the test says so, and when `reserve` waits: then
 * the clock moves to the next due job, or to the end of the wait.
 *
 * It does what one node does with jobs, keys, retries, expiries, policies of topics, dead letters, rates, weights and late
 * jobs. It leaves out what needs a connection or another node: sessions, subscriptions, time-outs, and jobs that come due
 * late because the queue was down. It has no limits but those of topics, and topics without jobs stay. `failNext` stands in
 * for a server that refuses or does not answer.
 */
final class FakeQueue implements Queue
{
    private readonly FakeEngine $engine;
    private readonly LeaseClock $leases;
    /** @var list<AdjournException> what the next calls throw */
    private array $failures = [];

    public function __construct(
        public readonly TestClock $clock = new TestClock(),
        private readonly BodyCodec $codec = new JsonCodec(),
    ) {
        $this->engine = new FakeEngine($clock);
        $this->leases = new LeaseClock();
    }

    /** Lets the next call fail, and nothing else happen. Several failures are for several calls. */
    public function failNext(AdjournException|ErrorCode ...$with): void
    {
        foreach ($with as $failure) {
            $this->failures[] = $failure instanceof ErrorCode ? self::refusal($failure) : $failure;
        }
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
        $job = NewJob::of($body, $delayMs, $at, $key, $ifExists, $ttrMs, $priority, $headers);

        return $this->pushMany($topic, [$job])[0]->orThrow();
    }

    public function pushMany(string $topic, iterable $jobs, int $batchJobsMax = 4096): array
    {
        Topic::check($topic);
        $engine = $this->engine();
        $results = [];
        foreach ($jobs as $job) {
            $results[] = $engine->add($topic, NewJob::listed($job), $job->fields($this->codec));
        }

        return $results;
    }

    public function reserve(string|array $topics, int $waitMs = 0, int $jobsMax = 1, ?CancelToken $cancel = null): array
    {
        $fields = Topic::fields($topics);
        $names = array_column($fields['topics'], 'topic');
        $weights = $fields['weights'] === null ? null : array_column($fields['weights'], 'weight');
        $engine = $this->engine();
        $until = $this->clock->nowMs() + $waitMs;
        $taken = [];
        while (!$cancel?->isCancelled()) {
            $engine->sweep();
            while (count($taken) < $jobsMax && ($job = $engine->take($names, $weights)) !== null) {
                $taken[] = $this->leased($job);
            }
            $left = $until - $this->clock->nowMs();
            if ($taken !== [] || $left <= 0) {
                break;
            }
            $this->clock->advance(min($left, $engine->untilNextMs($names)));
        }

        return $taken;
    }

    public function finish(Lease|Job $lease): void
    {
        $this->engine()->finish($this->held($lease));
    }

    public function release(Lease|Job $lease, ?Release $how = null, string $reason = ''): void
    {
        $engine = $this->engine();
        $job = $this->held($lease);
        $delayMs = ($how ?? Release::backoff())->delayMs;
        $job->reason = $reason === '' ? $job->reason : Reason::cut($reason);
        if ($delayMs === Release::NOT_STARTED) {
            --$job->attempts;
            $job->state = JobState::Ready;
        } else {
            $engine->fail($job, $delayMs === Release::BACKOFF ? null : $delayMs);
        }
    }

    public function finishMany(iterable $leases): array
    {
        $this->engine();

        return $this->endMany($leases, fn (Lease|Job $lease) => $this->finish($lease));
    }

    public function releaseMany(iterable $leases, ?Release $how = null, string $reason = ''): array
    {
        $this->engine();

        return $this->endMany($leases, fn (Lease|Job $lease) => $this->release($lease, $how, $reason));
    }

    public function touch(Lease|Job $lease, ?int $ttrMs = null): void
    {
        $this->engine();
        $job = $this->held($lease);
        $job->untilMs = $this->clock->wallMs() + ($ttrMs ?? $job->ttrMs);
        if ($lease instanceof Job) {
            $lease->touched($this->clock->nowMs(), $ttrMs);
        }
    }

    public function bury(Lease|Job $lease, string $reason = ''): void
    {
        $engine = $this->engine();
        $job = $this->held($lease);
        $job->reason = $reason === '' ? $job->reason : Reason::cut($reason);
        $engine->setAside($job, BuriedReason::ByConsumer);
    }

    public function get(int|JobRef $job): JobReport
    {
        $this->engine();

        return $this->found($job)->report($this->clock->wallMs(), true);
    }

    public function delete(int|JobRef $job): Changed
    {
        $engine = $this->engine();
        $found = $this->found($job);
        $engine->remove($found);

        return self::changed($found);
    }

    public function cancel(string $topic, string $key): bool
    {
        try {
            $this->delete(JobRef::key($topic, $key));
        } catch (NotFound) {
            return false;
        }

        return true;
    }

    public function reschedule(int|JobRef $job, ?int $delayMs = null, ?\DateTimeInterface $at = null): Changed
    {
        $due = Due::named($delayMs, $at);
        $this->engine();
        $found = self::waiting($this->found($job));
        $found->due($due, $this->clock->wallMs());

        return self::changed($found);
    }

    public function runNow(int|JobRef $job): Changed
    {
        $this->engine();
        $found = self::waiting($this->found($job));
        $this->makeReady($found);

        return self::changed($found);
    }

    public function kick(int|JobRef $job): Changed
    {
        $engine = $this->engine();
        $found = $this->found($job);
        if ($found->state !== JobState::Buried) {
            throw self::refusal(ErrorCode::WrongState);
        }
        $engine->unbury($found);

        return self::changed($found);
    }

    public function kickMany(string $topic, int $jobsMax = 1024): int
    {
        $engine = $this->engine();
        $kicked = array_slice($engine->inOrder(Topic::check($topic), JobState::Buried), 0, $jobsMax);
        array_map($engine->unbury(...), $kicked);

        return count($kicked);
    }

    public function peek(string $topic): ?JobReport
    {
        $engine = $this->engine();
        $next = $engine->inOrder(Topic::check($topic), JobState::Ready)[0] ?? $engine->byDue($topic)[0] ?? null;

        return $next?->report($this->clock->wallMs(), true);
    }

    public function pause(string $topic): void
    {
        $this->known($topic)->isPaused = true;
    }

    public function resume(string $topic): void
    {
        $this->known($topic)->isPaused = false;
    }

    public function list(Filter $filter, ListOrder $order = ListOrder::Due, bool $withBodies = false, int $pageJobsMax = 256): iterable
    {
        $jobs = $this->engine()->matching($filter);
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
        return count($this->engine()->matching($filter));
    }

    public function bulk(BulkChange $change, Filter $filter, string $cursor = '', int $stepJobsMax = 1024): iterable
    {
        $engine = $this->engine();
        $changed = 0;
        $inTheWay = 0;
        foreach ($engine->matching($filter) as $job) {
            if ($change->to !== null && $job->key !== null && $engine->byKey($change->to, $job->key) !== null) {
                $inTheWay += $job->state === JobState::Reserved ? 0 : 1;
                continue;
            }
            $changed += $this->change($job, $change) ? 1 : 0;
        }
        yield new BulkStep($changed, $inTheWay, '');
    }

    public function topics(): array
    {
        return $this->engine()->reports();
    }

    public function setTopic(string $topic, TopicPolicy $policy): void
    {
        if ($policy->deadLetters === Topic::check($topic)) {
            throw self::refusal(ErrorCode::Invalid);
        }
        $this->engine()->topic($topic)->change($policy);
    }

    public function showTopic(string $topic): TopicSettings
    {
        return $this->known($topic)->settings($this->engine->ofTopic($topic));
    }

    public function deleteTopic(string $topic): void
    {
        $this->known($topic);
        if ($this->engine->ofTopic($topic) !== []) {
            throw self::refusal(ErrorCode::WrongState);
        }
        $this->engine->deleteTopic($topic);
    }

    public function close(int $timeoutMs = 2000): void
    {
    }

    /** Each call passes here once: the engine at the present time, unless the call is to fail. */
    private function engine(): FakeEngine
    {
        $failure = array_shift($this->failures);
        if ($failure !== null) {
            throw $failure;
        }
        $this->engine->sweep();

        return $this->engine;
    }

    /** One job of a bulk change. Says whether it could be changed. */
    private function change(FakeJob $job, BulkChange $change): bool
    {
        $isWaiting = in_array($job->state, [JobState::Delayed, JobState::Ready], true);
        $fits = match ($change->kind) {
            BulkChange::DELETE => true,
            BulkChange::KICK => $job->state === JobState::Buried,
            BulkChange::MOVE => $job->state !== JobState::Reserved,
            default => $isWaiting,
        };
        if ($fits) {
            match ($change->kind) {
                BulkChange::DELETE => $this->engine->remove($job),
                BulkChange::KICK => $this->engine->unbury($job),
                BulkChange::RUN_NOW => $this->makeReady($job),
                BulkChange::RESCHEDULE => $job->due(Due::atMs($change->dueMs), $this->clock->wallMs()),
                BulkChange::MOVE => $this->engine->move($job, $change->to),
            };
        }

        return $fits;
    }

    private function makeReady(FakeJob $job): void
    {
        if ($job->state === JobState::Delayed) {
            $job->due(Due::afterMs(0), $this->clock->wallMs());
        }
    }

    private function leased(FakeJob $job): Job
    {
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

    /**
     * @param iterable<Lease|Job> $leases
     * @return list<AdjournError|null>
     */
    private function endMany(iterable $leases, \Closure $end): array
    {
        [$failures, $this->failures] = [$this->failures, []];
        $refusals = [];
        foreach ($leases as $lease) {
            try {
                $lease instanceof Job && $lease->throwIfLost();
                $end($lease);
                $lease instanceof Job && $lease->settled();
                $refusals[] = null;
            } catch (AdjournError $refusal) {
                $refusals[] = $refusal;
            }
        }
        $this->failures = $failures;

        return $refusals;
    }

    private function held(Lease|Job $lease): FakeJob
    {
        $id = $lease instanceof Job ? $lease->lease : $lease;
        $job = $this->engine->get($id->job);
        if ($job === null || $job->state !== JobState::Reserved || $job->fence !== $id->fence) {
            $lease instanceof Job && $lease->lost();
            throw self::refusal(ErrorCode::StaleLease);
        }

        return $job;
    }

    private function found(int|JobRef $ref): FakeJob
    {
        $fields = is_int($ref) ? ['job' => $ref] : $ref->fields;
        $job = isset($fields['job']) ? $this->engine->get($fields['job']) : $this->engine->byKey($fields['topic'], $fields['key']);

        return $job ?? throw self::refusal(ErrorCode::NotFound);
    }

    private function known(string $topic): FakeTopic
    {
        return $this->engine()->knownTopic($topic) ?? throw self::refusal(ErrorCode::NotFound);
    }

    private static function waiting(FakeJob $job): FakeJob
    {
        return match ($job->state) {
            JobState::Delayed, JobState::Ready => $job,
            JobState::Reserved => throw self::refusal(ErrorCode::Reserved),
            default => throw self::refusal(ErrorCode::WrongState),
        };
    }

    private static function changed(FakeJob $job): Changed
    {
        return new Changed($job->id, $job->dueMs, $job->state);
    }

    private static function refusal(ErrorCode $code): AdjournException
    {
        return ServerError::of(ErrorReply::ofItem($code->value, ''));
    }
}
