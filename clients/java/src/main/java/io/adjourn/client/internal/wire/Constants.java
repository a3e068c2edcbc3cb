// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

/** Numbers of the protocol that are no limits. */
public final class Constants {
    /** The version of the protocol that this schema describes. */
    public static final int PROTOCOL_VERSION = 1;
    /** The port of a server, unless it is configured. */
    public static final int PORT_DEFAULT = 7_440;
    /** A PUSH without protection against repeats. */
    public static final int SEQUENCE_NONE = 0;
    /** {@code delay_ms} of a RELEASE: the attempt failed, and the job waits for its backoff. */
    public static final long RELEASE_BY_BACKOFF = 0xffffffffffffffffL;
    /** {@code delay_ms} of a RELEASE: the work was not begun; no attempt is counted, and the job is ready at once. */
    public static final long RELEASE_NOT_STARTED = 0xfffffffffffffffeL;
    /**
     * Added to {@code delay_ms} of a RELEASE: the work was not begun and is not to begin before this delay; no attempt is
     * counted.
     */
    public static final long RELEASE_PARKED = 0x8000000000000000L;
    /** The feature level that all members of a cluster need for KICK_MANY. */
    public static final int LEVEL_KICK_MANY = 1;

    private Constants() {
    }
}
