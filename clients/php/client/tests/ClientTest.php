<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\Server\TooLarge;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\NewJob;
use Adjourn\Options;

final class ClientTest extends QueueContract
{
    private static TestServer $server;

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
        $this->queue = new Client(self::$server->address());
        $this->topic = 't' . bin2hex(random_bytes(4));
    }

    public function testLargeBodiesGoThroughAndTooLargeOnesCostOnlyTheirPush(): void
    {
        $body = random_bytes(1_048_576);
        $this->queue->push($this->topic, $body);
        [$job] = $this->queue->reserve($this->topic, 5000);
        self::assertSame(hash('xxh128', $body), hash('xxh128', $job->body));
        foreach ([1_048_577, 3_000_000] as $bytes) {
            try {
                $this->queue->push($this->topic, str_repeat('x', $bytes));
                self::fail('It is too large.');
            } catch (TooLarge $error) {
                self::assertFalse($error->mayBeApplied);
            }
        }
        $job->finish();
    }

    public function testManyLargeJobsArePushedInSeveralFrames(): void
    {
        $jobs = (static function (): iterable {
            for ($n = 0; $n < 30; ++$n) {
                yield new NewJob(str_repeat((string) ($n % 10), 400_000));
            }
        })();
        $ids = array_column($this->queue->pushMany($this->topic, $jobs), 'job');
        self::assertCount(30, array_unique($ids));
        $taken = $this->queue->reserve($this->topic, 5000, 3);
        self::assertSame(['0', '1', '2'], array_map(static fn ($job): string => $job->body[0], $taken));
        self::assertSame(30, $this->queue->count(new Filter($this->topic)));
    }

    public function testEachPushedJobGetsTheHeadersOfTheClient(): void
    {
        $client = new Client(new Options(self::$server->address(), pushHeaders: static fn (): array => ['traceparent' => '00-1', 'a' => 'b']));
        $client->push($this->topic, 'x', headers: ['a' => 'own']);
        self::assertSame(['a' => 'own', 'traceparent' => '00-1'], $client->reserve($this->topic, 5000)[0]->headers);
    }

    public function testASubscriptionHoldsAsManyJobsAsItsCredit(): void
    {
        $this->queue->pushMany($this->topic, [new NewJob('a'), new NewJob('b'), new NewJob('c')]);
        $subscription = $this->queue->subscribe($this->topic, creditJobs: 1);
        self::assertSame('a', $subscription->next(5000)->body);
        self::assertNull($subscription->next(50));
        $subscription->addCredit(1);
        $second = $subscription->next(5000);
        self::assertSame('b', $second->body);
        self::assertNull($subscription->next(50));
        $second->finish();
        self::assertSame('c', $subscription->next(5000)->body, 'The end of a lease returns its credit.');
        $this->expectException(UsageError::class);
        $subscription->addCredit(65_537);
    }

    public function testBatchesAreAsSmallAsTheCallerWants(): void
    {
        $jobs = array_map(static fn (int $n): NewJob => new NewJob("$n"), range(0, 99));
        self::assertCount(100, array_unique(array_column($this->queue->pushMany($this->topic, $jobs, batchJobsMax: 7), 'job')));
        $taken = $this->queue->reserve($this->topic, 5000, 100);
        self::assertSame(range(0, 99), array_map(static fn ($job): int => (int) $job->body, $taken));
        $this->expectException(UsageError::class);
        $this->queue->pushMany($this->topic, $jobs, batchJobsMax: 0);
    }

    protected function passes(int $ms): void
    {
        usleep($ms * 1000);
    }
}
