<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backoff;
use Adjourn\Client;
use Adjourn\Error\Server\Changed;
use Adjourn\Error\Server\Invalid;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\Quota;
use Adjourn\Error\Server\Unsupported;
use Adjourn\Error\UsageError;
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
