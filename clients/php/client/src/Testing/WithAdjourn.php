<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\JobReport;
use PHPUnit\Framework\Assert;
use PHPUnit\Framework\Attributes\After;

/** For a test case of PHPUnit: a queue of its own for each test that asks for one, and assertions about it. */
trait WithAdjourn
{
    private ?TestQueue $testQueue = null;

    /** The queue of this test. It starts with the first call, and ends with the test. */
    protected function adjourn(): TestQueue
    {
        return $this->testQueue ??= new TestQueue();
    }

    /**
     * A job was pushed to the topic, whatever became of it. When a topic has had no job for 10 minutes of its clock, the queue forgets it with the
     * next change, and that jobs were pushed to it: assert before you advance by more. A topic with settings, or one that is paused, is not forgotten.
     *
     * @param (callable(JobReport): bool)|null $matches what the job has to be, for example `fn ($job) => $job->delayMs() === 900_000`. A job that was
     *     finished is looked at only if its topic remembers it (`rememberMs`)
     */
    protected function assertPushed(string $topic, ?callable $matches = null): void
    {
        $pushed = $this->adjourn()->pushedCount($topic);
        Assert::assertGreaterThan(0, $pushed, "No job was pushed to \"$topic\".");
        if ($matches !== null) {
            $jobs = $this->adjourn()->jobs($topic);
            $says = "No job of \"$topic\" matches. $pushed were pushed. " . $this->adjourn()->describe($jobs);
            Assert::assertNotSame([], array_filter($jobs, $matches), $says);
        }
    }

    /**
     * No job was pushed to the topic, or none that matches: see assertPushed. With `$matches`, it also fails if pushed jobs have left the topic, as they cannot
     * be looked at.
     *
     * @param (callable(JobReport): bool)|null $matches
     */
    protected function assertNotPushed(string $topic, ?callable $matches = null): void
    {
        $pushed = $this->adjourn()->pushedCount($topic);
        $all = $this->adjourn()->jobs($topic);
        $jobs = $matches === null ? $all : array_values(array_filter($all, $matches));
        Assert::assertSame([], $jobs, "Jobs were pushed to \"$topic\". " . $this->adjourn()->describe($jobs));
        $left = max(0, $pushed - count($all));
        $says = "$pushed were pushed to \"$topic\", and $left have left it: no assertion can look at those. A topic with `rememberMs` keeps finished jobs.";
        Assert::assertSame(0, $left, $says);
    }

    /**
     * The jobs of the topic that are delayed or ready are due in these times from now, in this order; 0 stands for a job that is ready.
     *
     * @param list<int|string|\DateInterval> $dueIn for example `['15m', '1d']`
     */
    protected function assertPending(string $topic, array $dueIn): void
    {
        $jobs = $this->adjourn()->pending($topic);
        $nowMs = $this->adjourn()->client->ping()->nowMs;
        $found = array_map(static fn (JobReport $job): string => Duration::text(max(0, $job->dueMs - $nowMs)), $jobs);
        $wanted = array_map(static fn (int|string|\DateInterval $in): string => Duration::text(Duration::ms($in)), $dueIn);
        Assert::assertSame($wanted, $found, "The pending jobs of \"$topic\" are others. " . $this->adjourn()->describe($jobs));
    }

    /** All jobs of all topics are finished or deleted: none is delayed, ready, reserved or buried. */
    protected function assertNothingLeft(): void
    {
        $jobs = $this->adjourn()->left();
        Assert::assertSame([], $jobs, 'Jobs are left. ' . $this->adjourn()->describe($jobs));
    }

    /**
     * @internal
     * @after
     */
    #[After]
    final protected function stopAdjourn(): void
    {
        $this->testQueue?->stop();
        $this->testQueue = null;
    }
}
