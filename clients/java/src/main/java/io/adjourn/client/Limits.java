// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/**
 * The limits of the queue. A name says its unit, BYTES or MS; all others are counts. Some are settings of a server: then this is
 * their default.
 */
public final class Limits {
    /** Longest topic name. */
    public static final int TOPIC_BYTES_MAX = 200;
    /** Longest key. */
    public static final int KEY_BYTES_MAX = 256;
    /** All header names and values of a job. */
    public static final int HEADERS_BYTES_MAX = 1_024;
    /** All attributes of a job. */
    public static final int ATTRIBUTES_BYTES_MAX = 4_096;
    /** Largest body, unless configured: the server's default. */
    public static final int BODY_BYTES_MAX_DEFAULT = 1_048_576;
    /** Highest value of that setting. */
    public static final int BODY_BYTES_CEILING = 8_388_608;
    /** {@code frame_bytes_max} is {@code body_bytes_max} plus this. */
    public static final int FRAME_OVERHEAD_BYTES_MAX = 65_536;
    /** Largest length of a frame before HELLO is accepted. */
    public static final int FRAME_BYTES_MAX_BEFORE_HELLO = 4_096;
    /** Largest length of a frame from the server. */
    public static final int RESPONSE_BYTES_MAX = 33_554_432;
    /** Jobs in one KICK_MANY. */
    public static final int KICK_JOBS_MAX = 4_096;
    /** Jobs in one PUSH: the server's default. */
    public static final int PUSH_JOBS_MAX = 4_096;
    /** Jobs that one BULK changes. */
    public static final int BULK_JOBS_MAX = 1_024;
    /** Jobs on one page of a LIST. */
    public static final int LIST_JOBS_MAX = 1_024;
    /** Bytes of jobs on one page; the last job may exceed it. */
    public static final int LIST_BYTES_MAX = 8_388_608;
    /** Jobs that the server scans for a page by due time. */
    public static final int LIST_LOOKS_MAX = 4_194_304;
    /** Jobs of a topic, or of the queue, for a LIST by key. */
    public static final int LIST_BY_KEY_JOBS_MAX = 100_000;
    /** Longest cursor. */
    public static final int CURSOR_BYTES_MAX = 512;
    /** Longest filter. */
    public static final int FILTER_BYTES_MAX = 1_024;
    /** Longest text of a filter's condition on reasons. */
    public static final int FILTER_REASON_BYTES_MAX = 256;
    /** Most bars by which a COUNT counts jobs. */
    public static final int DUE_BARS_MAX = 1_024;
    /** Longest reason of a RELEASE or BURY. */
    public static final int REASON_BYTES_MAX = 1_024;
    /** Leases in one FINISH, RELEASE, TOUCH, BURY: the server's default. */
    public static final int LEASES_MAX = 4_096;
    /** Unprocessed bytes of requests of all connections; less with little memory. */
    public static final int INPUT_BYTES_MAX = 16_777_216;
    /** The same for one connection; bytes that were already read may exceed it. */
    public static final int INPUT_BYTES_PER_CONNECTION_MAX = 1_048_576;
    /** Topics in one RESERVE or SUBSCRIBE. */
    public static final int RESERVE_TOPICS_MAX = 64;
    /** Jobs in one RESERVED: the server's default. */
    public static final int RESERVE_JOBS_MAX = 1_024;
    /** One RESERVED or DELIVER takes no further job once its bodies have reached this. */
    public static final int RESERVE_BYTES_MAX = 8_388_608;
    /** Connections in one CONNECTION_LIST. */
    public static final int CONNECTIONS_LISTED_MAX = 256;
    /** Topics listed for one connection. */
    public static final int CONNECTION_TOPICS_MAX = 16;
    /** Credit in jobs that one frame gives. */
    public static final int CREDIT_JOBS_MAX = 65_536;
    /** Credit in bytes that one frame gives. */
    public static final int CREDIT_BYTES_MAX = 268_435_456;
    /** Subscriptions of one connection. */
    public static final int SUBSCRIPTIONS_MAX = 1_024;
    /** Longest wait of a RESERVE: an hour. */
    public static final int WAIT_MS_MAX = 3_600_000;
    /** Longest delay: ten years of 365 days. */
    public static final long DELAY_MS_MAX = 315_360_000_000L;
    /** Shortest ttr. */
    public static final int TTR_MS_MIN = 100;
    /** Ttr of a job pushed with 0, unless its topic has a default. */
    public static final int TTR_MS_DEFAULT = 60_000;
    /** Longest ttr: seven days. */
    public static final int TTR_MS_MAX = 604_800_000;
    /** A job is not sent with less than this left of its lease. */
    public static final int TTR_LEFT_MS_MIN = 20;
    /** Priority of a job pushed without one, unless its topic has a default. */
    public static final int PRIORITY_DEFAULT = 1_024;
    /** Priority of a PUSH that sets none. */
    public static final long PRIORITY_UNSAID = 4_294_967_295L;
    /** Highest rate of a topic's policy. */
    public static final int RATE_PER_SECOND_MAX = 1_000_000;
    /** Settings in one TOPIC_SET. */
    public static final int POLICY_BYTES_MAX = 8_192;
    /** The URL of a call-back. */
    public static final int CALL_BACK_URL_BYTES_MAX = 1_024;
    /** The headers of a call-back. */
    public static final int CALL_BACK_HEADERS_BYTES_MAX = 1_024;
    /** What a call-back sends in place of the job's body. */
    public static final int CALL_BACK_BODY_BYTES_MAX = 2_048;
    /** The condition on the reply to a call-back. */
    public static final int CALL_BACK_CONDITION_BYTES_MAX = 512;
    /** The name of the secrets that sign call-backs. */
    public static final int CALL_BACK_SECRETS_BYTES_MAX = 64;
    /** The shortest time that a call-back may take. */
    public static final int CALL_BACK_TIMEOUT_MS_MIN = 100;
    /** The longest. */
    public static final int CALL_BACK_TIMEOUT_MS_MAX = 300_000;
    /** Calls of one destination at the same time. */
    public static final int CALL_BACK_CALLS_MAX = 1_024;
    /** How long an attempt of a call-back can be looked up. */
    public static final long CALL_BACK_LOG_MS_MAX = 7_776_000_000L;
    /** Topics of one queue. */
    public static final int TOPICS_MAX = 65_536;
    /** How long a topic without jobs stays listed. */
    public static final int TOPIC_RETENTION_MS = 600_000;
    /** Sessions of one queue, except those of the next row. */
    public static final int SESSIONS_MAX = 65_536;
    /** Lapsed sessions of one queue that pushed under numbers. */
    public static final int LAPSED_PRODUCERS_MAX = 262_144;
    /** How long the leases of a lost connection are kept: the server's default. */
    public static final int SESSION_GRACE_MS_DEFAULT = 10_000;
    /** Shortest heartbeat that HELLO can get. */
    public static final int HEARTBEAT_MS_MIN = 100;
    /** Longest heartbeat that HELLO can get, unless the server's own is longer. */
    public static final int HEARTBEAT_MS_MAX = 60_000;
    /** How long a lapsed session and its pushes are remembered. */
    public static final int SESSION_RETENTION_MS = 600_000;
    /** Pushed jobs of one session whose outcome is remembered. */
    public static final int PRODUCER_WINDOW_MAX = 16_384;
    /** Pushed jobs of all sessions whose outcome is remembered. */
    public static final int OUTCOMES_MAX = 4_194_304;
    /** Jobs pushed under idempotency keys that are remembered. */
    public static final int IDEMPOTENT_PUSHES_MAX = 65_536;
    /** Jobs of a list under one idempotency key. */
    public static final int IDEMPOTENT_LIST_JOBS_MAX = 8_192;
    /** How long they are remembered: a day. */
    public static final int IDEMPOTENT_PUSH_MS = 86_400_000;
    /** Finished leases that are remembered; the topic with the most forgets its oldest. */
    public static final int FINISHED_WINDOW_MAX = 65_536;
    /** How long they are remembered. */
    public static final int FINISHED_WINDOW_MS = 60_000;
    /** Longest time that a job is remembered after FINISH: 30 days. */
    public static final long DEDUPE_RETENTION_MS_MAX = 2_592_000_000L;
    /** Leases of an ending session that are given back in one step. */
    public static final int LAPSE_LEASES_MAX = 4_096;
    /** Due jobs that one step of the queue moves. */
    public static final int DUE_PER_ENTRY_MAX = 4_096;
    /** Bytes of their bodies; the last job may exceed it. */
    public static final int DUE_BYTES_PER_ENTRY_MAX = 8_388_608;
    /** Size of a log entry while the disk keeps up. */
    public static final int ENTRY_BYTES_TARGET = 65_536;
    /** Largest log entry. */
    public static final int ENTRY_BYTES_MAX = 9_437_184;
    /** Bytes in one BACKUP_DATA. */
    public static final int BACKUP_READ_BYTES_MAX = 1_048_576;
    /** How long an unread backup is held. */
    public static final int BACKUP_IDLE_MS_MAX = 600_000;
    /** Client_name in HELLO. */
    public static final int CLIENT_NAME_BYTES_MAX = 64;
    /** Held_by: what is known of who a client is. */
    public static final int CLIENT_BYTES_MAX = 255;
    /** Token in HELLO. */
    public static final int TOKEN_BYTES_MAX = 256;
    /** Address of a node in CLUSTER_ADD. */
    public static final int PEER_ADDRESS_BYTES_MAX = 255;
    /** Waits in a backoff list. */
    public static final int BACKOFF_LIST_MAX = 32;
    /** Longest name of a group. */
    public static final int GROUP_BYTES_MAX = 255;
    /** Greatest weight of a group. */
    public static final int GROUP_WEIGHT_MAX = 1_000;
    /** Groups of one topic that have settings. */
    public static final int GROUPS_SET_MAX = 65_536;
    /** Groups on one page of a list. */
    public static final int GROUPS_LISTED_MAX = 1_000;
    /** Longest name of a schedule. */
    public static final int SCHEDULE_NAME_BYTES_MAX = 255;
    /** Longest text that says when a schedule fires. */
    public static final int SCHEDULE_WHEN_BYTES_MAX = 2_048;
    /** Longest name of a time zone. */
    public static final int SCHEDULE_ZONE_BYTES_MAX = 64;
    /** Longest note on a schedule. */
    public static final int SCHEDULE_NOTE_BYTES_MAX = 256;
    /** Most instants of SCHEDULE_PREVIEW. */
    public static final int INSTANTS_SHOWN_MAX = 1_000;
    /** Instants of a schedule that are fired late. */
    public static final int SCHEDULE_MISSED_MAX = 1_000;
    /** Longest jitter of a schedule. */
    public static final int SCHEDULE_JITTER_MS_MAX = 86_400_000;
    /** Schedules on one page of a list. */
    public static final int SCHEDULES_LISTED_MAX = 256;

    private Limits() {
    }
}
