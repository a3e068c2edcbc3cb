<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backoff;
use Adjourn\Client;
use Adjourn\Error\Server\Invalid;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\Quota;
use Adjourn\LatePolicy;
use Adjourn\MemberRole;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\TestCase;

/** What operators ask a server for. */
final class OperatorTest extends TestCase
{
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
        $this->client->setTopic('limited', new TopicPolicy(unset: ['jobsMax']));
        self::assertNull($this->client->showTopic('limited')->policy->jobsMax);
        self::assertSame(5000, $this->client->showTopic('limited')->policy->ttrMs);
        $this->expectException(NotFound::class);
        $this->client->showTopic('unknown');
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
