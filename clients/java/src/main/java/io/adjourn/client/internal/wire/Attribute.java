// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client.internal.wire;

import io.adjourn.client.Backoff;
import io.adjourn.client.Due;
import io.adjourn.client.Header;
import java.util.List;
import java.util.Optional;

/** The attributes of a job: their tags, and what stands in each. */
public final class Attribute {
    /**
     * Name length {@code u8}, name of at least 1 byte, value; all texts. At most 1,024 bytes of names and values in total
     * ({@code TOO_LARGE}).
     */
    public static final int HEADERS = 0x0001;
    /**
     * Kind {@code u8} (0 after, 1 at), {@code u64} milliseconds; after at most {@code DELAY_MS_MAX}. The job is dropped at that
     * time; if it is reserved then, it is dropped when its lease ends without FINISH; if a clock was set forward past it, it is
     * dropped later. It must be later than the due time, or the job is refused with {@code EXPIRES_BEFORE_DUE}.
     */
    public static final int EXPIRES = 0x8002;
    /** {@code u32}, at least 1. After this many failed attempts the job is buried; see retries. */
    public static final int ATTEMPTS_MAX = 0x8003;
    /**
     * Kind {@code u8}, jitter {@code u8} (0 to 100 percent), then {@code u32} milliseconds: 0 fixed: the wait; 1 linear: step,
     * maximum; 2 exponential: first, maximum; 3 list: 1 to 32 waits, the last one repeats.
     */
    public static final int BACKOFF = 0x8004;
    /**
     * Text, 1 to {@code GROUP_BYTES_MAX} bytes without control characters ({@code INVALID}): the group that the job belongs to,
     * such as a tenant.
     */
    public static final int GROUP = 0x0005;
    /**
     * {@code u64} milliseconds, at most {@code DEDUPE_RETENTION_MS_MAX} ({@code INVALID}): how long the job is remembered after
     * FINISH. 0 is as if the attribute were not there.
     */
    public static final int DEDUPE_RETENTION_MS = 0x0006;
    /** {@code u64}, set by the producer. */
    public static final int CREATED_AT_MS = 0x0007;
    /** Opaque. */
    public static final int SCHEDULE_REFERENCE = 0x0008;
    /**
     * {@code u64} milliseconds, at most {@code DELAY_MS_MAX} ({@code INVALID}): see PUSH. It only means something in a push that
     * postpones.
     */
    public static final int POSTPONE_MAX_MS = 0x0009;
    /**
     * Text, at most {@code REASON_BYTES_MAX} bytes, may be empty: the job is buried from the start, for this reason, as one is
     * that comes from elsewhere and was set aside there. Broken or longer: {@code MALFORMED}. It only means something in a push;
     * the job itself does not have it, and a schedule cannot ({@code INVALID}).
     */
    public static final int BURIED = 0x800b;

    private Attribute() {
    }

    /** Whether this version knows elements with the tag. */
    public static boolean isKnown(int tag) {
        return switch (tag) {
            case HEADERS, EXPIRES, ATTEMPTS_MAX, BACKOFF, GROUP, DEDUPE_RETENTION_MS, CREATED_AT_MS, SCHEDULE_REFERENCE,
                    POSTPONE_MAX_MS, BURIED -> true;
            default -> false;
        };
    }

    public static Elements.Element headers(Header value) {
        return new Elements.Element(HEADERS, Composites.header(value));
    }

    public static List<Header> headers(Elements in) {
        return in.all(HEADERS, Composites::header);
    }

    public static Elements.Element expires(Due value) {
        return new Elements.Element(EXPIRES, Composites.expiry(value));
    }

    public static Optional<Due> expires(Elements in) {
        return in.first(EXPIRES, Composites::expiry);
    }

    public static Elements.Element attemptsMax(long value) {
        return Elements.u32(ATTEMPTS_MAX, value);
    }

    public static Optional<Long> attemptsMax(Elements in) {
        return in.first(ATTEMPTS_MAX, FrameReader::u32Unsigned);
    }

    public static Elements.Element backoff(Backoff value) {
        return new Elements.Element(BACKOFF, Composites.backoff(value));
    }

    public static Optional<Backoff> backoff(Elements in) {
        return in.first(BACKOFF, Composites::backoff);
    }

    public static Elements.Element group(String value) {
        return Elements.text(GROUP, value);
    }

    public static Optional<String> group(Elements in) {
        return in.first(GROUP, FrameReader::restText);
    }

    public static Elements.Element dedupeRetentionMs(long value) {
        return Elements.u64(DEDUPE_RETENTION_MS, value);
    }

    public static Optional<Long> dedupeRetentionMs(Elements in) {
        return in.first(DEDUPE_RETENTION_MS, FrameReader::u64);
    }

    public static Elements.Element createdAtMs(long value) {
        return Elements.u64(CREATED_AT_MS, value);
    }

    public static Optional<Long> createdAtMs(Elements in) {
        return in.first(CREATED_AT_MS, FrameReader::u64);
    }

    public static Elements.Element scheduleReference(byte[] value) {
        return new Elements.Element(SCHEDULE_REFERENCE, value);
    }

    public static Optional<byte[]> scheduleReference(Elements in) {
        return in.first(SCHEDULE_REFERENCE, FrameReader::rest);
    }

    public static Elements.Element postponeMaxMs(long value) {
        return Elements.u64(POSTPONE_MAX_MS, value);
    }

    public static Optional<Long> postponeMaxMs(Elements in) {
        return in.first(POSTPONE_MAX_MS, FrameReader::u64);
    }

    public static Elements.Element buried(String value) {
        return Elements.text(BURIED, value);
    }

    public static Optional<String> buried(Elements in) {
        return in.first(BURIED, FrameReader::restText);
    }
}
