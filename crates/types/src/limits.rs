//! Every limit of the queue, as a named constant.
//!
//! The protocol advertises the limits that a client needs in `Welcome`; `protocol.md` lists them all.

/// Longest topic name, in bytes.
pub const TOPIC_BYTES_MAX: usize = 200;
/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 256;
/// Longest name of a group, in bytes.
pub const GROUP_BYTES_MAX: usize = 255;
/// Largest total of a job's headers (names and values), in bytes.
pub const HEADERS_BYTES_MAX: usize = 1024;
/// Largest encoded attributes of one job, in bytes.
pub const ATTRIBUTES_BYTES_MAX: usize = 4096;
/// Default for the largest body, in bytes; a server may configure less or more.
pub const BODY_BYTES_MAX_DEFAULT: usize = 1 << 20;
/// No server accepts a larger body than this, in bytes.
pub const BODY_BYTES_CEILING: usize = 8 << 20;
/// Room in a frame beside one body of the largest size, in bytes.
pub const FRAME_OVERHEAD_BYTES_MAX: usize = 64 << 10;
/// Largest frame before HELLO has succeeded, in bytes.
pub const FRAME_BYTES_MAX_BEFORE_HELLO: usize = 4096;
/// Largest frame that a server sends, in bytes: a batch of jobs, or the counts of every topic.
pub const RESPONSE_BYTES_MAX: usize = 32 << 20;
/// Most jobs in one PUSH.
pub const PUSH_JOBS_MAX: usize = 4096;
/// Most jobs that one `KICK_MANY` moves.
pub const KICK_JOBS_MAX: u32 = 4096;
/// Most jobs on one page of a LIST.
pub const LIST_JOBS_MAX: u32 = 1024;
/// Most jobs that one BULK looks for and changes.
pub const BULK_JOBS_MAX: u32 = 1024;
/// Longest cursor of a LIST, in bytes.
pub const CURSOR_BYTES_MAX: usize = 512;
/// Longest filter, in bytes.
pub const FILTER_BYTES_MAX: usize = 1024;
/// Longest text of a filter on reasons, in bytes.
pub const FILTER_REASON_BYTES_MAX: usize = 256;
/// Most bars by which a COUNT counts jobs.
pub const DUE_BARS_MAX: u32 = 1024;
/// A page of a LIST ends with the job that brings it to this many bytes of jobs.
pub const LIST_BYTES_MAX: usize = 8 << 20;
/// A page of a LIST by due time ends once this many jobs were examined for it.
pub const LIST_LOOKS_MAX: usize = 4 << 20;
/// A LIST by key reads the key of every job that may match, so it is refused for a topic, or a queue, with more jobs.
pub const LIST_BY_KEY_JOBS_MAX: u64 = 100_000;
/// Longest reason of a RELEASE or BURY, in bytes.
pub const REASON_BYTES_MAX: usize = 1024;
/// Most leases in one FINISH, RELEASE, TOUCH or BURY.
pub const LEASES_MAX: usize = 4096;
/// Memory for received requests that are not processed yet, of all connections together and without small buffers, in
/// bytes.
pub const INPUT_BYTES_MAX: usize = 16 << 20;
/// The server pauses reading from a connection while its unprocessed requests have this size, in bytes.
pub const INPUT_BYTES_PER_CONNECTION_MAX: usize = 1 << 20;
/// Most topics that one RESERVE or SUBSCRIBE names.
pub const RESERVE_TOPICS_MAX: usize = 64;
/// Most jobs that one RESERVE may ask for.
pub const RESERVE_JOBS_MAX: u32 = 1024;
/// One RESERVED or DELIVER ends with the job that brings its bodies to this size, in bytes.
pub const RESERVE_BYTES_MAX: u64 = 8 << 20;
/// Largest credit of a subscription, in jobs.
pub const CREDIT_JOBS_MAX: u32 = 65_536;
/// Largest credit of a subscription, in bytes of bodies.
pub const CREDIT_BYTES_MAX: u64 = 256 << 20;
/// Most subscriptions of one connection.
pub const SUBSCRIPTIONS_MAX: usize = 1024;
/// Most connections in one `CONNECTION_LIST`.
pub const CONNECTIONS_LISTED_MAX: u32 = 256;
/// Most topics of one connection in a `CONNECTION_LIST`.
pub const CONNECTION_TOPICS_MAX: usize = 16;
/// Longest wait of a RESERVE, in milliseconds (one hour).
pub const WAIT_MS_MAX: u64 = 3_600_000;
/// Furthest a job may be delayed, in milliseconds (ten years of 365 days).
pub const DELAY_MS_MAX: u64 = 10 * 365 * 86_400_000;
/// Shortest time to run, in milliseconds.
pub const TTR_MS_MIN: u32 = 100;
/// Default time to run, in milliseconds.
pub const TTR_MS_DEFAULT: u32 = 60_000;
/// Longest time to run, in milliseconds (seven days).
pub const TTR_MS_MAX: u32 = 7 * 86_400_000;
/// A delivery is not sent if less than this is left of its lease when it is encoded, in milliseconds.
pub const TTR_LEFT_MS_MIN: u32 = 20;
/// Default priority. A lower number is reserved first.
pub const PRIORITY_DEFAULT: u32 = 1024;
/// The priority of a job that sets none: it gets its topic's default, or [`PRIORITY_DEFAULT`].
pub const PRIORITY_UNSAID: u32 = u32::MAX;
/// The highest rate that a topic's policy can set, in jobs per second.
pub const RATE_PER_SECOND_MAX: u32 = 1_000_000;
/// Longest encoded change of a topic's policy, in bytes.
pub const POLICY_BYTES_MAX: usize = 8192;
/// Longest URL of a call-back, in bytes.
pub const CALL_BACK_URL_BYTES_MAX: usize = 1024;
/// Longest headers of a call-back, in bytes.
pub const CALL_BACK_HEADERS_BYTES_MAX: usize = 1024;
/// Longest text that a call-back sends in place of the job's body, in bytes.
pub const CALL_BACK_BODY_BYTES_MAX: usize = 2048;
/// Longest condition on the reply to a call-back, in bytes.
pub const CALL_BACK_CONDITION_BYTES_MAX: usize = 512;
/// Longest name of the secrets that sign call-backs, in bytes.
pub const CALL_BACK_SECRETS_BYTES_MAX: usize = 64;
/// Shortest time that a call-back may take, in milliseconds.
pub const CALL_BACK_TIMEOUT_MS_MIN: u32 = 100;
/// Longest time that a call-back may take, in milliseconds.
pub const CALL_BACK_TIMEOUT_MS_MAX: u32 = 300_000;
/// Most concurrent calls to one destination.
pub const CALL_BACK_CALLS_MAX: u32 = 1024;
/// Longest time for which attempts of a call-back can be kept for queries, in milliseconds (90 days).
pub const CALL_BACK_LOG_MS_MAX: u64 = 90 * 86_400_000;
/// Most topics in one queue.
pub const TOPICS_MAX: usize = 65_536;
/// How long the queue keeps a topic that has no job and no policy and is not paused, in milliseconds. A new topic may evict
/// it earlier.
pub const TOPIC_RETENTION_MS: u64 = 600_000;
/// Most sessions in one queue, not counting lapsed ones that pushed under sequence numbers.
pub const SESSIONS_MAX: usize = 65_536;
/// No session is opened while the queue remembers this many lapsed sessions that pushed under sequence numbers.
pub const LAPSED_PRODUCERS_MAX: usize = 262_144;
/// Default time that a session keeps its leases after its connection was lost, in milliseconds.
pub const SESSION_GRACE_MS_DEFAULT: u64 = 10_000;
/// The shortest heartbeat that a client can ask for, in milliseconds.
pub const HEARTBEAT_MS_MIN: u32 = 100;
/// The longest heartbeat that a client can ask for, unless the server's own is longer, in milliseconds.
pub const HEARTBEAT_MS_MAX: u32 = 60_000;
/// How long the queue remembers a lapsed session and the outcomes of its pushes, in milliseconds.
pub const SESSION_RETENTION_MS: u64 = 600_000;
/// Most outcomes of pushed jobs that the queue remembers per producer.
pub const PRODUCER_WINDOW_MAX: usize = 16_384;
/// Most outcomes of pushed jobs that the queue remembers for all producers. Beyond it, the producers with the most outcomes
/// forget their older half.
pub const OUTCOMES_MAX: usize = 4_194_304;
/// Finished leases that the queue remembers, so that a repeated finish answers as the first did.
pub const FINISHED_WINDOW_MAX: usize = 65_536;
/// How long the queue remembers a finished lease, in milliseconds.
pub const FINISHED_WINDOW_MS: u64 = 60_000;
/// Most outcomes that the queue remembers of jobs pushed under an idempotency key.
pub const IDEMPOTENT_PUSHES_MAX: usize = 65_536;
/// Most jobs of a list under one idempotency key. With this limit, eight tokens can push such lists and all of them are
/// remembered.
pub const IDEMPOTENT_LIST_JOBS_MAX: usize = 8192;
/// How long the queue remembers the outcome of a push under an idempotency key, in milliseconds.
pub const IDEMPOTENT_PUSH_MS: u64 = 86_400_000;
/// Longest time for which a job can ask to be remembered after it was finished, in milliseconds (30 days).
pub const DEDUPE_RETENTION_MS_MAX: u64 = 30 * 86_400_000;
/// Most leases of an ending session that one command gives back.
pub const LAPSE_LEASES_MAX: usize = 4096;
/// Most due jobs and expired leases that one entry moves.
pub const DUE_PER_ENTRY_MAX: usize = 4096;
/// An entry moves no further job once the bodies of the moved jobs reach this size, in bytes: spilled bodies are read from
/// disk.
pub const DUE_BYTES_PER_ENTRY_MAX: u64 = 8 << 20;
/// An entry is closed once it is larger than this, in bytes, while the disk keeps up.
pub const ENTRY_BYTES_TARGET: usize = 64 << 10;
/// Largest entry, in bytes: one body of the largest size and its envelope.
pub const ENTRY_BYTES_MAX: usize = BODY_BYTES_CEILING + (1 << 20);
/// Most bytes in one `BACKUP_DATA`.
pub const BACKUP_READ_BYTES_MAX: u32 = 1 << 20;
/// A backup is closed if it is not read for this long, in milliseconds.
pub const BACKUP_IDLE_MS_MAX: u64 = 600_000;
/// Longest client name in HELLO, in bytes.
pub const CLIENT_NAME_BYTES_MAX: usize = 64;
/// Longest text in the state that says who a client is, in bytes.
pub const CLIENT_BYTES_MAX: usize = 255;
/// Longest authentication token in HELLO, in bytes.
pub const TOKEN_BYTES_MAX: usize = 256;
/// Most intervals in a backoff list.
pub const BACKOFF_LIST_MAX: usize = 32;
/// Longest address of a node, in bytes.
pub const PEER_ADDRESS_BYTES_MAX: usize = 255;
/// Largest frame between nodes, in bytes: one entry of the largest size and its envelope.
pub const PEER_FRAME_BYTES_MAX: usize = ENTRY_BYTES_MAX + (1 << 20);
/// Largest frame between nodes before their handshake is complete, in bytes.
pub const PEER_FRAME_BYTES_MAX_BEFORE_WELCOME: usize = 4096;

/// Greatest weight of a group.
pub const GROUP_WEIGHT_MAX: u32 = 1000;
/// Groups of one topic that have settings of their own.
pub const GROUPS_SET_MAX: usize = 65_536;
/// Most groups on one page of a list.
pub const GROUPS_LISTED_MAX: u32 = 1000;

/// Longest name of a schedule, in bytes.
pub const SCHEDULE_NAME_BYTES_MAX: usize = 255;
/// Longest text that says when a schedule fires, in bytes.
pub const SCHEDULE_WHEN_BYTES_MAX: usize = 2048;
/// Longest name of a time zone, in bytes.
pub const SCHEDULE_ZONE_BYTES_MAX: usize = 64;
/// Longest note on a schedule, in bytes.
pub const SCHEDULE_NOTE_BYTES_MAX: usize = 256;
/// Most instants of a schedule that are fired late.
pub const SCHEDULE_MISSED_MAX: u32 = 1000;
/// Most instants of a preview of a schedule.
pub const INSTANTS_SHOWN_MAX: u32 = 1000;
/// Longest jitter of a schedule, in milliseconds: a day.
pub const SCHEDULE_JITTER_MS_MAX: u32 = 86_400_000;
/// Most schedules on one page of a list.
pub const SCHEDULES_LISTED_MAX: u32 = 256;
