// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.Names;
import io.adjourn.client.internal.wire.Composites;
import io.adjourn.client.internal.wire.Elements;
import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.MalformedFrameException;
import java.time.Duration;
import java.util.Optional;

/**
 * What a topic decides for its jobs. In {@link Client#setTopic}, only the settings that are named here change; those that are
 * {@link #without taken away} fall back to the server's default. It cannot be changed.
 */
public final class TopicPolicy {
    /** No settings. */
    public static final TopicPolicy EMPTY = new TopicPolicy(Elements.NONE);

    /** The settings. */
    public enum Setting {
        /** The time to run of a job that is pushed with ttr_ms 0. */
        TTR(1),
        /** The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294. */
        PRIORITY(2),
        /** The attempts max of a job that has none, at least 1. */
        ATTEMPTS_MAX(3),
        /** The backoff of a job that has none. */
        BACKOFF(4),
        /** A job without an expiry expires this long after it is due, in milliseconds, up to {@code DELAY_MS_MAX}. */
        EXPIRES_AFTER(5),
        /** A push that would add a job beyond this number is refused with {@code QUOTA}. */
        JOBS_MAX(6),
        /** A push that would take bytes beyond this is refused with {@code QUOTA}. */
        BYTES_MAX(7),
        /** A larger body is refused with {@code TOO_LARGE}. */
        BODY_BYTES_MAX(8),
        /** No more jobs are reserved at the same time. */
        LEASES_MAX(9),
        /** Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes at once. */
        RATE(10),
        /**
         * A job is late when it was due longer ago than the first value, in milliseconds; what happens then, and the number that
         * belongs to it.
         */
        LATE(11),
        /** The topic that takes the jobs that would be buried here. */
        DEAD_LETTERS(12),
        /** How long a finished job is remembered that does not say it, in milliseconds, up to {@code DEDUPE_RETENTION_MS_MAX}. */
        REMEMBER(13),
        /**
         * The URL that the server calls when a job is due: {@code http://} or {@code https://}, a name or an IP address, perhaps
         * a port from 1 to 65535, and a path without {@code .} and {@code ..}.
         */
        CALL_BACK(14),
        /** {@code GET}, {@code POST}, {@code PUT}, {@code PATCH} or {@code DELETE}; POST without it. */
        CALL_BACK_METHOD(15),
        /** Lines of {@code Name: value}, none of a header that frames a request, of {@code Adjourn-*} or of {@code Webhook-*}. */
        CALL_BACK_HEADERS(16),
        /** What is sent in place of the job's body. */
        CALL_BACK_BODY(17),
        /** How long a call may take, in milliseconds. */
        CALL_BACK_TIMEOUT(18),
        /** Calls at the same time, from 1. */
        CALL_BACK_CONCURRENCY(19),
        /** Calls per second, evenly spread, 1 to 1,000,000. */
        CALL_BACK_RATE(20),
        /** Under which name the servers have the secrets that sign calls: {@code A-Z a-z 0-9 . _ -}. */
        CALL_BACK_SECRETS(21),
        /** {@code bury} or {@code retry}: what becomes of a job whose call gets a status from 400 to 499. */
        CALL_BACK_REFUSED(22),
        /** A condition on the reply under which the call counts as failed. */
        CALL_BACK_RETRY_IF(23),
        /** {@code status} or {@code reply}: what success is known by. */
        CALL_BACK_SUCCESS(24),
        /** A job may name the URL itself, in its header {@code call-back}. */
        CALL_BACK_OF_JOB(25),
        /** How long attempts can be looked up, in milliseconds, from 1. */
        CALL_BACK_LOG(26),
        /** No calls are made. */
        CALL_BACK_PAUSED(27),
        /**
         * How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds, up to
         * {@code DELAY_MS_MAX}.
         */
        CALL_BACK_DELAY(28),
        /** Groups take turns. So they do with any of the settings below. */
        FAIR(29),
        /** Most jobs of one group that are reserved at the same time, at least 1. */
        GROUP_LEASES_MAX(30),
        /** Most jobs of one group that are delivered per second, 1 to {@code RATE_PER_SECOND_MAX}. */
        GROUP_PER_SECOND_MAX(31),
        /**
         * How many of them may be delivered at once, 1 to {@code RATE_PER_SECOND_MAX}; without it a tenth of the rate, at least
         * 1.
         */
        GROUP_BURST(32),
        /** {@code fifo}: one job of a group at a time, and the next one when that has ended. */
        GROUP_ORDER(33),
        /** With {@code fifo}, what a buried job means to those behind it: {@code block} (the default) or {@code continue}. */
        GROUP_ON_BURY(34);

        private final int tag;

        Setting(int tag) {
            this.tag = tag;
        }

        int tag() {
            return tag;
        }
    }

    /** What happens to a late job. */
    public enum LateAction {
        /** Late jobs come due no faster than this many per second. */
        RATE(0),
        /** It becomes due anew within this many milliseconds. */
        SPREAD(1),
        /** It is buried; the value is 0. */
        BURY(2),
        /** It is dropped, and counted as expired; the value is 0. */
        DROP(3);

        private final int number;

        LateAction(int number) {
            this.number = number;
        }

        /** Its number on the wire. */
        public int number() {
            return number;
        }
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

    private final Elements settings;

    private TopicPolicy(Elements settings) {
        this.settings = settings;
    }

    /** What happens to jobs that are late; {@code value} as in {@link Late}. */
    public TopicPolicy late(Duration after, LateAction action, long value) {
        return late(new Late(Millis.of(after), action.number(), value));
    }

    /** The time to run of a job that is pushed with ttr_ms 0. */
    public TopicPolicy ttr(Duration value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.TTR.tag, Millis.of(value))));
    }

    /** The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294. */
    public TopicPolicy priority(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.PRIORITY.tag, value)));
    }

    /** The attempts max of a job that has none, at least 1. */
    public TopicPolicy attemptsMax(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.ATTEMPTS_MAX.tag, value)));
    }

    /** The backoff of a job that has none. */
    public TopicPolicy backoff(Backoff value) {
        return new TopicPolicy(settings.with(new Elements.Element(Setting.BACKOFF.tag, Composites.backoff(value))));
    }

    /** A job without an expiry expires this long after it is due, in milliseconds, up to {@code DELAY_MS_MAX}. */
    public TopicPolicy expiresAfter(Duration value) {
        return new TopicPolicy(settings.with(Elements.u64(Setting.EXPIRES_AFTER.tag, Millis.of(value))));
    }

    /** A push that would add a job beyond this number is refused with {@code QUOTA}. */
    public TopicPolicy jobsMax(long value) {
        return new TopicPolicy(settings.with(Elements.u64(Setting.JOBS_MAX.tag, value)));
    }

    /** A push that would take bytes beyond this is refused with {@code QUOTA}. */
    public TopicPolicy bytesMax(long value) {
        return new TopicPolicy(settings.with(Elements.u64(Setting.BYTES_MAX.tag, value)));
    }

    /** A larger body is refused with {@code TOO_LARGE}. */
    public TopicPolicy bodyBytesMax(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.BODY_BYTES_MAX.tag, value)));
    }

    /** No more jobs are reserved at the same time. */
    public TopicPolicy leasesMax(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.LEASES_MAX.tag, value)));
    }

    /** Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes at once. */
    public TopicPolicy rate(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.RATE.tag, value)));
    }

    /**
     * A job is late when it was due longer ago than the first value, in milliseconds; what happens then, and the number that
     * belongs to it.
     */
    public TopicPolicy late(TopicPolicy.Late value) {
        return new TopicPolicy(settings.with(new Elements.Element(Setting.LATE.tag, Composites.late(value))));
    }

    /** The topic that takes the jobs that would be buried here. */
    public TopicPolicy deadLetters(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.DEAD_LETTERS.tag, Names.topic(value))));
    }

    /** How long a finished job is remembered that does not say it, in milliseconds, up to {@code DEDUPE_RETENTION_MS_MAX}. */
    public TopicPolicy remember(Duration value) {
        return new TopicPolicy(settings.with(Elements.u64(Setting.REMEMBER.tag, Millis.of(value))));
    }

    /**
     * The URL that the server calls when a job is due: {@code http://} or {@code https://}, a name or an IP address, perhaps a
     * port from 1 to 65535, and a path without {@code .} and {@code ..}.
     */
    public TopicPolicy callBack(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK.tag, Names.text(value, "CALL_BACK"))));
    }

    /** {@code GET}, {@code POST}, {@code PUT}, {@code PATCH} or {@code DELETE}; POST without it. */
    public TopicPolicy callBackMethod(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_METHOD.tag, Names.text(value, "CALL_BACK_METHOD"))));
    }

    /** Lines of {@code Name: value}, none of a header that frames a request, of {@code Adjourn-*} or of {@code Webhook-*}. */
    public TopicPolicy callBackHeaders(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_HEADERS.tag, Names.text(value, "CALL_BACK_HEADERS"))));
    }

    /** What is sent in place of the job's body. */
    public TopicPolicy callBackBody(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_BODY.tag, Names.text(value, "CALL_BACK_BODY"))));
    }

    /** How long a call may take, in milliseconds. */
    public TopicPolicy callBackTimeout(Duration value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.CALL_BACK_TIMEOUT.tag, Millis.of(value))));
    }

    /** Calls at the same time, from 1. */
    public TopicPolicy callBackConcurrency(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.CALL_BACK_CONCURRENCY.tag, value)));
    }

    /** Calls per second, evenly spread, 1 to 1,000,000. */
    public TopicPolicy callBackRate(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.CALL_BACK_RATE.tag, value)));
    }

    /** Under which name the servers have the secrets that sign calls: {@code A-Z a-z 0-9 . _ -}. */
    public TopicPolicy callBackSecrets(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_SECRETS.tag, Names.text(value, "CALL_BACK_SECRETS"))));
    }

    /** {@code bury} or {@code retry}: what becomes of a job whose call gets a status from 400 to 499. */
    public TopicPolicy callBackRefused(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_REFUSED.tag, Names.text(value, "CALL_BACK_REFUSED"))));
    }

    /** A condition on the reply under which the call counts as failed. */
    public TopicPolicy callBackRetryIf(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_RETRY_IF.tag, Names.text(value, "CALL_BACK_RETRY_IF"))));
    }

    /** {@code status} or {@code reply}: what success is known by. */
    public TopicPolicy callBackSuccess(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.CALL_BACK_SUCCESS.tag, Names.text(value, "CALL_BACK_SUCCESS"))));
    }

    /** A job may name the URL itself, in its header {@code call-back}. */
    public TopicPolicy callBackOfJob(boolean value) {
        if (!value) {
            return without(Setting.CALL_BACK_OF_JOB);
        }
        return new TopicPolicy(settings.with(Elements.flag(Setting.CALL_BACK_OF_JOB.tag)));
    }

    /** How long attempts can be looked up, in milliseconds, from 1. */
    public TopicPolicy callBackLog(Duration value) {
        return new TopicPolicy(settings.with(Elements.u64(Setting.CALL_BACK_LOG.tag, Millis.of(value))));
    }

    /** No calls are made. */
    public TopicPolicy callBackPaused(boolean value) {
        if (!value) {
            return without(Setting.CALL_BACK_PAUSED);
        }
        return new TopicPolicy(settings.with(Elements.flag(Setting.CALL_BACK_PAUSED.tag)));
    }

    /**
     * How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds, up to {@code DELAY_MS_MAX}.
     */
    public TopicPolicy callBackDelay(Duration value) {
        return new TopicPolicy(settings.with(Elements.u64(Setting.CALL_BACK_DELAY.tag, Millis.of(value))));
    }

    /** Groups take turns. So they do with any of the settings below. */
    public TopicPolicy fair(boolean value) {
        if (!value) {
            return without(Setting.FAIR);
        }
        return new TopicPolicy(settings.with(Elements.flag(Setting.FAIR.tag)));
    }

    /** Most jobs of one group that are reserved at the same time, at least 1. */
    public TopicPolicy groupLeasesMax(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.GROUP_LEASES_MAX.tag, value)));
    }

    /** Most jobs of one group that are delivered per second, 1 to {@code RATE_PER_SECOND_MAX}. */
    public TopicPolicy groupPerSecondMax(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.GROUP_PER_SECOND_MAX.tag, value)));
    }

    /**
     * How many of them may be delivered at once, 1 to {@code RATE_PER_SECOND_MAX}; without it a tenth of the rate, at least 1.
     */
    public TopicPolicy groupBurst(long value) {
        return new TopicPolicy(settings.with(Elements.u32(Setting.GROUP_BURST.tag, value)));
    }

    /** {@code fifo}: one job of a group at a time, and the next one when that has ended. */
    public TopicPolicy groupOrder(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.GROUP_ORDER.tag, Names.text(value, "GROUP_ORDER"))));
    }

    /** With {@code fifo}, what a buried job means to those behind it: {@code block} (the default) or {@code continue}. */
    public TopicPolicy groupOnBury(String value) {
        return new TopicPolicy(settings.with(Elements.text(Setting.GROUP_ON_BURY.tag, Names.text(value, "GROUP_ON_BURY"))));
    }

    /** The time to run of a job that is pushed with ttr_ms 0. */
    public Optional<Duration> ttr() {
        return settings.set(Setting.TTR.tag, FrameReader::u32Unsigned).map(Millis::duration);
    }

    /** The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294. */
    public Optional<Long> priority() {
        return settings.set(Setting.PRIORITY.tag, FrameReader::u32Unsigned);
    }

    /** The attempts max of a job that has none, at least 1. */
    public Optional<Long> attemptsMax() {
        return settings.set(Setting.ATTEMPTS_MAX.tag, FrameReader::u32Unsigned);
    }

    /** The backoff of a job that has none. */
    public Optional<Backoff> backoff() {
        return settings.set(Setting.BACKOFF.tag, Composites::backoff);
    }

    /** A job without an expiry expires this long after it is due, in milliseconds, up to {@code DELAY_MS_MAX}. */
    public Optional<Duration> expiresAfter() {
        return settings.set(Setting.EXPIRES_AFTER.tag, FrameReader::u64).map(Millis::duration);
    }

    /** A push that would add a job beyond this number is refused with {@code QUOTA}. */
    public Optional<Long> jobsMax() {
        return settings.set(Setting.JOBS_MAX.tag, FrameReader::u64);
    }

    /** A push that would take bytes beyond this is refused with {@code QUOTA}. */
    public Optional<Long> bytesMax() {
        return settings.set(Setting.BYTES_MAX.tag, FrameReader::u64);
    }

    /** A larger body is refused with {@code TOO_LARGE}. */
    public Optional<Long> bodyBytesMax() {
        return settings.set(Setting.BODY_BYTES_MAX.tag, FrameReader::u32Unsigned);
    }

    /** No more jobs are reserved at the same time. */
    public Optional<Long> leasesMax() {
        return settings.set(Setting.LEASES_MAX.tag, FrameReader::u32Unsigned);
    }

    /** Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes at once. */
    public Optional<Long> rate() {
        return settings.set(Setting.RATE.tag, FrameReader::u32Unsigned);
    }

    /**
     * A job is late when it was due longer ago than the first value, in milliseconds; what happens then, and the number that
     * belongs to it.
     */
    public Optional<TopicPolicy.Late> late() {
        return settings.set(Setting.LATE.tag, Composites::late);
    }

    /** The topic that takes the jobs that would be buried here. */
    public Optional<String> deadLetters() {
        return settings.set(Setting.DEAD_LETTERS.tag, FrameReader::restText);
    }

    /** How long a finished job is remembered that does not say it, in milliseconds, up to {@code DEDUPE_RETENTION_MS_MAX}. */
    public Optional<Duration> remember() {
        return settings.set(Setting.REMEMBER.tag, FrameReader::u64).map(Millis::duration);
    }

    /**
     * The URL that the server calls when a job is due: {@code http://} or {@code https://}, a name or an IP address, perhaps a
     * port from 1 to 65535, and a path without {@code .} and {@code ..}.
     */
    public Optional<String> callBack() {
        return settings.set(Setting.CALL_BACK.tag, FrameReader::restText);
    }

    /** {@code GET}, {@code POST}, {@code PUT}, {@code PATCH} or {@code DELETE}; POST without it. */
    public Optional<String> callBackMethod() {
        return settings.set(Setting.CALL_BACK_METHOD.tag, FrameReader::restText);
    }

    /** Lines of {@code Name: value}, none of a header that frames a request, of {@code Adjourn-*} or of {@code Webhook-*}. */
    public Optional<String> callBackHeaders() {
        return settings.set(Setting.CALL_BACK_HEADERS.tag, FrameReader::restText);
    }

    /** What is sent in place of the job's body. */
    public Optional<String> callBackBody() {
        return settings.set(Setting.CALL_BACK_BODY.tag, FrameReader::restText);
    }

    /** How long a call may take, in milliseconds. */
    public Optional<Duration> callBackTimeout() {
        return settings.set(Setting.CALL_BACK_TIMEOUT.tag, FrameReader::u32Unsigned).map(Millis::duration);
    }

    /** Calls at the same time, from 1. */
    public Optional<Long> callBackConcurrency() {
        return settings.set(Setting.CALL_BACK_CONCURRENCY.tag, FrameReader::u32Unsigned);
    }

    /** Calls per second, evenly spread, 1 to 1,000,000. */
    public Optional<Long> callBackRate() {
        return settings.set(Setting.CALL_BACK_RATE.tag, FrameReader::u32Unsigned);
    }

    /** Under which name the servers have the secrets that sign calls: {@code A-Z a-z 0-9 . _ -}. */
    public Optional<String> callBackSecrets() {
        return settings.set(Setting.CALL_BACK_SECRETS.tag, FrameReader::restText);
    }

    /** {@code bury} or {@code retry}: what becomes of a job whose call gets a status from 400 to 499. */
    public Optional<String> callBackRefused() {
        return settings.set(Setting.CALL_BACK_REFUSED.tag, FrameReader::restText);
    }

    /** A condition on the reply under which the call counts as failed. */
    public Optional<String> callBackRetryIf() {
        return settings.set(Setting.CALL_BACK_RETRY_IF.tag, FrameReader::restText);
    }

    /** {@code status} or {@code reply}: what success is known by. */
    public Optional<String> callBackSuccess() {
        return settings.set(Setting.CALL_BACK_SUCCESS.tag, FrameReader::restText);
    }

    /** A job may name the URL itself, in its header {@code call-back}. */
    public boolean callBackOfJob() {
        return settings.set(Setting.CALL_BACK_OF_JOB.tag, FrameReader::flag).orElse(false);
    }

    /** How long attempts can be looked up, in milliseconds, from 1. */
    public Optional<Duration> callBackLog() {
        return settings.set(Setting.CALL_BACK_LOG.tag, FrameReader::u64).map(Millis::duration);
    }

    /** No calls are made. */
    public boolean callBackPaused() {
        return settings.set(Setting.CALL_BACK_PAUSED.tag, FrameReader::flag).orElse(false);
    }

    /**
     * How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds, up to {@code DELAY_MS_MAX}.
     */
    public Optional<Duration> callBackDelay() {
        return settings.set(Setting.CALL_BACK_DELAY.tag, FrameReader::u64).map(Millis::duration);
    }

    /** Groups take turns. So they do with any of the settings below. */
    public boolean fair() {
        return settings.set(Setting.FAIR.tag, FrameReader::flag).orElse(false);
    }

    /** Most jobs of one group that are reserved at the same time, at least 1. */
    public Optional<Long> groupLeasesMax() {
        return settings.set(Setting.GROUP_LEASES_MAX.tag, FrameReader::u32Unsigned);
    }

    /** Most jobs of one group that are delivered per second, 1 to {@code RATE_PER_SECOND_MAX}. */
    public Optional<Long> groupPerSecondMax() {
        return settings.set(Setting.GROUP_PER_SECOND_MAX.tag, FrameReader::u32Unsigned);
    }

    /**
     * How many of them may be delivered at once, 1 to {@code RATE_PER_SECOND_MAX}; without it a tenth of the rate, at least 1.
     */
    public Optional<Long> groupBurst() {
        return settings.set(Setting.GROUP_BURST.tag, FrameReader::u32Unsigned);
    }

    /** {@code fifo}: one job of a group at a time, and the next one when that has ended. */
    public Optional<String> groupOrder() {
        return settings.set(Setting.GROUP_ORDER.tag, FrameReader::restText);
    }

    /** With {@code fifo}, what a buried job means to those behind it: {@code block} (the default) or {@code continue}. */
    public Optional<String> groupOnBury() {
        return settings.set(Setting.GROUP_ON_BURY.tag, FrameReader::restText);
    }

    /** Takes a setting away. */
    public TopicPolicy without(Setting setting) {
        return new TopicPolicy(settings.with(new Elements.Element(setting.tag(), new byte[0])));
    }

    /** Whether there is such a setting. */
    public boolean has(Setting setting) {
        return settings.has(setting.tag());
    }

    /** Whether the setting is taken away. */
    public boolean takesAway(Setting setting) {
        return settings.isEmptyAt(setting.tag());
    }

    /** These settings, changed by {@code change} as the queue does it. */
    public TopicPolicy changedBy(TopicPolicy change) {
        return new TopicPolicy(settings.changedBy(change.settings));
    }

    /** The settings as the protocol has them. */
    public byte[] encode() {
        return settings.encode();
    }

    /** Reads the settings as the protocol has them. */
    public static TopicPolicy decode(byte[] bytes) {
        try {
            return new TopicPolicy(Elements.decode(bytes));
        } catch (MalformedFrameException e) {
            throw new ProtocolException("settings cannot be decoded: " + e.getMessage(), e);
        }
    }
}
