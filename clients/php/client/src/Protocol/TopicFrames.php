<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function strlen;
use function substr;

/**
 * Frames about topics, and about the queue as a whole.
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
 */
final class TopicFrames
{
    /** Reserving is stopped. */
    public const TOPIC_MARKS_PAUSED = 1;
    /** Reserving is stopped. */
    public const SETTINGS_MARKS_PAUSED = 1;
    /** *attempts* is the server's default, and not set here. */
    public const SETTINGS_MARKS_ATTEMPTS_OF_SERVER = 2;
    /** The same of *backoff*. */
    public const SETTINGS_MARKS_BACKOFF_OF_SERVER = 4;
    /** It waits for more topics than are listed. */
    public const CONNECTION_MARKS_MORE_TOPICS = 1;
    /** Also end its session. */
    public const DISCONNECT_OPTIONS_ENDS_SESSION = 1;
    /** By a duration. */
    public const STEP_BY = 0;
    /** To the time at which the next delayed job is due, of all topics. */
    public const STEP_TO_NEXT = 1;

    /**
     * PAUSE: Stops the reserving of a topic's jobs.
     *
     * @param array{
     *     topic: string, // The topic to pause.
     *     for_ms?: int, // The pause ends by itself after this time; more than ten years count as ten. Absent or 0: it lasts until RESUME.
     * } $f
     */
    public static function encodePause(array $f): string
    {
        if (strlen($f['topic']) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8]]);
        }
        $late = '';
        $forMs = $f['for_ms'] ?? 0;
        if ($forMs !== 0) {
            $late = pack('P', $forMs);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . $late;
    }

    /**
     * RESUME: Starts it again.
     *
     * @param array{
     *     topic: string, // The topic to resume.
     * } $f
     */
    public static function encodeResume(array $f): string
    {
        if (strlen($f['topic']) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic'];
    }

    /**
     * CONNECTIONS: Lists the clients that are connected to this node, by number.
     *
     * @param array{
     *     after: int, // Only higher numbers; 0 for the first page.
     *     connections_max: int, // 1 to `CONNECTIONS_LISTED_MAX`.
     * } $f
     */
    public static function encodeConnections(array $f): string
    {
        if ($f['connections_max'] >> 32 !== 0) {
            throw Codec::outOfRange(['connections_max' => [$f['connections_max'], 32]]);
        }

        return pack('PV', $f['after'], $f['connections_max']);
    }

    /**
     * DISCONNECT: Closes the connection of another client to this node.
     *
     * @param array{
     *     connection: int, // Its number, as CONNECTION_LIST shows it.
     *     options: int, // What else to do.
     * } $f
     */
    public static function encodeDisconnect(array $f): string
    {
        if ($f['options'] >> 8 !== 0) {
            throw Codec::outOfRange(['options' => [$f['options'], 8]]);
        }

        return pack('PC', $f['connection'], $f['options']);
    }

    /**
     * TOPIC_SET: Changes what a topic decides for its jobs. The topic is made if it is new.
     *
     * @param array{
     *     topic: string, // The topic whose policy changes.
     *     settings: string, // The settings to change, in rising order of their tags. An empty value takes a setting away.
     * } $f
     */
    public static function encodeTopicSet(array $f): string
    {
        if ((strlen($f['topic']) >> 8 | strlen($f['settings']) >> 16) !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'settings' => [strlen($f['settings']), 16]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('v', strlen($f['settings']))
            . $f['settings'];
    }

    /**
     * TOPIC_DELETE: Forgets a topic that has no jobs, with its settings.
     *
     * @param array{
     *     topic: string, // The topic to forget.
     * } $f
     */
    public static function encodeTopicDelete(array $f): string
    {
        if (strlen($f['topic']) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic'];
    }

    /**
     * TOPIC_SHOW: Reads what a topic decides for its jobs.
     *
     * @param array{
     *     topic: string, // The topic that is asked for.
     * } $f
     */
    public static function encodeTopicShow(array $f): string
    {
        if (strlen($f['topic']) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic'];
    }

    /**
     * ADVANCE: Moves the clock of a server for tests. Answered when everything that is due by then is carried out.
     *
     * @param array{
     *     step: int, // How far the clock moves.
     *     by_ms: int, // With 0: the duration; else 0, which is not looked at.
     * } $f
     */
    public static function encodeAdvance(array $f): string
    {
        if ($f['step'] >> 8 !== 0) {
            throw Codec::outOfRange(['step' => [$f['step'], 8]]);
        }

        return pack('CP', $f['step'], $f['by_ms']);
    }

    /**
     * TOPIC_COUNTS: Counts by topic.
     *
     * @return array{
     *     topics: list<TopicCount>, // Each topic, by name.
     * }
     */
    public static function decodeTopicCounts(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['topics'] = self::decodeListOfTopicCount($frame, $at);

        return $f;
    }

    /**
     * QUEUE_STATS: Counts of the queue.
     *
     * @return array{
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
     *     stages: list<Stage>, // Where the time of the answering node goes.
     * }
     */
    public static function decodeQueueStats(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pnow/Puptime_ms/Vconnections/Vsessions/Vwaiting/Papplied_index/Pterm/a16state_hash', 60, $frame, $at);
        $f['totals'] = Codec::fixed('Pdelayed/Pready/Preserved/Pburied/Ppushed/Pfinished/Pdeleted/Pexpired/Poldest_ready_ms', 72, $frame, $at);
        $f['topics'] = self::decodeListOfTopicCount($frame, $at);
        if ($at < strlen($frame)) {
            $f['stages'] = self::decodeListOfStage($frame, $at);
        } else {
            $f['stages'] = [];
        }

        return $f;
    }

    /**
     * CONNECTION_LIST: Clients' connections.
     *
     * @return array{
     *     marks: int, // What is so; a page has fewer than asked for if its connections have thousands of subscriptions.
     *     connections: list<Connection>, // The connections, by number.
     * }
     */
    public static function decodeConnectionList(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Cmarks', 1, $frame, $at);
        $f['connections'] = self::decodeListOfConnection($frame, $at);

        return $f;
    }

    /**
     * TOPIC_SETTINGS: A topic's policy.
     *
     * @return array{
     *     jobs: int, // The topic's jobs that are delayed, ready, reserved or buried.
     *     bytes: int, // Bytes of their bodies. Jobs that are remembered count for neither, nor for the limits.
     *     pause_left_ms: int, // How long its pause lasts; 0 if it is not paused, or until RESUME.
     *     marks: int, // What is so.
     *     settings: string, // The settings as in TOPIC_SET, with the server's defaults for retries where the topic does not set them.
     * }
     */
    public static function decodeTopicSettings(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pjobs/Pbytes/Ppause_left_ms/Cmarks/vsettings', 27, $frame, $at);
        $f['settings'] = Codec::bytes($frame, $at, $f['settings']);

        return $f;
    }

    /**
     * The counts of one topic.
     *
     * @return list<TopicCount>
     */
    private static function decodeListOfTopicCount(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 86);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Cmarks/Vconsumers/Plate_ms/Ctopic/Pdelayed/Pready/Preserved/Pburied/Ppushed/Pfinished/Pdeleted/Pexpired/Poldest_ready_ms', $frame, $at);
            $at += $fixed;
            if ($item['topic'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['topic'];
            $item['topic'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['topic']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }

    /**
     * How long one stage of the work on a node took, over its last minutes. Times are in microseconds.
     *
     * @return list<Stage>
     */
    private static function decodeListOfStage(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 41);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Cstage/Pcount/Pp50_us/Pp99_us/Pp999_us/Pmax_us', $frame, $at);
            $at += $fixed;
            if ($item['stage'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['stage'];
            $item['stage'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['stage']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }

    /**
     * One client that is connected to the node.
     *
     * @return list<Connection>
     */
    private static function decodeListOfConnection(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 64);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pconnection/Psession/Psince_ms/Vleases/Vsubscriptions/Vreserves/Pcredit_jobs/Pcredit_bytes/Punsent_bytes/Cmarks/Caddress/Cclient_name/Ctopics', $frame, $at);
            $at += $fixed;
            if ($item['address'] + $item['client_name'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['address'];
            $item['address'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['address']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['client_name'];
            $item['client_name'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['client_name']) !== 1) {
                throw Malformed::noText();
            }
            $item['topics'] = self::decodeShortTexts($frame, $at, $item['topics']);
            $items[] = $item;
        }

        return $items;
    }

    /** @return list<string> */
    private static function decodeShortTexts(string $frame, int &$at, int $count): array
    {
        for ($texts = []; $count > 0; --$count) {
            $size = Codec::fixed('C', 1, $frame, $at)[1];
            $texts[] = Codec::text($frame, $at, $size);
        }

        return $texts;
    }
}
