<?php

declare(strict_types=1);

namespace Adjourn\Tests\Protocol;

use Adjourn\Backoff;
use Adjourn\BulkChange;
use Adjourn\BuriedReason;
use Adjourn\CancelToken;
use Adjourn\Client;
use Adjourn\Dst;
use Adjourn\DueBar;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ServerError;
use Adjourn\FilledPart;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\JobEdit;
use Adjourn\JobRef;
use Adjourn\JobState;
use Adjourn\LatePolicy;
use Adjourn\Lease;
use Adjourn\Limit;
use Adjourn\ListOrder;
use Adjourn\LocalInstant;
use Adjourn\Missed;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Overlap;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\Tagged;
use Adjourn\Release;
use Adjourn\SchedulePreview;
use Adjourn\ScheduleRules;
use Adjourn\Tests\MemoryServer;
use Adjourn\Tests\Peer;
use Adjourn\TopicPolicy;
use Adjourn\TopicReport;
use Adjourn\Why;
use PHPUnit\Framework\TestCase;

/** Looks for everything that the schema has in the public API: a program uses all of it, and what it sends is compared with the lists. */
final class ReachTest extends TestCase
{
    private const SHOWN = [
        'job' => 42, 'due_ms' => 1, 'state' => 1, 'buried' => 0, 'priority' => 1, 'attempts' => 3, 'ttr_ms' => 1, 'ttr_left_ms' => 0,
        'topic' => 't', 'key' => '', 'attributes' => '', 'body' => '', 'body_bytes' => 0, 'pushed_ms' => 0, 'reserved_first_ms' => 0,
        'reserved_last_ms' => 0, 'edited_ms' => 5, 'held_by' => '', 'reason' => '',
    ];
    private const TOTALS = [
        'delayed' => 0, 'ready' => 0, 'reserved' => 0, 'buried' => 0, 'pushed' => 0, 'finished' => 0, 'deleted' => 0, 'expired' => 0,
        'oldest_ready_ms' => 0,
    ];
    private const TOPIC = ['marks' => 1, 'consumers' => 2, 'late_ms' => 3, 'topic' => 't'] + self::TOTALS;
    private const CONNECTION = [
        'connection' => 5, 'session' => 0, 'since_ms' => 1, 'leases' => 0, 'subscriptions' => 0, 'reserves' => 0, 'credit_jobs' => 0,
        'credit_bytes' => 0, 'unsent_bytes' => 0, 'marks' => 0, 'address' => '', 'client_name' => '', 'topics' => [],
    ];

    private const STATE = [
        'schedule' => 7, 'next_ms' => 0, 'fired' => 0, 'version' => 1, 'running' => 0, 'failures' => 0, 'paused' => 0, 'marks' => 0,
    ];
    private const RULES = [
        'origin_ms' => 0, 'start_ms' => 0, 'end_ms' => 0, 'count' => 0, 'window_ms' => 0, 'missed_max' => 0, 'jitter_ms' => 0, 'failures_max' => 0,
        'dst' => 0, 'missed' => 0, 'overlap' => 0, 'when' => '@daily', 'zone' => '', 'key' => '', 'note' => '',
    ];
    private const GROUP = [
        'ready' => 3, 'reserved' => 1, 'oldest_ms' => 5, 'until_ms' => 0, 'weight' => 2, 'hold' => 6, 'paused' => 0, 'name' => 'ann',
    ];
    private const REASON = ['why' => 6, 'since_ms' => 0, 'until_ms' => 0, 'jobs' => 1, 'text' => 'why'];
    private const TEMPLATE = ['priority' => 1, 'ttr_ms' => 1, 'attributes' => '', 'body' => ''];

    private CancelToken $cancel;

    public function testEachFieldOfEachRequestIsSent(): void
    {
        $sent = [];
        foreach ($this->requests() as $request) {
            $name = $request->opcode->name;
            $sent[$name] ??= [];
            foreach ($request->fields as $field => $value) {
                $sent[$name][$field] = ($sent[$name][$field] ?? false) || !self::isDefault($value);
                foreach (is_array($value) ? $value : [] as $item) {
                    foreach (is_array($item) ? $item : [] as $of => $part) {
                        $sent[$name]["$field.$of"] = ($sent[$name]["$field.$of"] ?? false) || !self::isDefault($part);
                    }
                }
            }
        }
        $missing = [];
        foreach (Schema::REQUESTS as $name => $fields) {
            if (!isset($sent[$name])) {
                $missing[] = $name;
            }
            foreach ($fields as $field) {
                if (!($sent[$name][$field] ?? false)) {
                    $missing[] = "$name.$field";
                }
            }
        }
        // No call reserves one job that it names: only tools and consoles need that.
        self::assertSame(['ReserveJob', 'ReserveJob.ref'], $missing);
    }

    public function testEachAttributeEachConditionAndEachSettingIsSent(): void
    {
        $tags = ['attributes' => [], 'filter' => [], 'settings' => []];
        foreach ($this->requests() as $request) {
            $fields = $request->fields;
            foreach ([...($request->opcode === Opcode::Push ? $fields['jobs'] : []), $fields] as $of) {
                foreach (array_intersect_key($of, $tags) as $name => $bytes) {
                    array_push($tags[$name], ...array_column(Tagged::decode($bytes), 0));
                }
            }
        }
        self::assertSame([], array_diff(Schema::ATTRIBUTES, $tags['attributes']), 'attributes');
        self::assertSame([], array_diff(Schema::CONDITIONS, $tags['filter']), 'conditions');
        self::assertSame([], array_diff(Schema::SETTINGS, $tags['settings']), 'settings');
    }

    public function testEachSettingIsAParameterThatKeepsItsValue(): void
    {
        foreach (Schema::SETTINGS as $name => $tag) {
            $property = Schema::PROPERTIES[$name];
            $policy = new TopicPolicy(...[$property => self::setting($property)]);
            self::assertSame([$tag], array_column(Tagged::decode($policy->encode()), 0), $name);
            self::assertEquals($policy, TopicPolicy::decode($policy->encode()), $name);
            $unset = new TopicPolicy(unset: [$property]);
            self::assertSame([[$tag, '']], Tagged::decode($unset->encode()), $name);
            self::assertEquals($unset, TopicPolicy::decode($unset->encode()), $name);
        }
    }

    public function testEachErrorHasAnExceptionOfItsOwn(): void
    {
        self::assertSame(array_keys(Schema::ERRORS), array_column(ErrorCode::cases(), 'value'));
        foreach (Schema::ERRORS as $number => [$name, $isRetryable]) {
            $error = ServerError::of(ErrorReply::ofItem($number, 'why'));
            $class = $name === 'OutcomeUnknown' ? OutcomeUnknown::class : "Adjourn\\Error\\Server\\$name";
            self::assertSame([$class, $isRetryable], [$error::class, $error->isRetryable]);
            self::assertStringEndsWith('.', ErrorCode::from($number)->meaning());
            self::assertStringEndsWith('.', ErrorCode::from($number)->remedy());
        }
    }

    public function testEachLimitIsAConstant(): void
    {
        self::assertSame(Schema::LIMITS, (new \ReflectionClass(Limit::class))->getConstants());
    }

    /** @return list<Message> what a program sends that uses all of the public API */
    private function requests(): array
    {
        $this->cancel = new CancelToken();
        $server = new MemoryServer($this->answer(...));
        $client = new Client(new Options(token: 'secret'), $server, $server->clock);
        $this->look($client);
        $this->push($client);
        $this->consume($client);
        $this->change($client);
        $this->schedule($client);
        $this->group($client);
        $this->operate($client);
        $client->close();

        return $server->requests;
    }

    private function push(Client $client): void
    {
        $everything = new NewJob(
            body: ['a' => 1],
            at: new \DateTimeImmutable('@2000000000'),
            key: 'k',
            ifExists: IfExists::Replace,
            ttrMs: 1000,
            priority: 7,
            headers: ['a' => 'b'],
            expiresAfterMs: 5000,
            attemptsMax: 3,
            backoff: Backoff::fixed(1),
            retentionMs: 9,
            postponeMaxMs: 8,
            group: 'ann',
            createdAt: new \DateTimeImmutable('@1000000000'),
            scheduleReference: "\0\1",
            buried: 'no such address',
        );
        $client->pushMany('t', [$everything, new NewJob('x')], batchJobsMax: 1, idempotencyKey: md5('list', true));
    }

    private function consume(Client $client): void
    {
        $client->reserve(['t' => 1], 60_000, cancel: $this->cancel);
        // Now that there is a session, pushes have numbers.
        $client->push('t', 'x');
        $subscription = $client->subscribe(['t' => 2], 1, 1000);
        $subscription->addCredit(1, 1);
        $subscription->close();
        $lease = new Lease(4, 7);
        $client->finish($lease);
        $client->release($lease, Release::parked(5), 'why');
        $client->touch($lease, 1000);
        $client->bury($lease, 'why');
        self::assertCount(2, iterator_to_array($client->leases(), false));
    }

    private function look(Client $client): void
    {
        $filter = new Filter(
            't',
            [JobState::Buried],
            new \DateTimeImmutable('@1'),
            new \DateTimeImmutable('@2'),
            'k',
            1,
            2,
            BuriedReason::TooLate,
            'why',
            'ann',
        );
        $client->connect();
        self::assertSame(5, $client->get(42)->editedMs);
        $client->peek('t');
        $listed = iterator_to_array($client->list($filter, ListOrder::Key, withBodies: true), false);
        self::assertSame([5, 5], array_column($listed, 'editedMs'));
        $client->count($filter);
        self::assertEquals([new DueBar(null, 1), new DueBar(new \DateTimeImmutable('@2'), 3)], $client->countByDue($filter, new \DateTimeImmutable('@2'), 1000, 1));
        $topics = [new TopicReport('t', true, 0, 0, 0, 0, 0, 0, 0, 0, 0, consumers: 2, lateMs: 3)];
        self::assertEquals($topics, $client->topics());
        self::assertEquals($topics, $client->stats()->topics);
        self::assertSame(7, $client->showTopic('t')->pauseLeftMs);
        $client->clusterStatus();
        self::assertCount(2, iterator_to_array($client->connections(), false));
    }

    private function change(Client $client): void
    {
        $client->delete(JobRef::key('t', 'k'));
        $client->reschedule(42, at: new \DateTimeImmutable('@2'), ifVersion: 3);
        $client->edit(42, new JobEdit('x', at: new \DateTimeImmutable('@2'), ttrMs: 1000, priority: 7, headers: ['a' => 'b']), ifVersion: 3);
        $client->runNow(42);
        $client->kick(42);
        $client->kickMany('t');
        self::assertCount(2, iterator_to_array($client->bulk(BulkChange::moveTo('other'), new Filter('t')), false));
        self::assertCount(2, iterator_to_array($client->bulk(BulkChange::reschedule(new \DateTimeImmutable('@2')), new Filter('t')), false));
    }

    private function schedule(Client $client): void
    {
        $rules = new ScheduleRules(
            when: '0 9 * * 1-5',
            zone: 'Europe/Berlin',
            dst: Dst::Literal,
            origin: new \DateTimeImmutable('@1'),
            start: new \DateTimeImmutable('@2'),
            end: new \DateTimeImmutable('@2000000000'),
            count: 3,
            jitterMs: 30_000,
            missed: Missed::All,
            windowMs: 3_600_000,
            missedMax: 5,
            overlap: Overlap::Replace,
            failuresMax: 3,
            key: 'k',
            note: 'why',
        );
        $client->setSchedule('t', 'morning', $rules, new NewJob('x', ttrMs: 1000, priority: 7, headers: ['a' => 'b']), ifVersion: 3);
        self::assertSame('@daily', $client->showSchedule('t', 'morning')->rules->when);
        self::assertCount(1, iterator_to_array($client->schedules('t', 'm', true, new \DateTimeImmutable('@2')), false));
        $client->pauseSchedule('t', 'morning', 'why');
        $client->resumeSchedule('t', 'morning');
        self::assertSame(42, $client->runSchedule('t', 'morning'));
        $from = new \DateTimeImmutable('@2');
        $to = new \DateTimeImmutable('@9');
        self::assertEquals(new FilledPart(9, 5, 3, 1, new \DateTimeImmutable('@7')), $client->fillSchedule('t', 'morning', $from, $to, dryRun: true));
        self::assertEquals(new SchedulePreview('2026f, bundled', [new LocalInstant(7, 'there')]), $client->previewSchedule($rules, $from, 3));
        $client->deleteSchedule('t', 'morning');
    }

    private function group(Client $client): void
    {
        $client->setGroup('t', 'ann', weight: 5, paused: true);
        self::assertSame(['ann'], array_column(iterator_to_array($client->groups('t', 'a'), false), 'name'));
        self::assertSame([Why::GroupLeases], array_column($client->why(42), 'why'));
        self::assertSame(['why'], array_column($client->whyTopic('t', 'ann'), 'text'));
    }

    private function operate(Client $client): void
    {
        $client->pause('t', forMs: 5);
        $client->resume('t');
        foreach (Schema::PROPERTIES as $property) {
            $client->setTopic('t', new TopicPolicy(...[$property => self::setting($property)]));
        }
        $client->deleteTopic('t');
        $client->disconnect(5, endsSession: true);
        $client->advance(900_000);
        $client->advanceToNext();
        $client->clusterAdd('127.0.0.1:7441');
        $client->clusterRemove(2);
        $client->clusterTransfer(3);
        $backup = $client->backup();
        $backup->read(1, 2);
        $backup->end();
    }

    /** A server that says yes to everything, and has two pages of each list. */
    private function answer(Message $request, MemoryServer $server): void
    {
        $f = $request->fields;
        $isFirst = ($f['cursor'] ?? '') === '' && in_array($f['after'] ?? 0, [0, ''], true);
        $page = ['cursor' => $isFirst ? 'c' : '', 'marks' => $isFirst ? 1 : 0];
        $changed = ['job' => 42, 'due_ms' => 1, 'state' => 1];
        $send = static fn (Opcode $opcode, array $fields = []) => $server->send($opcode, $request->requestId, $fields);
        match ($request->opcode->answer()) {
            Opcode::Pushed => $send(Opcode::Pushed, ['results' => array_map(static fn (): array => ['outcome' => 0, 'code' => 0, 'job' => 1], $f['jobs'])]),
            // It is waited for until the caller gives it up.
            Opcode::Reserved => $this->cancel->cancel(),
            Opcode::Leased => $send(Opcode::Leased, $page + ['jobs' => [Peer::delivered(4, 7)]]),
            Opcode::Settled => $send(Opcode::Settled, ['results' => array_map(static fn (): array => ['code' => 0], $f['leases'])]),
            Opcode::Job => $send(Opcode::Job, self::SHOWN),
            Opcode::Changed => $send(Opcode::Changed, $changed),
            Opcode::Kicked => $send(Opcode::Kicked, ['jobs' => 1]),
            Opcode::Jobs => $send(Opcode::Jobs, $page + ['jobs' => [self::SHOWN]]),
            Opcode::Counted => $send(Opcode::Counted, ['jobs' => 4, 'by_due' => [['start_ms' => 0, 'jobs' => 1], ['start_ms' => 2000, 'jobs' => 3]]]),
            Opcode::Bulked => $send(Opcode::Bulked, $page + ['jobs' => 1]),
            Opcode::TopicCounts => $send(Opcode::TopicCounts, ['topics' => [self::TOPIC]]),
            Opcode::QueueStats => $send(Opcode::QueueStats, [
                'now' => 1, 'uptime_ms' => 1, 'connections' => 1, 'sessions' => 1, 'waiting' => 1, 'applied_index' => 1, 'term' => 1,
                'state_hash' => Codec::NONE, 'totals' => self::TOTALS, 'topics' => [self::TOPIC],
            ]),
            Opcode::ConnectionList => $send(Opcode::ConnectionList, $page + ['connections' => [self::CONNECTION]]),
            Opcode::TopicSettings => $send(Opcode::TopicSettings, ['jobs' => 0, 'bytes' => 0, 'pause_left_ms' => 7, 'marks' => 1, 'settings' => '']),
            Opcode::Pong => $send(Opcode::Pong, ['now' => 1, 'clock_ms' => 1]),
            Opcode::BackupReady => $send(Opcode::BackupReady, ['index' => 1, 'jobs' => 1, 'state_hash' => Codec::NONE, 'bytes' => 9]),
            Opcode::BackupData => $send(Opcode::BackupData, ['data' => 'xx']),
            Opcode::ClusterReport => $send(Opcode::ClusterReport, [
                'node' => 1, 'cluster_id' => Codec::NONE, 'leader' => 1, 'term' => 1, 'last' => 1, 'commit' => 1, 'feature_level' => 1, 'members' => [],
            ]),
            Opcode::Scheduled => $send(Opcode::Scheduled, ['schedule' => 7, 'version' => 4, 'next_ms' => 1]),
            Opcode::Schedule => $send(Opcode::Schedule, ['state' => self::STATE, 'pause_note' => '', 'history' => []] + self::RULES + self::TEMPLATE),
            Opcode::Schedules => $send(Opcode::Schedules, [
                'cursor' => $page['cursor'],
                'schedules' => $isFirst ? [] : [self::STATE + self::RULES + ['topic' => 't', 'name' => 'morning', 'pause_note' => '']],
            ]),
            Opcode::Groups => $send(Opcode::Groups, ['after' => $isFirst ? 'a' : '', 'groups' => $isFirst ? [] : [self::GROUP]]),
            Opcode::Reasons => $send(Opcode::Reasons, ['reasons' => [self::REASON]]),
            Opcode::ScheduleRan => $send(Opcode::ScheduleRan, ['job' => 42]),
            Opcode::ScheduleFilled => $send(Opcode::ScheduleFilled, ['next_ms' => 7000, 'bytes' => 45, 'instants' => 9, 'pushed' => 5, 'kept' => 3, 'refused' => 1]),
            Opcode::Instants => $send(Opcode::Instants, ['zone_data' => '2026f, bundled', 'instants' => [['instant_ms' => 7, 'local' => 'there']]]),
            default => $send($request->opcode->answer()),
        };
        if ($request->opcode === Opcode::Cancel) {
            $server->send(Opcode::Reserved, $f['request'], ['jobs' => []]);
        }
        if ($request->opcode === Opcode::Topics) {
            // The client comes back with its session.
            $server->send(Opcode::GoingAway, 0, ['message' => 'stops', 'reason' => 1]);
        }
    }

    private static function isDefault(mixed $value): bool
    {
        return in_array($value, [0, '', [], Codec::NONE], true);
    }

    /** Some value of a parameter of TopicPolicy. */
    private static function setting(string $property): mixed
    {
        return match ((string) (new \ReflectionProperty(TopicPolicy::class, $property))->getType()) {
            '?int' => 7,
            '?string' => 'text',
            '?bool' => true,
            '?' . Backoff::class => Backoff::waits([5, 50], 1),
            '?' . LatePolicy::class => LatePolicy::spread(5000, 60),
        };
    }
}
