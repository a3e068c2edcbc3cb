<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function strlen;
use function substr;

/**
 * Frames about the connection, and ERROR.
 *
 * @phpstan-type Member array{
 *     node: int, // Its number.
 *     marks: int, // What is so.
 *     address: string, // Where clients connect, as `host:port`. Behind a proxy or NAT, start each node with `--client-address`, or clients go round.
 * }
 */
final class ConnectionFrames
{
    /**
     * Leases run to their deadline whatever happens to the session, see sessions. It takes effect only when a session is opened; a
     * resumed session keeps what it was opened with.
     */
    public const HELLO_OPTIONS_LEASES_OUTLIVE = 1;
    /** None is opened if `session` is 0, see connections without a session. */
    public const HELLO_OPTIONS_NO_SESSION = 2;
    /** The session was resumed. */
    public const WELCOME_MARKS_RESUMED = 1;
    /** Its leases were kept. */
    public const WELCOME_MARKS_LEASES_KEPT = 2;
    /** It leads. */
    public const MEMBER_MARKS_LEADS = 1;
    /** The same request may succeed later, as it is. */
    public const ERROR_MARKS_RETRYABLE = 1;
    /** Not said. */
    public const GOING_AWAY_UNKNOWN = 0;
    /** The server stops; new requests are answered with `STOPPING`. */
    public const GOING_AWAY_STOPPING = 1;
    /** This node no longer leads. */
    public const GOING_AWAY_NOT_LEADER = 2;
    /** Another connection took the session over. */
    public const GOING_AWAY_SESSION_TAKEN_OVER = 3;
    /** An operator closed the connection. */
    public const GOING_AWAY_DISCONNECTED = 4;
    /** Nothing was changed. */
    public const APPLIED_NO = 0;
    /** It may have been applied, or may still be. */
    public const APPLIED_UNKNOWN = 1;
    /** The version of a server that is not configured otherwise. */
    public const DEFAULT_VERSION = 1;
    /** The heartbeat_ms of a server that is not configured otherwise. */
    public const DEFAULT_HEARTBEAT_MS = 3000;
    /** The session_grace_ms of a server that is not configured otherwise. */
    public const DEFAULT_SESSION_GRACE_MS = 10_000;
    /** The frame_bytes_max of a server that is not configured otherwise. */
    public const DEFAULT_FRAME_BYTES_MAX = 1_114_112;
    /** The body_bytes_max of a server that is not configured otherwise. */
    public const DEFAULT_BODY_BYTES_MAX = 1_048_576;
    /** The push_jobs_max of a server that is not configured otherwise. */
    public const DEFAULT_PUSH_JOBS_MAX = 4096;
    /** The leases_max of a server that is not configured otherwise. */
    public const DEFAULT_LEASES_MAX = 4096;
    /** The reserve_jobs_max of a server that is not configured otherwise. */
    public const DEFAULT_RESERVE_JOBS_MAX = 1024;
    /** The in_flight_max of a server that is not configured otherwise. */
    public const DEFAULT_IN_FLIGHT_MAX = 1024;

    /**
     * HELLO: Opens the conversation; the first frame on every connection.
     *
     * @param array{
     *     version_min: int, // The oldest protocol version that the client speaks.
     *     version_max: int, // The newest one.
     *     options: int, // What the client wants.
     *     heartbeat_ms: int, // The heartbeat that the client asks for, see heartbeats; 0 takes the server's.
     *     session: int, // The session to resume; 0 opens a new one.
     *     secret: string, // The secret of that session; zeros without one.
     *     client_name: string, // At most 64 bytes, for the server's logs.
     *     token: string, // Authentication token, at most 256 bytes; empty for none.
     * } $f
     */
    public static function encodeHello(array $f): string
    {
        if (
            ((strlen($f['secret']) ^ 16)
            | strlen($f['client_name']) >> 8
            | ($f['version_min'] | $f['version_max'] | strlen($f['token'])) >> 16
            | ($f['options'] | $f['heartbeat_ms']) >> 32) !== 0
        ) {
            throw Codec::outOfRange([
                'version_min' => [$f['version_min'], 16],
                'version_max' => [$f['version_max'], 16],
                'options' => [$f['options'], 32],
                'heartbeat_ms' => [$f['heartbeat_ms'], 32],
                'secret' => [(strlen($f['secret']) ^ 16), 0],
                'client_name' => [strlen($f['client_name']), 8],
                'token' => [strlen($f['token']), 16],
            ]);
        }

        return pack(
            'a4vvVVPa16C',
            'ADJ1',
            $f['version_min'],
            $f['version_max'],
            $f['options'],
            $f['heartbeat_ms'],
            $f['session'],
            $f['secret'],
            strlen($f['client_name']),
        )
            . $f['client_name']
            . pack('v', strlen($f['token']))
            . $f['token'];
    }

    /**
     * WELCOME: The answer to HELLO.
     *
     * @return array{
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
     *     clock_ms: int, // Value of the server's monotonic clock; 0 or absent: not shown.
     * }
     */
    public static function decodeWelcome(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('vversion/Cmarks/a16cluster_id/Psession/a16secret/Vheartbeat_ms/Vsession_grace_ms/Vframe_bytes_max/Vbody_bytes_max/Vpush_jobs_max/Vleases_max/Vreserve_jobs_max/Vin_flight_max/Cserver_name', 76, $frame, $at);
        $f['server_name'] = Codec::text($frame, $at, $f['server_name']);
        $f['members'] = self::decodeListOfMember($frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pclock_ms', 8, $frame, $at);
        } else {
            $f['clock_ms'] = 0;
        }

        return $f;
    }

    /**
     * PONG: The answer to PING: at some moment after it was sent this node led, and the session was connected to it.
     *
     * @return array{
     *     now: int, // The server's wall clock, in milliseconds.
     *     clock_ms: int, // The server's monotonic clock; 0 or absent: not shown.
     * }
     */
    public static function decodePong(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pnow', 8, $frame, $at);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Pclock_ms', 8, $frame, $at);
        } else {
            $f['clock_ms'] = 0;
        }

        return $f;
    }

    /**
     * GOING_AWAY: Unasked, under request id 0: the server is about to close the connection.
     *
     * @return array{
     *     message: string, // Why, for a person.
     *     reason: int, // Why, for the client.
     * }
     */
    public static function decodeGoingAway(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('vmessage', 2, $frame, $at);
        $f['message'] = Codec::text($frame, $at, $f['message']);
        if ($at < strlen($frame)) {
            $f += Codec::fixed('Creason', 1, $frame, $at);
        } else {
            $f['reason'] = 0;
        }

        return $f;
    }

    /**
     * ERROR: The request failed as a whole.
     *
     * @return array{
     *     code: int, // Why: an error code.
     *     marks: int, // What is so.
     *     applied: int, // Its known effect. Read any other number as 1.
     *     retry_after_ms: int, // Do not try again before this time, whatever the code; the mark *retryable* is then set. 0: no hint.
     *     leader: string, // The client address of the leader, for `NOT_LEADER`; empty if unknown.
     *     message: string, // One sentence for a person. It may change between versions: decide by the code.
     * }
     */
    public static function decodeError(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('vcode/Cmarks/Capplied/Vretry_after_ms/Cleader', 9, $frame, $at);
        $f['leader'] = Codec::text($frame, $at, $f['leader']);
        $f += Codec::fixed('vmessage', 2, $frame, $at);
        $f['message'] = Codec::text($frame, $at, $f['message']);

        return $f;
    }

    /**
     * One node of the cluster, as clients see it.
     *
     * @return list<Member>
     */
    private static function decodeListOfMember(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 10);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pnode/Cmarks/Caddress', $frame, $at);
            $at += $fixed;
            if ($item['address'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['address'];
            $item['address'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['address']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }
}
