<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\Backoff;
use Adjourn\Client;
use Adjourn\Error\AdjournError;
use Adjourn\Error\AdjournException;
use Adjourn\Error\LeaseLost;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\Paused;
use Adjourn\Error\Server\Reserved;
use Adjourn\Error\Server\StaleLease;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\Job;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\NewJob;
use Adjourn\PushResult;
use Adjourn\U64;
use Adjourn\Worker\StopSignals;
use Psr\Log\LoggerInterface;
use Psr\Log\NullLogger;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Exception\InvalidArgumentException;
use Symfony\Component\Messenger\Exception\LogicException;
use Symfony\Component\Messenger\Exception\MessageDecodingFailedException;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Stamp\RedeliveryStamp;
use Symfony\Component\Messenger\Stamp\TransportMessageIdStamp;
use Symfony\Component\Messenger\Transport\Receiver\ListableReceiverInterface;
use Symfony\Component\Messenger\Transport\Receiver\MessageCountAwareInterface;
use Symfony\Component\Messenger\Transport\Receiver\QueueReceiverInterface;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Transport\SetupableTransportInterface;
use Symfony\Component\Messenger\Transport\TransportInterface;

/**
 * Messenger on Adjourn. A transport has one topic; a worker may name others with --queues.
 *
 * Messenger's retry strategy decides about attempts and their delays. So each message says that it has no limit of attempts and no
 * backoff, which overrides the defaults of the topic and of the server.
 */
class AdjournTransport implements
    TransportInterface,
    QueueReceiverInterface,
    ListableReceiverInterface,
    MessageCountAwareInterface,
    SetupableTransportInterface
{
    private readonly StopSignals $signals;

    public function __construct(
        protected readonly Client $client,
        private readonly SerializerInterface $serializer,
        private readonly string $topic,
        private readonly ?int $ttrMs = null,
        private readonly int $waitMs = 0,
        private readonly LoggerInterface $logger = new NullLogger(),
    ) {
        $this->signals = new StopSignals($client);
    }

    public function send(Envelope $envelope): Envelope
    {
        $stamp = $envelope->last(AdjournStamp::class);
        // Messenger sends a retry before it rejects the message. Under the same key the retry would be taken for the
        // message itself, and be lost with it.
        $isRetry = $envelope->last(RedeliveryStamp::class) !== null;
        $key = $isRetry ? null : $stamp?->key;
        $delayMs = $envelope->last(DelayStamp::class)?->getDelay();
        if (!$isRetry && $delayMs !== null && $stamp?->at !== null) {
            throw new InvalidArgumentException('A message is due after a delay or at a time: give it a DelayStamp, or "at" in its AdjournStamp.');
        }
        $job = fn (?string $key): NewJob => new NewJob(
            body: Body::pack($this->serializer->encode($envelope)),
            delayMs: $delayMs === null ? null : max(0, $delayMs),
            at: $delayMs === null ? $stamp?->at : null,
            key: $key,
            ifExists: $key === null ? IfExists::Reject : $stamp->ifExists ?? IfExists::Replace,
            ttrMs: $stamp?->ttrMs ?? $this->ttrMs,
            priority: $stamp?->priority,
            // What is sent again, such as a retry, stays in its trace.
            headers: ['content-type' => 'application/json'] + ($envelope->last(AdjournReceivedStamp::class)?->job->headers ?? []),
            attemptsMax: NewJob::ATTEMPTS_UNLIMITED,
            backoff: Backoff::fixed(0),
            // The property is missing in a stamp that an older version serialized.
            group: $stamp?->group ?? null,
        );
        try {
            $pushed = $this->push($job, $key, $stamp);
        } catch (AdjournException $error) {
            throw new TransportException($error->getMessage(), 0, $error);
        }

        return $envelope->with(new TransportMessageIdStamp(U64::toString($pushed->job)));
    }

    public function get(): iterable
    {
        return $this->getFromQueues([$this->topic]);
    }

    public function getFromQueues(array $queueNames): iterable
    {
        $stop = $this->signals->watch();
        try {
            $jobs = $this->client->reserve(array_values($queueNames), $this->waitMs, cancel: $stop);
        } catch (Paused) {
            return [];
        } catch (AdjournException $error) {
            if ($stop->isCancelled()) {
                // The worker ends in order, without messages.
                return [];
            }
            throw new TransportException($error->getMessage(), 0, $error);
        }
        $envelopes = [];
        foreach ($jobs as $job) {
            try {
                $envelopes[] = $this->decode($job->body, $job->id, $job);
            } catch (MessageDecodingFailedException $error) {
                // No attempt can help, and an exception here would end the worker. An operator sees it among the buried jobs.
                $this->logger->critical("adjourn: job {$job->lease} cannot be decoded, and is buried.", ['exception' => $error]);
                $this->settle($job->lease, static fn () => $job->bury($error->getMessage()));
            }
        }

        return $envelopes;
    }

    public function ack(Envelope $envelope): void
    {
        $this->remove($envelope);
    }

    public function reject(Envelope $envelope): void
    {
        // What is to be tried again was sent again before.
        $this->remove($envelope);
    }

    public function all(?int $limit = null): iterable
    {
        $filter = new Filter($this->topic, [JobState::Delayed, JobState::Ready]);
        foreach ($this->client->list($filter, withBodies: true) as $report) {
            if ($limit !== null && --$limit < 0) {
                return;
            }
            try {
                yield $this->shown($report);
            } catch (MessageDecodingFailedException $error) {
                $this->logger->error("adjourn: job $report->id cannot be decoded.", ['exception' => $error]);
            }
        }
    }

    public function find($id): ?Envelope
    {
        try {
            $report = $this->client->get(U64::parse((string) $id));
        } catch (NotFound) {
            return null;
        } catch (AdjournException $error) {
            throw new TransportException($error->getMessage(), 0, $error);
        }

        return $report->topic !== $this->topic || $report->state === JobState::Finished ? null : $this->shown($report);
    }

    /** Messages that wait: delayed ones, too. */
    public function getMessageCount(): int
    {
        return $this->client->count(new Filter($this->topic, [JobState::Delayed, JobState::Ready]));
    }

    /** There is nothing to set up: a topic is created with its first job. This shows early that no server answers. */
    public function setup(): void
    {
        try {
            $this->client->connect();
        } catch (AdjournException $error) {
            throw new TransportException($error->getMessage(), 0, $error);
        }
    }

    public function client(): Client
    {
        return $this->client;
    }

    protected function received(Envelope $envelope): AdjournReceivedStamp
    {
        return $envelope->last(AdjournReceivedStamp::class)
            ?? throw new LogicException('The envelope was not received from this transport.');
    }

    /** @param callable(?string): NewJob $job */
    private function push(callable $job, ?string $key, ?AdjournStamp $stamp): PushResult
    {
        try {
            return $this->client->push($this->topic, $job($key));
        } catch (Reserved $error) {
            // The message with this key is being handled, and will be gone when it is acknowledged. This one must not go with it.
            return $stamp?->ifExists === null ? $this->client->push($this->topic, $job(null)) : throw $error;
        }
    }

    private function remove(Envelope $envelope): void
    {
        $received = $this->received($envelope);
        if ($received->job !== null) {
            $this->settle($received->job->lease, $received->job->finish(...));

            return;
        }
        try {
            $this->client->delete($received->id);
        } catch (NotFound) {
            // Somebody else was faster.
        } catch (AdjournException $error) {
            throw new TransportException($error->getMessage(), 0, $error);
        }
    }

    /** A stale lease is no error of the worker: another one has the message. */
    private function settle(\Stringable $lease, callable $settle): void
    {
        try {
            $settle();
        } catch (LeaseLost|StaleLease $error) {
            $this->logger->warning("adjourn: the lease $lease was over before its message was settled: {$error->getMessage()}");
        } catch (AdjournError $error) {
            if (!$this->signals->haveCome()) {
                throw new TransportException($error->getMessage(), 0, $error);
            }
            // The worker ends in order. The message comes back when its lease ends.
            $this->logger->error("adjourn: the message under the lease $lease was not settled: {$error->getMessage()}");
        }
    }

    private function shown(JobReport $report): Envelope
    {
        return $this->decode($report->body, $report->id, null);
    }

    private function decode(string $body, int $id, ?Job $job): Envelope
    {
        return $this->serializer->decode(Body::unpack($body))->with(
            new AdjournReceivedStamp($id, $job),
            new TransportMessageIdStamp(U64::toString($id)),
        );
    }
}
