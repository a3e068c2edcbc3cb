<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Tests\Protocol;

use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use function chr;
use function count;
use function in_array;
use function ord;
use function strlen;
use function substr;

/**
 * What a server sends and gets, for tests and for the harness of the conformance suite. It refuses numbers out of range.
 *
 * @phpstan-type NewJob array{
 *     due_ms: int, // With due_kind: the due point.
 *     priority: int, // Lower numbers are reserved first; 4,294,967,295 means the topic's default, or 1,024.
 *     ttr_ms: int, // How long a consumer may hold it, 100 to 604,800,000; 0 means the topic's default, or 60,000.
 *     due_kind: int, // How due_ms counts.
 *     if_exists: int, // What happens if a job with this key exists.
 *     key: string, // The user's own id; empty for none.
 *     attributes: string, // Its attributes; empty for none.
 *     body: string, // What the consumer gets; at most `body_bytes_max` bytes.
 * }
 *
 * @phpstan-type PushResult array{
 *     outcome: int, // What became of it.
 *     code: int, // Why it was refused: an error code; else 0.
 *     job: int, // The id that the table of outcomes says, or 0.
 * }
 *
 * @phpstan-type Lease array{
 *     job: int, // The job's id.
 *     fence: int, // The lease's number, larger for each lease of a job.
 * }
 *
 * @phpstan-type SettleResult array{
 *     code: int, // 0: done; else an error code.
 * }
 *
 * @phpstan-type Delivered array{
 *     job: int, // Its id; with fence, the lease: send both to settle the job.
 *     fence: int, // The number of the lease.
 *     due_ms: int, // When it was due, on the wall clock.
 *     priority: int, // As pushed.
 *     attempts: int, // Number of times it was reserved, including this one.
 *     ttr_left_ms: int, // Remaining time of the lease when the frame is written.
 *     topic: string, // Its topic.
 *     key: string, // The user's own id; empty for none.
 *     attributes: string, // Its attributes; empty for none.
 *     body: string, // As pushed.
 *     deadline_ms?: int, // When the lease ends, on the clock that WELCOME and PONG of this connection show as `clock_ms`; 0: not shown.
 * }
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
 * @phpstan-type Totals array{
 *     delayed: int, // Jobs whose due time lies ahead.
 *     ready: int, // Jobs that wait for a consumer.
 *     reserved: int, // Jobs under a lease.
 *     buried: int, // Jobs set aside.
 *     pushed: int, // Jobs pushed or moved here so far.
 *     finished: int, // Jobs finished so far.
 *     deleted: int, // Jobs deleted, replaced, or moved to another topic so far.
 *     expired: int, // Jobs dropped by their expiry so far.
 *     oldest_ready_ms: int, // Time since the oldest ready job was due; 0 without one.
 * }
 *
 * @phpstan-type TopicCount array{
 *     marks: int, // What is so.
 *     consumers: int, // Long polls and subscriptions that want its jobs at this moment.
 *     late_ms: int, // How late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered.
 *     topic: string, // Its name.
 *     delayed: int, // Jobs whose due time lies ahead.
 *     ready: int, // Jobs that wait for a consumer.
 *     reserved: int, // Jobs under a lease.
 *     buried: int, // Jobs set aside.
 *     pushed: int, // Jobs pushed or moved here so far.
 *     finished: int, // Jobs finished so far.
 *     deleted: int, // Jobs deleted, replaced, or moved to another topic so far.
 *     expired: int, // Jobs dropped by their expiry so far.
 *     oldest_ready_ms: int, // Time since the oldest ready job was due; 0 without one.
 * }
 *
 * @phpstan-type Stage array{
 *     stage: string, // Its name.
 *     count: int, // How many durations there are.
 *     p50_us: int, // The median.
 *     p99_us: int, // 99 % of them are at most this.
 *     p999_us: int, // 99.9 % of them are at most this.
 *     max_us: int, // The longest.
 * }
 *
 * @phpstan-type DueBar array{
 *     start_ms: int, // Where it begins, on the wall clock, in milliseconds: up to the next one, or without an end. 0 in the first item: the jobs before the bars.
 *     jobs: int, // How many.
 * }
 *
 * @phpstan-type Connection array{
 *     connection: int, // Its number. It is never reused, not by another node and not after a restart.
 *     session: int, // The session that it speaks for; 0 before WELCOME, and after the session has ended.
 *     since_ms: int, // When it connected, on the wall clock.
 *     leases: int, // Leases that the session holds, without those that outlive it.
 *     subscriptions: int, // Its subscriptions.
 *     reserves: int, // Its waiting RESERVEs.
 *     credit_jobs: int, // Remaining credit of its subscriptions, in jobs; below 0 counts as 0.
 *     credit_bytes: int, // The same in bytes.
 *     unsent_bytes: int, // Bytes for it that its socket has not yet accepted, as far as known: what it accepted is reported in steps of up to 256 KiB, so less than that says nothing.
 *     marks: int, // What is so.
 *     address: string, // Its network address.
 *     client_name: string, // The name in its HELLO.
 *     topics: list<string>, // Some of the topics that it waits for.
 * }
 *
 * @phpstan-type Member array{
 *     node: int, // Its number.
 *     marks: int, // What is so.
 *     address: string, // Where clients connect, as `host:port`. Behind a proxy or NAT, start each node with `--client-address`, or clients go round.
 * }
 *
 * @phpstan-type Node array{
 *     node: int, // Its number.
 *     role: int, // What it is. A newer server may have more roles: show them as unknown.
 *     marks: int, // What is so, and what is known.
 *     matched: int, // The last entry that it has, durable. Only the leader knows it of other members.
 *     applied: int, // The last entry that it reported as applied.
 *     ahead_ms: int, // How far its wall clock is ahead of the reporting node's; negative if it is behind.
 *     audited: int, // Members compare the hashes of their states after certain entries: the newest of these that it reported.
 *     peer_address: string, // The address for other members; empty if unknown.
 *     client_address: string, // The address for clients; empty if unknown.
 * }
 *
 * @phpstan-type GroupState array{
 *     ready: int, // Its jobs that wait for a consumer.
 *     reserved: int, // Its jobs that a consumer has.
 *     oldest_ms: int, // For how long the next of them has been ready; 0 if none is.
 *     until_ms: int, // Until when hold lasts, on the wall clock; 0 if that is not known.
 *     weight: int, // How many jobs it gives at a turn.
 *     hold: int, // What holds it back.
 *     paused: int, // 1 if an operator paused it.
 *     name: string, // Its name.
 * }
 *
 * @phpstan-type Reason array{
 *     why: int, // The reason.
 *     since_ms: int, // When it began, on the wall clock; 0 if that is not known.
 *     until_ms: int, // When it ends, on the wall clock; 0 if that is not known.
 *     jobs: int, // With `behind`: how many jobs come first; with a limit of leases: how many there are; else 0.
 *     text: string, // One sentence for a person. It may change between versions: decide by the reason.
 * }
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
final class ServerCodec
{
    private const HEAD_BYTES = Codec::HEAD_BYTES;

    /** @param array<string, mixed> $f the fields of the frame */
    public static function encode(Opcode $opcode, int $requestId, array $f = []): string
    {
        $payload = match ($opcode->value) {
            0x81 => self::encodeWelcome($f),
            0x82 => self::encodePong($f),
            0x83 => '',
            0x84 => self::encodeGoingAway($f),
            0x90 => self::encodePushed($f),
            0xA0 => self::encodeReserved($f),
            0xA1 => '',
            0xA2 => self::encodeDeliver($f),
            0xA3 => self::encodeLeased($f),
            0xB0 => self::encodeSettled($f),
            0xC0 => self::encodeJob($f),
            0xC1 => self::encodeChanged($f),
            0xC2 => self::encodeKicked($f),
            0xC3 => self::encodeJobs($f),
            0xC4 => self::encodeCounted($f),
            0xC5 => self::encodeBulked($f),
            0xD0 => self::encodeTopicCounts($f),
            0xD1 => self::encodeQueueStats($f),
            0xD2 => self::encodeConnectionList($f),
            0xD3 => self::encodeTopicSettings($f),
            0xE0 => self::encodeBackupReady($f),
            0xE1 => self::encodeBackupData($f),
            0xEF => self::encodeInstants($f),
            0xF0 => self::encodeClusterReport($f),
            0xF5 => self::encodeGroups($f),
            0xF6 => self::encodeReasons($f),
            0xF8 => self::encodeScheduled($f),
            0xF9 => self::encodeSchedule($f),
            0xFA => self::encodeSchedules($f),
            0xFB => self::encodeScheduleRan($f),
            0xFC => self::encodeScheduleFilled($f),
            0xFF => self::encodeError($f),
        };

        return pack('VCx3V', self::HEAD_BYTES + strlen($payload), $opcode->value, $requestId) . $payload;
    }

    /**
     * Decodes what follows the length field. Null for an opcode that is not known here.
     *
     * @throws Malformed
     */
    public static function decode(string $frame): ?Message
    {
        if (strlen($frame) < self::HEAD_BYTES) {
            throw Malformed::cutOff();
        }
        $opcode = ord($frame[0]);
        $fields = match ($opcode) {
            0x01 => self::decodeHello($frame),
            0x02 => [],
            0x03 => [],
            0x10 => self::decodePush($frame),
            0x20 => self::decodeReserve($frame),
            0x21 => self::decodeSubscribe($frame),
            0x22 => self::decodeCredit($frame),
            0x23 => self::decodeUnsubscribe($frame),
            0x24 => self::decodeCancel($frame),
            0x25 => self::decodeLeases($frame),
            0x26 => self::decodeReserveJob($frame),
            0x30 => self::decodeFinish($frame),
            0x31 => self::decodeRelease($frame),
            0x32 => self::decodeTouch($frame),
            0x33 => self::decodeBury($frame),
            0x40 => self::decodeGet($frame),
            0x41 => self::decodeDelete($frame),
            0x42 => self::decodeReschedule($frame),
            0x43 => self::decodeRunNow($frame),
            0x44 => self::decodeKick($frame),
            0x45 => self::decodePeek($frame),
            0x46 => self::decodeKickMany($frame),
            0x47 => self::decodeList($frame),
            0x48 => self::decodeCount($frame),
            0x49 => self::decodeBulk($frame),
            0x4A => self::decodeEdit($frame),
            0x50 => self::decodePause($frame),
            0x51 => self::decodeResume($frame),
            0x52 => [],
            0x53 => [],
            0x54 => self::decodeConnections($frame),
            0x55 => self::decodeDisconnect($frame),
            0x56 => self::decodeTopicSet($frame),
            0x57 => self::decodeTopicDelete($frame),
            0x58 => self::decodeTopicShow($frame),
            0x59 => self::decodeAdvance($frame),
            0x60 => [],
            0x61 => self::decodeBackupRead($frame),
            0x62 => [],
            0x6F => self::decodeSchedulePreview($frame),
            0x70 => [],
            0x71 => self::decodeClusterAdd($frame),
            0x72 => self::decodeClusterRemove($frame),
            0x73 => self::decodeClusterTransfer($frame),
            0x74 => self::decodeGroupSet($frame),
            0x75 => self::decodeGroupList($frame),
            0x76 => self::decodeWhy($frame),
            0x77 => self::decodeTopicWhy($frame),
            0x78 => self::decodeScheduleSet($frame),
            0x79 => self::decodeScheduleShow($frame),
            0x7A => self::decodeScheduleList($frame),
            0x7B => self::decodeScheduleDelete($frame),
            0x7C => self::decodeSchedulePause($frame),
            0x7D => self::decodeScheduleResume($frame),
            0x7E => self::decodeScheduleRun($frame),
            0x7F => self::decodeScheduleFill($frame),
            default => null,
        };

        return $fields === null ? null : new Message(Opcode::from($opcode), unpack('V', $frame, 4)[1], $fields);
    }

    /**
     * WELCOME: The answer to HELLO.
     *
     * @param array{
     *     version: int, // The version in use from now on: the newest that both sides speak.
     *     marks: int, // What became of the session.
     *     cluster_id: string, // Id of the cluster. A different id after a reconnect means a different queue.
     *     session: int, // The session, resumed or new; 0 without one.
     *     secret: string, // Needed to resume the session; zeros without one. Keep it as safe as a password: it gives access to the session's leases.
     *     heartbeat_ms: int, // See heartbeats.
     *     session_grace_ms: int, // How long the queue keeps the leases of a lost connection, see how long a lease is the client's own.
     *     frame_bytes_max: int, // Largest length field of a request.
     *     body_bytes_max: int, // Largest body of a job.
     *     push_jobs_max: int, // Most jobs in one PUSH.
     *     leases_max: int, // Most leases in one FINISH, RELEASE, TOUCH or BURY.
     *     reserve_jobs_max: int, // Most jobs that one RESERVE may ask for.
     *     in_flight_max: int, // Most unanswered requests on the connection.
     *     server_name: string, // For the client's logs.
     *     members: list<Member>, // The nodes of the cluster.
     *     clock_ms?: int, // Value of the server's monotonic clock; 0 or absent: not shown.
     * } $f
     */
    public static function encodeWelcome(array $f): string
    {
        if (
            ((strlen($f['cluster_id']) ^ 16) | (strlen($f['secret']) ^ 16)
            | ($f['marks'] | strlen($f['server_name'])) >> 8
            | $f['version'] >> 16
            | ($f['heartbeat_ms'] | $f['session_grace_ms'] | $f['frame_bytes_max'] | $f['body_bytes_max'] | $f['push_jobs_max'] | $f['leases_max'] | $f['reserve_jobs_max'] | $f['in_flight_max']) >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'version' => [$f['version'], 16],
                'marks' => [$f['marks'], 8],
                'cluster_id' => [(strlen($f['cluster_id']) ^ 16), 0],
                'secret' => [(strlen($f['secret']) ^ 16), 0],
                'heartbeat_ms' => [$f['heartbeat_ms'], 32],
                'session_grace_ms' => [$f['session_grace_ms'], 32],
                'frame_bytes_max' => [$f['frame_bytes_max'], 32],
                'body_bytes_max' => [$f['body_bytes_max'], 32],
                'push_jobs_max' => [$f['push_jobs_max'], 32],
                'leases_max' => [$f['leases_max'], 32],
                'reserve_jobs_max' => [$f['reserve_jobs_max'], 32],
                'in_flight_max' => [$f['in_flight_max'], 32],
                'server_name' => [strlen($f['server_name']), 8],
            ]);
        }
        $late = '';
        $clockMs = $f['clock_ms'] ?? 0;
        if ($clockMs !== 0) {
            $late = pack('P', $clockMs);
        }

        return pack(
            'vCa16Pa16VVVVVVVVC',
            $f['version'],
            $f['marks'],
            $f['cluster_id'],
            $f['session'],
            $f['secret'],
            $f['heartbeat_ms'],
            $f['session_grace_ms'],
            $f['frame_bytes_max'],
            $f['body_bytes_max'],
            $f['push_jobs_max'],
            $f['leases_max'],
            $f['reserve_jobs_max'],
            $f['in_flight_max'],
            strlen($f['server_name']),
        )
            . $f['server_name']
            . self::encodeListOfMember($f['members'])
            . $late;
    }

    /**
     * PONG: The answer to PING: at some moment after it was sent this node led, and the session was connected to it.
     *
     * @param array{
     *     now: int, // The server's wall clock, in milliseconds.
     *     clock_ms?: int, // The server's monotonic clock; 0 or absent: not shown.
     * } $f
     */
    public static function encodePong(array $f): string
    {
        $late = '';
        $clockMs = $f['clock_ms'] ?? 0;
        if ($clockMs !== 0) {
            $late = pack('P', $clockMs);
        }

        return pack('P', $f['now'])
            . $late;
    }

    /**
     * GOING_AWAY: Unasked, under request id 0: the server is about to close the connection.
     *
     * @param array{
     *     message: string, // Why, for a person.
     *     reason?: int, // Why, for the client.
     * } $f
     */
    public static function encodeGoingAway(array $f): string
    {
        if (strlen($f['message']) >> 16 !== 0) {
            throw Codec::outOfRange(['message' => [strlen($f['message']), 16]]);
        }
        $late = '';
        $reason = $f['reason'] ?? 0;
        if ($reason !== 0) {
            if ($reason >> 8 !== 0) {
                throw Codec::outOfRange(['reason' => [$reason, 8]]);
            }
            $late = pack('C', $reason);
        }

        return pack('v', strlen($f['message']))
            . $f['message']
            . $late;
    }

    /**
     * PUSHED: The outcomes of a PUSH: one per job, in order.
     *
     * @param array{
     *     results: list<PushResult>, // One result per job, in order.
     * } $f
     */
    public static function encodePushed(array $f): string
    {
        return self::encodeListOfPushResult($f['results']);
    }

    /**
     * RESERVED: The jobs of a RESERVE; none when the wait was over first.
     *
     * @param array{
     *     jobs: list<Delivered>, // The jobs.
     * } $f
     */
    public static function encodeReserved(array $f): string
    {
        return self::encodeListOfDelivered($f['jobs']);
    }

    /**
     * DELIVER: Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session.
     *
     * @param array{
     *     jobs: list<Delivered>, // The jobs.
     * } $f
     */
    public static function encodeDeliver(array $f): string
    {
        return self::encodeListOfDelivered($f['jobs']);
    }

    /**
     * LEASED: A page of the leases that the session holds.
     *
     * @param array{
     *     marks: int, // What is so.
     *     jobs: list<Delivered>, // The jobs, by id.
     * } $f
     */
    public static function encodeLeased(array $f): string
    {
        if ($f['marks'] >> 8 !== 0) {
            throw Codec::outOfRange(['marks' => [$f['marks'], 8]]);
        }

        return pack('C', $f['marks'])
            . self::encodeListOfDelivered($f['jobs']);
    }

    /**
     * SETTLED: The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order.
     *
     * @param array{
     *     results: list<SettleResult>, // One result per lease, in order.
     * } $f
     */
    public static function encodeSettled(array $f): string
    {
        return self::encodeListOfSettleResult($f['results']);
    }

    /**
     * JOB: One job as it stands.
     *
     * @param array{
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
     *     pushed_ms?: int, // When it was pushed.
     *     reserved_first_ms?: int, // When it was first leased.
     *     reserved_last_ms?: int, // When it was last leased.
     *     edited_ms?: int, // When it was last edited.
     *     held_by?: string, // Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty for none, and where the asking token lacks the right `admin` for all topics.
     *     reason?: string, // The last reason given with a RELEASE or BURY.
     *     finished_ms?: int, // When it was finished.
     *     version?: int, // Its version; 0 for a finished job that is no longer remembered.
     * } $f
     */
    public static function encodeJob(array $f): string
    {
        if (
            (($f['state'] | $f['buried'] | strlen($f['topic'])) >> 8
            | (strlen($f['key']) | strlen($f['attributes'])) >> 16
            | ($f['priority'] | $f['attempts'] | $f['ttr_ms'] | $f['ttr_left_ms']) >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'state' => [$f['state'], 8],
                'buried' => [$f['buried'], 8],
                'priority' => [$f['priority'], 32],
                'attempts' => [$f['attempts'], 32],
                'ttr_ms' => [$f['ttr_ms'], 32],
                'ttr_left_ms' => [$f['ttr_left_ms'], 32],
                'topic' => [strlen($f['topic']), 8],
                'key' => [strlen($f['key']), 16],
                'attributes' => [strlen($f['attributes']), 16],
            ]);
        }
        $late = '';
        $version = $f['version'] ?? 0;
        if ($version !== 0) {
            $late = pack('P', $version);
        }
        $finishedMs = $f['finished_ms'] ?? 0;
        if ($late !== '' || $finishedMs !== 0) {
            $late = pack('P', $finishedMs) . $late;
        }
        $reason = $f['reason'] ?? '';
        if ($late !== '' || $reason !== '') {
            if (strlen($reason) >> 16 !== 0) {
                throw Codec::outOfRange(['reason' => [strlen($reason), 16]]);
            }
            $late = pack('v', strlen($reason)) . $reason . $late;
        }
        $heldBy = $f['held_by'] ?? '';
        if ($late !== '' || $heldBy !== '') {
            if (strlen($heldBy) >> 8 !== 0) {
                throw Codec::outOfRange(['held_by' => [strlen($heldBy), 8]]);
            }
            $late = pack('C', strlen($heldBy)) . $heldBy . $late;
        }
        $editedMs = $f['edited_ms'] ?? 0;
        if ($late !== '' || $editedMs !== 0) {
            $late = pack('P', $editedMs) . $late;
        }
        $reservedLastMs = $f['reserved_last_ms'] ?? 0;
        if ($late !== '' || $reservedLastMs !== 0) {
            $late = pack('P', $reservedLastMs) . $late;
        }
        $reservedFirstMs = $f['reserved_first_ms'] ?? 0;
        if ($late !== '' || $reservedFirstMs !== 0) {
            $late = pack('P', $reservedFirstMs) . $late;
        }
        $pushedMs = $f['pushed_ms'] ?? 0;
        if ($late !== '' || $pushedMs !== 0) {
            $late = pack('P', $pushedMs) . $late;
        }

        return pack(
            'PPCCVVVVCvvV',
            $f['job'],
            $f['due_ms'],
            $f['state'],
            $f['buried'],
            $f['priority'],
            $f['attempts'],
            $f['ttr_ms'],
            $f['ttr_left_ms'],
            strlen($f['topic']),
            strlen($f['key']),
            strlen($f['attributes']),
            strlen($f['body']),
        )
            . $f['topic']
            . $f['key']
            . $f['attributes']
            . $f['body']
            . $late;
    }

    /**
     * CHANGED: One job was changed.
     *
     * @param array{
     *     job: int, // Its id.
     *     due_ms: int, // When it is due.
     *     state: int, // The state in which it is now; for DELETE, the one in which it was.
     *     version?: int, // Its version: after the change, and of a deleted job before it.
     * } $f
     */
    public static function encodeChanged(array $f): string
    {
        if ($f['state'] >> 8 !== 0) {
            throw Codec::outOfRange(['state' => [$f['state'], 8]]);
        }
        $late = '';
        $version = $f['version'] ?? 0;
        if ($version !== 0) {
            $late = pack('P', $version);
        }

        return pack('PPC', $f['job'], $f['due_ms'], $f['state'])
            . $late;
    }

    /**
     * KICKED: Jobs were kicked.
     *
     * @param array{
     *     jobs: int, // How many jobs are ready now that were buried.
     * } $f
     */
    public static function encodeKicked(array $f): string
    {
        if ($f['jobs'] >> 32 !== 0) {
            throw Codec::outOfRange(['jobs' => [$f['jobs'], 32]]);
        }

        return pack('V', $f['jobs']);
    }

    /**
     * JOBS: A page of jobs.
     *
     * @param array{
     *     cursor: string, // Where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor.
     *     jobs: list<Listed>, // The jobs, in the order that was asked for.
     * } $f
     */
    public static function encodeJobs(array $f): string
    {
        if (strlen($f['cursor']) >> 16 !== 0) {
            throw Codec::outOfRange(['cursor' => [strlen($f['cursor']), 16]]);
        }

        return pack('v', strlen($f['cursor']))
            . $f['cursor']
            . self::encodeListOfListed($f['jobs']);
    }

    /**
     * COUNTED: How many jobs match.
     *
     * @param array{
     *     jobs: int, // How many.
     *     by_due?: list<DueBar>, // If bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them.
     * } $f
     */
    public static function encodeCounted(array $f): string
    {
        $late = '';
        $byDue = $f['by_due'] ?? [];
        if ($byDue !== []) {
            $late = self::encodeListOfDueBar($byDue);
        }

        return pack('P', $f['jobs'])
            . $late;
    }

    /**
     * BULKED: How many jobs were changed.
     *
     * @param array{
     *     jobs: int, // How many jobs were changed.
     *     cursor: string, // Where the next step goes on; empty if this was the last one.
     *     skipped?: int, // How many met the conditions and were left as they are: their state does not allow the change, or the topic to which they were to go has their key.
     * } $f
     */
    public static function encodeBulked(array $f): string
    {
        if ((strlen($f['cursor']) >> 16 | $f['jobs'] >> 32) !== 0) {
            throw Codec::outOfRange(['jobs' => [$f['jobs'], 32], 'cursor' => [strlen($f['cursor']), 16]]);
        }
        $late = '';
        $skipped = $f['skipped'] ?? 0;
        if ($skipped !== 0) {
            if ($skipped >> 32 !== 0) {
                throw Codec::outOfRange(['skipped' => [$skipped, 32]]);
            }
            $late = pack('V', $skipped);
        }

        return pack('Vv', $f['jobs'], strlen($f['cursor']))
            . $f['cursor']
            . $late;
    }

    /**
     * TOPIC_COUNTS: Counts by topic.
     *
     * @param array{
     *     topics: list<TopicCount>, // Each topic, by name.
     * } $f
     */
    public static function encodeTopicCounts(array $f): string
    {
        return self::encodeListOfTopicCount($f['topics']);
    }

    /**
     * QUEUE_STATS: Counts of the queue.
     *
     * @param array{
     *     now: int, // The server's wall clock, in milliseconds.
     *     uptime_ms: int, // How long the server has been up.
     *     connections: int, // Open connections.
     *     sessions: int, // Sessions that the queue knows.
     *     waiting: int, // Consumers that wait for jobs.
     *     applied_index: int, // The last index that was applied.
     *     term: int, // The Raft term.
     *     state_hash: string, // The hash of the state at that index.
     *     totals: Totals, // The sums over all topics.
     *     topics: list<TopicCount>, // Each topic, by name.
     *     stages?: list<Stage>, // Where the time of the answering node goes.
     * } $f
     */
    public static function encodeQueueStats(array $f): string
    {
        if (((strlen($f['state_hash']) ^ 16) | ($f['connections'] | $f['sessions'] | $f['waiting']) >> 32) !== 0) {
            throw Codec::outOfRange([
                'connections' => [$f['connections'], 32],
                'sessions' => [$f['sessions'], 32],
                'waiting' => [$f['waiting'], 32],
                'state_hash' => [(strlen($f['state_hash']) ^ 16), 0],
            ]);
        }
        $late = '';
        $stages = $f['stages'] ?? [];
        if ($stages !== []) {
            $late = self::encodeListOfStage($stages);
        }

        return pack(
            'PPVVVPPa16PPPPPPPPP',
            $f['now'],
            $f['uptime_ms'],
            $f['connections'],
            $f['sessions'],
            $f['waiting'],
            $f['applied_index'],
            $f['term'],
            $f['state_hash'],
            $f['totals']['delayed'],
            $f['totals']['ready'],
            $f['totals']['reserved'],
            $f['totals']['buried'],
            $f['totals']['pushed'],
            $f['totals']['finished'],
            $f['totals']['deleted'],
            $f['totals']['expired'],
            $f['totals']['oldest_ready_ms'],
        )
            . self::encodeListOfTopicCount($f['topics'])
            . $late;
    }

    /**
     * CONNECTION_LIST: Clients' connections.
     *
     * @param array{
     *     marks: int, // What is so; a page has fewer than asked for if its connections have thousands of subscriptions.
     *     connections: list<Connection>, // The connections, by number.
     * } $f
     */
    public static function encodeConnectionList(array $f): string
    {
        if ($f['marks'] >> 8 !== 0) {
            throw Codec::outOfRange(['marks' => [$f['marks'], 8]]);
        }

        return pack('C', $f['marks'])
            . self::encodeListOfConnection($f['connections']);
    }

    /**
     * TOPIC_SETTINGS: A topic's policy.
     *
     * @param array{
     *     jobs: int, // The topic's jobs that are delayed, ready, reserved or buried.
     *     bytes: int, // Bytes of their bodies. Jobs that are remembered count for neither, nor for the limits.
     *     pause_left_ms: int, // How long its pause lasts; 0 if it is not paused, or until RESUME.
     *     marks: int, // What is so.
     *     settings: string, // The settings as in TOPIC_SET, with the server's defaults for retries where the topic does not set them.
     * } $f
     */
    public static function encodeTopicSettings(array $f): string
    {
        if (($f['marks'] >> 8 | strlen($f['settings']) >> 16) !== 0) {
            throw Codec::outOfRange(['marks' => [$f['marks'], 8], 'settings' => [strlen($f['settings']), 16]]);
        }

        return pack('PPPCv', $f['jobs'], $f['bytes'], $f['pause_left_ms'], $f['marks'], strlen($f['settings']))
            . $f['settings'];
    }

    /**
     * BACKUP_READY: A backup can be read.
     *
     * @param array{
     *     index: int, // The last entry of the log that it contains.
     *     jobs: int, // How many jobs are in it.
     *     state_hash: string, // Hash of the state, as in QUEUE_STATS at that index.
     *     bytes: int, // How many bytes there are to be read: all of the backup but its footer.
     * } $f
     */
    public static function encodeBackupReady(array $f): string
    {
        if ((strlen($f['state_hash']) ^ 16) !== 0) {
            throw Codec::outOfRange(['state_hash' => [(strlen($f['state_hash']) ^ 16), 0]]);
        }

        return pack('PPa16P', $f['index'], $f['jobs'], $f['state_hash'], $f['bytes']);
    }

    /**
     * BACKUP_DATA: A part of a backup.
     *
     * @param array{
     *     data: string, // The bytes at that offset; fewer than were asked for only at the end.
     * } $f
     */
    public static function encodeBackupData(array $f): string
    {
        return pack('V', strlen($f['data']))
            . $f['data'];
    }

    /**
     * INSTANTS: When a schedule would fire.
     *
     * @param array{
     *     zone_data: string, // The version and the origin of the zone data, for example `2026f, bundled`.
     *     instants: list<LocalInstant>, // The next instants, in order: fewer than were asked for if it fires no more.
     * } $f
     */
    public static function encodeInstants(array $f): string
    {
        if (strlen($f['zone_data']) >> 8 !== 0) {
            throw Codec::outOfRange(['zone_data' => [strlen($f['zone_data']), 8]]);
        }

        return pack('C', strlen($f['zone_data']))
            . $f['zone_data']
            . self::encodeListOfLocalInstant($f['instants']);
    }

    /**
     * CLUSTER_REPORT: The members of the cluster, as one node sees them.
     *
     * @param array{
     *     node: int, // The node that reports.
     *     cluster_id: string, // As in WELCOME.
     *     leader: int, // The leader, as far as it knows; 0 for none.
     *     term: int, // The Raft term, which grows with each election.
     *     last: int, // The last entry in its log.
     *     commit: int, // The last entry that it knows to be committed.
     *     feature_level: int, // What all members support; it rises when all are upgraded.
     *     members: list<Node>, // The voters, then the learners. Empty on a node that waits to be added.
     * } $f
     */
    public static function encodeClusterReport(array $f): string
    {
        if (((strlen($f['cluster_id']) ^ 16) | $f['feature_level'] >> 32) !== 0) {
            throw Codec::outOfRange(['cluster_id' => [(strlen($f['cluster_id']) ^ 16), 0], 'feature_level' => [$f['feature_level'], 32]]);
        }

        return pack('Pa16PPPPV', $f['node'], $f['cluster_id'], $f['leader'], $f['term'], $f['last'], $f['commit'], $f['feature_level'])
            . self::encodeListOfNode($f['members']);
    }

    /**
     * GROUPS: A page of groups.
     *
     * @param array{
     *     after: string, // Where the next page begins; empty on the last one.
     *     groups: list<GroupState>, // The groups, by name.
     * } $f
     */
    public static function encodeGroups(array $f): string
    {
        if (strlen($f['after']) >> 8 !== 0) {
            throw Codec::outOfRange(['after' => [strlen($f['after']), 8]]);
        }

        return pack('C', strlen($f['after']))
            . $f['after']
            . self::encodeListOfGroupState($f['groups']);
    }

    /**
     * REASONS: Why a job, a topic or a group gives nothing to a consumer.
     *
     * @param array{
     *     reasons: list<Reason>, // The reasons, the most important one first; never empty.
     * } $f
     */
    public static function encodeReasons(array $f): string
    {
        return self::encodeListOfReason($f['reasons']);
    }

    /**
     * SCHEDULED: A schedule is set.
     *
     * @param array{
     *     schedule: int, // Its id.
     *     version: int, // How often it was set.
     *     next_ms: int, // Its next instant; 0 if there is none.
     * } $f
     */
    public static function encodeScheduled(array $f): string
    {
        if ($f['version'] >> 32 !== 0) {
            throw Codec::outOfRange(['version' => [$f['version'], 32]]);
        }

        return pack('PVP', $f['schedule'], $f['version'], $f['next_ms']);
    }

    /**
     * SCHEDULE: One schedule as it stands.
     *
     * @param array{
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
     * } $f
     */
    public static function encodeSchedule(array $f): string
    {
        if (
            (($f['state']['paused'] | $f['state']['marks'] | $f['dst'] | $f['missed'] | $f['overlap'] | strlen($f['zone'])) >> 8
            | (strlen($f['pause_note']) | strlen($f['when']) | strlen($f['key']) | strlen($f['note']) | strlen($f['attributes'])) >> 16
            | ($f['state']['version'] | $f['state']['running'] | $f['state']['failures'] | $f['missed_max'] | $f['jitter_ms'] | $f['failures_max'] | $f['priority'] | $f['ttr_ms']) >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'version' => [$f['state']['version'], 32],
                'running' => [$f['state']['running'], 32],
                'failures' => [$f['state']['failures'], 32],
                'paused' => [$f['state']['paused'], 8],
                'marks' => [$f['state']['marks'], 8],
                'pause_note' => [strlen($f['pause_note']), 16],
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

        return pack(
            'PPPVVVCCv',
            $f['state']['schedule'],
            $f['state']['next_ms'],
            $f['state']['fired'],
            $f['state']['version'],
            $f['state']['running'],
            $f['state']['failures'],
            $f['state']['paused'],
            $f['state']['marks'],
            strlen($f['pause_note']),
        )
            . $f['pause_note']
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
            . self::encodeListOfFiring($f['history']);
    }

    /**
     * SCHEDULES: A page of schedules.
     *
     * @param array{
     *     schedules: list<ListedSchedule>, // The schedules: fewer than were asked for, or none, if a page comes to the limit of what is read for it.
     *     cursor: string, // Where the next page goes on; empty on the last one.
     * } $f
     */
    public static function encodeSchedules(array $f): string
    {
        if (strlen($f['cursor']) >> 16 !== 0) {
            throw Codec::outOfRange(['cursor' => [strlen($f['cursor']), 16]]);
        }

        return self::encodeListOfListedSchedule($f['schedules'])
            . pack('v', strlen($f['cursor']))
            . $f['cursor'];
    }

    /**
     * SCHEDULE_RAN: A schedule pushed a job.
     *
     * @param array{
     *     job: int, // Its id.
     * } $f
     */
    public static function encodeScheduleRan(array $f): string
    {
        return pack('P', $f['job']);
    }

    /**
     * SCHEDULE_FILLED: A part of a time that has passed is filled, or counted.
     *
     * @param array{
     *     next_ms: int, // From when the next part goes on; 0 if this was the last one.
     *     bytes: int, // Bytes of the bodies of the jobs of this part, also of those that were not pushed: like a push, it counts for the rates of the token; 0 after a dry run.
     *     instants: int, // Instants of the schedule in this part.
     *     pushed: int, // Jobs that were pushed.
     *     kept: int, // Instants whose job is in the topic already, by its key.
     *     refused: int, // Jobs that the topic's policy, or a limit of the queue, does not allow.
     * } $f
     */
    public static function encodeScheduleFilled(array $f): string
    {
        if (($f['instants'] | $f['pushed'] | $f['kept'] | $f['refused']) >> 32 !== 0) {
            throw Codec::outOfRange(['instants' => [$f['instants'], 32], 'pushed' => [$f['pushed'], 32], 'kept' => [$f['kept'], 32], 'refused' => [$f['refused'], 32]]);
        }

        return pack('PPVVVV', $f['next_ms'], $f['bytes'], $f['instants'], $f['pushed'], $f['kept'], $f['refused']);
    }

    /**
     * ERROR: The request failed as a whole.
     *
     * @param array{
     *     code: int, // Why: an error code.
     *     marks: int, // What is so.
     *     applied: int, // Its known effect. Read any other number as 1.
     *     retry_after_ms: int, // Do not try again before this time, whatever the code; the mark *retryable* is then set. 0: no hint.
     *     leader: string, // The client address of the leader, for `NOT_LEADER`; empty if unknown.
     *     message: string, // One sentence for a person. It may change between versions: decide by the code.
     * } $f
     */
    public static function encodeError(array $f): string
    {
        if (
            (($f['marks'] | $f['applied'] | strlen($f['leader'])) >> 8
            | ($f['code'] | strlen($f['message'])) >> 16
            | $f['retry_after_ms'] >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'code' => [$f['code'], 16],
                'marks' => [$f['marks'], 8],
                'applied' => [$f['applied'], 8],
                'retry_after_ms' => [$f['retry_after_ms'], 32],
                'leader' => [strlen($f['leader']), 8],
                'message' => [strlen($f['message']), 16],
            ]);
        }

        return pack('vCCVC', $f['code'], $f['marks'], $f['applied'], $f['retry_after_ms'], strlen($f['leader']))
            . $f['leader']
            . pack('v', strlen($f['message']))
            . $f['message'];
    }

    /**
     * HELLO: Opens the conversation; the first frame on every connection.
     *
     * @return array{
     *     version_min: int, // The oldest protocol version that the client speaks.
     *     version_max: int, // The newest one.
     *     options: int, // What the client wants.
     *     heartbeat_ms: int, // The heartbeat that the client asks for, see heartbeats; 0 takes the server's.
     *     session: int, // The session to resume; 0 opens a new one.
     *     secret: string, // The secret of that session; zeros without one.
     *     client_name: string, // At most 64 bytes, for the server's logs.
     *     token: string, // Authentication token, at most 256 bytes; empty for none.
     * }
     */
    public static function decodeHello(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('a4magic/vversion_min/vversion_max/Voptions/Vheartbeat_ms/Psession/a16secret/Cclient_name', 41, $frame, $at);
        $f['client_name'] = Codec::text($frame, $at, $f['client_name']);
        $f += Codec::fixed('vtoken', 2, $frame, $at);
        $f['token'] = Codec::bytes($frame, $at, $f['token']);
        self::check(strlen($f['client_name']) <= 64, 'client_name');
        self::check(strlen($f['token']) <= 256, 'token');
        self::check($f['magic'] === 'ADJ1', 'magic');

        return $f;
    }

    /**
     * PUSH: Adds jobs to one topic.
     *
     * @return array{
     *     sequence: int, // Number of the first job, see exactly-once push; 0 for no protection against repeats.
     *     topic: string, // The topic of all jobs.
     *     jobs: list<NewJob>, // 1 to `push_jobs_max` jobs.
     *     idempotency: string, // Instead of a sequence: a number under which a repeat is known, see idempotency keys. Absent or 0 for none.
     *     list_jobs: int, // How many jobs the list has, if it goes in several PUSHes under one idempotency key. Absent or 0: this PUSH is the whole list.
     * }
     */
    public static function decodePush(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Psequence/Ctopic', 9, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f['jobs'] = self::decodeListOfNewJob($frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('a16idempotency', 16, $frame, $at);
        } else {
            $f['idempotency'] = Codec::NONE;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Vlist_jobs', 4, $frame, $at);
        } else {
            $f['list_jobs'] = 0;
        }
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(count($f['jobs']) >= 1 && count($f['jobs']) <= 4096, 'jobs');

        return $f;
    }

    /**
     * RESERVE: Long-poll: waits for jobs of some topics.
     *
     * @return array{
     *     wait_ms: int, // Answer without a job after this time; at most 3,600,000. 0 does not wait: such a RESERVE is ordered like a change.
     *     jobs_max: int, // 1 to `reserve_jobs_max`.
     *     topics: list<string>, // 1 to 64 topics.
     *     weights: list<int>, // One per topic, in the same order, each at least 1; empty or absent for no weights.
     * }
     */
    public static function decodeReserve(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pwait_ms/Vjobs_max', 12, $frame, $at);
        $f['topics'] = self::decodeListOfTexts($frame, $at);
        if ($at < strlen($frame)) {
            $f['weights'] = self::decodeListOfNumbers($frame, $at);
        } else {
            $f['weights'] = [];
        }
        self::check($f['wait_ms'] >= 0 && $f['wait_ms'] <= 3_600_000, 'wait_ms');
        self::check($f['jobs_max'] >= 1 && $f['jobs_max'] <= 1024, 'jobs_max');
        self::check(count($f['topics']) >= 1 && count($f['topics']) <= 64, 'topics');
        self::check(count($f['weights']) <= 64, 'weights');

        return $f;
    }

    /**
     * SUBSCRIBE: Asks for jobs to be sent as they become ready.
     *
     * @return array{
     *     credit_jobs: int, // Most jobs held at once, at most 65,536.
     *     credit_bytes: int, // Most bytes of bodies held at once, at most 268,435,456.
     *     topics: list<string>, // As in RESERVE.
     *     weights: list<int>, // As in RESERVE.
     * }
     */
    public static function decodeSubscribe(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vcredit_jobs/Pcredit_bytes', 12, $frame, $at);
        $f['topics'] = self::decodeListOfTexts($frame, $at);
        if ($at < strlen($frame)) {
            $f['weights'] = self::decodeListOfNumbers($frame, $at);
        } else {
            $f['weights'] = [];
        }
        self::check($f['credit_jobs'] <= 65_536, 'credit_jobs');
        self::check($f['credit_bytes'] >= 0 && $f['credit_bytes'] <= 268_435_456, 'credit_bytes');
        self::check(count($f['topics']) >= 1 && count($f['topics']) <= 64, 'topics');
        self::check(count($f['weights']) <= 64, 'weights');

        return $f;
    }

    /**
     * CREDIT: Adds credit to a subscription.
     *
     * @return array{
     *     subscription: int, // The request id of SUBSCRIBE.
     *     credit_jobs: int, // More jobs, at most 65,536.
     *     credit_bytes: int, // More bytes, at most 268,435,456.
     * }
     */
    public static function decodeCredit(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vsubscription/Vcredit_jobs/Pcredit_bytes', 16, $frame, $at);
        self::check($f['credit_jobs'] <= 65_536, 'credit_jobs');
        self::check($f['credit_bytes'] >= 0 && $f['credit_bytes'] <= 268_435_456, 'credit_bytes');

        return $f;
    }

    /**
     * UNSUBSCRIBE: Ends a subscription; jobs already sent stay leased.
     *
     * @return array{
     *     subscription: int, // The request id of SUBSCRIBE.
     * }
     */
    public static function decodeUnsubscribe(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vsubscription', 4, $frame, $at);

        return $f;
    }

    /**
     * CANCEL: Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
     *
     * @return array{
     *     request: int, // The request id of RESERVE.
     * }
     */
    public static function decodeCancel(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vrequest', 4, $frame, $at);

        return $f;
    }

    /**
     * LEASES: Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among
     * them.
     *
     * @return array{
     *     after: int, // A job id: list only later ones. 0 for the first page.
     *     jobs_max: int, // 1 to `reserve_jobs_max`.
     * }
     */
    public static function decodeLeases(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pafter/Vjobs_max', 12, $frame, $at);
        self::check($f['jobs_max'] >= 1 && $f['jobs_max'] <= 1024, 'jobs_max');

        return $f;
    }

    /**
     * RESERVE_JOB: Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back.
     *
     * @return array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * }
     */
    public static function decodeReserveJob(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['ref'] = self::decodeReference($frame, $at);

        return $f;
    }

    /**
     * FINISH: Says that jobs are done: they are removed.
     *
     * @return array{
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     * }
     */
    public static function decodeFinish(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['leases'] = self::decodeListOfLease($frame, $at);
        self::check(count($f['leases']) >= 1 && count($f['leases']) <= 4096, 'leases');

        return $f;
    }

    /**
     * RELEASE: Gives jobs back, to be attempted again.
     *
     * @return array{
     *     delay_ms: int, // Whether the attempt counts, and when the next one is: 0 to ten years, or one of the values that `RELEASE_` begins.
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     *     reason: string, // What each job shows as its last reason from now on, at most 1,024 bytes; empty for none.
     * }
     */
    public static function decodeRelease(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pdelay_ms', 8, $frame, $at);
        $f['leases'] = self::decodeListOfLease($frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('vreason', 2, $frame, $at);
            $f['reason'] = Codec::text($frame, $at, $f['reason']);
        } else {
            $f['reason'] = '';
        }
        self::check(count($f['leases']) >= 1 && count($f['leases']) <= 4096, 'leases');
        self::check(strlen($f['reason']) <= 1024, 'reason');

        return $f;
    }

    /**
     * TOUCH: Starts the time to run anew.
     *
     * @return array{
     *     ttr_ms: int, // The leases' new time to run, 100 to 604,800,000; 0 takes the jobs' own.
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     * }
     */
    public static function decodeTouch(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vttr_ms', 4, $frame, $at);
        $f['leases'] = self::decodeListOfLease($frame, $at);
        self::check($f['ttr_ms'] <= 604_800_000, 'ttr_ms');
        self::check(count($f['leases']) >= 1 && count($f['leases']) <= 4096, 'leases');

        return $f;
    }

    /**
     * BURY: Sets jobs aside until somebody kicks them.
     *
     * @return array{
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     *     reason: string, // As in RELEASE.
     * }
     */
    public static function decodeBury(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['leases'] = self::decodeListOfLease($frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('vreason', 2, $frame, $at);
            $f['reason'] = Codec::text($frame, $at, $f['reason']);
        } else {
            $f['reason'] = '';
        }
        self::check(count($f['leases']) >= 1 && count($f['leases']) <= 4096, 'leases');
        self::check(strlen($f['reason']) <= 1024, 'reason');

        return $f;
    }

    /**
     * GET: Reads one job.
     *
     * @return array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * }
     */
    public static function decodeGet(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['ref'] = self::decodeReference($frame, $at);

        return $f;
    }

    /**
     * DELETE: Removes one job, whatever its state.
     *
     * @return array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * }
     */
    public static function decodeDelete(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['ref'] = self::decodeReference($frame, $at);

        return $f;
    }

    /**
     * RESCHEDULE: Gives one delayed or ready job a new due time; a buried one is kicked first.
     *
     * @return array{
     *     due_ms: int, // With due_kind: the due point.
     *     due_kind: int, // How due_ms counts.
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     *     if_version: int, // Only if the job is still of this version; absent or 0: in any case.
     * }
     */
    public static function decodeReschedule(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pdue_ms/Cdue_kind', 9, $frame, $at);
        $f['ref'] = self::decodeReference($frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pif_version', 8, $frame, $at);
        } else {
            $f['if_version'] = 0;
        }
        self::check(in_array($f['due_kind'], [0, 1], true), 'due_kind');

        return $f;
    }

    /**
     * RUN_NOW: Makes one delayed job ready at once.
     *
     * @return array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * }
     */
    public static function decodeRunNow(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['ref'] = self::decodeReference($frame, $at);

        return $f;
    }

    /**
     * KICK: Makes one buried job ready.
     *
     * @return array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * }
     */
    public static function decodeKick(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['ref'] = self::decodeReference($frame, $at);

        return $f;
    }

    /**
     * PEEK: Reads the next job of a topic without reserving it: the first ready one, else the first delayed.
     *
     * @return array{
     *     topic: string, // The topic to look at.
     * }
     */
    public static function decodePeek(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        self::check(strlen($f['topic']) <= 200, 'topic');

        return $f;
    }

    /**
     * KICK_MANY: Makes buried jobs of a topic ready: by priority, then by when they were due, then by id.
     *
     * @return array{
     *     jobs_max: int, // Most jobs to kick: 1 to `KICK_JOBS_MAX`.
     *     topic: string, // The topic of the buried jobs.
     * }
     */
    public static function decodeKickMany(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vjobs_max/Ctopic', 5, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        self::check($f['jobs_max'] >= 1 && $f['jobs_max'] <= 4096, 'jobs_max');
        self::check(strlen($f['topic']) <= 200, 'topic');

        return $f;
    }

    /**
     * LIST: Shows jobs, a page at a time.
     *
     * @return array{
     *     jobs_max: int, // Most jobs on the page: 1 to `LIST_JOBS_MAX`.
     *     order: int, // In which order.
     *     marks: int, // What to show.
     *     cursor: string, // The cursor of the previous page; empty for the first page.
     *     filter: string, // The conditions that the jobs meet.
     * }
     */
    public static function decodeList(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vjobs_max/Corder/Cmarks/vcursor', 8, $frame, $at);
        $f['cursor'] = Codec::bytes($frame, $at, $f['cursor']);
        $f += Codec::fixed('vfilter', 2, $frame, $at);
        $f['filter'] = Codec::bytes($frame, $at, $f['filter']);
        self::check($f['jobs_max'] >= 1 && $f['jobs_max'] <= 1024, 'jobs_max');
        self::check(in_array($f['order'], [0, 1, 2], true), 'order');
        self::check(strlen($f['cursor']) <= 512, 'cursor');
        self::check(strlen($f['filter']) <= 1024, 'filter');

        return $f;
    }

    /**
     * COUNT: Counts the jobs that match, all together or by when they are due.
     *
     * @return array{
     *     filter: string, // The conditions that the jobs meet, as in LIST.
     *     bars: int, // Counts the jobs by when they are due, too, in so many bars. Absent or 0: only all together.
     *     bars_from_ms: int, // Where the first bar begins, on the wall clock, in milliseconds.
     *     bar_ms: int, // The width of a bar in milliseconds, at least 1 if there are bars.
     * }
     */
    public static function decodeCount(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('vfilter', 2, $frame, $at);
        $f['filter'] = Codec::bytes($frame, $at, $f['filter']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Vbars', 4, $frame, $at);
        } else {
            $f['bars'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pbars_from_ms', 8, $frame, $at);
        } else {
            $f['bars_from_ms'] = 0;
        }
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pbar_ms', 8, $frame, $at);
        } else {
            $f['bar_ms'] = 0;
        }
        self::check(strlen($f['filter']) <= 1024, 'filter');
        self::check($f['bars'] <= 1024, 'bars');

        return $f;
    }

    /**
     * BULK: Does the same to many jobs, a bounded number with each request.
     *
     * @return array{
     *     jobs_max: int, // Most jobs to change in this step: 1 to `BULK_JOBS_MAX`.
     *     change: int, // What to do to each: the same effect as the request for one job.
     *     due_ms: int, // For 3: the new due time, on the wall clock. Else 0, which is not looked at.
     *     cursor: string, // The cursor of the previous step; empty for the first step.
     *     filter: string, // The conditions that the jobs meet, as in LIST.
     *     to: string, // With 4: the topic to which the jobs go. Else absent or empty.
     * }
     */
    public static function decodeBulk(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vjobs_max/Cchange/Pdue_ms/vcursor', 15, $frame, $at);
        $f['cursor'] = Codec::bytes($frame, $at, $f['cursor']);
        $f += Codec::fixed('vfilter', 2, $frame, $at);
        $f['filter'] = Codec::bytes($frame, $at, $f['filter']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Cto', 1, $frame, $at);
            $f['to'] = Codec::text($frame, $at, $f['to']);
        } else {
            $f['to'] = '';
        }
        self::check($f['jobs_max'] >= 1 && $f['jobs_max'] <= 1024, 'jobs_max');
        self::check(in_array($f['change'], [0, 1, 2, 3, 4], true), 'change');
        self::check(strlen($f['cursor']) <= 512, 'cursor');
        self::check(strlen($f['filter']) <= 1024, 'filter');
        self::check(strlen($f['to']) <= 200, 'to');

        return $f;
    }

    /**
     * EDIT: Changes parts of one delayed, ready or buried job.
     *
     * @return array{
     *     due_ms: int, // With due_kind: the new due point.
     *     priority: int, // The new priority, as in PUSH.
     *     ttr_ms: int, // The new time of a lease, as in PUSH.
     *     edited: int, // The parts that change; at least one. The fields of other parts must be valid, and are not used.
     *     due_kind: int, // How due_ms counts.
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     *     attributes: string, // The new attributes of the parts that change. One that is missing here is taken away: the topic's default then counts, if there is one.
     *     body: string, // The new body; at most `body_bytes_max` bytes.
     *     if_version: int, // Only if the job is still of this version; absent or 0: in any case.
     * }
     */
    public static function decodeEdit(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pdue_ms/Vpriority/Vttr_ms/vedited/Cdue_kind', 19, $frame, $at);
        $f['ref'] = self::decodeReference($frame, $at);
        $f += Codec::fixed('vattributes', 2, $frame, $at);
        $f['attributes'] = Codec::bytes($frame, $at, $f['attributes']);
        $f += Codec::fixed('Vbody', 4, $frame, $at);
        $f['body'] = Codec::bytes($frame, $at, $f['body']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pif_version', 8, $frame, $at);
        } else {
            $f['if_version'] = 0;
        }
        self::check($f['ttr_ms'] <= 604_800_000, 'ttr_ms');
        self::check(in_array($f['due_kind'], [0, 1], true), 'due_kind');
        self::check(strlen($f['attributes']) <= 4096, 'attributes');

        return $f;
    }

    /**
     * PAUSE: Stops the reserving of a topic's jobs.
     *
     * @return array{
     *     topic: string, // The topic to pause.
     *     for_ms: int, // The pause ends by itself after this time; more than ten years count as ten. Absent or 0: it lasts until RESUME.
     * }
     */
    public static function decodePause(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pfor_ms', 8, $frame, $at);
        } else {
            $f['for_ms'] = 0;
        }
        self::check(strlen($f['topic']) <= 200, 'topic');

        return $f;
    }

    /**
     * RESUME: Starts it again.
     *
     * @return array{
     *     topic: string, // The topic to resume.
     * }
     */
    public static function decodeResume(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        self::check(strlen($f['topic']) <= 200, 'topic');

        return $f;
    }

    /**
     * CONNECTIONS: Lists the clients that are connected to this node, by number.
     *
     * @return array{
     *     after: int, // Only higher numbers; 0 for the first page.
     *     connections_max: int, // 1 to `CONNECTIONS_LISTED_MAX`.
     * }
     */
    public static function decodeConnections(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pafter/Vconnections_max', 12, $frame, $at);
        self::check($f['connections_max'] >= 1 && $f['connections_max'] <= 256, 'connections_max');

        return $f;
    }

    /**
     * DISCONNECT: Closes the connection of another client to this node.
     *
     * @return array{
     *     connection: int, // Its number, as CONNECTION_LIST shows it.
     *     options: int, // What else to do.
     * }
     */
    public static function decodeDisconnect(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pconnection/Coptions', 9, $frame, $at);

        return $f;
    }

    /**
     * TOPIC_SET: Changes what a topic decides for its jobs. The topic is made if it is new.
     *
     * @return array{
     *     topic: string, // The topic whose policy changes.
     *     settings: string, // The settings to change, in rising order of their tags. An empty value takes a setting away.
     * }
     */
    public static function decodeTopicSet(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('vsettings', 2, $frame, $at);
        $f['settings'] = Codec::bytes($frame, $at, $f['settings']);
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['settings']) <= 8192, 'settings');

        return $f;
    }

    /**
     * TOPIC_DELETE: Forgets a topic that has no jobs, with its settings.
     *
     * @return array{
     *     topic: string, // The topic to forget.
     * }
     */
    public static function decodeTopicDelete(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        self::check(strlen($f['topic']) <= 200, 'topic');

        return $f;
    }

    /**
     * TOPIC_SHOW: Reads what a topic decides for its jobs.
     *
     * @return array{
     *     topic: string, // The topic that is asked for.
     * }
     */
    public static function decodeTopicShow(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        self::check(strlen($f['topic']) <= 200, 'topic');

        return $f;
    }

    /**
     * ADVANCE: Moves the clock of a server for tests. Answered when everything that is due by then is carried out.
     *
     * @return array{
     *     step: int, // How far the clock moves.
     *     by_ms: int, // With 0: the duration; else 0, which is not looked at.
     * }
     */
    public static function decodeAdvance(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Cstep/Pby_ms', 9, $frame, $at);
        self::check(in_array($f['step'], [0, 1], true), 'step');
        self::check($f['by_ms'] >= 0 && $f['by_ms'] <= 315_360_000_000, 'by_ms');

        return $f;
    }

    /**
     * BACKUP_READ: Reads a part of that backup.
     *
     * @return array{
     *     offset: int, // Where the part begins.
     *     bytes: int, // Most bytes of it: 1 to `BACKUP_READ_BYTES_MAX`.
     * }
     */
    public static function decodeBackupRead(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Poffset/Vbytes', 12, $frame, $at);
        self::check($f['bytes'] >= 1 && $f['bytes'] <= 1_048_576, 'bytes');

        return $f;
    }

    /**
     * SCHEDULE_PREVIEW: Says when a schedule with these rules would fire, without setting it.
     *
     * @return array{
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
     * }
     */
    public static function decodeSchedulePreview(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Porigin_ms/Pstart_ms/Pend_ms/Pcount/Pwindow_ms/Vmissed_max/Vjitter_ms/Vfailures_max/Cdst/Cmissed/Coverlap/vwhen/Czone/vkey/vnote', 62, $frame, $at);
        $f['when'] = Codec::text($frame, $at, $f['when']);
        $f['zone'] = Codec::text($frame, $at, $f['zone']);
        $f['key'] = Codec::text($frame, $at, $f['key']);
        $f['note'] = Codec::text($frame, $at, $f['note']);
        $f += Codec::fixed('Pfrom_ms/Vinstants_max', 12, $frame, $at);
        self::check($f['missed_max'] <= 1000, 'missed_max');
        self::check($f['jitter_ms'] <= 86_400_000, 'jitter_ms');
        self::check(in_array($f['dst'], [0, 1], true), 'dst');
        self::check(in_array($f['missed'], [0, 1, 2], true), 'missed');
        self::check(in_array($f['overlap'], [0, 1, 2, 3], true), 'overlap');
        self::check(strlen($f['when']) >= 1 && strlen($f['when']) <= 2048, 'when');
        self::check(strlen($f['zone']) <= 64, 'zone');
        self::check(strlen($f['key']) <= 256, 'key');
        self::check(strlen($f['note']) <= 256, 'note');
        self::check($f['instants_max'] >= 1 && $f['instants_max'] <= 1000, 'instants_max');

        return $f;
    }

    /**
     * CLUSTER_ADD: Adds the node that listens for its peers at an address; it votes when it has caught up.
     *
     * @return array{
     *     address: string, // Where it listens for its peers, as `host:port`.
     * }
     */
    public static function decodeClusterAdd(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Caddress', 1, $frame, $at);
        $f['address'] = Codec::text($frame, $at, $f['address']);
        self::check(strlen($f['address']) <= 255, 'address');

        return $f;
    }

    /**
     * CLUSTER_REMOVE: Removes a member. It cannot come back under its number.
     *
     * @return array{
     *     node: int, // The member's number.
     * }
     */
    public static function decodeClusterRemove(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pnode', 8, $frame, $at);

        return $f;
    }

    /**
     * CLUSTER_TRANSFER: Hands leadership to another member.
     *
     * @return array{
     *     node: int, // To which; 0 leaves it to the leader.
     * }
     */
    public static function decodeClusterTransfer(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pnode', 8, $frame, $at);

        return $f;
    }

    /**
     * GROUP_SET: Changes the settings of one group. With weight 1 and not paused it has none.
     *
     * @return array{
     *     weight: int, // How many jobs it gives at a turn, 1 to `GROUP_WEIGHT_MAX`; 0: as before.
     *     pause: int, // Whether it is paused or resumed.
     *     topic: string, // Its topic.
     *     group: string, // Its name.
     * }
     */
    public static function decodeGroupSet(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vweight/Cpause/Ctopic', 6, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cgroup', 1, $frame, $at);
        $f['group'] = Codec::text($frame, $at, $f['group']);
        self::check($f['weight'] <= 1000, 'weight');
        self::check(in_array($f['pause'], [0, 1, 2], true), 'pause');
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['group']) >= 1 && strlen($f['group']) <= 255, 'group');

        return $f;
    }

    /**
     * GROUP_LIST: Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name.
     *
     * @return array{
     *     groups_max: int, // 1 to `GROUPS_LISTED_MAX`.
     *     topic: string, // Their topic.
     *     after: string, // Only those with names after this one; empty for the first page, and then what the page before says.
     *     prefix: string, // Only those whose names begin like this.
     * }
     */
    public static function decodeGroupList(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vgroups_max/Ctopic', 5, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cafter', 1, $frame, $at);
        $f['after'] = Codec::text($frame, $at, $f['after']);
        $f += Codec::fixed('Cprefix', 1, $frame, $at);
        $f['prefix'] = Codec::text($frame, $at, $f['prefix']);
        self::check($f['groups_max'] >= 1 && $f['groups_max'] <= 1000, 'groups_max');
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['after']) <= 255, 'after');
        self::check(strlen($f['prefix']) <= 255, 'prefix');

        return $f;
    }

    /**
     * WHY: Says why a job is not running.
     *
     * @return array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * }
     */
    public static function decodeWhy(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['ref'] = self::decodeReference($frame, $at);

        return $f;
    }

    /**
     * TOPIC_WHY: Says why a topic, or one of its groups, gives no job.
     *
     * @return array{
     *     topic: string, // The topic.
     *     group: string, // The group; empty for the whole topic.
     * }
     */
    public static function decodeTopicWhy(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cgroup', 1, $frame, $at);
        $f['group'] = Codec::text($frame, $at, $f['group']);
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['group']) <= 255, 'group');

        return $f;
    }

    /**
     * SCHEDULE_SET: Creates a schedule, or gives the one of this name another content. The topic is made if it is new.
     *
     * @return array{
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
     *     if_version: int, // Only if it was set so often; 4,294,967,295: only if there is none. Absent or 0: in any case.
     * }
     */
    public static function decodeScheduleSet(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        $f += Codec::fixed('Porigin_ms/Pstart_ms/Pend_ms/Pcount/Pwindow_ms/Vmissed_max/Vjitter_ms/Vfailures_max/Cdst/Cmissed/Coverlap/vwhen/Czone/vkey/vnote', 62, $frame, $at);
        $f['when'] = Codec::text($frame, $at, $f['when']);
        $f['zone'] = Codec::text($frame, $at, $f['zone']);
        $f['key'] = Codec::text($frame, $at, $f['key']);
        $f['note'] = Codec::text($frame, $at, $f['note']);
        $f += Codec::fixed('Vpriority/Vttr_ms/vattributes/Vbody', 14, $frame, $at);
        $f['attributes'] = Codec::bytes($frame, $at, $f['attributes']);
        $f['body'] = Codec::bytes($frame, $at, $f['body']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Vif_version', 4, $frame, $at);
        } else {
            $f['if_version'] = 0;
        }
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) >= 1 && strlen($f['name']) <= 255, 'name');
        self::check($f['missed_max'] <= 1000, 'missed_max');
        self::check($f['jitter_ms'] <= 86_400_000, 'jitter_ms');
        self::check(in_array($f['dst'], [0, 1], true), 'dst');
        self::check(in_array($f['missed'], [0, 1, 2], true), 'missed');
        self::check(in_array($f['overlap'], [0, 1, 2, 3], true), 'overlap');
        self::check(strlen($f['when']) >= 1 && strlen($f['when']) <= 2048, 'when');
        self::check(strlen($f['zone']) <= 64, 'zone');
        self::check(strlen($f['key']) <= 256, 'key');
        self::check(strlen($f['note']) <= 256, 'note');
        self::check($f['ttr_ms'] <= 604_800_000, 'ttr_ms');
        self::check(strlen($f['attributes']) <= 4096, 'attributes');

        return $f;
    }

    /**
     * SCHEDULE_SHOW: Reads one schedule, and what it did of late.
     *
     * @return array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * }
     */
    public static function decodeScheduleShow(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) <= 255, 'name');

        return $f;
    }

    /**
     * SCHEDULE_LIST: Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the
     * order in which they were made.
     *
     * @return array{
     *     schedules_max: int, // 1 to `SCHEDULES_LISTED_MAX`.
     *     next_before_ms: int, // Only those with a next instant before this one; 0 for all.
     *     paused: int, // Only those that are paused, or those that are not.
     *     topic: string, // The topic of their jobs; empty for all topics.
     *     prefix: string, // Only those whose names begin like this.
     *     cursor: string, // The cursor of the previous page; empty for the first page.
     * }
     */
    public static function decodeScheduleList(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vschedules_max/Pnext_before_ms/Cpaused/Ctopic', 14, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cprefix', 1, $frame, $at);
        $f['prefix'] = Codec::text($frame, $at, $f['prefix']);
        $f += Codec::fixed('vcursor', 2, $frame, $at);
        $f['cursor'] = Codec::bytes($frame, $at, $f['cursor']);
        self::check($f['schedules_max'] >= 1 && $f['schedules_max'] <= 256, 'schedules_max');
        self::check(in_array($f['paused'], [0, 1, 2], true), 'paused');
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['prefix']) <= 255, 'prefix');
        self::check(strlen($f['cursor']) <= 512, 'cursor');

        return $f;
    }

    /**
     * SCHEDULE_DELETE: Forgets a schedule. Its jobs stay.
     *
     * @return array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * }
     */
    public static function decodeScheduleDelete(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) <= 255, 'name');

        return $f;
    }

    /**
     * SCHEDULE_PAUSE: Lets a schedule fire no more until it is resumed.
     *
     * @return array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     *     note: string, // Why, for people, at most 1,024 bytes. To pause again replaces it; empty for none, or to keep it.
     * }
     */
    public static function decodeSchedulePause(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('vnote', 2, $frame, $at);
            $f['note'] = Codec::text($frame, $at, $f['note']);
        } else {
            $f['note'] = '';
        }
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) <= 255, 'name');
        self::check(strlen($f['note']) <= 1024, 'note');

        return $f;
    }

    /**
     * SCHEDULE_RESUME: Lets a paused schedule fire again. *missed* says what happens to the instants that passed.
     *
     * @return array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * }
     */
    public static function decodeScheduleResume(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) <= 255, 'name');

        return $f;
    }

    /**
     * SCHEDULE_RUN: Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays.
     *
     * @return array{
     *     topic: string, // The topic of its jobs.
     *     name: string, // Its name.
     * }
     */
    public static function decodeScheduleRun(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Ctopic', 1, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) <= 255, 'name');

        return $f;
    }

    /**
     * SCHEDULE_FILL: Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the
     * topic has a job with the key of the instant.
     *
     * @return array{
     *     from_ms: int, // The first time that counts; for the next part what the part before says.
     *     to_ms: int, // The last time that counts. It must not be ahead.
     *     dry_run: int, // 1: it pushes nothing, and counts the instants.
     *     topic: string, // The topic of its jobs. The token needs the right to read there, too; for a dry run that right alone.
     *     name: string, // Its name.
     * }
     */
    public static function decodeScheduleFill(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pfrom_ms/Pto_ms/Cdry_run/Ctopic', 18, $frame, $at);
        $f['topic'] = Codec::text($frame, $at, $f['topic']);
        $f += Codec::fixed('Cname', 1, $frame, $at);
        $f['name'] = Codec::text($frame, $at, $f['name']);
        self::check($f['dry_run'] <= 1, 'dry_run');
        self::check(strlen($f['topic']) <= 200, 'topic');
        self::check(strlen($f['name']) <= 255, 'name');

        return $f;
    }

    /**
     * One node of the cluster, as clients see it.
     *
     * @param list<Member> $items
     */
    private static function encodeListOfMember(array $items): string
    {
        $out = pack('vV', 10, count($items));
        foreach ($items as $item) {
            if (($item['marks'] | strlen($item['address'])) >> 8 !== 0) {
                throw Codec::outOfRange(['marks' => [$item['marks'], 8], 'address' => [strlen($item['address']), 8]]);
            }
            $out .= pack('PCC', $item['node'], $item['marks'], strlen($item['address'])) . $item['address'];
        }

        return $out;
    }

    /**
     * What became of one pushed job.
     *
     * @param list<PushResult> $items
     */
    private static function encodeListOfPushResult(array $items): string
    {
        $out = pack('vV', 11, count($items));
        foreach ($items as $item) {
            if (($item['outcome'] >> 8 | $item['code'] >> 16) !== 0) {
                throw Codec::outOfRange(['outcome' => [$item['outcome'], 8], 'code' => [$item['code'], 16]]);
            }
            $out .= pack('CvP', $item['outcome'], $item['code'], $item['job']);
        }

        return $out;
    }

    /**
     * A job that is now leased to the session.
     *
     * @param list<Delivered> $items
     */
    private static function encodeListOfDelivered(array $items): string
    {
        $out = pack('vV', 53, count($items));
        foreach ($items as $item) {
            if (
                (strlen($item['topic']) >> 8
                | (strlen($item['key']) | strlen($item['attributes'])) >> 16
                | ($item['priority'] | $item['attempts'] | $item['ttr_left_ms']) >> 32) !== 0
            ) {
                throw Codec::outOfRange([
                    'priority' => [$item['priority'], 32],
                    'attempts' => [$item['attempts'], 32],
                    'ttr_left_ms' => [$item['ttr_left_ms'], 32],
                    'topic' => [strlen($item['topic']), 8],
                    'key' => [strlen($item['key']), 16],
                    'attributes' => [strlen($item['attributes']), 16],
                ]);
            }
            $out .= pack(
                'PPPVVVCvvVP',
                $item['job'],
                $item['fence'],
                $item['due_ms'],
                $item['priority'],
                $item['attempts'],
                $item['ttr_left_ms'],
                strlen($item['topic']),
                strlen($item['key']),
                strlen($item['attributes']),
                strlen($item['body']),
                $item['deadline_ms'],
            ) . $item['topic'] . $item['key'] . $item['attributes'] . $item['body'];
        }

        return $out;
    }

    /**
     * What became of one lease.
     *
     * @param list<SettleResult> $items
     */
    private static function encodeListOfSettleResult(array $items): string
    {
        $out = pack('vV', 2, count($items));
        foreach ($items as $item) {
            if ($item['code'] >> 16 !== 0) {
                throw Codec::outOfRange(['code' => [$item['code'], 16]]);
            }
            $out .= pack('v', $item['code']);
        }

        return $out;
    }

    /**
     * A job on a page of a list.
     *
     * @param list<Listed> $items
     */
    private static function encodeListOfListed(array $items): string
    {
        $out = pack('vV', 82, count($items));
        foreach ($items as $item) {
            if (
                (($item['state'] | $item['buried'] | strlen($item['topic']) | strlen($item['held_by'])) >> 8
                | (strlen($item['key']) | strlen($item['attributes']) | strlen($item['reason'])) >> 16
                | ($item['priority'] | $item['attempts'] | $item['ttr_ms'] | $item['ttr_left_ms'] | $item['body_bytes']) >> 32) !== 0
            ) {
                throw Codec::outOfRange([
                    'state' => [$item['state'], 8],
                    'buried' => [$item['buried'], 8],
                    'priority' => [$item['priority'], 32],
                    'attempts' => [$item['attempts'], 32],
                    'ttr_ms' => [$item['ttr_ms'], 32],
                    'ttr_left_ms' => [$item['ttr_left_ms'], 32],
                    'topic' => [strlen($item['topic']), 8],
                    'key' => [strlen($item['key']), 16],
                    'attributes' => [strlen($item['attributes']), 16],
                    'body_bytes' => [$item['body_bytes'], 32],
                    'held_by' => [strlen($item['held_by']), 8],
                    'reason' => [strlen($item['reason']), 16],
                ]);
            }
            $out .= pack(
                'PPCCVVVVCvvVVPPPPCv',
                $item['job'],
                $item['due_ms'],
                $item['state'],
                $item['buried'],
                $item['priority'],
                $item['attempts'],
                $item['ttr_ms'],
                $item['ttr_left_ms'],
                strlen($item['topic']),
                strlen($item['key']),
                strlen($item['attributes']),
                strlen($item['body']),
                $item['body_bytes'],
                $item['pushed_ms'],
                $item['reserved_first_ms'],
                $item['reserved_last_ms'],
                $item['edited_ms'],
                strlen($item['held_by']),
                strlen($item['reason']),
            ) . $item['topic'] . $item['key'] . $item['attributes'] . $item['body'] . $item['held_by'] . $item['reason'];
        }

        return $out;
    }

    /**
     * The jobs of a COUNT that are due in a part of a time.
     *
     * @param list<DueBar> $items
     */
    private static function encodeListOfDueBar(array $items): string
    {
        $out = pack('vV', 16, count($items));
        foreach ($items as $item) {
            $out .= pack('PP', $item['start_ms'], $item['jobs']);
        }

        return $out;
    }

    /**
     * The counts of one topic.
     *
     * @param list<TopicCount> $items
     */
    private static function encodeListOfTopicCount(array $items): string
    {
        $out = pack('vV', 86, count($items));
        foreach ($items as $item) {
            if ((($item['marks'] | strlen($item['topic'])) >> 8 | $item['consumers'] >> 32) !== 0) {
                throw Codec::outOfRange(['marks' => [$item['marks'], 8], 'consumers' => [$item['consumers'], 32], 'topic' => [strlen($item['topic']), 8]]);
            }
            $out .= pack(
                'CVPCPPPPPPPPP',
                $item['marks'],
                $item['consumers'],
                $item['late_ms'],
                strlen($item['topic']),
                $item['delayed'],
                $item['ready'],
                $item['reserved'],
                $item['buried'],
                $item['pushed'],
                $item['finished'],
                $item['deleted'],
                $item['expired'],
                $item['oldest_ready_ms'],
            ) . $item['topic'];
        }

        return $out;
    }

    /**
     * How long one stage of the work on a node took, over its last minutes. Times are in microseconds.
     *
     * @param list<Stage> $items
     */
    private static function encodeListOfStage(array $items): string
    {
        $out = pack('vV', 41, count($items));
        foreach ($items as $item) {
            if (strlen($item['stage']) >> 8 !== 0) {
                throw Codec::outOfRange(['stage' => [strlen($item['stage']), 8]]);
            }
            $out .= pack('CPPPPP', strlen($item['stage']), $item['count'], $item['p50_us'], $item['p99_us'], $item['p999_us'], $item['max_us']) . $item['stage'];
        }

        return $out;
    }

    /**
     * One client that is connected to the node.
     *
     * @param list<Connection> $items
     */
    private static function encodeListOfConnection(array $items): string
    {
        $out = pack('vV', 64, count($items));
        foreach ($items as $item) {
            if (
                (($item['marks'] | strlen($item['address']) | strlen($item['client_name']) | count($item['topics'])) >> 8
                | ($item['leases'] | $item['subscriptions'] | $item['reserves']) >> 32) !== 0
            ) {
                throw Codec::outOfRange([
                    'leases' => [$item['leases'], 32],
                    'subscriptions' => [$item['subscriptions'], 32],
                    'reserves' => [$item['reserves'], 32],
                    'marks' => [$item['marks'], 8],
                    'address' => [strlen($item['address']), 8],
                    'client_name' => [strlen($item['client_name']), 8],
                    'topics' => [count($item['topics']), 8],
                ]);
            }
            $out .= pack(
                'PPPVVVPPPCCCC',
                $item['connection'],
                $item['session'],
                $item['since_ms'],
                $item['leases'],
                $item['subscriptions'],
                $item['reserves'],
                $item['credit_jobs'],
                $item['credit_bytes'],
                $item['unsent_bytes'],
                $item['marks'],
                strlen($item['address']),
                strlen($item['client_name']),
                count($item['topics']),
            ) . $item['address'] . $item['client_name'] . self::encodeShortTexts($item['topics']);
        }

        return $out;
    }

    /**
     * An instant, and what the clocks of its zone show.
     *
     * @param list<LocalInstant> $items
     */
    private static function encodeListOfLocalInstant(array $items): string
    {
        $out = pack('vV', 9, count($items));
        foreach ($items as $item) {
            if (strlen($item['local']) >> 8 !== 0) {
                throw Codec::outOfRange(['local' => [strlen($item['local']), 8]]);
            }
            $out .= pack('PC', $item['instant_ms'], strlen($item['local'])) . $item['local'];
        }

        return $out;
    }

    /**
     * One member of the cluster, as one node sees it. Unknown values are 0.
     *
     * @param list<Node> $items
     */
    private static function encodeListOfNode(array $items): string
    {
        $out = pack('vV', 44, count($items));
        foreach ($items as $item) {
            if (($item['role'] | $item['marks'] | strlen($item['peer_address']) | strlen($item['client_address'])) >> 8 !== 0) {
                throw Codec::outOfRange([
                    'role' => [$item['role'], 8],
                    'marks' => [$item['marks'], 8],
                    'peer_address' => [strlen($item['peer_address']), 8],
                    'client_address' => [strlen($item['client_address']), 8],
                ]);
            }
            $out .= pack(
                'PCCPPPPCC',
                $item['node'],
                $item['role'],
                $item['marks'],
                $item['matched'],
                $item['applied'],
                $item['ahead_ms'],
                $item['audited'],
                strlen($item['peer_address']),
                strlen($item['client_address']),
            ) . $item['peer_address'] . $item['client_address'];
        }

        return $out;
    }

    /**
     * Where a group stands.
     *
     * @param list<GroupState> $items
     */
    private static function encodeListOfGroupState(array $items): string
    {
        $out = pack('vV', 39, count($items));
        foreach ($items as $item) {
            if ((($item['hold'] | $item['paused'] | strlen($item['name'])) >> 8 | $item['weight'] >> 32) !== 0) {
                throw Codec::outOfRange([
                    'weight' => [$item['weight'], 32],
                    'hold' => [$item['hold'], 8],
                    'paused' => [$item['paused'], 8],
                    'name' => [strlen($item['name']), 8],
                ]);
            }
            $out .= pack(
                'PPPPVCCC',
                $item['ready'],
                $item['reserved'],
                $item['oldest_ms'],
                $item['until_ms'],
                $item['weight'],
                $item['hold'],
                $item['paused'],
                strlen($item['name']),
            ) . $item['name'];
        }

        return $out;
    }

    /**
     * One reason why a job, a topic or a group gives nothing now.
     *
     * @param list<Reason> $items
     */
    private static function encodeListOfReason(array $items): string
    {
        $out = pack('vV', 27, count($items));
        foreach ($items as $item) {
            if (($item['why'] >> 8 | strlen($item['text']) >> 16) !== 0) {
                throw Codec::outOfRange(['why' => [$item['why'], 8], 'text' => [strlen($item['text']), 16]]);
            }
            $out .= pack('CPPPv', $item['why'], $item['since_ms'], $item['until_ms'], $item['jobs'], strlen($item['text'])) . $item['text'];
        }

        return $out;
    }

    /**
     * What a schedule did at an instant, or at several ones.
     *
     * @param list<Firing> $items
     */
    private static function encodeListOfFiring(array $items): string
    {
        $out = pack('vV', 41, count($items));
        foreach ($items as $item) {
            if ($item['fired'] >> 8 !== 0) {
                throw Codec::outOfRange(['fired' => [$item['fired'], 8]]);
            }
            $out .= pack('PPPPPC', $item['instant_ms'], $item['last_ms'], $item['instants'], $item['at_ms'], $item['job'], $item['fired']);
        }

        return $out;
    }

    /**
     * A schedule on a page of a list.
     *
     * @param list<ListedSchedule> $items
     */
    private static function encodeListOfListedSchedule(array $items): string
    {
        $out = pack('vV', 104, count($items));
        foreach ($items as $item) {
            if (
                (($item['paused'] | $item['marks'] | $item['dst'] | $item['missed'] | $item['overlap'] | strlen($item['zone']) | strlen($item['topic']) | strlen($item['name'])) >> 8
                | (strlen($item['when']) | strlen($item['key']) | strlen($item['note']) | strlen($item['pause_note'])) >> 16
                | ($item['version'] | $item['running'] | $item['failures'] | $item['missed_max'] | $item['jitter_ms'] | $item['failures_max']) >> 32) !== 0
            ) {
                throw Codec::outOfRange([
                    'version' => [$item['version'], 32],
                    'running' => [$item['running'], 32],
                    'failures' => [$item['failures'], 32],
                    'paused' => [$item['paused'], 8],
                    'marks' => [$item['marks'], 8],
                    'missed_max' => [$item['missed_max'], 32],
                    'jitter_ms' => [$item['jitter_ms'], 32],
                    'failures_max' => [$item['failures_max'], 32],
                    'dst' => [$item['dst'], 8],
                    'missed' => [$item['missed'], 8],
                    'overlap' => [$item['overlap'], 8],
                    'when' => [strlen($item['when']), 16],
                    'zone' => [strlen($item['zone']), 8],
                    'key' => [strlen($item['key']), 16],
                    'note' => [strlen($item['note']), 16],
                    'topic' => [strlen($item['topic']), 8],
                    'name' => [strlen($item['name']), 8],
                    'pause_note' => [strlen($item['pause_note']), 16],
                ]);
            }
            $out .= pack(
                'PPPVVVCCPPPPPVVVCCCvCvvCCv',
                $item['schedule'],
                $item['next_ms'],
                $item['fired'],
                $item['version'],
                $item['running'],
                $item['failures'],
                $item['paused'],
                $item['marks'],
                $item['origin_ms'],
                $item['start_ms'],
                $item['end_ms'],
                $item['count'],
                $item['window_ms'],
                $item['missed_max'],
                $item['jitter_ms'],
                $item['failures_max'],
                $item['dst'],
                $item['missed'],
                $item['overlap'],
                strlen($item['when']),
                strlen($item['zone']),
                strlen($item['key']),
                strlen($item['note']),
                strlen($item['topic']),
                strlen($item['name']),
                strlen($item['pause_note']),
            ) . $item['when'] . $item['zone'] . $item['key'] . $item['note'] . $item['topic'] . $item['name'] . $item['pause_note'];
        }

        return $out;
    }

    /** @param list<string> $texts */
    private static function encodeShortTexts(array $texts): string
    {
        $out = '';
        foreach ($texts as $text) {
            $out .= chr(Codec::narrow(strlen($text), 8, 'a text')) . $text;
        }

        return $out;
    }

    /**
     * One job to push.
     *
     * @return list<NewJob>
     */
    private static function decodeListOfNewJob(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 26);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pdue_ms/Vpriority/Vttr_ms/Cdue_kind/Cif_exists/vkey/vattributes/Vbody', $frame, $at);
            $at += $fixed;
            if ($item['key'] + $item['attributes'] + $item['body'] > $end - $at) {
                throw Malformed::cutOff();
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
            self::check($item['ttr_ms'] <= 604_800_000, 'ttr_ms');
            self::check(in_array($item['due_kind'], [0, 1], true), 'due_kind');
            self::check(in_array($item['if_exists'], [0, 1, 2, 3, 4], true), 'if_exists');
            self::check(strlen($item['key']) <= 256, 'key');
            self::check(strlen($item['attributes']) <= 4096, 'attributes');
            $items[] = $item;
        }

        return $items;
    }

    /** @return list<string> */
    private static function decodeListOfTexts(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 1);
        for ($texts = []; $count > 0; --$count) {
            $size = Codec::fixed('C', 1, $frame, $at)[1];
            Codec::bytes($frame, $at, $fixed - 1);
            $texts[] = Codec::text($frame, $at, $size);
        }

        return $texts;
    }

    /** @return list<int> */
    private static function decodeListOfNumbers(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 2);
        for ($numbers = []; $count > 0; --$count) {
            $numbers[] = unpack('v', $frame, $at)[1];
            $at += $fixed;
        }

        return $numbers;
    }

    /**
     * A lease on a job.
     *
     * @return list<Lease>
     */
    private static function decodeListOfLease(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 16);
        for ($items = []; $count > 0; --$count) {
            $item = unpack('Pjob/Pfence', $frame, $at);
            $at += $fixed;
            $items[] = $item;
        }

        return $items;
    }

    /** @return array{job: int}|array{topic: string, key: string} */
    private static function decodeReference(string $frame, int &$at): array
    {
        $kind = Codec::fixed('C', 1, $frame, $at)[1];
        if ($kind === 0) {
            return Codec::fixed('Pjob', 8, $frame, $at);
        }
        self::check($kind === 1, 'job_kind');
        $size = Codec::fixed('C', 1, $frame, $at)[1];
        $ref = ['topic' => Codec::text($frame, $at, $size)];
        $size = Codec::fixed('v', 2, $frame, $at)[1];
        $ref['key'] = Codec::text($frame, $at, $size);

        return $ref;
    }

    private static function check(bool $isSo, string $name): void
    {
        if (!$isSo) {
            throw new Malformed("$name is not allowed.");
        }
    }
}
