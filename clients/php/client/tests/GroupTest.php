<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\Server\WrongState;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\GroupReport;
use Adjourn\Job;
use Adjourn\JobEdit;
use Adjourn\JobRef;
use Adjourn\JobReport;
use Adjourn\NewJob;
use Adjourn\Protocol\ClusterFrames;
use Adjourn\Testing\WithAdjourn;
use Adjourn\TopicPolicy;
use Adjourn\Why;
use Adjourn\WhyReason;
use PHPUnit\Framework\TestCase;

final class GroupTest extends TestCase
{
    use WithAdjourn;

    private Client $client;

    protected function setUp(): void
    {
        $this->client = $this->adjourn()->client;
    }

    public function testAGroupHasNoMoreLeasesThanItMay(): void
    {
        $this->pushToGroups();
        $this->adjourn()->advance(5_000);
        $groups = $this->groups();
        self::assertSame(['ann', 'bob'], array_keys($groups));
        self::assertSame([3, 0, 1, false, null], self::shown($groups['ann']));
        self::assertSame([1, 0, 1, false, null], self::shown($groups['bob']));
        self::assertGreaterThanOrEqual(5_000, $groups['ann']->oldestMs);

        self::assertEqualsCanonicalizing(['ann', 'bob'], $this->reserved());
        $groups = $this->groups();
        self::assertSame([2, 1, 1, false, Why::GroupLeases], self::shown($groups['ann']));
        self::assertSame([0, 1], [$groups['bob']->ready, $groups['bob']->reserved]);
        self::assertSame(['bob'], array_keys($this->groups('b')));
        self::assertSame([], $this->groups('bobby'));
    }

    public function testAGroupIsPausedAndHasAWeight(): void
    {
        $this->pushToGroups();
        $this->client->setGroup('t', 'bob', weight: 5, paused: true);
        self::assertSame([1, 0, 5, true, Why::GroupPaused], self::shown($this->groups()['bob']));
        self::assertSame([3, 0, 1, false, null], self::shown($this->groups()['ann']));
        self::assertSame(['ann'], $this->reserved());
        $this->client->setGroup('t', 'bob', paused: false);
        self::assertSame([1, 0, 5, false, null], self::shown($this->groups()['bob']));
        $this->client->setGroup('t', 'bob', weight: 7);
        self::assertSame(['bob'], $this->reserved());
        self::assertSame(7, $this->groups()['bob']->weight);
    }

    public function testAJobATopicAndAGroupSayWhyTheyWait(): void
    {
        $this->pushToGroups();
        $this->client->reserve('t', jobsMax: 4);
        $last = JobRef::key('t', 'last');
        foreach ([$this->client->get($last)->id, $last] as $job) {
            [$first] = $this->client->why($job);
            self::assertInstanceOf(WhyReason::class, $first);
            self::assertSame(Why::GroupLeases, $first->why);
            self::assertNotSame('', $first->text);
        }
        self::assertNotSame([], $this->client->whyTopic('t'));
        self::assertContains(Why::GroupLeases, array_column($this->client->whyTopic('t', 'ann'), 'why'));
        $this->client->pause('t');
        self::assertContains(Why::TopicPaused, array_column($this->client->whyTopic('t'), 'why'));
        $this->assertRefused(NotFound::class, fn () => $this->client->why(JobRef::key('t', 'unknown')));
        $this->assertRefused(NotFound::class, fn () => $this->client->whyTopic('unknown'));
    }

    public function testJobsAreFoundByTheirGroupAndChangeIt(): void
    {
        $this->pushToGroups();
        self::assertSame([3, 1, 0], array_map($this->counted(...), ['ann', 'bob', 'cid']));
        $listed = iterator_to_array($this->client->list(new Filter('t', group: 'bob')), false);
        self::assertSame(['bob'], array_map(static fn (JobReport $job): ?string => $job->attributes->group, $listed));
        $last = JobRef::key('t', 'last');
        $this->client->edit($last, new JobEdit(group: 'bob'));
        self::assertSame('bob', $this->client->get($last)->attributes->group);
        self::assertSame([2, 2], [$this->counted('ann'), $this->counted('bob')]);
        $this->client->edit($last, new JobEdit(unset: ['group']));
        self::assertNull($this->client->get($last)->attributes->group);
        self::assertSame([2, 1], [$this->counted('ann'), $this->counted('bob')]);
    }

    public function testATopicHasSettingsOfGroups(): void
    {
        $policy = new TopicPolicy(
            fair: true,
            groupLeasesMax: 2,
            groupPerSecondMax: 50,
            groupBurst: 9,
            groupOrder: 'fifo',
            groupOnBury: 'continue',
        );
        $this->client->setTopic('t', $policy);
        $shown = $this->client->showTopic('t')->policy;
        $ofServer = ['attemptsMax' => $shown->attemptsMax, 'backoff' => $shown->backoff];
        self::assertEquals($ofServer + get_object_vars($policy), get_object_vars($shown));
        $this->client->setTopic('t', new TopicPolicy(fair: false, unset: ['groupOrder', 'groupOnBury']));
        $shown = $this->client->showTopic('t')->policy;
        self::assertSame([null, 2, null, null], [$shown->fair, $shown->groupLeasesMax, $shown->groupOrder, $shown->groupOnBury]);
    }

    public function testWhatNoGroupCanBeIsRefused(): void
    {
        $this->client->push('plain', 'x', group: 'ann');
        $this->assertRefused(WrongState::class, fn () => $this->client->setGroup('plain', 'ann', weight: 2));
        $this->assertRefused(NotFound::class, fn () => $this->client->setGroup('unknown', 'ann', weight: 2));
    }

    public function testAWrongCallSendsNothing(): void
    {
        $client = new Client('127.0.0.1:1');
        $this->assertRefused(UsageError::class, fn () => $client->setGroup('t', 'ann'));
        foreach ([0, -1, 1_001] as $weight) {
            $this->assertRefused(UsageError::class, fn () => $client->setGroup('t', 'ann', weight: $weight));
        }
        foreach (['', "a\n", "\xff", str_repeat('x', 256)] as $name) {
            $this->assertRefused(UsageError::class, fn () => $client->setGroup('t', $name, paused: true));
            $this->assertRefused(UsageError::class, fn () => $client->whyTopic('t', $name));
            $this->assertRefused(UsageError::class, fn () => $client->push('t', 'x', group: $name));
            $this->assertRefused(UsageError::class, fn () => new Filter('t', group: $name));
        }
        $this->assertRefused(UsageError::class, fn () => $client->push('t', new NewJob('x'), group: 'ann'));
        $this->assertRefused(UsageError::class, fn () => iterator_to_array($client->groups('-')));
    }

    public function testEachReasonOfTheSchemaHasACaseAndOthersAreUnknown(): void
    {
        $constants = (new \ReflectionClass(ClusterFrames::class))->getConstants();
        $numbers = array_filter($constants, static fn (string $name): bool => str_starts_with($name, 'WHY_'), ARRAY_FILTER_USE_KEY);
        self::assertSame([...array_values($numbers), -1], array_column(Why::cases(), 'value'));
        self::assertSame(Why::Unknown, Why::of(99));
        $group = ['name' => 'ann', 'ready' => 1, 'reserved' => 0, 'oldest_ms' => 2, 'weight' => 1, 'paused' => 0, 'hold' => 99, 'until_ms' => 7];
        self::assertSame([Why::Unknown, 7], [GroupReport::of($group)->hold, GroupReport::of($group)->untilMs]);
        self::assertNull(GroupReport::of(['until_ms' => 0] + $group)->untilMs);
    }

    /** Three jobs of ann, the last one with a key, and one of bob; each group has one lease at most. */
    private function pushToGroups(): void
    {
        $this->client->setTopic('t', new TopicPolicy(groupLeasesMax: 1));
        $this->client->push('t', 'x', group: 'ann');
        $this->client->pushMany('t', [new NewJob('x', group: 'ann'), new NewJob('x', group: 'bob'), new NewJob('x', key: 'last', group: 'ann')]);
    }

    /** @return array<string, GroupReport> by their names */
    private function groups(string $prefix = ''): array
    {
        return array_column(iterator_to_array($this->client->groups('t', $prefix), false), null, 'name');
    }

    /** @return list<?string> the groups of the jobs that the queue gives now, which stay reserved */
    private function reserved(): array
    {
        return array_map(static fn (Job $job): ?string => $job->attributes->group, $this->client->reserve('t', jobsMax: 4));
    }

    private function counted(string $group): int
    {
        return $this->client->count(new Filter('t', group: $group));
    }

    /** @return array{int, int, int, bool, ?Why} */
    private static function shown(GroupReport $group): array
    {
        return [$group->ready, $group->reserved, $group->weight, $group->isPaused, $group->hold];
    }

    private function assertRefused(string $class, \Closure $call): void
    {
        try {
            $call();
        } catch (\Throwable $error) {
            self::assertInstanceOf($class, $error, (string) $error);

            return;
        }
        self::fail("No $class.");
    }
}
