<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function strlen;
use function substr;

/**
 * Frames about schedules.
 *
 * @phpstan-type ScheduleState array{
 *     schedule: int, // Its id.
 *     next_ms: int, // Its next instant; 0 if there is none any more.
 *     fired: int, // Instants at which it pushed a job.
 *     version: int, // How often it was set.
 *     running: int, // Its jobs that have not ended.
 *     failures: int, // Jobs that failed one after another until now.
 *     paused: int, // Why it does not fire at present.
 *     marks: int, // What is so.
 * }
 *
 * @phpstan-type Firing array{
 *     instant_ms: int, // The instant; the first of several that it skipped together.
 *     last_ms: int, // The last of them.
 *     instants: int, // How many they are; 10,000 means that or more.
 *     at_ms: int, // When the schedule fired or skipped it.
 *     job: int, // The job that it pushed, or 0.
 *     fired: int, // What became of it.
 * }
 *
 * @phpstan-type LocalInstant array{
 *     instant_ms: int, // The instant.
 *     local: string, // Date, time, offset and abbreviation in the zone, for example `2027-03-28 03:00:00 +02:00 CEST`.
 * }
 *
 * @phpstan-type ListedSchedule array{
 *     schedule: int, // Its id.
 *     next_ms: int, // Its next instant; 0 if there is none any more.
 *     fired: int, // Instants at which it pushed a job.
 *     version: int, // How often it was set.
 *     running: int, // Its jobs that have not ended.
 *     failures: int, // Jobs that failed one after another until now.
 *     paused: int, // Why it does not fire at present.
 *     marks: int, // What is so.
 *     origin_ms: int, // From when `@every` counts; 0: from when the schedule is set first.
 *     start_ms: int, // It does not fire before this time; 0 for no such time.
 *     end_ms: int, // It does not fire after this time; 0 for no such time.
 *     count: int, // It ends when it has pushed a job at so many instants; 0: it does not.
 *     window_ms: int, // With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
 *     missed_max: int, // With *missed* `all`: at most so many instants, the last ones; 0 means 100.
 *     jitter_ms: int, // A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
 *     failures_max: int, // It is paused after so many failures one after another; 0: it is not.
 *     dst: int, // What happens when the clocks of its zone are changed.
 *     missed: int, // Which of the instants that passed unnoticed are fired late.
 *     overlap: int, // What it does while an earlier job of it has not ended.
 *     when: string, // A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times.
 *     zone: string, // The IANA name of the time zone of a cron expression; empty means UTC.
 *     key: string, // The key of its jobs; empty: the name, `@`, and the instant in milliseconds.
 *     note: string, // For people.
 *     topic: string, // The topic of its jobs.
 *     name: string, // Its name.
 *     pause_note: string, // What the user who paused it noted; empty for nothing.
 * }
 */
final class ScheduleFrames
{
    /** Its next instant has come, and is about to be fired. */
    public const SCHEDULE_MARKS_COME = 1;
    /** Its next instant has come, and waits until an earlier job has ended. */
    public const SCHEDULE_MARKS_HELD = 2;
    /** As cron: a time that is skipped fires at once after the gap, a repeated one fires once. */
    public const DST_VIXIE = 0;
    /** A time that is skipped does not fire, a repeated one fires twice. */
    public const DST_LITERAL = 1;
    /** The last one. */
    public const MISSED_LAST = 0;
    /** None of them. */
    public const MISSED_NONE = 1;
    /** All of them, up to a number. */
    public const MISSED_ALL = 2;
    /** Pushes no job. */
    public const OVERLAP_SKIP = 0;
    /** Pushes another job. */
    public const OVERLAP_ALLOW = 1;
    /** Pushes the job as soon as the earlier one has ended; further instants until then are skipped. */
    public const OVERLAP_QUEUE_ONE = 2;
    /** Deletes the earlier job, also a reserved one, and pushes another. */
    public const OVERLAP_REPLACE = 3;
    /** It fires. */
    public const PAUSED_NOT_PAUSED = 0;
    /** A user paused it. */
    public const PAUSED_USER = 1;
    /** Too many of its jobs failed one after another. */
    public const PAUSED_FAILURES = 2;
    /** All. */
    public const WHICH_PAUSED_ANY = 0;
    /** Those that are paused. */
    public const WHICH_PAUSED_PAUSED = 1;
    /** Those that are not. */
    public const WHICH_PAUSED_ACTIVE = 2;
    /** It pushed the job, which has not ended. */
    public const FIRED_PUSHED = 0;
    /** It pushed the job, and a consumer finished that. */
    public const FIRED_FINISHED = 1;
    /** It pushed the job, and that was buried, or moved to the dead letters. */
    public const FIRED_FAILED = 2;
    /** It pushed the job, and that was deleted or replaced. */
    public const FIRED_DELETED = 3;
    /** It pushed the job, and that expired, or was dropped because it was late. */
    public const FIRED_EXPIRED = 4;
    /** It was skipped: it had passed when the schedule was looked at. */
    public const FIRED_MISSED = 5;
    /** It was skipped: an earlier job had not ended. */
    public const FIRED_OVERLAP = 6;
    /** It was skipped: the topic's policy, or a limit of the queue, did not allow the job. */
    public const FIRED_REFUSED = 7;
    /** It was skipped: the topic has a job with the key, which may be buried or remembered. */
    public const FIRED_KEY_TAKEN = 8;

    /**
     * SCHEDULE_PREVIEW: Says when a schedule with these rules would fire, without setting it.
     *
     * @param array{
     *     origin_ms: int, // From when `@every` counts; 0: from when the schedule is set first.
     *     start_ms: int, // It does not fire before this time; 0 for no such time.
     *     end_ms: int, // It does not fire after this time; 0 for no such time.
     *     count: int, // It ends when it has pushed a job at so many instants; 0: it does not.
     *     window_ms: int, // With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
     *     missed_max: int, // With *missed* `all`: at most so many instants, the last ones; 0 means 100.
     *     jitter_ms: int, // A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
     *     failures_max: int, // It is paused after so many failures one after another; 0: it is not.
     *     dst: int, // What happens when the clocks of its zone are changed.
     *     missed: int, // Which of the instants that passed unnoticed are fired late.
     *     overlap: int, // What it does while an earlier job of it has not ended.
     *     when: string, // A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times.
     *     zone: string, // The IANA name of the time zone of a cron expression; empty means UTC.
     *     key: string, // The key of its jobs; empty: the name, `@`, and the instant in milliseconds.
     *     note: string, // For people.
     *     from_ms: int, // Only instants after this time; 0 for now.
     *     instants_max: int, // 1 to `INSTANTS_SHOWN_MAX`.
     * } $f
     */
    public static function encodeSchedulePreview(array $f): string
    {
        if (
            (($f['dst'] | $f['missed'] | $f['overlap'] | strlen($f['zone'])) >> 8
            | (strlen($f['when']) | strlen($f['key']) | strlen($f['note'])) >> 16
            | ($f['missed_max'] | $f['jitter_ms'] | $f['failures_max'] | $f['instants_max']) >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'missed_max' => [$f['missed_max'], 32],
                'jitter_ms' => [$f['jitter_ms'], 32],
                'failures_max' => [$f['failures_max'], 32],
                'dst' => [$f['dst'], 8],
                'missed' => [$f['missed'], 8],
                'overlap' => [$f['overlap'], 8],
                'when' => [strlen($f['when']), 16],
                'zone' => [strlen($f['zone']), 8],
                'key' => [strlen($f['key']), 16],
                'note' => [strlen($f['note']), 16],
                'instants_max' => [$f['instants_max'], 32],
            ]);
        }

        return pack(
            'PPPPPVVVCCCvCvv',
            $f['origin_ms'],
            $f['start_ms'],
            $f['end_ms'],
            $f['count'],
            $f['window_ms'],
            $f['missed_max'],
            $f['jitter_ms'],
            $f['failures_max'],
            $f['dst'],
            $f['missed'],
            $f['overlap'],
            strlen($f['when']),
            strlen($f['zone']),
            strlen($f['key']),
            strlen($f['note']),
        )
            . $f['when']
            . $f['zone']
            . $f['key']
            . $f['note']
            . pack('PV', $f['from_ms'], $f['instants_max']);
    }

    /**
     * SCHEDULE_SET: Creates a schedule, or gives the one of this name another content. The topic is made if it is new.
     *
     * @param array{
     *     topic: string, // The topic of its jobs. The token needs the right to push there, too.
     *     name: string, // Its name, unique in the topic.
     *     origin_ms: int, // From when `@every` counts; 0: from when the schedule is set first.
     *     start_ms: int, // It does not fire before this time; 0 for no such time.
     *     end_ms: int, // It does not fire after this time; 0 for no such time.
     *     count: int, // It ends when it has pushed a job at so many instants; 0: it does not.
     *     window_ms: int, // With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
     *     missed_max: int, // With *missed* `all`: at most so many instants, the last ones; 0 means 100.
     *     jitter_ms: int, // A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
     *     failures_max: int, // It is paused after so many failures one after another; 0: it is not.
     *     dst: int, // What happens when the clocks of its zone are changed.
     *     missed: int, // Which of the instants that passed unnoticed are fired late.
     *     overlap: int, // What it does while an earlier job of it has not ended.
     *     when: string, // A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times.
     *     zone: string, // The IANA name of the time zone of a cron expression; empty means UTC.
     *     key: string, // The key of its jobs; empty: the name, `@`, and the instant in milliseconds.
     *     note: string, // For people.
     *     priority: int, // As in PUSH.
     *     ttr_ms: int, // As in PUSH.
     *     attributes: string, // As in PUSH. An expiry after a duration counts from when each job is pushed.
     *     body: string, // What the consumer gets; at most `body_bytes_max` bytes.
     *     if_version?: int, // Only if it was set so often; 4,294,967,295: only if there is none. Absent or 0: in any case.
     * } $f
     */
    public static function encodeScheduleSet(array $f): string
    {
        if (
            ((strlen($f['topic']) | strlen($f['name']) | $f['dst'] | $f['missed'] | $f['overlap'] | strlen($f['zone'])) >> 8
            | (strlen($f['when']) | strlen($f['key']) | strlen($f['note']) | strlen($f['attributes'])) >> 16
            | ($f['missed_max'] | $f['jitter_ms'] | $f['failures_max'] | $f['priority'] | $f['ttr_ms']) >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'topic' => [strlen($f['topic']), 8],
                'name' => [strlen($f['name']), 8],
                'missed_max' => [$f['missed_max'], 32],
                'jitter_ms' => [$f['jitter_ms'], 32],
                'failures_max' => [$f['failures_max'], 32],
                'dst' => [$f['dst'], 8],
                'missed' => [$f['missed'], 8],
                'overlap' => [$f['overlap'], 8],
                'when' => [strlen($f['when']), 16],
                'zone' => [strlen($f['zone']), 8],
                'key' => [strlen($f['key']), 16],
                'note' => [strlen($f['note']), 16],
                'priority' => [$f['priority'], 32],
                'ttr_ms' => [$f['ttr_ms'], 32],
                'attributes' => [strlen($f['attributes']), 16],
            ]);
        }
        $late = '';
        $ifVersion = $f['if_version'] ?? 0;
        if ($ifVersion !== 0) {
            if ($ifVersion >> 32 !== 0) {
                throw Codec::outOfRange(['if_version' => [$ifVersion, 32]]);
            }
            $late = pack('V', $ifVersion);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name']
            . pack(
                'PPPPPVVVCCCvCvv',
                $f['origin_ms'],
                $f['start_ms'],
                $f['end_ms'],
                $f['count'],
                $f['window_ms'],
                $f['missed_max'],
                $f['jitter_ms'],
                $f['failures_max'],
                $f['dst'],
                $f['missed'],
                $f['overlap'],
                strlen($f['when']),
                strlen($f['zone']),
                strlen($f['key']),
                strlen($f['note']),
            )
            . $f['when']
            . $f['zone']
            . $f['key']
            . $f['note']
            . pack('VVvV', $f['priority'], $f['ttr_ms'], strlen($f['attributes']), strlen($f['body']))
            . $f['attributes']
            . $f['body']
            . $late;
    }

    /**
     * SCHEDULE_SHOW: Reads one schedule, and what it did of late.
     *
     * @param array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * } $f
     */
    public static function encodeScheduleShow(array $f): string
    {
        if ((strlen($f['topic']) | strlen($f['name'])) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'name' => [strlen($f['name']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name'];
    }

    /**
     * SCHEDULE_LIST: Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the
     * order in which they were made.
     *
     * @param array{
     *     schedules_max: int, // 1 to `SCHEDULES_LISTED_MAX`.
     *     next_before_ms: int, // Only those with a next instant before this one; 0 for all.
     *     paused: int, // Only those that are paused, or those that are not.
     *     topic: string, // The topic of their jobs; empty for all topics.
     *     prefix: string, // Only those whose names begin like this.
     *     cursor: string, // The cursor of the previous page; empty for the first page.
     * } $f
     */
    public static function encodeScheduleList(array $f): string
    {
        if ((($f['paused'] | strlen($f['topic']) | strlen($f['prefix'])) >> 8 | strlen($f['cursor']) >> 16 | $f['schedules_max'] >> 32) !== 0) {
            throw Codec::outOfRange([
                'schedules_max' => [$f['schedules_max'], 32],
                'paused' => [$f['paused'], 8],
                'topic' => [strlen($f['topic']), 8],
                'prefix' => [strlen($f['prefix']), 8],
                'cursor' => [strlen($f['cursor']), 16],
            ]);
        }

        return pack('VPCC', $f['schedules_max'], $f['next_before_ms'], $f['paused'], strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['prefix']))
            . $f['prefix']
            . pack('v', strlen($f['cursor']))
            . $f['cursor'];
    }

    /**
     * SCHEDULE_DELETE: Forgets a schedule. Its jobs stay.
     *
     * @param array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * } $f
     */
    public static function encodeScheduleDelete(array $f): string
    {
        if ((strlen($f['topic']) | strlen($f['name'])) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'name' => [strlen($f['name']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name'];
    }

    /**
     * SCHEDULE_PAUSE: Lets a schedule fire no more until it is resumed.
     *
     * @param array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     *     note?: string, // Why, for people, at most 1,024 bytes. To pause again replaces it; empty for none, or to keep it.
     * } $f
     */
    public static function encodeSchedulePause(array $f): string
    {
        if ((strlen($f['topic']) | strlen($f['name'])) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'name' => [strlen($f['name']), 8]]);
        }
        $late = '';
        $note = $f['note'] ?? '';
        if ($note !== '') {
            if (strlen($note) >> 16 !== 0) {
                throw Codec::outOfRange(['note' => [strlen($note), 16]]);
            }
            $late = pack('v', strlen($note)) . $note;
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name']
            . $late;
    }

    /**
     * SCHEDULE_RESUME: Lets a paused schedule fire again. *missed* says what happens to the instants that passed.
     *
     * @param array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * } $f
     */
    public static function encodeScheduleResume(array $f): string
    {
        if ((strlen($f['topic']) | strlen($f['name'])) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'name' => [strlen($f['name']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name'];
    }

    /**
     * SCHEDULE_RUN: Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays.
     *
     * @param array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * } $f
     */
    public static function encodeScheduleRun(array $f): string
    {
        if ((strlen($f['topic']) | strlen($f['name'])) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'name' => [strlen($f['name']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name'];
    }

    /**
     * SCHEDULE_FILL: Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the
     * topic has a job with the key of the instant.
     *
     * @param array{
     *     from_ms: int, // The first time that counts; for the next part what the part before says.
     *     to_ms: int, // The last time that counts. It must not be ahead.
     *     dry_run: int, // 1: it pushes nothing, and counts the instants.
     *     topic: string, // The topic of its jobs. The token needs the right to read there, too; for a dry run that right alone.
     *     name: string, // Its name.
     * } $f
     */
    public static function encodeScheduleFill(array $f): string
    {
        if (($f['dry_run'] | strlen($f['topic']) | strlen($f['name'])) >> 8 !== 0) {
            throw Codec::outOfRange(['dry_run' => [$f['dry_run'], 8], 'topic' => [strlen($f['topic']), 8], 'name' => [strlen($f['name']), 8]]);
        }

        return pack('PPCC', $f['from_ms'], $f['to_ms'], $f['dry_run'], strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['name']))
            . $f['name'];
    }

    /**
     * INSTANTS: When a schedule would fire.
     *
     * @return array{
     *     zone_data: string, // The version and the origin of the zone data, for example `2026f, bundled`.
     *     instants: list<LocalInstant>, // The next instants, in order: fewer than were asked for if it fires no more.
     * }
     */
    public static function decodeInstants(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Czone_data', 1, $frame, $at);
        $f['zone_data'] = Codec::text($frame, $at, $f['zone_data']);
        $f['instants'] = self::decodeListOfLocalInstant($frame, $at);

        return $f;
    }

    /**
     * SCHEDULED: A schedule is set.
     *
     * @return array{
     *     schedule: int, // Its id.
     *     version: int, // How often it was set.
     *     next_ms: int, // Its next instant; 0 if there is none.
     * }
     */
    public static function decodeScheduled(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pschedule/Vversion/Pnext_ms', 20, $frame, $at);

        return $f;
    }

    /**
     * SCHEDULE: One schedule as it stands.
     *
     * @return array{
     *     state: ScheduleState, // Where it stands.
     *     pause_note: string, // What the user who paused it noted; empty for nothing.
     *     origin_ms: int, // From when `@every` counts; 0: from when the schedule is set first.
     *     start_ms: int, // It does not fire before this time; 0 for no such time.
     *     end_ms: int, // It does not fire after this time; 0 for no such time.
     *     count: int, // It ends when it has pushed a job at so many instants; 0: it does not.
     *     window_ms: int, // With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
     *     missed_max: int, // With *missed* `all`: at most so many instants, the last ones; 0 means 100.
     *     jitter_ms: int, // A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
     *     failures_max: int, // It is paused after so many failures one after another; 0: it is not.
     *     dst: int, // What happens when the clocks of its zone are changed.
     *     missed: int, // Which of the instants that passed unnoticed are fired late.
     *     overlap: int, // What it does while an earlier job of it has not ended.
     *     when: string, // A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times.
     *     zone: string, // The IANA name of the time zone of a cron expression; empty means UTC.
     *     key: string, // The key of its jobs; empty: the name, `@`, and the instant in milliseconds.
     *     note: string, // For people.
     *     priority: int, // As in PUSH.
     *     ttr_ms: int, // As in PUSH.
     *     attributes: string, // As in PUSH. An expiry after a duration counts from when each job is pushed.
     *     body: string, // What the consumer gets; at most `body_bytes_max` bytes.
     *     history: list<Firing>, // What it did of late, the oldest first; at most 20.
     * }
     */
    public static function decodeSchedule(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['state'] = Codec::fixed('Pschedule/Pnext_ms/Pfired/Vversion/Vrunning/Vfailures/Cpaused/Cmarks', 38, $frame, $at);
        $f += Codec::fixed('vpause_note', 2, $frame, $at);
        $f['pause_note'] = Codec::text($frame, $at, $f['pause_note']);
        $f += Codec::fixed('Porigin_ms/Pstart_ms/Pend_ms/Pcount/Pwindow_ms/Vmissed_max/Vjitter_ms/Vfailures_max/Cdst/Cmissed/Coverlap/vwhen/Czone/vkey/vnote', 62, $frame, $at);
        $f['when'] = Codec::text($frame, $at, $f['when']);
        $f['zone'] = Codec::text($frame, $at, $f['zone']);
        $f['key'] = Codec::text($frame, $at, $f['key']);
        $f['note'] = Codec::text($frame, $at, $f['note']);
        $f += Codec::fixed('Vpriority/Vttr_ms/vattributes/Vbody', 14, $frame, $at);
        $f['attributes'] = Codec::bytes($frame, $at, $f['attributes']);
        $f['body'] = Codec::bytes($frame, $at, $f['body']);
        $f['history'] = self::decodeListOfFiring($frame, $at);

        return $f;
    }

    /**
     * SCHEDULES: A page of schedules.
     *
     * @return array{
     *     schedules: list<ListedSchedule>, // The schedules: fewer than were asked for, or none, if a page comes to the limit of what is read for it.
     *     cursor: string, // Where the next page goes on; empty on the last one.
     * }
     */
    public static function decodeSchedules(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['schedules'] = self::decodeListOfListedSchedule($frame, $at);
        $f += Codec::fixed('vcursor', 2, $frame, $at);
        $f['cursor'] = Codec::bytes($frame, $at, $f['cursor']);

        return $f;
    }

    /**
     * SCHEDULE_RAN: A schedule pushed a job.
     *
     * @return array{
     *     job: int, // Its id.
     * }
     */
    public static function decodeScheduleRan(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pjob', 8, $frame, $at);

        return $f;
    }

    /**
     * SCHEDULE_FILLED: A part of a time that has passed is filled, or counted.
     *
     * @return array{
     *     next_ms: int, // From when the next part goes on; 0 if this was the last one.
     *     bytes: int, // Bytes of the bodies of the jobs of this part, also of those that were not pushed: like a push, it counts for the rates of the token; 0 after a dry run.
     *     instants: int, // Instants of the schedule in this part.
     *     pushed: int, // Jobs that were pushed.
     *     kept: int, // Instants whose job is in the topic already, by its key.
     *     refused: int, // Jobs that the topic's policy, or a limit of the queue, does not allow.
     * }
     */
    public static function decodeScheduleFilled(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pnext_ms/Pbytes/Vinstants/Vpushed/Vkept/Vrefused', 32, $frame, $at);

        return $f;
    }

    /**
     * An instant, and what the clocks of its zone show.
     *
     * @return list<LocalInstant>
     */
    private static function decodeListOfLocalInstant(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 9);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pinstant_ms/Clocal', $frame, $at);
            $at += $fixed;
            if ($item['local'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['local'];
            $item['local'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['local']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }

    /**
     * What a schedule did at an instant, or at several ones.
     *
     * @return list<Firing>
     */
    private static function decodeListOfFiring(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 41);
        for ($items = []; $count > 0; --$count) {
            $item = unpack('Pinstant_ms/Plast_ms/Pinstants/Pat_ms/Pjob/Cfired', $frame, $at);
            $at += $fixed;
            $items[] = $item;
        }

        return $items;
    }

    /**
     * A schedule on a page of a list.
     *
     * @return list<ListedSchedule>
     */
    private static function decodeListOfListedSchedule(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 104);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pschedule/Pnext_ms/Pfired/Vversion/Vrunning/Vfailures/Cpaused/Cmarks/Porigin_ms/Pstart_ms/Pend_ms/Pcount/Pwindow_ms/Vmissed_max/Vjitter_ms/Vfailures_max/Cdst/Cmissed/Coverlap/vwhen/Czone/vkey/vnote/Ctopic/Cname/vpause_note', $frame, $at);
            $at += $fixed;
            if ($item['when'] + $item['zone'] + $item['key'] + $item['note'] + $item['topic'] + $item['name'] + $item['pause_note'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['when'];
            $item['when'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['when']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['zone'];
            $item['zone'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['zone']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['key'];
            $item['key'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['key']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['note'];
            $item['note'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['note']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['topic'];
            $item['topic'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['topic']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['name'];
            $item['name'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['name']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['pause_note'];
            $item['pause_note'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['pause_note']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }
}
