<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backoff;
use Adjourn\BuriedReason;
use Adjourn\Client;
use Adjourn\Error\LeaseLost;
use Adjourn\Error\Server\Unauthenticated;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\Job;
use Adjourn\JobState;
use Adjourn\LeaseEnd;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Protocol\Opcode;
use Adjourn\Testing\WithAdjourn;
use Adjourn\Worker\Bury;
use Adjourn\Worker\Context;
use Adjourn\Worker\RunTooLong;
use Adjourn\Worker\TryAgain;
use Adjourn\Worker\Worker;
use Adjourn\Worker\WorkerOptions;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

final class WorkerTest extends TestCase
{
    use WithAdjourn;

    private static TestServer $server;
    private Client $client;
    private string $topic;

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
        $this->topic = 't' . bin2hex(random_bytes(4));
    }

    public function testWhatTheHandlerDoesDecidesWhatBecomesOfTheJob(): void
    {
        $ids = [];
        foreach (['fine', 'fail', 'later', 'bury', 'self'] as $body) {
            $ids[$body] = $this->client->push($this->topic, new NewJob($body, backoff: Backoff::fixed(60_000)))->job;
        }
        $worker = $this->worker(new WorkerOptions(stopsWhenEmpty: true, prefetch: 3));
        $states = [];
        $handled = $worker->run($this->topic, function (Job $job) use (&$states, $ids): void {
            // FINISH comes after the handler has returned, not before.
            $states[$job->body] = (new Client(self::$server->address()))->get($ids[$job->body])->state;
            match ($job->body) {
                'fine' => null,
                'fail' => throw new \RuntimeException('no luck'),
                'later' => throw new TryAgain(30_000, 'busy'),
                'bury' => throw new Bury('no such address'),
                'self' => $job->finish(),
            };
        });
        self::assertSame(5, $handled);
        self::assertSame(array_fill_keys(array_keys($ids), JobState::Reserved), $states);
        self::assertSame(JobState::Finished, $this->client->get($ids['fine'])->state);
        self::assertSame(JobState::Finished, $this->client->get($ids['self'])->state);
        $failed = $this->client->get($ids['fail']);
        self::assertSame([JobState::Delayed, 'no luck', 1], [$failed->state, $failed->reason, $failed->attempts]);
        $later = $this->client->get($ids['later']);
        self::assertSame([JobState::Delayed, 'busy'], [$later->state, $later->reason]);
        self::assertLessThan($failed->dueMs, $later->dueMs);
        $buried = $this->client->get($ids['bury']);
        self::assertSame([BuriedReason::ByConsumer, 'no such address'], [$buried->buried, $buried->reason]);
        $health = $worker->health();
        self::assertSame([2, 3, 0, false], [$health->finished, $health->failed, $health->lost, $health->isConsuming]);
    }

    public function testAnythingThatIsThrownIsAReason(): void
    {
        $id = $this->client->push($this->topic, 'x', ttrMs: 60_000)->job;
        $this->worker(new WorkerOptions(maxJobs: 1))->run($this->topic, static fn () => throw new \Error(str_repeat('ä', 600) . "\xff"));
        $reason = $this->client->get($id)->reason;
        self::assertLessThanOrEqual(1024, strlen($reason));
        self::assertNotSame('', $reason);
    }

    /** @return iterable<string, array{\Closure(): \Throwable, string}> */
    public static function thingsThatAHandlerThrows(): iterable
    {
        yield 'a delay in the past' => [static fn () => new TryAgain(-5), 'A delay goes from 0 to ten years of milliseconds.'];
        yield 'a delay of a century' => [static fn () => new TryAgain(3_155_760_000_000, 'soon'), 'A delay goes from 0 to ten years of milliseconds.'];
        yield 'no text' => [static fn () => new \RuntimeException(''), \RuntimeException::class];
        yield 'an error of usage' => [static fn () => new UsageError('wrong call'), 'wrong call'];
    }

    /** @dataProvider thingsThatAHandlerThrows */
    public function testWhateverAHandlerThrowsSettlesItsJobAndTheWorkerGoesOn(\Closure $thrown, string $reason): void
    {
        $backoff = Backoff::fixed(60_000);
        $id = $this->client->push($this->topic, new NewJob('fail', backoff: $backoff))->job;
        $next = $this->client->push($this->topic, 'go')->job;
        $this->worker(new WorkerOptions(stopsWhenEmpty: true))->run($this->topic, static fn (Job $job) => $job->body === 'fail' ? throw $thrown() : null);
        $job = $this->client->get($id);
        self::assertSame([JobState::Delayed, 1, $reason], [$job->state, $job->attempts, $job->reason]);
        self::assertSame(JobState::Finished, $this->client->get($next)->state);
    }

    public function testAFailureIsLoggedOnceForEachJobAndReason(): void
    {
        [$clock, $client] = [new TestClock(), $this->adjourn()->client];
        $id = $client->push('t', new NewJob('x', attemptsMax: 4, backoff: Backoff::fixed(0)))->job;
        $logger = new Lines();
        $worker = new Worker($client, new WorkerOptions(stopsWhenEmpty: true), $logger, $clock);
        $worker->run('t', static fn (Job $job) => throw new \RuntimeException($job->attempts === 3 ? 'odd' : 'no luck'));
        self::assertSame(4, $client->get($id)->attempts);
        self::assertCount(2, $logger->lines);
        self::assertMatchesRegularExpression('/^warning: adjourn: the handler of job \S+ failed at attempt 1: no luck$/', $logger->lines[0]);
        self::assertMatchesRegularExpression('/ failed at attempt 3: odd$/', $logger->lines[1]);
    }

    public function testTheLogOfFailuresHasARate(): void
    {
        [$clock, $client] = [new TestClock(), $this->adjourn()->client];
        $client->pushMany('t', array_fill(0, 25, new NewJob('x', attemptsMax: 1)));
        $logger = new Lines();
        $worker = new Worker($client, new WorkerOptions(stopsWhenEmpty: true), $logger, $clock);
        $fails = static fn () => throw new \RuntimeException('no luck');
        $worker->run('t', $fails);
        self::assertCount(10, $logger->lines);
        $clock->advance(1000);
        $client->pushMany('t', array_fill(0, 2, new NewJob('x', attemptsMax: 1)));
        $worker->run('t', $fails);
        self::assertCount(11, $logger->lines);
        self::assertStringEndsWith('no luck (15 other failures were not logged)', $logger->lines[10]);
    }

    public function testAFailureThatTheRateLeftOutIsLoggedWhenItHappensAgain(): void
    {
        [$clock, $client] = [new TestClock(), $this->adjourn()->client];
        $client->pushMany('t', array_fill(0, 11, new NewJob('x', attemptsMax: 3, backoff: Backoff::fixed(60_000))));
        $logger = new Lines();
        $worker = new Worker($client, new WorkerOptions(stopsWhenEmpty: true), $logger, $clock);
        $fails = static fn () => throw new \RuntimeException('no luck');
        $worker->run('t', $fails);
        self::assertCount(10, $logger->lines);
        foreach (['the second attempt', 'the third one'] as $attempt) {
            $clock->advance(60_000);
            $this->adjourn()->advance(60_000);
            $worker->run('t', $fails);
            self::assertCount(11, $logger->lines, "Only the job that was left out is logged, and once: after $attempt.");
        }
        self::assertStringEndsWith('failed at attempt 2: no luck (1 other failures were not logged)', $logger->lines[10]);
    }

    public function testAWorkerWithoutALoggerTellsPhpsOwnLog(): void
    {
        $file = tempnam(sys_get_temp_dir(), 'log');
        $before = ini_set('error_log', $file);
        try {
            $this->client->push($this->topic, new NewJob('x', backoff: Backoff::fixed(60_000)));
            $this->worker(new WorkerOptions(stopsWhenEmpty: true))->run($this->topic, static fn () => throw new \RuntimeException('no luck'));
            self::assertStringContainsString('failed at attempt 1: no luck', file_get_contents($file));
        } finally {
            ini_set('error_log', $before);
            unlink($file);
        }
    }

    public function testAJobThatWaitsForAHandlerIsGivenBackByATickAtHalfOfItsLease(): void
    {
        $this->client->push($this->topic, 'slow');
        $id = $this->client->push($this->topic, new NewJob('waits', ttrMs: 1000, attemptsMax: 1))->job;
        $other = new Client(self::$server->address());
        $worker = $this->worker(new WorkerOptions(prefetch: 1, maxJobs: 1));
        $taken = null;
        $worker->run($this->topic, function (Job $job, Context $context) use ($other, &$taken): void {
            self::assertSame('slow', $job->body);
            Eventually::holds(function () use ($other, $context, &$taken): bool {
                $context->tick();

                return ([$taken] = $other->reserve($this->topic) ?: [null]) !== [null];
            }, 'The job that waits does not come back.');
        });
        self::assertSame(['waits', 1], [$taken->body, $taken->attempts]);
        $taken->finish();
        self::assertSame(JobState::Finished, $this->client->get($id)->state);
    }

    public function testClosingTheClientOfAHandlerAtWorkGivesItsJobToNobody(): void
    {
        $client = new Client(new Options(self::$server->address(), leasesOutlive: false));
        $id = $client->push($this->topic, 'x')->job;
        $worker = new Worker($client);
        $state = null;
        $handled = $worker->run($this->topic, function () use ($client, $id, &$state): void {
            $client->close();
            $state = $this->client->get($id)->state;
        });
        self::assertSame([JobState::Reserved, 1], [$state, $handled]);
    }

    public function testMiddlewareSurroundsTheHandler(): void
    {
        $this->client->push($this->topic, 'x', headers: ['tenant' => 'ann']);
        $seen = [];
        $middleware = static function (Job $job, callable $next) use (&$seen): mixed {
            $seen[] = 'in ' . $job->headers['tenant'];
            $result = $next($job);
            $seen[] = 'out';

            return $result;
        };
        $worker = $this->worker(new WorkerOptions(middleware: [$middleware], maxJobs: 1));
        $worker->run($this->topic, static function () use (&$seen): void {
            $seen[] = 'handler';
        });
        self::assertSame(['in ann', 'handler', 'out'], $seen);
    }

    public function testTracingSurroundsTheHandlerAndItsMiddleware(): void
    {
        $tracing = new RecordedTracing();
        $client = new Client(new Options(self::$server->address(), tracing: $tracing));
        $client->pushMany($this->topic, [new NewJob('fine'), new NewJob('bad', attemptsMax: 1)]);
        $middleware = static function (Job $job, callable $next) use ($tracing): mixed {
            $tracing->seen[] = "middleware of $job->body";

            return $next($job);
        };
        $worker = new Worker($client, new WorkerOptions(middleware: [$middleware], maxJobs: 2), new NullLogger());
        $worker->run($this->topic, static function (Job $job): void {
            if ($job->body === 'bad') {
                throw new \RuntimeException('No luck.');
            }
        });
        self::assertSame([
            'push 2 in 0',
            'process in 0', 'middleware of fine', 'processed',
            'process in 0', 'middleware of bad', 'failed: No luck.', 'processed',
        ], $tracing->seen);
    }

    public function testTheTickTouchesALongJobAndHealthMeansConsuming(): void
    {
        $this->client->push($this->topic, 'x', ttrMs: 2000);
        $worker = $this->worker(new WorkerOptions(maxJobs: 1));
        self::assertFalse($worker->health()->isConsuming);
        $worker->run($this->topic, function (Job $job, Context $context) use ($worker): void {
            self::assertTrue($worker->health()->isConsuming);
            self::assertSame($job->id, $worker->health()->currentJob);
            for ($until = hrtime(true) + 3_000_000_000; hrtime(true) < $until;) {
                usleep(20_000);
                $context->tick();
            }
        });
        self::assertSame([1, 0], [$worker->health()->finished, $worker->health()->lost]);
        self::assertSame([], $this->client->reserve($this->topic));
    }

    public function testALostLeaseStopsTheHandlerAndItsResultSettlesNothing(): void
    {
        $id = $this->client->push($this->topic, 'x', ttrMs: 3000)->job;
        $other = new Client(self::$server->address());
        $worker = $this->worker(new WorkerOptions(maxJobs: 1));
        $why = null;
        $worker->run($this->topic, function (Job $job, Context $context) use ($other, $id, &$why): void {
            $other->delete($id);
            try {
                while (true) {
                    usleep(10_000);
                    $context->tick();
                }
            } catch (LeaseLost $lost) {
                $why = $lost->end;
                throw $lost;
            }
        });
        self::assertSame(LeaseEnd::Stale, $why);
        self::assertSame([0, 0, 1], [$worker->health()->finished, $worker->health()->failed, $worker->health()->lost]);
    }

    public function testAHandlerThatOverstaysItsLeaseSettlesNothing(): void
    {
        $this->client->push($this->topic, 'x', ttrMs: 1000);
        $worker = $this->worker(new WorkerOptions(maxJobs: 1));
        $worker->run($this->topic, static fn () => usleep(1_100_000));
        self::assertSame(1, $worker->health()->lost);
        self::assertSame(2, $this->client->reserve($this->topic, 5000)[0]->attempts);
    }

    public function testAHandlerRunsForAtMostMaxRunMs(): void
    {
        $id = $this->client->push($this->topic, new NewJob('x', backoff: Backoff::fixed(60_000)))->job;
        $worker = $this->worker(new WorkerOptions(maxJobs: 1, maxRunMs: 100));
        $thrown = null;
        $worker->run($this->topic, static function (Job $job, Context $context) use (&$thrown): void {
            try {
                while (true) {
                    usleep(5000);
                    $context->tick();
                }
            } catch (RunTooLong $thrown) {
                throw $thrown;
            }
        });
        self::assertInstanceOf(RunTooLong::class, $thrown);
        self::assertSame(JobState::Delayed, $this->client->get($id)->state);
    }

    public function testTheAlarmTouchesAJobWhoseHandlerKnowsNothingOfIt(): void
    {
        $this->client->push($this->topic, 'x', ttrMs: 4000);
        $worker = $this->worker(new WorkerOptions(maxJobs: 1, usesAlarm: true));
        $worker->run($this->topic, static function (): void {
            for ($until = hrtime(true) + 5_000_000_000; hrtime(true) < $until;) {
                usleep(50_000);
            }
        });
        self::assertSame([1, 0], [$worker->health()->finished, $worker->health()->lost]);
        self::assertSame([], $this->client->reserve($this->topic));
    }

    public function testTheAlarmStopsAHandlerThatRunsTooLong(): void
    {
        $id = $this->client->push($this->topic, new NewJob('x', backoff: Backoff::fixed(60_000)))->job;
        $worker = $this->worker(new WorkerOptions(maxJobs: 1, usesAlarm: true, maxRunMs: 500));
        $start = hrtime(true);
        $worker->run($this->topic, static function (): void {
            while (true) {
                usleep(50_000);
            }
        });
        self::assertLessThan(3e9, hrtime(true) - $start);
        self::assertStringContainsString('500 ms', $this->client->get($id)->reason);
    }

    public function testSigtermGivesBackWhatWasNotStartedAndEndsTheSession(): void
    {
        $first = $this->client->push($this->topic, 'first')->job;
        $second = $this->client->push($this->topic, 'second')->job;
        [$child, $said] = Processes::fork(function (callable $say): void {
            $client = new Client(new Options(self::$server->address(), clientName: $this->topic));
            (new Worker($client, new WorkerOptions(prefetch: 5)))->run($this->topic, static function () use ($say): void {
                $say('started');
                usleep(300_000);
            });
            $say('ended');
            sleep(60);
        });
        self::assertSame('started', Processes::said($said));
        posix_kill($child, SIGTERM);
        self::assertSame('ended', Processes::said($said));
        self::assertSame(JobState::Finished, $this->client->get($first)->state);
        $given = $this->client->get($second);
        self::assertSame([JobState::Ready, 0], [$given->state, $given->attempts]);
        Eventually::holds(
            fn (): bool => !in_array($this->topic, array_column(iterator_to_array($this->client->connections()), 'clientName'), true),
            'The connection is still open.',
        );
        posix_kill($child, SIGKILL);
        Processes::wait($child);
    }

    public function testWhatWasNotStartedIsGivenBackInOneRequest(): void
    {
        $job = static fn (int $job): array => [
            'job' => $job, 'fence' => $job, 'due_ms' => 1, 'priority' => 1, 'attempts' => 1, 'ttr_left_ms' => 60_000,
            'topic' => 't', 'key' => '', 'attributes' => '', 'body' => '', 'deadline_ms' => 0,
        ];
        $server = new ScriptedServer(static function (Listener $listener) use ($job): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->send(Opcode::Reserved, $peer->next()->requestId, ['jobs' => array_map($job, [1, 2, 3, 4])]);
            while (($settle = $peer->next()) !== null) {
                $listener->report([$settle->opcode->name, array_column($settle->fields['leases'] ?? [], 'job')]);
                $results = array_map(static fn (): array => ['code' => 0], $settle->fields['leases'] ?? []);
                $peer->send($settle->opcode->answer(), $settle->requestId, ['results' => $results]);
            }
        });
        $worker = new Worker(new Client($server->address()), new WorkerOptions(prefetch: 3));
        $worker->run('t', static fn () => $worker->stop());
        self::assertSame(['Finish', [1]], $server->report());
        self::assertSame(['Release', [2, 3, 4]], $server->report());
    }

    public function testAServerThatDoesNotAnswerDoesNotHoldUpTheEnd(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->send(Opcode::Reserved, $peer->next()->requestId, ['jobs' => [[
                'job' => 1, 'fence' => 1, 'due_ms' => 1, 'priority' => 1, 'attempts' => 1, 'ttr_left_ms' => 60_000,
                'topic' => 't', 'key' => '', 'attributes' => '', 'body' => '', 'deadline_ms' => 0,
            ]]]);
            // FINISH gets no answer, although the server is there.
            while (($request = $peer->next()) !== null) {
                $listener->report($request->opcode->name);
            }
        });
        // Without the bound of the stop, FINISH would wait for an hour.
        $worker = new Worker(new Client(new Options($server->address(), requestTimeoutMs: 3_600_000)), new WorkerOptions(handlesSignals: false));
        self::assertSame(1, $worker->run('t', static fn () => $worker->stop(withinMs: 100)));
        self::assertSame('Finish', $server->report());
        self::assertSame(1, $worker->health()->failed);
    }

    public function testSigtermEndsALongPollAtOnce(): void
    {
        [$child, $said] = Processes::fork(function (callable $say): void {
            $client = new Client(new Options(self::$server->address(), clientName: $this->topic));
            (new Worker($client))->run($this->topic, static fn () => null);
            $say('ended');
        });
        Eventually::holds(fn (): bool => $this->waits(), 'The worker does not wait for jobs.');
        $start = hrtime(true);
        posix_kill($child, SIGTERM);
        self::assertSame('ended', Processes::said($said));
        self::assertLessThan(2e9, hrtime(true) - $start);
        Processes::wait($child);
    }

    public function testTheTimeToStopEndsAlsoForAHandlerThatNeverReturns(): void
    {
        $id = $this->client->push($this->topic, new NewJob('x', backoff: Backoff::fixed(60_000)))->job;
        [$child, $said] = Processes::fork(function (callable $say): void {
            $worker = new Worker(new Client(self::$server->address()), new WorkerOptions(stopMs: 500));
            $worker->run($this->topic, static function () use ($say): void {
                $say('started');
                while (true) {
                    usleep(10_000);
                }
            });
            $say('ended');
        });
        self::assertSame('started', Processes::said($said));
        posix_kill($child, SIGTERM);
        self::assertSame('ended', Processes::said($said));
        Processes::wait($child);
        $job = $this->client->get($id);
        self::assertSame([JobState::Delayed, 1, 'The worker stops.'], [$job->state, $job->attempts, $job->reason]);
    }

    public function testAHandlerThatSwallowsTheStopIsKilled(): void
    {
        $this->client->push($this->topic, 'x');
        [$child, $said] = Processes::fork(function (callable $say): void {
            $worker = new Worker(new Client(self::$server->address()), new WorkerOptions(stopMs: 100));
            $worker->run($this->topic, static function () use ($say): void {
                $say('started');
                while (true) {
                    try {
                        usleep(10_000);
                    } catch (\Throwable) {
                    }
                }
            });
        });
        self::assertSame('started', Processes::said($said));
        posix_kill($child, SIGTERM);
        $status = Processes::wait($child);
        self::assertTrue(pcntl_wifsignaled($status));
        self::assertSame(SIGALRM, pcntl_wtermsig($status));
    }

    public function testAWorkerWaitsForAServerThatIsNotThereYet(): void
    {
        $port = TestServer::freePort();
        [$child, $said] = Processes::fork(static function (callable $say) use ($port): void {
            (new Worker(new Client("127.0.0.1:$port"), new WorkerOptions(maxJobs: 1)))->run('late', static fn (Job $job) => $say($job->body));
        });
        $server = TestServer::start(port: $port);
        (new Client($server->address()))->push('late', 'hello');
        self::assertSame('hello', Processes::said($said));
        Processes::wait($child);
    }

    public function testAWorkerWithoutHopeEnds(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->error($peer->next()->requestId, 4);
        });
        $this->expectException(Unauthenticated::class);
        (new Worker(new Client($server->address())))->run('t', static fn () => null);
    }

    private function worker(WorkerOptions $options): Worker
    {
        return new Worker($this->client, $options);
    }

    private function waits(): bool
    {
        foreach ($this->client->connections() as $connection) {
            if ($connection->clientName === $this->topic && $connection->reserves > 0) {
                return true;
            }
        }

        return false;
    }
}
