package io.adjourn.client;

/** What a push does if its topic has a job with the same key. */
public enum IfExists {
    /** Refuse the new job with {@link ServerException.KeyExists}. */
    REJECT,
    /** Leave the old job as it is, and answer with its id. */
    KEEP,
    /** Replace the old job, unless it is reserved. */
    REPLACE,
    /** Replace the old job, even if it is reserved. */
    REPLACE_ANY,
    /** Give the old job the new body and due time: it becomes due when no push has come for the length of its delay. */
    POSTPONE
}
