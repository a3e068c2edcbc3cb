<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Client;
use Adjourn\Filter;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\Time;

/**
 * A queue for a test: a real server in memory, whose clock stands still until the test moves it. The code under test gets the address, or the client. It
 * ends with `stop`, with this object, and with the process.
 */
final class TestQueue
{
    /** For `new Client($address)`, and for the configuration of the code under test. */
    public readonly string $address;
    /** An ordinary client of it. */
    public readonly Client $client;
    private readonly Server $server;

    /** @throws NoServer */
    public function __construct()
    {
        $this->server = new Server();
        $this->address = $this->server->address;
        $this->client = new Client($this->address);
    }

    /** What the queue's clock shows. It starts with the machine's time. */
    public function now(): \DateTimeImmutable
    {
        return Time::at($this->client->ping()->nowMs);
    }

    /**
     * Moves the queue's clock. When this returns, all that is due by then is carried out: jobs are ready, and leases have ended.
     *
     * @param int|string|\DateInterval $by milliseconds, a text such as `15m` or `1h 30m`, or an interval
     * @return \DateTimeImmutable what the clock shows then
     */
    public function advance(int|string|\DateInterval $by): \DateTimeImmutable
    {
        return Time::at($this->client->advance(Duration::ms($by)));
    }

    /**
     * Moves the queue's clock to the time at which the next delayed job is due, of all topics.
     *
     * @throws \Adjourn\Error\Server\NotFound if no job is delayed
     */
    public function advanceToNext(): \DateTimeImmutable
    {
        return Time::at($this->client->advanceToNext());
    }

    /**
     * The jobs of a topic, in any state, in the order of their ids. A finished job is among them only while the topic remembers it (`rememberMs`).
     *
     * @param (callable(JobReport): bool)|null $matches
     * @return list<JobReport>
     */
    public function jobs(string $topic, ?callable $matches = null): array
    {
        $all = array_filter(JobState::cases(), static fn (JobState $state): bool => $state !== JobState::Unknown);
        $jobs = $this->list(new Filter($topic, array_values($all)));
        usort($jobs, static fn (JobReport $a, JobReport $b): int => $a->id <=> $b->id);

        return $matches === null ? $jobs : array_values(array_filter($jobs, $matches));
    }

    /**
     * The jobs of a topic that are delayed or ready, in the order of their due times.
     *
     * @return list<JobReport>
     */
    public function pending(string $topic): array
    {
        return $this->list(new Filter($topic, [JobState::Delayed, JobState::Ready]));
    }

    /**
     * The jobs of all topics that are neither finished nor deleted.
     *
     * @return list<JobReport>
     */
    public function left(): array
    {
        return $this->list(new Filter());
    }

    /** How many jobs were pushed to a topic. It is 0 once the queue has forgotten the topic: see assertPushed. */
    public function pushedCount(string $topic): int
    {
        foreach ($this->client->topics() as $report) {
            if ($report->topic === $topic) {
                return $report->pushed;
            }
        }

        return 0;
    }

    /**
     * @internal For the messages of assertions.
     *
     * @param list<JobReport> $jobs
     */
    public function describe(array $jobs): string
    {
        $nowMs = $this->client->ping()->nowMs;
        $lines = array_map(static fn (JobReport $job): string => sprintf(
            "- job %d of \"%s\"%s: %s, %s, body %s\n",
            $job->id,
            $job->topic,
            $job->key === null ? '' : " with key \"$job->key\"",
            $job->state->name,
            $job->dueMs > $nowMs ? 'due in ' . Duration::text($job->dueMs - $nowMs) : 'due',
            json_encode(substr($job->body, 0, 200), JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE),
        ), $jobs);

        return $jobs === [] ? "There are none.\n" : "There are:\n" . implode('', $lines);
    }

    /** Ends the server. From now on it is one that cannot be reached. */
    public function stop(): void
    {
        $this->client->close(0);
        $this->server->stop();
    }

    /** @return list<JobReport> */
    private function list(Filter $filter): array
    {
        return [...$this->client->list($filter, withBodies: true)];
    }
}
