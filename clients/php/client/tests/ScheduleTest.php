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
use Adjourn\Firing;
use Adjourn\FiringOutcome;
use Adjourn\ListedSchedule;
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
