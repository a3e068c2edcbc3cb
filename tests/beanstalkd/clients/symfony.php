<?php

declare(strict_types=1);

// Runs Symfony's beanstalkd bridge, unchanged, under Symfony Messenger's own worker: `symfony.php HOST PORT`.

namespace {
    require __DIR__ . '/checks.php';
    require_once 'Symfony/Component/EventDispatcher/autoload.php';
    require_once 'Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php';
}

namespace SymfonyChecks {
    use Pheanstalk\JobId;
    use Pheanstalk\Pheanstalk;
    use Psr\Container\ContainerInterface;
    use Symfony\Component\EventDispatcher\EventDispatcher;
    use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdReceivedStamp;
    use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransport;
    use Symfony\Component\Messenger\Bridge\Beanstalkd\Transport\BeanstalkdTransportFactory;
    use Symfony\Component\Messenger\Envelope;
    use Symfony\Component\Messenger\Event\WorkerMessageFailedEvent;
    use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
    use Symfony\Component\Messenger\EventListener\StopWorkerOnMessageLimitListener;
    use Symfony\Component\Messenger\EventListener\StopWorkerOnTimeLimitListener;
    use Symfony\Component\Messenger\Exception\TransportException;
    use Symfony\Component\Messenger\Handler\HandlersLocator;
    use Symfony\Component\Messenger\MessageBus;
    use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
    use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
    use Symfony\Component\Messenger\Stamp\DelayStamp;
    use Symfony\Component\Messenger\Stamp\RedeliveryStamp;
    use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
    use Symfony\Component\Messenger\Worker;

    final class Note
    {
        public function __construct(public readonly string $text)
        {
        }
    }

    final class Locator implements ContainerInterface
    {
        public function __construct(private readonly array $services)
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
    }

    final class SymfonyChecks extends \Checks
    {
        private const TTR_S = 75;
        private const SHARED_MESSAGES = 50;

        public function messageIsSentAndAcknowledged(): void
        {
            $transport = $this->transport();
            $transport->send(new Envelope(new Note("\0 binary \xff\r\n")));
            self::equal($transport->getMessageCount(), 1);
            $envelope = $this->next($transport, "\0 binary \xff\r\n");
            $stamp = $envelope->last(BeanstalkdReceivedStamp::class);
            $stats = $this->pheanstalk()->statsJob(new JobId((int) $stamp->getId()));
            self::equal([$stats->state, $stats->ttr, $stamp->getTube()], ['reserved', (string) self::TTR_S, $this->tube]);
            self::equal([$transport->getMessageCount(), $transport->get()], [0, []]);
            $transport->ack($envelope);
            self::throws(TransportException::class, fn () => $transport->ack($envelope));
            self::equal($this->counts(), ['ready' => '0', 'reserved' => '0', 'delayed' => '0', 'buried' => '0']);
        }

        public function messageIsRejected(): void
        {
            $transport = $this->transport();
            $transport->send(new Envelope(new Note('a')));
            $envelope = $this->next($transport, 'a');
            $transport->reject($envelope);
            self::throws(TransportException::class, fn () => $transport->reject($envelope));
            self::equal([$transport->getMessageCount(), $transport->get()], [0, []]);
        }

        public function delayedMessageWaits(): void
        {
            $transport = $this->transport();
            $transport->send(new Envelope(new Note('far'), [new DelayStamp(LONG_S * 1000)]));
            self::equal([$transport->getMessageCount(), $transport->get()], [0, []]);
            self::equal($this->counts()['delayed'], '1');
            $transport->send(new Envelope(new Note('near'), [new DelayStamp(1000)]));
            $waiting = $this->transport(PATIENCE_S);
            $waiting->ack($this->next($waiting, 'near'));
            self::equal($this->counts()['delayed'], '1');
        }

        public function messageOfLostConsumerComesAgain(): void
        {
            $transport = $this->transport(PATIENCE_S);
            $transport->send(new Envelope(new Note('a')));
            $dying = self::inProcess(fn (): string => $this->next($this->transport(PATIENCE_S), 'a')->getMessage()->text);
            self::equal($dying(), 'a');
            $transport->ack($this->next($transport, 'a'));
        }

        public function largeMessage(): void
        {
            $transport = $this->transport();
            // Each line is 8 bytes of the message's JSON.
            $text = str_repeat("line\r\n", intdiv(BODY_BYTES, 9));
            $transport->send(new Envelope(new Note($text)));
            $transport->ack($this->next($transport, $text));
            $most = (int) $this->pheanstalk()->stats()['max-job-size'];
            $error = self::throws(TransportException::class, fn () => $transport->send(new Envelope(new Note(str_repeat('x', $most)))));
            self::isTrue(str_contains($error->getMessage(), 'JOB_TOO_BIG'), $error->getMessage());
            $transport->send(new Envelope(new Note('b')));
            $transport->ack($this->next($transport, 'b'));
        }

        public function workerHandlesMessages(): void
        {
            $transport = $this->transport(PATIENCE_S);
            foreach (['a', 'b'] as $text) {
                $transport->send(new Envelope(new Note($text)));
            }
            $transport->send(new Envelope(new Note('later'), [new DelayStamp(1000)]));
            $seen = [];
            $this->work($transport, 3, function (Note $note) use (&$seen): void {
                $seen[] = $note->text;
            });
            sort($seen);
            self::equal($seen, ['a', 'b', 'later']);
            self::equal($this->counts(), ['ready' => '0', 'reserved' => '0', 'delayed' => '0', 'buried' => '0']);
        }

        public function workerRetriesAndGivesUp(): void
        {
            $transport = $this->transport(PATIENCE_S);
            $transport->send(new Envelope(new Note('a')));
            $seen = [];
            $failures = $this->work($transport, 3, function (Note $note) use (&$seen): void {
                $seen[] = $note->text;
                throw new \RuntimeException("$note->text fails");
            });
            self::equal($seen, ['a', 'a', 'a']);
            self::equal($failures, ['retried 0', 'retried 1', 'failed 2']);
            self::equal($this->counts(), ['ready' => '0', 'reserved' => '0', 'delayed' => '0', 'buried' => '0']);
        }

        public function workerRecovers(): void
        {
            $transport = $this->transport(PATIENCE_S);
            $transport->send(new Envelope(new Note('a')));
            $count = 0;
            $failures = $this->work($transport, 2, function () use (&$count): void {
                $count++;
                $count > 1 || throw new \RuntimeException('it fails once');
            });
            self::equal([$count, $failures], [2, ['retried 0']]);
        }

        public function twoConsumersShareMessages(): void
        {
            $transport = $this->transport();
            for ($number = 100; $number < 100 + self::SHARED_MESSAGES; $number++) {
                $transport->send(new Envelope(new Note("$number")));
            }
            $consume = function (): string {
                $transport = $this->transport();
                $seen = [];
                while ($envelopes = $transport->get()) {
                    [$envelope] = $envelopes;
                    $seen[] = $envelope->getMessage()->text;
                    $transport->ack($envelope);
                }

                return implode(' ', $seen);
            };
            $consumers = [self::inProcess($consume), self::inProcess($consume)];
            $seen = array_map(fn (callable $consumer) => explode(' ', $consumer()), $consumers);
            $seen = array_values(array_filter(array_merge(...$seen)));
            sort($seen);
            self::equal($seen, array_map('strval', range(100, 99 + self::SHARED_MESSAGES)));
        }

        /** A transport for the check's tube; `get` waits for so many seconds. */
        private function transport(int $timeoutS = 0): BeanstalkdTransport
        {
            $dsn = "beanstalkd://$this->host:$this->port";
            $options = ['tube_name' => $this->tube, 'timeout' => $timeoutS, 'ttr' => self::TTR_S, 'transport_name' => 'async'];
            $factory = new BeanstalkdTransportFactory();
            self::isTrue($factory->supports($dsn, $options), 'the factory supports the address');

            return $factory->createTransport($dsn, $options, new PhpSerializer());
        }

        private function next(BeanstalkdTransport $transport, string $text): Envelope
        {
            $envelopes = $transport->get();
            self::equal(count($envelopes), 1, 'the number of messages');
            self::equal($envelopes[0]->getMessage()->text, $text, 'the message');

            return $envelopes[0];
        }

        /**
         * Messenger's worker handles so many messages; each is retried twice, a second later.
         *
         * @return list<string> What failed, and after how many retries
         */
        private function work(BeanstalkdTransport $transport, int $messages, callable $handler): array
        {
            $failures = [];
            $events = new EventDispatcher();
            $strategies = new Locator(['async' => new MultiplierRetryStrategy(2, 1000, 1)]);
            $events->addSubscriber(new SendFailedMessageForRetryListener(new Locator(['async' => $transport]), $strategies));
            $events->addSubscriber(new StopWorkerOnMessageLimitListener($messages));
            $events->addSubscriber(new StopWorkerOnTimeLimitListener(PATIENCE_S));
            $events->addListener(WorkerMessageFailedEvent::class, function (WorkerMessageFailedEvent $event) use (&$failures): void {
                $retries = RedeliveryStamp::getRetryCountFromEnvelope($event->getEnvelope());
                $failures[] = ($event->willRetry() ? 'retried ' : 'failed ') . $retries;
            });
            $bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([Note::class => [$handler]]))]);
            (new Worker(['async' => $transport], $bus, $events))->run();

            return $failures;
        }

        /** @return array<string, string> the number of the tube's jobs in each state */
        private function counts(): array
        {
            // The tube exists as long as a connection uses it.
            $found = $this->pheanstalk()->useTube($this->tube)->statsTube($this->tube);
            $states = ['ready', 'reserved', 'delayed', 'buried'];

            return array_combine($states, array_map(fn (string $state) => $found["current-jobs-$state"], $states));
        }

        private function pheanstalk(): Pheanstalk
        {
            return Pheanstalk::create($this->host, $this->port);
        }
    }

    (new SymfonyChecks($argv[1], (int) $argv[2]))->run('symfony', 'php-symfony-beanstalkd-messenger');
}
