// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

import java.util.List;

/** What the schema has: a test fails for each that the public API cannot reach. */
final class SchemaTables {
    /** A name, and its number. */
    record Named(String name, long number) {
    }

    static final List<Named> REQUESTS = List.of(new Named("HELLO", 1L), new Named("PING", 2L), new Named("GOODBYE", 3L),
            new Named("PUSH", 16L), new Named("RESERVE", 32L), new Named("SUBSCRIBE", 33L), new Named("CREDIT", 34L),
            new Named("UNSUBSCRIBE", 35L), new Named("CANCEL", 36L), new Named("LEASES", 37L), new Named("RESERVE_JOB", 38L),
            new Named("FINISH", 48L), new Named("RELEASE", 49L), new Named("TOUCH", 50L), new Named("BURY", 51L),
            new Named("GET", 64L), new Named("DELETE", 65L), new Named("RESCHEDULE", 66L), new Named("RUN_NOW", 67L),
            new Named("KICK", 68L), new Named("PEEK", 69L), new Named("KICK_MANY", 70L), new Named("LIST", 71L),
            new Named("COUNT", 72L), new Named("BULK", 73L), new Named("EDIT", 74L), new Named("PAUSE", 80L),
            new Named("RESUME", 81L), new Named("TOPICS", 82L), new Named("STATS", 83L), new Named("CONNECTIONS", 84L),
            new Named("DISCONNECT", 85L), new Named("TOPIC_SET", 86L), new Named("TOPIC_DELETE", 87L),
            new Named("TOPIC_SHOW", 88L), new Named("ADVANCE", 89L), new Named("BACKUP_BEGIN", 96L),
            new Named("BACKUP_READ", 97L), new Named("BACKUP_END", 98L), new Named("SCHEDULE_PREVIEW", 111L),
            new Named("CLUSTER_STATUS", 112L), new Named("CLUSTER_ADD", 113L), new Named("CLUSTER_REMOVE", 114L),
            new Named("CLUSTER_TRANSFER", 115L), new Named("GROUP_SET", 116L), new Named("GROUP_LIST", 117L),
            new Named("WHY", 118L), new Named("TOPIC_WHY", 119L), new Named("SCHEDULE_SET", 120L),
            new Named("SCHEDULE_SHOW", 121L), new Named("SCHEDULE_LIST", 122L), new Named("SCHEDULE_DELETE", 123L),
            new Named("SCHEDULE_PAUSE", 124L), new Named("SCHEDULE_RESUME", 125L), new Named("SCHEDULE_RUN", 126L),
            new Named("SCHEDULE_FILL", 127L));

    static final List<Named> ATTRIBUTES = List.of(new Named("headers", 1L), new Named("expires", 32770L),
            new Named("attempts_max", 32771L), new Named("backoff", 32772L), new Named("group", 5L),
            new Named("dedupe_retention_ms", 6L), new Named("created_at_ms", 7L), new Named("schedule_reference", 8L),
            new Named("postpone_max_ms", 9L), new Named("buried", 32779L));

    static final List<Named> CONDITIONS = List.of(new Named("topic", 1L), new Named("states", 2L), new Named("due_from_ms", 3L),
            new Named("due_before_ms", 4L), new Named("key_prefix", 5L), new Named("attempts_min", 6L),
            new Named("attempts_max", 7L), new Named("buried", 8L), new Named("reason", 9L), new Named("group", 10L));

    static final List<Named> SETTINGS = List.of(new Named("ttr_ms", 1L), new Named("priority", 2L), new Named("attempts_max", 3L),
            new Named("backoff", 4L), new Named("expires_after_ms", 5L), new Named("jobs_max", 6L), new Named("bytes_max", 7L),
            new Named("body_max", 8L), new Named("leases_max", 9L), new Named("rate", 10L), new Named("late", 11L),
            new Named("dead_letters", 12L), new Named("remember_ms", 13L), new Named("call_back", 14L),
            new Named("call_back_method", 15L), new Named("call_back_headers", 16L), new Named("call_back_body", 17L),
            new Named("call_back_timeout_ms", 18L), new Named("call_back_concurrency", 19L), new Named("call_back_rate", 20L),
            new Named("call_back_secrets", 21L), new Named("call_back_refused", 22L), new Named("call_back_retry_if", 23L),
            new Named("call_back_success", 24L), new Named("call_back_of_job", 25L), new Named("call_back_log_ms", 26L),
            new Named("call_back_paused", 27L), new Named("call_back_delay_ms", 28L), new Named("fair", 29L),
            new Named("group_leases_max", 30L), new Named("group_per_second_max", 31L), new Named("group_burst", 32L),
            new Named("group_order", 33L), new Named("group_on_bury", 34L));

    static final List<Named> ERRORS = List.of(new Named("MALFORMED", 1L), new Named("UNSUPPORTED", 2L),
            new Named("TOO_LARGE", 3L), new Named("UNAUTHENTICATED", 4L), new Named("INVALID", 5L), new Named("FORBIDDEN", 6L),
            new Named("NOT_LEADER", 16L), new Named("NO_LEADER", 17L), new Named("BUSY", 18L), new Named("DISK_FULL", 19L),
            new Named("STOPPING", 20L), new Named("UNREADABLE", 21L), new Named("PAUSED", 32L), new Named("QUOTA", 33L),
            new Named("STALE_LEASE", 34L), new Named("KEY_EXISTS", 35L), new Named("NOT_FOUND", 36L), new Named("RESERVED", 37L),
            new Named("WRONG_STATE", 38L), new Named("SESSION_UNKNOWN", 39L), new Named("OUTCOME_UNKNOWN", 40L),
            new Named("EXPIRES_BEFORE_DUE", 41L), new Named("SEQUENCE_REUSED", 42L), new Named("CHANGED", 43L));

    static final List<Named> LIMITS = List.of(new Named("TOPIC_BYTES_MAX", 200L), new Named("KEY_BYTES_MAX", 256L),
            new Named("HEADERS_BYTES_MAX", 1024L), new Named("ATTRIBUTES_BYTES_MAX", 4096L),
            new Named("BODY_BYTES_MAX_DEFAULT", 1048576L), new Named("BODY_BYTES_CEILING", 8388608L),
            new Named("FRAME_OVERHEAD_BYTES_MAX", 65536L), new Named("FRAME_BYTES_MAX_BEFORE_HELLO", 4096L),
            new Named("RESPONSE_BYTES_MAX", 33554432L), new Named("KICK_JOBS_MAX", 4096L), new Named("PUSH_JOBS_MAX", 4096L),
            new Named("BULK_JOBS_MAX", 1024L), new Named("LIST_JOBS_MAX", 1024L), new Named("LIST_BYTES_MAX", 8388608L),
            new Named("LIST_LOOKS_MAX", 4194304L), new Named("LIST_BY_KEY_JOBS_MAX", 100000L),
            new Named("CURSOR_BYTES_MAX", 512L), new Named("FILTER_BYTES_MAX", 1024L), new Named("FILTER_REASON_BYTES_MAX", 256L),
            new Named("DUE_BARS_MAX", 1024L), new Named("REASON_BYTES_MAX", 1024L), new Named("LEASES_MAX", 4096L),
            new Named("INPUT_BYTES_MAX", 16777216L), new Named("INPUT_BYTES_PER_CONNECTION_MAX", 1048576L),
            new Named("RESERVE_TOPICS_MAX", 64L), new Named("RESERVE_JOBS_MAX", 1024L), new Named("RESERVE_BYTES_MAX", 8388608L),
            new Named("CONNECTIONS_LISTED_MAX", 256L), new Named("CONNECTION_TOPICS_MAX", 16L),
            new Named("CREDIT_JOBS_MAX", 65536L), new Named("CREDIT_BYTES_MAX", 268435456L),
            new Named("SUBSCRIPTIONS_MAX", 1024L), new Named("WAIT_MS_MAX", 3600000L), new Named("DELAY_MS_MAX", 315360000000L),
            new Named("TTR_MS_MIN", 100L), new Named("TTR_MS_DEFAULT", 60000L), new Named("TTR_MS_MAX", 604800000L),
            new Named("TTR_LEFT_MS_MIN", 20L), new Named("PRIORITY_DEFAULT", 1024L), new Named("PRIORITY_UNSAID", 4294967295L),
            new Named("RATE_PER_SECOND_MAX", 1000000L), new Named("POLICY_BYTES_MAX", 8192L),
            new Named("CALL_BACK_URL_BYTES_MAX", 1024L), new Named("CALL_BACK_HEADERS_BYTES_MAX", 1024L),
            new Named("CALL_BACK_BODY_BYTES_MAX", 2048L), new Named("CALL_BACK_CONDITION_BYTES_MAX", 512L),
            new Named("CALL_BACK_SECRETS_BYTES_MAX", 64L), new Named("CALL_BACK_TIMEOUT_MS_MIN", 100L),
            new Named("CALL_BACK_TIMEOUT_MS_MAX", 300000L), new Named("CALL_BACK_CALLS_MAX", 1024L),
            new Named("CALL_BACK_LOG_MS_MAX", 7776000000L), new Named("TOPICS_MAX", 65536L),
            new Named("TOPIC_RETENTION_MS", 600000L), new Named("SESSIONS_MAX", 65536L),
            new Named("LAPSED_PRODUCERS_MAX", 262144L), new Named("SESSION_GRACE_MS_DEFAULT", 10000L),
            new Named("HEARTBEAT_MS_MIN", 100L), new Named("HEARTBEAT_MS_MAX", 60000L),
            new Named("SESSION_RETENTION_MS", 600000L), new Named("PRODUCER_WINDOW_MAX", 16384L),
            new Named("OUTCOMES_MAX", 4194304L), new Named("IDEMPOTENT_PUSHES_MAX", 65536L),
            new Named("IDEMPOTENT_LIST_JOBS_MAX", 8192L), new Named("IDEMPOTENT_PUSH_MS", 86400000L),
            new Named("FINISHED_WINDOW_MAX", 65536L), new Named("FINISHED_WINDOW_MS", 60000L),
            new Named("DEDUPE_RETENTION_MS_MAX", 2592000000L), new Named("LAPSE_LEASES_MAX", 4096L),
            new Named("DUE_PER_ENTRY_MAX", 4096L), new Named("DUE_BYTES_PER_ENTRY_MAX", 8388608L),
            new Named("ENTRY_BYTES_TARGET", 65536L), new Named("ENTRY_BYTES_MAX", 9437184L),
            new Named("BACKUP_READ_BYTES_MAX", 1048576L), new Named("BACKUP_IDLE_MS_MAX", 600000L),
            new Named("CLIENT_NAME_BYTES_MAX", 64L), new Named("CLIENT_BYTES_MAX", 255L), new Named("TOKEN_BYTES_MAX", 256L),
            new Named("PEER_ADDRESS_BYTES_MAX", 255L), new Named("BACKOFF_LIST_MAX", 32L), new Named("GROUP_BYTES_MAX", 255L),
            new Named("GROUP_WEIGHT_MAX", 1000L), new Named("GROUPS_SET_MAX", 65536L), new Named("GROUPS_LISTED_MAX", 1000L),
            new Named("SCHEDULE_NAME_BYTES_MAX", 255L), new Named("SCHEDULE_WHEN_BYTES_MAX", 2048L),
            new Named("SCHEDULE_ZONE_BYTES_MAX", 64L), new Named("SCHEDULE_NOTE_BYTES_MAX", 256L),
            new Named("INSTANTS_SHOWN_MAX", 1000L), new Named("SCHEDULE_MISSED_MAX", 1000L),
            new Named("SCHEDULE_JITTER_MS_MAX", 86400000L), new Named("SCHEDULES_LISTED_MAX", 256L));

    static final List<Named> DUE_KIND = List.of(new Named("after", 0L), new Named("at", 1L));

    static final List<Named> IF_EXISTS = List.of(new Named("reject", 0L), new Named("keep", 1L), new Named("replace", 2L),
            new Named("replace_any", 3L), new Named("postpone", 4L));

    static final List<Named> STEP = List.of(new Named("by", 0L), new Named("to_next", 1L));

    static final List<Named> JOB_KIND = List.of(new Named("id", 0L), new Named("key", 1L));

    static final List<Named> ORDER = List.of(new Named("due", 0L), new Named("id", 1L), new Named("key", 2L));

    static final List<Named> CHANGE = List.of(new Named("delete", 0L), new Named("kick", 1L), new Named("run_now", 2L),
            new Named("reschedule", 3L), new Named("move", 4L));

    static final List<Named> OUTCOME = List.of(new Named("pushed", 0L), new Named("kept", 1L), new Named("replaced", 2L),
            new Named("refused", 3L), new Named("postponed", 4L));

    static final List<Named> STATE = List.of(new Named("delayed", 0L), new Named("ready", 1L), new Named("reserved", 2L),
            new Named("buried", 3L), new Named("finished", 4L));

    static final List<Named> BURIED = List.of(new Named("not_buried", 0L), new Named("consumer", 1L),
            new Named("attempts_used_up", 2L), new Named("too_late", 3L));

    static final List<Named> DST = List.of(new Named("vixie", 0L), new Named("literal", 1L));

    static final List<Named> MISSED = List.of(new Named("last", 0L), new Named("none", 1L), new Named("all", 2L));

    static final List<Named> OVERLAP = List.of(new Named("skip", 0L), new Named("allow", 1L), new Named("queue_one", 2L),
            new Named("replace", 3L));

    static final List<Named> PAUSED = List.of(new Named("not_paused", 0L), new Named("user", 1L), new Named("failures", 2L));

    static final List<Named> WHICH_PAUSED = List.of(new Named("any", 0L), new Named("paused", 1L), new Named("active", 2L));

    static final List<Named> PAUSE = List.of(new Named("keep", 0L), new Named("pause", 1L), new Named("resume", 2L));

    static final List<Named> WHY = List.of(new Named("next", 0L), new Named("delayed", 1L), new Named("topic_paused", 2L),
            new Named("topic_leases", 3L), new Named("topic_rate", 4L), new Named("group_paused", 5L),
            new Named("group_leases", 6L), new Named("group_rate", 7L), new Named("group_reserved", 8L),
            new Named("group_retry", 9L), new Named("group_buried", 10L), new Named("behind", 11L), new Named("no_consumer", 12L),
            new Named("call_back_paused", 13L), new Named("reserved", 14L), new Named("buried", 15L), new Named("finished", 16L),
            new Named("empty", 17L), new Named("call_back_suspended", 18L));

    static final List<Named> FIRED = List.of(new Named("pushed", 0L), new Named("finished", 1L), new Named("failed", 2L),
            new Named("deleted", 3L), new Named("expired", 4L), new Named("missed", 5L), new Named("overlap", 6L),
            new Named("refused", 7L), new Named("key_taken", 8L));

    static final List<Named> GOING_AWAY = List.of(new Named("unknown", 0L), new Named("stopping", 1L),
            new Named("not_leader", 2L), new Named("session_taken_over", 3L), new Named("disconnected", 4L));

    static final List<Named> APPLIED = List.of(new Named("no", 0L), new Named("unknown", 1L));

    static final List<Named> ROLE = List.of(new Named("learner", 0L), new Named("voter", 1L), new Named("leader", 2L));

    static final List<Named> BACKOFF_KIND = List.of(new Named("fixed", 0L), new Named("linear", 1L), new Named("exponential", 2L),
            new Named("list", 3L));

    static final List<Named> LATE_ACTION = List.of(new Named("rate", 0L), new Named("spread", 1L), new Named("bury", 2L),
            new Named("drop", 3L));

    private SchemaTables() {
    }
}
