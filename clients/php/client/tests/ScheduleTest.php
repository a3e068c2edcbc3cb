<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Dst;
use Adjourn\Error\Server\Changed;
use Adjourn\Error\Server\Invalid;
use Adjourn\Error\Server\KeyExists;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\UsageError;
use Adjourn\FilledPart;
use Adjourn\Filter;
use Adjourn\Firing;
use Adjourn\FiringOutcome;
use Adjourn\Limit;
use Adjourn\ListedSchedule;
use Adjourn\LocalInstant;
use Adjourn\Missed;
use Adjourn\NewJob;
use Adjourn\Overlap;
use Adjourn\PausedReason;
use Adjourn\ScheduleRules;
use Adjourn\Testing\WithAdjourn;
use PHPUnit\Framework\TestCase;

final class ScheduleTest extends TestCase
{
    use WithAdjourn;

    private Client $client;

    protected function setUp(): void
    {
        $this->client = $this->adjourn()->client;
    }

    public function testAScheduleIsSetFiresAndShowsWhatBecameOfIt(): void
    {
        $nowMs = $this->nowMs();
        $instantMs = intdiv($nowMs, 60_000) * 60_000 + 60_000;
        $job = new NewJob(['report' => 1], ttrMs: 60_000, priority: 7, headers: ['tenant' => 'ann'], attemptsMax: 2);
        $made = $this->client->setSchedule('reports', 'often', new ScheduleRules('* * * * *', overlap: Overlap::Skip), $job, onlyIfNew: true);
        self::assertSame([1, $instantMs], [$made->version, $made->nextMs]);
        self::assertSame([], $this->client->reserve('reports'));
        $this->adjourn()->advance($instantMs - $nowMs);
        [$got] = $this->client->reserve('reports', waitMs: 30_000);
        self::assertSame([['report' => 1], 7, "often@$instantMs"], [$got->payload(), $got->priority, $got->key]);
        $running = $this->client->showSchedule('reports', 'often');
        self::assertSame([1, FiringOutcome::Pushed], [$running->state->running, $running->history[0]->outcome]);
        $got->finish();

        $shown = $this->client->showSchedule('reports', 'often');
        $state = $shown->state;
        self::assertSame([$made->schedule, 1, 1, 0, 0], [$state->schedule, $state->version, $state->fired, $state->running, $state->failures]);
        self::assertSame([null, $instantMs + 60_000, false, false], [$state->paused, $state->nextMs, $state->hasCome, $state->isHeld]);
        self::assertSame(['* * * * *', null, Overlap::Skip, Dst::Vixie], [$shown->rules->when, $shown->rules->zone, $shown->rules->overlap, $shown->rules->dst]);
        $template = $shown->template;
        self::assertSame([['report' => 1], 7, 60_000], [$template->payload(), $template->priority, $template->ttrMs]);
        self::assertSame(['ann', 2], [$template->attributes->headers['tenant'], $template->attributes->attemptsMax]);
        self::assertEquals([new Firing($instantMs, $instantMs, 1, $shown->history[0]->atMs, $got->id, FiringOutcome::Finished)], $shown->history);
    }

    public function testAScheduleIsListedPausedResumedRunAndDeleted(): void
    {
        $this->client->setSchedule('t', 'a', '@every 1h', 'x');
        $this->client->setSchedule('t', 'b', '@every 90s');
        $this->client->setSchedule('other', 'c', '@daily');
        self::assertSame(['a @every 1h', 'b @every 90s'], $this->listed());
        self::assertSame(['t a', 't b', 'other c'], $this->listedOfAll());
        self::assertSame(['other c'], $this->listedOfAll(prefix: 'c', paused: false));
        $this->client->pauseSchedule('t', 'a', 'for now');
        $state = $this->client->showSchedule('t', 'a')->state;
        self::assertSame([PausedReason::User, 'for now'], [$state->paused, $state->pauseNote]);
        $now = $this->adjourn()->now();
        self::assertSame([['b @every 90s'], []], [$this->listed(prefix: 'b'), $this->listed(prefix: 'bb')]);
        self::assertSame([['a @every 1h'], ['b @every 90s']], [$this->listed(paused: true), $this->listed(paused: false)]);
        self::assertSame([], $this->listed(nextBefore: $now->modify('+1 minute')));
        self::assertSame(['b @every 90s'], $this->listed(nextBefore: $now->modify('+2 minutes')));
        self::assertSame([], $this->listed(nextBefore: new \DateTimeImmutable('@0')));
        self::assertSame([[], ['a @every 1h']], [$this->listed(prefix: 'a', paused: false), $this->listed(prefix: 'a', paused: true)]);
        $this->client->resumeSchedule('t', 'a');
        self::assertNull($this->client->showSchedule('t', 'a')->state->paused);
        $id = $this->client->runSchedule('t', 'a');
        [$job] = $this->client->reserve('t', waitMs: 30_000);
        self::assertSame([$id, 'x'], [$job->id, $job->body]);
        $this->client->deleteSchedule('t', 'a');
        self::assertSame(['b @every 90s'], $this->listed());
        foreach (['show', 'pause', 'resume', 'run', 'delete'] as $call) {
            $this->assertRefused(NotFound::class, fn () => $this->client->{"{$call}Schedule"}('t', 'a'));
        }
    }

    public function testAScheduleIsSetAgainAsItWasShown(): void
    {
        $rules = new ScheduleRules(
            '0 9 * * 1-5',
            'Europe/Berlin',
            start: new \DateTimeImmutable('2020-01-01T00:00:00.5Z'),
            jitterMs: 500,
            missed: Missed::Last,
            windowMs: 60_000,
            note: 'why',
        );
        $first = $this->client->setSchedule('t', 'a', $rules, ['n' => 1]);
        $shown = $this->client->showSchedule('t', 'a');
        self::assertEquals($rules->with(origin: $rules->start), $shown->rules);
        $again = $this->client->setSchedule('t', 'a', $shown->rules->with(failuresMax: 3, windowMs: null), $shown->template, ifVersion: $shown->state->version);
        self::assertSame([$first->schedule, 2, $first->nextMs], [$again->schedule, $again->version, $again->nextMs]);
        $now = $this->client->showSchedule('t', 'a');
        self::assertEquals($rules->with(origin: $rules->start, failuresMax: 3, windowMs: null), $now->rules);
        self::assertEquals($shown->template, $now->template);
        $this->assertRefused(Changed::class, fn () => $this->client->setSchedule('t', 'a', $rules, ifVersion: 1));
        $this->assertRefused(Changed::class, fn () => $this->client->setSchedule('t', 'a', $rules, onlyIfNew: true));
        $this->assertRefused(Changed::class, fn () => $this->client->setSchedule('t', 'b', $rules, ifVersion: 1));
        $this->client->setSchedule('t', 'a', $rules->with(key: 'fixed'));
        $this->client->runSchedule('t', 'a');
        $this->assertRefused(KeyExists::class, fn () => $this->client->runSchedule('t', 'a'));
    }

    public function testSchedulesOfManyTopicsAreListedAndChangedAtOnce(): void
    {
        $all = [];
        for ($n = 0; $n <= Limit::SCHEDULES_LISTED_MAX; ++$n) {
            $this->client->setSchedule("t$n", 'nightly', '@daily');
            $all[] = "t$n nightly";
        }
        foreach ($this->client->schedules(prefix: 'night', paused: false) as $one) {
            $this->client->pauseSchedule($one->topic, $one->name);
        }
        self::assertSame([$all, []], [$this->listedOfAll(paused: true), $this->listedOfAll(paused: false)]);
    }

    public function testATimeThatHasPassedIsCountedAndFilled(): void
    {
        $this->client->setSchedule('t', 'daily', '0 9 * * *', 'report');
        [$first, $second, $third] = array_map(static fn (int $day) => new \DateTimeImmutable("2024-01-0{$day}T09:00:00Z"), [1, 2, 3]);
        $fill = fn (mixed ...$time): FilledPart => $this->client->fillSchedule('t', 'daily', ...$time);
        self::assertEquals(new FilledPart(3, 0, 0, 0, null), $fill($first, $third, dryRun: true));
        self::assertEquals(new FilledPart(2, 2, 0, 0, null), $fill($first, $second));
        self::assertEquals(new FilledPart(3, 1, 2, 0, null), $fill($first, $third));
        $jobs = $this->client->reserve('t', jobsMax: 5);
        $keys = array_map(static fn (\DateTimeImmutable $at): string => 'daily@' . $at->format('Uv'), [$first, $second, $third]);
        self::assertSame([$keys, ['report', 'report', 'report']], [array_column($jobs, 'key'), array_column($jobs, 'body')]);
        self::assertSame([], $this->client->showSchedule('t', 'daily')->history);
        $this->assertRefused(Invalid::class, fn () => $fill($third, $first));
        $this->assertRefused(Invalid::class, fn () => $fill($first, $this->adjourn()->now()->modify('+1 minute')));
        $this->client->setSchedule('t', 'one key', new ScheduleRules('@daily', key: 'fixed'));
        $this->assertRefused(Invalid::class, fn () => $this->client->fillSchedule('t', 'one key', $first, $third));
        $this->assertRefused(NotFound::class, fn () => $this->client->fillSchedule('t', 'weekly', $first, $third));
    }

    public function testALongTimeIsFilledPartByPart(): void
    {
        $this->client->setSchedule('t', 'often', '* * * * *');
        $to = new \DateTimeImmutable('2024-01-01T23:59:00Z');
        foreach ([[true, 0], [false, 1_440]] as [$dryRun, $pushed]) {
            $parts = [];
            for ($next = new \DateTimeImmutable('2024-01-01T00:00:00Z'); $next !== null; $next = $part->next) {
                $parts[] = $part = $this->client->fillSchedule('t', 'often', $next, $to, $dryRun);
            }
            self::assertGreaterThan(1, count($parts));
            self::assertSame([1_440, $pushed], [array_sum(array_column($parts, 'instants')), array_sum(array_column($parts, 'pushed'))]);
        }
        self::assertSame(1_440, $this->client->count(new Filter('t')));
    }

    public function testAScheduleIsPreviewedWithoutSettingIt(): void
    {
        $shown = $this->client->previewSchedule(new ScheduleRules('30 2 * * 7', 'Europe/Berlin'), new \DateTimeImmutable('2024-03-28T00:00:00Z'), 2);
        self::assertEquals([
            new LocalInstant(1_711_846_800_000, '2024-03-31 03:00:00 +02:00 CEST'),
            new LocalInstant(1_712_449_800_000, '2024-04-07 02:30:00 +02:00 CEST'),
        ], $shown->instants);
        self::assertNotSame('', $shown->zoneData);
        $instants = $this->client->previewSchedule('* * * * *')->instants;
        self::assertCount(5, $instants);
        self::assertGreaterThan($this->nowMs(), $instants[0]->instantMs);
        self::assertSame([], $this->client->previewSchedule('@at 2024-01-01T00:00:00Z')->instants);
        $this->assertRefused(Invalid::class, fn () => $this->client->previewSchedule('61 * * * *'));
        $this->assertRefused(Invalid::class, fn () => $this->client->previewSchedule(new ScheduleRules('@daily', 'Mars/Olympus')));
        $this->assertRefused(UsageError::class, fn () => $this->client->previewSchedule('@daily', count: 0));
        $this->assertRefused(UsageError::class, fn () => $this->client->previewSchedule('@daily', count: 1_001));
        self::assertSame([], $this->listedOfAll());
    }

    public function testWhatNoScheduleCanBeIsRefused(): void
    {
        $set = fn (ScheduleRules|string $rules, mixed $job = '', mixed ...$more) => $this->client->setSchedule('t', 'a', $rules, $job, ...$more);
        $this->assertRefused(Invalid::class, fn () => $set('often'));
        $this->assertRefused(Invalid::class, fn () => $set('0 0 31 2 *'));
        $this->assertRefused(UsageError::class, fn () => $set('@daily', new NewJob('x', delayMs: 5)));
        $this->assertRefused(UsageError::class, fn () => $set('@daily', new NewJob('x', key: 'k')));
        $this->assertRefused(UsageError::class, fn () => $set('@daily', ifVersion: 1, onlyIfNew: true));
        $this->assertRefused(UsageError::class, fn () => $set(new ScheduleRules('@daily', overlap: Overlap::Unknown)));
        $wrong = [['count' => 0], ['windowMs' => -1], ['jitterMs' => -1], ['key' => ''], ['end' => new \DateTimeImmutable('@0')]];
        foreach ($wrong as $rule) {
            $this->assertRefused(UsageError::class, fn () => $set(new ScheduleRules('@daily', ...$rule)));
        }
        $this->assertRefused(UsageError::class, fn () => iterator_to_array($this->client->schedules('')));
        self::assertSame([], $this->listed());
    }

    public function testWhatOnlyANewerServerKnowsIsUnknown(): void
    {
        self::assertSame([Dst::Unknown, Missed::Unknown, Overlap::Unknown], [Dst::of(9), Missed::of(9), Overlap::of(9)]);
        self::assertSame([FiringOutcome::Unknown, PausedReason::Unknown], [FiringOutcome::of(99), PausedReason::of(99)]);
    }

    /** @return list<string> */
    private function listed(mixed ...$conditions): array
    {
        $all = iterator_to_array($this->client->schedules('t', ...$conditions), false);

        return array_map(static fn (ListedSchedule $one): string => "$one->name {$one->rules->when}", $all);
    }

    /** @return list<string> */
    private function listedOfAll(mixed ...$conditions): array
    {
        $all = iterator_to_array($this->client->schedules(...$conditions), false);

        return array_map(static fn (ListedSchedule $one): string => "$one->topic $one->name", $all);
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

    private function nowMs(): int
    {
        return (int) $this->adjourn()->now()->format('Uv');
    }
}
