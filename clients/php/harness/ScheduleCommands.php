<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Firing;
use Adjourn\ListedSchedule;
use Adjourn\LocalInstant;
use Adjourn\Missed;
use Adjourn\Overlap;
use Adjourn\ScheduleRules;
use Adjourn\ScheduleState;
use Adjourn\Time;
use Adjourn\U64;

/** The commands about schedules. */
trait ScheduleCommands
{
    private function do_schedule_set(array $c): array
    {
        $rules = array_intersect_key($c, ['when' => true, 'zone' => true]);
        foreach (['overlap' => Overlap::class, 'missed' => Missed::class] as $rule => $choice) {
            if (isset($c[$rule])) {
                $rules[$rule] = self::choice($choice, $c[$rule]);
            }
        }
        $more = isset($c['body']) ? ['job' => base64_decode($c['body'])] : [];
        if (isset($c['if_version'])) {
            $more += $c['if_version'] === 'new' ? ['onlyIfNew' => true] : ['ifVersion' => $c['if_version']];
        }
        $set = $this->client($c)->setSchedule($c['topic'], $c['name'], new ScheduleRules(...$rules), ...$more);

        return ['version' => $set->version, 'next_ms' => U64::toString($set->nextMs ?? 0)];
    }

    private function do_schedule_show(array $c): array
    {
        $shown = $this->client($c)->showSchedule($c['topic'], $c['name']);

        return self::schedule($shown->state, $shown->rules) + [
            'fired' => U64::toString($shown->state->fired), 'running' => $shown->state->running, 'body' => base64_encode($shown->template->body),
            'history' => array_map(static fn (Firing $firing): array => [
                'instant_ms' => U64::toString($firing->instantMs), 'job' => U64::toString($firing->job ?? 0),
                'fired' => self::choiceName($firing->outcome),
            ], $shown->history),
        ];
    }

    private function do_schedule_list(array $c): array
    {
        $found = array_intersect_key($c, ['topic' => true, 'prefix' => true, 'paused' => true]);
        if (isset($c['next_before_ms'])) {
            $found['nextBefore'] = Time::at(U64::parse($c['next_before_ms']));
        }

        return ['schedules' => array_map(
            static fn (ListedSchedule $one): array => ['topic' => $one->topic, 'name' => $one->name] + self::schedule($one->state, $one->rules),
            iterator_to_array($this->client($c)->schedules(...$found), false),
        )];
    }

    private function do_schedule_pause(array $c): array
    {
        $this->client($c)->pauseSchedule($c['topic'], $c['name'], $c['note'] ?? '');

        return [];
    }

    private function do_schedule_resume(array $c): array
    {
        $this->client($c)->resumeSchedule($c['topic'], $c['name']);

        return [];
    }

    private function do_schedule_delete(array $c): array
    {
        $this->client($c)->deleteSchedule($c['topic'], $c['name']);

        return [];
    }

    private function do_schedule_run(array $c): array
    {
        return ['job' => U64::toString($this->client($c)->runSchedule($c['topic'], $c['name']))];
    }

    private function do_schedule_fill(array $c): array
    {
        [$from, $to] = [Time::at(U64::parse($c['from_ms'])), Time::at(U64::parse($c['to_ms']))];
        $part = $this->client($c)->fillSchedule($c['topic'], $c['name'], $from, $to, $c['dry_run'] ?? false);

        return [
            'instants' => $part->instants, 'pushed' => $part->pushed, 'kept' => $part->kept, 'refused' => $part->refused,
            'next_ms' => U64::toString($part->next === null ? 0 : Time::ms($part->next)),
        ];
    }

    private function do_schedule_preview(array $c): array
    {
        $asked = array_intersect_key($c, ['count' => true]);
        if (isset($c['from_ms'])) {
            $asked['from'] = Time::at(U64::parse($c['from_ms']));
        }
        $preview = $this->client($c)->previewSchedule(new ScheduleRules(...array_intersect_key($c, ['when' => true, 'zone' => true])), ...$asked);

        return ['instants' => array_map(static fn (LocalInstant $one): array => [
            'instant_ms' => U64::toString($one->instantMs), 'local' => $one->local,
        ], $preview->instants)];
    }

    private static function schedule(ScheduleState $state, ScheduleRules $rules): array
    {
        return [
            'version' => $state->version, 'when' => $rules->when,
            'paused' => $state->paused === null ? null : self::choiceName($state->paused),
            'pause_note' => $state->pauseNote,
            'next_ms' => U64::toString($state->nextMs ?? 0),
        ];
    }

    private static function choiceName(\UnitEnum $case): string
    {
        return strtolower(Frames::name($case->name));
    }
}
