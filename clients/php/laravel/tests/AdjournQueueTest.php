<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

use Adjourn\Backoff;
use Adjourn\Filter;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\Laravel\AdjournConnector;
use Adjourn\Laravel\AdjournQueue;
use Adjourn\Laravel\AdjournServiceProvider;
use Adjourn\NewJob;
use Adjourn\Protocol\Opcode;
use Adjourn\Testing\WithAdjourn;
use Adjourn\Tests\Listener;
use Adjourn\Tests\Processes;
use Adjourn\Tests\RecordedTracing;
use Adjourn\Tests\ScriptedServer;
use Adjourn\Tests\TestServer;
use Adjourn\TopicPolicy;
use Adjourn\Tracing;
use Illuminate\Bus\Dispatcher as Bus;
use Illuminate\Cache\ArrayStore;
use Illuminate\Cache\Repository as Cache;
use Illuminate\Console\Application as Artisan;
use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher as BusContract;
use Illuminate\Contracts\Cache\Repository as CacheContract;
use Illuminate\Contracts\Container\Container as ContainerContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Events\Dispatcher as EventsContract;
use Illuminate\Events\Dispatcher as Events;
use Illuminate\Queue\Console\ClearCommand;
use Illuminate\Queue\Console\RetryCommand;
use Illuminate\Queue\Console\WorkCommand;
use Illuminate\Queue\Events\JobFailed;
use Illuminate\Queue\Events\JobQueued;
use Illuminate\Queue\Events\Looping;
use Illuminate\Queue\QueueManager;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use PHPUnit\Framework\TestCase;
use Psr\Log\AbstractLogger;
use Symfony\Component\Console\Input\StringInput;
use Symfony\Component\Console\Output\BufferedOutput;

/** The driver under Laravel's own worker. */
final class AdjournQueueTest extends TestCase
{
    use WithAdjourn;

    private static TestServer $server;
    private Container $app;
    private QueueManager $manager;
    private FailedJobs $failedJobs;
    private string $topic;
    private object $logger;
    /** @var list<string> */
    private array $failed = [];
    /** @var list<string> */
    private array $reported = [];

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
        Recorder::$seen = [];
        $this->topic = 'q' . bin2hex(random_bytes(4));
        $this->logger = new class extends AbstractLogger {
            /** @var list<string> */
            public array $warnings = [];
            public ?\Closure $hear = null;

            public function log($level, $message, array $context = []): void
            {
                $this->hear === null || ($this->hear)($message);
                if ($level === 'warning') {
                    $this->warnings[] = $message;
                }
            }
        };
        $this->app = new class extends Container {
            public function environment(): string
            {
                return 'testing';
            }

            public function isDownForMaintenance(): bool
            {
                return false;
            }
        };
        $this->app->instance('config', new class([
            'queue.default' => 'adjourn',
            'queue.connections.adjourn' => [
                'driver' => 'adjourn', 'server' => self::$server->address(), 'queue' => $this->topic, 'retry_after' => 90,
            ],
            'queue.connections.adjourn.queue' => $this->topic,
        ]) extends \ArrayObject {
            public function get(string $key, mixed $default = null): mixed
            {
                return $this[$key] ?? $default;
            }
        });
        $events = new Events($this->app);
        $this->app->instance('events', $events);
        $this->app->instance(EventsContract::class, $events);
        $this->app->instance(ContainerContract::class, $this->app);
        $this->app->instance(CacheContract::class, new Cache(new ArrayStore()));
        $this->app->instance(BusContract::class, new Bus($this->app));
        $events->listen(JobFailed::class, function (JobFailed $event): void {
            $this->failed[] = $event->job->resolveName();
        });
        $this->failedJobs = new FailedJobs();
        $this->app->instance('queue.failer', $this->failedJobs);
        $this->manager = new QueueManager($this->app);
        $this->app->instance('queue', $this->manager);
        $this->manager->addConnector('adjourn', fn (): AdjournConnector => new AdjournConnector($this->logger));
    }

    protected function tearDown(): void
    {
        self::assertSame([], array_diff($this->reported, ['a fails']));
    }

    public function testTheConfigurationNamesFilesOfTls(): void
    {
        $options = static fn (array $config) => (new AdjournConnector())->connect($config)->client()->options();
        self::assertSame(__FILE__, $options(['server' => 'adjourns://a:1', 'tls_ca' => __FILE__, 'tls_cert' => ''])->tls?->ca);
        self::assertNotNull($options(['server' => 'adjourns://a:1'])->tls);
        self::assertNull($options(['server' => 'a:1', 'tls_ca' => null])->tls);
    }

    public function testAJobIsHandledByTheRealWorker(): void
    {
        $id = $this->queue()->push(new Recorder('a'));
        self::assertIsInt($id);
        self::assertSame(1, $this->queue()->size());
        $this->work();
        self::assertSame(['a 1'], Recorder::$seen);
        self::assertSame(0, $this->queue()->size());
        self::assertSame(JobState::Finished, $this->queue()->client()->get($id)->state);
    }

    public function testALaterJobIsDelayedInTheQueue(): void
    {
        $in = $this->queue()->later(60, new Recorder('a'));
        $at = $this->queue()->later(new \DateTimeImmutable('2100-01-01T00:00:00Z'), new Recorder('b'));
        $this->work();
        self::assertSame([], Recorder::$seen);
        self::assertSame([2, 0, 2, 0], [
            $this->queue()->size(), $this->queue()->pendingSize(), $this->queue()->delayedSize(), $this->queue()->reservedSize(),
        ]);
        self::assertSame(4_102_444_800_000, $this->queue()->client()->get($at)->dueMs);
        $this->queue()->client()->runNow($in);
        self::assertNotNull($this->queue()->creationTimeOfOldestPendingJob());
        $this->work();
        self::assertSame(['a 1'], Recorder::$seen);
    }

    public function testAJobBelongsToTheGroupThatLaravelNames(): void
    {
        $ofAnn = new GroupedRecorder('a');
        $ofAnn->messageGroup = 'ann';
        $this->queue()->push($ofAnn);
        $this->queue()->bulk([new GroupedRecorder('b')]);
        $this->queue()->later(60, new Recorder('c'));
        $jobs = iterator_to_array($this->queue()->client()->list(new Filter($this->topic), withBodies: true), false);
        self::assertSame(['ann', 'bob', null], array_map(static fn (JobReport $job): ?string => $job->attributes->group, $jobs));
        // As `queue:retry` does it.
        $again = $this->queue()->pushRaw($jobs[0]->body);
        self::assertSame('ann', $this->queue()->client()->get($again)->attributes->group);
        $this->work();
        self::assertSame(['a 1', 'b 1', 'a 1'], Recorder::$seen);
    }

    public function testLaravelDecidesAboutAttemptsAndCallsFailed(): void
    {
        $id = $this->queue()->push(new Recorder('a', fails: 9, tries: 2));
        $this->work();
        self::assertSame(['a 1', 'a 2', 'a failed: a fails'], Recorder::$seen);
        self::assertSame([Recorder::class], $this->failed);
        self::assertSame(0, $this->queue()->size());
        // Nothing is left buried: Laravel has it among its failed jobs.
        self::assertSame(JobState::Finished, $this->queue()->client()->get($id)->state);
    }

    public function testLaravelDecidesAboutTheBackoff(): void
    {
        $id = $this->queue()->push(new Recorder('a', fails: 1, tries: 3, backoff: [30, 60]));
        $before = (int) (microtime(true) * 1000);
        $this->work();
        $job = $this->queue()->client()->get($id);
        self::assertSame(JobState::Delayed, $job->state);
        self::assertEqualsWithDelta($before + 30_000, $job->dueMs, 5000);
        self::assertSame([NewJob::ATTEMPTS_UNLIMITED, [0]], [$job->attributes->attemptsMax, $job->attributes->backoff->valuesMs]);
    }

    public function testAJobWithMoreTriesThanTheServerAllowsByDefaultReachesFailed(): void
    {
        $id = $this->queue()->push(new Recorder('a', fails: 99, tries: 30));
        $this->work();
        self::assertSame(['a 30', 'a failed: a fails'], array_slice(Recorder::$seen, -2));
        self::assertSame(JobState::Finished, $this->queue()->client()->get($id)->state);
    }

    public function testAJobThatIsReleasedOftenReachesFailedWhenItsTimeIsOver(): void
    {
        $id = $this->queue()->push(new OftenReleased('a'));
        $this->work();
        self::assertSame(['a 40', 'a failed: a fails'], Recorder::$seen);
        self::assertSame(JobState::Finished, $this->queue()->client()->get($id)->state);
    }

    public function testAJobWhoseWorkerDiedIsReadyAtOnceWhateverThePolicyOfItsTopicSays(): void
    {
        $this->useManualClock(['retry_after' => 1]);
        $client = $this->queue()->client();
        $client->setTopic($this->topic, new TopicPolicy(attemptsMax: 1, backoff: Backoff::fixed(60_000)));
        $this->queue()->bulk([new Recorder('a')]);
        $id = $this->queue()->push(new Recorder('b'));
        $this->queue()->pop();
        $this->queue()->pop();
        self::assertSame(2, $client->count(new Filter($this->topic, [JobState::Reserved])));
        $this->adjourn()->advance('1s');
        self::assertSame(JobState::Ready, $client->get($id)->state);
        self::assertSame(2, $this->queue()->pendingSize());
        self::assertSame(2, $this->queue()->pop()->attempts());
    }

    public function testADelayedJobWaitsForItsTime(): void
    {
        $this->useManualClock();
        $this->queue()->later(900, new Recorder('a'));
        $this->assertPending($this->topic, ['15m']);
        $this->adjourn()->advance('14m 59s');
        $this->work();
        self::assertSame([], Recorder::$seen);
        $this->adjourn()->advanceToNext();
        $this->work();
        self::assertSame(['a 1'], Recorder::$seen);
        $this->assertNothingLeft();
    }

    public function testTheLeaseCoversTheTimeoutOrElseRetryAfter(): void
    {
        $client = $this->queue()->client();
        self::assertSame(130_000, $client->get($this->queue()->push(new Recorder('a', timeout: 120)))->ttrMs);
        self::assertSame(90_000, $client->get($this->queue()->push(new Recorder('b')))->ttrMs);
    }

    public function testQueuesAreTakenInTheirOrder(): void
    {
        $this->queue()->push(new Recorder('low'), '', "$this->topic-low");
        $this->queue()->push(new Recorder('high'), '', "$this->topic-high");
        $this->work("$this->topic-high,$this->topic-low");
        self::assertSame(['high 1', 'low 1'], Recorder::$seen);
    }

    public function testTheRealCommandsWorkAndClear(): void
    {
        $this->queue()->push(new Recorder('low'), '', "$this->topic-low");
        $this->queue()->push(new Recorder('high'), '', "$this->topic-high");
        $said = $this->artisan("queue:work --queue=$this->topic-high,$this->topic-low --stop-when-empty --sleep=0");
        self::assertSame(['high 1', 'low 1'], Recorder::$seen);
        self::assertSame(2, substr_count($said, 'Processed:'));

        $this->queue()->push(new Recorder('a'));
        $this->queue()->later(60, new Recorder('b'));
        self::assertStringContainsString("Cleared 2 jobs from the [$this->topic] queue", $this->artisan('queue:clear --force'));
        self::assertSame(0, $this->queue()->size());
    }

    public function testAFailedJobIsRetriedByTheRealCommand(): void
    {
        Flaky::$isDown = true;
        $this->queue()->push(new Flaky('a', timeout: 120));
        self::assertStringContainsString('Failed:', $this->artisan('queue:work --tries=1 --stop-when-empty --sleep=0'));
        self::assertSame(['a 1', 'a failed: a fails'], Recorder::$seen);
        [$row] = $this->failedJobs->all();
        self::assertSame(['adjourn', $this->topic], [$row->connection, $row->queue]);
        self::assertSame(0, $this->queue()->size());

        Flaky::$isDown = false;
        self::assertStringContainsString("The failed job [$row->id] has been pushed back onto the queue!", $this->artisan('queue:retry all'));
        self::assertSame([], $this->failedJobs->all());
        self::assertSame(130_000, $this->queue()->client()->peek($this->topic)->ttrMs, 'Its timeout still counts.');
        self::assertStringContainsString('Processed:', $this->artisan('queue:work --tries=1 --stop-when-empty --sleep=0'));
        self::assertSame(['a 1', 'a failed: a fails', 'a 1'], Recorder::$seen, 'Its attempts count anew.');
        self::assertSame([0, []], [$this->queue()->size(), $this->failedJobs->all()]);
    }

    public function testAQueueIsCleared(): void
    {
        $this->queue()->push(new Recorder('a'));
        $this->queue()->later(60, new Recorder('b'));
        self::assertSame(2, $this->queue()->clear($this->topic));
        self::assertSame(0, $this->queue()->size());
    }

    public function testAUniqueJobThatIsDispatchedWhileTheFirstOneRunsIsNotLost(): void
    {
        UniqueRecorder::$whileHandled = function (): void {
            UniqueRecorder::$whileHandled = null;
            $this->queue()->push(new UniqueRecorder('same'));
        };
        $this->queue()->push(new UniqueRecorder('same'));
        $this->work();
        self::assertSame(['same 1', 'same 1'], Recorder::$seen);
        self::assertSame(0, $this->queue()->size());
    }

    public function testAChainOfUniqueJobsFinishes(): void
    {
        $this->app->instance(BusContract::class, new Bus($this->app, fn ($connection) => $this->manager->connection($connection)));
        Container::setInstance($this->app);
        $this->queue()->push((new UniqueRecorder('same'))->chain([new UniqueRecorder('same'), new UniqueRecorder('same')]));
        $this->work();
        self::assertSame(['same 1', 'same 1', 'same 1'], Recorder::$seen);
        self::assertSame(0, $this->queue()->size());
    }

    public function testManyJobsArePushedInOneRequest(): void
    {
        $queued = [];
        $this->app['events']->listen(JobQueued::class, static function (JobQueued $event) use (&$queued): void {
            $queued[$event->id] = $event->job->name;
        });
        $proxy = new ScriptedServer(static function (Listener $listener): void {
            $listener->forward(self::$server->port, static function (string $frame) use ($listener): bool {
                $listener->report(ord($frame[0]));

                return true;
            });
        });
        $config = $this->app['config'];
        $config['queue.connections.adjourn'] = ['server' => $proxy->address()] + $config['queue.connections.adjourn'];
        $jobs = array_map(static fn (int $n): Recorder => new Recorder("job $n"), range(1, 200));
        $jobs[199]->delay(60);
        $this->queue()->bulk($jobs);
        self::assertSame([Opcode::Welcome->value, Opcode::Pushed->value], [$proxy->report(), $proxy->report()]);
        self::assertCount(200, $queued);
        self::assertSame([199, 1], [$this->queue()->pendingSize(), $this->queue()->delayedSize()]);
        $id = array_search('job 200', $queued, true);
        self::assertSame(JobState::Delayed, $this->queue()->client()->get($id)->state);
        // No answer but those to these questions came: the jobs took one request.
        self::assertSame([Opcode::Counted->value, Opcode::Counted->value, Opcode::Job->value], [$proxy->report(), $proxy->report(), $proxy->report()]);
    }

    public function testSigtermEndsTheWorkerInOrderWhileNoServerAnswers(): void
    {
        $server = TestServer::start();
        [$child, $said] = Processes::fork(function (callable $say) use ($server): void {
            $config = $this->app['config'];
            // Without the signal, a call would wait for an hour.
            $config['queue.connections.adjourn'] = ['server' => $server->address(), 'request_timeout' => 3600] + $config['queue.connections.adjourn'];
            $this->logger->hear = static fn (string $message) => str_contains($message, 'no jobs for now') ? $say('away') : null;
            $this->app['events']->listen(Looping::class, static function () use ($say, &$loops): void {
                $loops ??= 0;
                if (++$loops === 2) {
                    $say('runs');
                }
            });
            $options = new WorkerOptions('default', 0, 512, 60, 1, 1);
            $say($this->worker()->daemon('adjourn', $this->topic, $options));
        });
        self::assertSame('runs', Processes::said($said));
        $server->kill();
        self::assertSame('away', Processes::said($said));
        posix_kill($child, SIGTERM);
        self::assertSame(0, Processes::said($said));
        Processes::wait($child);
        self::assertSame([], $this->reported);
    }

    public function testAReleaseDoesNotLoseAUniqueJob(): void
    {
        $this->queue()->push(new UniqueRecorder('a', fails: 1, tries: 3));
        $this->work();
        self::assertSame(['a 1', 'a 2'], Recorder::$seen);
    }

    public function testAStaleLeaseIsLoggedAndNotThrown(): void
    {
        $id = $this->queue()->push(new Recorder('a'));
        $job = $this->queue()->pop();
        $this->queue()->client()->delete($id);
        $job->delete();
        self::assertTrue($job->isDeleted());
        self::assertCount(1, $this->logger->warnings);
        self::assertStringContainsString("job $id was not finished", $this->logger->warnings[0]);
        $other = $this->queue()->push(new Recorder('b'));
        $job = $this->queue()->pop();
        $this->queue()->client()->delete($other);
        $job->release(5);
        self::assertTrue($job->isReleased());
        self::assertStringContainsString("job $other was not released", $this->logger->warnings[1]);
    }

    public function testRawPayloadsAreRetriedAsTheyAre(): void
    {
        $this->queue()->push(new Recorder('a'));
        $job = $this->queue()->pop();
        $payload = $job->getRawBody();
        $job->delete();
        $this->queue()->pushRaw($payload, $this->topic);
        $this->work();
        self::assertSame(['a 1'], Recorder::$seen);
    }

    public function testAPausedQueueIsEmpty(): void
    {
        $this->queue()->push(new Recorder('a'));
        $this->queue()->client()->pause($this->topic);
        self::assertNull($this->queue()->pop());
        $this->queue()->client()->resume($this->topic);
        self::assertNotNull($this->queue()->pop());
    }

    public function testTheTimeoutOfTheWorkerKeepsItsAlarm(): void
    {
        $id = $this->queue()->push(SleepsForever::class, ['why' => 'test']);
        [$child] = Processes::fork(function (): void {
            // A worker of its own process: its timeout ends the process.
            $this->work(timeout: 1);
        });
        $status = Processes::wait($child);
        self::assertTrue(pcntl_wifsignaled($status));
        self::assertSame(SIGKILL, pcntl_wtermsig($status));
        // maxTries was 1: the handler of the alarm has marked the job as failed, and deleted it.
        self::assertSame(JobState::Finished, $this->queue()->client()->get($id)->state);
        self::assertSame(0, $this->queue()->size());
    }

    public function testSigtermEndsTheWorkerAfterTheJob(): void
    {
        $this->queue()->push(new Recorder('a'));
        $this->queue()->push(new Recorder('b'));
        [$child, $said] = Processes::fork(function (callable $say): void {
            $this->app['events']->listen(\Illuminate\Queue\Events\JobProcessing::class, static fn () => posix_kill(getmypid(), SIGTERM));
            $say($this->work());
        });
        self::assertSame(0, Processes::said($said));
        Processes::wait($child);
        self::assertSame(1, $this->queue()->size());
    }

    public function testAJobIsHandledInTheTraceOfItsPush(): void
    {
        $tracing = new RecordedTracing();
        $this->manager->addConnector('adjourn', fn (): AdjournConnector => new AdjournConnector($this->logger, $tracing));
        $this->queue()->bulk([new Recorder('b'), new Recorder('a', fails: 1, tries: 2)]);
        $this->work();
        self::assertSame(['b 1', 'a 1', 'a 2'], Recorder::$seen);
        self::assertSame([
            'push 2 in 0',
            'process in 0', 'processed',
            'process in 0', 'failed: a fails', 'processed',
            'process in 0', 'processed',
        ], $tracing->seen);
    }

    public function testTheServiceProviderAddsTheDriver(): void
    {
        $this->app->singleton('queue', fn (): QueueManager => new QueueManager($this->app));
        $tracing = new RecordedTracing();
        $this->app->instance(Tracing::class, $tracing);
        (new AdjournServiceProvider($this->app))->register();
        $queue = $this->app->make('queue')->connection('adjourn');
        $queue->pushRaw('{}');
        self::assertSame(['push 1 in 0'], $tracing->seen);
    }

    /** @param array<string, mixed> $options of the connection */
    private function useManualClock(array $options = []): void
    {
        $config = $this->app['config'];
        $config['queue.connections.adjourn'] = $options + ['server' => $this->adjourn()->address] + $config['queue.connections.adjourn'];
    }

    private function queue(): AdjournQueue
    {
        return $this->manager->connection('adjourn');
    }

    private function work(?string $queue = null, int $timeout = 60): int
    {
        $options = new WorkerOptions('default', 0, 512, $timeout, 0, 1, false, true);

        return $this->worker()->daemon('adjourn', $queue ?? $this->topic, $options);
    }

    /** Runs a command, as `php artisan` does. What it prints. */
    private function artisan(string $line): string
    {
        $artisan = new Artisan($this->app, new Events($this->app), '8');
        $artisan->add(new WorkCommand($this->worker(), $this->app->make(CacheContract::class)));
        $artisan->add(new ClearCommand());
        $artisan->add(new RetryCommand());
        $output = new BufferedOutput();
        self::assertSame(0, $artisan->run(new StringInput($line), $output));

        return $output->fetch();
    }

    private function worker(): Worker
    {
        $handler = new class($this->reported) implements ExceptionHandler {
            /** @param list<string> $reported */
            public function __construct(private array &$reported)
            {
            }

            public function report(\Throwable $e): void
            {
                $this->reported[] = $e->getMessage();
            }

            public function shouldReport(\Throwable $e): bool
            {
                return true;
            }

            public function render($request, \Throwable $e): void
            {
            }

            public function renderForConsole($output, \Throwable $e): void
            {
            }
        };

        return new Worker($this->manager, $this->app['events'], $handler, static fn (): bool => false);
    }
}
