<?php

declare(strict_types=1);

namespace Adjourn\Messenger\Tests;

use Adjourn\Backoff;
use Adjourn\BuriedReason;
use Adjourn\Client;
use Adjourn\Error\Server\NotFound;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\Messenger\AdjournReceivedStamp;
use Adjourn\Messenger\AdjournStamp;
use Adjourn\Messenger\AdjournTransport;
use Adjourn\Messenger\AdjournTransportFactory;
use Adjourn\Messenger\KeepaliveTransport;
use Adjourn\Messenger\TracingMiddleware;
use Adjourn\Options;
use Adjourn\Release;
use Adjourn\Testing\WithAdjourn;
use Adjourn\Tests\BrokenTracing;
use Adjourn\Tests\Eventually;
use Adjourn\Tests\Lines;
use Adjourn\Tests\Processes;
use Adjourn\Tests\RecordedTracing;
use Adjourn\Tests\TestServer;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\TestCase;
use Psr\Container\ContainerInterface;
use Psr\Log\AbstractLogger;
use Symfony\Component\Console\Input\ArrayInput;
use Symfony\Component\Console\Output\NullOutput;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Command\ConsumeMessagesCommand;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageToFailureTransportListener;
use Symfony\Component\Messenger\EventListener\StopWorkerOnSigtermSignalListener;
use Symfony\Component\Messenger\Event\WorkerRunningEvent;
use Symfony\Component\Messenger\Exception\InvalidArgumentException;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Middleware\MiddlewareInterface;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\RoutableMessageBus;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Stamp\RedeliveryStamp;
use Symfony\Component\Messenger\Stamp\TransportMessageIdStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Worker;

/** The transport under Symfony's own worker. */
final class AdjournTransportTest extends TestCase
{
    use WithAdjourn;

    private static TestServer $server;
    private AdjournTransport $transport;
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
        $this->topic = 'm' . bin2hex(random_bytes(4));
        $this->transport = $this->transport('adjourn://' . self::$server->address() . "/$this->topic");
    }

    public function testAMessageIsHandledByTheRealWorker(): void
    {
        $this->transport->setup();
        $sent = $this->transport->send(new Envelope(new Note("ann \0\xff")));
        $id = (int) $sent->last(TransportMessageIdStamp::class)->getId();
        self::assertSame(1, $this->transport->getMessageCount());
        self::assertSame(["ann \0\xff"], $this->work());
        self::assertSame(0, $this->transport->getMessageCount());
        self::assertSame(JobState::Finished, $this->transport->client()->get($id)->state);
    }

    public function testTheRealCommandConsumes(): void
    {
        $seen = [];
        $bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([Note::class => [
            static function (Note $note) use (&$seen): void {
                $seen[] = $note->text;
            },
        ]]))]);
        $command = new ConsumeMessagesCommand(
            new RoutableMessageBus($this->container([]), $bus),
            $this->container(['adjourn' => $this->transport]),
            new EventDispatcher(),
        );
        foreach (['a', 'b', 'c'] as $text) {
            $this->transport->send(new Envelope(new Note($text)));
        }
        self::assertSame(0, $command->run(new ArrayInput(['receivers' => ['adjourn'], '--limit' => 2]), new NullOutput()));
        self::assertSame(['a', 'b'], $seen);
        self::assertSame(1, $this->transport->getMessageCount());
    }

    public function testADelayedMessageWaitsInTheQueue(): void
    {
        $sent = $this->transport->send(new Envelope(new Note('a'), [new DelayStamp(60_000)]));
        $id = (int) $sent->last(TransportMessageIdStamp::class)->getId();
        self::assertSame([], $this->work());
        self::assertSame(1, $this->transport->getMessageCount());
        $this->transport->client()->runNow($id);
        self::assertSame(['a'], $this->work());
    }

    public function testMessagesAreListedFoundAndRemoved(): void
    {
        foreach (['a', 'b', 'c'] as $text) {
            $sent = $this->transport->send(new Envelope(new Note($text), [new DelayStamp(60_000)]));
        }
        $texts = static fn (iterable $envelopes): array => array_map(
            static fn (Envelope $e): string => $e->getMessage()->text,
            iterator_to_array($envelopes, false),
        );
        self::assertSame(['a', 'b', 'c'], $texts($this->transport->all()));
        self::assertSame(['a', 'b'], $texts($this->transport->all(2)));
        $found = $this->transport->find($sent->last(TransportMessageIdStamp::class)->getId());
        self::assertSame('c', $found->getMessage()->text);
        $this->transport->reject($found);
        $this->transport->reject($found);
        self::assertSame(2, $this->transport->getMessageCount());
        self::assertNull($this->transport->find('18446744073709551615'));
    }

    public function testAMessageReplacesTheOneThatWaitsUnderItsKey(): void
    {
        foreach (['a', 'b'] as $text) {
            $this->transport->send(new Envelope(new Note($text), [new AdjournStamp(key: 'order-17', priority: 3)]));
        }
        self::assertSame(3, $this->transport->client()->peek($this->topic)->priority);
        self::assertSame(['b'], $this->work());
    }

    public function testAMessageAndItsRetriesBelongToAGroup(): void
    {
        $stamps = [new AdjournStamp(key: 'order-17', group: 'ann')];
        $this->transport->send(new Envelope(new Note('a'), $stamps));
        $this->transport->send(new Envelope(new Note('a'), [...$stamps, new RedeliveryStamp(1)]));
        $this->transport->send(new Envelope(new Note('b')));
        $sent = iterator_to_array($this->transport->client()->list(new Filter($this->topic)), false);
        $shown = array_map(static fn (JobReport $job): string => "$job->key of {$job->attributes->group}", $sent);
        sort($shown);
        self::assertSame([' of ', ' of ann', 'order-17 of ann'], $shown);
    }

    public function testAStampOfAnOlderVersionHasNoGroup(): void
    {
        $old = unserialize(str_replace(
            ['"Adjourn\Messenger\AdjournStamp":6:', 's:5:"group";N;'],
            ['"Adjourn\Messenger\AdjournStamp":5:', ''],
            serialize(new AdjournStamp(priority: 3)),
        ));
        $this->transport->send(new Envelope(new Note('a'), [$old]));
        $sent = $this->transport->client()->peek($this->topic);
        self::assertSame([3, null], [$sent->priority, $sent->attributes->group]);
    }

    public function testAMessageThatIsSentWhileItsKeyIsHandledIsNotLost(): void
    {
        $stamp = new AdjournStamp(key: 'order-17');
        $this->transport->send(new Envelope(new Note('a'), [$stamp]));
        [$handled] = $this->transport->get();
        $this->transport->send(new Envelope(new Note('b'), [$stamp]));
        $this->transport->ack($handled);
        self::assertSame(['b'], $this->work());
    }

    public function testAStampMayDecideWhatAKeyMeans(): void
    {
        foreach (['a', 'b'] as $text) {
            $this->transport->send(new Envelope(new Note($text), [new AdjournStamp(key: 'order-17', ifExists: IfExists::Keep)]));
        }
        self::assertSame(['a'], $this->work());
    }

    public function testStampsThatWouldBeLostAreRefused(): void
    {
        foreach ([
            'give the message a key' => static fn (): array => [new AdjournStamp(ifExists: IfExists::Keep)],
            'after a delay or at a time' => static fn (): array => [new AdjournStamp(at: new \DateTimeImmutable('2100-01-01')), new DelayStamp(5)],
        ] as $says => $stamps) {
            try {
                $this->transport->send(new Envelope(new Note('a'), $stamps()));
                self::fail('It was accepted.');
            } catch (InvalidArgumentException $error) {
                self::assertStringContainsString($says, $error->getMessage());
            }
        }
        self::assertSame(0, $this->transport->getMessageCount());
    }

    /** @dataProvider transportCounts */
    public function testSigtermEndsTheWorkerInOrderWhileNoServerAnswers(int $transports): void
    {
        $server = TestServer::start();
        [$child, $said] = Processes::fork(static function (callable $say) use ($server, $transports): void {
            $logger = new class($say) extends AbstractLogger {
                private bool $isLost = false;

                public function __construct(private readonly \Closure $say)
                {
                }

                public function log($level, $message, array $context = []): void
                {
                    if (!$this->isLost && str_contains($message, 'the connection is lost')) {
                        $this->isLost = true;
                        ($this->say)('lost');
                    }
                }
            };
            // Without the signal, a call would wait for an hour.
            $dsn = "adjourn://{$server->address()}/t?request_timeout_ms=3600000";
            $receivers = array_map(
                static fn (): AdjournTransport => (new AdjournTransportFactory($logger))->createTransport($dsn, [], new PhpSerializer()),
                range(1, $transports),
            );
            $events = new EventDispatcher();
            $events->addSubscriber(new StopWorkerOnSigtermSignalListener());
            $events->addListener(WorkerRunningEvent::class, static function () use ($say, $server, &$isRunning): void {
                if ($isRunning === null) {
                    $isRunning = $say('runs');
                    // The first transport is to notice the outage.
                    Eventually::holds(static fn (): bool => @stream_socket_client("tcp://{$server->address()}") === false, 'The server runs on.');
                }
            });
            (new Worker($receivers, new MessageBus(), $events))->run(['sleep' => 1000]);
            $say('ended');
        });
        self::assertSame('runs', Processes::said($said));
        $server->kill();
        self::assertSame('lost', Processes::said($said));
        $sentNs = hrtime(true);
        posix_kill($child, SIGTERM);
        self::assertSame('ended', Processes::said($said));
        self::assertLessThan(3_000_000_000, hrtime(true) - $sentNs);
        Processes::wait($child);
    }

    public static function transportCounts(): iterable
    {
        yield 'one transport' => [1];
        yield 'two transports' => [2];
        yield 'five transports' => [5];
    }

    public function testARetryDoesNotLoseTheMessageToItsOwnKey(): void
    {
        $this->transport->send(new Envelope(new Note('a'), [new AdjournStamp(key: 'order-17')]));
        self::assertSame(['a', 'a', 'a'], $this->work(fails: 2));
        self::assertSame(0, $this->transport->getMessageCount());
    }

    public function testAMessageThatFailsForGoodGoesToTheFailureTransport(): void
    {
        $failures = $this->transport('adjourn://' . self::$server->address() . "/$this->topic-failed");
        $this->transport->send(new Envelope(new Note('a')));
        self::assertSame(['a', 'a', 'a', 'a'], $this->work(fails: 9, failures: $failures));
        self::assertSame(0, $this->transport->getMessageCount());
        [$failed] = iterator_to_array($failures->all());
        self::assertSame('a', $failed->getMessage()->text);
        // The stamps of a failure are longer than the headers of a job may be.
        self::assertNotNull($failed->last(RedeliveryStamp::class));
        $failures->reject($failed);
        self::assertSame(0, $failures->getMessageCount());
    }

    public function testAMessageThatCannotBeDecodedIsBuriedAndTheWorkerGoesOn(): void
    {
        $bad = $this->transport->client()->push($this->topic, 'no message')->job;
        $worse = $this->transport->client()->push($this->topic, ['body' => 'O:7:"Unknown":0:{', 'headers' => []])->job;
        $this->transport->send(new Envelope(new Note('good')));
        self::assertSame(['good'], $this->work());
        foreach ([$bad, $worse] as $id) {
            $job = $this->transport->client()->get($id);
            self::assertSame(BuriedReason::ByConsumer, $job->buried);
            self::assertNotNull($job->reason);
        }
    }

    public function testTheServerNeitherEndsNorDelaysAMessageWhoseWorkersDie(): void
    {
        $this->transport->send(new Envelope(new Note('a')));
        for ($n = 1; $n <= 30; ++$n) {
            [$envelope] = $this->transport->get();
            $job = $envelope->last(AdjournReceivedStamp::class)->job;
            self::assertSame($n, $job->attempts);
            // As when its lease ends.
            $job->release(Release::backoff());
        }
        self::assertSame(['a'], $this->work());
    }

    public function testAMessageWhoseWorkerDiedIsReadyAtOnceWhateverThePolicyOfItsTopicSays(): void
    {
        $transport = $this->transport($this->adjourn()->address . "/$this->topic");
        $client = $transport->client();
        $client->setTopic($this->topic, new TopicPolicy(attemptsMax: 1, backoff: Backoff::fixed(60_000)));
        $transport->send(new Envelope(new Note('a'), [new AdjournStamp(ttrMs: 100)]));
        [$envelope] = $transport->get();
        $id = $envelope->last(AdjournReceivedStamp::class)->id;
        self::assertSame(JobState::Reserved, $client->get($id)->state);
        $this->adjourn()->advance('100ms');
        self::assertSame(JobState::Ready, $client->get($id)->state);
    }

    public function testADelayedMessageWaitsForItsTime(): void
    {
        $transport = $this->transport($this->adjourn()->address . "/$this->topic");
        $transport->send(new Envelope(new Note('a'), [new DelayStamp(900_000)]));
        $this->assertPending($this->topic, ['15m']);
        $this->adjourn()->advance('14m 59s');
        self::assertSame([], $transport->get());
        $this->adjourn()->advanceToNext();
        self::assertSame('a', $transport->get()[0]->getMessage()->text);
    }

    public function testAStaleLeaseIsNoErrorOfTheWorker(): void
    {
        $this->transport->send(new Envelope(new Note('a')));
        [$envelope] = $this->transport->get();
        $this->transport->client()->delete($envelope->last(AdjournReceivedStamp::class)->id);
        $this->transport->ack($envelope);
        self::assertSame([], $this->transport->get());
    }

    public function testAKeepaliveTouchesTheJob(): void
    {
        $this->transport->send(new Envelope(new Note('a'), [new AdjournStamp(ttrMs: 2000)]));
        [$envelope] = $this->transport->get();
        self::assertInstanceOf(KeepaliveTransport::class, $this->transport);
        for ($n = 0; $n < 4; ++$n) {
            usleep(700_000);
            $this->transport->keepalive($envelope, 1);
        }
        self::assertFalse($envelope->last(AdjournReceivedStamp::class)->job->isLost());
        $this->transport->ack($envelope);
    }

    public function testAKeepaliveDoesNotWriteBetweenTwoHalvesOfAFrame(): void
    {
        $dialer = new InterruptingDialer();
        $client = new Client(new Options(self::$server->address()), $dialer);
        $transport = new KeepaliveTransport($client, new PhpSerializer(), $this->topic);
        $transport->send(new Envelope(new Note('a')));
        [$envelope] = $transport->get();
        $interrupted = 0;
        $dialer->between = static function () use ($transport, $envelope, &$interrupted): void {
            ++$interrupted;
            $transport->keepalive($envelope, 1);
        };
        $transport->send(new Envelope(new Note('sent while alarms came')));
        self::assertGreaterThan(50, $interrupted);
        $dialer->between = null;
        $transport->ack($envelope);
        self::assertSame(['sent while alarms came'], $this->work());
    }

    public function testOtherTopicsMayBeNamedByTheWorker(): void
    {
        $other = $this->transport('adjourn://' . self::$server->address() . "/$this->topic-2");
        $other->send(new Envelope(new Note('b')));
        self::assertSame([], $this->transport->get());
        [$envelope] = $this->transport->getFromQueues([$this->topic, "$this->topic-2"]);
        self::assertSame('b', $envelope->getMessage()->text);
    }

    public function testAServerThatIsNotThereIsATransportException(): void
    {
        $transport = $this->transport('adjourn://127.0.0.1:' . TestServer::freePort());
        foreach ([static fn () => $transport->send(new Envelope(new Note('a'))), static fn () => $transport->get(), $transport->setup(...)] as $call) {
            try {
                $call();
                self::fail('Nobody is there.');
            } catch (TransportException $error) {
                self::assertNotNull($error->getPrevious());
            }
        }
    }

    public function testAMessageAndItsRetryAreHandledInTheTraceOfTheFirstSending(): void
    {
        $tracing = new RecordedTracing();
        $dsn = 'adjourn://' . self::$server->address() . "/$this->topic";
        $this->transport = (new AdjournTransportFactory(tracing: $tracing))->createTransport($dsn, [], new PhpSerializer());
        $this->transport->send(new Envelope(new Note('a')));
        self::assertSame(['a', 'a'], $this->work(fails: 1, middleware: [new TracingMiddleware($tracing)]));
        self::assertMatchesRegularExpression(
            '/^push 1 in 0, process in 0, failed: .*, processed, push 1 in 4, process in 0, processed$/',
            implode(', ', $tracing->seen),
        );
    }

    public function testAMessageIsHandledOnceWhereItsTracingFails(): void
    {
        $this->transport->send(new Envelope(new Note('a')));
        $log = new Lines();
        self::assertSame(['a'], $this->work(middleware: [new TracingMiddleware(new BrokenTracing(false, true, 1, []), $log)]));
        self::assertSame([['warning: adjourn: tracing failed; more faults of it are not logged: After.'], 0], [$log->lines, $this->transport->getMessageCount()]);
    }

    public function testTheDsn(): void
    {
        $factory = new AdjournTransportFactory();
        self::assertTrue($factory->supports('adjourn://a', []));
        self::assertFalse($factory->supports('redis://a', []));
        $options = $this->transport('adjourn://se%40same@a:1,[::1]:2/emails?ttr_ms=5000', ['client_name' => 'x'])->client()->options();
        self::assertSame(['se@same', 'x', ['a:1', '[::1]:2']], [$options->token, $options->clientName, array_map(strval(...), $options->addresses)]);
        self::assertNull($options->tls);
        self::assertTrue($factory->supports('adjourns://a', []));
        $secured = $this->transport('adjourns://token@a:1/emails?tls_ca=' . rawurlencode(__FILE__))->client()->options();
        self::assertSame([__FILE__, 'token'], [$secured->tls?->ca, $secured->token]);
        self::assertNotNull($this->transport('adjourns:///emails')->client()->options()->tls);
        $this->expectException(InvalidArgumentException::class);
        $this->transport('adjourn://a/t?tttr=1');
    }

    private function transport(string $dsn, array $options = []): AdjournTransport
    {
        return (new AdjournTransportFactory())->createTransport($dsn, $options, new PhpSerializer());
    }

    /**
     * Runs Symfony's worker until there is nothing to do.
     *
     * @param list<MiddlewareInterface> $middleware
     * @return list<string> what the handler saw
     */
    private function work(int $fails = 0, ?AdjournTransport $failures = null, array $middleware = []): array
    {
        $seen = [];
        $bus = new MessageBus([...$middleware, new HandleMessageMiddleware(new HandlersLocator([Note::class => [
            static function (Note $note) use (&$seen, $fails): void {
                $seen[] = $note->text;
                if (count($seen) <= $fails) {
                    throw new \RuntimeException(str_repeat('fails ', 400));
                }
            },
        ]]))]);
        $events = new EventDispatcher();
        $senders = $this->container(['adjourn' => $this->transport]);
        $retries = $this->container(['adjourn' => new MultiplierRetryStrategy(3, 1)]);
        $events->addSubscriber(new SendFailedMessageForRetryListener($senders, $retries));
        if ($failures !== null) {
            $events->addSubscriber(new SendFailedMessageToFailureTransportListener($this->container(['adjourn' => $failures])));
        }
        $until = hrtime(true) + 10_000_000_000;
        $events->addListener(WorkerRunningEvent::class, function (WorkerRunningEvent $event) use ($until): void {
            $isEmpty = $this->transport->client()->count(new Filter($this->topic, [JobState::Ready, JobState::Reserved])) === 0;
            $isWaiting = $this->transport->client()->peek($this->topic)?->dueMs < (int) (microtime(true) * 1000) + 10_000
                && $this->transport->client()->peek($this->topic) !== null;
            if (($event->isWorkerIdle() && $isEmpty && !$isWaiting) || hrtime(true) > $until) {
                $event->getWorker()->stop();
            }
        });
        (new Worker(['adjourn' => $this->transport], $bus, $events))->run(['sleep' => 1000]);

        return $seen;
    }

    /** @param array<string, object> $services */
    private function container(array $services): ContainerInterface
    {
        return new class($services) implements ContainerInterface {
            public function __construct(private array $services)
            {
            }

            public function get(string $id)
            {
                return $this->services[$id];
            }

            public function has(string $id): bool
            {
                return isset($this->services[$id]);
            }
        };
    }
}
