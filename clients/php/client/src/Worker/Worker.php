<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\CancelToken;
use Adjourn\Client;
use Adjourn\Connection\Clock;
use Adjourn\Connection\SystemClock;
use Adjourn\Error\AdjournError;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\LeaseLost;
use Adjourn\Error\Server\StaleLease;
use Adjourn\Job;
use Adjourn\LeaseEnd;
use Adjourn\Release;
use Psr\Log\LoggerInterface;

/**
 * Calls a handler for each job of some topics, one after the other. For more at once, run more processes.
 *
 * | the handler | the job |
 * |---|---|
 * | returns | is finished, unless the handler settled it |
 * | throws | is released as a failed attempt, and waits for its backoff; the message is its reason |
 * | throws TryAgain | is released as a failed attempt, and waits for the time in it |
 * | throws Bury | is buried |
 * | loses its lease | is left alone: another consumer may have it |
 */
final class Worker
{
    private const RETRY_MS_MIN = 100;
    private const RETRY_MS_MAX = 5000;
    private const PAUSE_STEP_MS = 50;
    private const LAST_ALARM_S = 2;
    /** For how long the job of a handler that was stopped may take to be settled. */
    private const LAST_SETTLE_MS = 1000;

    private readonly WorkerOptions $options;
    private readonly FailureLog $failures;
    private CancelToken $stopping;
    private ?int $stopAtMs = null;
    /** @var list<Job> */
    private array $waiting = [];
    private ?Job $current = null;
    private int $startedMs = 0;
    private ?int $answeredMs = null;
    private int $finished = 0;
    private int $failed = 0;
    private int $lost = 0;
    private bool $isRunning = false;
    private bool $hasFailedToReserve = false;
    private int $alarmsTooLate = 0;
    private bool $isEndingProcess = false;

    public function __construct(
        private readonly Client $client,
        ?WorkerOptions $options = null,
        private readonly LoggerInterface $logger = new ErrorLog(),
        private readonly Clock $clock = new SystemClock(),
    ) {
        $this->options = $options ?? new WorkerOptions();
        $this->failures = new FailureLog($logger, $clock);
        $this->stopping = new CancelToken();
    }

    /**
     * Works until it is told to stop.
     *
     * @param string|list<string>|array<string, int> $topics one topic, several, or topics with their weights
     * @param callable(Job, Context): mixed $handler
     * @return int how many jobs were handled
     * @throws AdjournError if there is no hope, for example because the token is wrong
     */
    public function run(string|array $topics, callable $handler): int
    {
        $signals = new Signals();
        $this->isRunning = true;
        $handled = $this->finished + $this->failed + $this->lost;
        $this->client->adopt($this);
        try {
            $this->listen($signals);
            $this->work($topics, $this->pipeline($handler));
        } finally {
            $this->isRunning = false;
            $this->giveBack();
            $signals->restore();
            $this->client->session()->endCallsBy(null);
            $this->client->disown($this);
        }

        return $this->finished + $this->failed + $this->lost - $handled;
    }

    /**
     * Takes nothing new, lets the handler end within this time (stopMs by default), and gives back what was not started. Signal
     * handlers may call it.
     */
    public function stop(?int $withinMs = null): void
    {
        $withinMs ??= $this->options->stopMs;
        $this->stopAtMs ??= $this->clock->nowMs() + $withinMs;
        $this->stopping->cancel();
        // A server that does not answer must not hold up the end.
        $session = $this->client->session();
        $session->endCallsBy($session->clock->nowMs() + $withinMs + self::LAST_SETTLE_MS);
        if ($this->options->handlesSignals && $this->isRunning && function_exists('pcntl_alarm')) {
            pcntl_alarm(max(1, intdiv($withinMs + 999, 1000)));
        }
    }

    public function health(): Health
    {
        $isAtWork = $this->current !== null || ($this->client->isConnected() && !$this->hasFailedToReserve);

        return new Health(
            isConsuming: $this->isRunning && !$this->stopping->isCancelled() && $isAtWork,
            isStopping: $this->stopping->isCancelled(),
            answeredMsAgo: $this->answeredMs === null ? null : $this->clock->nowMs() - $this->answeredMs,
            finished: $this->finished,
            failed: $this->failed,
            lost: $this->lost,
            currentJob: $this->current?->id,
        );
    }

    /** @internal See Context::tick. */
    public function tick(): void
    {
        $job = $this->current;
        if ($job === null) {
            return;
        }
        $session = $this->client->session();
        if ($session->isBusy()) {
            // A signal came while the handler itself uses the client. The next tick looks again.
            return;
        }
        if ($session->isConnected()) {
            $session->step($this->clock->nowMs());
        }
        $now = $this->clock->nowMs();
        if ($this->stopAtMs !== null && $now >= $this->stopAtMs) {
            throw new Stopped('The worker stops.');
        }
        if ($this->options->maxRunMs !== null && $now - $this->startedMs >= $this->options->maxRunMs) {
            throw new RunTooLong("The handler has run for {$this->options->maxRunMs} ms.");
        }
        $job->throwIfLost();
        if (self::isHalfOver($job)) {
            $this->touch($job);
        }
        $this->giveBackHalfOver();
    }

    /** @param string|list<string>|array<string, int> $topics */
    private function work(string|array $topics, callable $pipeline): void
    {
        $retryMs = self::RETRY_MS_MIN;
        for ($jobs = 0; !$this->stopping->isCancelled() && $jobs !== $this->options->maxJobs;) {
            if ($this->waiting === []) {
                try {
                    $this->waiting = $this->client->reserve(
                        $topics,
                        $this->options->stopsWhenEmpty ? 0 : $this->options->waitMs,
                        1 + $this->options->prefetch,
                        $this->stopping,
                    );
                    $this->answeredMs = $this->clock->nowMs();
                    $this->hasFailedToReserve = false;
                    $retryMs = self::RETRY_MS_MIN;
                } catch (AdjournError $error) {
                    if (!$error->isRetryable) {
                        throw $error;
                    }
                    if (!$this->hasFailedToReserve) {
                        $this->logger->warning("adjourn: no jobs for now: {$error->getMessage()}");
                    }
                    $this->hasFailedToReserve = true;
                    $this->pause(max($error->retryAfterMs, random_int(0, $retryMs)));
                    $retryMs = min(2 * $retryMs, self::RETRY_MS_MAX);
                }
                if ($this->waiting === [] && $this->options->stopsWhenEmpty && !$this->hasFailedToReserve) {
                    return;
                }
            }
            $this->giveBackHalfOver();
            $job = $this->stopping->isCancelled() ? null : array_shift($this->waiting);
            if ($job !== null && !$job->isLost()) {
                $this->handle($job, $pipeline);
                ++$jobs;
            }
        }
    }

    private function handle(Job $job, callable $pipeline): void
    {
        $this->startedMs = $this->clock->nowMs();
        $error = null;
        try {
            $this->current = $job;
            $pipeline($job);
            $this->current = null;
        } catch (\Throwable $error) {
            $this->current = null;
        }
        try {
            $this->settle($job, $error);
        } catch (LeaseLost|StaleLease $late) {
            ++$this->lost;
            $this->logger->warning("adjourn: job $job->lease: {$late->getMessage()} Its result settles nothing.");
        } catch (AdjournError $late) {
            ++$this->failed;
            $this->logger->error("adjourn: job $job->lease could not be settled: {$late->getMessage()}");
        }
        if ($this->client->isConnected()) {
            $this->answeredMs = $this->clock->nowMs();
        }
    }

    private function settle(Job $job, ?\Throwable $error): void
    {
        if ($error === null) {
            if (!$job->isSettled()) {
                $job->finish();
            }
            ++$this->finished;

            return;
        }
        if ($error instanceof LeaseLost) {
            throw $error;
        }
        $reason = $error->getMessage() !== '' ? $error->getMessage() : $error::class;
        $this->failures->failed($job, $reason, $error);
        if (!$job->isSettled()) {
            match (true) {
                $error instanceof Bury => $job->bury($reason),
                $error instanceof TryAgain => $job->release(Release::afterMs($error->afterMs), $error->getMessage()),
                default => $job->release(Release::backoff(), $reason),
            };
        }
        ++$this->failed;
    }

    private function touch(Job $job): void
    {
        try {
            $job->touch();
        } catch (StaleLease) {
            throw new LeaseLost(LeaseEnd::Stale, "The lease $job->lease is over: " . LeaseEnd::Stale->value . '.');
        } catch (LeaseLost $lost) {
            throw $lost;
        } catch (AdjournError $error) {
            // The lease runs on; the next tick tries again.
            $this->logger->warning("adjourn: job $job->lease was not touched: {$error->getMessage()}");
        }
    }

    private function pipeline(callable $handler): callable
    {
        $context = new Context($this);
        $next = static fn (Job $job): mixed => $handler($job, $context);
        foreach (array_reverse($this->options->middleware) as $middleware) {
            $inner = $next;
            $next = static fn (Job $job): mixed => $middleware($job, $inner);
        }

        return fn (Job $job): mixed => $this->client->options()->tracing->process($job, static fn (): mixed => $next($job));
    }

    private function listen(Signals $signals): void
    {
        if ($this->options->handlesSignals && function_exists('pcntl_signal')) {
            foreach ([SIGTERM, SIGINT] as $signal) {
                $signals->handle($signal, function (): void {
                    $this->isEndingProcess = true;
                    $this->stop();
                });
            }
            $signals->handle(SIGALRM, $this->alarmed(...));
        }
        if ($this->options->usesAlarm) {
            $signals->handle(SIGALRM, $this->alarmed(...));
            pcntl_alarm(1);
        }
    }

    private function alarmed(): void
    {
        $isOver = $this->stopAtMs !== null && $this->clock->nowMs() >= $this->stopAtMs;
        if ($isOver && ++$this->alarmsTooLate > 1) {
            // What runs ignores that it has to stop. The next alarm ends the process, without asking PHP.
            pcntl_signal(SIGALRM, SIG_DFL);
            pcntl_alarm(self::LAST_ALARM_S);
        } elseif ($this->options->usesAlarm || $this->stopAtMs !== null) {
            pcntl_alarm(1);
        }
        $this->tick();
    }

    private function pause(int $ms): void
    {
        for ($until = $this->clock->nowMs() + $ms; !$this->stopping->isCancelled();) {
            $left = $until - $this->clock->nowMs();
            if ($left <= 0) {
                return;
            }
            $this->clock->sleepMs(min($left, self::PAUSE_STEP_MS));
        }
    }

    /** No attempt counts for a job that no handler has started. */
    private function giveBack(): void
    {
        $jobs = $this->waiting;
        $this->waiting = [];
        $this->release($jobs);
        if ($this->isEndingProcess) {
            $left = max(1, ($this->stopAtMs ?? 0) - $this->clock->nowMs());
            $this->client->close(min($left, $this->options->stopMs));
        }
    }

    /** No lease is to end in memory, where it would count as an attempt: a job that waits goes to others at half of it. */
    private function giveBackHalfOver(): void
    {
        $over = array_filter($this->waiting, self::isHalfOver(...));
        if ($over !== []) {
            $this->waiting = array_values(array_diff_key($this->waiting, $over));
            $this->release($over);
        }
    }

    /** @param array<Job> $jobs that no handler has started */
    private function release(array $jobs): void
    {
        $held = array_values(array_filter($jobs, static fn (Job $job): bool => !$job->isLost()));
        try {
            $refusals = array_filter($this->client->releaseMany($held, Release::notStarted()));
        } catch (AdjournError $error) {
            $refusals = [$error];
        }
        foreach ($refusals as $error) {
            $this->logger->warning("adjourn: a job was not given back: {$error->getMessage()}");
        }
    }

    private static function isHalfOver(Job $job): bool
    {
        return $job->leftMs() <= intdiv($job->ownMs(), 2);
    }
}
