/** The limits of the protocol that a client needs before it knows a server's own. */

export const VERSION = 1;
/** `options` of HELLO. */
export const LEASES_OUTLIVE = 1;
export const NO_SESSION = 2;
export const FRAME_HEAD_BYTES = 12;
/** Bytes that the length field counts although they are no payload. */
export const COUNTED_HEAD_BYTES = 8;
export const RESPONSE_BYTES_MAX = 33_554_432;
export const TOPIC_BYTES_MAX = 128;
export const KEY_BYTES_MAX = 256;
export const HEADERS_BYTES_MAX = 1_024;
export const ATTRIBUTES_BYTES_MAX = 4_096;
export const REASON_BYTES_MAX = 1_024;
export const CLIENT_NAME_BYTES_MAX = 64;
export const TOKEN_BYTES_MAX = 256;
export const RESERVE_TOPICS_MAX = 64;
export const CREDIT_JOBS_MAX = 65_536;
export const CREDIT_BYTES_MAX = 268_435_456;
export const KICK_JOBS_MAX = 4_096;
export const LIST_JOBS_MAX = 1_024;
export const BULK_JOBS_MAX = 1_024;
export const CONNECTIONS_LISTED_MAX = 256;
export const BACKUP_READ_BYTES_MAX = 1_048_576;
export const WAIT_MS_MAX = 3_600_000;
export const DELAY_MS_MAX = 315_360_000_000;
export const TTR_MS_MIN = 100;
export const TTR_MS_MAX = 604_800_000;
/** The priority of a PUSH that sets none. */
export const PRIORITY_UNSAID = 0xffff_ffff;
/** How many sequence numbers may be unanswered. */
export const PRODUCER_WINDOW_MAX = 16_384;
export const BACKOFF_LIST_MAX = 32;

/** `delay_ms` of RELEASE: the job waits for its backoff. */
export const RELEASE_BACKOFF = 0xffff_ffff_ffff_ffffn;
/** `delay_ms` of RELEASE: the work was not started, no attempt is counted. */
export const RELEASE_NOT_STARTED = 0xffff_ffff_ffff_fffen;
