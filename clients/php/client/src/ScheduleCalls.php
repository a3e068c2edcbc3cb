<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\UsageError;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\ScheduleFrames;

/** @internal The calls of a Client about schedules. */
trait ScheduleCalls
{
    /**
     * Creates a schedule, or gives the one of this name another content: everything is replaced, and its history stays. The topic is created if it is new.
     *
     * @param ScheduleRules|string $rules a text says when it fires, and nothing more: `0 9 * * 1-5`, `@daily`, `@every 90s`
     * @param mixed $job the body of its jobs, as in `push`; a NewJob without a time and a key; or the template that `showSchedule` shows. The headers of a
     *     trace are not added
     * @param int|null $ifVersion only if it was set so often, or `Changed` is thrown; see ScheduleState
     * @param bool $onlyIfNew only if there is no schedule of this name, or `Changed` is thrown
     * @throws Error\Server\Invalid if the rules cannot be read, or never fire
     * @throws Error\Server\Changed
     */
    public function setSchedule(
        string $topic,
        string $name,
        ScheduleRules|string $rules,
        mixed $job = '',
        ?int $ifVersion = null,
        bool $onlyIfNew = false,
    ): Scheduled {
        if ($onlyIfNew && $ifVersion !== null) {
            throw new UsageError('A schedule is set only if it is new, or only if it has a version, not both.');
        }
        $fields = self::schedule($topic, $name)
            + self::rules($rules)
            + JobTemplate::fieldsOf($job, $this->options->codec)
            + ['if_version' => $onlyIfNew ? 0xFFFFFFFF : $ifVersion ?? 0];

        return Scheduled::of($this->session->call(Opcode::ScheduleSet, $fields));
    }

    /** @throws Error\Server\NotFound */
    public function showSchedule(string $topic, string $name): ScheduleReport
    {
        return ScheduleReport::of($this->session->call(Opcode::ScheduleShow, self::schedule($topic, $name)));
    }

    /**
     * The schedules of a topic, or with null of all topics that the token may read, that meet all conditions: those of a topic in the order in which they
     * were made. They are fetched page by page while the caller iterates. To change many at once, list them, and pause, resume or delete each.
     *
     * @param string $prefix only those whose names begin like this
     * @param bool|null $paused true: only those that are paused; false: only those that are not
     * @param \DateTimeInterface|null $nextBefore only those with a next instant before this time
     * @return iterable<ListedSchedule>
     */
    public function schedules(?string $topic = null, string $prefix = '', ?bool $paused = null, ?\DateTimeInterface $nextBefore = null): iterable
    {
        $fields = [
            'schedules_max' => Limit::SCHEDULES_LISTED_MAX,
            'next_before_ms' => $nextBefore === null ? 0 : max(1, Time::ms($nextBefore)),
            'paused' => match ($paused) {
                null => ScheduleFrames::WHICH_PAUSED_ANY,
                true => ScheduleFrames::WHICH_PAUSED_PAUSED,
                false => ScheduleFrames::WHICH_PAUSED_ACTIVE,
            },
            'topic' => $topic === null ? '' : Topic::check($topic),
            'prefix' => $prefix,
            'cursor' => '',
        ];
        do {
            $page = $this->session->call(Opcode::ScheduleList, $fields);
            foreach ($page['schedules'] as $item) {
                yield ListedSchedule::of($item);
            }
            $fields['cursor'] = $page['cursor'];
        } while ($page['cursor'] !== '');
    }

    /** Lets a schedule fire no more until it is resumed. The note says why, for people. */
    public function pauseSchedule(string $topic, string $name, string $note = ''): void
    {
        $this->session->call(Opcode::SchedulePause, self::schedule($topic, $name) + ['note' => $note]);
    }

    /** Lets a paused schedule fire again. Its rule for missed instants says what happens to those that passed. */
    public function resumeSchedule(string $topic, string $name): void
    {
        $this->session->call(Opcode::ScheduleResume, self::schedule($topic, $name));
    }

    /**
     * Pushes a job of a schedule now, whether an earlier one has ended or not. Returns the id of the job. The next instant stays.
     *
     * @throws Error\Server\KeyExists if the topic has a job with the key that it would have
     */
    public function runSchedule(string $topic, string $name): int
    {
        return $this->session->call(Opcode::ScheduleRun, self::schedule($topic, $name))['job'];
    }

    /**
     * Pushes jobs for the instants that a schedule had in a time that has passed: those of one part of it. Go on with the next part:
     *
     *     for ($next = $from; $next !== null; $next = $part->next) {
     *         $part = $queue->fillSchedule('reports', 'morning', $next, $to);
     *     }
     *
     * The jobs are due at once. An instant gets none if the topic has a job with its key; a finished job is pushed again. The history of the schedule does
     * not show these jobs.
     *
     * @param bool $dryRun pushes nothing, and counts the instants
     * @throws Error\Server\Invalid if `$to` is ahead, or if the rules give all jobs one key
     * @throws Error\Server\NotFound
     */
    public function fillSchedule(string $topic, string $name, \DateTimeInterface $from, \DateTimeInterface $to, bool $dryRun = false): FilledPart
    {
        $fields = self::schedule($topic, $name) + ['from_ms' => max(0, Time::ms($from)), 'to_ms' => max(0, Time::ms($to)), 'dry_run' => (int) $dryRun];

        return FilledPart::of($this->session->call(Opcode::ScheduleFill, $fields));
    }

    /**
     * When a schedule with these rules would fire: the next instants, and what the clocks of its zone show then. No schedule is set. Without an origin
     * and a start, `@every` counts from `$from`, or from now.
     *
     * @param ScheduleRules|string $rules as in `setSchedule`
     * @param \DateTimeInterface|null $from only instants after this time; null: after now
     * @param int $count at most so many, 1 to `Limit::INSTANTS_SHOWN_MAX`
     * @throws Error\Server\Invalid if the rules cannot be read
     */
    public function previewSchedule(ScheduleRules|string $rules, ?\DateTimeInterface $from = null, int $count = 5): SchedulePreview
    {
        if ($count < 1 || $count > Limit::INSTANTS_SHOWN_MAX) {
            throw new UsageError(sprintf('%d instants: ask for 1 to %d.', $count, Limit::INSTANTS_SHOWN_MAX));
        }
        $fields = self::rules($rules) + ['from_ms' => $from === null ? 0 : max(1, Time::ms($from)), 'instants_max' => $count];

        return SchedulePreview::of($this->session->call(Opcode::SchedulePreview, $fields));
    }

    /** Forgets a schedule. Its jobs stay. */
    public function deleteSchedule(string $topic, string $name): void
    {
        $this->session->call(Opcode::ScheduleDelete, self::schedule($topic, $name));
    }

    /** @return array<string, mixed> */
    private static function rules(ScheduleRules|string $rules): array
    {
        return (is_string($rules) ? new ScheduleRules($rules) : $rules)->wire();
    }

    /** @return array{topic: string, name: string} */
    private static function schedule(string $topic, string $name): array
    {
        return ['topic' => Topic::check($topic), 'name' => $name];
    }
}
