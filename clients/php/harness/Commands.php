<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Attributes;
use Adjourn\BulkChange;
use Adjourn\BuriedReason;
use Adjourn\CancelToken;
use Adjourn\Changed;
use Adjourn\Client;
use Adjourn\ConnectionReport;
use Adjourn\DueBar;
use Adjourn\Error\AdjournError;
use Adjourn\Error\ClosedError;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\LeaseLost;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\ServerError;
use Adjourn\Error\SessionTaken;
use Adjourn\Error\TimeoutError;
use Adjourn\Error\UsageError;
use Adjourn\Error\WrongQueue;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\Job;
use Adjourn\JobEdit;
use Adjourn\JobRef;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\Lease;
use Adjourn\LeaseEnd;
use Adjourn\Limit;
use Adjourn\ListOrder;
use Adjourn\Options;
use Adjourn\Protocol\AttributesCodec;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\PushFrames;
use Adjourn\PushResult;
use Adjourn\Reason;
use Adjourn\Release;
use Adjourn\StageReport;
use Adjourn\Subscription;
use Adjourn\Time;
use Adjourn\Tls;
use Adjourn\TopicPolicy;
use Adjourn\TopicReport;
use Adjourn\U64;
use Adjourn\Worker\Context;
use Adjourn\Worker\Stopped;
use Adjourn\Worker\Worker;
use Adjourn\Worker\WorkerOptions;

/** What the conformance suite asks a client to do. */
final class Commands
{
    use GroupCommands;
    use ScheduleCommands;

    private const CREDIT_BYTES = 8_388_608;

    /** @var array<string, Client> */
    private array $clients = [];
    /** @var array<string, Subscription> */
    private array $subscriptions = [];
    /** @var array<string, list<Worker>> the workers of one name: each runs one handler at a time */
    private array $workers = [];
    /** @var array<string, int> how many of them still run */
    private array $running = [];
    /** @var array<string, Job> jobs that were delivered, by their lease */
    private array $held = [];
    /** @var array<int, CancelToken> of each `reserve` that waits, by the id of its command */
    private array $reserves = [];
    private readonly FiberClock $clock;

    public function __construct(private readonly Loop $loop)
    {
        $this->clock = new FiberClock();
    }

    /** @param array<string, mixed> $command */
    public function run(array $command): array
    {
        try {
            return ['id' => $command['id'], 'ok' => (object) $this->{'do_' . $command['do']}($command)];
        } catch (\Throwable $error) {
            return ['id' => $command['id'], 'error' => self::error($error)];
        }
    }

    /** SIGTERM: stops everything, and says GOODBYE. */
    public function stop(): void
    {
        foreach (array_keys($this->workers) as $name) {
            $this->do_worker_stop(['worker' => $name, 'deadline_ms' => '5000']);
        }
        foreach ($this->clients as $client) {
            $client->close();
        }
    }

    private function do_about(): array
    {
        return [
            'client' => 'php 0.1.0',
            'levels' => ['codec', 'producer', 'consumer', 'worker', 'operator', 'cluster'],
            'codec' => ['encode_request', 'decode_response', 'decode_request', 'encode_response'],
        ];
    }

    private function do_encode(array $c): array
    {
        return ['bytes' => base64_encode(Frames::encode($c['side'], $c['frame']))];
    }

    private function do_decode(array $c): array
    {
        return ['frame' => Frames::decode($c['side'], base64_decode($c['bytes']))];
    }

    private function do_connect(array $c): array
    {
        $options = new Options(
            server: $c['addresses'],
            token: base64_decode($c['token'] ?? ''),
            clientName: $c['name'] ?? 'php',
            connectTimeoutMs: $c['connect_timeout_ms'] ?? 5000,
            requestTimeoutMs: $c['request_timeout_ms'] ?? 30_000,
            leasesOutlive: $c['leases_outlive'] ?? false,
            heartbeatMs: $c['heartbeat_ms'] ?? 0,
            tls: isset($c['tls']) ? new Tls(...$c['tls']) : null,
        );
        $client = new Client($options, new FiberDialer($options->tls), $this->clock);
        $this->clients[$c['client']] = $client;
        if ($c['session'] ?? true) {
            $client->session()->open();
        }
        $client->connect();
        $this->loop->start(function () use ($client): void {
            // Heartbeats, and everything else that does not wait for a caller.
            $session = $client->session();
            while (!$session->hasEnded()) {
                $session->step($this->clock->nowMs() + 20);
                $this->clock->sleepMs(1);
            }
        });

        return [];
    }

    private function do_push(array $c): array
    {
        $jobs = array_map(static fn (array $job): array => [
            'due_ms' => U64::parse($job['at_ms'] ?? $job['delay_ms'] ?? '0'),
            'priority' => $job['priority'] ?? Limit::PRIORITY_UNSAID,
            'ttr_ms' => $job['ttr_ms'] ?? 0,
            'due_kind' => isset($job['at_ms']) ? PushFrames::DUE_KIND_AT : PushFrames::DUE_KIND_AFTER,
            'if_exists' => self::choice(IfExists::class, $job['if_exists'] ?? 'reject')->value,
            'key' => $job['key'] ?? '',
            'attributes' => AttributesCodec::encode(FrameJson::attributesIn($job['attributes'] ?? [])),
            'body' => base64_decode($job['body']),
        ], $c['jobs']);
        $answer = $this->client($c)->session()->call(Opcode::Push, ['sequence' => null, 'topic' => $c['topic'], 'jobs' => $jobs]);

        return ['results' => array_map(static function (array $fields): array {
            $result = PushResult::of($fields);
            $error = $result->error();

            return $error !== null
                ? ['error' => self::error($error)]
                : ['outcome' => strtolower($result->outcome->name), 'job' => U64::toString($result->job)];
        }, $answer['results'])];
    }

    private function do_get(array $c): array
    {
        return ['job' => self::shown($this->client($c)->get(self::ref($c)))];
    }

    private function do_delete(array $c): array
    {
        return ['job' => U64::toString($this->client($c)->delete(self::ref($c))->job)];
    }

    private function do_list(array $c): array
    {
        $jobs = $this->client($c)->list(
            self::filter($c['filter']),
            ListOrder::from($c['order'] ?? 0),
            $c['with_bodies'] ?? false,
            $c['jobs_max'] ?? 256,
        );

        return ['jobs' => array_map(self::shown(...), iterator_to_array($jobs, false))];
    }

    private function do_count(array $c): array
    {
        $filter = self::filter($c['filter']);
        if (!isset($c['bars'])) {
            return ['jobs' => U64::toString($this->client($c)->count($filter))];
        }
        $start = Time::at(U64::parse($c['bars_from_ms']));
        $byDue = $this->client($c)->countByDue($filter, $start, U64::parse($c['bar_ms']), $c['bars']);

        return [
            'jobs' => U64::toString(array_sum(array_column($byDue, 'jobs'))),
            'by_due' => array_map(static fn (DueBar $bar): array => [
                'start_ms' => U64::toString($bar->start === null ? 0 : Time::ms($bar->start)), 'jobs' => U64::toString($bar->jobs),
            ], $byDue),
        ];
    }

    private function do_close(array $c): array
    {
        $this->client($c)->close(5000);

        return [];
    }

    private function do_reserve(array $c): array
    {
        $cancel = new CancelToken();
        $this->reserves[$c['id']] = $cancel;
        try {
            $jobs = $this->client($c)->reserve(self::topics($c), U64::parse($c['wait_ms']), $c['jobs_max'] ?? 1, $cancel);
        } finally {
            unset($this->reserves[$c['id']]);
        }
        if ($jobs === [] && $cancel->isCancelled()) {
            throw new Cancelled('The caller gave the wait up.');
        }

        return ['jobs' => array_map($this->delivered(...), $jobs)];
    }

    private function do_finish(array $c): array
    {
        return $this->settle($c, Opcode::Finish, []);
    }

    private function do_bury(array $c): array
    {
        return $this->settle($c, Opcode::Bury, self::reason($c));
    }

    private function do_release(array $c): array
    {
        $how = match ($c['how']) {
            'backoff' => Release::backoff(),
            'not_started' => Release::notStarted(),
            'after' => Release::afterMs(U64::parse($c['delay_ms'])),
            'parked' => Release::parked(U64::parse($c['delay_ms'])),
        };

        return $this->settle($c, Opcode::Release, ['delay_ms' => $how->delayMs] + self::reason($c));
    }

    private function do_touch(array $c): array
    {
        return $this->settle($c, Opcode::Touch, ['ttr_ms' => $c['ttr_ms'] ?? 0]);
    }

    private function do_subscribe(array $c): array
    {
        $this->subscriptions[$c['subscription']] = $this->client($c)->subscribe(
            self::topics($c),
            $c['credit_jobs'],
            isset($c['credit_bytes']) ? U64::parse($c['credit_bytes']) : self::CREDIT_BYTES,
        );

        return [];
    }

    private function do_next(array $c): array
    {
        $job = $this->subscription($c)->next(U64::parse($c['wait_ms']));

        return ['job' => $job === null ? null : $this->delivered($job)];
    }

    private function do_unsubscribe(array $c): array
    {
        $this->subscription($c)->close();

        return [];
    }

    private function do_worker_start(array $c): array
    {
        $client = $this->client($c);
        $name = $c['worker'];
        $this->workers[$name] = [];
        $this->running[$name] = 0;
        for ($n = $c['concurrency'] ?? 1; $n > 0; --$n) {
            $worker = new Worker($client, new WorkerOptions(prefetch: $c['prefetch'] ?? 0, handlesSignals: false), clock: $this->clock);
            $this->workers[$name][] = $worker;
            ++$this->running[$name];
            $this->loop->start(function () use ($worker, $name, $c): void {
                try {
                    $worker->run($c['topics'], fn (Job $job, Context $context) => $this->handle($name, $worker, $job, $context));
                } catch (\Throwable $error) {
                    fwrite(STDERR, "worker $name: {$error->getMessage()}\n");
                }
                --$this->running[$name];
            });
        }

        return [];
    }

    private function do_worker_stop(array $c): array
    {
        $within = U64::parse($c['deadline_ms']);
        $until = $this->clock->nowMs() + $within;
        foreach ($this->workers[$c['worker']] ?? [] as $worker) {
            $worker->stop($within);
        }
        while (($this->running[$c['worker']] ?? 0) > 0 && $this->clock->nowMs() < $until) {
            $this->clock->sleepMs(1);
        }

        return [];
    }

    private function do_health(array $c): array
    {
        $consuming = true;
        foreach ($this->workers[$c['worker']] as $worker) {
            $consuming = $consuming && $worker->health()->isConsuming;
        }

        return ['consuming' => $consuming];
    }

    private function do_peek(array $c): array
    {
        $job = $this->client($c)->peek($c['topic'])
            ?? throw ServerError::of(ErrorReply::ofItem(ErrorCode::NotFound->value, 'The topic has no job that is ready or delayed.'));

        return ['job' => self::shown($job)];
    }

    private function do_run_now(array $c): array
    {
        return self::changed($this->client($c)->runNow(self::ref($c)));
    }

    private function do_kick(array $c): array
    {
        return self::changed($this->client($c)->kick(self::ref($c)));
    }

    private function do_reschedule(array $c): array
    {
        $at = isset($c['at_ms']) ? Time::at(U64::parse($c['at_ms'])) : null;
        $delayMs = isset($c['delay_ms']) ? U64::parse($c['delay_ms']) : null;

        return self::changed($this->client($c)->reschedule(self::ref($c), $delayMs, $at));
    }

    private function do_edit(array $c): array
    {
        return self::changed($this->client($c)->edit(self::ref($c), self::edit($c)));
    }

    private function do_kick_many(array $c): array
    {
        return ['jobs' => $this->client($c)->kickMany($c['topic'], $c['jobs_max'])];
    }

    private function do_pause(array $c): array
    {
        $this->client($c)->pause($c['topic']);

        return [];
    }

    private function do_resume(array $c): array
    {
        $this->client($c)->resume($c['topic']);

        return [];
    }

    private function do_topic_delete(array $c): array
    {
        $this->client($c)->deleteTopic($c['topic']);

        return [];
    }

    private function do_topic_set(array $c): array
    {
        $this->client($c)->setTopic($c['topic'], TopicPolicy::ofWire(FrameJson::settingsIn($c['settings'])));

        return [];
    }

    private function do_topic_show(array $c): array
    {
        $topic = $this->client($c)->showTopic($c['topic']);

        return [
            'settings' => (object) FrameJson::settingsOut($topic->policy->wire()),
            'jobs' => U64::toString($topic->jobs), 'bytes' => U64::toString($topic->bytes), 'paused' => $topic->isPaused,
        ];
    }

    private function do_topics(array $c): array
    {
        return ['topics' => array_map(
            static fn (TopicReport $report): array => ['topic' => $report->topic, 'paused' => $report->isPaused] + self::counts($report),
            $this->client($c)->topics(),
        )];
    }

    private function do_stats(array $c): array
    {
        $stats = $this->client($c)->stats();

        return self::counts($stats->all) + ['stages' => array_map(
            static fn (StageReport $s): array => ['stage' => $s->stage] + array_map(U64::toString(...), [
                'count' => $s->count, 'p50_us' => $s->p50Us, 'p99_us' => $s->p99Us, 'p999_us' => $s->p999Us, 'max_us' => $s->maxUs,
            ]),
            $stats->stages,
        )];
    }

    private function do_bulk(array $c): array
    {
        $change = match ($c['change']) {
            'delete' => BulkChange::delete(),
            'kick' => BulkChange::kick(),
            'run_now' => BulkChange::runNow(),
            'reschedule' => BulkChange::reschedule(Time::at(isset($c['at_ms'])
                ? U64::parse($c['at_ms'])
                : Time::ms(new \DateTimeImmutable()) + U64::parse($c['delay_ms']))),
            'move' => BulkChange::moveTo($c['to']),
        };
        $jobs = 0;
        foreach ($this->client($c)->bulk($change, self::filter($c['filter']), stepJobsMax: $c['jobs_max'] ?? 1024) as $step) {
            $jobs += $step->jobs;
        }

        return ['jobs' => U64::toString($jobs)];
    }

    private function do_leases(array $c): array
    {
        return ['jobs' => array_map($this->delivered(...), iterator_to_array($this->client($c)->leases(), false))];
    }

    private function do_connections(array $c): array
    {
        return ['connections' => array_map(
            static fn (ConnectionReport $report): array => [
                'connection' => U64::toString($report->connection), 'client_name' => $report->clientName,
                'leases' => $report->leases, 'subscriptions' => $report->subscriptions, 'reserves' => $report->reserves,
            ],
            iterator_to_array($this->client($c)->connections(), false),
        )];
    }

    private function do_disconnect(array $c): array
    {
        $this->client($c)->disconnect(U64::parse($c['connection']), $c['ends_session'] ?? false);

        return [];
    }

    /** A fiber waits in `reserve`; another one, or a signal handler of a program, cancels its token. */
    private function do_cancel(array $c): array
    {
        ($this->reserves[$c['command']] ?? null)?->cancel();
        while (isset($this->reserves[$c['command']])) {
            $this->clock->sleepMs(1);
        }

        return [];
    }

    private function handle(string $name, Worker $worker, Job $job, Context $context): void
    {
        $lease = ['worker' => $name, 'job' => U64::toString($job->id), 'fence' => U64::toString($job->lease->fence)];
        $this->loop->say(['event' => 'started'] + $lease + [
            'attempts' => $job->attempts, 'topic' => $job->topic, 'body' => base64_encode($job->body),
        ]);
        $say = fn (string $result, array $more = []) => $this->loop->say(['event' => 'ended'] + $lease + ['result' => $result] + $more);
        $todo = json_decode($job->body, true);
        $todo = is_array($todo) ? $todo : [];
        $until = $this->clock->nowMs() + ($todo['after_ms'] ?? 0);
        $hang = $todo['hang'] ?? false;
        try {
            while ($hang !== false || $this->clock->nowMs() < $until) {
                $this->clock->sleepMs(2);
                if ($hang === 'until_stop' && $context->isStopping()) {
                    break;
                }
                $context->tick();
            }
        } catch (LeaseLost $lost) {
            $say('cancelled', ['reason' => match ($lost->end) {
                LeaseEnd::Stale => 'lease_lost',
                LeaseEnd::TimeOver => 'time_over',
                LeaseEnd::PresumedLost => 'presumed_lost',
            }]);
            throw $lost;
        } catch (Stopped $stopped) {
            $say('cancelled', ['reason' => 'stopping']);
            throw $stopped;
        }
        if (isset($todo['fail']) && $job->attempts <= ($todo['until'] ?? PHP_INT_MAX)) {
            $say('failed');
            throw new \RuntimeException($todo['fail']);
        }
        $say('ok');
    }

    private function settle(array $c, Opcode $how, array $fields): array
    {
        $client = $this->client($c);
        $results = [];
        foreach ($c['leases'] as $lease) {
            $id = new Lease(U64::parse($lease['job']), U64::parse($lease['fence']));
            $job = $this->held["{$c['client']} $id"] ?? null;
            try {
                $job?->throwIfLost();
                $sentMs = $this->clock->nowMs();
                $refusal = $client->settleMany($how, [$id], $fields)[0];
                if ($refusal === null && $how === Opcode::Touch) {
                    $job?->touched($sentMs, ($fields['ttr_ms'] ?? 0) ?: null);
                }
            } catch (LeaseLost $refusal) {
            }
            $results[] = $refusal === null ? new \stdClass() : ['error' => self::error($refusal)];
        }

        return ['results' => $results];
    }

    private function client(array $c): Client
    {
        return $this->clients[$c['client']] ?? throw new UsageError("There is no client {$c['client']}.");
    }

    private function subscription(array $c): Subscription
    {
        return $this->subscriptions[$c['subscription']] ?? throw new UsageError("There is no subscription {$c['subscription']}.");
    }

    private function delivered(Job $job): array
    {
        foreach ($this->clients as $name => $client) {
            if ($job->isOf($client)) {
                $this->held["$name $job->lease"] = $job;
            }
        }

        return [
            'job' => U64::toString($job->id), 'fence' => U64::toString($job->lease->fence), 'topic' => $job->topic, 'key' => $job->key ?? '',
            'priority' => $job->priority, 'attempts' => $job->attempts, 'due_ms' => U64::toString($job->dueMs),
            'body' => base64_encode($job->body), 'attributes' => (object) self::attributes($job->attributes),
        ];
    }

    private static function shown(JobReport $job): array
    {
        return [
            'job' => U64::toString($job->id), 'topic' => $job->topic, 'key' => $job->key ?? '', 'state' => strtolower($job->state->name),
            'attempts' => $job->attempts, 'priority' => $job->priority, 'ttr_ms' => $job->ttrMs, 'body' => base64_encode($job->body),
            'reason' => $job->reason ?? '', 'attributes' => (object) self::attributes($job->attributes),
        ];
    }

    /** @return array<string, mixed> those that are there */
    private static function attributes(Attributes $attributes): array
    {
        return array_filter(FrameJson::attributesOut($attributes->wire()), static fn (mixed $value): bool => $value !== null && $value !== []);
    }

    private static function changed(Changed $job): array
    {
        return ['job' => U64::toString($job->job), 'state' => strtolower($job->state->name), 'due_ms' => U64::toString($job->dueMs)];
    }

    /** @return array<string, string> */
    private static function counts(TopicReport $report): array
    {
        return array_map(U64::toString(...), [
            'delayed' => $report->delayed, 'ready' => $report->ready, 'reserved' => $report->reserved, 'buried' => $report->buried,
        ]);
    }

    /** @return list<string>|array<string, int> */
    private static function topics(array $c): array
    {
        return ($c['weights'] ?? []) === [] ? $c['topics'] : array_combine($c['topics'], $c['weights']);
    }

    private static function filter(array $f): Filter
    {
        $time = static fn (?string $ms): ?\DateTimeInterface => $ms === null ? null : Time::at(U64::parse($ms));
        $states = isset($f['states'])
            ? array_values(array_filter(JobState::cases(), static fn (JobState $state): bool => $state !== JobState::Unknown && ($f['states'] >> $state->value & 1) === 1))
            : null;

        return new Filter(
            $f['topic'] ?? null,
            $states,
            $time($f['due_from_ms'] ?? null),
            $time($f['due_before_ms'] ?? null),
            isset($f['key_prefix']) ? base64_decode($f['key_prefix']) : null,
            $f['attempts_min'] ?? null,
            $f['attempts_max'] ?? null,
            isset($f['buried']) ? BuriedReason::from($f['buried']) : null,
            $f['reason'] ?? null,
            $f['group'] ?? null,
        );
    }

    /**
     * The case that the protocol calls so.
     *
     * @template E of \BackedEnum
     * @param class-string<E> $choice
     * @return E
     */
    private static function choice(string $choice, string $name): \BackedEnum
    {
        foreach ($choice::cases() as $case) {
            if (Frames::name($case->name) === strtoupper($name)) {
                return $case;
            }
        }
        throw new UsageError("$choice cannot be $name.");
    }

    private static function ref(array $c): JobRef
    {
        return isset($c['job']) ? JobRef::id(U64::parse($c['job'])) : JobRef::key($c['topic'], $c['key']);
    }

    /** A part that has no value is taken away. */
    private static function edit(array $c): JobEdit
    {
        $attributes = Attributes::ofWire(FrameJson::attributesIn($c['attributes'] ?? []));
        $expires = $attributes->expires;
        $parts = [];
        foreach ($c['edited'] as $part) {
            $parts += match ($part) {
                'due' => isset($c['at_ms']) ? ['at' => Time::at(U64::parse($c['at_ms']))] : ['delayMs' => U64::parse($c['delay_ms'])],
                'priority' => ['priority' => $c['priority'] ?? null],
                'ttr' => ['ttrMs' => $c['ttr_ms'] ?? null],
                'body' => ['body' => base64_decode($c['body'])],
                'headers' => ['headers' => $attributes->headers ?: null],
                'expires' => $expires?->kind === PushFrames::DUE_KIND_AT ? ['expiresAt' => Time::at($expires->ms)] : ['expiresAfterMs' => $expires?->ms],
                'attempts_max' => ['attemptsMax' => $attributes->attemptsMax],
                'backoff' => ['backoff' => $attributes->backoff],
                'dedupe_retention' => ['retentionMs' => $attributes->retentionMs],
                'group' => ['group' => $attributes->group],
            };
        }

        return new JobEdit(...$parts, unset: array_keys($parts, null, true));
    }

    private static function reason(array $c): array
    {
        return ($c['reason'] ?? '') === '' ? [] : ['reason' => Reason::cut($c['reason'])];
    }

    private static function error(\Throwable $error): array
    {
        $code = match (true) {
            $error instanceof ServerError => self::code($error->reply),
            $error instanceof OutcomeUnknown => 'OUTCOME_UNKNOWN',
            $error instanceof TimeoutError => 'TIMEOUT',
            $error instanceof ConnectionError => 'CANNOT_CONNECT',
            $error instanceof WrongQueue => 'WRONG_CLUSTER',
            $error instanceof ClosedError, $error instanceof SessionTaken => 'CLOSED',
            $error instanceof ProtocolError, $error instanceof Malformed => 'PROTOCOL',
            $error instanceof LeaseLost => 'STALE_LEASE',
            $error instanceof Cancelled => 'CANCELLED',
            default => 'USAGE',
        };
        $isAdjourn = $error instanceof AdjournError;

        return [
            'code' => $code,
            'retryable' => $isAdjourn && $error->isRetryable,
            'applied' => $isAdjourn && $error->mayBeApplied ? 'unknown' : 'no',
            'retry_after_ms' => $isAdjourn ? $error->retryAfterMs : 0,
            'message' => $error->getMessage(),
        ] + ($error instanceof ServerError && $error->job !== null ? ['job' => U64::toString($error->job)] : []);
    }

    private static function code(ErrorReply $reply): string
    {
        $name = $reply->known()?->name;

        return $name === null ? 'UNKNOWN' : Frames::name($name);
    }
}
