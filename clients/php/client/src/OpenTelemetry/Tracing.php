<?php

declare(strict_types=1);

namespace Adjourn\OpenTelemetry;

use Adjourn\Job;
use Adjourn\PushResult;
use Adjourn\U64;
use Adjourn\Worker\Bury;
use Adjourn\Worker\TryAgain;
use OpenTelemetry\API\Globals;
use OpenTelemetry\API\Trace\SpanInterface;
use OpenTelemetry\API\Trace\SpanKind;
use OpenTelemetry\API\Trace\StatusCode;
use OpenTelemetry\API\Trace\TracerInterface;
use OpenTelemetry\API\Trace\TracerProviderInterface;
use OpenTelemetry\Context\Context;
use OpenTelemetry\Context\ContextInterface;
use OpenTelemetry\Context\Propagation\TextMapPropagatorInterface;

/**
 * Spans of OpenTelemetry, by its conventions for messaging: `push {topic}` around a push, and `process {topic}` around a handler, which is its child
 * in the same trace. It needs `open-telemetry/api`.
 */
final class Tracing implements \Adjourn\Tracing
{
    private readonly TracerInterface $tracer;
    private readonly TextMapPropagatorInterface $propagator;

    /** Without arguments, it uses those that the application has configured globally. */
    public function __construct(?TracerProviderInterface $tracers = null, ?TextMapPropagatorInterface $propagator = null)
    {
        $this->tracer = ($tracers ?? Globals::tracerProvider())->getTracer('adjourn/client');
        $this->propagator = $propagator ?? Globals::propagator();
    }

    public function push(string $topic, ?int $jobs, \Closure $push): array
    {
        $parent = Context::getCurrent();
        $span = $this->start($parent, SpanKind::KIND_PRODUCER, 'push', 'send', $topic, self::count($jobs));
        try {
            $headers = [];
            $this->propagator->inject($headers, null, $span->storeInContext($parent));
            $results = $push($headers);
            $span->setAttributes(count($results) === 1 ? self::id($results[0]->job) : self::count(count($results)));
            self::tellRefusal($span, $results);

            return $results;
        } catch (\Throwable $error) {
            self::fail($span, $error);
            throw $error;
        } finally {
            $span->end();
        }
    }

    public function process(Job $job, \Closure $handle): mixed
    {
        // A job without a trace begins one: that of the worker does not end.
        $parent = $this->propagator->extract($job->headers, null, Context::getRoot());
        $attributes = self::id($job->id) + ['adjourn.attempt' => $job->attempts];
        $span = $this->start($parent, SpanKind::KIND_CONSUMER, 'process', 'process', $job->topic, $attributes);
        $scope = $span->storeInContext($parent)->activate();
        try {
            return $handle();
        } catch (Bury|TryAgain $decision) {
            throw $decision;
        } catch (\Throwable $error) {
            self::fail($span, $error);
            throw $error;
        } finally {
            $scope->detach();
            $span->end();
        }
    }

    /**
     * @param SpanKind::KIND_* $kind
     * @param array<string, int|string> $attributes
     */
    private function start(ContextInterface $parent, int $kind, string $name, string $type, string $topic, array $attributes): SpanInterface
    {
        return $this->tracer->spanBuilder("$name $topic")
            ->setParent($parent)
            ->setSpanKind($kind)
            ->setAttributes([
                'messaging.system' => 'adjourn',
                'messaging.operation.name' => $name,
                'messaging.operation.type' => $type,
                'messaging.destination.name' => $topic,
            ] + $attributes)
            ->startSpan();
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
    private static function tellRefusal(SpanInterface $span, array $results): void
    {
        foreach ($results as $result) {
            if (($error = $result->error()) !== null) {
                self::fail($span, $error);

                return;
            }
        }
    }

    private static function fail(SpanInterface $span, \Throwable $error): void
    {
        $span->recordException($error)
            ->setAttribute('error.type', $error::class)
            ->setStatus(StatusCode::STATUS_ERROR, $error->getMessage());
    }
}
