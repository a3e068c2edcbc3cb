//! What lists and parts of frames consist of: the fixed part, then the pieces whose lengths are in it.
//!
//! Generated from `schema/` by `make generate`: do not edit.

use bytes::{Bytes, BytesMut};

use crate::decode_error::DecodeError;
use crate::wire::{Fields, Fixed, Reader, put_piece};

/// One job to push.
pub(crate) struct NewJob<P> {
    /// With due_kind: the due point.
    pub(crate) due_ms: u64,
    /// Lower numbers are reserved first; 4,294,967,295 means the topic's default, or 1,024.
    pub(crate) priority: u32,
    /// How long a consumer may hold it, 100 to 604,800,000; 0 means the topic's default, or 60,000.
    pub(crate) ttr_ms: u32,
    /// How due_ms counts.
    pub(crate) due_kind: u8,
    /// What happens if a job with this key exists.
    pub(crate) if_exists: u8,
    /// The user's own id; empty for none.
    pub(crate) key: P,
    /// Its attributes; empty for none.
    pub(crate) attributes: P,
    /// What the consumer gets; at most `body_bytes_max` bytes.
    pub(crate) body: P,
}

impl NewJob<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<26>::new()
            .u64(self.due_ms)
            .u32(self.priority)
            .u32(self.ttr_ms)
            .u8(self.due_kind)
            .u8(self.if_exists)
            .length16(self.key.len())
            .length16(self.attributes.len())
            .length32(self.body.len())
            .write(out);
        put_piece(out, self.key);
        put_piece(out, self.attributes);
        put_piece(out, self.body);
    }
}

impl NewJob<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let due_ms = fields.u64("due_ms")?;
        let priority = fields.u32("priority")?;
        let ttr_ms = fields.u32("ttr_ms")?;
        let due_kind = fields.u8("due_kind")?;
        let if_exists = fields.u8("if_exists")?;
        let key_length = usize::from(fields.u16("key")?);
        let attributes_length = usize::from(fields.u16("attributes")?);
        let body_length = fields.u32("body")? as usize;
        Ok(Self { due_ms, priority, ttr_ms, due_kind, if_exists, key: reader.bytes(key_length, "key")?, attributes: reader.bytes(attributes_length, "attributes")?, body: reader.bytes(body_length, "body")? })
    }
}

/// What became of one pushed job.
pub(crate) struct PushResult {
    /// What became of it.
    pub(crate) outcome: u8,
    /// Why it was refused: an error code; else 0.
    pub(crate) code: u16,
    /// The id that the table of outcomes says, or 0.
    pub(crate) job: u64,
}

impl PushResult {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<11>::new()
            .u8(self.outcome)
            .u16(self.code)
            .u64(self.job)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let outcome = fields.u8("outcome")?;
        let code = fields.u16("code")?;
        let job = fields.u64("job")?;
        Ok(Self { outcome, code, job })
    }
}

/// A lease on a job.
pub(crate) struct Lease {
    /// The job's id.
    pub(crate) job: u64,
    /// The lease's number, larger for each lease of a job.
    pub(crate) fence: u64,
}

impl Lease {
    /// Bytes of the fixed part.
    pub(crate) const FIXED_BYTES: usize = 16;

    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<16>::new()
            .u64(self.job)
            .u64(self.fence)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let job = fields.u64("job")?;
        let fence = fields.u64("fence")?;
        Ok(Self { job, fence })
    }
}

/// What became of one lease.
pub(crate) struct SettleResult {
    /// 0: done; else an error code.
    pub(crate) code: u16,
}

impl SettleResult {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<2>::new()
            .u16(self.code)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let code = fields.u16("code")?;
        Ok(Self { code })
    }
}

/// A job that is now leased to the session.
pub(crate) struct Delivered<P> {
    /// Its id; with fence, the lease: send both to settle the job.
    pub(crate) job: u64,
    /// The number of the lease.
    pub(crate) fence: u64,
    /// When it was due, on the wall clock.
    pub(crate) due_ms: u64,
    /// As pushed.
    pub(crate) priority: u32,
    /// Number of times it was reserved, including this one.
    pub(crate) attempts: u32,
    /// Remaining time of the lease when the frame is written.
    pub(crate) ttr_left_ms: u32,
    /// Its topic.
    pub(crate) topic: P,
    /// The user's own id; empty for none.
    pub(crate) key: P,
    /// Its attributes; empty for none.
    pub(crate) attributes: P,
    /// As pushed.
    pub(crate) body: P,
    /// When the lease ends, on the clock that WELCOME and PONG of this connection show as `clock_ms`; 0: not shown.
    pub(crate) deadline_ms: u64,
}

impl Delivered<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<53>::new()
            .u64(self.job)
            .u64(self.fence)
            .u64(self.due_ms)
            .u32(self.priority)
            .u32(self.attempts)
            .u32(self.ttr_left_ms)
            .length8(self.topic.len())
            .length16(self.key.len())
            .length16(self.attributes.len())
            .length32(self.body.len())
            .u64(self.deadline_ms)
            .write(out);
        put_piece(out, self.topic);
        put_piece(out, self.key);
        put_piece(out, self.attributes);
        put_piece(out, self.body);
    }
}

impl Delivered<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let job = fields.u64("job")?;
        let fence = fields.u64("fence")?;
        let due_ms = fields.u64("due_ms")?;
        let priority = fields.u32("priority")?;
        let attempts = fields.u32("attempts")?;
        let ttr_left_ms = fields.u32("ttr_left_ms")?;
        let topic_length = usize::from(fields.u8("topic")?);
        let key_length = usize::from(fields.u16("key")?);
        let attributes_length = usize::from(fields.u16("attributes")?);
        let body_length = fields.u32("body")? as usize;
        let deadline_ms = if fields.is_empty() { 0 } else { fields.u64("deadline_ms")? };
        Ok(Self { job, fence, due_ms, priority, attempts, ttr_left_ms, topic: reader.bytes(topic_length, "topic")?, key: reader.bytes(key_length, "key")?, attributes: reader.bytes(attributes_length, "attributes")?, body: reader.bytes(body_length, "body")?, deadline_ms })
    }
}

/// A job as it stands.
pub(crate) struct Shown<P> {
    /// Its id.
    pub(crate) job: u64,
    /// When it is or was due, on the wall clock.
    pub(crate) due_ms: u64,
    /// Where it stands.
    pub(crate) state: u8,
    /// Why it is buried.
    pub(crate) buried: u8,
    /// As pushed.
    pub(crate) priority: u32,
    /// Number of times it was reserved.
    pub(crate) attempts: u32,
    /// Length of a lease on it.
    pub(crate) ttr_ms: u32,
    /// Remaining time of its lease; 0 when it is not reserved.
    pub(crate) ttr_left_ms: u32,
    /// Its topic.
    pub(crate) topic: P,
    /// The user's own id; empty for none.
    pub(crate) key: P,
    /// Its attributes.
    pub(crate) attributes: P,
    /// As pushed; empty in a list without bodies.
    pub(crate) body: P,
}

impl Shown<&[u8]> {
    /// Bytes of the fixed part.
    pub(crate) const FIXED_BYTES: usize = 43;

    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<43>::new()
            .u64(self.job)
            .u64(self.due_ms)
            .u8(self.state)
            .u8(self.buried)
            .u32(self.priority)
            .u32(self.attempts)
            .u32(self.ttr_ms)
            .u32(self.ttr_left_ms)
            .length8(self.topic.len())
            .length16(self.key.len())
            .length16(self.attributes.len())
            .length32(self.body.len())
            .write(out);
        put_piece(out, self.topic);
        put_piece(out, self.key);
        put_piece(out, self.attributes);
        put_piece(out, self.body);
    }
}

impl Shown<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let job = fields.u64("job")?;
        let due_ms = fields.u64("due_ms")?;
        let state = fields.u8("state")?;
        let buried = fields.u8("buried")?;
        let priority = fields.u32("priority")?;
        let attempts = fields.u32("attempts")?;
        let ttr_ms = fields.u32("ttr_ms")?;
        let ttr_left_ms = fields.u32("ttr_left_ms")?;
        let topic_length = usize::from(fields.u8("topic")?);
        let key_length = usize::from(fields.u16("key")?);
        let attributes_length = usize::from(fields.u16("attributes")?);
        let body_length = fields.u32("body")? as usize;
        Ok(Self { job, due_ms, state, buried, priority, attempts, ttr_ms, ttr_left_ms, topic: reader.bytes(topic_length, "topic")?, key: reader.bytes(key_length, "key")?, attributes: reader.bytes(attributes_length, "attributes")?, body: reader.bytes(body_length, "body")? })
    }
}

/// What happened to a job so far. Times are on the wall clock; 0 means that it did not happen, or is not known.
pub(crate) struct Past<P> {
    /// When it was pushed.
    pub(crate) pushed_ms: u64,
    /// When it was first leased.
    pub(crate) reserved_first_ms: u64,
    /// When it was last leased.
    pub(crate) reserved_last_ms: u64,
    /// When it was last edited.
    pub(crate) edited_ms: u64,
    /// Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty for none, and where the asking token lacks the right `admin` for all topics.
    pub(crate) held_by: P,
    /// The last reason given with a RELEASE or BURY.
    pub(crate) reason: P,
}

/// A job on a page of a list.
pub(crate) struct Listed<P> {
    /// A job as it stands.
    pub(crate) shown: Shown<P>,
    /// The length of the body, whether it is shown or not.
    pub(crate) body_bytes: u32,
    /// What happened to a job so far. Times are on the wall clock; 0 means that it did not happen, or is not known.
    pub(crate) past: Past<P>,
}

impl Listed<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<82>::new()
            .u64(self.shown.job)
            .u64(self.shown.due_ms)
            .u8(self.shown.state)
            .u8(self.shown.buried)
            .u32(self.shown.priority)
            .u32(self.shown.attempts)
            .u32(self.shown.ttr_ms)
            .u32(self.shown.ttr_left_ms)
            .length8(self.shown.topic.len())
            .length16(self.shown.key.len())
            .length16(self.shown.attributes.len())
            .length32(self.shown.body.len())
            .u32(self.body_bytes)
            .u64(self.past.pushed_ms)
            .u64(self.past.reserved_first_ms)
            .u64(self.past.reserved_last_ms)
            .u64(self.past.edited_ms)
            .length8(self.past.held_by.len())
            .length16(self.past.reason.len())
            .write(out);
        put_piece(out, self.shown.topic);
        put_piece(out, self.shown.key);
        put_piece(out, self.shown.attributes);
        put_piece(out, self.shown.body);
        put_piece(out, self.past.held_by);
        put_piece(out, self.past.reason);
    }
}

impl Listed<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let job = fields.u64("job")?;
        let due_ms = fields.u64("due_ms")?;
        let state = fields.u8("state")?;
        let buried = fields.u8("buried")?;
        let priority = fields.u32("priority")?;
        let attempts = fields.u32("attempts")?;
        let ttr_ms = fields.u32("ttr_ms")?;
        let ttr_left_ms = fields.u32("ttr_left_ms")?;
        let topic_length = usize::from(fields.u8("topic")?);
        let key_length = usize::from(fields.u16("key")?);
        let attributes_length = usize::from(fields.u16("attributes")?);
        let body_length = fields.u32("body")? as usize;
        let body_bytes = fields.u32("body_bytes")?;
        let pushed_ms = fields.u64("pushed_ms")?;
        let reserved_first_ms = fields.u64("reserved_first_ms")?;
        let reserved_last_ms = fields.u64("reserved_last_ms")?;
        let edited_ms = fields.u64("edited_ms")?;
        let held_by_length = usize::from(fields.u8("held_by")?);
        let reason_length = usize::from(fields.u16("reason")?);
        Ok(Self { shown: Shown { job, due_ms, state, buried, priority, attempts, ttr_ms, ttr_left_ms, topic: reader.bytes(topic_length, "topic")?, key: reader.bytes(key_length, "key")?, attributes: reader.bytes(attributes_length, "attributes")?, body: reader.bytes(body_length, "body")? }, body_bytes, past: Past { pushed_ms, reserved_first_ms, reserved_last_ms, edited_ms, held_by: reader.bytes(held_by_length, "held_by")?, reason: reader.bytes(reason_length, "reason")? } })
    }
}

/// Counts, of one topic or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Jobs whose due time lies ahead.
    pub delayed: u64,
    /// Jobs that wait for a consumer.
    pub ready: u64,
    /// Jobs under a lease.
    pub reserved: u64,
    /// Jobs set aside.
    pub buried: u64,
    /// Jobs pushed or moved here so far.
    pub pushed: u64,
    /// Jobs finished so far.
    pub finished: u64,
    /// Jobs deleted, replaced, or moved to another topic so far.
    pub deleted: u64,
    /// Jobs dropped by their expiry so far.
    pub expired: u64,
    /// Time since the oldest ready job was due; 0 without one.
    pub oldest_ready_ms: u64,
}

impl Totals {
    /// Bytes of the fixed part.
    pub(crate) const FIXED_BYTES: usize = 72;

    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<72>::new()
            .u64(self.delayed)
            .u64(self.ready)
            .u64(self.reserved)
            .u64(self.buried)
            .u64(self.pushed)
            .u64(self.finished)
            .u64(self.deleted)
            .u64(self.expired)
            .u64(self.oldest_ready_ms)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let delayed = fields.u64("delayed")?;
        let ready = fields.u64("ready")?;
        let reserved = fields.u64("reserved")?;
        let buried = fields.u64("buried")?;
        let pushed = fields.u64("pushed")?;
        let finished = fields.u64("finished")?;
        let deleted = fields.u64("deleted")?;
        let expired = fields.u64("expired")?;
        let oldest_ready_ms = fields.u64("oldest_ready_ms")?;
        Ok(Self { delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest_ready_ms })
    }
}

/// The counts of one topic.
pub(crate) struct TopicCount<P> {
    /// What is so.
    pub(crate) marks: u8,
    /// Long polls and subscriptions that want its jobs at this moment.
    pub(crate) consumers: u32,
    /// How late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered.
    pub(crate) late_ms: u64,
    /// Its name.
    pub(crate) topic: P,
    /// Counts, of one topic or of all.
    pub(crate) totals: Totals,
}

impl TopicCount<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<86>::new()
            .u8(self.marks)
            .u32(self.consumers)
            .u64(self.late_ms)
            .length8(self.topic.len())
            .u64(self.totals.delayed)
            .u64(self.totals.ready)
            .u64(self.totals.reserved)
            .u64(self.totals.buried)
            .u64(self.totals.pushed)
            .u64(self.totals.finished)
            .u64(self.totals.deleted)
            .u64(self.totals.expired)
            .u64(self.totals.oldest_ready_ms)
            .write(out);
        put_piece(out, self.topic);
    }
}

impl TopicCount<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let marks = fields.u8("marks")?;
        let consumers = fields.u32("consumers")?;
        let late_ms = fields.u64("late_ms")?;
        let topic_length = usize::from(fields.u8("topic")?);
        let delayed = fields.u64("delayed")?;
        let ready = fields.u64("ready")?;
        let reserved = fields.u64("reserved")?;
        let buried = fields.u64("buried")?;
        let pushed = fields.u64("pushed")?;
        let finished = fields.u64("finished")?;
        let deleted = fields.u64("deleted")?;
        let expired = fields.u64("expired")?;
        let oldest_ready_ms = fields.u64("oldest_ready_ms")?;
        Ok(Self { marks, consumers, late_ms, topic: reader.bytes(topic_length, "topic")?, totals: Totals { delayed, ready, reserved, buried, pushed, finished, deleted, expired, oldest_ready_ms } })
    }
}

/// How long one stage of the work on a node took, over its last minutes. Times are in microseconds.
pub(crate) struct Stage<P> {
    /// Its name.
    pub(crate) stage: P,
    /// How many durations there are.
    pub(crate) count: u64,
    /// The median.
    pub(crate) p50_us: u64,
    /// 99 % of them are at most this.
    pub(crate) p99_us: u64,
    /// 99.9 % of them are at most this.
    pub(crate) p999_us: u64,
    /// The longest.
    pub(crate) max_us: u64,
}

impl Stage<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<41>::new()
            .length8(self.stage.len())
            .u64(self.count)
            .u64(self.p50_us)
            .u64(self.p99_us)
            .u64(self.p999_us)
            .u64(self.max_us)
            .write(out);
        put_piece(out, self.stage);
    }
}

impl Stage<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let stage_length = usize::from(fields.u8("stage")?);
        let count = fields.u64("count")?;
        let p50_us = fields.u64("p50_us")?;
        let p99_us = fields.u64("p99_us")?;
        let p999_us = fields.u64("p999_us")?;
        let max_us = fields.u64("max_us")?;
        Ok(Self { stage: reader.bytes(stage_length, "stage")?, count, p50_us, p99_us, p999_us, max_us })
    }
}

/// The jobs of a COUNT that are due in a part of a time.
pub(crate) struct DueBar {
    /// Where it begins, on the wall clock, in milliseconds: up to the next one, or without an end. 0 in the first item: the jobs before the bars.
    pub(crate) start_ms: u64,
    /// How many.
    pub(crate) jobs: u64,
}

impl DueBar {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<16>::new()
            .u64(self.start_ms)
            .u64(self.jobs)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let start_ms = fields.u64("start_ms")?;
        let jobs = fields.u64("jobs")?;
        Ok(Self { start_ms, jobs })
    }
}

/// One client that is connected to the node.
pub(crate) struct Connection<P> {
    /// Its number. It is never reused, not by another node and not after a restart.
    pub(crate) connection: u64,
    /// The session that it speaks for; 0 before WELCOME, and after the session has ended.
    pub(crate) session: u64,
    /// When it connected, on the wall clock.
    pub(crate) since_ms: u64,
    /// Leases that the session holds, without those that outlive it.
    pub(crate) leases: u32,
    /// Its subscriptions.
    pub(crate) subscriptions: u32,
    /// Its waiting RESERVEs.
    pub(crate) reserves: u32,
    /// Remaining credit of its subscriptions, in jobs; below 0 counts as 0.
    pub(crate) credit_jobs: u64,
    /// The same in bytes.
    pub(crate) credit_bytes: u64,
    /// Bytes for it that its socket has not yet accepted, as far as known: what it accepted is reported in steps of up to 256 KiB, so less than that says nothing.
    pub(crate) unsent_bytes: u64,
    /// What is so.
    pub(crate) marks: u8,
    /// Its network address.
    pub(crate) address: P,
    /// The name in its HELLO.
    pub(crate) client_name: P,
    /// Some of the topics that it waits for.
    pub(crate) topics: Vec<P>,
}

impl Connection<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<64>::new()
            .u64(self.connection)
            .u64(self.session)
            .u64(self.since_ms)
            .u32(self.leases)
            .u32(self.subscriptions)
            .u32(self.reserves)
            .u64(self.credit_jobs)
            .u64(self.credit_bytes)
            .u64(self.unsent_bytes)
            .u8(self.marks)
            .length8(self.address.len())
            .length8(self.client_name.len())
            .length8(self.topics.len())
            .write(out);
        put_piece(out, self.address);
        put_piece(out, self.client_name);
        for text in &self.topics {
            Fixed::<1>::new().length8(text.len()).write(out);
            put_piece(out, text);
        }
    }
}

impl Connection<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let connection = fields.u64("connection")?;
        let session = fields.u64("session")?;
        let since_ms = fields.u64("since_ms")?;
        let leases = fields.u32("leases")?;
        let subscriptions = fields.u32("subscriptions")?;
        let reserves = fields.u32("reserves")?;
        let credit_jobs = fields.u64("credit_jobs")?;
        let credit_bytes = fields.u64("credit_bytes")?;
        let unsent_bytes = fields.u64("unsent_bytes")?;
        let marks = fields.u8("marks")?;
        let address_length = usize::from(fields.u8("address")?);
        let client_name_length = usize::from(fields.u8("client_name")?);
        let topics_length = usize::from(fields.u8("topics")?);
        Ok(Self { connection, session, since_ms, leases, subscriptions, reserves, credit_jobs, credit_bytes, unsent_bytes, marks, address: reader.bytes(address_length, "address")?, client_name: reader.bytes(client_name_length, "client_name")?, topics: (0..topics_length).map(|_| reader.bytes8("topics")).collect::<Result<_, _>>()? })
    }
}

/// One node of the cluster, as clients see it.
pub(crate) struct Member<P> {
    /// Its number.
    pub(crate) node: u64,
    /// What is so.
    pub(crate) marks: u8,
    /// Where clients connect, as `host:port`. Behind a proxy or NAT, start each node with `--client-address`, or clients go round.
    pub(crate) address: P,
}

impl Member<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<10>::new()
            .u64(self.node)
            .u8(self.marks)
            .length8(self.address.len())
            .write(out);
        put_piece(out, self.address);
    }
}

impl Member<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let node = fields.u64("node")?;
        let marks = fields.u8("marks")?;
        let address_length = usize::from(fields.u8("address")?);
        Ok(Self { node, marks, address: reader.bytes(address_length, "address")? })
    }
}

/// One member of the cluster, as one node sees it. Unknown values are 0.
pub(crate) struct Node<P> {
    /// Its number.
    pub(crate) node: u64,
    /// What it is. A newer server may have more roles: show them as unknown.
    pub(crate) role: u8,
    /// What is so, and what is known.
    pub(crate) marks: u8,
    /// The last entry that it has, durable. Only the leader knows it of other members.
    pub(crate) matched: u64,
    /// The last entry that it reported as applied.
    pub(crate) applied: u64,
    /// How far its wall clock is ahead of the reporting node's; negative if it is behind.
    pub(crate) ahead_ms: i64,
    /// Members compare the hashes of their states after certain entries: the newest of these that it reported.
    pub(crate) audited: u64,
    /// The address for other members; empty if unknown.
    pub(crate) peer_address: P,
    /// The address for clients; empty if unknown.
    pub(crate) client_address: P,
}

impl Node<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<44>::new()
            .u64(self.node)
            .u8(self.role)
            .u8(self.marks)
            .u64(self.matched)
            .u64(self.applied)
            .u64(self.ahead_ms.cast_unsigned())
            .u64(self.audited)
            .length8(self.peer_address.len())
            .length8(self.client_address.len())
            .write(out);
        put_piece(out, self.peer_address);
        put_piece(out, self.client_address);
    }
}

impl Node<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let node = fields.u64("node")?;
        let role = fields.u8("role")?;
        let marks = fields.u8("marks")?;
        let matched = fields.u64("matched")?;
        let applied = fields.u64("applied")?;
        let ahead_ms = fields.u64("ahead_ms")?.cast_signed();
        let audited = fields.u64("audited")?;
        let peer_address_length = usize::from(fields.u8("peer_address")?);
        let client_address_length = usize::from(fields.u8("client_address")?);
        Ok(Self { node, role, marks, matched, applied, ahead_ms, audited, peer_address: reader.bytes(peer_address_length, "peer_address")?, client_address: reader.bytes(client_address_length, "client_address")? })
    }
}

/// When a schedule fires, and what it does then.
pub(crate) struct ScheduleRules<P> {
    /// From when `@every` counts; 0: from when the schedule is set first.
    pub(crate) origin_ms: u64,
    /// It does not fire before this time; 0 for no such time.
    pub(crate) start_ms: u64,
    /// It does not fire after this time; 0 for no such time.
    pub(crate) end_ms: u64,
    /// It ends when it has pushed a job at so many instants; 0: it does not.
    pub(crate) count: u64,
    /// With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
    pub(crate) window_ms: u64,
    /// With *missed* `all`: at most so many instants, the last ones; 0 means 100.
    pub(crate) missed_max: u32,
    /// A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
    pub(crate) jitter_ms: u32,
    /// It is paused after so many failures one after another; 0: it is not.
    pub(crate) failures_max: u32,
    /// What happens when the clocks of its zone are changed.
    pub(crate) dst: u8,
    /// Which of the instants that passed unnoticed are fired late.
    pub(crate) missed: u8,
    /// What it does while an earlier job of it has not ended.
    pub(crate) overlap: u8,
    /// A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times.
    pub(crate) when: P,
    /// The IANA name of the time zone of a cron expression; empty means UTC.
    pub(crate) zone: P,
    /// The key of its jobs; empty: the name, `@`, and the instant in milliseconds.
    pub(crate) key: P,
    /// For people.
    pub(crate) note: P,
}

impl ScheduleRules<&[u8]> {
    /// Bytes of the fixed part.
    pub(crate) const FIXED_BYTES: usize = 62;

    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<62>::new()
            .u64(self.origin_ms)
            .u64(self.start_ms)
            .u64(self.end_ms)
            .u64(self.count)
            .u64(self.window_ms)
            .u32(self.missed_max)
            .u32(self.jitter_ms)
            .u32(self.failures_max)
            .u8(self.dst)
            .u8(self.missed)
            .u8(self.overlap)
            .length16(self.when.len())
            .length8(self.zone.len())
            .length16(self.key.len())
            .length16(self.note.len())
            .write(out);
        put_piece(out, self.when);
        put_piece(out, self.zone);
        put_piece(out, self.key);
        put_piece(out, self.note);
    }
}

impl ScheduleRules<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let origin_ms = fields.u64("origin_ms")?;
        let start_ms = fields.u64("start_ms")?;
        let end_ms = fields.u64("end_ms")?;
        let count = fields.u64("count")?;
        let window_ms = fields.u64("window_ms")?;
        let missed_max = fields.u32("missed_max")?;
        let jitter_ms = fields.u32("jitter_ms")?;
        let failures_max = fields.u32("failures_max")?;
        let dst = fields.u8("dst")?;
        let missed = fields.u8("missed")?;
        let overlap = fields.u8("overlap")?;
        let when_length = usize::from(fields.u16("when")?);
        let zone_length = usize::from(fields.u8("zone")?);
        let key_length = usize::from(fields.u16("key")?);
        let note_length = usize::from(fields.u16("note")?);
        Ok(Self { origin_ms, start_ms, end_ms, count, window_ms, missed_max, jitter_ms, failures_max, dst, missed, overlap, when: reader.bytes(when_length, "when")?, zone: reader.bytes(zone_length, "zone")?, key: reader.bytes(key_length, "key")?, note: reader.bytes(note_length, "note")? })
    }
}

/// What the jobs of a schedule have in common.
pub(crate) struct JobTemplate<P> {
    /// As in PUSH.
    pub(crate) priority: u32,
    /// As in PUSH.
    pub(crate) ttr_ms: u32,
    /// As in PUSH. An expiry after a duration counts from when each job is pushed.
    pub(crate) attributes: P,
    /// What the consumer gets; at most `body_bytes_max` bytes.
    pub(crate) body: P,
}

impl JobTemplate<&[u8]> {
    /// Bytes of the fixed part.
    pub(crate) const FIXED_BYTES: usize = 14;

    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<14>::new()
            .u32(self.priority)
            .u32(self.ttr_ms)
            .length16(self.attributes.len())
            .length32(self.body.len())
            .write(out);
        put_piece(out, self.attributes);
        put_piece(out, self.body);
    }
}

impl JobTemplate<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let priority = fields.u32("priority")?;
        let ttr_ms = fields.u32("ttr_ms")?;
        let attributes_length = usize::from(fields.u16("attributes")?);
        let body_length = fields.u32("body")? as usize;
        Ok(Self { priority, ttr_ms, attributes: reader.bytes(attributes_length, "attributes")?, body: reader.bytes(body_length, "body")? })
    }
}

/// Where a group stands.
pub(crate) struct GroupState<P> {
    /// Its jobs that wait for a consumer.
    pub(crate) ready: u64,
    /// Its jobs that a consumer has.
    pub(crate) reserved: u64,
    /// For how long the next of them has been ready; 0 if none is.
    pub(crate) oldest_ms: u64,
    /// Until when hold lasts, on the wall clock; 0 if that is not known.
    pub(crate) until_ms: u64,
    /// How many jobs it gives at a turn.
    pub(crate) weight: u32,
    /// What holds it back.
    pub(crate) hold: u8,
    /// 1 if an operator paused it.
    pub(crate) paused: u8,
    /// Its name.
    pub(crate) name: P,
}

impl GroupState<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<39>::new()
            .u64(self.ready)
            .u64(self.reserved)
            .u64(self.oldest_ms)
            .u64(self.until_ms)
            .u32(self.weight)
            .u8(self.hold)
            .u8(self.paused)
            .length8(self.name.len())
            .write(out);
        put_piece(out, self.name);
    }
}

impl GroupState<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let ready = fields.u64("ready")?;
        let reserved = fields.u64("reserved")?;
        let oldest_ms = fields.u64("oldest_ms")?;
        let until_ms = fields.u64("until_ms")?;
        let weight = fields.u32("weight")?;
        let hold = fields.u8("hold")?;
        let paused = fields.u8("paused")?;
        let name_length = usize::from(fields.u8("name")?);
        Ok(Self { ready, reserved, oldest_ms, until_ms, weight, hold, paused, name: reader.bytes(name_length, "name")? })
    }
}

/// One reason why a job, a topic or a group gives nothing now.
pub(crate) struct Reason<P> {
    /// The reason.
    pub(crate) why: u8,
    /// When it began, on the wall clock; 0 if that is not known.
    pub(crate) since_ms: u64,
    /// When it ends, on the wall clock; 0 if that is not known.
    pub(crate) until_ms: u64,
    /// With `behind`: how many jobs come first; with a limit of leases: how many there are; else 0.
    pub(crate) jobs: u64,
    /// One sentence for a person. It may change between versions: decide by the reason.
    pub(crate) text: P,
}

impl Reason<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<27>::new()
            .u8(self.why)
            .u64(self.since_ms)
            .u64(self.until_ms)
            .u64(self.jobs)
            .length16(self.text.len())
            .write(out);
        put_piece(out, self.text);
    }
}

impl Reason<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let why = fields.u8("why")?;
        let since_ms = fields.u64("since_ms")?;
        let until_ms = fields.u64("until_ms")?;
        let jobs = fields.u64("jobs")?;
        let text_length = usize::from(fields.u16("text")?);
        Ok(Self { why, since_ms, until_ms, jobs, text: reader.bytes(text_length, "text")? })
    }
}

/// Where a schedule stands.
pub(crate) struct ScheduleState {
    /// Its id.
    pub(crate) schedule: u64,
    /// Its next instant; 0 if there is none any more.
    pub(crate) next_ms: u64,
    /// Instants at which it pushed a job.
    pub(crate) fired: u64,
    /// How often it was set.
    pub(crate) version: u32,
    /// Its jobs that have not ended.
    pub(crate) running: u32,
    /// Jobs that failed one after another until now.
    pub(crate) failures: u32,
    /// Why it does not fire at present.
    pub(crate) paused: u8,
    /// What is so.
    pub(crate) marks: u8,
}

impl ScheduleState {
    /// Bytes of the fixed part.
    pub(crate) const FIXED_BYTES: usize = 38;

    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<38>::new()
            .u64(self.schedule)
            .u64(self.next_ms)
            .u64(self.fired)
            .u32(self.version)
            .u32(self.running)
            .u32(self.failures)
            .u8(self.paused)
            .u8(self.marks)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let schedule = fields.u64("schedule")?;
        let next_ms = fields.u64("next_ms")?;
        let fired = fields.u64("fired")?;
        let version = fields.u32("version")?;
        let running = fields.u32("running")?;
        let failures = fields.u32("failures")?;
        let paused = fields.u8("paused")?;
        let marks = fields.u8("marks")?;
        Ok(Self { schedule, next_ms, fired, version, running, failures, paused, marks })
    }
}

/// What a schedule did at an instant, or at several ones.
pub(crate) struct Firing {
    /// The instant; the first of several that it skipped together.
    pub(crate) instant_ms: u64,
    /// The last of them.
    pub(crate) last_ms: u64,
    /// How many they are; 10,000 means that or more.
    pub(crate) instants: u64,
    /// When the schedule fired or skipped it.
    pub(crate) at_ms: u64,
    /// The job that it pushed, or 0.
    pub(crate) job: u64,
    /// What became of it.
    pub(crate) fired: u8,
}

impl Firing {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<41>::new()
            .u64(self.instant_ms)
            .u64(self.last_ms)
            .u64(self.instants)
            .u64(self.at_ms)
            .u64(self.job)
            .u8(self.fired)
            .write(out);
    }

    /// Reads it.
    #[inline]
    pub(crate) fn take(_: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let instant_ms = fields.u64("instant_ms")?;
        let last_ms = fields.u64("last_ms")?;
        let instants = fields.u64("instants")?;
        let at_ms = fields.u64("at_ms")?;
        let job = fields.u64("job")?;
        let fired = fields.u8("fired")?;
        Ok(Self { instant_ms, last_ms, instants, at_ms, job, fired })
    }
}

/// An instant, and what the clocks of its zone show.
pub(crate) struct LocalInstant<P> {
    /// The instant.
    pub(crate) instant_ms: u64,
    /// Date, time, offset and abbreviation in the zone, for example `2027-03-28 03:00:00 +02:00 CEST`.
    pub(crate) local: P,
}

impl LocalInstant<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<9>::new()
            .u64(self.instant_ms)
            .length8(self.local.len())
            .write(out);
        put_piece(out, self.local);
    }
}

impl LocalInstant<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let instant_ms = fields.u64("instant_ms")?;
        let local_length = usize::from(fields.u8("local")?);
        Ok(Self { instant_ms, local: reader.bytes(local_length, "local")? })
    }
}

/// A schedule on a page of a list.
pub(crate) struct ListedSchedule<P> {
    /// Where a schedule stands.
    pub(crate) schedule_state: ScheduleState,
    /// When a schedule fires, and what it does then.
    pub(crate) schedule_rules: ScheduleRules<P>,
    /// The topic of its jobs.
    pub(crate) topic: P,
    /// Its name.
    pub(crate) name: P,
    /// What the user who paused it noted; empty for nothing.
    pub(crate) pause_note: P,
}

impl ListedSchedule<&[u8]> {
    /// Writes it.
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        Fixed::<104>::new()
            .u64(self.schedule_state.schedule)
            .u64(self.schedule_state.next_ms)
            .u64(self.schedule_state.fired)
            .u32(self.schedule_state.version)
            .u32(self.schedule_state.running)
            .u32(self.schedule_state.failures)
            .u8(self.schedule_state.paused)
            .u8(self.schedule_state.marks)
            .u64(self.schedule_rules.origin_ms)
            .u64(self.schedule_rules.start_ms)
            .u64(self.schedule_rules.end_ms)
            .u64(self.schedule_rules.count)
            .u64(self.schedule_rules.window_ms)
            .u32(self.schedule_rules.missed_max)
            .u32(self.schedule_rules.jitter_ms)
            .u32(self.schedule_rules.failures_max)
            .u8(self.schedule_rules.dst)
            .u8(self.schedule_rules.missed)
            .u8(self.schedule_rules.overlap)
            .length16(self.schedule_rules.when.len())
            .length8(self.schedule_rules.zone.len())
            .length16(self.schedule_rules.key.len())
            .length16(self.schedule_rules.note.len())
            .length8(self.topic.len())
            .length8(self.name.len())
            .length16(self.pause_note.len())
            .write(out);
        put_piece(out, self.schedule_rules.when);
        put_piece(out, self.schedule_rules.zone);
        put_piece(out, self.schedule_rules.key);
        put_piece(out, self.schedule_rules.note);
        put_piece(out, self.topic);
        put_piece(out, self.name);
        put_piece(out, self.pause_note);
    }
}

impl ListedSchedule<Bytes> {
    /// Reads it.
    #[inline]
    pub(crate) fn take(reader: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let schedule = fields.u64("schedule")?;
        let next_ms = fields.u64("next_ms")?;
        let fired = fields.u64("fired")?;
        let version = fields.u32("version")?;
        let running = fields.u32("running")?;
        let failures = fields.u32("failures")?;
        let paused = fields.u8("paused")?;
        let marks = fields.u8("marks")?;
        let origin_ms = fields.u64("origin_ms")?;
        let start_ms = fields.u64("start_ms")?;
        let end_ms = fields.u64("end_ms")?;
        let count = fields.u64("count")?;
        let window_ms = fields.u64("window_ms")?;
        let missed_max = fields.u32("missed_max")?;
        let jitter_ms = fields.u32("jitter_ms")?;
        let failures_max = fields.u32("failures_max")?;
        let dst = fields.u8("dst")?;
        let missed = fields.u8("missed")?;
        let overlap = fields.u8("overlap")?;
        let when_length = usize::from(fields.u16("when")?);
        let zone_length = usize::from(fields.u8("zone")?);
        let key_length = usize::from(fields.u16("key")?);
        let note_length = usize::from(fields.u16("note")?);
        let topic_length = usize::from(fields.u8("topic")?);
        let name_length = usize::from(fields.u8("name")?);
        let pause_note_length = usize::from(fields.u16("pause_note")?);
        Ok(Self { schedule_state: ScheduleState { schedule, next_ms, fired, version, running, failures, paused, marks }, schedule_rules: ScheduleRules { origin_ms, start_ms, end_ms, count, window_ms, missed_max, jitter_ms, failures_max, dst, missed, overlap, when: reader.bytes(when_length, "when")?, zone: reader.bytes(zone_length, "zone")?, key: reader.bytes(key_length, "key")?, note: reader.bytes(note_length, "note")? }, topic: reader.bytes(topic_length, "topic")?, name: reader.bytes(name_length, "name")?, pause_note: reader.bytes(pause_note_length, "pause_note")? })
    }
}
