//! LIST, COUNT and BULK, which share their filter; JOBS and BULKED.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::codes::bits::list_marks;
use super::codes::choices::change;
use super::decode_error::DecodeError;
use super::field::{Field, Subject};
use super::job::{buried, buried_number, listed, report_of_listed};
use super::layout::{frames, records};
use super::response::{DueBar, JobReport, Response};
use super::wire::{self, Fields, Fixed, Reader, in_range, mark, not_longer};
use adjourn_types::limits::{
    BULK_JOBS_MAX, CURSOR_BYTES_MAX, DUE_BARS_MAX, FILTER_BYTES_MAX, FILTER_REASON_BYTES_MAX, KEY_BYTES_MAX,
    LIST_JOBS_MAX,
};
use adjourn_types::{DueBars, Filter, GroupName, ListOrder, Millis, States, TopicName};

/// The tags of conditions.
mod tag {
    pub(super) const TOPIC: u16 = 1;
    pub(super) const STATES: u16 = 2;
    pub(super) const DUE_FROM: u16 = 3;
    pub(super) const DUE_BEFORE: u16 = 4;
    pub(super) const KEY_PREFIX: u16 = 5;
    pub(super) const ATTEMPTS_MIN: u16 = 6;
    pub(super) const ATTEMPTS_MAX: u16 = 7;
    pub(super) const BURIED: u16 = 8;
    pub(super) const REASON: u16 = 9;
    pub(super) const GROUP: u16 = 10;
}

/// A page of a list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The conditions that the jobs meet.
    pub filter: Filter,
    /// The order of the list.
    pub order: ListOrder,
    /// At most this many: 1 to [`LIST_JOBS_MAX`].
    pub jobs_max: u32,
    /// True to show their bodies.
    pub with_bodies: bool,
    /// The cursor of the page before; empty for the first page.
    pub cursor: Bytes,
}

/// A count of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The conditions that the jobs meet.
    pub filter: Filter,
    /// Set to count them by when they are due, too.
    pub bars: Option<DueBars>,
}

/// A step of a change to many jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// What to do to each job.
    pub change: Change,
    /// The jobs to change.
    pub filter: Filter,
    /// Most jobs to change: 1 to [`BULK_JOBS_MAX`].
    pub jobs_max: u32,
    /// The cursor of the step before; empty for the first one.
    pub cursor: Bytes,
}

/// The change to each job. A job for which it is not possible is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes it, whatever its state.
    Delete,
    /// Makes it ready, if it is buried; its attempts start at 0 again.
    Kick,
    /// Makes it ready, if it is delayed.
    RunNow,
    /// Gives it this due time by the wall clock, if it is delayed or ready.
    Reschedule {
        /// When it is due.
        due: Millis,
    },
    /// Puts it into another topic, unless it is reserved, or another job has its key there.
    Move {
        /// The target topic; created if it is new.
        to: TopicName,
    },
}

impl Field for List {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::List {
            jobs_max: self.jobs_max,
            order: self.order as u8,
            marks: mark(self.with_bodies, list_marks::BODIES),
            cursor: &self.cursor[..],
            filter: &conditions(&self.filter),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::List { jobs_max, order, marks, cursor, filter } = frames::List::take(reader)?;
        Ok(Self {
            filter: filter_of(&filter)?,
            order: ListOrder::from_u8(order).ok_or(DecodeError::Choice { field: "order", value: order })?,
            jobs_max,
            with_bodies: marks & list_marks::BODIES != 0,
            cursor,
        })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        in_range(self.jobs_max, 1..=LIST_JOBS_MAX, "jobs_max")?;
        not_longer(self.cursor.len(), CURSOR_BYTES_MAX, "cursor")?;
        check(&self.filter)
    }

    fn subject(&mut self) -> Subject<'_> {
        subject(&mut self.filter)
    }

    fn detach(self) -> Self {
        Self { filter: self.filter.detached(), cursor: Bytes::copy_from_slice(&self.cursor), ..self }
    }
}

impl From<Filter> for Count {
    fn from(filter: Filter) -> Self {
        Self { filter, bars: None }
    }
}

impl Field for Count {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::Count {
            filter: &conditions(&self.filter)[..],
            bars: self.bars.map(|bars| bars.count),
            bars_from_ms: self.bars.map(|bars| bars.from.0),
            bar_ms: self.bars.map(|bars| bars.width_ms),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::Count { filter, bars, bars_from_ms, bar_ms } = frames::Count::take(reader)?;
        let bars = match bars {
            None | Some(0) => None,
            Some(count) => Some(DueBars {
                from: Millis(bars_from_ms.ok_or(DecodeError::Truncated("bars_from_ms"))?),
                width_ms: bar_ms.ok_or(DecodeError::Truncated("bar_ms"))?,
                count,
            }),
        };
        Ok(Self { filter: filter_of(&filter)?, bars })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        if let Some(bars) = self.bars {
            in_range(bars.count, 1..=DUE_BARS_MAX, "bars")?;
            in_range(bars.width_ms, 1..=u64::MAX, "bar_ms")?;
        }
        check(&self.filter)
    }

    fn subject(&mut self) -> Subject<'_> {
        subject(&mut self.filter)
    }

    fn detach(self) -> Self {
        Self { filter: self.filter.detached(), ..self }
    }
}

fn check(filter: &Filter) -> Result<(), DecodeError> {
    not_longer(conditions(filter).len(), FILTER_BYTES_MAX, "filter")?;
    let states = filter.states.bits();
    States::from_bits(states).ok_or(DecodeError::Choice { field: "states", value: states })?;
    not_longer(filter.key_prefix.as_ref().map_or(0, Bytes::len), KEY_BYTES_MAX, "key prefix")?;
    not_longer(filter.reason.as_ref().map_or(0, String::len), FILTER_REASON_BYTES_MAX, "reason")
}

fn subject(filter: &mut Filter) -> Subject<'_> {
    filter.topic.as_ref().map_or(Subject::Nothing, Subject::Topic)
}

/// A filter from its conditions.
fn filter_of(bytes: &Bytes) -> Result<Filter, DecodeError> {
    let mut conditions = Reader::new(bytes);
    let (mut filter, mut last) = (Filter::default(), 0);
    while !conditions.is_at_end() {
        let tag = conditions.u16("condition")?;
        if tag <= last {
            return Err(DecodeError::ConditionOrder(tag));
        }
        last = tag;
        let value = conditions.bytes16("condition")?;
        decode_condition(tag, &value, &mut filter)?;
    }
    Ok(filter)
}

/// The conditions as they are written.
fn conditions(filter: &Filter) -> BytesMut {
    let mut conditions = BytesMut::new();
    let mut put = |tag: u16, value: &[u8]| {
        Fixed::<4>::new().u16(tag).length16(value.len()).write(&mut conditions);
        conditions.put_slice(value);
    };
    if let Some(topic) = &filter.topic {
        put(tag::TOPIC, topic.as_str().as_bytes());
    }
    if filter.states != States::ALL {
        put(tag::STATES, &[filter.states.bits()]);
    }
    for (tag, at) in [(tag::DUE_FROM, filter.due_from), (tag::DUE_BEFORE, filter.due_before)] {
        if let Some(at) = at {
            put(tag, &at.0.to_le_bytes());
        }
    }
    if let Some(prefix) = &filter.key_prefix {
        put(tag::KEY_PREFIX, prefix);
    }
    for (tag, attempts) in
        [(tag::ATTEMPTS_MIN, filter.attempts_min), (tag::ATTEMPTS_MAX, filter.attempts_max)]
    {
        if let Some(attempts) = attempts {
            put(tag, &attempts.to_le_bytes());
        }
    }
    if filter.buried.is_some() {
        put(tag::BURIED, &[buried_number(filter.buried)]);
    }
    if let Some(text) = &filter.reason {
        put(tag::REASON, text.as_bytes());
    }
    if let Some(group) = &filter.group {
        put(tag::GROUP, group.as_str().as_bytes());
    }
    conditions
}

fn decode_condition(tag: u16, value: &Bytes, filter: &mut Filter) -> Result<(), DecodeError> {
    let wrong = DecodeError::ConditionLength { tag, bytes: value.len() };
    let mut fields = Fields::new(value);
    match tag {
        tag::TOPIC => filter.topic = Some(TopicName::new(value.clone())?),
        tag::STATES => {
            let bits = fields.u8("states")?;
            let unknown = DecodeError::Choice { field: "states", value: bits };
            filter.states =
                if bits == 0 { States::of([]) } else { States::from_bits(bits).ok_or(unknown)? };
        }
        tag::DUE_FROM => filter.due_from = Some(Millis(fields.u64("due_from")?)),
        tag::DUE_BEFORE => filter.due_before = Some(Millis(fields.u64("due_before")?)),
        tag::KEY_PREFIX => filter.key_prefix = Some(value.clone()),
        tag::ATTEMPTS_MIN => filter.attempts_min = Some(fields.u32("attempts_min")?),
        tag::ATTEMPTS_MAX => filter.attempts_max = Some(fields.u32("attempts_max")?),
        tag::BURIED => {
            let value = fields.u8("buried")?;
            filter.buried = Some(buried(value).ok_or(DecodeError::Choice { field: "buried", value })?);
        }
        tag::REASON => {
            let text = std::str::from_utf8(value);
            filter.reason = Some(text.map_err(|_| DecodeError::NotText("reason"))?.to_owned());
        }
        tag::GROUP => filter.group = Some(GroupName::new(value.clone())?),
        _ => return Err(DecodeError::Condition(tag)),
    }
    let is_text = matches!(tag, tag::TOPIC | tag::KEY_PREFIX | tag::REASON | tag::GROUP);
    if is_text || fields.is_empty() { Ok(()) } else { Err(wrong) }
}

pub(super) fn encode_jobs(jobs: &[JobReport], cursor: &[u8], out: &mut BytesMut) {
    frames::Jobs { cursor, jobs: jobs.iter().map(listed) }.put(out);
}

pub(super) fn decode_jobs(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let frames::Jobs { cursor, jobs } = frames::Jobs::take(reader, report_of_listed)?;
    not_longer(cursor.len(), CURSOR_BYTES_MAX, "cursor")?;
    Ok(Response::Jobs { jobs, cursor })
}

impl Bulk {
    /// A copy that does not keep alive the buffer it was read from.
    #[must_use]
    pub fn detached(&self) -> Self {
        let change = match &self.change {
            Change::Move { to } => Change::Move { to: to.detached() },
            change => change.clone(),
        };
        Self { change, filter: self.filter.detached(), cursor: Bytes::copy_from_slice(&self.cursor), ..*self }
    }
}

impl Field for Bulk {
    fn put(&self, out: &mut BytesMut) {
        let (change, due_ms, to) = match &self.change {
            Change::Delete => (change::DELETE, 0, None),
            Change::Kick => (change::KICK, 0, None),
            Change::RunNow => (change::RUN_NOW, 0, None),
            Change::Reschedule { due } => (change::RESCHEDULE, due.0, None),
            Change::Move { to } => (change::MOVE, 0, Some(to.as_str().as_bytes())),
        };
        let (cursor, filter) = (&self.cursor[..], conditions(&self.filter));
        frames::Bulk { jobs_max: self.jobs_max, change, due_ms, cursor, filter: &filter, to }.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frames::Bulk { jobs_max, change, due_ms, cursor, filter, to } = frames::Bulk::take(reader)?;
        let change = match change {
            change::DELETE => Change::Delete,
            change::KICK => Change::Kick,
            change::RUN_NOW => Change::RunNow,
            change::RESCHEDULE => Change::Reschedule { due: Millis(due_ms) },
            change::MOVE => Change::Move { to: wire::topic(to.ok_or(DecodeError::Truncated("to"))?)? },
            value => return Err(DecodeError::Choice { field: "change", value }),
        };
        Ok(Self { change, filter: filter_of(&filter)?, jobs_max, cursor })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        in_range(self.jobs_max, 1..=BULK_JOBS_MAX, "jobs_max")?;
        not_longer(self.cursor.len(), CURSOR_BYTES_MAX, "cursor")?;
        check(&self.filter)
    }

    fn subject(&mut self) -> Subject<'_> {
        subject(&mut self.filter)
    }

    fn detach(self) -> Self {
        self.detached()
    }
}

pub(super) fn encode_bulked(jobs: u32, skipped: u32, cursor: &[u8], out: &mut BytesMut) {
    frames::Bulked { jobs, cursor, skipped }.put(out);
}

pub(super) fn encode_counted(jobs: u64, by_due: &[DueBar], out: &mut BytesMut) {
    let by_due = by_due.iter().map(|bar| records::DueBar { start_ms: bar.from.0, jobs: bar.jobs });
    frames::Counted { jobs, by_due }.put(out);
}

pub(super) fn decode_counted(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let bar = |bar: records::DueBar| DueBar { from: Millis(bar.start_ms), jobs: bar.jobs };
    let frames::Counted { jobs, by_due } = frames::Counted::take(reader, |read| Ok(bar(read)))?;
    Ok(Response::Counted { jobs, by_due })
}

pub(super) fn decode_bulked(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let frames::Bulked { jobs, cursor, skipped } = frames::Bulked::take(reader)?;
    not_longer(cursor.len(), CURSOR_BYTES_MAX, "cursor")?;
    Ok(Response::Bulked { jobs, skipped, cursor })
}
