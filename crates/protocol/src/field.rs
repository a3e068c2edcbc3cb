//! The fields of requests, each with its encoding.

use std::num::NonZeroU64;

use bytes::{BufMut as _, BytesMut};

use super::codes::bits::disconnect_options::ENDS_SESSION;
use super::codes::choices::job_kind;
use super::decode_error::DecodeError;
use super::wire::{
    self, Fixed, Reader, in_range, mark, not_longer, put_text8, put_topic8, text, when, when_fields,
};
use adjourn_types::limits::{DELAY_MS_MAX, TTR_MS_MAX, TTR_MS_MIN};
use adjourn_types::{JobId, Key, Lease, TopicName, When};

/// What a request names of the queue: there its right is needed.
#[derive(Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Nothing.
    Nothing,
    /// A topic.
    Topic(&'a TopicName),
    /// Some topics.
    Topics(&'a [TopicName]),
    /// A job.
    Job(&'a mut JobRef),
    /// Jobs that are leased.
    Leases(&'a mut [Lease]),
}

impl Subject<'_> {
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Nothing { other } else { self }
    }
}

/// A field of a request, or a whole message.
pub(super) trait Field: Sized {
    /// Appends it to a payload.
    fn put(&self, out: &mut BytesMut);

    /// Decodes it; an error has the `name`.
    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError>;

    /// Refuses what a server does not take that accepts bodies of up to `body_bytes_max` bytes; an error says the `name`.
    fn check(&self, _name: &'static str, _body_bytes_max: usize) -> Result<(), DecodeError> {
        Ok(())
    }

    /// What it names of the queue.
    fn subject(&mut self) -> Subject<'_> {
        Subject::Nothing
    }

    /// The leases in it.
    fn leases(&self) -> &[Lease] {
        &[]
    }

    /// A copy that does not keep alive the buffer it was read from.
    fn detach(self) -> Self;
}

/// Reads a field, and checks it.
pub(super) fn take<T: Field>(reader: &mut Reader<'_>, name: &'static str) -> Result<T, DecodeError> {
    let value = T::take(reader, name)?;
    value.check(name, reader.body_bytes_max())?;
    Ok(value)
}

/// A field of a fixed width: it keeps no buffer alive.
macro_rules! number {
    ($($type:ty: |$value:ident| $put:expr, |$reader:ident, $name:ident| $take:expr;)+) => {
        $(impl Field for $type {
            fn put(&self, out: &mut BytesMut) {
                let $value = *self;
                out.put_slice(&$put.to_le_bytes());
            }

            fn take($reader: &mut Reader<'_>, $name: &'static str) -> Result<Self, DecodeError> {
                $take
            }

            fn detach(self) -> Self {
                self
            }
        })+
    };
}

number! {
    u32: |number| number, |reader, name| reader.u32(name);
    u64: |number| number, |reader, name| reader.u64(name);
    JobId: |job| job.0, |reader, name| reader.u64(name).map(JobId);
    // Eight options: one has a meaning so far.
    bool: |option| mark(option, ENDS_SESSION), |reader, name| Ok(reader.u8(name)? & ENDS_SESSION != 0);
}

/// An optional number at the end of a message: older servers skip it.
impl Field for Option<NonZeroU64> {
    fn put(&self, out: &mut BytesMut) {
        if let Some(number) = self {
            out.put_u64_le(number.get());
        }
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        if reader.is_at_end() { Ok(None) } else { reader.u64(name).map(NonZeroU64::new) }
    }

    fn detach(self) -> Self {
        self
    }
}

impl Field for When {
    fn put(&self, out: &mut BytesMut) {
        let (due_kind, due_ms) = when_fields(*self);
        Fixed::<9>::new().u64(due_ms).u8(due_kind).write(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let due_ms = reader.u64("due_ms")?;
        when(reader.u8("due_kind")?, due_ms)
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        check_when(*self)
    }

    fn detach(self) -> Self {
        self
    }
}

/// A delay has a limit, a point in time has none.
pub(super) fn check_when(when: When) -> Result<(), DecodeError> {
    match when {
        When::After(delay_ms) => in_range(delay_ms, 0..=DELAY_MS_MAX, "due_ms"),
        When::At(_) => Ok(()),
    }
}

/// A time to run; 0 stands for another's choice.
pub(super) fn check_ttr(ttr_ms: u32) -> Result<(), DecodeError> {
    if ttr_ms == 0 { Ok(()) } else { in_range(ttr_ms, TTR_MS_MIN..=TTR_MS_MAX, "ttr_ms") }
}

fn topic8(reader: &mut Reader<'_>) -> Result<TopicName, DecodeError> {
    wire::topic(reader.bytes8("topic")?)
}

impl Field for TopicName {
    fn put(&self, out: &mut BytesMut) {
        put_topic8(out, self);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        topic8(reader)
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(self)
    }

    fn detach(self) -> Self {
        self.detached()
    }
}

/// A text of at most 255 bytes.
impl Field for String {
    fn put(&self, out: &mut BytesMut) {
        put_text8(out, self);
    }

    fn take(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        text(&reader.bytes8(name)?, name)
    }

    fn check(&self, name: &'static str, _: usize) -> Result<(), DecodeError> {
        not_longer(self.len(), u8::MAX.into(), name)
    }

    fn detach(self) -> Self {
        self
    }
}

/// Names one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRef {
    /// The queue's id.
    Id(JobId),
    /// The user's id.
    Key {
        /// The key's topic.
        topic: TopicName,
        /// The key.
        key: Key,
    },
}

impl Field for JobRef {
    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Id(id) => Fixed::<9>::new().u8(job_kind::ID).u64(id.0).write(out),
            Self::Key { topic, key } => {
                out.put_u8(job_kind::KEY);
                put_topic8(out, topic);
                Fixed::<2>::new().length16(key.as_bytes().len()).write(out);
                out.put_slice(key.as_bytes());
            }
        }
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        match reader.u8("job_kind")? {
            job_kind::ID => Ok(Self::Id(JobId(reader.u64("job")?))),
            job_kind::KEY => {
                let topic = topic8(reader)?;
                Ok(Self::Key { topic, key: wire::some_key(reader.bytes16("key")?)? })
            }
            value => Err(DecodeError::Choice { field: "job_kind", value }),
        }
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Job(self)
    }

    fn detach(self) -> Self {
        match self {
            Self::Id(_) => self,
            Self::Key { topic, key } => Self::Key { topic: topic.detached(), key: key.detached() },
        }
    }
}
