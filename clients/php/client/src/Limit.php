<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/**
 * The limits of the queue. A name says its unit, BYTES or MS; all others are counts. Those that a server can be configured
 * with are its defaults.
 */
final class Limit
{
    /** Longest topic name. */
    public const TOPIC_BYTES_MAX = 200;
    /** Longest key. */
    public const KEY_BYTES_MAX = 256;
    /** All header names and values of a job. */
    public const HEADERS_BYTES_MAX = 1024;
    /** All attributes of a job. */
    public const ATTRIBUTES_BYTES_MAX = 4096;
    /** Largest body, unless configured. */
    public const BODY_BYTES_MAX_DEFAULT = 1_048_576;
    /** Highest value of that setting. */
    public const BODY_BYTES_CEILING = 8_388_608;
    /** `frame_bytes_max` is `body_bytes_max` plus this. */
    public const FRAME_OVERHEAD_BYTES_MAX = 65_536;
    /** Largest length of a frame before HELLO is accepted. */
    public const FRAME_BYTES_MAX_BEFORE_HELLO = 4096;
    /** Largest length of a frame from the server. */
    public const RESPONSE_BYTES_MAX = 33_554_432;
    /** Jobs in one KICK_MANY. */
    public const KICK_JOBS_MAX = 4096;
    /** Jobs in one PUSH. */
    public const PUSH_JOBS_MAX = 4096;
    /** Jobs that one BULK changes. */
    public const BULK_JOBS_MAX = 1024;
    /** Jobs on one page of a LIST. */
    public const LIST_JOBS_MAX = 1024;
    /** Bytes of jobs on one page; the last job may exceed it. */
    public const LIST_BYTES_MAX = 8_388_608;
    /** Jobs that the server scans for a page by due time. */
    public const LIST_LOOKS_MAX = 4_194_304;
    /** Jobs of a topic, or of the queue, for a LIST by key. */
    public const LIST_BY_KEY_JOBS_MAX = 100_000;
    /** Longest cursor. */
    public const CURSOR_BYTES_MAX = 512;
    /** Longest filter. */
    public const FILTER_BYTES_MAX = 1024;
    /** Longest text of a filter's condition on reasons. */
    public const FILTER_REASON_BYTES_MAX = 256;
    /** Most bars by which a COUNT counts jobs. */
    public const DUE_BARS_MAX = 1024;
    /** Longest reason of a RELEASE or BURY. */
    public const REASON_BYTES_MAX = 1024;
    /** Leases in one FINISH, RELEASE, TOUCH, BURY. */
    public const LEASES_MAX = 4096;
    /** Unprocessed bytes of requests of all connections; less with little memory. */
    public const INPUT_BYTES_MAX = 16_777_216;
    /** The same for one connection; bytes that were already read may exceed it. */
    public const INPUT_BYTES_PER_CONNECTION_MAX = 1_048_576;
    /** Topics in one RESERVE or SUBSCRIBE. */
    public const RESERVE_TOPICS_MAX = 64;
    /** Jobs in one RESERVED. */
    public const RESERVE_JOBS_MAX = 1024;
    /** One RESERVED or DELIVER takes no further job once its bodies have reached this. */
    public const RESERVE_BYTES_MAX = 8_388_608;
    /** Connections in one CONNECTION_LIST. */
    public const CONNECTIONS_LISTED_MAX = 256;
    /** Topics listed for one connection. */
    public const CONNECTION_TOPICS_MAX = 16;
    /** Credit in jobs that one frame gives. */
    public const CREDIT_JOBS_MAX = 65_536;
    /** Credit in bytes that one frame gives. */
    public const CREDIT_BYTES_MAX = 268_435_456;
    /** Subscriptions of one connection. */
    public const SUBSCRIPTIONS_MAX = 1024;
    /** Longest wait of a RESERVE: an hour. */
    public const WAIT_MS_MAX = 3_600_000;
    /** Longest delay: ten years of 365 days. */
    public const DELAY_MS_MAX = 315_360_000_000;
    /** Shortest ttr. */
    public const TTR_MS_MIN = 100;
    /** Ttr of a job pushed with 0, unless its topic has a default. */
    public const TTR_MS_DEFAULT = 60_000;
    /** Longest ttr: seven days. */
    public const TTR_MS_MAX = 604_800_000;
    /** A job is not sent with less than this left of its lease. */
    public const TTR_LEFT_MS_MIN = 20;
    /** Priority of a job pushed without one, unless its topic has a default. */
    public const PRIORITY_DEFAULT = 1024;
    /** Priority of a PUSH that sets none. */
    public const PRIORITY_UNSAID = 4_294_967_295;
    /** Highest rate of a topic's policy. */
    public const RATE_PER_SECOND_MAX = 1_000_000;
    /** Settings in one TOPIC_SET. */
    public const POLICY_BYTES_MAX = 8192;
    /** The URL of a call-back. */
    public const CALL_BACK_URL_BYTES_MAX = 1024;
    /** The headers of a call-back. */
    public const CALL_BACK_HEADERS_BYTES_MAX = 1024;
    /** What a call-back sends in place of the job's body. */
    public const CALL_BACK_BODY_BYTES_MAX = 2048;
    /** The condition on the reply to a call-back. */
    public const CALL_BACK_CONDITION_BYTES_MAX = 512;
    /** The name of the secrets that sign call-backs. */
    public const CALL_BACK_SECRETS_BYTES_MAX = 64;
    /** The shortest time that a call-back may take. */
    public const CALL_BACK_TIMEOUT_MS_MIN = 100;
    /** The longest. */
    public const CALL_BACK_TIMEOUT_MS_MAX = 300_000;
    /** Calls of one destination at the same time. */
    public const CALL_BACK_CALLS_MAX = 1024;
    /** How long an attempt of a call-back can be looked up. */
    public const CALL_BACK_LOG_MS_MAX = 7_776_000_000;
    /** Topics of one queue. */
    public const TOPICS_MAX = 65_536;
    /** How long a topic without jobs stays listed. */
    public const TOPIC_RETENTION_MS = 600_000;
    /** Sessions of one queue, except those of the next row. */
    public const SESSIONS_MAX = 65_536;
    /** Lapsed sessions of one queue that pushed under numbers. */
    public const LAPSED_PRODUCERS_MAX = 262_144;
    /** How long the leases of a lost connection are kept. */
    public const SESSION_GRACE_MS_DEFAULT = 10_000;
    /** Shortest heartbeat that HELLO can get. */
    public const HEARTBEAT_MS_MIN = 100;
    /** Longest heartbeat that HELLO can get, unless the server's own is longer. */
    public const HEARTBEAT_MS_MAX = 60_000;
    /** How long a lapsed session and its pushes are remembered. */
    public const SESSION_RETENTION_MS = 600_000;
    /** Pushed jobs of one session whose outcome is remembered. */
    public const PRODUCER_WINDOW_MAX = 16_384;
    /** Pushed jobs of all sessions whose outcome is remembered. */
    public const OUTCOMES_MAX = 4_194_304;
    /** Jobs pushed under idempotency keys that are remembered. */
    public const IDEMPOTENT_PUSHES_MAX = 65_536;
    /** Jobs of a list under one idempotency key. */
    public const IDEMPOTENT_LIST_JOBS_MAX = 8192;
    /** How long they are remembered: a day. */
    public const IDEMPOTENT_PUSH_MS = 86_400_000;
    /** Finished leases that are remembered; the topic with the most forgets its oldest. */
    public const FINISHED_WINDOW_MAX = 65_536;
    /** How long they are remembered. */
    public const FINISHED_WINDOW_MS = 60_000;
    /** Longest time that a job is remembered after FINISH: 30 days. */
    public const DEDUPE_RETENTION_MS_MAX = 2_592_000_000;
    /** Leases of an ending session that are given back in one step. */
    public const LAPSE_LEASES_MAX = 4096;
    /** Due jobs that one step of the queue moves. */
    public const DUE_PER_ENTRY_MAX = 4096;
    /** Bytes of their bodies; the last job may exceed it. */
    public const DUE_BYTES_PER_ENTRY_MAX = 8_388_608;
    /** Size of a log entry while the disk keeps up. */
    public const ENTRY_BYTES_TARGET = 65_536;
    /** Largest log entry. */
    public const ENTRY_BYTES_MAX = 9_437_184;
    /** Bytes in one BACKUP_DATA. */
    public const BACKUP_READ_BYTES_MAX = 1_048_576;
    /** How long an unread backup is held. */
    public const BACKUP_IDLE_MS_MAX = 600_000;
    /** Client_name in HELLO. */
    public const CLIENT_NAME_BYTES_MAX = 64;
    /** Held_by: what is known of who a client is. */
    public const CLIENT_BYTES_MAX = 255;
    /** Token in HELLO. */
    public const TOKEN_BYTES_MAX = 256;
    /** Address of a node in CLUSTER_ADD. */
    public const PEER_ADDRESS_BYTES_MAX = 255;
    /** Waits in a backoff list. */
    public const BACKOFF_LIST_MAX = 32;
    /** Longest name of a group. */
    public const GROUP_BYTES_MAX = 255;
    /** Greatest weight of a group. */
    public const GROUP_WEIGHT_MAX = 1000;
    /** Groups of one topic that have settings. */
    public const GROUPS_SET_MAX = 65_536;
    /** Groups on one page of a list. */
    public const GROUPS_LISTED_MAX = 1000;
    /** Longest name of a schedule. */
    public const SCHEDULE_NAME_BYTES_MAX = 255;
    /** Longest text that says when a schedule fires. */
    public const SCHEDULE_WHEN_BYTES_MAX = 2048;
    /** Longest name of a time zone. */
    public const SCHEDULE_ZONE_BYTES_MAX = 64;
    /** Longest note on a schedule. */
    public const SCHEDULE_NOTE_BYTES_MAX = 256;
    /** Most instants of SCHEDULE_PREVIEW. */
    public const INSTANTS_SHOWN_MAX = 1000;
    /** Instants of a schedule that are fired late. */
    public const SCHEDULE_MISSED_MAX = 1000;
    /** Longest jitter of a schedule. */
    public const SCHEDULE_JITTER_MS_MAX = 86_400_000;
    /** Schedules on one page of a list. */
    public const SCHEDULES_LISTED_MAX = 256;
}
