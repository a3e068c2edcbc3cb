<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backoff;
use Adjourn\BulkChange;
use Adjourn\BuriedReason;
use Adjourn\Client;
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
use Adjourn\LatePolicy;
use Adjourn\Lease;
use Adjourn\ListOrder;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\PushOutcome;
use Adjourn\Release;
use Adjourn\Testing\WithAdjourn;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\TestCase;

/** What the calls of the client do. The time of the queue is the test's. */
final class CallsTest extends TestCase
{
    use WithAdjourn;

    private Client $client;
    private string $topic = 't';

    protected function setUp(): void
    {
        $this->client = $this->adjourn()->client;
    }

    public function testAJobIsPushedDeliveredAndFinished(): void
    {
        $pushed = $this->client->push($this->topic, ['to' => 'ann@example.com', 'n' => 1.0], headers: ['traceparent' => '00-1']);
        self::assertSame(PushOutcome::Pushed, $pushed->outcome);
        [$job] = $this->client->reserve($this->topic, 5000);
        self::assertSame([$pushed->job, 1, $this->topic, null], [$job->id, $job->attempts, $job->topic, $job->key]);
        self::assertSame(['to' => 'ann@example.com', 'n' => 1.0], $job->payload());
        self::assertSame('00-1', $job->headers['traceparent']);
        self::assertGreaterThan(59_000, $job->leftMs());
        $job->finish();
        self::assertTrue($job->isSettled());
        $this->expectException(StaleLease::class);
        $this->client->release($job);
    }

    public function testRawBytesGoAsTheyAre(): void
    {
        $this->client->push($this->topic, "\0\xff raw");
        [$job] = $this->client->reserve($this->topic, 5000);
        self::assertSame(["\0\xff raw", "\0\xff raw", []], [$job->body, $job->payload(), $job->headers]);
    }

    public function testAJobIsNeverEarly(): void
    {
        $this->client->push($this->topic, 'x', delayMs: 300);
        $this->adjourn()->advance(299);
        self::assertSame([], $this->client->reserve($this->topic));
        self::assertSame(JobState::Delayed, $this->client->peek($this->topic)->state);
        $this->adjourn()->advance(1);
        self::assertCount(1, $this->client->reserve($this->topic));
    }

    public function testKeysDecideWhatHappensToASecondJob(): void
    {
        $first = $this->client->push($this->topic, 'a', delayMs: 60_000, key: 'k')->job;
        try {
            $this->client->push($this->topic, 'b', key: 'k');
            self::fail('The key exists.');
        } catch (KeyExists $error) {
            self::assertSame($first, $error->job);
            self::assertFalse($error->mayBeApplied);
        }
        $kept = $this->client->push($this->topic, 'b', key: 'k', ifExists: IfExists::Keep);
        self::assertSame([PushOutcome::Kept, $first], [$kept->outcome, $kept->job]);
        $postponed = $this->client->push($this->topic, 'c', delayMs: 50_000, key: 'k', ifExists: IfExists::Postpone);
        self::assertSame([PushOutcome::Postponed, $first], [$postponed->outcome, $postponed->job]);
        self::assertSame('c', $this->client->get(JobRef::key($this->topic, 'k'))->body);
        $replaced = $this->client->push($this->topic, 'd', key: 'k', ifExists: IfExists::Replace);
        self::assertSame(PushOutcome::Replaced, $replaced->outcome);
        $this->client->reserve($this->topic, 5000);
        try {
            $this->client->push($this->topic, 'e', key: 'k', ifExists: IfExists::Replace);
            self::fail('The job is reserved.');
        } catch (Reserved $error) {
            self::assertSame($replaced->job, $error->job);
        }
    }

    public function testARefusedJobOfABatchDoesNotAffectTheOthers(): void
    {
        $results = $this->client->pushMany($this->topic, [new NewJob('a', key: 'k'), new NewJob('b', key: 'k'), new NewJob('c')]);
        self::assertSame(
            [PushOutcome::Pushed, PushOutcome::Refused, PushOutcome::Pushed],
            array_column($results, 'outcome'),
        );
        self::assertInstanceOf(KeyExists::class, $results[1]->error());
    }

    public function testAFailedAttemptWaitsForItsBackoffAndTheLastOneIsBuried(): void
    {
        $this->client->push($this->topic, new NewJob('x', attemptsMax: 2, backoff: Backoff::fixed(200)));
        [$job] = $this->client->reserve($this->topic, 5000);
        $job->release(reason: 'not today');
        $this->adjourn()->advance(199);
        self::assertSame([], $this->client->reserve($this->topic));
        $this->adjourn()->advance(1);
        [$job] = $this->client->reserve($this->topic);
        self::assertSame(2, $job->attempts);
        $job->release(reason: 'never');
        $report = $this->client->get($job->id);
        self::assertSame([JobState::Buried, BuriedReason::AttemptsUsedUp, 'never'], [$report->state, $report->buried, $report->reason]);
        self::assertSame(JobState::Ready, $this->client->kick($job->id)->state);
        self::assertSame(1, $this->client->reserve($this->topic, 5000)[0]->attempts);
    }

    /** @return iterable<string, array{Backoff, list<int>}> */
    public static function backoffs(): iterable
    {
        yield 'fixed' => [Backoff::fixed(1000), [1000, 1000, 1000, 1000]];
        yield 'linear' => [Backoff::linear(10, 25), [10, 20, 25, 25]];
        yield 'exponential' => [Backoff::exponential(1000, 60_000), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]];
        yield 'a list' => [Backoff::waits([5, 50]), [5, 50, 50, 50]];
    }

    /**
     * @dataProvider backoffs
     * @param list<int> $waitsMs
     */
    public function testWaitsOfTheSpecification(Backoff $backoff, array $waitsMs): void
    {
        $this->client->push($this->topic, new NewJob('x', backoff: $backoff));
        foreach ($waitsMs as $waitMs) {
            $this->client->reserve($this->topic)[0]->release();
            $this->assertPending($this->topic, [$waitMs]);
            $this->adjourn()->advanceToNext();
        }
    }

    public function testNotStartedCountsNoAttempt(): void
    {
        $this->client->push($this->topic, 'x');
        $this->client->reserve($this->topic, 5000)[0]->release(Release::notStarted());
        self::assertSame(1, $this->client->reserve($this->topic, 5000)[0]->attempts);
    }

    public function testAParkedJobCountsNoAttemptAndWaits(): void
    {
        $id = $this->client->push($this->topic, new NewJob('x', attemptsMax: 1))->job;
        $this->client->reserve($this->topic, 5000)[0]->release(Release::parked(60_000), 'the bank is closed');
        $report = $this->client->get($id);
        self::assertSame([JobState::Delayed, 0, 'the bank is closed'], [$report->state, $report->attempts, $report->reason]);
        self::assertEqualsWithDelta($report->pushedMs + 60_000, $report->dueMs, 10_000);
        $this->client->runNow($id);
        [$job] = $this->client->reserve($this->topic, 5000);
        self::assertSame(1, $job->attempts);
        $job->release(Release::parked(0));
        self::assertSame([JobState::Ready, 0], [$this->client->get($id)->state, $this->client->get($id)->attempts]);
    }

    public function testManyJobsAreSettledAtOnce(): void
    {
        $this->client->pushMany($this->topic, array_fill(0, 5, new NewJob('x')));
        $jobs = $this->client->reserve($this->topic, 5000, 5);
        $this->client->delete($jobs[1]->id);
        $refusals = $this->client->finishMany([$jobs[0], $jobs[1], $jobs[2]->lease]);
        self::assertSame([null, StaleLease::class, null], array_map(static fn ($r): ?string => $r === null ? null : $r::class, $refusals));
        self::assertSame([true, false], [$jobs[0]->isSettled(), $jobs[1]->isSettled()]);
        self::assertTrue($jobs[1]->isLost());
        self::assertSame([null, null], $this->client->releaseMany([$jobs[3], $jobs[4]], Release::notStarted()));
        self::assertInstanceOf(LeaseLost::class, $this->client->finishMany([$jobs[1]])[0], 'What is lost is not sent.');
        self::assertSame([], $this->client->finishMany([]));
        self::assertSame([1, 1], array_column($this->client->reserve($this->topic, 5000, 5), 'attempts'));
    }

    public function testALeaseEndsAndATouchRestartsIt(): void
    {
        // The client counts leases on its own clock.
        $clock = new TestClock();
        $client = new Client(new Options($this->adjourn()->address), clock: $clock);
        $passes = function (int $ms) use ($clock): void {
            $clock->advance($ms);
            $this->adjourn()->advance($ms);
        };
        $client->push($this->topic, 'x', ttrMs: 3000);
        [$job] = $client->reserve($this->topic);
        $passes(1700);
        $job->touch();
        $passes(1700);
        self::assertFalse($job->isLost());
        $passes(1500);
        self::assertTrue($job->isLost());
        self::assertSame(0, $job->leftMs());
        try {
            $job->finish();
            self::fail('The lease is over.');
        } catch (LeaseLost) {
            // It waits for the backoff that servers have by default.
            $this->adjourn()->advanceToNext();
            self::assertSame(2, $client->reserve($this->topic)[0]->attempts);
        }
    }

    public function testOneJobIsShownAndChanged(): void
    {
        $id = $this->client->push($this->topic, 'x', delayMs: 60_000, key: 'k', priority: 7)->job;
        $shown = $this->client->get($id);
        self::assertSame([$id, 'k', 7, 'x', JobState::Delayed, 0], [$shown->id, $shown->key, $shown->priority, $shown->body, $shown->state, $shown->attempts]);
        $at = new \DateTimeImmutable('2100-01-01T00:00:00.250Z');
        self::assertSame(4_102_444_800_250, $this->client->reschedule($id, at: $at)->dueMs);
        self::assertSame(JobState::Ready, $this->client->runNow(JobRef::key($this->topic, 'k'))->state);
        try {
            $this->client->kick($id);
            self::fail('It is not buried.');
        } catch (WrongState) {
            self::assertSame(JobState::Ready, $this->client->delete($id)->state);
        }
        self::assertNull($this->client->peek($this->topic));
        $this->expectException(NotFound::class);
        $this->client->get($id);
    }

    public function testAJobIsCancelledByItsKey(): void
    {
        $this->client->push($this->topic, 'x', delayMs: 60_000, key: 'k');
        self::assertTrue($this->client->cancel($this->topic, 'k'));
        self::assertFalse($this->client->cancel($this->topic, 'k'));
        $this->client->push($this->topic, 'x', key: 'k');
        self::assertSame(1, $this->client->count(new Filter($this->topic)));
    }

    /** @return iterable<string, array{\Closure(Client, string): mixed, string}> */
    public static function formsThatWouldLoseAnArgument(): iterable
    {
        yield 'a delay beside a NewJob' => [static fn (Client $c, string $t) => $c->push($t, new NewJob('x'), delayMs: 60_000), 'delayMs: 60_000'];
        yield 'a key beside a NewJob' => [static fn (Client $c, string $t) => $c->push($t, new NewJob('x'), key: 'k'), 'key: ...'];
        yield 'headers beside a NewJob' => [static fn (Client $c, string $t) => $c->push($t, new NewJob('x'), headers: ['a' => 'b']), 'says everything itself'];
        yield 'a NewJob in a NewJob' => [static fn (Client $c, string $t) => $c->push($t, new NewJob(new NewJob('x', delayMs: 60_000))), 'new NewJob($body'];
        yield 'a mode without a key' => [static fn (Client $c, string $t) => $c->push($t, 'x', ifExists: IfExists::Keep), 'give the job a key'];
        yield 'a body in a list' => [static fn (Client $c, string $t) => $c->pushMany($t, ['x']), 'new NewJob($body)'];
        yield 'an array in a list' => [static fn (Client $c, string $t) => $c->pushMany($t, [['body' => 'x', 'delayMs' => 60_000]]), 'new NewJob($body)'];
        yield 'no due time' => [static fn (Client $c, string $t) => $c->reschedule(1), 'delayMs or at'];
    }

    /** @dataProvider formsThatWouldLoseAnArgument */
    public function testAFormThatWouldLoseAnArgumentIsRefusedAndSaysWhatToWrite(\Closure $call, string $says): void
    {
        try {
            $call($this->client, $this->topic);
            self::fail('It was accepted.');
        } catch (UsageError $error) {
            self::assertStringContainsString($says, $error->getMessage());
        }
        self::assertSame(0, $this->client->count(new Filter($this->topic)));
    }

    public function testAPausedTopicDeliversNothing(): void
    {
        $this->client->push($this->topic, 'x');
        $this->client->pause($this->topic);
        self::assertTrue($this->report()->isPaused);
        self::assertSame([], $this->client->reserve($this->topic, 50));
        $this->client->resume($this->topic);
        self::assertCount(1, $this->client->reserve($this->topic, 5000));
    }

    public function testATopicHasANameOfUpTo200Bytes(): void
    {
        $longest = 'aZ09._:/-+;$()' . str_repeat('x', 186);
        $this->client->push($longest, 'x');
        [$job] = $this->client->reserve($longest);
        self::assertSame($longest, $job->topic);
        $refusals = 0;
        foreach (['', '-a', 'a b', 'a=b', "{$longest}x"] as $refused) {
            try {
                $this->client->push($refused, 'x');
            } catch (UsageError) {
                ++$refusals;
            }
        }
        self::assertSame(5, $refusals);
    }

    public function testAPauseIsNotForNoTime(): void
    {
        foreach ([0, -1] as $forMs) {
            try {
                $this->client->pause($this->topic, $forMs);
                self::fail("A pause for $forMs ms was accepted.");
            } catch (UsageError $error) {
                self::assertStringContainsString('positive forMs', $error->getMessage());
            }
        }
    }

    public function testManyJobsAreListedCountedAndChanged(): void
    {
        $this->client->pushMany($this->topic, array_map(
            static fn (int $n): NewJob => new NewJob("body $n", delayMs: 60_000 + $n, key: "k-$n"),
            range(0, 24),
        ));
        $filter = new Filter($this->topic);
        $listed = iterator_to_array($this->client->list($filter, ListOrder::Id, true, 10), false);
        self::assertSame(array_map(static fn (int $n): string => "body $n", range(0, 24)), array_column($listed, 'body'));
        self::assertSame(25, $this->client->count($filter));
        $some = new Filter($this->topic, keyPrefix: 'k-1');
        self::assertSame(11, $this->client->count($some));
        $jobs = 0;
        foreach ($this->client->bulk(BulkChange::delete(), $some, stepJobsMax: 4) as $step) {
            $jobs += $step->jobs;
        }
        self::assertSame(11, $jobs);
        foreach ($this->client->bulk(BulkChange::moveTo("$this->topic-2"), $filter) as $step);
        self::assertSame(14, $this->client->count(new Filter("$this->topic-2")));
        foreach ($this->client->bulk(BulkChange::runNow(), new Filter("$this->topic-2")) as $step);
        self::assertSame(14, $this->client->count(new Filter("$this->topic-2", [JobState::Ready])));
    }

    public function testBuriedJobsAreKickedByTheDozen(): void
    {
        $this->client->pushMany($this->topic, [new NewJob('a'), new NewJob('b'), new NewJob('c')]);
        foreach ($this->client->reserve($this->topic, 5000, 3) as $job) {
            $job->bury('no');
        }
        self::assertSame(3, $this->report()->buried);
        self::assertSame(2, $this->client->kickMany($this->topic, 2));
        self::assertSame(1, $this->client->kickMany($this->topic, 2));
    }

    public function testTopicsTakeTurnsByTheirWeights(): void
    {
        foreach (['a', 'b'] as $name) {
            $this->client->pushMany("$this->topic-$name", array_fill(0, 6, new NewJob($name)));
        }
        $bodies = array_column($this->client->reserve(["$this->topic-a" => 2, "$this->topic-b" => 1], 5000, 6), 'body');
        self::assertSame(['a', 'b', 'a', 'a', 'b', 'a'], $bodies);
    }

    public function testTheUrgentJobComesFirst(): void
    {
        $this->client->pushMany($this->topic, [new NewJob('later', priority: 9), new NewJob('first', priority: 1)]);
        self::assertSame(['first', 'later'], array_column($this->client->reserve($this->topic, 5000, 2), 'body'));
    }

    public function testAFinishedJobMayBeRemembered(): void
    {
        $this->client->push($this->topic, new NewJob('x', key: 'k', retentionMs: 60_000));
        $this->client->reserve($this->topic, 5000)[0]->finish();
        $this->expectException(KeyExists::class);
        $this->client->push($this->topic, 'x', key: 'k');
    }

    public function testAnotherClientsLeaseIsSettledByItsFence(): void
    {
        $this->client->push($this->topic, 'x');
        [$job] = $this->client->reserve($this->topic, 5000);
        $this->client->finish(Lease::parse((string) $job->lease));
        self::assertSame(1, $this->report()->finished);
    }

    public function testATopicDecidesWhatItsJobsDoNotSay(): void
    {
        $this->client->setTopic($this->topic, new TopicPolicy(ttrMs: 5000, priority: 7, attemptsMax: 3, jobsMax: 9, rememberMs: 60_000));
        $this->client->setTopic($this->topic, new TopicPolicy(backoff: Backoff::fixed(60_000), unset: ['jobsMax']));
        $id = $this->client->push($this->topic, 'x', key: 'k')->job;
        self::assertSame([5000, 7], [$this->client->get($id)->ttrMs, $this->client->get($id)->priority]);
        $this->client->reserve($this->topic, 5000)[0]->release();
        self::assertSame(JobState::Delayed, $this->client->get($id)->state);
        $this->client->runNow($id);
        $this->client->reserve($this->topic, 5000)[0]->finish();
        self::assertSame(JobState::Finished, $this->client->get($id)->state);
        $settings = $this->client->showTopic($this->topic);
        $expected = new TopicPolicy(ttrMs: 5000, priority: 7, attemptsMax: 3, backoff: Backoff::fixed(60_000), rememberMs: 60_000);
        self::assertEquals($expected, $settings->policy);
        self::assertSame([0, 0, false], [$settings->jobs, $settings->bytes, $settings->isPaused]);
    }

    public function testATopicHasLimits(): void
    {
        $this->client->setTopic($this->topic, new TopicPolicy(jobsMax: 2, bodyBytesMax: 3, leasesMax: 1));
        $results = $this->client->pushMany($this->topic, [new NewJob('a', key: 'k'), new NewJob('long'), new NewJob('b'), new NewJob('c')]);
        self::assertSame(
            [null, TooLarge::class, null, Quota::class],
            array_map(static fn ($result): ?string => $result->error() === null ? null : $result->error()::class, $results),
        );
        $replaced = $this->client->push($this->topic, 'd', key: 'k', ifExists: IfExists::Replace);
        self::assertSame(PushOutcome::Replaced, $replaced->outcome, 'It is no more jobs than before.');
        self::assertCount(1, $this->client->reserve($this->topic, 5000, 2));
        self::assertSame([], $this->client->reserve($this->topic));
    }

    public function testARateSpreadsDeliveriesOverTime(): void
    {
        $this->client->setTopic($this->topic, new TopicPolicy(ratePerSecond: 20));
        $this->client->pushMany($this->topic, array_fill(0, 6, new NewJob('x')));
        self::assertCount(2, $this->client->reserve($this->topic, jobsMax: 6), 'At most a tenth of a second comes at once.');
        $this->adjourn()->advance(49);
        self::assertSame([], $this->client->reserve($this->topic));
        $this->adjourn()->advance(1);
        self::assertCount(1, $this->client->reserve($this->topic, jobsMax: 6));
        [$child, $said] = Processes::fork(function (callable $say): void {
            $say(count((new Client($this->adjourn()->address))->reserve($this->topic, waitMs: 60_000, jobsMax: 6)));
        });
        Eventually::holds(fn (): bool => $this->client->stats()->waiting === 1, 'The child does not wait.');
        $this->adjourn()->advance(50);
        self::assertSame(1, Processes::said($said), 'A wait ends when the rate allows the next one.');
        Processes::wait($child);
    }

    public function testAJobThatIsFirstDeliveredLateIsBuriedOrDropped(): void
    {
        $this->client->setTopic('bury', new TopicPolicy(late: LatePolicy::bury(10_000)));
        $this->client->setTopic('drop', new TopicPolicy(late: LatePolicy::drop(10_000)));
        $buried = $this->client->push('bury', 'x')->job;
        $this->client->push('drop', 'x');
        $this->adjourn()->advance(10_001);
        $inTime = $this->client->push('bury', 'y')->job;
        self::assertSame([$inTime], array_column($this->client->reserve(['bury', 'drop'], jobsMax: 5), 'id'));
        self::assertSame(BuriedReason::TooLate, $this->client->get($buried)->buried);
        self::assertSame(1, $this->client->topics()[1]->expired);
    }

    public function testDeadLettersGoToTheirTopicAndComeBack(): void
    {
        $dead = "$this->topic-dead";
        $this->client->setTopic($this->topic, new TopicPolicy(attemptsMax: 1, deadLetters: $dead));
        $id = $this->client->push($this->topic, 'x', key: 'k')->job;
        $this->client->reserve($this->topic, 5000)[0]->release(reason: 'never');
        $letter = $this->client->get($id);
        self::assertSame([$dead, JobState::Ready, 0, 'k', 'never'], [$letter->topic, $letter->state, $letter->attempts, $letter->key, $letter->reason]);
        $this->client->push($this->topic, 'y', delayMs: 60_000, key: 'other');
        try {
            $this->client->get(JobRef::key($dead, 'k'));
            self::fail('A dead letter is not found by its key.');
        } catch (NotFound) {
            foreach ($this->client->bulk(BulkChange::moveTo($this->topic), new Filter($dead)) as $step);
        }
        self::assertSame($id, $this->client->get(JobRef::key($this->topic, 'k'))->id);
    }

    public function testATopicIsNotItsOwnDeadLetterTopic(): void
    {
        $this->expectException(Invalid::class);
        $this->client->setTopic($this->topic, new TopicPolicy(deadLetters: $this->topic));
    }

    public function testATopicIsDeletedWhenItHasNoJobs(): void
    {
        $id = $this->client->push($this->topic, 'x')->job;
        try {
            $this->client->deleteTopic($this->topic);
            self::fail('It has a job.');
        } catch (WrongState) {
            $this->client->delete($id);
        }
        $this->client->deleteTopic($this->topic);
        self::assertNotContains($this->topic, array_column($this->client->topics(), 'topic'));
    }

    /** @dataProvider misuse */
    public function testMisuseIsRefusedBeforeAnythingIsSent(\Closure $call): void
    {
        $this->expectException(UsageError::class);
        $call($this->client);
    }

    public static function misuse(): array
    {
        return [
            'topic' => [static fn (Client $c) => $c->push('-no', 'x')],
            'empty topic' => [static fn (Client $c) => $c->reserve('')],
            'key' => [static fn (Client $c) => $c->push('t', 'x', key: "a\nb")],
            'two due times' => [static fn (Client $c) => $c->push('t', 'x', delayMs: 1, at: new \DateTimeImmutable())],
            'delay' => [static fn (Client $c) => $c->push('t', 'x', delayMs: -1)],
            'ttr' => [static fn (Client $c) => $c->push('t', 'x', ttrMs: 99)],
            'weight' => [static fn (Client $c) => $c->reserve(['t' => 0])],
            'no topics' => [static fn (Client $c) => $c->reserve([])],
            'headers' => [static fn (Client $c) => $c->push('t', 'x', headers: ['a' => str_repeat('x', 1024)])],
            'body that is no JSON' => [static fn (Client $c) => $c->push('t', ["\xff"])],
            'backoff' => [static fn () => Backoff::fixed(1, 101)],
        ];
    }

    public function testATimeIsAnObjectBecauseATextMayHaveNoZone(): void
    {
        $this->expectException(\TypeError::class);
        $this->client->push($this->topic, 'x', at: '2026-01-01 10:00');
    }

    private function report(): \Adjourn\TopicReport
    {
        foreach ($this->client->topics() as $report) {
            if ($report->topic === $this->topic) {
                return $report;
            }
        }
        self::fail("There is no topic $this->topic.");
    }
}
