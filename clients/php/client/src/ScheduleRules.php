<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\UsageError;

/** When a schedule fires, and what it does then. Build them with named arguments; to change some, write `$rules->with(jitterMs: 30_000)`. */
final readonly class ScheduleRules
{
    /** Counts and durations that are not there, or at least 1. */
    private const FROM_ONE = ['count', 'windowMs', 'missedMax', 'failuresMax'];

    /**
     * @param string $when a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times
     * @param string|null $zone the IANA name of the time zone of a cron expression, such as `Europe/Berlin`; null: UTC
     * @param Dst $dst what happens when the clocks of its zone are changed
     * @param \DateTimeInterface|null $origin from when `@every` counts; null: from when the schedule is set first
     * @param \DateTimeInterface|null $start it does not fire before this time
     * @param \DateTimeInterface|null $end it does not fire after this time
     * @param int|null $count it ends when it has pushed a job at so many instants
     * @param int $jitterMs a job is due up to this long after its instant, a day at most: how long follows from the name and the instant
     * @param Missed $missed which of the instants that passed unnoticed are fired late
     * @param int|null $windowMs with Missed::Last or All: only instants that were missed no longer ago than this; null: any
     * @param int|null $missedMax with Missed::All: at most so many instants, the last ones, up to 1,000; null: 100
     * @param Overlap $overlap what it does while an earlier job of it has not ended
     * @param int|null $failuresMax it is paused after so many failures one after another
     * @param string|null $key the key of its jobs; null: the name, `@`, and the instant in milliseconds
     * @param string $note for people
     */
    public function __construct(
        public string $when,
        public ?string $zone = null,
        public Dst $dst = Dst::Vixie,
        public ?\DateTimeInterface $origin = null,
        public ?\DateTimeInterface $start = null,
        public ?\DateTimeInterface $end = null,
        public ?int $count = null,
        public int $jitterMs = 0,
        public Missed $missed = Missed::Last,
        public ?int $windowMs = null,
        public ?int $missedMax = null,
        public Overlap $overlap = Overlap::Skip,
        public ?int $failuresMax = null,
        public ?string $key = null,
        public string $note = '',
    ) {
    }

    /**
     * These rules with others in their place: `$rules->with(jitterMs: 30_000, windowMs: null)`. The names are those of the constructor.
     */
    public function with(mixed ...$rules): self
    {
        return new self(...($rules + get_object_vars($this)));
    }

    /**
     * @internal By the names in the protocol.
     *
     * @return array<string, mixed>
     */
    public function wire(): array
    {
        $this->check();

        return [
            'origin_ms' => $this->origin === null ? 0 : Time::ms($this->origin),
            'start_ms' => $this->start === null ? 0 : Time::ms($this->start),
            'end_ms' => $this->end === null ? 0 : Time::ms($this->end),
            'count' => $this->count ?? 0,
            'window_ms' => $this->windowMs ?? 0,
            'missed_max' => $this->missedMax ?? 0,
            'jitter_ms' => $this->jitterMs,
            'failures_max' => $this->failuresMax ?? 0,
            'dst' => $this->dst->value,
            'missed' => $this->missed->value,
            'overlap' => $this->overlap->value,
            'when' => $this->when,
            'zone' => $this->zone ?? '',
            'key' => $this->key ?? '',
            'note' => $this->note,
        ];
    }

    /**
     * @internal
     *
     * @param array<string, mixed> $f the fields of SCHEDULE, or of an item of SCHEDULES
     */
    public static function ofWire(array $f): self
    {
        return new self(
            when: $f['when'],
            zone: $f['zone'] === '' ? null : $f['zone'],
            dst: Dst::of($f['dst']),
            origin: self::time($f['origin_ms']),
            start: self::time($f['start_ms']),
            end: self::time($f['end_ms']),
            count: $f['count'] ?: null,
            jitterMs: $f['jitter_ms'],
            missed: Missed::of($f['missed']),
            windowMs: $f['window_ms'] ?: null,
            missedMax: $f['missed_max'] ?: null,
            overlap: Overlap::of($f['overlap']),
            failuresMax: $f['failures_max'] ?: null,
            key: $f['key'] === '' ? null : $f['key'],
            note: $f['note'],
        );
    }

    /** Only of what is set: a newer server may show more. */
    private function check(): void
    {
        if ($this->dst === Dst::Unknown || $this->missed === Missed::Unknown || $this->overlap === Overlap::Unknown) {
            throw new UsageError('A schedule cannot be set with what this client does not know: name dst, missed and overlap.');
        }
        foreach (self::FROM_ONE as $name) {
            if ($this->$name !== null && $this->$name < 1) {
                throw new UsageError("\"$name\" is at least 1. Null stands for no such rule.");
            }
        }
        if ($this->jitterMs < 0 || $this->jitterMs > Limit::SCHEDULE_JITTER_MS_MAX) {
            throw new UsageError('jitterMs goes from 0 to 86,400,000.');
        }
        foreach (['zone', 'key'] as $name) {
            if ($this->$name === '') {
                throw new UsageError("\"$name\" cannot be an empty text. Null stands for the usual one.");
            }
        }
        foreach (['origin', 'start', 'end'] as $name) {
            if ($this->$name !== null && Time::ms($this->$name) < 1) {
                throw new UsageError("\"$name\" is a time after the beginning of 1970.");
            }
        }
    }

    private static function time(int $ms): ?\DateTimeImmutable
    {
        return $ms === 0 ? null : Time::at($ms);
    }
}
