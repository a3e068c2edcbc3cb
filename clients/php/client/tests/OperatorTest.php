<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Attributes;
use Adjourn\Backoff;
use Adjourn\Client;
use Adjourn\Due;
use Adjourn\Error\Server\Changed;
use Adjourn\Error\Server\ExpiresBeforeDue;
use Adjourn\Error\Server\Invalid;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\Paused;
use Adjourn\Error\Server\Quota;
use Adjourn\Error\Server\Reserved;
use Adjourn\Error\Server\TooLarge;
use Adjourn\Error\Server\Unsupported;
use Adjourn\Error\Server\WrongState;
use Adjourn\Error\ServerError;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\JobEdit;
use Adjourn\JobRef;
use Adjourn\JobState;
use Adjourn\LatePolicy;
use Adjourn\MemberRole;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Testing\WithAdjourn;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\TestCase;

/** What operators ask a server for. */
final class OperatorTest extends TestCase
{
    use WithAdjourn;

    private static TestServer $server;
    private Client $client;

    public static function setUpBeforeClass(): void
    {
        self::$server = TestServer::start();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->kill();
    }

    protected function setUp(): void
    {
        $this->client = new Client(self::$server->address());
    }

    public function testATopicHasAPolicy(): void
    {
        $policy = new TopicPolicy(ttrMs: 5000, attemptsMax: 9, backoff: Backoff::fixed(9), jobsMax: 1, late: LatePolicy::bury(60_000), deadLetters: 'dead');
        $this->client->setTopic('limited', $policy);
        $id = $this->client->push('limited', 'x')->job;
        self::assertSame(5000, $this->client->get($id)->ttrMs);
        try {
            $this->client->push('limited', 'y');
            self::fail('The topic is full.');
        } catch (Quota) {
            $settings = $this->client->showTopic('limited');
        }
        self::assertEquals($policy, $settings->policy);
        self::assertSame([1, 1, false], [$settings->jobs, $settings->bytes, $settings->isPaused]);
        self::assertFalse($settings->areAttemptsOfServer || $settings->isBackoffOfServer);
        $this->client->setTopic('limited', new TopicPolicy(unset: ['jobsMax']));
        self::assertNull($this->client->showTopic('limited')->policy->jobsMax);
        self::assertSame(5000, $this->client->showTopic('limited')->policy->ttrMs);
        $this->expectException(NotFound::class);
        $this->client->showTopic('unknown');
    }

    public function testAPauseEndsByItself(): void
    {
        $this->client->push('paused', 'x');
        $this->client->pause('paused', forMs: 3_600_000);
        $leftMs = $this->client->showTopic('paused')->pauseLeftMs;
        self::assertTrue($leftMs > 3_540_000 && $leftMs <= 3_600_000, "$leftMs ms");
        $this->client->pause('paused');
        self::assertSame(0, $this->client->showTopic('paused')->pauseLeftMs);
        $paused = hrtime(true);
        $this->client->pause('paused', forMs: 1000);
        try {
            $this->client->reserve('paused');
            self::fail('A paused topic delivered.');
        } catch (Paused) {
            self::assertTrue($this->client->showTopic('paused')->isPaused);
        }
        self::assertCount(1, $this->client->reserve('paused', 10_000));
        self::assertGreaterThan(900e6, hrtime(true) - $paused);
        $settings = $this->client->showTopic('paused');
        self::assertSame([false, 0], [$settings->isPaused, $settings->pauseLeftMs]);
    }

    public function testATopicHasSettingsOfCallBacks(): void
    {
        $policy = new TopicPolicy(
            callBack: 'https://shop.example/hooks',
            callBackMethod: 'PUT',
            callBackHeaders: 'X-Shop: 7',
            callBackBody: '{id}',
            callBackTimeoutMs: 5000,
            callBackConcurrency: 8,
            callBackRate: 50,
            callBackSecrets: 'shop',
            callBackRefused: 'retry',
            callBackRetryIf: '{status} == 503',
            callBackSuccess: 'reply',
            callBackOfJob: true,
            callBackLogMs: 86_400_000,
            callBackPaused: true,
            callBackDelayMs: 900_000,
        );
        $this->client->setTopic('called', $policy);
        $settings = $this->client->showTopic('called');
        self::assertTrue($settings->areAttemptsOfServer && $settings->isBackoffOfServer);
        $ofServer = ['attemptsMax' => $settings->policy->attemptsMax, 'backoff' => $settings->policy->backoff];
        self::assertEquals($ofServer + get_object_vars($policy), get_object_vars($settings->policy));
        $this->client->setTopic('called', new TopicPolicy(priority: 7, callBackPaused: false, unset: ['callBackBody']));
        $shown = $this->client->showTopic('called')->policy;
        self::assertSame([7, null, null], [$shown->priority, $shown->callBackPaused, $shown->callBackBody]);
        self::assertSame(['https://shop.example/hooks', true], [$shown->callBack, $shown->callBackOfJob]);
    }

    public function testAnEmptyTextTakesNoSettingAway(): void
    {
        foreach (['callBackBody', 'deadLetters'] as $setting) {
            try {
                new TopicPolicy(...[$setting => '']);
                self::fail("An empty $setting is taken.");
            } catch (UsageError $error) {
                self::assertStringContainsString("write unset: ['$setting']", $error->getMessage());
            }
        }
    }

    public function testAJobIsRescheduledOnlyIfNobodyHasChangedIt(): void
    {
        $id = $this->client->push('versions', 'x', delayMs: 60_000)->job;
        $seen = $this->client->get($id)->version;
        $changed = $this->client->reschedule($id, delayMs: 120_000, ifVersion: $seen);
        self::assertSame($changed->version, $this->client->get($id)->version);
        self::assertNotSame($seen, $changed->version);
        $this->expectException(Changed::class);
        $this->client->reschedule($id, delayMs: 180_000, ifVersion: $seen);
    }

    public function testEachPartOfAJobIsEditedAndTakenAway(): void
    {
        $old = new NewJob('old', delayMs: 3_600_000, key: 'k', headers: ['a' => '1'], createdAt: new \DateTimeImmutable('@5'));
        $id = $this->client->push('edited', $old)->job;
        $before = $this->client->get($id);
        self::assertNull($before->editedMs);

        $at = new \DateTimeImmutable('2100-01-01T00:00:00Z');
        $changed = $this->client->edit($id, new JobEdit(at: $at));
        self::assertSame([$id, JobState::Delayed, 4_102_444_800_000], [$changed->job, $changed->state, $changed->dueMs]);
        self::assertNotSame($before->version, $changed->version);
        $this->client->edit(JobRef::key('edited', 'k'), new JobEdit(ttrMs: 1500, priority: 7));
        $this->client->edit($id, new JobEdit('new'));
        $shown = $this->client->get($id);
        self::assertSame([$changed->dueMs, 1500, 7, 'new'], [$shown->dueMs, $shown->ttrMs, $shown->priority, $shown->body]);
        self::assertEquals($before->attributes, $shown->attributes);
        self::assertEqualsWithDelta($before->pushedMs, $shown->editedMs, 60_000);
        self::assertSame([$shown->editedMs], array_column(iterator_to_array($this->client->list(new Filter('edited')), false), 'editedMs'));

        $expiresAt = $at->modify('+1 day');
        $backoff = Backoff::waits([5, 50]);
        $this->client->edit($id, new JobEdit(['n' => 1], headers: ['b' => '2'], expiresAt: $expiresAt));
        $this->client->edit($id, new JobEdit(attemptsMax: 3, backoff: $backoff, retentionMs: 60_000));
        $shown = $this->client->get($id);
        self::assertSame([['n' => 1], '2', false], [$shown->payload(), $shown->attributes->headers['b'], isset($shown->attributes->headers['a'])]);
        $a = $shown->attributes;
        self::assertEquals([Due::at($expiresAt), 3, $backoff, 60_000, 5000], [$a->expires, $a->attemptsMax, $a->backoff, $a->retentionMs, $a->createdAtMs]);

        $this->client->edit($id, new JobEdit(unset: ['ttrMs', 'priority', 'headers', 'expiresAt', 'retentionMs']));
        $this->client->edit($id, new JobEdit(unset: ['attemptsMax', 'backoff']));
        $shown = $this->client->get($id);
        $json = ['content-type' => 'application/json'];
        self::assertSame([$before->ttrMs, $before->priority, $json], [$shown->ttrMs, $shown->priority, $shown->attributes->headers]);
        $withoutHeaders = static fn (Attributes $a): array => ['headers' => []] + $a->wire();
        self::assertEquals($withoutHeaders($before->attributes), $withoutHeaders($shown->attributes));
        self::assertSame(JobState::Ready, $this->client->edit($id, new JobEdit(delayMs: 0))->state);
    }

    public function testForWhatAnEditTakesAwayTheTopicDecides(): void
    {
        $client = $this->adjourn()->client;
        $client->setTopic('t', new TopicPolicy(ttrMs: 5000, priority: 9, attemptsMax: 4, rememberMs: 60_000));
        $id = $client->push('t', new NewJob('x', key: 'k', ttrMs: 1000, priority: 1, attemptsMax: 2, retentionMs: 5))->job;
        $client->edit($id, new JobEdit(unset: ['ttrMs', 'priority', 'attemptsMax', 'retentionMs']));
        $shown = $client->get($id);
        self::assertSame([5000, 9, 4], [$shown->ttrMs, $shown->priority, $shown->attributes->attemptsMax]);
        self::assertNull($shown->attributes->retentionMs);
        $client->reserve('t')[0]->finish();
        $this->adjourn()->advance(59_000);
        self::assertSame(JobState::Finished, $client->get(JobRef::key('t', 'k'))->state);
    }

    public function testAJobIsEditedOnlyInTheVersionThatWasSeen(): void
    {
        $id = $this->client->push('edits', 'old', delayMs: 60_000)->job;
        $seen = $this->client->get($id)->version;
        $changed = $this->client->edit($id, new JobEdit('new'), ifVersion: $seen);
        try {
            $this->client->edit($id, new JobEdit('newer'), ifVersion: $seen);
            self::fail('The job has changed.');
        } catch (Changed $error) {
            self::assertFalse($error->mayBeApplied);
        }
        $this->client->edit($id, new JobEdit(priority: 7), ifVersion: $changed->version);
        $shown = $this->client->get($id);
        self::assertSame(['new', 7], [$shown->body, $shown->priority]);
    }

    public function testAnEditIsRefusedWhereItCannotBeMade(): void
    {
        $refused = function (JobEdit $edit, string $error) use (&$id): void {
            try {
                $this->client->edit($id, $edit);
                self::fail("It was no $error.");
            } catch (ServerError $refusal) {
                self::assertSame([$error, false], [$refusal::class, $refusal->mayBeApplied]);
            }
        };
        $id = $this->client->push('refused', 'old', key: 'k')->job;
        $refused(new JobEdit(delayMs: 60_000, expiresAfterMs: 30_000), ExpiresBeforeDue::class);
        $refused(new JobEdit(str_repeat('x', 1_048_577)), TooLarge::class);
        $refused(new JobEdit(str_repeat('x', 3_000_000)), TooLarge::class);
        [$job] = $this->client->reserve('refused', 5000);
        $refused(new JobEdit(priority: 1), Reserved::class);
        $job->bury();
        self::assertSame(JobState::Buried, $this->client->edit($id, new JobEdit('of a buried one'))->state);
        $refused(new JobEdit(delayMs: 0), WrongState::class);
        self::assertSame('of a buried one', $this->client->get($id)->body);
        $this->client->delete($id);
        $refused(new JobEdit(priority: 1), NotFound::class);
    }

    public function testCountsOfTheQueue(): void
    {
        $this->client->pushMany('counted', [new NewJob('a'), new NewJob('b', delayMs: 60_000)]);
        $stats = $this->client->stats();
        self::assertMatchesRegularExpression('/^[0-9a-f]{32}$/', $stats->stateHash);
        self::assertEqualsWithDelta(microtime(true) * 1000, $stats->nowMs, 5000);
        self::assertGreaterThanOrEqual(2, $stats->all->jobs());
        $counted = array_values(array_filter($stats->topics, static fn ($t): bool => $t->topic === 'counted'))[0];
        self::assertSame([1, 1, 2], [$counted->ready, $counted->delayed, $counted->pushed]);
        self::assertSame(['wait', 'commit', 'apply', 'lateness'], array_column($stats->stages, 'stage'));
        $commit = $stats->stages[1];
        self::assertGreaterThan(0, $commit->count);
        self::assertGreaterThan(0, $commit->p50Us);
        self::assertGreaterThanOrEqual($commit->p50Us, $commit->p99Us);
        self::assertGreaterThanOrEqual($commit->p99Us, $commit->maxUs);
    }

    public function testAConnectionIsListedAndClosed(): void
    {
        $other = new Client(new Options(self::$server->address(), clientName: 'victim'));
        $other->session()->open();
        $other->connect();
        $session = $other->session()->welcome()->session;
        $victim = array_values(array_filter(
            iterator_to_array($this->client->connections(), false),
            static fn ($c): bool => $c->clientName === 'victim',
        ))[0];
        self::assertSame($session, $victim->session);
        $this->client->disconnect($victim->connection, endsSession: true);
        $this->expectException(NotFound::class);
        $this->client->disconnect($victim->connection);
    }

    public function testTheClockOfAServerForTestsIsMoved(): void
    {
        $client = $this->adjourn()->client;
        $before = $client->ping()->nowMs;
        $later = $client->push('advanced', 'x', delayMs: 900_000)->job;
        self::assertSame($before + 899_999, $client->advance(899_999));
        self::assertSame([], $client->reserve('advanced'));
        self::assertSame($before + 900_000, $client->advance(1));
        [$job] = $client->reserve('advanced');
        self::assertSame($later, $job->id);
        $job->finish();

        $client->push('advanced', 'y', delayMs: 86_400_000);
        self::assertSame($before + 87_300_000, $client->advanceToNext());
        self::assertSame('y', $client->reserve('advanced')[0]->body);
        try {
            $client->advanceToNext();
            self::fail('The job is reserved: none is delayed.');
        } catch (NotFound) {
            self::assertSame($before + 87_300_000, $client->ping()->nowMs);
        }
    }

    public function testAWaitingReserveGetsWhatComesDueWhenTheClockMoves(): void
    {
        $client = $this->adjourn()->client;
        $client->push('awaited', 'x', delayMs: 900_000);
        [$child, $said] = Processes::fork(function (callable $say): void {
            $say((new Client($this->adjourn()->address))->reserve('awaited', 60_000)[0]->body);
        });
        Eventually::holds(static fn (): bool => $client->stats()->waiting === 1, 'The child does not wait.');
        $client->advance(900_000);
        self::assertSame('x', Processes::said($said));
        Processes::wait($child);
    }

    public function testAnyOtherServerKeepsItsClock(): void
    {
        foreach ([fn () => $this->client->advance(1), fn () => $this->client->advanceToNext()] as $call) {
            try {
                $call();
                self::fail('The clock is real.');
            } catch (Unsupported $error) {
                self::assertFalse($error->mayBeApplied);
            }
        }
        $this->expectException(UsageError::class);
        $this->client->advance(-1);
    }

    public function testTheClusterOfOneNode(): void
    {
        $report = $this->client->clusterStatus();
        self::assertSame([1, 1], [$report->node, $report->leader]);
        self::assertSame(MemberRole::Leader, $report->members[0]->role);
        self::assertSame(0, $report->members[0]->aheadMs);
        $this->expectException(Invalid::class);
        $this->client->clusterRemove(1);
    }

    public function testPing(): void
    {
        $pong = $this->client->ping();
        self::assertEqualsWithDelta(microtime(true) * 1000, $pong->nowMs, 5000);
        self::assertLessThan(5000, $pong->roundTripMs);
    }
}
