package io.adjourn.client;

import java.time.Duration;

/**
 * The root of all errors of this library. Decide by {@link #code()}, {@link #retryable()} and {@link #applied()}, or by the
 * type; never by the message.
 */
public class AdjournException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String code;
    private final boolean retryable;
    private final Applied applied;

    AdjournException(String code, boolean retryable, Applied applied, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
        this.retryable = retryable;
        this.applied = applied;
    }

    /** The name of the error: a code of the protocol, such as {@code NOT_FOUND}, or one of this library's own. */
    public final String code() {
        return code;
    }

    /** Whether the same call may succeed later, as it is. */
    public final boolean retryable() {
        return retryable;
    }

    /** Whether the call had an effect. */
    public final Applied applied() {
        return applied;
    }

    /** Do not try again before this time has passed; zero without such a hint. */
    public Duration retryAfter() {
        return Duration.ZERO;
    }
}
