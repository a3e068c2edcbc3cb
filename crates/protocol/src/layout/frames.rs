//! The payloads of frames. Bytes behind the last field come from a newer peer: they are not read.
//!
//! Generated from `schema/` by `make generate`: do not edit.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::records;
use crate::decode_error::DecodeError;
use crate::field::{Field as _, JobRef};
use crate::wire::{Fixed, Reader, put_list};

/// Opens the conversation; the first frame on every connection.
pub(crate) struct Hello<P> {
    /// The oldest protocol version that the client speaks.
    pub(crate) version_min: u16,
    /// The newest one.
    pub(crate) version_max: u16,
    /// What the client wants.
    pub(crate) options: u32,
    /// The heartbeat that the client asks for, see heartbeats; 0 takes the server's.
    pub(crate) heartbeat_ms: u32,
    /// The session to resume; 0 opens a new one.
    pub(crate) session: u64,
    /// The secret of that session; zeros without one.
    pub(crate) secret: [u8; 16],
    /// At most 64 bytes, for the server's logs.
    pub(crate) client_name: P,
    /// Authentication token, at most 256 bytes; empty for none.
    pub(crate) token: P,
}

impl Hello<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<41>::new().array(*b"ADJ1").u16(self.version_min).u16(self.version_max).u32(self.options).u32(self.heartbeat_ms).u64(self.session).array(self.secret).length8(self.client_name.len()).write(out);
        out.put_slice(self.client_name);
        Fixed::<2>::new().length16(self.token.len()).write(out);
        out.put_slice(self.token);
    }
}

impl Hello<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if reader.array("magic")? != *b"ADJ1" {
            return Err(DecodeError::Magic);
        }
        let version_min = reader.u16("version_min")?;
        let version_max = reader.u16("version_max")?;
        let options = reader.u32("options")?;
        let heartbeat_ms = reader.u32("heartbeat_ms")?;
        let session = reader.u64("session")?;
        let secret = reader.array("secret")?;
        let client_name = reader.bytes8("client_name")?;
        let token = reader.bytes16("token")?;
        Ok(Self { version_min, version_max, options, heartbeat_ms, session, secret, client_name, token })
    }
}

/// Adds jobs to one topic.
pub(crate) struct Push<P, L> {
    /// Number of the first job, see exactly-once push; 0 for no protection against repeats.
    pub(crate) sequence: u64,
    /// The topic of all jobs.
    pub(crate) topic: P,
    /// 1 to `push_jobs_max` jobs.
    pub(crate) jobs: L,
    /// Instead of a sequence: a number under which a repeat is known, see idempotency keys. Absent or 0 for none.
    pub(crate) idempotency: Option<u128>,
    /// How many jobs the list has, if it goes in several PUSHes under one idempotency key. Absent or 0: this PUSH is the whole list.
    pub(crate) list_jobs: Option<u32>,
}

impl<'a, L: ExactSizeIterator<Item = records::NewJob<&'a [u8]>>> Push<&'a [u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<9>::new().u64(self.sequence).length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        put_list(out, 26, self.jobs.len());
        self.jobs.for_each(|item| item.put(out));
        if let Some(idempotency) = self.idempotency {
            Fixed::<16>::new().array(idempotency.to_le_bytes()).write(out);
        }
        if let Some(list_jobs) = self.list_jobs {
            Fixed::<4>::new().u32(list_jobs).write(out);
        }
    }
}

impl<L> Push<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_jobs: impl FnMut(records::NewJob<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let sequence = reader.u64("sequence")?;
        let topic = reader.bytes8("topic")?;
        let jobs = {
            let head = reader.list_of_some::<26>("jobs", 4096)?;
            reader.items(head, |reader, fields| make_jobs(records::NewJob::<Bytes>::take(reader, fields)?))?
        };
        let idempotency = if reader.is_at_end() { None } else { Some(u128::from_le_bytes(reader.array("idempotency")?)) };
        let list_jobs = if reader.is_at_end() { None } else { Some(reader.u32("list_jobs")?) };
        Ok(Self { sequence, topic, jobs, idempotency, list_jobs })
    }
}

/// Long-poll: waits for jobs of some topics.
pub(crate) struct Reserve<L, M> {
    /// Answer without a job after this time; at most 3,600,000. 0 does not wait: such a RESERVE is ordered like a change.
    pub(crate) wait_ms: u64,
    /// 1 to `reserve_jobs_max`.
    pub(crate) jobs_max: u32,
    /// 1 to 64 topics.
    pub(crate) topics: L,
    /// One per topic, in the same order, each at least 1; empty or absent for no weights.
    pub(crate) weights: M,
}

impl<'a, L: ExactSizeIterator<Item = &'a [u8]>, M: ExactSizeIterator<Item = u16>> Reserve<L, M> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<12>::new().u64(self.wait_ms).u32(self.jobs_max).write(out);
        put_list(out, 1, self.topics.len());
        for text in self.topics {
            Fixed::<1>::new().length8(text.len()).write(out);
            out.put_slice(text);
        }
        if self.weights.len() > 0 {
            put_list(out, 2, self.weights.len());
            self.weights.for_each(|number| out.put_u16_le(number));
        }
    }
}

impl Reserve<Vec<Bytes>, Vec<u16>> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let wait_ms = reader.u64("wait_ms")?;
        let jobs_max = reader.u32("jobs_max")?;
        let topics = {
            let head = reader.list_of_some::<1>("topics", 64)?;
            reader.items(head, |reader, mut fields| {
            let bytes = usize::from(fields.u8("topic")?);
            reader.bytes(bytes, "topic")
        })?
        };
        let weights = if reader.is_at_end() { Vec::new() } else { {
            let head = reader.list::<2>("weights", 64)?;
            reader.items(head, |_, mut fields| fields.u16("weight"))?
        } };
        Ok(Self { wait_ms, jobs_max, topics, weights })
    }
}

/// Asks for jobs to be sent as they become ready.
pub(crate) struct Subscribe<L, M> {
    /// Most jobs held at once, at most 65,536.
    pub(crate) credit_jobs: u32,
    /// Most bytes of bodies held at once, at most 268,435,456.
    pub(crate) credit_bytes: u64,
    /// As in RESERVE.
    pub(crate) topics: L,
    /// As in RESERVE.
    pub(crate) weights: M,
}

impl<'a, L: ExactSizeIterator<Item = &'a [u8]>, M: ExactSizeIterator<Item = u16>> Subscribe<L, M> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<12>::new().u32(self.credit_jobs).u64(self.credit_bytes).write(out);
        put_list(out, 1, self.topics.len());
        for text in self.topics {
            Fixed::<1>::new().length8(text.len()).write(out);
            out.put_slice(text);
        }
        if self.weights.len() > 0 {
            put_list(out, 2, self.weights.len());
            self.weights.for_each(|number| out.put_u16_le(number));
        }
    }
}

impl Subscribe<Vec<Bytes>, Vec<u16>> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let credit_jobs = reader.u32("credit_jobs")?;
        let credit_bytes = reader.u64("credit_bytes")?;
        let topics = {
            let head = reader.list_of_some::<1>("topics", 64)?;
            reader.items(head, |reader, mut fields| {
            let bytes = usize::from(fields.u8("topic")?);
            reader.bytes(bytes, "topic")
        })?
        };
        let weights = if reader.is_at_end() { Vec::new() } else { {
            let head = reader.list::<2>("weights", 64)?;
            reader.items(head, |_, mut fields| fields.u16("weight"))?
        } };
        Ok(Self { credit_jobs, credit_bytes, topics, weights })
    }
}

/// Shows jobs, a page at a time.
pub(crate) struct List<P> {
    /// Most jobs on the page: 1 to `LIST_JOBS_MAX`.
    pub(crate) jobs_max: u32,
    /// In which order.
    pub(crate) order: u8,
    /// What to show.
    pub(crate) marks: u8,
    /// The cursor of the previous page; empty for the first page.
    pub(crate) cursor: P,
    /// The conditions that the jobs meet.
    pub(crate) filter: P,
}

impl List<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<8>::new().u32(self.jobs_max).u8(self.order).u8(self.marks).length16(self.cursor.len()).write(out);
        out.put_slice(self.cursor);
        Fixed::<2>::new().length16(self.filter.len()).write(out);
        out.put_slice(self.filter);
    }
}

impl List<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let jobs_max = reader.u32("jobs_max")?;
        let order = reader.u8("order")?;
        let marks = reader.u8("marks")?;
        let cursor = reader.bytes16("cursor")?;
        let filter = reader.bytes16("filter")?;
        Ok(Self { jobs_max, order, marks, cursor, filter })
    }
}

/// Counts the jobs that match, all together or by when they are due.
pub(crate) struct Count<P> {
    /// The conditions that the jobs meet, as in LIST.
    pub(crate) filter: P,
    /// Counts the jobs by when they are due, too, in so many bars. Absent or 0: only all together.
    pub(crate) bars: Option<u32>,
    /// Where the first bar begins, on the wall clock, in milliseconds.
    pub(crate) bars_from_ms: Option<u64>,
    /// The width of a bar in milliseconds, at least 1 if there are bars.
    pub(crate) bar_ms: Option<u64>,
}

impl Count<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<2>::new().length16(self.filter.len()).write(out);
        out.put_slice(self.filter);
        if let Some(bars) = self.bars {
            Fixed::<4>::new().u32(bars).write(out);
        }
        if let Some(bars_from_ms) = self.bars_from_ms {
            Fixed::<8>::new().u64(bars_from_ms).write(out);
        }
        if let Some(bar_ms) = self.bar_ms {
            Fixed::<8>::new().u64(bar_ms).write(out);
        }
    }
}

impl Count<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let filter = reader.bytes16("filter")?;
        let bars = if reader.is_at_end() { None } else { Some(reader.u32("bars")?) };
        let bars_from_ms = if reader.is_at_end() { None } else { Some(reader.u64("bars_from_ms")?) };
        let bar_ms = if reader.is_at_end() { None } else { Some(reader.u64("bar_ms")?) };
        Ok(Self { filter, bars, bars_from_ms, bar_ms })
    }
}

/// Does the same to many jobs, a bounded number with each request.
pub(crate) struct Bulk<P> {
    /// Most jobs to change in this step: 1 to `BULK_JOBS_MAX`.
    pub(crate) jobs_max: u32,
    /// What to do to each: the same effect as the request for one job.
    pub(crate) change: u8,
    /// For 3: the new due time, on the wall clock. Else 0, which is not looked at.
    pub(crate) due_ms: u64,
    /// The cursor of the previous step; empty for the first step.
    pub(crate) cursor: P,
    /// The conditions that the jobs meet, as in LIST.
    pub(crate) filter: P,
    /// With 4: the topic to which the jobs go. Else absent or empty.
    pub(crate) to: Option<P>,
}

impl Bulk<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<15>::new().u32(self.jobs_max).u8(self.change).u64(self.due_ms).length16(self.cursor.len()).write(out);
        out.put_slice(self.cursor);
        Fixed::<2>::new().length16(self.filter.len()).write(out);
        out.put_slice(self.filter);
        if let Some(to) = self.to {
            Fixed::<1>::new().length8(to.len()).write(out);
            out.put_slice(to);
        }
    }
}

impl Bulk<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let jobs_max = reader.u32("jobs_max")?;
        let change = reader.u8("change")?;
        let due_ms = reader.u64("due_ms")?;
        let cursor = reader.bytes16("cursor")?;
        let filter = reader.bytes16("filter")?;
        let to = if reader.is_at_end() { None } else { Some(reader.bytes8("to")?) };
        Ok(Self { jobs_max, change, due_ms, cursor, filter, to })
    }
}

/// Changes parts of one delayed, ready or buried job.
pub(crate) struct Edit<P> {
    /// With due_kind: the new due point.
    pub(crate) due_ms: u64,
    /// The new priority, as in PUSH.
    pub(crate) priority: u32,
    /// The new time of a lease, as in PUSH.
    pub(crate) ttr_ms: u32,
    /// The parts that change; at least one. The fields of other parts must be valid, and are not used.
    pub(crate) edited: u16,
    /// How due_ms counts.
    pub(crate) due_kind: u8,
    /// The job.
    pub(crate) job: JobRef,
    /// The new attributes of the parts that change. One that is missing here is taken away: the topic's default then counts, if there is one.
    pub(crate) attributes: P,
    /// The new body; at most `body_bytes_max` bytes.
    pub(crate) body: P,
    /// Only if the job is still of this version; absent or 0: in any case.
    pub(crate) if_version: Option<u64>,
}

impl Edit<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<19>::new().u64(self.due_ms).u32(self.priority).u32(self.ttr_ms).u16(self.edited).u8(self.due_kind).write(out);
        self.job.put(out);
        Fixed::<2>::new().length16(self.attributes.len()).write(out);
        out.put_slice(self.attributes);
        Fixed::<4>::new().length32(self.body.len()).write(out);
        out.put_slice(self.body);
        if let Some(if_version) = self.if_version {
            Fixed::<8>::new().u64(if_version).write(out);
        }
    }
}

impl Edit<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let due_ms = reader.u64("due_ms")?;
        let priority = reader.u32("priority")?;
        let ttr_ms = reader.u32("ttr_ms")?;
        let edited = reader.u16("edited")?;
        let due_kind = reader.u8("due_kind")?;
        let job = JobRef::take(reader, "ref")?;
        let attributes = reader.bytes16("attributes")?;
        let body = reader.bytes32("body")?;
        let if_version = if reader.is_at_end() { None } else { Some(reader.u64("if_version")?) };
        Ok(Self { due_ms, priority, ttr_ms, edited, due_kind, job, attributes, body, if_version })
    }
}

/// Changes what a topic decides for its jobs. The topic is made if it is new.
pub(crate) struct TopicSet<P> {
    /// The topic whose policy changes.
    pub(crate) topic: P,
    /// The settings to change, in rising order of their tags. An empty value takes a setting away.
    pub(crate) settings: P,
}

impl TopicSet<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<1>::new().length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        Fixed::<2>::new().length16(self.settings.len()).write(out);
        out.put_slice(self.settings);
    }
}

impl TopicSet<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let topic = reader.bytes8("topic")?;
        let settings = reader.bytes16("settings")?;
        Ok(Self { topic, settings })
    }
}

/// Moves the clock of a server for tests. Answered when everything that is due by then is carried out.
pub(crate) struct Advance {
    /// How far the clock moves.
    pub(crate) step: u8,
    /// With 0: the duration; else 0, which is not looked at.
    pub(crate) by_ms: u64,
}

impl Advance {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<9>::new().u8(self.step).u64(self.by_ms).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let step = reader.u8("step")?;
        let by_ms = reader.u64("by_ms")?;
        Ok(Self { step, by_ms })
    }
}

/// Says when a schedule with these rules would fire, without setting it.
pub(crate) struct SchedulePreview<P> {
    /// When it fires. Without an origin, `@every` counts from *start_ms*, or else from *from_ms*.
    pub(crate) rules: records::ScheduleRules<P>,
    /// Only instants after this time; 0 for now.
    pub(crate) from_ms: u64,
    /// 1 to `INSTANTS_SHOWN_MAX`.
    pub(crate) instants_max: u32,
}

impl SchedulePreview<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        self.rules.put(out);
        Fixed::<12>::new().u64(self.from_ms).u32(self.instants_max).write(out);
    }
}

impl SchedulePreview<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let rules = {
            let fields = reader.part(records::ScheduleRules::<&[u8]>::FIXED_BYTES, "rules")?;
            records::ScheduleRules::<Bytes>::take(reader, fields)?
        };
        let from_ms = reader.u64("from_ms")?;
        let instants_max = reader.u32("instants_max")?;
        Ok(Self { rules, from_ms, instants_max })
    }
}

/// Changes the settings of one group. With weight 1 and not paused it has none.
pub(crate) struct GroupSet<P> {
    /// How many jobs it gives at a turn, 1 to `GROUP_WEIGHT_MAX`; 0: as before.
    pub(crate) weight: u32,
    /// Whether it is paused or resumed.
    pub(crate) pause: u8,
    /// Its topic.
    pub(crate) topic: P,
    /// Its name.
    pub(crate) group: P,
}

impl GroupSet<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<6>::new().u32(self.weight).u8(self.pause).length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        Fixed::<1>::new().length8(self.group.len()).write(out);
        out.put_slice(self.group);
    }
}

impl GroupSet<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let weight = reader.u32("weight")?;
        let pause = reader.u8("pause")?;
        let topic = reader.bytes8("topic")?;
        let group = reader.bytes8("group")?;
        Ok(Self { weight, pause, topic, group })
    }
}

/// Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name.
pub(crate) struct GroupList<P> {
    /// 1 to `GROUPS_LISTED_MAX`.
    pub(crate) groups_max: u32,
    /// Their topic.
    pub(crate) topic: P,
    /// Only those with names after this one; empty for the first page, and then what the page before says.
    pub(crate) after: P,
    /// Only those whose names begin like this.
    pub(crate) prefix: P,
}

impl GroupList<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<5>::new().u32(self.groups_max).length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        Fixed::<1>::new().length8(self.after.len()).write(out);
        out.put_slice(self.after);
        Fixed::<1>::new().length8(self.prefix.len()).write(out);
        out.put_slice(self.prefix);
    }
}

impl GroupList<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let groups_max = reader.u32("groups_max")?;
        let topic = reader.bytes8("topic")?;
        let after = reader.bytes8("after")?;
        let prefix = reader.bytes8("prefix")?;
        Ok(Self { groups_max, topic, after, prefix })
    }
}

/// Creates a schedule, or gives the one of this name another content. The topic is made if it is new.
pub(crate) struct ScheduleSet<P> {
    /// The topic of its jobs. The token needs the right to push there, too.
    pub(crate) topic: P,
    /// Its name, unique in the topic.
    pub(crate) name: P,
    /// When it fires.
    pub(crate) rules: records::ScheduleRules<P>,
    /// Its jobs.
    pub(crate) template: records::JobTemplate<P>,
    /// Only if it was set so often; 4,294,967,295: only if there is none. Absent or 0: in any case.
    pub(crate) if_version: Option<u32>,
}

impl ScheduleSet<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<1>::new().length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        Fixed::<1>::new().length8(self.name.len()).write(out);
        out.put_slice(self.name);
        self.rules.put(out);
        self.template.put(out);
        if let Some(if_version) = self.if_version {
            Fixed::<4>::new().u32(if_version).write(out);
        }
    }
}

impl ScheduleSet<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let topic = reader.bytes8("topic")?;
        let name = reader.bytes8("name")?;
        let rules = {
            let fields = reader.part(records::ScheduleRules::<&[u8]>::FIXED_BYTES, "rules")?;
            records::ScheduleRules::<Bytes>::take(reader, fields)?
        };
        let template = {
            let fields = reader.part(records::JobTemplate::<&[u8]>::FIXED_BYTES, "template")?;
            records::JobTemplate::<Bytes>::take(reader, fields)?
        };
        let if_version = if reader.is_at_end() { None } else { Some(reader.u32("if_version")?) };
        Ok(Self { topic, name, rules, template, if_version })
    }
}

/// Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the order in which they were made.
pub(crate) struct ScheduleList<P> {
    /// 1 to `SCHEDULES_LISTED_MAX`.
    pub(crate) schedules_max: u32,
    /// Only those with a next instant before this one; 0 for all.
    pub(crate) next_before_ms: u64,
    /// Only those that are paused, or those that are not.
    pub(crate) paused: u8,
    /// The topic of their jobs; empty for all topics.
    pub(crate) topic: P,
    /// Only those whose names begin like this.
    pub(crate) prefix: P,
    /// The cursor of the previous page; empty for the first page.
    pub(crate) cursor: P,
}

impl ScheduleList<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<14>::new().u32(self.schedules_max).u64(self.next_before_ms).u8(self.paused).length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        Fixed::<1>::new().length8(self.prefix.len()).write(out);
        out.put_slice(self.prefix);
        Fixed::<2>::new().length16(self.cursor.len()).write(out);
        out.put_slice(self.cursor);
    }
}

impl ScheduleList<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let schedules_max = reader.u32("schedules_max")?;
        let next_before_ms = reader.u64("next_before_ms")?;
        let paused = reader.u8("paused")?;
        let topic = reader.bytes8("topic")?;
        let prefix = reader.bytes8("prefix")?;
        let cursor = reader.bytes16("cursor")?;
        Ok(Self { schedules_max, next_before_ms, paused, topic, prefix, cursor })
    }
}

/// Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic has a job with the key of the instant.
pub(crate) struct ScheduleFill<P> {
    /// The first time that counts; for the next part what the part before says.
    pub(crate) from_ms: u64,
    /// The last time that counts. It must not be ahead.
    pub(crate) to_ms: u64,
    /// 1: it pushes nothing, and counts the instants.
    pub(crate) dry_run: u8,
    /// The topic of its jobs. The token needs the right to read there, too; for a dry run that right alone.
    pub(crate) topic: P,
    /// Its name.
    pub(crate) name: P,
}

impl ScheduleFill<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<18>::new().u64(self.from_ms).u64(self.to_ms).u8(self.dry_run).length8(self.topic.len()).write(out);
        out.put_slice(self.topic);
        Fixed::<1>::new().length8(self.name.len()).write(out);
        out.put_slice(self.name);
    }
}

impl ScheduleFill<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let from_ms = reader.u64("from_ms")?;
        let to_ms = reader.u64("to_ms")?;
        let dry_run = reader.u8("dry_run")?;
        let topic = reader.bytes8("topic")?;
        let name = reader.bytes8("name")?;
        Ok(Self { from_ms, to_ms, dry_run, topic, name })
    }
}

/// The answer to HELLO.
pub(crate) struct Welcome<P, L> {
    /// The version in use from now on: the newest that both sides speak.
    pub(crate) version: u16,
    /// What became of the session.
    pub(crate) marks: u8,
    /// Id of the cluster. A different id after a reconnect means a different queue.
    pub(crate) cluster_id: [u8; 16],
    /// The session, resumed or new; 0 without one.
    pub(crate) session: u64,
    /// Needed to resume the session; zeros without one. Keep it as safe as a password: it gives access to the session's leases.
    pub(crate) secret: [u8; 16],
    /// See heartbeats.
    pub(crate) heartbeat_ms: u32,
    /// How long the queue keeps the leases of a lost connection, see how long a lease is the client's own.
    pub(crate) session_grace_ms: u32,
    /// Largest length field of a request.
    pub(crate) frame_bytes_max: u32,
    /// Largest body of a job.
    pub(crate) body_bytes_max: u32,
    /// Most jobs in one PUSH.
    pub(crate) push_jobs_max: u32,
    /// Most leases in one FINISH, RELEASE, TOUCH or BURY.
    pub(crate) leases_max: u32,
    /// Most jobs that one RESERVE may ask for.
    pub(crate) reserve_jobs_max: u32,
    /// Most unanswered requests on the connection.
    pub(crate) in_flight_max: u32,
    /// For the client's logs.
    pub(crate) server_name: P,
    /// The nodes of the cluster.
    pub(crate) members: L,
    /// Value of the server's monotonic clock; 0 or absent: not shown.
    pub(crate) clock_ms: u64,
}

impl<'a, L: ExactSizeIterator<Item = records::Member<&'a [u8]>>> Welcome<&'a [u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<76>::new().u16(self.version).u8(self.marks).array(self.cluster_id).u64(self.session).array(self.secret).u32(self.heartbeat_ms).u32(self.session_grace_ms).u32(self.frame_bytes_max).u32(self.body_bytes_max).u32(self.push_jobs_max).u32(self.leases_max).u32(self.reserve_jobs_max).u32(self.in_flight_max).length8(self.server_name.len()).write(out);
        out.put_slice(self.server_name);
        put_list(out, 10, self.members.len());
        self.members.for_each(|item| item.put(out));
        Fixed::<8>::new().u64(self.clock_ms).write(out);
    }
}

impl<L> Welcome<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_members: impl FnMut(records::Member<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let version = reader.u16("version")?;
        let marks = reader.u8("marks")?;
        let cluster_id = reader.array("cluster_id")?;
        let session = reader.u64("session")?;
        let secret = reader.array("secret")?;
        let heartbeat_ms = reader.u32("heartbeat_ms")?;
        let session_grace_ms = reader.u32("session_grace_ms")?;
        let frame_bytes_max = reader.u32("frame_bytes_max")?;
        let body_bytes_max = reader.u32("body_bytes_max")?;
        let push_jobs_max = reader.u32("push_jobs_max")?;
        let leases_max = reader.u32("leases_max")?;
        let reserve_jobs_max = reader.u32("reserve_jobs_max")?;
        let in_flight_max = reader.u32("in_flight_max")?;
        let server_name = reader.bytes8("server_name")?;
        let members = {
            let head = reader.list::<10>("members", usize::MAX)?;
            reader.items(head, |reader, fields| make_members(records::Member::<Bytes>::take(reader, fields)?))?
        };
        let clock_ms = if reader.is_at_end() { 0 } else { reader.u64("clock_ms")? };
        Ok(Self { version, marks, cluster_id, session, secret, heartbeat_ms, session_grace_ms, frame_bytes_max, body_bytes_max, push_jobs_max, leases_max, reserve_jobs_max, in_flight_max, server_name, members, clock_ms })
    }
}

/// The answer to PING: at some moment after it was sent this node led, and the session was connected to it.
pub(crate) struct Pong {
    /// The server's wall clock, in milliseconds.
    pub(crate) now: u64,
    /// The server's monotonic clock; 0 or absent: not shown.
    pub(crate) clock_ms: u64,
}

impl Pong {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<16>::new().u64(self.now).u64(self.clock_ms).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let now = reader.u64("now")?;
        let clock_ms = if reader.is_at_end() { 0 } else { reader.u64("clock_ms")? };
        Ok(Self { now, clock_ms })
    }
}

/// Unasked, under request id 0: the server is about to close the connection.
pub(crate) struct GoingAway<P> {
    /// Why, for a person.
    pub(crate) message: P,
    /// Why, for the client.
    pub(crate) reason: u8,
}

impl GoingAway<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<2>::new().length16(self.message.len()).write(out);
        out.put_slice(self.message);
        Fixed::<1>::new().u8(self.reason).write(out);
    }
}

impl GoingAway<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let message = reader.bytes16("message")?;
        let reason = if reader.is_at_end() { 0 } else { reader.u8("reason")? };
        Ok(Self { message, reason })
    }
}

/// The outcomes of a PUSH: one per job, in order.
pub(crate) struct Pushed<L> {
    /// One result per job, in order.
    pub(crate) results: L,
}

impl<L: ExactSizeIterator<Item = records::PushResult>> Pushed<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        put_list(out, 11, self.results.len());
        self.results.for_each(|item| item.put(out));
    }
}

impl<L> Pushed<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_results: impl FnMut(records::PushResult) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let results = {
            let head = reader.list::<11>("results", usize::MAX)?;
            reader.items(head, |reader, fields| make_results(records::PushResult::take(reader, fields)?))?
        };
        Ok(Self { results })
    }
}

/// The jobs of a RESERVE; none when the wait was over first.
pub(crate) struct Reserved<L> {
    /// The jobs.
    pub(crate) jobs: L,
}

impl<'a, L: ExactSizeIterator<Item = records::Delivered<&'a [u8]>>> Reserved<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        put_list(out, 53, self.jobs.len());
        self.jobs.for_each(|item| item.put(out));
    }
}

impl<L> Reserved<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_jobs: impl FnMut(records::Delivered<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let jobs = {
            let head = reader.list::<45>("jobs", usize::MAX)?;
            reader.items(head, |reader, fields| make_jobs(records::Delivered::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { jobs })
    }
}

/// A page of the leases that the session holds.
pub(crate) struct Leased<L> {
    /// What is so.
    pub(crate) marks: u8,
    /// The jobs, by id.
    pub(crate) jobs: L,
}

impl<'a, L: ExactSizeIterator<Item = records::Delivered<&'a [u8]>>> Leased<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<1>::new().u8(self.marks).write(out);
        put_list(out, 53, self.jobs.len());
        self.jobs.for_each(|item| item.put(out));
    }
}

impl<L> Leased<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_jobs: impl FnMut(records::Delivered<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let marks = reader.u8("marks")?;
        let jobs = {
            let head = reader.list::<45>("jobs", usize::MAX)?;
            reader.items(head, |reader, fields| make_jobs(records::Delivered::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { marks, jobs })
    }
}

/// The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order.
pub(crate) struct Settled<L> {
    /// One result per lease, in order.
    pub(crate) results: L,
}

impl<L: ExactSizeIterator<Item = records::SettleResult>> Settled<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        put_list(out, 2, self.results.len());
        self.results.for_each(|item| item.put(out));
    }
}

impl<L> Settled<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_results: impl FnMut(records::SettleResult) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let results = {
            let head = reader.list::<2>("results", usize::MAX)?;
            reader.items(head, |reader, fields| make_results(records::SettleResult::take(reader, fields)?))?
        };
        Ok(Self { results })
    }
}

/// One job as it stands.
pub(crate) struct Job<P> {
    /// The job.
    pub(crate) shown: records::Shown<P>,
    /// What happened to a job so far. Times are on the wall clock; 0 means that it did not happen, or is not known.
    pub(crate) past: records::Past<P>,
    /// When it was finished.
    pub(crate) finished_ms: u64,
    /// Its version; 0 for a finished job that is no longer remembered.
    pub(crate) version: u64,
}

impl Job<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        self.shown.put(out);
        Fixed::<33>::new().u64(self.past.pushed_ms).u64(self.past.reserved_first_ms).u64(self.past.reserved_last_ms).u64(self.past.edited_ms).length8(self.past.held_by.len()).write(out);
        out.put_slice(self.past.held_by);
        Fixed::<2>::new().length16(self.past.reason.len()).write(out);
        out.put_slice(self.past.reason);
        Fixed::<16>::new().u64(self.finished_ms).u64(self.version).write(out);
    }
}

impl Job<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let shown = {
            let fields = reader.part(records::Shown::<&[u8]>::FIXED_BYTES, "shown")?;
            records::Shown::<Bytes>::take(reader, fields)?
        };
        let pushed_ms = if reader.is_at_end() { 0 } else { reader.u64("pushed_ms")? };
        let reserved_first_ms = if reader.is_at_end() { 0 } else { reader.u64("reserved_first_ms")? };
        let reserved_last_ms = if reader.is_at_end() { 0 } else { reader.u64("reserved_last_ms")? };
        let edited_ms = if reader.is_at_end() { 0 } else { reader.u64("edited_ms")? };
        let held_by = if reader.is_at_end() { Bytes::new() } else { reader.bytes8("held_by")? };
        let reason = if reader.is_at_end() { Bytes::new() } else { reader.bytes16("reason")? };
        let finished_ms = if reader.is_at_end() { 0 } else { reader.u64("finished_ms")? };
        let version = if reader.is_at_end() { 0 } else { reader.u64("version")? };
        Ok(Self { shown, past: records::Past { pushed_ms, reserved_first_ms, reserved_last_ms, edited_ms, held_by, reason }, finished_ms, version })
    }
}

/// One job was changed.
pub(crate) struct Changed {
    /// Its id.
    pub(crate) job: u64,
    /// When it is due.
    pub(crate) due_ms: u64,
    /// The state in which it is now; for DELETE, the one in which it was.
    pub(crate) state: u8,
    /// Its version: after the change, and of a deleted job before it.
    pub(crate) version: u64,
}

impl Changed {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<25>::new().u64(self.job).u64(self.due_ms).u8(self.state).u64(self.version).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let job = reader.u64("job")?;
        let due_ms = reader.u64("due_ms")?;
        let state = reader.u8("state")?;
        let version = if reader.is_at_end() { 0 } else { reader.u64("version")? };
        Ok(Self { job, due_ms, state, version })
    }
}

/// Jobs were kicked.
pub(crate) struct Kicked {
    /// How many jobs are ready now that were buried.
    pub(crate) jobs: u32,
}

impl Kicked {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<4>::new().u32(self.jobs).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let jobs = reader.u32("jobs")?;
        Ok(Self { jobs })
    }
}

/// A page of jobs.
pub(crate) struct Jobs<P, L> {
    /// Where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor.
    pub(crate) cursor: P,
    /// The jobs, in the order that was asked for.
    pub(crate) jobs: L,
}

impl<'a, L: ExactSizeIterator<Item = records::Listed<&'a [u8]>>> Jobs<&'a [u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<2>::new().length16(self.cursor.len()).write(out);
        out.put_slice(self.cursor);
        put_list(out, 82, self.jobs.len());
        self.jobs.for_each(|item| item.put(out));
    }
}

impl<L> Jobs<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_jobs: impl FnMut(records::Listed<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let cursor = reader.bytes16("cursor")?;
        let jobs = {
            let head = reader.list::<82>("jobs", usize::MAX)?;
            reader.items(head, |reader, fields| make_jobs(records::Listed::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { cursor, jobs })
    }
}

/// How many jobs match.
pub(crate) struct Counted<L> {
    /// How many.
    pub(crate) jobs: u64,
    /// If bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them.
    pub(crate) by_due: L,
}

impl<L: ExactSizeIterator<Item = records::DueBar>> Counted<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<8>::new().u64(self.jobs).write(out);
        put_list(out, 16, self.by_due.len());
        self.by_due.for_each(|item| item.put(out));
    }
}

impl<L> Counted<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_by_due: impl FnMut(records::DueBar) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let jobs = reader.u64("jobs")?;
        let by_due = if reader.is_at_end() { Vec::new() } else { {
            let head = reader.list::<16>("by_due", usize::MAX)?;
            reader.items(head, |reader, fields| make_by_due(records::DueBar::take(reader, fields)?))?
        } };
        Ok(Self { jobs, by_due })
    }
}

/// How many jobs were changed.
pub(crate) struct Bulked<P> {
    /// How many jobs were changed.
    pub(crate) jobs: u32,
    /// Where the next step goes on; empty if this was the last one.
    pub(crate) cursor: P,
    /// How many met the conditions and were left as they are: their state does not allow the change, or the topic to which they were to go has their key.
    pub(crate) skipped: u32,
}

impl Bulked<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<6>::new().u32(self.jobs).length16(self.cursor.len()).write(out);
        out.put_slice(self.cursor);
        Fixed::<4>::new().u32(self.skipped).write(out);
    }
}

impl Bulked<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let jobs = reader.u32("jobs")?;
        let cursor = reader.bytes16("cursor")?;
        let skipped = if reader.is_at_end() { 0 } else { reader.u32("skipped")? };
        Ok(Self { jobs, cursor, skipped })
    }
}

/// Counts by topic.
pub(crate) struct TopicCounts<L> {
    /// Each topic, by name.
    pub(crate) topics: L,
}

impl<'a, L: ExactSizeIterator<Item = records::TopicCount<&'a [u8]>>> TopicCounts<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        put_list(out, 86, self.topics.len());
        self.topics.for_each(|item| item.put(out));
    }
}

impl<L> TopicCounts<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_topics: impl FnMut(records::TopicCount<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let topics = {
            let head = reader.list::<86>("topics", usize::MAX)?;
            reader.items(head, |reader, fields| make_topics(records::TopicCount::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { topics })
    }
}

/// Counts of the queue.
pub(crate) struct QueueStats<L, M> {
    /// The server's wall clock, in milliseconds.
    pub(crate) now: u64,
    /// How long the server has been up.
    pub(crate) uptime_ms: u64,
    /// Open connections.
    pub(crate) connections: u32,
    /// Sessions that the queue knows.
    pub(crate) sessions: u32,
    /// Consumers that wait for jobs.
    pub(crate) waiting: u32,
    /// The last index that was applied.
    pub(crate) applied_index: u64,
    /// The Raft term.
    pub(crate) term: u64,
    /// The hash of the state at that index.
    pub(crate) state_hash: u128,
    /// The sums over all topics.
    pub(crate) totals: records::Totals,
    /// Each topic, by name.
    pub(crate) topics: L,
    /// Where the time of the answering node goes.
    pub(crate) stages: M,
}

impl<'a, L: ExactSizeIterator<Item = records::TopicCount<&'a [u8]>>, M: ExactSizeIterator<Item = records::Stage<&'a [u8]>>> QueueStats<L, M> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<60>::new().u64(self.now).u64(self.uptime_ms).u32(self.connections).u32(self.sessions).u32(self.waiting).u64(self.applied_index).u64(self.term).array(self.state_hash.to_le_bytes()).write(out);
        self.totals.put(out);
        put_list(out, 86, self.topics.len());
        self.topics.for_each(|item| item.put(out));
        put_list(out, 41, self.stages.len());
        self.stages.for_each(|item| item.put(out));
    }
}

impl<L, M> QueueStats<Vec<L>, Vec<M>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_topics: impl FnMut(records::TopicCount<Bytes>) -> Result<L, DecodeError>,
        mut make_stages: impl FnMut(records::Stage<Bytes>) -> Result<M, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let now = reader.u64("now")?;
        let uptime_ms = reader.u64("uptime_ms")?;
        let connections = reader.u32("connections")?;
        let sessions = reader.u32("sessions")?;
        let waiting = reader.u32("waiting")?;
        let applied_index = reader.u64("applied_index")?;
        let term = reader.u64("term")?;
        let state_hash = u128::from_le_bytes(reader.array("state_hash")?);
        let totals = {
            let fields = reader.part(records::Totals::FIXED_BYTES, "totals")?;
            records::Totals::take(reader, fields)?
        };
        let topics = {
            let head = reader.list::<86>("topics", usize::MAX)?;
            reader.items(head, |reader, fields| make_topics(records::TopicCount::<Bytes>::take(reader, fields)?))?
        };
        let stages = if reader.is_at_end() { Vec::new() } else { {
            let head = reader.list::<41>("stages", usize::MAX)?;
            reader.items(head, |reader, fields| make_stages(records::Stage::<Bytes>::take(reader, fields)?))?
        } };
        Ok(Self { now, uptime_ms, connections, sessions, waiting, applied_index, term, state_hash, totals, topics, stages })
    }
}

/// Clients' connections.
pub(crate) struct ConnectionList<L> {
    /// What is so; a page has fewer than asked for if its connections have thousands of subscriptions.
    pub(crate) marks: u8,
    /// The connections, by number.
    pub(crate) connections: L,
}

impl<'a, L: ExactSizeIterator<Item = records::Connection<&'a [u8]>>> ConnectionList<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<1>::new().u8(self.marks).write(out);
        put_list(out, 64, self.connections.len());
        self.connections.for_each(|item| item.put(out));
    }
}

impl<L> ConnectionList<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_connections: impl FnMut(records::Connection<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let marks = reader.u8("marks")?;
        let connections = {
            let head = reader.list::<64>("connections", usize::MAX)?;
            reader.items(head, |reader, fields| make_connections(records::Connection::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { marks, connections })
    }
}

/// A topic's policy.
pub(crate) struct TopicSettings<P> {
    /// The topic's jobs that are delayed, ready, reserved or buried.
    pub(crate) jobs: u64,
    /// Bytes of their bodies. Jobs that are remembered count for neither, nor for the limits.
    pub(crate) bytes: u64,
    /// How long its pause lasts; 0 if it is not paused, or until RESUME.
    pub(crate) pause_left_ms: u64,
    /// What is so.
    pub(crate) marks: u8,
    /// The settings as in TOPIC_SET, with the server's defaults for retries where the topic does not set them.
    pub(crate) settings: P,
}

impl TopicSettings<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<27>::new().u64(self.jobs).u64(self.bytes).u64(self.pause_left_ms).u8(self.marks).length16(self.settings.len()).write(out);
        out.put_slice(self.settings);
    }
}

impl TopicSettings<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let jobs = reader.u64("jobs")?;
        let bytes = reader.u64("bytes")?;
        let pause_left_ms = reader.u64("pause_left_ms")?;
        let marks = reader.u8("marks")?;
        let settings = reader.bytes16("settings")?;
        Ok(Self { jobs, bytes, pause_left_ms, marks, settings })
    }
}

/// A backup can be read.
pub(crate) struct BackupReady {
    /// The last entry of the log that it contains.
    pub(crate) index: u64,
    /// How many jobs are in it.
    pub(crate) jobs: u64,
    /// Hash of the state, as in QUEUE_STATS at that index.
    pub(crate) state_hash: u128,
    /// How many bytes there are to be read: all of the backup but its footer.
    pub(crate) bytes: u64,
}

impl BackupReady {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<40>::new().u64(self.index).u64(self.jobs).array(self.state_hash.to_le_bytes()).u64(self.bytes).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let index = reader.u64("index")?;
        let jobs = reader.u64("jobs")?;
        let state_hash = u128::from_le_bytes(reader.array("state_hash")?);
        let bytes = reader.u64("bytes")?;
        Ok(Self { index, jobs, state_hash, bytes })
    }
}

/// A part of a backup.
pub(crate) struct BackupData<P> {
    /// The bytes at that offset; fewer than were asked for only at the end.
    pub(crate) data: P,
}

impl BackupData<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<4>::new().length32(self.data.len()).write(out);
        out.put_slice(self.data);
    }
}

impl BackupData<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let data = reader.bytes32("data")?;
        Ok(Self { data })
    }
}

/// When a schedule would fire.
pub(crate) struct Instants<P, L> {
    /// The version and the origin of the zone data, for example `2026f, bundled`.
    pub(crate) zone_data: P,
    /// The next instants, in order: fewer than were asked for if it fires no more.
    pub(crate) instants: L,
}

impl<'a, L: ExactSizeIterator<Item = records::LocalInstant<&'a [u8]>>> Instants<&'a [u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<1>::new().length8(self.zone_data.len()).write(out);
        out.put_slice(self.zone_data);
        put_list(out, 9, self.instants.len());
        self.instants.for_each(|item| item.put(out));
    }
}

impl<L> Instants<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_instants: impl FnMut(records::LocalInstant<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let zone_data = reader.bytes8("zone_data")?;
        let instants = {
            let head = reader.list::<9>("instants", usize::MAX)?;
            reader.items(head, |reader, fields| make_instants(records::LocalInstant::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { zone_data, instants })
    }
}

/// The members of the cluster, as one node sees them.
pub(crate) struct ClusterReport<L> {
    /// The node that reports.
    pub(crate) node: u64,
    /// As in WELCOME.
    pub(crate) cluster_id: [u8; 16],
    /// The leader, as far as it knows; 0 for none.
    pub(crate) leader: u64,
    /// The Raft term, which grows with each election.
    pub(crate) term: u64,
    /// The last entry in its log.
    pub(crate) last: u64,
    /// The last entry that it knows to be committed.
    pub(crate) commit: u64,
    /// What all members support; it rises when all are upgraded.
    pub(crate) feature_level: u32,
    /// The voters, then the learners. Empty on a node that waits to be added.
    pub(crate) members: L,
}

impl<'a, L: ExactSizeIterator<Item = records::Node<&'a [u8]>>> ClusterReport<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<60>::new().u64(self.node).array(self.cluster_id).u64(self.leader).u64(self.term).u64(self.last).u64(self.commit).u32(self.feature_level).write(out);
        put_list(out, 44, self.members.len());
        self.members.for_each(|item| item.put(out));
    }
}

impl<L> ClusterReport<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_members: impl FnMut(records::Node<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let node = reader.u64("node")?;
        let cluster_id = reader.array("cluster_id")?;
        let leader = reader.u64("leader")?;
        let term = reader.u64("term")?;
        let last = reader.u64("last")?;
        let commit = reader.u64("commit")?;
        let feature_level = reader.u32("feature_level")?;
        let members = {
            let head = reader.list::<44>("members", usize::MAX)?;
            reader.items(head, |reader, fields| make_members(records::Node::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { node, cluster_id, leader, term, last, commit, feature_level, members })
    }
}

/// A page of groups.
pub(crate) struct Groups<P, L> {
    /// Where the next page begins; empty on the last one.
    pub(crate) after: P,
    /// The groups, by name.
    pub(crate) groups: L,
}

impl<'a, L: ExactSizeIterator<Item = records::GroupState<&'a [u8]>>> Groups<&'a [u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<1>::new().length8(self.after.len()).write(out);
        out.put_slice(self.after);
        put_list(out, 39, self.groups.len());
        self.groups.for_each(|item| item.put(out));
    }
}

impl<L> Groups<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_groups: impl FnMut(records::GroupState<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let after = reader.bytes8("after")?;
        let groups = {
            let head = reader.list::<39>("groups", usize::MAX)?;
            reader.items(head, |reader, fields| make_groups(records::GroupState::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { after, groups })
    }
}

/// Why a job, a topic or a group gives nothing to a consumer.
pub(crate) struct Reasons<L> {
    /// The reasons, the most important one first; never empty.
    pub(crate) reasons: L,
}

impl<'a, L: ExactSizeIterator<Item = records::Reason<&'a [u8]>>> Reasons<L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        put_list(out, 27, self.reasons.len());
        self.reasons.for_each(|item| item.put(out));
    }
}

impl<L> Reasons<Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_reasons: impl FnMut(records::Reason<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let reasons = {
            let head = reader.list::<27>("reasons", usize::MAX)?;
            reader.items(head, |reader, fields| make_reasons(records::Reason::<Bytes>::take(reader, fields)?))?
        };
        Ok(Self { reasons })
    }
}

/// A schedule is set.
pub(crate) struct Scheduled {
    /// Its id.
    pub(crate) schedule: u64,
    /// How often it was set.
    pub(crate) version: u32,
    /// Its next instant; 0 if there is none.
    pub(crate) next_ms: u64,
}

impl Scheduled {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<20>::new().u64(self.schedule).u32(self.version).u64(self.next_ms).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let schedule = reader.u64("schedule")?;
        let version = reader.u32("version")?;
        let next_ms = reader.u64("next_ms")?;
        Ok(Self { schedule, version, next_ms })
    }
}

/// One schedule as it stands.
pub(crate) struct Schedule<P, L> {
    /// Where it stands.
    pub(crate) state: records::ScheduleState,
    /// What the user who paused it noted; empty for nothing.
    pub(crate) pause_note: P,
    /// When it fires.
    pub(crate) rules: records::ScheduleRules<P>,
    /// Its jobs.
    pub(crate) template: records::JobTemplate<P>,
    /// What it did of late, the oldest first; at most 20.
    pub(crate) history: L,
}

impl<L: ExactSizeIterator<Item = records::Firing>> Schedule<&[u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        self.state.put(out);
        Fixed::<2>::new().length16(self.pause_note.len()).write(out);
        out.put_slice(self.pause_note);
        self.rules.put(out);
        self.template.put(out);
        put_list(out, 41, self.history.len());
        self.history.for_each(|item| item.put(out));
    }
}

impl<L> Schedule<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_history: impl FnMut(records::Firing) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let state = {
            let fields = reader.part(records::ScheduleState::FIXED_BYTES, "state")?;
            records::ScheduleState::take(reader, fields)?
        };
        let pause_note = reader.bytes16("pause_note")?;
        let rules = {
            let fields = reader.part(records::ScheduleRules::<&[u8]>::FIXED_BYTES, "rules")?;
            records::ScheduleRules::<Bytes>::take(reader, fields)?
        };
        let template = {
            let fields = reader.part(records::JobTemplate::<&[u8]>::FIXED_BYTES, "template")?;
            records::JobTemplate::<Bytes>::take(reader, fields)?
        };
        let history = {
            let head = reader.list::<41>("history", usize::MAX)?;
            reader.items(head, |reader, fields| make_history(records::Firing::take(reader, fields)?))?
        };
        Ok(Self { state, pause_note, rules, template, history })
    }
}

/// A page of schedules.
pub(crate) struct Schedules<P, L> {
    /// The schedules: fewer than were asked for, or none, if a page comes to the limit of what is read for it.
    pub(crate) schedules: L,
    /// Where the next page goes on; empty on the last one.
    pub(crate) cursor: P,
}

impl<'a, L: ExactSizeIterator<Item = records::ListedSchedule<&'a [u8]>>> Schedules<&'a [u8], L> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        put_list(out, 104, self.schedules.len());
        self.schedules.for_each(|item| item.put(out));
        Fixed::<2>::new().length16(self.cursor.len()).write(out);
        out.put_slice(self.cursor);
    }
}

impl<L> Schedules<Bytes, Vec<L>> {
    /// Reads it.
    pub(crate) fn take(
        reader: &mut Reader<'_>,
        mut make_schedules: impl FnMut(records::ListedSchedule<Bytes>) -> Result<L, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let schedules = {
            let head = reader.list::<104>("schedules", usize::MAX)?;
            reader.items(head, |reader, fields| make_schedules(records::ListedSchedule::<Bytes>::take(reader, fields)?))?
        };
        let cursor = reader.bytes16("cursor")?;
        Ok(Self { schedules, cursor })
    }
}

/// A schedule pushed a job.
pub(crate) struct ScheduleRan {
    /// Its id.
    pub(crate) job: u64,
}

impl ScheduleRan {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<8>::new().u64(self.job).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let job = reader.u64("job")?;
        Ok(Self { job })
    }
}

/// A part of a time that has passed is filled, or counted.
pub(crate) struct ScheduleFilled {
    /// From when the next part goes on; 0 if this was the last one.
    pub(crate) next_ms: u64,
    /// Bytes of the bodies of the jobs of this part, also of those that were not pushed: like a push, it counts for the rates of the token; 0 after a dry run.
    pub(crate) bytes: u64,
    /// Instants of the schedule in this part.
    pub(crate) instants: u32,
    /// Jobs that were pushed.
    pub(crate) pushed: u32,
    /// Instants whose job is in the topic already, by its key.
    pub(crate) kept: u32,
    /// Jobs that the topic's policy, or a limit of the queue, does not allow.
    pub(crate) refused: u32,
}

impl ScheduleFilled {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<32>::new().u64(self.next_ms).u64(self.bytes).u32(self.instants).u32(self.pushed).u32(self.kept).u32(self.refused).write(out);
    }

    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let next_ms = reader.u64("next_ms")?;
        let bytes = reader.u64("bytes")?;
        let instants = reader.u32("instants")?;
        let pushed = reader.u32("pushed")?;
        let kept = reader.u32("kept")?;
        let refused = reader.u32("refused")?;
        Ok(Self { next_ms, bytes, instants, pushed, kept, refused })
    }
}

/// The request failed as a whole.
pub(crate) struct Error<P> {
    /// Why: an error code.
    pub(crate) code: u16,
    /// What is so.
    pub(crate) marks: u8,
    /// Its known effect. Read any other number as 1.
    pub(crate) applied: u8,
    /// Do not try again before this time, whatever the code; the mark *retryable* is then set. 0: no hint.
    pub(crate) retry_after_ms: u32,
    /// The client address of the leader, for `NOT_LEADER`; empty if unknown.
    pub(crate) leader: P,
    /// One sentence for a person. It may change between versions: decide by the code.
    pub(crate) message: P,
}

impl Error<&[u8]> {
    /// Writes it.
    pub(crate) fn put(self, out: &mut BytesMut) {
        Fixed::<9>::new().u16(self.code).u8(self.marks).u8(self.applied).u32(self.retry_after_ms).length8(self.leader.len()).write(out);
        out.put_slice(self.leader);
        Fixed::<2>::new().length16(self.message.len()).write(out);
        out.put_slice(self.message);
    }
}

impl Error<Bytes> {
    /// Reads it.
    pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let code = reader.u16("code")?;
        let marks = reader.u8("marks")?;
        let applied = reader.u8("applied")?;
        let retry_after_ms = reader.u32("retry_after_ms")?;
        let leader = reader.bytes8("leader")?;
        let message = reader.bytes16("message")?;
        Ok(Self { code, marks, applied, retry_after_ms, leader, message })
    }
}
