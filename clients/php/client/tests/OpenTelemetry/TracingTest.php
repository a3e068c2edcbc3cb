<?php

declare(strict_types=1);

namespace Adjourn\Tests\OpenTelemetry;

use Adjourn\Backoff;
use Adjourn\Client;
use Adjourn\Error\Server\KeyExists;
use Adjourn\IfExists;
use Adjourn\Job;
use Adjourn\NewJob;
use Adjourn\OpenTelemetry\Tracing;
use Adjourn\Options;
use Adjourn\Testing\WithAdjourn;
use Adjourn\Tests\Lines;
use Adjourn\Worker\Bury;
use Adjourn\Worker\TryAgain;
use Adjourn\Worker\Worker;
use Adjourn\Worker\WorkerOptions;
use OpenTelemetry\API\Baggage\Baggage;
use OpenTelemetry\API\Baggage\Propagation\BaggagePropagator;
use OpenTelemetry\API\Trace\Propagation\TraceContextPropagator;
use OpenTelemetry\API\Trace\Span;
use OpenTelemetry\API\Trace\SpanKind;
use OpenTelemetry\API\Trace\TracerInterface;
use OpenTelemetry\Context\Context;
use OpenTelemetry\Context\Propagation\MultiTextMapPropagator;
use OpenTelemetry\Context\Propagation\TextMapPropagatorInterface;
use OpenTelemetry\SDK\Sdk;
use OpenTelemetry\SDK\Trace\ImmutableSpan;
use OpenTelemetry\SDK\Trace\SpanExporter\InMemoryExporter;
use OpenTelemetry\SDK\Trace\SpanProcessor\SimpleSpanProcessor;
use OpenTelemetry\SDK\Trace\SpanProcessorInterface;
use OpenTelemetry\SDK\Trace\TracerProvider;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

/** With the SDK of OpenTelemetry. `ADJOURN_OPENTELEMETRY` names an autoload file that has it: see `clients/php/test`. */
final class TracingTest extends TestCase
{
    use WithAdjourn;

    private const TRACE = '0af7651916cd43dd8448eb211c80319c';

    private InMemoryExporter $exporter;
    private TracerProvider $provider;
    private TracerInterface $tracer;
    private Client $client;

    public static function setUpBeforeClass(): void
    {
        require_once getenv('ADJOURN_OPENTELEMETRY');
    }

    protected function setUp(): void
    {
        $this->exporter = new InMemoryExporter();
        $this->provider = new TracerProvider(new SimpleSpanProcessor($this->exporter));
        $this->tracer = $this->provider->getTracer('shop');
        $propagator = new MultiTextMapPropagator([TraceContextPropagator::getInstance(), BaggagePropagator::getInstance()]);
        $this->client = new Client(new Options($this->adjourn()->address, tracing: new Tracing($this->provider, $propagator)));
    }

    public function testATraceGoesFromPushToHandlerAndOn(): void
    {
        $baggage = Baggage::getBuilder()->set('shop', 'ann')->build()->activate();
        $id = $this->inSpan('order', fn (): ?int => $this->client->push('emails', 'x', delayMs: 900_000)->job);
        $baggage->detach();
        $this->adjourn()->advance('15m');
        $shop = null;
        $this->work('emails', function () use (&$shop): void {
            $shop = Baggage::getCurrent()->getValue('shop');
            $this->inSpan('smtp', static fn () => null);
        });
        self::assertSame('ann', $shop);
        self::assertFalse(Span::getCurrent()->getContext()->isValid(), 'The span of the handler is current.');
        // In the order of their ends.
        [$push, $order, $smtp, $process] = $this->spans();
        self::assertSame(['push emails', 'order', 'smtp', 'process emails'], array_map(self::name(...), [$push, $order, $smtp, $process]));
        self::assertSame([SpanKind::KIND_PRODUCER, SpanKind::KIND_CONSUMER], [$push->getKind(), $process->getKind()]);
        foreach ([[$order, $push], [$push, $process], [$process, $smtp]] as [$parent, $child]) {
            self::assertSame([$parent->getSpanId(), $parent->getTraceId()], [$child->getParentSpanId(), $child->getTraceId()]);
        }
        $common = ['messaging.system' => 'adjourn'];
        $of = ['messaging.destination.name' => 'emails', 'messaging.message.id' => (string) $id];
        self::assertSame(
            $common + ['messaging.operation.name' => 'push', 'messaging.operation.type' => 'send'] + $of,
            $push->getAttributes()->toArray(),
        );
        self::assertSame(
            $common + ['messaging.operation.name' => 'process', 'messaging.operation.type' => 'process'] + $of + ['adjourn.attempt' => 1],
            $process->getAttributes()->toArray(),
        );
        self::assertSame(['Unset', 'Unset'], [$push->getStatus()->getCode(), $process->getStatus()->getCode()]);
    }

    public function testAHandlerThatFailsAndItsNextAttempt(): void
    {
        $this->client->push('emails', new NewJob('x', backoff: Backoff::fixed(0)));
        $handler = static fn (Job $job) => $job->attempts === 1 ? throw new \RuntimeException('No luck.') : null;
        $this->work('emails', $handler, jobs: 2);
        [$push, $failed, $fine] = $this->spans();
        self::assertSame(['Error', 'No luck.'], [$failed->getStatus()->getCode(), $failed->getStatus()->getDescription()]);
        self::assertSame(['exception'], array_map(static fn ($event): string => $event->getName(), $failed->getEvents()));
        self::assertSame(\RuntimeException::class, $failed->getAttributes()->get('error.type'));
        self::assertSame([1, 2], [$failed->getAttributes()->get('adjourn.attempt'), $fine->getAttributes()->get('adjourn.attempt')]);
        self::assertSame('Unset', $fine->getStatus()->getCode());
        self::assertSame([$push->getSpanId(), $push->getSpanId()], [$failed->getParentSpanId(), $fine->getParentSpanId()]);
    }

    public function testWhatAHandlerDecidesIsNoError(): void
    {
        $this->client->pushMany('emails', [new NewJob('later'), new NewJob('never'), new NewJob('self')]);
        $this->work('emails', static fn (Job $job) => match ($job->body) {
            'later' => throw new TryAgain(60_000, 'busy'),
            'never' => throw new Bury('useless'),
            'self' => $job->release(),
        }, jobs: 3);
        foreach (array_slice($this->spans(), 1) as $span) {
            self::assertSame(['Unset', []], [$span->getStatus()->getCode(), $span->getEvents()]);
        }
        self::assertCount(4, $this->spans());
    }

    public function testABatchIsOneSpanAndItsJobsAreInItsTrace(): void
    {
        $this->client->pushMany('emails', [new NewJob('a'), new NewJob('b')]);
        $this->work('emails', static fn () => null, jobs: 2);
        [$push, $a, $b] = $this->spans();
        self::assertSame([2, null], [$push->getAttributes()->get('messaging.batch.message_count'), $push->getAttributes()->get('messaging.message.id')]);
        self::assertSame([$push->getSpanId(), $push->getSpanId()], [$a->getParentSpanId(), $b->getParentSpanId()]);
    }

    public function testAPushThatIsRefusedOrFails(): void
    {
        $this->client->push('emails', 'x', key: 'order-17');
        try {
            $this->client->push('emails', 'x', key: 'order-17');
            self::fail('It is there.');
        } catch (KeyExists) {
        }
        $this->client->push('emails', 'x', key: 'order-17', ifExists: IfExists::Keep);
        $this->adjourn()->stop();
        $away = new Client(new Options($this->adjourn()->address, requestTimeoutMs: 50, tracing: new Tracing($this->provider, TraceContextPropagator::getInstance())));
        try {
            $away->push('emails', 'x');
            self::fail('Nobody is there.');
        } catch (\Adjourn\Error\AdjournError $error) {
        }
        $codes = array_map(static fn (ImmutableSpan $span): string => $span->getStatus()->getCode(), $this->spans());
        self::assertSame(['Unset', 'Error', 'Unset', 'Error'], $codes);
        $types = array_map(static fn (ImmutableSpan $span): ?string => $span->getAttributes()->get('error.type'), $this->spans());
        self::assertSame([null, 'KEY_EXISTS', null, $error::class], $types);
    }

    public function testAHeaderThatTheJobNamesWins(): void
    {
        $parent = '00-' . self::TRACE . '-b7ad6b7169203331-01';
        $baggage = Baggage::getBuilder()->set('shop', 'ann')->build()->activate();
        $this->client->push('emails', 'x', headers: ['traceparent' => $parent]);
        $baggage->detach();
        $headers = [];
        $this->work('emails', static function (Job $job) use (&$headers): void {
            $headers = $job->headers;
        });
        self::assertSame(['traceparent' => $parent], $headers);
        [, $process] = $this->spans();
        self::assertSame([self::TRACE, 'b7ad6b7169203331'], [$process->getTraceId(), $process->getParentSpanId()]);
    }

    public function testAJobWithoutATraceBeginsOne(): void
    {
        $this->adjourn()->client->push('emails', 'x');
        $this->inSpan('worker', fn () => $this->work('emails', static fn () => null));
        [$process, $worker] = $this->spans();
        self::assertSame('process emails', $process->getName());
        self::assertFalse($process->getParentContext()->isValid());
        self::assertNotSame($worker->getTraceId(), $process->getTraceId());
    }

    public function testAJobOfAnotherClientHasItsParentWhateverTheCase(): void
    {
        $this->adjourn()->client->push('emails', 'x', headers: ['1' => 'x', 'TraceParent' => '00-' . self::TRACE . '-b7ad6b7169203331-01']);
        $this->work('emails', static fn () => null);
        self::assertSame(self::TRACE, $this->spans()[0]->getTraceId());
    }

    /** @dataProvider faults */
    public function testAFaultOfTracingChangesNothingElse(?string $processor, ?string $propagator, array $spans): void
    {
        $log = new Lines();
        $faulty = $this->createStub(SpanProcessorInterface::class);
        $processor !== null && $faulty->method($processor)->willThrowException(new \LogicException('Full.'));
        $fields = $this->createStub(TextMapPropagatorInterface::class);
        $fields->method('extract')->willReturn(Context::getRoot());
        $propagator !== null && $fields->method($propagator)->willThrowException(new \LogicException('Full.'));
        $provider = new TracerProvider([$faulty, new SimpleSpanProcessor($this->exporter)]);
        $this->client = new Client(new Options($this->adjourn()->address, tracing: new Tracing($provider, $fields, $log)));
        $this->client->push('emails', 'x', key: 'a');
        try {
            $this->client->push('emails', 'x', key: 'a');
            self::fail('It is there.');
        } catch (KeyExists) {
        }
        $bodies = [];
        $worker = new Worker($this->client, new WorkerOptions(stopsWhenEmpty: true), new NullLogger());
        $worker->run('emails', static function (Job $job) use (&$bodies): void {
            $bodies[] = $job->body;
        });
        self::assertSame([['x'], 1, 0], [$bodies, $worker->health()->finished, $worker->health()->failed]);
        self::assertSame(['warning: adjourn: tracing failed; more faults of it are not logged: Full.'], $log->lines);
        self::assertSame($spans, array_map(self::name(...), $this->spans()));
        self::assertFalse(Span::getCurrent()->getContext()->isValid());
    }

    public static function faults(): iterable
    {
        yield 'at the start' => ['onStart', null, []];
        yield 'at the end' => ['onEnd', null, []];
        yield 'of inject' => [null, 'inject', ['push emails', 'push emails', 'process emails']];
        yield 'of extract' => [null, 'extract', ['push emails', 'push emails', 'process emails']];
    }

    public function testTheExampleOfTheReadme(): void
    {
        $scope = Sdk::builder()->setTracerProvider($this->provider)->setPropagator(TraceContextPropagator::getInstance())->buildAndRegisterGlobal();
        $server = substr($this->adjourn()->address, strlen('adjourn://'));
        preg_match('/^<!-- traces -->\n```php\n(.*?)^```/ms', file_get_contents(__DIR__ . '/../../README.md'), $code);
        try {
            eval(str_replace('127.0.0.1:7440', $server, $code[1]));
            $this->adjourn()->advance('30m');
            $worker = new Worker($queue, new WorkerOptions(maxJobs: 1));
            $worker->run('emails', static fn () => null);
        } finally {
            $scope->detach();
        }
        [$push, $process] = $this->spans();
        self::assertSame(['push emails', 'process emails'], [$push->getName(), $process->getName()]);
        self::assertSame($push->getSpanId(), $process->getParentSpanId());
    }

    private function work(string $topic, \Closure $handler, int $jobs = 1): void
    {
        $worker = new Worker($this->client, new WorkerOptions(maxJobs: $jobs), new NullLogger());
        $worker->run($topic, $handler);
    }

    private function inSpan(string $name, \Closure $code): mixed
    {
        $span = $this->tracer->spanBuilder($name)->startSpan();
        $scope = $span->activate();
        try {
            return $code();
        } finally {
            $scope->detach();
            $span->end();
        }
    }

    /** @return list<ImmutableSpan> */
    private function spans(): array
    {
        return $this->exporter->getSpans();
    }

    private static function name(ImmutableSpan $span): string
    {
        return $span->getName();
    }
}
