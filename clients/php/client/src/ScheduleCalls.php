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
            + (is_string($rules) ? new ScheduleRules($rules) : $rules)->wire()
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
     * The schedules of a topic that meet all conditions, in the order in which they were made, fetched page by page while the caller iterates.
     *
     * @param string $prefix only those whose names begin like this
     * @param bool|null $paused true: only those that are paused; false: only those that are not
     * @param \DateTimeInterface|null $nextBefore only those with a next instant before this time
     * @return iterable<ListedSchedule>
     */
    public function schedules(string $topic, string $prefix = '', ?bool $paused = null, ?\DateTimeInterface $nextBefore = null): iterable
    {
        $fields = [
            'after' => 0,
            'schedules_max' => Limit::SCHEDULES_LISTED_MAX,
            'next_before_ms' => $nextBefore === null ? 0 : max(1, Time::ms($nextBefore)),
            'paused' => match ($paused) {
                null => ScheduleFrames::WHICH_PAUSED_ANY,
                true => ScheduleFrames::WHICH_PAUSED_PAUSED,
                false => ScheduleFrames::WHICH_PAUSED_ACTIVE,
            },
            'topic' => Topic::check($topic),
            'prefix' => $prefix,
        ];
        do {
            $page = $this->session->call(Opcode::ScheduleList, $fields);
            foreach ($page['schedules'] as $item) {
                yield ListedSchedule::of($item);
            }
            $fields['after'] = $page['after'];
        } while ($page['after'] !== 0);
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

    /** Forgets a schedule. Its jobs stay. */
    public function deleteSchedule(string $topic, string $name): void
    {
        $this->session->call(Opcode::ScheduleDelete, self::schedule($topic, $name));
    }

    /** @return array{topic: string, name: string} */
    private static function schedule(string $topic, string $name): array
    {
        return ['topic' => Topic::check($topic), 'name' => $name];
    }
}
