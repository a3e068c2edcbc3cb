// Generated from the schema by `make generate`. Do not edit.

/** The limits of the queue, and other numbers of the protocol. */

/** Longest topic name. */
export const TOPIC_BYTES_MAX = 200;
/** Longest key. */
export const KEY_BYTES_MAX = 256;
/** All header names and values of a job. */
export const HEADERS_BYTES_MAX = 1_024;
/** All attributes of a job. */
export const ATTRIBUTES_BYTES_MAX = 4_096;
/** Largest body, unless configured. WELCOME has the server's own, as `bodyBytesMax`. */
export const BODY_BYTES_MAX_DEFAULT = 1_048_576;
/** Highest value of that setting. */
export const BODY_BYTES_CEILING = 8_388_608;
/** `frame_bytes_max` is `body_bytes_max` plus this. */
export const FRAME_OVERHEAD_BYTES_MAX = 65_536;
/** Largest length of a frame before HELLO is accepted. */
export const FRAME_BYTES_MAX_BEFORE_HELLO = 4_096;
/** Largest length of a frame from the server. */
export const RESPONSE_BYTES_MAX = 33_554_432;
/** Jobs in one KICK_MANY. */
export const KICK_JOBS_MAX = 4_096;
/** Jobs in one PUSH. WELCOME has the server's own, as `pushJobsMax`. */
export const PUSH_JOBS_MAX = 4_096;
/** Jobs that one BULK changes. */
export const BULK_JOBS_MAX = 1_024;
/** Jobs on one page of a LIST. */
export const LIST_JOBS_MAX = 1_024;
/** Bytes of jobs on one page; the last job may exceed it. */
export const LIST_BYTES_MAX = 8_388_608;
/** Jobs that the server scans for a page by due time. */
export const LIST_LOOKS_MAX = 4_194_304;
/** Jobs of a topic, or of the queue, for a LIST by key. */
export const LIST_BY_KEY_JOBS_MAX = 100_000;
/** Longest cursor. */
export const CURSOR_BYTES_MAX = 512;
/** Longest filter. */
export const FILTER_BYTES_MAX = 1_024;
/** Longest text of a filter's condition on reasons. */
export const FILTER_REASON_BYTES_MAX = 256;
/** Most bars by which a COUNT counts jobs. */
export const DUE_BARS_MAX = 1_024;
/** Longest reason of a RELEASE or BURY. */
export const REASON_BYTES_MAX = 1_024;
/** Leases in one FINISH, RELEASE, TOUCH, BURY. WELCOME has the server's own, as `leasesMax`. */
export const LEASES_MAX = 4_096;
/** Unprocessed bytes of requests of all connections; less with little memory. */
export const INPUT_BYTES_MAX = 16_777_216;
/** The same for one connection; bytes that were already read may exceed it. */
export const INPUT_BYTES_PER_CONNECTION_MAX = 1_048_576;
/** Topics in one RESERVE or SUBSCRIBE. */
export const RESERVE_TOPICS_MAX = 64;
/** Jobs in one RESERVED. WELCOME has the server's own, as `reserveJobsMax`. */
export const RESERVE_JOBS_MAX = 1_024;
/** One RESERVED or DELIVER takes no further job once its bodies have reached this. */
export const RESERVE_BYTES_MAX = 8_388_608;
/** Connections in one CONNECTION_LIST. */
export const CONNECTIONS_LISTED_MAX = 256;
/** Topics listed for one connection. */
export const CONNECTION_TOPICS_MAX = 16;
/** Credit in jobs that one frame gives. */
export const CREDIT_JOBS_MAX = 65_536;
/** Credit in bytes that one frame gives. */
export const CREDIT_BYTES_MAX = 268_435_456;
/** Subscriptions of one connection. */
export const SUBSCRIPTIONS_MAX = 1_024;
/** Longest wait of a RESERVE: an hour. */
export const WAIT_MS_MAX = 3_600_000;
/** Longest delay: ten years of 365 days. */
export const DELAY_MS_MAX = 315_360_000_000;
/** Shortest ttr. */
export const TTR_MS_MIN = 100;
/** Ttr of a job pushed with 0, unless its topic has a default. */
export const TTR_MS_DEFAULT = 60_000;
/** Longest ttr: seven days. */
export const TTR_MS_MAX = 604_800_000;
/** A job is not sent with less than this left of its lease. */
export const TTR_LEFT_MS_MIN = 20;
/** Priority of a job pushed without one, unless its topic has a default. */
export const PRIORITY_DEFAULT = 1_024;
/** Priority of a PUSH that sets none. */
export const PRIORITY_UNSAID = 4_294_967_295;
/** Highest rate of a topic's policy. */
export const RATE_PER_SECOND_MAX = 1_000_000;
/** Settings in one TOPIC_SET. */
export const POLICY_BYTES_MAX = 8_192;
/** The URL of a call-back. */
export const CALL_BACK_URL_BYTES_MAX = 1_024;
/** The headers of a call-back. */
export const CALL_BACK_HEADERS_BYTES_MAX = 1_024;
/** What a call-back sends in place of the job's body. */
export const CALL_BACK_BODY_BYTES_MAX = 2_048;
/** The condition on the reply to a call-back. */
export const CALL_BACK_CONDITION_BYTES_MAX = 512;
/** The name of the secrets that sign call-backs. */
export const CALL_BACK_SECRETS_BYTES_MAX = 64;
/** The shortest time that a call-back may take. */
export const CALL_BACK_TIMEOUT_MS_MIN = 100;
/** The longest. */
export const CALL_BACK_TIMEOUT_MS_MAX = 300_000;
/** Calls of one destination at the same time. */
export const CALL_BACK_CALLS_MAX = 1_024;
/** How long an attempt of a call-back can be looked up. */
export const CALL_BACK_LOG_MS_MAX = 7_776_000_000;
/** Topics of one queue. */
export const TOPICS_MAX = 65_536;
/** How long a topic without jobs stays listed. */
export const TOPIC_RETENTION_MS = 600_000;
/** Sessions of one queue, except those of the next row. */
export const SESSIONS_MAX = 65_536;
/** Lapsed sessions of one queue that pushed under numbers. */
export const LAPSED_PRODUCERS_MAX = 262_144;
/** How long the leases of a lost connection are kept. WELCOME has the server's own, as `sessionGraceMs`. */
export const SESSION_GRACE_MS_DEFAULT = 10_000;
/** Shortest heartbeat that HELLO can get. */
export const HEARTBEAT_MS_MIN = 100;
/** Longest heartbeat that HELLO can get, unless the server's own is longer. */
export const HEARTBEAT_MS_MAX = 60_000;
/** How long a lapsed session and its pushes are remembered. */
export const SESSION_RETENTION_MS = 600_000;
/** Pushed jobs of one session whose outcome is remembered. */
export const PRODUCER_WINDOW_MAX = 16_384;
/** Pushed jobs of all sessions whose outcome is remembered. */
export const OUTCOMES_MAX = 4_194_304;
/** Jobs pushed under idempotency keys that are remembered. */
export const IDEMPOTENT_PUSHES_MAX = 65_536;
/** Jobs of a list under one idempotency key. */
export const IDEMPOTENT_LIST_JOBS_MAX = 8_192;
/** How long they are remembered: a day. */
export const IDEMPOTENT_PUSH_MS = 86_400_000;
/** Finished leases that are remembered; the topic with the most forgets its oldest. */
export const FINISHED_WINDOW_MAX = 65_536;
/** How long they are remembered. */
export const FINISHED_WINDOW_MS = 60_000;
/** Longest time that a job is remembered after FINISH: 30 days. */
export const DEDUPE_RETENTION_MS_MAX = 2_592_000_000;
/** Leases of an ending session that are given back in one step. */
export const LAPSE_LEASES_MAX = 4_096;
/** Due jobs that one step of the queue moves. */
export const DUE_PER_ENTRY_MAX = 4_096;
/** Bytes of their bodies; the last job may exceed it. */
export const DUE_BYTES_PER_ENTRY_MAX = 8_388_608;
/** Size of a log entry while the disk keeps up. */
export const ENTRY_BYTES_TARGET = 65_536;
/** Largest log entry. */
export const ENTRY_BYTES_MAX = 9_437_184;
/** Bytes in one BACKUP_DATA. */
export const BACKUP_READ_BYTES_MAX = 1_048_576;
/** How long an unread backup is held. */
export const BACKUP_IDLE_MS_MAX = 600_000;
/** Client_name in HELLO. */
export const CLIENT_NAME_BYTES_MAX = 64;
/** Held_by: what is known of who a client is. */
export const CLIENT_BYTES_MAX = 255;
/** Token in HELLO. */
export const TOKEN_BYTES_MAX = 256;
/** Address of a node in CLUSTER_ADD. */
export const PEER_ADDRESS_BYTES_MAX = 255;
/** Waits in a backoff list. */
export const BACKOFF_LIST_MAX = 32;
/** Longest name of a group. */
export const GROUP_BYTES_MAX = 255;
/** Greatest weight of a group. */
export const GROUP_WEIGHT_MAX = 1_000;
/** Groups of one topic that have settings. */
export const GROUPS_SET_MAX = 65_536;
/** Groups on one page of a list. */
export const GROUPS_LISTED_MAX = 1_000;
/** Longest name of a schedule. */
export const SCHEDULE_NAME_BYTES_MAX = 255;
/** Longest text that says when a schedule fires. */
export const SCHEDULE_WHEN_BYTES_MAX = 2_048;
/** Longest name of a time zone. */
export const SCHEDULE_ZONE_BYTES_MAX = 64;
/** Longest note on a schedule. */
export const SCHEDULE_NOTE_BYTES_MAX = 256;
/** Most instants of SCHEDULE_PREVIEW. */
export const INSTANTS_SHOWN_MAX = 1_000;
/** Instants of a schedule that are fired late. */
export const SCHEDULE_MISSED_MAX = 1_000;
/** Longest jitter of a schedule. */
export const SCHEDULE_JITTER_MS_MAX = 86_400_000;
/** Schedules on one page of a list. */
export const SCHEDULES_LISTED_MAX = 256;
/** The version of the protocol that this schema describes. */
export const PROTOCOL_VERSION = 1;
/** The port of a server, unless it is configured. */
export const PORT_DEFAULT = 7_440;
/** A PUSH without protection against repeats. */
export const SEQUENCE_NONE = 0;
/** `delay_ms` of a RELEASE: the attempt failed, and the job waits for its backoff. */
export const RELEASE_BY_BACKOFF = 0xffffffffffffffffn;
/** `delay_ms` of a RELEASE: the work was not begun; no attempt is counted, and the job is ready at once. */
export const RELEASE_NOT_STARTED = 0xfffffffffffffffen;
/**
 * Added to `delay_ms` of a RELEASE: the work was not begun and is not to begin before this delay; no attempt is
 * counted.
 */
export const RELEASE_PARKED = 0x8000000000000000n;

/** What all members of a cluster may have in common: the feature level that brings it. */
export const FEATURE_LEVELS = {
  /** KICK_MANY. */
  KICK_MANY: 1,
} as const;
