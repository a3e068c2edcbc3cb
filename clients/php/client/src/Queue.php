<?php

declare(strict_types=1);

namespace Adjourn;

/** What a program does with a queue. The client and the fake for tests both are one. */
interface Queue extends Settler
{
    /**
     * Pushes one job. It is durable when this returns.
     *
     * @param mixed $body a string goes as it is; anything else as JSON. A NewJob says everything itself
     * @param array<string, string> $headers
     * @throws Error\Server\KeyExists under IfExists::Reject
     */
    public function push(
        string $topic,
        mixed $body,
        ?int $delayMs = null,
        ?\DateTimeInterface $at = null,
        ?string $key = null,
        IfExists $ifExists = IfExists::Reject,
        ?int $ttrMs = null,
        ?int $priority = null,
        array $headers = [],
    ): PushResult;

    /**
     * Pushes many jobs, in as few frames as the limits allow, several frames at once. A refused job does not affect the
     * others. If a frame as a whole fails, this throws, and jobs of other frames may be in the queue: give many jobs keys.
     *
     * @param iterable<NewJob> $jobs a generator is read as the frames go out
     * @param int $batchJobsMax most jobs of one frame
     * @return list<PushResult> one per job, in order
     */
    public function pushMany(string $topic, iterable $jobs, int $batchJobsMax = 4096): array;

    /**
     * Waits until jobs are ready, and takes up to jobsMax of them.
     *
     * @param string|list<string>|array<string, int> $topics one topic, several, or topics with their weights
     * @return list<Job> empty if none came in time
     */
    public function reserve(string|array $topics, int $waitMs = 0, int $jobsMax = 1, ?CancelToken $cancel = null): array;

    /** @throws Error\Server\NotFound */
    public function get(int|JobRef $job): JobReport;

    /**
     * Removes a job, whatever its state. By key, a lost answer is an OutcomeUnknown; that of `cancel` is not.
     *
     * @throws Error\Server\NotFound
     */
    public function delete(int|JobRef $job): Changed;

    /**
     * Sees to it that there is no job with this key. Says whether there was one. It is sent again when its answer is lost: so false may
     * also mean that its first copy removed the job, and a job that was pushed under the key meanwhile is removed, too.
     */
    public function cancel(string $topic, string $key): bool;

    public function reschedule(int|JobRef $job, ?int $delayMs = null, ?\DateTimeInterface $at = null): Changed;

    public function runNow(int|JobRef $job): Changed;

    public function kick(int|JobRef $job): Changed;

    /** The number of kicked jobs; lower than jobsMax if no more are buried. */
    public function kickMany(string $topic, int $jobsMax = 1024): int;

    /** The next job of a topic, without a lease. Null if none is ready or delayed. */
    public function peek(string $topic): ?JobReport;

    public function pause(string $topic): void;

    public function resume(string $topic): void;

    /**
     * All jobs that match, fetched page by page while the caller iterates.
     *
     * @return iterable<JobReport>
     */
    public function list(Filter $filter, ListOrder $order = ListOrder::Due, bool $withBodies = false, int $pageJobsMax = 256): iterable;

    public function count(Filter $filter): int;

    /**
     * Changes all jobs that match, step by step while the caller iterates.
     *
     * @return iterable<BulkStep>
     */
    public function bulk(BulkChange $change, Filter $filter, string $cursor = '', int $stepJobsMax = 1024): iterable;

    /** @return list<TopicReport> sorted by name */
    public function topics(): array;

    /** Changes the settings of a topic that the policy names. The topic is created if it is new. */
    public function setTopic(string $topic, TopicPolicy $policy): void;

    /** @throws Error\Server\NotFound */
    public function showTopic(string $topic): TopicSettings;

    /** @throws Error\Server\WrongState if it has jobs */
    public function deleteTopic(string $topic): void;

    /**
     * Ends the session. What this client still holds comes back when its leases end. A worker of this client stops; if its handler is
     * at work, no GOODBYE is said, which could give the job to others.
     */
    public function close(int $timeoutMs = 2000): void;
}
