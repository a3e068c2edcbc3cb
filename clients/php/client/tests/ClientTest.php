<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\Server\KeyExists;
use Adjourn\Error\Server\SequenceReused;
use Adjourn\Error\Server\TooLarge;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\Headers;
use Adjourn\Job;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\PushOutcome;
use Adjourn\PushResult;
use Adjourn\Testing\WithAdjourn;
use Adjourn\Worker\Worker;
use Adjourn\Worker\WorkerOptions;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

/** Large bodies, long lists, and pushes under a key. */
final class ClientTest extends TestCase
{
    use WithAdjourn;

    private Client $client;
    private string $topic = 't';

    protected function setUp(): void
    {
        $this->client = $this->adjourn()->client;
    }

    public function testLargeBodiesGoThroughAndTooLargeOnesCostOnlyTheirPush(): void
    {
        $body = random_bytes(1_048_576);
        $this->client->push($this->topic, $body);
        [$job] = $this->client->reserve($this->topic, 5000);
        self::assertSame(hash('xxh128', $body), hash('xxh128', $job->body));
        foreach ([1_048_577, 3_000_000] as $bytes) {
            try {
                $this->client->push($this->topic, str_repeat('x', $bytes));
                self::fail('It is too large.');
            } catch (TooLarge $error) {
                self::assertFalse($error->mayBeApplied);
            }
        }
        $job->finish();
    }

    public function testAListUnderAKeyIsPushedOnce(): void
    {
        $key = md5($this->topic, true);
        $jobs = array_map(static fn (int $n): NewJob => new NewJob("job $n"), range(1, 5));
        $first = $this->client->pushMany($this->topic, $jobs, batchJobsMax: 2, idempotencyKey: $key);
        // Another process does the same again, in other frames.
        $again = (new Client($this->adjourn()->address))->pushMany($this->topic, $jobs, batchJobsMax: 3, idempotencyKey: $key);
        self::assertSame(array_column($first, 'job'), array_column($again, 'job'));
        self::assertSame(5, $this->client->count(new Filter($this->topic)));

        $jobs[2] = new NewJob('another one');
        $others = $this->client->pushMany($this->topic, $jobs, batchJobsMax: 1, idempotencyKey: $key);
        self::assertSame([PushOutcome::Pushed, PushOutcome::Pushed], array_column(array_slice($others, 0, 2), 'outcome'));
        $errors = array_map(static fn (PushResult $result): string => $result->error()::class, array_slice($others, 2));
        self::assertSame(array_fill(0, 3, SequenceReused::class), $errors);
        self::assertSame(5, $this->client->count(new Filter($this->topic)));
    }

    public function testAPushUnderAKeyIsPushedOnce(): void
    {
        $key = str_repeat("\xFF", 16);
        $push = fn (): PushResult => $this->client->push($this->topic, 'x', idempotencyKey: $key);
        self::assertSame($push()->job, $push()->job);
        self::assertSame(1, $this->client->count(new Filter($this->topic)));
        $this->expectException(UsageError::class);
        $this->client->push($this->topic, 'x', idempotencyKey: 'too short');
    }

    public function testTheNumbersOfAListUnderAKeyDoNotWrapAround(): void
    {
        $last = "\xFD" . str_repeat("\xFF", 15);
        $jobs = array_map(static fn (int $n): NewJob => new NewJob("job $n"), range(1, 4));
        $this->client->pushMany($this->topic, array_slice($jobs, 0, 3), batchJobsMax: 1, idempotencyKey: $last);
        self::assertSame(3, $this->client->count(new Filter($this->topic)));
        try {
            $this->client->pushMany($this->topic, $jobs, batchJobsMax: 1, idempotencyKey: $last);
            self::fail('The number of the last job is 0.');
        } catch (UsageError $error) {
            self::assertStringContainsString('take a smaller key', $error->getMessage());
        }
        self::assertSame(3, $this->client->count(new Filter($this->topic)));
    }

    public function testManyLargeJobsArePushedInSeveralFrames(): void
    {
        $jobs = (static function (): iterable {
            for ($n = 0; $n < 30; ++$n) {
                yield new NewJob(str_repeat((string) ($n % 10), 400_000));
            }
        })();
        $ids = array_column($this->client->pushMany($this->topic, $jobs), 'job');
        self::assertCount(30, array_unique($ids));
        $taken = $this->client->reserve($this->topic, 5000, 3);
        self::assertSame(['0', '1', '2'], array_map(static fn ($job): string => $job->body[0], $taken));
        self::assertSame(30, $this->client->count(new Filter($this->topic)));
    }

    public function testEachPushedJobGetsTheHeadersOfTracingForWhichItHasRoom(): void
    {
        $tracing = new RecordedTracing(['a' => 'b', 'tracestate' => str_repeat('s', 512), 'baggage' => str_repeat('b', 512), 'z' => 'z']);
        $client = new Client(new Options($this->adjourn()->address, tracing: $tracing));
        $client->push($this->topic, ['x'], headers: ['a' => 'own']);
        $client->pushMany($this->topic, (static fn () => yield from [new NewJob('y'), new NewJob('z', headers: ['traceparent' => 'own'])])());
        $all = array_column($client->reserve($this->topic, 5000, 3), 'headers');
        self::assertSame(['own', 'application/json', '0', 512, 'z'], [
            $all[0]['a'], $all[0]['content-type'], $all[0]['traceparent'], strlen($all[0]['tracestate']), $all[0]['z'],
        ]);
        self::assertSame('1', $all[1]['traceparent']);
        self::assertSame([false, false], [isset($all[0]['baggage']), isset($all[1]['baggage'])]);
        self::assertSame(['traceparent' => 'own'], $all[2]);
        self::assertSame(['push 1 in 0', 'push some in 1'], $tracing->seen);
    }

    public function testATraceWithoutRoomForItsParentIsLeftOutAndNamesAreComparedWithoutCase(): void
    {
        $tracing = new RecordedTracing(['TraceState' => 's']);
        $client = new Client(new Options($this->adjourn()->address, tracing: $tracing));
        self::assertSame([], $client->pushMany($this->topic, []));
        self::assertSame([], $tracing->seen);
        // `content-type: application/json` takes 28 bytes, the parent 12, and the state 11.
        $client->pushMany($this->topic, [
            new NewJob([1], headers: ['a' => str_repeat('x', 1024 - 1 - 28 - 11)]),
            new NewJob([2], headers: ['a' => str_repeat('x', 1024 - 1 - 28 - 12)]),
            new NewJob([3], headers: ['Traceparent' => 'own', 'Content-Type' => 'text/x+json']),
            new NewJob([4], headers: ['tracestate' => 'own']),
        ]);
        $jobs = $client->reserve($this->topic, 5000, 4);
        $names = array_map(static fn (Job $job): string => implode(' ', array_keys($job->headers)), $jobs);
        self::assertSame(['a content-type', 'a content-type traceparent', 'Traceparent Content-Type', 'tracestate content-type traceparent'], $names);
        self::assertSame([3], $jobs[2]->payload());
        self::assertSame([3], $client->get($jobs[2]->id)->payload());
        $full = ['a' => str_repeat('x', 1024 - 1 - 12)];
        self::assertSame($full + ['traceparent' => '0'], Headers::withTrace($full, ['tracestate' => 's', 'traceparent' => '0']));
    }

    /** @dataProvider brokenTracings */
    public function testABrokenTracingChangesNoPushAndNoHandler(bool $isBefore, bool $isAfter, int $runs, array $headers): void
    {
        $log = new Lines();
        $client = new Client(new Options($this->adjourn()->address, logger: $log, tracing: new BrokenTracing($isBefore, $isAfter, $runs, $headers)));
        $client->push($this->topic, 'a', key: 'a');
        try {
            $client->push($this->topic, 'a', key: 'a');
            self::fail('It is there.');
        } catch (KeyExists) {
        }
        $client->pushMany($this->topic, [new NewJob('b', attemptsMax: 1), new NewJob('c')]);
        $handled = [];
        $worker = new Worker($client, new WorkerOptions(stopsWhenEmpty: true), new NullLogger());
        $worker->run($this->topic, static function (Job $job) use (&$handled): void {
            $handled[] = [$job->body, $job->headers];
            $job->body === 'b' && throw new \RuntimeException('No luck.');
        });
        self::assertSame([['a', []], ['b', []], ['c', []]], $handled);
        self::assertSame([2, 1], [$worker->health()->finished, $worker->health()->failed]);
        self::assertCount($isBefore || $isAfter ? 1 : 0, preg_grep('/tracing failed/', $log->lines));
    }

    public static function brokenTracings(): iterable
    {
        yield 'it throws before' => [true, false, 1, []];
        yield 'it throws after' => [false, true, 1, []];
        yield 'it calls twice' => [false, false, 2, []];
        yield 'it calls never' => [false, false, 0, []];
        yield 'its headers are none' => [false, false, 1, ['traceparent' => 5, 'tracestate' => "\xFF", str_repeat('n', 256) => 'x']];
    }

    public function testAPushThatIsRepeatedUnderItsKeyIsHandledInTheTraceOfTheFirstOne(): void
    {
        $tracing = new RecordedTracing(['tracestate' => 's', 'baggage' => 'b']);
        $client = new Client(new Options($this->adjourn()->address, tracing: $tracing));
        $push = fn (): ?int => $client->push($this->topic, 'x', idempotencyKey: md5($this->topic, true))->job;
        self::assertSame($push(), $push());
        (new Worker($client, new WorkerOptions(stopsWhenEmpty: true), new NullLogger()))->run($this->topic, static fn () => null);
        self::assertSame(['push 1 in 0', 'push 1 in 1', 'process in 0', 'processed'], $tracing->seen);
    }

    public function testASubscriptionHoldsAsManyJobsAsItsCredit(): void
    {
        $this->client->pushMany($this->topic, [new NewJob('a'), new NewJob('b'), new NewJob('c')]);
        $subscription = $this->client->subscribe($this->topic, creditJobs: 1);
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
        self::assertCount(100, array_unique(array_column($this->client->pushMany($this->topic, $jobs, batchJobsMax: 7), 'job')));
        $taken = $this->client->reserve($this->topic, 5000, 100);
        self::assertSame(range(0, 99), array_map(static fn ($job): int => (int) $job->body, $taken));
        $this->expectException(UsageError::class);
        $this->client->pushMany($this->topic, $jobs, batchJobsMax: 0);
    }
}
