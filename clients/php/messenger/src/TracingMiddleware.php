<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\SafeTracing;
use Adjourn\Tracing;
use Adjourn\Worker\ErrorLog;
use Psr\Log\LoggerInterface;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Middleware\MiddlewareInterface;
use Symfony\Component\Messenger\Middleware\StackInterface;

/** Handles messages from Adjourn in the traces in which they were sent. */
final readonly class TracingMiddleware implements MiddlewareInterface
{
    private Tracing $tracing;

    public function __construct(Tracing $tracing, LoggerInterface $logger = new ErrorLog())
    {
        $this->tracing = new SafeTracing($tracing, $logger);
    }

    public function handle(Envelope $envelope, StackInterface $stack): Envelope
    {
        $job = $envelope->last(AdjournReceivedStamp::class)?->job;
        $handle = static fn (): Envelope => $stack->next()->handle($envelope, $stack);

        return $job === null ? $handle() : $this->tracing->process($job, $handle);
    }
}
