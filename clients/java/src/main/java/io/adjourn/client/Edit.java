package io.adjourn.client;

import io.adjourn.client.internal.wire.Bits;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Request;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.List;

/**
 * The parts of a job that {@link Client#edit(JobRef, Edit)} changes; all others stay. It cannot be changed; each method returns another
 * edit. If a part is named twice, the last call counts.
 *
 * <pre>{@code
 * Edit.EMPTY.json(new CloseOrder(17)).priority(3).without(Edit.Attribute.EXPIRES)
 * }</pre>
 */
public final class Edit {
    /** No changes yet. At least one is needed. */
    public static final Edit EMPTY = new Edit(0, Due.NOW, Limits.PRIORITY_UNSAID, 0, new byte[0], "", Attributes.NONE);

    /** What {@link #without} takes away from a job. */
    public enum Attribute {
        /** All headers. */
        HEADERS(Bits.Edited.HEADERS, io.adjourn.client.internal.wire.Attribute.HEADERS),
        /** When it expires: the topic's default counts, if it has one. */
        EXPIRES(Bits.Edited.EXPIRES, io.adjourn.client.internal.wire.Attribute.EXPIRES),
        /** How many attempts it has: the default of the topic or the server counts. */
        ATTEMPTS_MAX(Bits.Edited.ATTEMPTS_MAX, io.adjourn.client.internal.wire.Attribute.ATTEMPTS_MAX),
        /** How long it waits after a failed attempt: the default of the topic or the server counts. */
        BACKOFF(Bits.Edited.BACKOFF, io.adjourn.client.internal.wire.Attribute.BACKOFF),
        /** How long it is remembered: the topic's default counts, if it has one. */
        REMEMBER(Bits.Edited.DEDUPE_RETENTION, io.adjourn.client.internal.wire.Attribute.DEDUPE_RETENTION_MS),
        /** The group that it belongs to: it belongs to none. */
        GROUP(Bits.Edited.GROUP, io.adjourn.client.internal.wire.Attribute.GROUP);

        private final int part;
        private final int tag;

        Attribute(int part, int tag) {
            this.part = part;
            this.tag = tag;
        }
    }

    /** Bits of {@link Bits.Edited}. */
    private final int parts;
    private final Due due;
    private final long priority;
    private final long ttrMs;
    private final byte[] body;
    /** Of the body; empty for none. */
    private final String contentType;
    private final Attributes attributes;

    private Edit(int parts, Due due, long priority, long ttrMs, byte[] body, String contentType, Attributes attributes) {
        this.parts = parts;
        this.due = due;
        this.priority = priority;
        this.ttrMs = ttrMs;
        this.body = body;
        this.contentType = contentType;
        this.attributes = attributes;
    }

    // ---- new values

    /** Due this long after the queue accepts the edit. A buried job has no due time: kick it first. */
    public Edit delay(Duration delay) {
        return due(Due.after(delay));
    }

    /** Due at this time. */
    public Edit at(Instant time) {
        return due(Due.at(time));
    }

    /** Due at this time. */
    public Edit at(OffsetDateTime time) {
        return due(Due.at(time));
    }

    /** Due at this time. */
    public Edit at(ZonedDateTime time) {
        return due(Due.at(time));
    }

    /** Due then. */
    public Edit due(Due newDue) {
        return new Edit(parts | Bits.Edited.DUE, newDue, priority, ttrMs, body, contentType, attributes);
    }

    /** As {@link NewJob#priority}. */
    public Edit priority(long newPriority) {
        return new Edit(parts | Bits.Edited.PRIORITY, due, NewJob.checkedPriority(newPriority), ttrMs, body, contentType, attributes);
    }

    /** As {@link NewJob#ttr}. Zero is the topic's default, or a minute. */
    public Edit ttr(Duration timeToRun) {
        return new Edit(parts | Bits.Edited.TTR, due, priority, NewJob.checkedTtrMs(timeToRun), body, contentType, attributes);
    }

    /** These bytes as the body, as they are and without a content type, unless {@link #headers} names one. */
    public Edit body(byte[] newBody) {
        return body(newBody.clone(), "");
    }

    /** This text in UTF-8 as the body, with its content type. */
    public Edit text(String newBody) {
        return body(FrameWriter.utf8(newBody), NewJob.TEXT);
    }

    /** This value as JSON as the body, with its content type, as in {@link NewJob#json}. */
    public Edit json(Object value) {
        return encoded(BodyCodec.JSON, value);
    }

    /** This value, encoded by {@code codec}, as the body, with its content type. */
    public Edit encoded(BodyCodec codec, Object value) {
        return body(codec.encode(value), codec.contentType());
    }

    private Edit body(byte[] newBody, String newContentType) {
        return new Edit(parts | Bits.Edited.BODY, due, priority, ttrMs, newBody, newContentType, attributes);
    }

    /** These headers in place of all that the job has but {@code content-type}, which goes with the body unless it is given here. */
    public Edit headers(List<Header> headers) {
        if (headers.isEmpty()) {
            throw new UsageException("no headers: without(Attribute.HEADERS) takes them away");
        }
        Attributes changed = attributes.without(Attribute.HEADERS.tag);
        for (Header header : headers) {
            changed = changed.withHeader(header.name(), header.value());
        }
        return with(Attribute.HEADERS, changed);
    }

    /** It is dropped at this time, unless it is reserved. */
    public Edit expires(Due expires) {
        return with(Attribute.EXPIRES, attributes.withExpires(expires));
    }

    /** After this many failed attempts the job is buried. */
    public Edit attemptsMax(long attempts) {
        return with(Attribute.ATTEMPTS_MAX, attributes.withAttemptsMax(attempts));
    }

    /** How long it waits after a failed attempt. */
    public Edit backoff(Backoff backoff) {
        return with(Attribute.BACKOFF, attributes.withBackoff(backoff));
    }

    /** How long its key stays taken after it was finished. */
    public Edit remember(Duration retention) {
        if (retention.isZero()) {
            throw new UsageException("a retention of zero: without(Attribute.REMEMBER) takes it away");
        }
        return with(Attribute.REMEMBER, attributes.withDedupeRetention(retention));
    }

    /** As {@link NewJob#group}. */
    public Edit group(String name) {
        return with(Attribute.GROUP, attributes.withGroup(name));
    }

    // ---- taken away

    /** Takes this away from the job. */
    public Edit without(Attribute attribute) {
        return with(attribute, attributes.without(attribute.tag));
    }

    private Edit with(Attribute attribute, Attributes changed) {
        return new Edit(parts | attribute.part, due, priority, ttrMs, body, contentType, changed);
    }

    Request.Edit toWire(JobRef job, long ifVersion) {
        if (parts == 0) {
            throw new UsageException("an edit needs at least one part to change");
        }
        boolean isTyped = contentType.isEmpty() || attributes.header(NewJob.CONTENT_TYPE).isPresent();
        Attributes all = isTyped ? attributes : attributes.withHeader(NewJob.CONTENT_TYPE, contentType);
        return new Request.Edit(due.ms(), (int) priority, (int) ttrMs, parts, due.kind(), job, all.encode(), body, ifVersion);
    }
}
