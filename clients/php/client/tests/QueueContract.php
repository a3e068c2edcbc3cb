<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backoff;
use Adjourn\BulkChange;
use Adjourn\BuriedReason;
use Adjourn\Error\LeaseLost;
use Adjourn\Error\Server\Invalid;
use Adjourn\Error\Server\KeyExists;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\Quota;
use Adjourn\Error\Server\Reserved;
use Adjourn\Error\Server\StaleLease;
use Adjourn\Error\Server\TooLarge;
use Adjourn\Error\Server\WrongState;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\IfExists;
use Adjourn\JobRef;
use Adjourn\JobState;
use Adjourn\Lease;
use Adjourn\ListOrder;
use Adjourn\NewJob;
use Adjourn\PushOutcome;
use Adjourn\Queue;
use Adjourn\Release;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\TestCase;

/** What the client on a real server and the fake have in common. */
abstract class QueueContract extends TestCase
{
    protected Queue $queue;
    protected string $topic;

    abstract protected function passes(int $ms): void;

    public function testAJobIsPushedDeliveredAndFinished(): void
    {
        $pushed = $this->queue->push($this->topic, ['to' => 'ann@example.com', 'n' => 1.0], headers: ['traceparent' => '00-1']);
        self::assertSame(PushOutcome::Pushed, $pushed->outcome);
        [$job] = $this->queue->reserve($this->topic, 5000);
        self::assertSame([$pushed->job, 1, $this->topic, null], [$job->id, $job->attempts, $job->topic, $job->key]);
        self::assertSame(['to' => 'ann@example.com', 'n' => 1.0], $job->payload());
        self::assertSame('00-1', $job->headers['traceparent']);
        self::assertGreaterThan(59_000, $job->leftMs());
        $job->finish();
        self::assertTrue($job->isSettled());
        $this->expectException(StaleLease::class);
        $this->queue->release($job);
    }

    public function testRawBytesGoAsTheyAre(): void
    {
        $this->queue->push($this->topic, "\0\xff raw");
        [$job] = $this->queue->reserve($this->topic, 5000);
        self::assertSame(["\0\xff raw", "\0\xff raw", []], [$job->body, $job->payload(), $job->headers]);
    }

    public function testAJobIsNeverEarly(): void
    {
        $this->queue->push($this->topic, 'x', delayMs: 300);
        self::assertSame([], $this->queue->reserve($this->topic));
        self::assertSame(JobState::Delayed, $this->queue->peek($this->topic)->state);
        self::assertCount(1, $this->queue->reserve($this->topic, 5000));
    }

    public function testKeysDecideWhatHappensToASecondJob(): void
    {
        $first = $this->queue->push($this->topic, 'a', delayMs: 60_000, key: 'k')->job;
        try {
            $this->queue->push($this->topic, 'b', key: 'k');
            self::fail('The key exists.');
        } catch (KeyExists $error) {
            self::assertSame($first, $error->job);
            self::assertFalse($error->mayBeApplied);
        }
        $kept = $this->queue->push($this->topic, 'b', key: 'k', ifExists: IfExists::Keep);
        self::assertSame([PushOutcome::Kept, $first], [$kept->outcome, $kept->job]);
        $postponed = $this->queue->push($this->topic, 'c', delayMs: 50_000, key: 'k', ifExists: IfExists::Postpone);
        self::assertSame([PushOutcome::Postponed, $first], [$postponed->outcome, $postponed->job]);
        self::assertSame('c', $this->queue->get(JobRef::key($this->topic, 'k'))->body);
        $replaced = $this->queue->push($this->topic, 'd', key: 'k', ifExists: IfExists::Replace);
        self::assertSame(PushOutcome::Replaced, $replaced->outcome);
        $this->queue->reserve($this->topic, 5000);
        try {
            $this->queue->push($this->topic, 'e', key: 'k', ifExists: IfExists::Replace);
            self::fail('The job is reserved.');
        } catch (Reserved $error) {
            self::assertSame($replaced->job, $error->job);
        }
    }

    public function testARefusedJobOfABatchDoesNotAffectTheOthers(): void
    {
        $results = $this->queue->pushMany($this->topic, [new NewJob('a', key: 'k'), new NewJob('b', key: 'k'), new NewJob('c')]);
        self::assertSame(
            [PushOutcome::Pushed, PushOutcome::Refused, PushOutcome::Pushed],
            array_column($results, 'outcome'),
        );
        self::assertInstanceOf(KeyExists::class, $results[1]->error());
    }

    public function testAFailedAttemptWaitsForItsBackoffAndTheLastOneIsBuried(): void
    {
        $this->queue->push($this->topic, new NewJob('x', attemptsMax: 2, backoff: Backoff::fixed(200)));
        [$job] = $this->queue->reserve($this->topic, 5000);
        $job->release(reason: 'not today');
        self::assertSame([], $this->queue->reserve($this->topic));
        [$job] = $this->queue->reserve($this->topic, 5000);
        self::assertSame(2, $job->attempts);
        $job->release(reason: 'never');
        $report = $this->queue->get($job->id);
        self::assertSame([JobState::Buried, BuriedReason::AttemptsUsedUp, 'never'], [$report->state, $report->buried, $report->reason]);
        self::assertSame(JobState::Ready, $this->queue->kick($job->id)->state);
        self::assertSame(1, $this->queue->reserve($this->topic, 5000)[0]->attempts);
    }

    public function testNotStartedCountsNoAttempt(): void
    {
        $this->queue->push($this->topic, 'x');
        $this->queue->reserve($this->topic, 5000)[0]->release(Release::notStarted());
        self::assertSame(1, $this->queue->reserve($this->topic, 5000)[0]->attempts);
    }

    public function testManyJobsAreSettledAtOnce(): void
    {
        $this->queue->pushMany($this->topic, array_fill(0, 5, new NewJob('x')));
        $jobs = $this->queue->reserve($this->topic, 5000, 5);
        $this->queue->delete($jobs[1]->id);
        $refusals = $this->queue->finishMany([$jobs[0], $jobs[1], $jobs[2]->lease]);
        self::assertSame([null, StaleLease::class, null], array_map(static fn ($r): ?string => $r === null ? null : $r::class, $refusals));
        self::assertSame([true, false], [$jobs[0]->isSettled(), $jobs[1]->isSettled()]);
        self::assertTrue($jobs[1]->isLost());
        self::assertSame([null, null], $this->queue->releaseMany([$jobs[3], $jobs[4]], Release::notStarted()));
        self::assertInstanceOf(LeaseLost::class, $this->queue->finishMany([$jobs[1]])[0], 'What is lost is not sent.');
        self::assertSame([], $this->queue->finishMany([]));
        self::assertSame([1, 1], array_column($this->queue->reserve($this->topic, 5000, 5), 'attempts'));
    }

    public function testALeaseEndsAndATouchRestartsIt(): void
    {
        $this->queue->push($this->topic, 'x', ttrMs: 3000);
        [$job] = $this->queue->reserve($this->topic, 5000);
        $this->passes(1700);
        $job->touch();
        $this->passes(1700);
        self::assertFalse($job->isLost());
        $this->passes(1500);
        self::assertTrue($job->isLost());
        self::assertSame(0, $job->leftMs());
        try {
            $job->finish();
            self::fail('The lease is over.');
        } catch (LeaseLost) {
            self::assertSame(2, $this->queue->reserve($this->topic, 5000)[0]->attempts);
        }
    }

    public function testOneJobIsShownAndChanged(): void
    {
        $id = $this->queue->push($this->topic, 'x', delayMs: 60_000, key: 'k', priority: 7)->job;
        $shown = $this->queue->get($id);
        self::assertSame([$id, 'k', 7, 'x', JobState::Delayed, 0], [$shown->id, $shown->key, $shown->priority, $shown->body, $shown->state, $shown->attempts]);
        $at = new \DateTimeImmutable('2100-01-01T00:00:00.250Z');
        self::assertSame(4_102_444_800_250, $this->queue->reschedule($id, at: $at)->dueMs);
        self::assertSame(JobState::Ready, $this->queue->runNow(JobRef::key($this->topic, 'k'))->state);
        try {
            $this->queue->kick($id);
            self::fail('It is not buried.');
        } catch (WrongState) {
            self::assertSame(JobState::Ready, $this->queue->delete($id)->state);
        }
        self::assertNull($this->queue->peek($this->topic));
        $this->expectException(NotFound::class);
        $this->queue->get($id);
    }

    public function testAJobIsCancelledByItsKey(): void
    {
        $this->queue->push($this->topic, 'x', delayMs: 60_000, key: 'k');
        self::assertTrue($this->queue->cancel($this->topic, 'k'));
        self::assertFalse($this->queue->cancel($this->topic, 'k'));
        $this->queue->push($this->topic, 'x', key: 'k');
        self::assertSame(1, $this->queue->count(new Filter($this->topic)));
    }

    /** @return iterable<string, array{\Closure(Queue, string): mixed, string}> */
    public static function formsThatWouldLoseAnArgument(): iterable
    {
        yield 'a delay beside a NewJob' => [static fn (Queue $q, string $t) => $q->push($t, new NewJob('x'), delayMs: 60_000), 'delayMs: 60_000'];
        yield 'a key beside a NewJob' => [static fn (Queue $q, string $t) => $q->push($t, new NewJob('x'), key: 'k'), 'key: ...'];
        yield 'headers beside a NewJob' => [static fn (Queue $q, string $t) => $q->push($t, new NewJob('x'), headers: ['a' => 'b']), 'says everything itself'];
        yield 'a NewJob in a NewJob' => [static fn (Queue $q, string $t) => $q->push($t, new NewJob(new NewJob('x', delayMs: 60_000))), 'new NewJob($body'];
        yield 'a mode without a key' => [static fn (Queue $q, string $t) => $q->push($t, 'x', ifExists: IfExists::Keep), 'give the job a key'];
        yield 'a body in a list' => [static fn (Queue $q, string $t) => $q->pushMany($t, ['x']), 'new NewJob($body)'];
        yield 'an array in a list' => [static fn (Queue $q, string $t) => $q->pushMany($t, [['body' => 'x', 'delayMs' => 60_000]]), 'new NewJob($body)'];
        yield 'no due time' => [static fn (Queue $q, string $t) => $q->reschedule(1), 'delayMs or at'];
    }

    /** @dataProvider formsThatWouldLoseAnArgument */
    public function testAFormThatWouldLoseAnArgumentIsRefusedAndSaysWhatToWrite(\Closure $call, string $says): void
    {
        try {
            $call($this->queue, $this->topic);
            self::fail('It was accepted.');
        } catch (UsageError $error) {
            self::assertStringContainsString($says, $error->getMessage());
        }
        self::assertSame(0, $this->queue->count(new Filter($this->topic)));
    }

    public function testAPausedTopicDeliversNothing(): void
    {
        $this->queue->push($this->topic, 'x');
        $this->queue->pause($this->topic);
        self::assertTrue($this->report()->isPaused);
        self::assertSame([], $this->queue->reserve($this->topic, 50));
        $this->queue->resume($this->topic);
        self::assertCount(1, $this->queue->reserve($this->topic, 5000));
    }

    public function testManyJobsAreListedCountedAndChanged(): void
    {
        $this->queue->pushMany($this->topic, array_map(
            static fn (int $n): NewJob => new NewJob("body $n", delayMs: 60_000 + $n, key: "k-$n"),
            range(0, 24),
        ));
        $filter = new Filter($this->topic);
        $listed = iterator_to_array($this->queue->list($filter, ListOrder::Id, true, 10), false);
        self::assertSame(array_map(static fn (int $n): string => "body $n", range(0, 24)), array_column($listed, 'body'));
        self::assertSame(25, $this->queue->count($filter));
        $some = new Filter($this->topic, keyPrefix: 'k-1');
        self::assertSame(11, $this->queue->count($some));
        $jobs = 0;
        foreach ($this->queue->bulk(BulkChange::delete(), $some, stepJobsMax: 4) as $step) {
            $jobs += $step->jobs;
        }
        self::assertSame(11, $jobs);
        foreach ($this->queue->bulk(BulkChange::moveTo("$this->topic-2"), $filter) as $step);
        self::assertSame(14, $this->queue->count(new Filter("$this->topic-2")));
        foreach ($this->queue->bulk(BulkChange::runNow(), new Filter("$this->topic-2")) as $step);
        self::assertSame(14, $this->queue->count(new Filter("$this->topic-2", [JobState::Ready])));
    }

    public function testBuriedJobsAreKickedByTheDozen(): void
    {
        $this->queue->pushMany($this->topic, [new NewJob('a'), new NewJob('b'), new NewJob('c')]);
        foreach ($this->queue->reserve($this->topic, 5000, 3) as $job) {
            $job->bury('no');
        }
        self::assertSame(3, $this->report()->buried);
        self::assertSame(2, $this->queue->kickMany($this->topic, 2));
        self::assertSame(1, $this->queue->kickMany($this->topic, 2));
    }

    public function testTopicsTakeTurnsByTheirWeights(): void
    {
        foreach (['a', 'b'] as $name) {
            $this->queue->pushMany("$this->topic-$name", array_fill(0, 6, new NewJob($name)));
        }
        $bodies = array_column($this->queue->reserve(["$this->topic-a" => 2, "$this->topic-b" => 1], 5000, 6), 'body');
        self::assertSame(['a', 'b', 'a', 'a', 'b', 'a'], $bodies);
    }

    public function testTheUrgentJobComesFirst(): void
    {
        $this->queue->pushMany($this->topic, [new NewJob('later', priority: 9), new NewJob('first', priority: 1)]);
        self::assertSame(['first', 'later'], array_column($this->queue->reserve($this->topic, 5000, 2), 'body'));
    }

    public function testAFinishedJobMayBeRemembered(): void
    {
        $this->queue->push($this->topic, new NewJob('x', key: 'k', retentionMs: 60_000));
        $this->queue->reserve($this->topic, 5000)[0]->finish();
        $this->expectException(KeyExists::class);
        $this->queue->push($this->topic, 'x', key: 'k');
    }

    public function testAnotherClientsLeaseIsSettledByItsFence(): void
    {
        $this->queue->push($this->topic, 'x');
        [$job] = $this->queue->reserve($this->topic, 5000);
        $this->queue->finish(Lease::parse((string) $job->lease));
        self::assertSame(1, $this->report()->finished);
    }

    public function testATopicDecidesWhatItsJobsDoNotSay(): void
    {
        $this->queue->setTopic($this->topic, new TopicPolicy(ttrMs: 5000, priority: 7, attemptsMax: 3, jobsMax: 9, rememberMs: 60_000));
        $this->queue->setTopic($this->topic, new TopicPolicy(backoff: Backoff::fixed(60_000), unset: ['jobsMax']));
        $id = $this->queue->push($this->topic, 'x', key: 'k')->job;
        self::assertSame([5000, 7], [$this->queue->get($id)->ttrMs, $this->queue->get($id)->priority]);
        $this->queue->reserve($this->topic, 5000)[0]->release();
        self::assertSame(JobState::Delayed, $this->queue->get($id)->state);
        $this->queue->runNow($id);
        $this->queue->reserve($this->topic, 5000)[0]->finish();
        self::assertSame(JobState::Finished, $this->queue->get($id)->state);
        $settings = $this->queue->showTopic($this->topic);
        $expected = new TopicPolicy(ttrMs: 5000, priority: 7, attemptsMax: 3, backoff: Backoff::fixed(60_000), rememberMs: 60_000);
        self::assertEquals($expected, $settings->policy);
        self::assertSame([0, 0, false], [$settings->jobs, $settings->bytes, $settings->isPaused]);
    }

    public function testATopicHasLimits(): void
    {
        $this->queue->setTopic($this->topic, new TopicPolicy(jobsMax: 2, bodyBytesMax: 3, leasesMax: 1));
        $results = $this->queue->pushMany($this->topic, [new NewJob('a', key: 'k'), new NewJob('long'), new NewJob('b'), new NewJob('c')]);
        self::assertSame(
            [null, TooLarge::class, null, Quota::class],
            array_map(static fn ($result): ?string => $result->error() === null ? null : $result->error()::class, $results),
        );
        $replaced = $this->queue->push($this->topic, 'd', key: 'k', ifExists: IfExists::Replace);
        self::assertSame(PushOutcome::Replaced, $replaced->outcome, 'It is no more jobs than before.');
        self::assertCount(1, $this->queue->reserve($this->topic, 5000, 2));
        self::assertSame([], $this->queue->reserve($this->topic));
    }

    public function testDeadLettersGoToTheirTopicAndComeBack(): void
    {
        $dead = "$this->topic-dead";
        $this->queue->setTopic($this->topic, new TopicPolicy(attemptsMax: 1, deadLetters: $dead));
        $id = $this->queue->push($this->topic, 'x', key: 'k')->job;
        $this->queue->reserve($this->topic, 5000)[0]->release(reason: 'never');
        $letter = $this->queue->get($id);
        self::assertSame([$dead, JobState::Ready, 0, 'k', 'never'], [$letter->topic, $letter->state, $letter->attempts, $letter->key, $letter->reason]);
        $this->queue->push($this->topic, 'y', delayMs: 60_000, key: 'other');
        try {
            $this->queue->get(JobRef::key($dead, 'k'));
            self::fail('A dead letter is not found by its key.');
        } catch (NotFound) {
            foreach ($this->queue->bulk(BulkChange::moveTo($this->topic), new Filter($dead)) as $step);
        }
        self::assertSame($id, $this->queue->get(JobRef::key($this->topic, 'k'))->id);
    }

    public function testATopicIsNotItsOwnDeadLetterTopic(): void
    {
        $this->expectException(Invalid::class);
        $this->queue->setTopic($this->topic, new TopicPolicy(deadLetters: $this->topic));
    }

    public function testATopicIsDeletedWhenItHasNoJobs(): void
    {
        $id = $this->queue->push($this->topic, 'x')->job;
        try {
            $this->queue->deleteTopic($this->topic);
            self::fail('It has a job.');
        } catch (WrongState) {
            $this->queue->delete($id);
        }
        $this->queue->deleteTopic($this->topic);
        self::assertNotContains($this->topic, array_column($this->queue->topics(), 'topic'));
    }

    /** @dataProvider misuse */
    public function testMisuseIsRefusedBeforeAnythingIsSent(\Closure $call): void
    {
        $this->expectException(UsageError::class);
        $call($this->queue);
    }

    public static function misuse(): array
    {
        return [
            'topic' => [static fn (Queue $q) => $q->push('-no', 'x')],
            'empty topic' => [static fn (Queue $q) => $q->reserve('')],
            'key' => [static fn (Queue $q) => $q->push('t', 'x', key: "a\nb")],
            'two due times' => [static fn (Queue $q) => $q->push('t', 'x', delayMs: 1, at: new \DateTimeImmutable())],
            'delay' => [static fn (Queue $q) => $q->push('t', 'x', delayMs: -1)],
            'ttr' => [static fn (Queue $q) => $q->push('t', 'x', ttrMs: 99)],
            'weight' => [static fn (Queue $q) => $q->reserve(['t' => 0])],
            'no topics' => [static fn (Queue $q) => $q->reserve([])],
            'headers' => [static fn (Queue $q) => $q->push('t', 'x', headers: ['a' => str_repeat('x', 1024)])],
            'body that is no JSON' => [static fn (Queue $q) => $q->push('t', ["\xff"])],
            'backoff' => [static fn () => Backoff::fixed(1, 101)],
        ];
    }

    public function testATimeIsAnObjectBecauseATextMayHaveNoZone(): void
    {
        $this->expectException(\TypeError::class);
        $this->queue->push($this->topic, 'x', at: '2026-01-01 10:00');
    }

    private function report(): \Adjourn\TopicReport
    {
        foreach ($this->queue->topics() as $report) {
            if ($report->topic === $this->topic) {
                return $report;
            }
        }
        self::fail("There is no topic $this->topic.");
    }
}
