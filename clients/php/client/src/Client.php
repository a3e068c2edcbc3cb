<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Connection\Clock;
use Adjourn\Connection\Dialer;
use Adjourn\Connection\Feed;
use Adjourn\Connection\Session;
use Adjourn\Connection\SystemClock;
use Adjourn\Connection\TcpDialer;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\LeaseLost;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\StaleLease;
use Adjourn\Error\ServerError;
use Adjourn\Error\UsageError;
use Adjourn\Protocol\DeliveryFrames;
use Adjourn\Protocol\JobFrames;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\TopicFrames;

/**
 * A queue on a server, or on a cluster. It connects with its first call, follows the leader, and reconnects by itself.
 *
 * Use one client per process. A child after fork() may go on with it: it gets a session of its own.
 */
final class Client
{
    use GroupCalls;
    use ScheduleCalls;

    /** How long the end of a script waits for DONE. */
    private const GOODBYE_MS = 250;
    private const CREDIT_BYTES = 8_388_608;

    private readonly Options $options;
    private readonly Session $session;
    /** @var array<int, Worker\Worker> those that run */
    private array $workers = [];
    private int $backups = 0;

    public function __construct(
        Options|string $options = new Options(),
        ?Dialer $dialer = null,
        Clock $clock = new SystemClock(),
    ) {
        $this->options = is_string($options) ? new Options($options) : $options;
        $this->session = new Session($this->options, $dialer ?? new TcpDialer($this->options->tls), $clock);
    }

    public function __destruct()
    {
        $this->session->close(self::GOODBYE_MS);
    }

    /** Connects now, to learn early that the address or the token is wrong. */
    public function connect(): void
    {
        $this->ping();
    }

    /**
     * Pushes one job. It is durable when this returns.
     *
     * @param mixed $body a string goes as it is; anything else as JSON. A NewJob says everything itself
     * @param array<string, string> $headers
     * @param string|null $idempotencyKey see `pushMany`
     * @param string|null $group see NewJob
     * @throws Error\Server\KeyExists under IfExists::Reject
     */
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
        ?string $idempotencyKey = null,
        ?string $group = null,
    ): PushResult {
        $job = NewJob::of($body, $delayMs, $at, $key, $ifExists, $ttrMs, $priority, $headers, $group);
        if ($idempotencyKey !== null || !$this->options->tracing instanceof NoTracing) {
            return $this->pushMany($topic, [$job], idempotencyKey: $idempotencyKey)[0]->orThrow();
        }
        // One frame with one job needs no batches.
        $fields = ['sequence' => null, 'topic' => Topic::check($topic), 'jobs' => [$job->fields($this->options->codec)]];

        return PushResult::of($this->session->call(Opcode::Push, $fields)['results'][0])->orThrow();
    }

    /**
     * Pushes many jobs, in as few frames as the limits allow, several frames at once. A refused job does not affect the
     * others. If a frame as a whole fails, this throws, and jobs of other frames may be in the queue: give many jobs keys.
     *
     * @param iterable<NewJob> $jobs a generator is read as the frames go out
     * @param int $batchJobsMax most jobs of one frame
     * @param string|null $idempotencyKey 16 bytes under which the queue knows this list of jobs for a day: another call with it, from
     *     any process with the same token, gets the results of the first one, and adds no second job. It has to have the same jobs in
     *     the same order, at most 8,192. The frames of the list go one after the other. Null: a repeat within this call is known, no other
     * @return list<PushResult> one per job, in order
     */
    public function pushMany(string $topic, iterable $jobs, int $batchJobsMax = Limit::PUSH_JOBS_MAX, ?string $idempotencyKey = null): array
    {
        Topic::check($topic);
        if ($batchJobsMax < 1) {
            throw new UsageError('batchJobsMax is at least 1.');
        }

        $count = is_countable($jobs) ? count($jobs) : null;
        $tracing = $count === 0 ? new NoTracing() : $this->options->tracing;

        return $tracing->push(
            $topic,
            $count,
            function (array $headers) use ($topic, $jobs, $batchJobsMax, $idempotencyKey): array {
                $batches = new Batches($this->session, $this->options->codec, $jobs, $batchJobsMax, $headers);

                return $idempotencyKey === null
                    ? $batches->push($topic)
                    : (new KeyedPush($this->session, $topic, $idempotencyKey))->send([...$batches]);
            },
        );
    }

    /**
     * Waits until jobs are ready, and takes up to jobsMax of them.
     *
     * @param string|list<string>|array<string, int> $topics one topic, several, or topics with their weights
     * @return list<Job> empty if none came in time
     */
    public function reserve(string|array $topics, int $waitMs = 0, int $jobsMax = 1, ?CancelToken $cancel = null): array
    {
        if ($waitMs < 0 || $waitMs > Limit::WAIT_MS_MAX) {
            throw new UsageError('waitMs goes from 0 to an hour.');
        }
        $fields = ['wait_ms' => $waitMs, 'jobs_max' => $jobsMax] + Topic::fields($topics);

        return array_map($this->job(...), $this->session->call(Opcode::Reserve, $fields, cancel: $cancel)['jobs']);
    }

    /**
     * Has the server send jobs as they become ready: at most creditJobs that are not settled yet.
     *
     * @param string|list<string>|array<string, int> $topics
     */
    public function subscribe(string|array $topics, int $creditJobs, int $creditBytes = self::CREDIT_BYTES): Subscription
    {
        $feed = new Feed(['credit_jobs' => $creditJobs, 'credit_bytes' => $creditBytes] + Topic::fields($topics));
        $this->session->subscribe($feed);

        return new Subscription($this->session, $feed, $this->job(...));
    }

    public function finish(Lease|Job $lease): void
    {
        $this->settle(Opcode::Finish, $lease);
    }

    public function release(Lease|Job $lease, ?Release $how = null, string $reason = ''): void
    {
        $fields = ['delay_ms' => ($how ?? Release::backoff())->delayMs];
        $this->settle(Opcode::Release, $lease, $fields + self::reason($reason));
    }

    /** Restarts the lease: its deadline is now plus ttrMs, or plus the job's own ttr. */
    public function touch(Lease|Job $lease, ?int $ttrMs = null): void
    {
        $sentMs = $this->settle(Opcode::Touch, $lease, ['ttr_ms' => $ttrMs ?? 0]);
        if ($lease instanceof Job) {
            $lease->touched($sentMs, $ttrMs);
        }
    }

    public function bury(Lease|Job $lease, string $reason = ''): void
    {
        $this->settle(Opcode::Bury, $lease, self::reason($reason));
    }

    /**
     * Finishes many jobs with one request. A refusal does not affect the others.
     *
     * @param iterable<Lease|Job> $leases
     * @return list<Error\AdjournError|null> per lease why it was refused; a lease that is lost is not sent
     */
    public function finishMany(iterable $leases): array
    {
        return $this->endMany(Opcode::Finish, $leases);
    }

    /**
     * Releases many jobs with one request, as `finishMany` finishes them.
     *
     * @param iterable<Lease|Job> $leases
     * @return list<Error\AdjournError|null>
     */
    public function releaseMany(iterable $leases, ?Release $how = null, string $reason = ''): array
    {
        $fields = ['delay_ms' => ($how ?? Release::backoff())->delayMs];

        return $this->endMany(Opcode::Release, $leases, $fields + self::reason($reason));
    }

    /**
     * @internal Settles or touches many leases with one request.
     *
     * @param Opcode $how Finish, Release, Touch or Bury
     * @param list<Lease> $leases
     * @param array<string, mixed> $fields of the request, besides the leases
     * @return list<ServerError|null> per lease why it was refused
     */
    public function settleMany(Opcode $how, array $leases, array $fields = []): array
    {
        $refusals = [];
        foreach (array_chunk($leases, max(1, $this->session->limits()->leasesMax)) as $part) {
            $items = array_map(static fn (Lease $l): array => ['job' => $l->job, 'fence' => $l->fence], $part);
            $answer = $this->session->call($how, ['leases' => $items] + $fields);
            foreach ($answer['results'] as ['code' => $code]) {
                // The first copy may have ended the lease; a repeated FINISH is answered with 0.
                $isRepeat = $answer['copies'] > 1 && $how !== Opcode::Finish;
                $refusals[] = $code === 0 ? null : ServerError::of(ErrorReply::ofItem($code, '', $isRepeat));
            }
        }

        return $refusals;
    }

    /**
     * The jobs that this session holds. Leases that outlive their session belong to none, and are not shown.
     *
     * @return iterable<Job>
     */
    public function leases(): iterable
    {
        $after = 0;
        do {
            $page = $this->session->call(Opcode::Leases, ['after' => $after, 'jobs_max' => $this->session->limits()->reserveJobsMax]);
            foreach ($page['jobs'] as $fields) {
                $after = $fields['job'];
                yield $this->job($fields);
            }
        } while (($page['marks'] & DeliveryFrames::PAGE_MARKS_MORE) !== 0);
    }

    /** @throws Error\Server\NotFound */
    public function get(int|JobRef $job): JobReport
    {
        return JobReport::of($this->session->call(Opcode::Get, self::ref($job)));
    }

    /**
     * Removes a job, whatever its state. By key, a lost answer is an OutcomeUnknown; that of `cancel` is not.
     *
     * @throws Error\Server\NotFound
     */
    public function delete(int|JobRef $job): Changed
    {
        return Changed::of($this->session->call(Opcode::Delete, self::ref($job)));
    }

    /**
     * Sees to it that there is no job with this key. Says whether there was one. It is sent again when its answer is lost: so false may
     * also mean that its first copy removed the job, and a job that was pushed under the key meanwhile is removed, too.
     */
    public function cancel(string $topic, string $key): bool
    {
        try {
            $this->session->call(Opcode::Delete, ['may_repeat' => true] + self::ref(JobRef::key($topic, $key)));
        } catch (NotFound) {
            return false;
        }

        return true;
    }

    /** @param int|null $ifVersion only if the job is still of this version, or `Changed` is thrown; see JobReport */
    public function reschedule(int|JobRef $job, ?int $delayMs = null, ?\DateTimeInterface $at = null, ?int $ifVersion = null): Changed
    {
        $due = Due::named($delayMs, $at);
        $fields = ['due_ms' => $due->ms, 'due_kind' => $due->kind, 'if_version' => $ifVersion ?? 0] + self::ref($job);

        return Changed::of($this->session->call(Opcode::Reschedule, $fields));
    }

    /**
     * Changes parts of a job that no consumer holds, delayed, ready or buried; the others stay as they are. A buried job stays buried.
     *
     * @param int|null $ifVersion as in `reschedule`. If two edits change body or attributes at once, one of them throws `Changed` even without it
     * @throws Error\Server\Reserved
     * @throws Error\Server\WrongState if it is finished; with another due time, also if it is buried: kick it first
     */
    public function edit(int|JobRef $job, JobEdit $edit, ?int $ifVersion = null): Changed
    {
        $fields = $edit->fields($this->options->codec) + ['if_version' => $ifVersion ?? 0] + self::ref($job);

        return Changed::of($this->session->call(Opcode::Edit, $fields));
    }

    public function runNow(int|JobRef $job): Changed
    {
        return Changed::of($this->session->call(Opcode::RunNow, self::ref($job)));
    }

    public function kick(int|JobRef $job): Changed
    {
        return Changed::of($this->session->call(Opcode::Kick, self::ref($job)));
    }

    /** The number of kicked jobs; lower than jobsMax if no more are buried. */
    public function kickMany(string $topic, int $jobsMax = 1024): int
    {
        return $this->session->call(Opcode::KickMany, ['jobs_max' => $jobsMax, 'topic' => Topic::check($topic)])['jobs'];
    }

    /** The next job of a topic, without a lease. Null if none is ready or delayed. */
    public function peek(string $topic): ?JobReport
    {
        try {
            return JobReport::of($this->session->call(Opcode::Peek, ['topic' => Topic::check($topic)]));
        } catch (NotFound) {
            return null;
        }
    }

    /**
     * Stops the delivery of a topic's jobs until `resume`. With forMs, the pause ends by itself after this time, of which at most ten years
     * count. Of a paused topic only the end of the pause changes.
     */
    public function pause(string $topic, ?int $forMs = null): void
    {
        if ($forMs !== null && $forMs < 1) {
            throw new UsageError('A pause has a positive forMs: without it, it lasts until resume.');
        }
        $this->session->call(Opcode::Pause, ['topic' => Topic::check($topic), 'for_ms' => $forMs ?? 0]);
    }

    public function resume(string $topic): void
    {
        $this->session->call(Opcode::Resume, ['topic' => Topic::check($topic)]);
    }

    /**
     * All jobs that match, fetched page by page while the caller iterates.
     *
     * @return iterable<JobReport>
     */
    public function list(Filter $filter, ListOrder $order = ListOrder::Due, bool $withBodies = false, int $pageJobsMax = 256): iterable
    {
        $cursor = '';
        do {
            $page = $this->session->call(Opcode::List, [
                'jobs_max' => $pageJobsMax,
                'order' => $order->value,
                'marks' => $withBodies ? JobFrames::LIST_MARKS_BODIES : 0,
                'cursor' => $cursor,
                'filter' => $filter->encode(),
            ]);
            foreach ($page['jobs'] as $fields) {
                yield JobReport::of($fields);
            }
            $cursor = $page['cursor'];
        } while ($cursor !== '');
    }

    public function count(Filter $filter): int
    {
        return $this->session->call(Opcode::Count, ['filter' => $filter->encode()])['jobs'];
    }

    /**
     * Counts the jobs that match by when they are due: before `$start`, in each of the bars of this length from `$start` on, and
     * after them.
     *
     * @param int $bars how many bars, 1 to `Limit::DUE_BARS_MAX`
     *
     * @return list<DueBar>
     */
    public function countByDue(Filter $filter, \DateTimeInterface $start, int $barMs, int $bars): array
    {
        if ($bars < 1 || $bars > Limit::DUE_BARS_MAX || $barMs < 1) {
            throw new UsageError(sprintf('%d bars of %d ms: give 1 to %d bars of at least 1 ms', $bars, $barMs, Limit::DUE_BARS_MAX));
        }
        $asked = ['filter' => $filter->encode(), 'bars' => $bars, 'bars_from_ms' => max(0, Time::ms($start)), 'bar_ms' => $barMs];

        return array_map(DueBar::of(...), $this->session->call(Opcode::Count, $asked)['by_due']);
    }

    /**
     * Changes all jobs that match, step by step while the caller iterates.
     *
     * @return iterable<BulkStep>
     */
    public function bulk(BulkChange $change, Filter $filter, string $cursor = '', int $stepJobsMax = 1024): iterable
    {
        do {
            $answer = $this->session->call(Opcode::Bulk, [
                'jobs_max' => $stepJobsMax,
                'change' => $change->kind,
                'due_ms' => $change->dueMs,
                'cursor' => $cursor,
                'filter' => $filter->encode(),
                'to' => $change->to ?? '',
            ]);
            $cursor = $answer['cursor'];
            yield new BulkStep($answer['jobs'], $answer['skipped'], $cursor);
        } while ($cursor !== '');
    }

    /** @return list<TopicReport> sorted by name */
    public function topics(): array
    {
        return array_map(TopicReport::of(...), $this->session->call(Opcode::Topics)['topics']);
    }

    public function stats(): Stats
    {
        return Stats::of($this->session->call(Opcode::Stats));
    }

    /** Changes the settings of a topic that the policy names. The topic is created if it is new. */
    public function setTopic(string $topic, TopicPolicy $policy): void
    {
        $this->session->call(Opcode::TopicSet, ['topic' => Topic::check($topic), 'settings' => $policy->encode()]);
    }

    /** @throws Error\Server\NotFound */
    public function showTopic(string $topic): TopicSettings
    {
        return TopicSettings::of($this->session->call(Opcode::TopicShow, ['topic' => Topic::check($topic)]));
    }

    /** @throws Error\Server\WrongState if it has jobs */
    public function deleteTopic(string $topic): void
    {
        $this->session->call(Opcode::TopicDelete, ['topic' => Topic::check($topic)]);
    }

    /** @return iterable<ConnectionReport> */
    public function connections(): iterable
    {
        $after = 0;
        do {
            $page = $this->session->call(Opcode::Connections, ['after' => $after, 'connections_max' => Limit::CONNECTIONS_LISTED_MAX]);
            foreach ($page['connections'] as $fields) {
                $after = $fields['connection'];
                yield ConnectionReport::of($fields);
            }
        } while (($page['marks'] & DeliveryFrames::PAGE_MARKS_MORE) !== 0);
    }

    /** Closes the connection of another client, and its session if that is wanted. */
    public function disconnect(int $connection, bool $endsSession = false): void
    {
        $this->session->call(Opcode::Disconnect, ['connection' => $connection, 'options' => $endsSession ? TopicFrames::DISCONNECT_OPTIONS_ENDS_SESSION : 0]);
    }

    /**
     * Moves the clock of a server for tests, and returns what it shows then, in milliseconds since the Unix epoch. When this returns, all that is due by
     * then is carried out: `reserve` gets the jobs without a wait. Only a server with `--memory --clock manual` does it; any other throws Unsupported. It is
     * never sent again after its answer is lost: that is an OutcomeUnknown.
     *
     * @param int $ms at most ten years
     * @throws Error\Server\Unsupported
     */
    public function advance(int $ms): int
    {
        return $this->step(TopicFrames::STEP_BY, Due::afterMs($ms)->ms);
    }

    /**
     * Moves the clock of a server for tests, as `advance` does, to the time at which the next delayed job of all topics is due.
     *
     * @throws Error\Server\NotFound if no job is delayed; the clock stays
     * @throws Error\Server\Unsupported
     */
    public function advanceToNext(): int
    {
        return $this->step(TopicFrames::STEP_TO_NEXT);
    }

    public function clusterStatus(): ClusterReport
    {
        return ClusterReport::of($this->session->call(Opcode::ClusterStatus));
    }

    /** @param string $peerAddress of a node that was started to join this cluster */
    public function clusterAdd(string $peerAddress): void
    {
        $this->session->call(Opcode::ClusterAdd, ['address' => $peerAddress]);
    }

    public function clusterRemove(int $node): void
    {
        $this->session->call(Opcode::ClusterRemove, ['node' => $node]);
    }

    /** Null lets the leader choose. */
    public function clusterTransfer(?int $node = null): void
    {
        $this->session->call(Opcode::ClusterTransfer, ['node' => $node ?? 0]);
    }

    /**
     * Takes a backup of the whole queue. Waits until the server has written a checkpoint, which may take minutes; at most an
     * hour. It contains everything that was answered before this call.
     */
    public function backup(): Backup
    {
        $number = ++$this->backups;
        // So that its connection lasts when something needs a session meanwhile.
        $this->session->open();
        $ready = $this->session->call(Opcode::BackupBegin);

        // The closure keeps the client, and with it the connection, for as long as the backup is used.
        return new Backup($this->session, $ready, fn (): bool => $this->backups === $number);
    }

    public function ping(): Pong
    {
        $sent = $this->session->clock->nowMs();
        $f = $this->session->call(Opcode::Ping);

        return new Pong($f['now'], $this->session->clock->nowMs() - $sent);
    }

    /**
     * Ends the session. What this client still holds comes back when its leases end. A worker of this client stops; if its handler is
     * at work, no GOODBYE is said, which could give the job to others.
     */
    public function close(int $timeoutMs = 2000): void
    {
        $isAtWork = false;
        foreach ($this->workers as $worker) {
            $isAtWork = $isAtWork || $worker->health()->currentJob !== null;
            $worker->stop();
        }
        $this->session->close($timeoutMs, saysGoodbye: !$isAtWork);
    }

    /** @internal `close` stops this worker. */
    public function adopt(Worker\Worker $worker): void
    {
        $this->workers[spl_object_id($worker)] = $worker;
    }

    /** @internal It has ended. */
    public function disown(Worker\Worker $worker): void
    {
        unset($this->workers[spl_object_id($worker)]);
    }

    public function isConnected(): bool
    {
        return $this->session->isConnected();
    }

    /** For drivers of this client: the session carries the calls. */
    public function session(): Session
    {
        return $this->session;
    }

    public function options(): Options
    {
        return $this->options;
    }

    private function step(int $step, int $byMs = 0): int
    {
        return $this->session->call(Opcode::Advance, ['step' => $step, 'by_ms' => $byMs])['now'];
    }

    /**
     * @param iterable<Lease|Job> $leases
     * @param array<string, mixed> $fields
     * @return list<Error\AdjournError|null>
     */
    private function endMany(Opcode $how, iterable $leases, array $fields = []): array
    {
        $refusals = [];
        $sent = [];
        foreach ($leases as $lease) {
            try {
                $lease instanceof Job && $lease->throwIfLost();
                $sent[count($refusals)] = $lease;
                $refusals[] = null;
            } catch (LeaseLost $lost) {
                $refusals[] = $lost;
            }
        }
        $ids = array_map(static fn (Lease|Job $l): Lease => $l instanceof Job ? $l->lease : $l, array_values($sent));
        foreach (array_combine(array_keys($sent), $this->settleMany($how, $ids, $fields)) as $place => $refusal) {
            $refusals[$place] = $refusal;
            if ($sent[$place] instanceof Job) {
                match (true) {
                    $refusal === null => $sent[$place]->settled(),
                    $refusal instanceof StaleLease => $sent[$place]->lost(),
                    default => null,
                };
            }
        }

        return $refusals;
    }

    /**
     * @param array<string, mixed> $fields
     * @return int when the request was made
     */
    private function settle(Opcode $how, Lease|Job $lease, array $fields = []): int
    {
        $sentMs = $this->session->clock->nowMs();
        $refusal = $this->settleMany($how, [$lease instanceof Job ? $lease->lease : $lease], $fields)[0];
        if ($refusal instanceof StaleLease && $lease instanceof Job) {
            $lease->lost();
        }
        if ($refusal !== null) {
            throw $refusal;
        }

        return $sentMs;
    }

    /** @param array<string, mixed> $fields */
    private function job(array $fields): Job
    {
        return new Job($fields, $this, $this->options->codec, $this->session->clock, $this->session->leases);
    }

    /** @return array<string, mixed> */
    private static function ref(int|JobRef $job): array
    {
        return ['ref' => (is_int($job) ? JobRef::id($job) : $job)->fields];
    }

    /** @return array{reason?: string} */
    private static function reason(string $reason): array
    {
        return $reason === '' ? [] : ['reason' => Reason::cut($reason)];
    }
}
