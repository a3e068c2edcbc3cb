<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function strlen;
use function substr;

/**
 * Frames about jobs that are not leased.
 *
 * @phpstan-type Listed array{
 *     job: int, // Its id.
 *     due_ms: int, // When it is or was due, on the wall clock.
 *     state: int, // Where it stands.
 *     buried: int, // Why it is buried.
 *     priority: int, // As pushed.
 *     attempts: int, // Number of times it was reserved.
 *     ttr_ms: int, // Length of a lease on it.
 *     ttr_left_ms: int, // Remaining time of its lease; 0 when it is not reserved.
 *     topic: string, // Its topic.
 *     key: string, // The user's own id; empty for none.
 *     attributes: string, // Its attributes.
 *     body: string, // As pushed; empty in a list without bodies.
 *     body_bytes: int, // The length of the body, whether it is shown or not.
 *     pushed_ms: int, // When it was pushed.
 *     reserved_first_ms: int, // When it was first leased.
 *     reserved_last_ms: int, // When it was last leased.
 *     edited_ms: int, // When it was last edited.
 *     held_by: string, // Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty for none, and where the asking token lacks the right `admin` for all topics.
 *     reason: string, // The last reason given with a RELEASE or BURY.
 * }
 *
 * @phpstan-type DueBar array{
 *     start_ms: int, // Where it begins, on the wall clock, in milliseconds: up to the next one, or without an end. 0 in the first item: the jobs before the bars.
 *     jobs: int, // How many.
 * }
 */
final class JobFrames
{
    /** Show bodies. */
    public const LIST_MARKS_BODIES = 1;
    /** When it is due. */
    public const EDITED_DUE = 1;
    /** Its priority. */
    public const EDITED_PRIORITY = 2;
    /** How long a lease lasts. */
    public const EDITED_TTR = 4;
    /** Its body, and with it the header `content-type`. */
    public const EDITED_BODY = 8;
    /** Its other headers, and `content-type` if it is given. */
    public const EDITED_HEADERS = 16;
    /** When it expires. */
    public const EDITED_EXPIRES = 32;
    /** How many attempts it has. */
    public const EDITED_ATTEMPTS_MAX = 64;
    /** The wait between attempts. */
    public const EDITED_BACKOFF = 128;
    /** How long it is remembered. */
    public const EDITED_DEDUPE_RETENTION = 256;
    /** The group that it belongs to. */
    public const EDITED_GROUP = 512;
    /** Removes it. */
    public const CHANGE_DELETE = 0;
    /** Makes it ready if it is buried. */
    public const CHANGE_KICK = 1;
    /** Makes it ready if it is delayed. */
    public const CHANGE_RUN_NOW = 2;
    /** Gives it a new due time. */
    public const CHANGE_RESCHEDULE = 3;
    /** Moves it to another topic. */
    public const CHANGE_MOVE = 4;

    /**
     * GET: Reads one job.
     *
     * @param array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * } $f
     */
    public static function encodeGet(array $f): string
    {
        return self::encodeReference($f['ref']);
    }

    /**
     * DELETE: Removes one job, whatever its state.
     *
     * @param array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * } $f
     */
    public static function encodeDelete(array $f): string
    {
        return self::encodeReference($f['ref']);
    }

    /**
     * RESCHEDULE: Gives one delayed or ready job a new due time; a buried one is kicked first.
     *
     * @param array{
     *     due_ms: int, // With due_kind: the due point.
     *     due_kind: int, // How due_ms counts.
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     *     if_version?: int, // Only if the job is still of this version; absent or 0: in any case.
     * } $f
     */
    public static function encodeReschedule(array $f): string
    {
        if ($f['due_kind'] >> 8 !== 0) {
            throw Codec::outOfRange(['due_kind' => [$f['due_kind'], 8]]);
        }
        $late = '';
        $ifVersion = $f['if_version'] ?? 0;
        if ($ifVersion !== 0) {
            $late = pack('P', $ifVersion);
        }

        return pack('PC', $f['due_ms'], $f['due_kind'])
            . self::encodeReference($f['ref'])
            . $late;
    }

    /**
     * RUN_NOW: Makes one delayed job ready at once.
     *
     * @param array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * } $f
     */
    public static function encodeRunNow(array $f): string
    {
        return self::encodeReference($f['ref']);
    }

    /**
     * KICK: Makes one buried job ready.
     *
     * @param array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * } $f
     */
    public static function encodeKick(array $f): string
    {
        return self::encodeReference($f['ref']);
    }

    /**
     * PEEK: Reads the next job of a topic without reserving it: the first ready one, else the first delayed.
     *
     * @param array{
     *     topic: string, // The topic to look at.
     * } $f
     */
    public static function encodePeek(array $f): string
    {
        if (strlen($f['topic']) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic'];
    }

    /**
     * KICK_MANY: Makes buried jobs of a topic ready: by priority, then by when they were due, then by id.
     *
     * @param array{
     *     jobs_max: int, // Most jobs to kick: 1 to `KICK_JOBS_MAX`.
     *     topic: string, // The topic of the buried jobs.
     * } $f
     */
    public static function encodeKickMany(array $f): string
    {
        if ((strlen($f['topic']) >> 8 | $f['jobs_max'] >> 32) !== 0) {
            throw Codec::outOfRange(['jobs_max' => [$f['jobs_max'], 32], 'topic' => [strlen($f['topic']), 8]]);
        }

        return pack('VC', $f['jobs_max'], strlen($f['topic']))
            . $f['topic'];
    }

    /**
     * LIST: Shows jobs, a page at a time.
     *
     * @param array{
     *     jobs_max: int, // Most jobs on the page: 1 to `LIST_JOBS_MAX`.
     *     order: int, // In which order.
     *     marks: int, // What to show.
     *     cursor: string, // The cursor of the previous page; empty for the first page.
     *     filter: string, // The conditions that the jobs meet.
     * } $f
     */
    public static function encodeList(array $f): string
    {
        if ((($f['order'] | $f['marks']) >> 8 | (strlen($f['cursor']) | strlen($f['filter'])) >> 16 | $f['jobs_max'] >> 32) !== 0) {
            throw Codec::outOfRange([
                'jobs_max' => [$f['jobs_max'], 32],
                'order' => [$f['order'], 8],
                'marks' => [$f['marks'], 8],
                'cursor' => [strlen($f['cursor']), 16],
                'filter' => [strlen($f['filter']), 16],
            ]);
        }

        return pack('VCCv', $f['jobs_max'], $f['order'], $f['marks'], strlen($f['cursor']))
            . $f['cursor']
            . pack('v', strlen($f['filter']))
            . $f['filter'];
    }

    /**
     * COUNT: Counts the jobs that match, all together or by when they are due.
     *
     * @param array{
     *     filter: string, // The conditions that the jobs meet, as in LIST.
     *     bars?: int, // Counts the jobs by when they are due, too, in so many bars. Absent or 0: only all together.
     *     bars_from_ms?: int, // Where the first bar begins, on the wall clock, in milliseconds.
     *     bar_ms?: int, // The width of a bar in milliseconds, at least 1 if there are bars.
     * } $f
     */
    public static function encodeCount(array $f): string
    {
        if (strlen($f['filter']) >> 16 !== 0) {
            throw Codec::outOfRange(['filter' => [strlen($f['filter']), 16]]);
        }
        $late = '';
        $barMs = $f['bar_ms'] ?? 0;
        if ($barMs !== 0) {
            $late = pack('P', $barMs);
        }
        $barsFromMs = $f['bars_from_ms'] ?? 0;
        if ($late !== '' || $barsFromMs !== 0) {
            $late = pack('P', $barsFromMs) . $late;
        }
        $bars = $f['bars'] ?? 0;
        if ($late !== '' || $bars !== 0) {
            if ($bars >> 32 !== 0) {
                throw Codec::outOfRange(['bars' => [$bars, 32]]);
            }
            $late = pack('V', $bars) . $late;
        }

        return pack('v', strlen($f['filter']))
            . $f['filter']
            . $late;
    }

    /**
     * BULK: Does the same to many jobs, a bounded number with each request.
     *
     * @param array{
     *     jobs_max: int, // Most jobs to change in this step: 1 to `BULK_JOBS_MAX`.
     *     change: int, // What to do to each: the same effect as the request for one job.
     *     due_ms: int, // For 3: the new due time, on the wall clock. Else 0, which is not looked at.
     *     cursor: string, // The cursor of the previous step; empty for the first step.
     *     filter: string, // The conditions that the jobs meet, as in LIST.
     *     to?: string, // With 4: the topic to which the jobs go. Else absent or empty.
     * } $f
     */
    public static function encodeBulk(array $f): string
    {
        if (($f['change'] >> 8 | (strlen($f['cursor']) | strlen($f['filter'])) >> 16 | $f['jobs_max'] >> 32) !== 0) {
            throw Codec::outOfRange([
                'jobs_max' => [$f['jobs_max'], 32],
                'change' => [$f['change'], 8],
                'cursor' => [strlen($f['cursor']), 16],
                'filter' => [strlen($f['filter']), 16],
            ]);
        }
        $late = '';
        $to = $f['to'] ?? '';
        if ($to !== '') {
            if (strlen($to) >> 8 !== 0) {
                throw Codec::outOfRange(['to' => [strlen($to), 8]]);
            }
            $late = pack('C', strlen($to)) . $to;
        }

        return pack('VCPv', $f['jobs_max'], $f['change'], $f['due_ms'], strlen($f['cursor']))
            . $f['cursor']
            . pack('v', strlen($f['filter']))
            . $f['filter']
            . $late;
    }

    /**
     * EDIT: Changes parts of one delayed, ready or buried job.
     *
     * @param array{
     *     due_ms: int, // With due_kind: the new due point.
     *     priority: int, // The new priority, as in PUSH.
     *     ttr_ms: int, // The new time of a lease, as in PUSH.
     *     edited: int, // The parts that change; at least one. The fields of other parts must be valid, and are not used.
     *     due_kind: int, // How due_ms counts.
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     *     attributes: string, // The new attributes of the parts that change. One that is missing here is taken away: the topic's default then counts, if there is one.
     *     body: string, // The new body; at most `body_bytes_max` bytes.
     *     if_version?: int, // Only if the job is still of this version; absent or 0: in any case.
     * } $f
     */
    public static function encodeEdit(array $f): string
    {
        if (($f['due_kind'] >> 8 | ($f['edited'] | strlen($f['attributes'])) >> 16 | ($f['priority'] | $f['ttr_ms']) >> 32) !== 0) {
            throw Codec::outOfRange([
                'priority' => [$f['priority'], 32],
                'ttr_ms' => [$f['ttr_ms'], 32],
                'edited' => [$f['edited'], 16],
                'due_kind' => [$f['due_kind'], 8],
                'attributes' => [strlen($f['attributes']), 16],
            ]);
        }
        $late = '';
        $ifVersion = $f['if_version'] ?? 0;
        if ($ifVersion !== 0) {
            $late = pack('P', $ifVersion);
        }

        return pack('PVVvC', $f['due_ms'], $f['priority'], $f['ttr_ms'], $f['edited'], $f['due_kind'])
            . self::encodeReference($f['ref'])
            . pack('v', strlen($f['attributes']))
            . $f['attributes']
            . pack('V', strlen($f['body']))
            . $f['body']
            . $late;
    }

    /**
     * JOB: One job as it stands.
     *
     * @return array{
     *     job: int, // Its id.
     *     due_ms: int, // When it is or was due, on the wall clock.
     *     state: int, // Where it stands.
     *     buried: int, // Why it is buried.
     *     priority: int, // As pushed.
     *     attempts: int, // Number of times it was reserved.
     *     ttr_ms: int, // Length of a lease on it.
     *     ttr_left_ms: int, // Remaining time of its lease; 0 when it is not reserved.
     *     topic: string, // Its topic.
     *     key: string, // The user's own id; empty for none.
     *     attributes: string, // Its attributes.
     *     body: string, // As pushed; empty in a list without bodies.
     *     pushed_ms: int, // When it was pushed.
     *     reserved_first_ms: int, // When it was first leased.
     *     reserved_last_ms: int, // When it was last leased.
     *     edited_ms: int, // When it was last edited.
     *     held_by: string, // Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty for none, and where the asking token lacks the right `admin` for all topics.
     *     reason: string, // The last reason given with a RELEASE or BURY.
     *     finished_ms: int, // When it was finished.
     *     version: int, // Its version; 0 for a finished job that is no longer remembered.
     * }
     */
    public static function decodeJob(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pjob/Pdue_ms/Cstate/Cburied/Vpriority/Vattempts/Vttr_ms/Vttr_left_ms/Ctopic/vkey/vattributes/Vbody', 43, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f['key'] = Codec::text($frame, $at, $f['key']);
        $f['attributes'] = Codec::bytes($frame, $at, $f['attributes']);
        $f['body'] = Codec::bytes($frame, $at, $f['body']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Ppushed_ms', 8, $frame, $at);
        } else {
            $f['pushed_ms'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Preserved_first_ms', 8, $frame, $at);
        } else {
            $f['reserved_first_ms'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Preserved_last_ms', 8, $frame, $at);
        } else {
            $f['reserved_last_ms'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pedited_ms', 8, $frame, $at);
        } else {
            $f['edited_ms'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Cheld_by', 1, $frame, $at);
            $f['held_by'] = Codec::text($frame, $at, $f['held_by']);
        } else {
            $f['held_by'] = '';
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('vreason', 2, $frame, $at);
            $f['reason'] = Codec::text($frame, $at, $f['reason']);
        } else {
            $f['reason'] = '';
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pfinished_ms', 8, $frame, $at);
        } else {
            $f['finished_ms'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pversion', 8, $frame, $at);
        } else {
            $f['version'] = 0;
        }

        return $f;
    }

    /**
     * CHANGED: One job was changed.
     *
     * @return array{
     *     job: int, // Its id.
     *     due_ms: int, // When it is due.
     *     state: int, // The state in which it is now; for DELETE, the one in which it was.
     *     version: int, // Its version: after the change, and of a deleted job before it.
     * }
     */
    public static function decodeChanged(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pjob/Pdue_ms/Cstate', 17, $frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pversion', 8, $frame, $at);
        } else {
            $f['version'] = 0;
        }

        return $f;
    }

    /**
     * KICKED: Jobs were kicked.
     *
     * @return array{
     *     jobs: int, // How many jobs are ready now that were buried.
     * }
     */
    public static function decodeKicked(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vjobs', 4, $frame, $at);

        return $f;
    }

    /**
     * JOBS: A page of jobs.
     *
     * @return array{
     *     cursor: string, // Where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor.
     *     jobs: list<Listed>, // The jobs, in the order that was asked for.
     * }
     */
    public static function decodeJobs(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('vcursor', 2, $frame, $at);
        $f['cursor'] = Codec::bytes($frame, $at, $f['cursor']);
        $f['jobs'] = self::decodeListOfListed($frame, $at);

        return $f;
    }

    /**
     * COUNTED: How many jobs match.
     *
     * @return array{
     *     jobs: int, // How many.
     *     by_due: list<DueBar>, // If bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them.
     * }
     */
    public static function decodeCounted(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pjobs', 8, $frame, $at);
        if ($at < strlen($frame)) {
            $f['by_due'] = self::decodeListOfDueBar($frame, $at);
        } else {
            $f['by_due'] = [];
        }

        return $f;
    }

    /**
     * BULKED: How many jobs were changed.
     *
     * @return array{
     *     jobs: int, // How many jobs were changed.
     *     cursor: string, // Where the next step goes on; empty if this was the last one.
     *     skipped: int, // How many met the conditions and were left as they are: their state does not allow the change, or the topic to which they were to go has their key.
     * }
     */
    public static function decodeBulked(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vjobs/vcursor', 6, $frame, $at);
        $f['cursor'] = Codec::bytes($frame, $at, $f['cursor']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Vskipped', 4, $frame, $at);
        } else {
            $f['skipped'] = 0;
        }

        return $f;
    }

    /** @param array{job: int}|array{topic: string, key: string} $ref */
    private static function encodeReference(array $ref): string
    {
        if (isset($ref['job'])) {
            return pack('CP', 0, $ref['job']);
        }
        if (strlen($ref['topic']) >> 8 !== 0 || strlen($ref['key']) >> 16 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($ref['topic']), 8], 'key' => [strlen($ref['key']), 16]]);
        }

        return pack('CC', 1, strlen($ref['topic'])) . $ref['topic'] . pack('v', strlen($ref['key'])) . $ref['key'];
    }

    /**
     * A job on a page of a list.
     *
     * @return list<Listed>
     */
    private static function decodeListOfListed(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 82);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pjob/Pdue_ms/Cstate/Cburied/Vpriority/Vattempts/Vttr_ms/Vttr_left_ms/Ctopic/vkey/vattributes/Vbody/Vbody_bytes/Ppushed_ms/Preserved_first_ms/Preserved_last_ms/Pedited_ms/Cheld_by/vreason', $frame, $at);
            $at += $fixed;
            if ($item['topic'] + $item['key'] + $item['attributes'] + $item['body'] + $item['held_by'] + $item['reason'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['topic'];
            $item['topic'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['topic']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['key'];
            $item['key'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['key']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['attributes'];
            $item['attributes'] = substr($frame, $at, $bytes);
            $at += $bytes;
            $bytes = $item['body'];
            $item['body'] = substr($frame, $at, $bytes);
            $at += $bytes;
            $bytes = $item['held_by'];
            $item['held_by'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['held_by']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['reason'];
            $item['reason'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['reason']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }

    /**
     * The jobs of a COUNT that are due in a part of a time.
     *
     * @return list<DueBar>
     */
    private static function decodeListOfDueBar(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 16);
        for ($items = []; $count > 0; --$count) {
            $item = unpack('Pstart_ms/Pjobs', $frame, $at);
            $at += $fixed;
            $items[] = $item;
        }

        return $items;
    }
}
