//! EDIT: changes parts of one job. The other parts are not in it.

use std::num::NonZeroU64;

use bytes::{Bytes, BytesMut};

use super::codes::bits::edited;
use super::decode_error::DecodeError;
use super::field::{Field, JobRef, Subject, check_ttr, check_when};
use super::layout::frames;
use super::wire::{Reader, in_range, mark, not_longer, when, when_fields};
use adjourn_types::{AttributeSet, Attributes, When};

/// The parts that are attributes.
const ATTRIBUTES: [(u16, AttributeSet); 6] = [
    (edited::HEADERS, AttributeSet::HEADERS),
    (edited::EXPIRES, AttributeSet::EXPIRES),
    (edited::ATTEMPTS_MAX, AttributeSet::ATTEMPTS_MAX),
    (edited::BACKOFF, AttributeSet::BACKOFF),
    (edited::DEDUPE_RETENTION, AttributeSet::DEDUPE_RETENTION),
    (edited::GROUP, AttributeSet::GROUP),
];
/// Every part that there is.
const ALL_PARTS: u16 = (edited::GROUP << 1) - 1;

/// A change of parts of one delayed, ready or buried job. The other parts stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The job.
    pub job: JobRef,
    /// The new due time; a buried job has none.
    pub due: Option<When>,
    /// The new priority.
    pub priority: Option<u32>,
    /// The new time to run, in milliseconds; 0 is the topic's default.
    pub ttr_ms: Option<u32>,
    /// The new body.
    pub body: Option<Bytes>,
    /// The attributes that are replaced. The content type is one of them only through [`Self::replaces`].
    pub replaced: AttributeSet,
    /// Their new values. One that is missing here is taken away.
    pub attributes: Attributes,
    /// Only if the job is still of this version.
    pub if_version: Option<NonZeroU64>,
}

impl Edit {
    /// An edit that changes nothing yet.
    pub fn new(job: JobRef) -> Self {
        Self {
            job,
            due: None,
            priority: None,
            ttr_ms: None,
            body: None,
            replaced: AttributeSet::NONE,
            attributes: Attributes::default(),
            if_version: None,
        }
    }

    /// The attributes that are replaced, with the content type: it goes with the body, and with headers that name it.
    pub fn replaces(&self) -> AttributeSet {
        let has_headers = self.replaced.has(AttributeSet::HEADERS);
        if self.body.is_some() || (has_headers && self.attributes.content_type().is_some()) {
            self.replaced.and(AttributeSet::CONTENT_TYPE)
        } else {
            self.replaced
        }
    }

    /// True if it changes the job's record: its body or its attributes.
    pub fn changes_record(&self) -> bool {
        self.body.is_some() || self.replaced != AttributeSet::NONE
    }

    /// True if it changes any part.
    pub fn changes_something(&self) -> bool {
        self.parts() != 0
    }

    fn parts(&self) -> u16 {
        let of_attributes = ATTRIBUTES.iter().filter(|(_, attribute)| self.replaced.has(*attribute));
        mark(self.due.is_some(), edited::DUE)
            | mark(self.priority.is_some(), edited::PRIORITY)
            | mark(self.ttr_ms.is_some(), edited::TTR)
            | mark(self.body.is_some(), edited::BODY)
            | of_attributes.fold(0, |parts, (part, _)| parts | part)
    }
}

impl Field for Edit {
    fn put(&self, out: &mut BytesMut) {
        let (due_kind, due_ms) = when_fields(self.due.unwrap_or(When::After(0)));
        let frame = frames::Edit {
            due_ms,
            priority: self.priority.unwrap_or_default(),
            ttr_ms: self.ttr_ms.unwrap_or_default(),
            edited: self.parts(),
            due_kind,
            job: self.job.clone(),
            attributes: &self.attributes.as_bytes()[..],
            body: self.body.as_deref().unwrap_or_default(),
            if_version: self.if_version.map(NonZeroU64::get),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::Edit::take(reader)?;
        let parts = frame.edited;
        in_range(parts, 1..=ALL_PARTS, "edited")?;
        let has = |part| parts & part != 0;
        // Fields of parts that stay are not used, but they must be valid, too.
        let due = when(frame.due_kind, frame.due_ms)?;
        check_when(due)?;
        check_ttr(frame.ttr_ms)?;
        let replaced = ATTRIBUTES.iter().filter(|(part, _)| has(*part));
        Ok(Self {
            job: frame.job,
            due: has(edited::DUE).then_some(due),
            priority: has(edited::PRIORITY).then_some(frame.priority),
            ttr_ms: has(edited::TTR).then_some(frame.ttr_ms),
            body: has(edited::BODY).then_some(frame.body),
            replaced: replaced.fold(AttributeSet::NONE, |set, (_, attribute)| set.and(*attribute)),
            attributes: Attributes::unchecked(frame.attributes),
            if_version: frame.if_version.and_then(NonZeroU64::new),
        })
    }

    fn check(&self, _: &'static str, body_bytes_max: usize) -> Result<(), DecodeError> {
        in_range(self.parts(), 1..=ALL_PARTS, "edited")?;
        not_longer(self.body.as_ref().map_or(0, Bytes::len), body_bytes_max, "body")?;
        check_ttr(self.ttr_ms.unwrap_or_default())?;
        self.due.map_or(Ok(()), check_when)?;
        Ok(self.attributes.check_new()?)
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Job(&mut self.job)
    }

    fn detach(self) -> Self {
        Self {
            job: self.job.detach(),
            body: self.body.as_deref().map(Bytes::copy_from_slice),
            attributes: self.attributes.detached(),
            ..self
        }
    }
}
