<?php

declare(strict_types=1);

namespace Adjourn\OpenTelemetry;

use Adjourn\Error\AdjournError;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ServerError;
use Adjourn\Job;
use Adjourn\PushResult;
use Adjourn\TracingFaults;
use Adjourn\U64;
use Adjourn\Worker\Bury;
use Adjourn\Worker\ErrorLog;
use Adjourn\Worker\TryAgain;
use OpenTelemetry\API\Globals;
use OpenTelemetry\API\Trace\Span;
use OpenTelemetry\API\Trace\SpanInterface;
use OpenTelemetry\API\Trace\SpanKind;
use OpenTelemetry\API\Trace\StatusCode;
use OpenTelemetry\API\Trace\TracerInterface;
use OpenTelemetry\API\Trace\TracerProviderInterface;
use OpenTelemetry\Context\Context;
use OpenTelemetry\Context\ContextInterface;
use OpenTelemetry\Context\Propagation\TextMapPropagatorInterface;
use OpenTelemetry\Context\ScopeInterface;
use Psr\Log\LoggerInterface;

/**
 * Spans of OpenTelemetry, by its conventions for messaging: `push {topic}` around a push, and `process {topic}` around a handler, which is its child
 * in the same trace. It needs `open-telemetry/api`.
 */
final class Tracing implements \Adjourn\Tracing
{
    private readonly TracerInterface $tracer;
    private readonly TextMapPropagatorInterface $propagator;
    private readonly TracingFaults $faults;

    /**
     * Without arguments, it uses those that the application has configured globally.
     *
     * @param LoggerInterface $logger gets the first fault of a tracer or propagator
     */
    public function __construct(
        ?TracerProviderInterface $tracers = null,
        ?TextMapPropagatorInterface $propagator = null,
        LoggerInterface $logger = new ErrorLog(),
    ) {
        $this->tracer = ($tracers ?? Globals::tracerProvider())->getTracer('adjourn/client');
        $this->propagator = $propagator ?? Globals::propagator();
        $this->faults = new TracingFaults($logger);
    }

    public function push(string $topic, ?int $jobs, \Closure $push): array
    {
        [$span, $context] = $this->start(Context::getCurrent(), SpanKind::KIND_PRODUCER, 'push', 'send', $topic, self::count($jobs));
        $headers = $this->faults->guard(function () use ($context): array {
            $headers = [];
            $this->propagator->inject($headers, null, $context);

            return $headers;
        }, []);
        try {
            $results = $push($headers);
        } catch (\Throwable $error) {
            $this->end($span, $error);
            throw $error;
        }
        $this->faults->guard(static fn () => $span->setAttributes(count($results) === 1 ? self::id($results[0]->job) : self::count(count($results))));
        $this->end($span, self::refusal($results));

        return $results;
    }

    public function process(Job $job, \Closure $handle): mixed
    {
        // A job without a trace begins one: that of the worker does not end.
        $parent = $this->faults->guard(fn (): ContextInterface => $this->propagator->extract($job->headers, null, Context::getRoot()), Context::getRoot());
        $attributes = self::id($job->id) + ['adjourn.attempt' => $job->attempts];
        [$span, $context] = $this->start($parent, SpanKind::KIND_CONSUMER, 'process', 'process', $job->topic, $attributes);
        $scope = $this->faults->guard(static fn (): ScopeInterface => $context->activate());
        $failure = null;
        try {
            return $handle();
        } catch (Bury|TryAgain $decision) {
            throw $decision;
        } catch (\Throwable $failure) {
            throw $failure;
        } finally {
            $this->faults->guard(static fn () => $scope?->detach());
            $this->end($span, $failure);
        }
    }

    /**
     * @param SpanKind::KIND_* $kind
     * @param array<string, int|string> $attributes
     * @return array{SpanInterface, ContextInterface} a span, and the context with it
     */
    private function start(ContextInterface $parent, int $kind, string $name, string $type, string $topic, array $attributes): array
    {
        return $this->faults->guard(function () use ($parent, $kind, $name, $type, $topic, $attributes): array {
            $span = $this->tracer->spanBuilder("$name $topic")
                ->setParent($parent)
                ->setSpanKind($kind)
                ->setAttributes([
                    'messaging.system' => 'adjourn',
                    'messaging.operation.name' => $name,
                    'messaging.operation.type' => $type,
                    'messaging.destination.name' => $topic,
                ] + $attributes)
                ->startSpan();

            return [$span, $span->storeInContext($parent)];
        }, [Span::getInvalid(), $parent]);
    }

    private function end(SpanInterface $span, ?\Throwable $error): void
    {
        if ($error !== null) {
            $this->faults->guard(static fn () => $span->recordException($error)
                ->setAttribute('error.type', self::type($error))
                ->setStatus(StatusCode::STATUS_ERROR, $error->getMessage()));
        }
        $this->faults->guard($span->end(...));
    }

    /** @return array<string, string> */
    private static function id(?int $job): array
    {
        return $job === null ? [] : ['messaging.message.id' => U64::toString($job)];
    }

    /** @return array<string, int> */
    private static function count(?int $jobs): array
    {
        return $jobs === null || $jobs === 1 ? [] : ['messaging.batch.message_count' => $jobs];
    }

    /**
     * The first refusal stands for all.
     *
     * @param list<PushResult> $results
     */
    private static function refusal(array $results): ?AdjournError
    {
        foreach ($results as $result) {
            if (($error = $result->error()) !== null) {
                return $error;
            }
        }

        return null;
    }

    /** The code of an error of the queue, such as KEY_EXISTS; otherwise the class. */
    private static function type(\Throwable $error): string
    {
        $code = match (true) {
            $error instanceof ServerError => $error->errorCode(),
            $error instanceof OutcomeUnknown => ErrorCode::OutcomeUnknown,
            default => null,
        };

        return $code === null ? get_debug_type($error) : strtoupper(preg_replace('/\B[A-Z]/', '_$0', $code->name));
    }
}
