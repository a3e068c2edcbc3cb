package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a topic decides for its jobs. In {@link Client#setTopic}, only the settings that are named here change; those that are
 * {@link #without taken away} fall back to the server's default. It cannot be changed.
 */
public final class TopicPolicy {
    /** No settings. */
    public static final TopicPolicy EMPTY = new TopicPolicy(new TreeMap<>());

    /** The settings. */
    public enum Setting {
        TTR, PRIORITY, ATTEMPTS_MAX, BACKOFF, EXPIRES_AFTER, JOBS_MAX, BYTES_MAX, BODY_BYTES_MAX, LEASES_MAX, RATE, LATE,
        DEAD_LETTERS, REMEMBER;

        int tag() {
            return ordinal() + 1;
        }
    }

    /** What happens to late jobs. */
    public enum LateAction {
        RATE, SPREAD, BURY, DROP
    }

    /**
     * When a job is late, and what happens then.
     *
     * @param afterMs a job is late when it was due longer ago than this
     * @param action the number of the {@link LateAction}
     * @param value jobs per second for RATE, milliseconds for SPREAD, else 0
     */
    public record Late(long afterMs, int action, long value) {
    }

    private final TreeMap<Integer, byte[]> settings;

    private TopicPolicy(TreeMap<Integer, byte[]> settings) {
        this.settings = settings;
    }

    /** The time to run of a job that is pushed without one. */
    public TopicPolicy ttr(Duration ttr) {
        return u32(Setting.TTR, Millis.of(ttr));
    }

    /** The priority of a job that is pushed without one. */
    public TopicPolicy priority(long priority) {
        return u32(Setting.PRIORITY, priority);
    }

    /** The most attempts of a job that does not say it. */
    public TopicPolicy attemptsMax(long attempts) {
        return u32(Setting.ATTEMPTS_MAX, attempts);
    }

    /** The backoff of a job that has none. */
    public TopicPolicy backoff(Backoff backoff) {
        return with(Setting.BACKOFF, Attributes.encodeBackoff(backoff));
    }

    /** A job without an expiry expires this long after it is due. */
    public TopicPolicy expiresAfter(Duration time) {
        return u64(Setting.EXPIRES_AFTER, Millis.of(time));
    }

    /** A push beyond this many jobs is refused. */
    public TopicPolicy jobsMax(long jobs) {
        return u64(Setting.JOBS_MAX, jobs);
    }

    /** A push beyond this many bytes of bodies is refused. */
    public TopicPolicy bytesMax(long bytes) {
        return u64(Setting.BYTES_MAX, bytes);
    }

    /** A larger body is refused. */
    public TopicPolicy bodyBytesMax(long bytes) {
        return u32(Setting.BODY_BYTES_MAX, bytes);
    }

    /** No more jobs are reserved at the same time. */
    public TopicPolicy leasesMax(long leases) {
        return u32(Setting.LEASES_MAX, leases);
    }

    /** Deliveries per second. */
    public TopicPolicy rate(long perSecond) {
        return u32(Setting.RATE, perSecond);
    }

    /** What happens to jobs that are late; {@code value} as in {@link Late}. */
    public TopicPolicy late(Duration after, LateAction action, long value) {
        return late(new Late(Millis.of(after), action.ordinal(), value));
    }

    /** What happens to jobs that are late. */
    public TopicPolicy late(Late late) {
        return with(Setting.LATE, new FrameWriter(32).u64(late.afterMs()).u8(late.action()).u64(late.value()).toBytes());
    }

    /** The topic that takes the jobs that would be buried here. */
    public TopicPolicy deadLetters(String topic) {
        return with(Setting.DEAD_LETTERS, FrameWriter.utf8(Names.topic(topic)));
    }

    /** How long a finished job is remembered that does not say it. */
    public TopicPolicy remember(Duration retention) {
        return u64(Setting.REMEMBER, Millis.of(retention));
    }

    /** Takes a setting away. */
    public TopicPolicy without(Setting setting) {
        return with(setting, new byte[0]);
    }

    /** A setting that is one number: the value on the wire, without its unit. */
    public Optional<Long> number(Setting setting) {
        return field(setting, in -> {
            long number = 0;
            for (int shift = 0; in.remaining() > 0; shift += 8) {
                number |= (long) in.u8() << shift;
            }
            return number;
        });
    }

    /** The time to run of a job that is pushed without one. */
    public Optional<Duration> ttr() {
        return number(Setting.TTR).map(Millis::duration);
    }

    /** The backoff of a job that has none. */
    public Optional<Backoff> backoff() {
        return field(Setting.BACKOFF, Attributes::readBackoff);
    }

    /** What happens to jobs that are late. */
    public Optional<Late> late() {
        return field(Setting.LATE, in -> new Late(in.u64(), in.u8(), in.u64()));
    }

    /** The topic that takes the jobs that would be buried. */
    public Optional<String> deadLetters() {
        return value(Setting.DEAD_LETTERS).map(bytes -> new String(bytes, StandardCharsets.UTF_8));
    }

    /** Whether there is such a setting. */
    public boolean has(Setting setting) {
        return value(setting).isPresent();
    }

    /** Whether the setting is taken away. */
    public boolean takesAway(Setting setting) {
        return settings.containsKey(setting.tag()) && !has(setting);
    }

    /** These settings, changed by {@code change} as the queue does it. */
    public TopicPolicy changedBy(TopicPolicy change) {
        TreeMap<Integer, byte[]> all = new TreeMap<>(settings);
        all.putAll(change.settings);
        all.values().removeIf(value -> value.length == 0);
        return new TopicPolicy(all);
    }

    /** The settings as the protocol has them. */
    public byte[] encode() {
        FrameWriter out = new FrameWriter(64);
        settings.forEach((tag, value) -> out.u16(tag).bytes16(value));
        return out.toBytes();
    }

    /** Reads the settings as the protocol has them. */
    public static TopicPolicy decode(byte[] bytes) {
        try {
            FrameReader in = new FrameReader(bytes);
            TreeMap<Integer, byte[]> settings = new TreeMap<>();
            while (in.remaining() > 0) {
                settings.put(in.u16(), in.bytes16());
            }
            return new TopicPolicy(settings);
        } catch (MalformedFrameException e) {
            throw new ProtocolException("settings cannot be decoded: " + e.getMessage(), e);
        }
    }

    private interface Field<T> {
        T read(FrameReader in) throws MalformedFrameException;
    }

    private <T> Optional<T> field(Setting setting, Field<T> field) {
        return value(setting).map(bytes -> {
            try {
                return field.read(new FrameReader(bytes));
            } catch (MalformedFrameException e) {
                throw new ProtocolException("the setting " + setting + " cannot be decoded", e);
            }
        });
    }

    private Optional<byte[]> value(Setting setting) {
        return Optional.ofNullable(settings.get(setting.tag())).filter(value -> value.length > 0);
    }

    private TopicPolicy u32(Setting setting, long value) {
        return with(setting, new FrameWriter(16).u32(Millis.u32(value, setting.name())).toBytes());
    }

    private TopicPolicy u64(Setting setting, long value) {
        return with(setting, new FrameWriter(16).u64(value).toBytes());
    }

    private TopicPolicy with(Setting setting, byte[] value) {
        TreeMap<Integer, byte[]> all = new TreeMap<>(settings);
        all.put(setting.tag(), value);
        return new TopicPolicy(all);
    }
}
