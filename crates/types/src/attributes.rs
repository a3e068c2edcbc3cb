//! A job's attributes: a tagged list that keeps its encoded bytes, unknown attributes included.
//!
//! Encoding, little-endian, one element after the other: tag `u16`, value length `u16`, value. Tags
//! stand in strictly rising order of their low 15 bits, except that [`tag::HEADER`] may repeat. The
//! highest bit of a tag means *critical*: a reader that does not know the tag must refuse the job. Unknown
//! attributes without that bit are kept and passed on untouched.
//!
//! | tag | name | value |
//! |---|---|---|
//! | 1 | header | name length `u8`, name (UTF-8), value (UTF-8) |
//! | 2 (critical) | expires | kind `u8` (0 after, 1 at), milliseconds `u64` |
//! | 3 (critical) | attempts max | `u32`, at least 1 |
//! | 4 (critical) | backoff | kind `u8`, jitter `u8` (percent, 0 to 100), then: fixed `u32`; linear `u32` step, `u32` max; exponential `u32` first, `u32` max; list `u32` each |
//! | 5 | group | UTF-8, 1 to 255 bytes without control characters |
//! | 6 | dedupe retention | milliseconds `u64` |
//! | 7 | created at | milliseconds `u64`, what the producer says |
//! | 8 | schedule reference | opaque |
//! | 9 | postpone max | milliseconds `u64` |
//! | 10 | schedule rules | as in the protocol; only in the record of a schedule |
//! | 11 (critical) | buried | UTF-8, up to 1,024 bytes: why; only in a push |

mod builder;
mod edit;
mod error;

use std::borrow::Cow;

use bytes::{BufMut as _, Bytes};

use super::limits::{
    ATTRIBUTES_BYTES_MAX, BACKOFF_LIST_MAX, DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, HEADERS_BYTES_MAX,
    REASON_BYTES_MAX,
};
use super::names::GroupName;
use super::time::{Millis, When};
pub use builder::AttributesBuilder;
pub use edit::{AttributeSet, CONTENT_TYPE};
pub use error::AttributeError;

/// The tags that this version knows.
pub mod tag {
    /// Set in a tag that must be understood.
    pub const CRITICAL: u16 = 0x8000;
    /// One header.
    pub const HEADER: u16 = 1;
    /// When the job expires.
    pub const EXPIRES: u16 = 2 | CRITICAL;
    /// How often the job may be attempted.
    pub const ATTEMPTS_MAX: u16 = 3 | CRITICAL;
    /// How long to wait between attempts.
    pub const BACKOFF: u16 = 4 | CRITICAL;
    /// The group in its topic that the job belongs to.
    pub const GROUP: u16 = 5;
    /// How long the queue remembers a job and its key after it was finished.
    pub const DEDUPE_RETENTION: u16 = 6;
    /// When the producer created the job, by its own account.
    pub const CREATED_AT: u16 = 7;
    /// Which schedule made the job.
    pub const SCHEDULE: u16 = 8;
    /// A postponed job is due at the latest this long after its first push. Not critical: only a push that postpones uses
    /// it, and a server that does not know it cannot postpone.
    pub const POSTPONE_MAX: u16 = 9;
    /// When a schedule fires. Only the record of a schedule has it: its jobs do not.
    pub const SCHEDULE_RULES: u16 = 10;
    /// A push that buries its job at once, and why. The job does not have it.
    pub const BURIED: u16 = 0x0b | CRITICAL;
}

/// The first kind of an expiry that this version does not know.
const EXPIRES_KINDS: u8 = 2;
/// The same for a backoff.
pub(super) const BACKOFF_KINDS: u8 = 4;

/// A valid, encoded list of attributes. Empty for most jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Bytes);

/// The attributes that the queue itself acts on: how long a job lives and how it is retried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The job is dropped if it is not finished by then.
    pub expires: Option<When>,
    /// The job is buried when its last allowed attempt fails.
    pub attempts_max: Option<u32>,
    /// The wait before the next attempt after a failed one.
    pub backoff: Option<Backoff>,
}

/// The wait between attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Backoff {
    /// How the wait grows.
    pub curve: BackoffCurve,
    /// The jitter shortens the wait by up to this percentage; it is derived from the job id and the attempt.
    pub jitter_percent: u8,
}

/// How the wait grows with the attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BackoffCurve {
    /// Always the same, in milliseconds.
    Fixed(u32),
    /// `step_ms` more after each attempt, up to `max_ms`.
    Linear {
        /// The first wait and the growth.
        step_ms: u32,
        /// The longest wait.
        max_ms: u32,
    },
    /// Twice as long after each attempt, up to `max_ms`.
    Exponential {
        /// The first wait.
        first_ms: u32,
        /// The longest wait.
        max_ms: u32,
    },
    /// One after the other, in milliseconds; the last one repeats.
    List(Vec<u32>),
}

impl Backoff {
    /// Retries at once.
    pub const NONE: Self = Self { curve: BackoffCurve::Fixed(0), jitter_percent: 0 };

    /// The wait after the `attempts`-th attempt failed (1 is the first), without jitter, in milliseconds.
    pub fn wait_ms(&self, attempts: u32) -> u64 {
        let repeats = attempts.saturating_sub(1);
        match &self.curve {
            BackoffCurve::Fixed(wait_ms) => u64::from(*wait_ms),
            BackoffCurve::Linear { step_ms, max_ms } => {
                u64::from(step_ms.saturating_mul(attempts.max(1)).min(*max_ms))
            }
            BackoffCurve::Exponential { first_ms, max_ms } => {
                let doubled = u64::from(*first_ms).checked_shl(repeats.min(32)).unwrap_or(u64::MAX);
                doubled.min(u64::from(*max_ms))
            }
            BackoffCurve::List(waits) => {
                let place = usize::try_from(repeats).unwrap_or(usize::MAX).min(waits.len().saturating_sub(1));
                waits.get(place).map_or(0, |wait_ms| u64::from(*wait_ms))
            }
        }
    }
}

/// The headers of a trace.
const TRACE_HEADERS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

impl Attributes {
    /// A copy that owns its bytes, so that the buffer it was read from can be freed.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Wraps the bytes of a new job without a check: [`Self::check_new`] follows when the whole request is validated.
    pub fn unchecked(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// Validates `bytes` and wraps them.
    pub fn new(bytes: Bytes) -> Result<Self, AttributeError> {
        if !bytes.is_empty() {
            Self::check(&bytes)?;
        }
        Ok(Self(bytes))
    }

    /// Wraps `bytes` that came from a server. A newer server may use attributes and kinds that this version does not know:
    /// they are kept, and readers of the list skip them.
    pub fn shown(bytes: Bytes) -> Result<Self, AttributeError> {
        match Self::new(bytes.clone()) {
            Err(AttributeError::Unsupported(_) | AttributeError::UnknownKind(..)) => Ok(Self(bytes)),
            taken => taken,
        }
    }

    /// The encoded list.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// True if the list has no attribute.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The elements as (tag, value).
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        Elements(&self.0).filter_map(Result::ok)
    }

    /// This list without the elements of a tag.
    #[must_use]
    pub fn without(&self, tag: u16) -> Self {
        match without(&self.0, |(found, _)| found == tag) {
            Cow::Borrowed(_) => self.clone(),
            Cow::Owned(kept) => Self(kept.into()),
        }
    }

    /// The headers as (name, value), in the order in which they were written.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(found, _)| *found == tag::HEADER).filter_map(|(_, value)| split_header(value))
    }

    /// The attributes that the queue acts on.
    pub fn policy(&self) -> Policy {
        Self::policy_of(&self.0)
    }

    /// [`Self::policy`] of bytes that were validated before.
    pub fn policy_of(checked: &[u8]) -> Policy {
        let mut policy = Policy::default();
        for (found, value) in Elements(checked).filter_map(Result::ok) {
            match found {
                tag::EXPIRES => policy.expires = read_when(value),
                tag::ATTEMPTS_MAX => policy.attempts_max = read_u32(value),
                tag::BACKOFF => policy.backoff = read_backoff(value),
                _ => {}
            }
        }
        policy
    }

    /// The list with the settings of a job that are in force, for showing it: when it expires, and the retry settings where
    /// the list has none. Unchanged if they do not fit.
    #[must_use]
    pub fn in_force(
        self,
        expires: Option<Millis>,
        attempts_max: Option<u32>,
        backoff: Option<&Backoff>,
    ) -> Self {
        let has = |tag| self.iter().any(|(found, _)| found == tag);
        let attempts_max = attempts_max.filter(|_| !has(tag::ATTEMPTS_MAX));
        let backoff = backoff.filter(|_| !has(tag::BACKOFF));
        if expires.is_none() && attempts_max.is_none() && backoff.is_none() {
            return self;
        }
        let mut builder = AttributesBuilder::from(&self);
        if let Some(expires) = expires {
            builder.elements.retain(|(found, _)| *found != tag::EXPIRES);
            builder = builder.expires(When::At(expires));
        }
        if let Some(attempts_max) = attempts_max {
            builder = builder.attempts_max(attempts_max);
        }
        if let Some(backoff) = backoff {
            builder = builder.backoff(backoff);
        }
        builder.build().unwrap_or(self)
    }

    /// The list without the headers in which a trace travels ([W3C](https://www.w3.org/TR/trace-context/)): they say who
    /// pushed a job, not what it is. The bytes were validated before.
    pub fn without_trace(checked: &[u8]) -> Cow<'_, [u8]> {
        let is_of_trace = |(found, value): (u16, &[u8])| {
            let name = split_header(value).filter(|_| found == tag::HEADER).map(|(name, _)| name);
            name.is_some_and(|name| TRACE_HEADERS.iter().any(|of| name.eq_ignore_ascii_case(of)))
        };
        without(checked, is_of_trace)
    }

    /// The list of a job that was pushed with these attributes. The bytes were validated before.
    pub fn without_buried(checked: &[u8]) -> Cow<'_, [u8]> {
        without(checked, |(found, _)| found == tag::BURIED)
    }

    /// The longest time from first push to due time of a postponed job, in milliseconds. The bytes were validated before.
    pub fn postpone_max_of(checked: &[u8]) -> Option<u64> {
        let mut elements = Elements(checked).filter_map(Result::ok);
        let (_, value) = elements.find(|(found, _)| *found == tag::POSTPONE_MAX)?;
        read_u64(value)
    }

    /// How long a job with these attributes is remembered after it was finished, in milliseconds; 0 for not at all. The
    /// bytes were validated before.
    pub fn dedupe_retention_of(checked: &[u8]) -> u64 {
        let mut elements = Elements(checked).filter_map(Result::ok);
        let found = elements.find(|(found, _)| *found == tag::DEDUPE_RETENTION);
        found.and_then(|(_, value)| read_u64(value)).unwrap_or(0).min(DEDUPE_RETENTION_MS_MAX)
    }

    /// The group that a job with these attributes belongs to. The bytes were validated before.
    pub fn group_of(checked: &[u8]) -> Option<&str> {
        let mut elements = Elements(checked).filter_map(Result::ok);
        let (_, value) =
            elements.find(|(found, value)| *found == tag::GROUP && GroupName::is_valid(value))?;
        std::str::from_utf8(value).ok()
    }

    /// Why a push with these attributes buries its job at once; `None` if it does not. The text may be empty. The bytes were
    /// validated before.
    pub fn buried_of(checked: &[u8]) -> Option<&str> {
        let mut elements = Elements(checked).filter_map(Result::ok);
        let (_, reason) = elements.find(|(found, _)| *found == tag::BURIED)?;
        std::str::from_utf8(reason).ok()
    }

    /// Checks limits that apply to new jobs only: jobs from earlier versions may exceed them.
    pub fn check_new(&self) -> Result<(), AttributeError> {
        Self::check(&self.0)?;
        for (found, value) in self.iter() {
            let max = match found {
                tag::POSTPONE_MAX => DELAY_MS_MAX,
                tag::DEDUPE_RETENTION => DEDUPE_RETENTION_MS_MAX,
                _ => continue,
            };
            match read_u64(value) {
                None => return Err(AttributeError::Malformed(found)),
                Some(value) if value > max => return Err(AttributeError::OutOfRange(found, max)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn check(bytes: &[u8]) -> Result<(), AttributeError> {
        if bytes.len() > ATTRIBUTES_BYTES_MAX {
            return Err(AttributeError::TooLarge);
        }
        let (mut last, mut headers_bytes) = (0, 0);
        for element in Elements(bytes) {
            let (found, value) = element?;
            let low = found & !tag::CRITICAL;
            if low < last || (low == last && found != tag::HEADER) {
                return Err(AttributeError::Order(found));
            }
            last = low;
            let good = match found {
                tag::HEADER => {
                    headers_bytes += value.len().saturating_sub(1);
                    split_header(value).is_some()
                }
                tag::EXPIRES => read_when(value).is_some(),
                tag::ATTEMPTS_MAX => read_u32(value).is_some_and(|attempts| attempts > 0),
                tag::BACKOFF => read_backoff(value).is_some(),
                tag::GROUP => GroupName::is_valid(value),
                tag::DEDUPE_RETENTION | tag::CREATED_AT => value.len() == 8,
                tag::SCHEDULE => true,
                tag::BURIED => value.len() <= REASON_BYTES_MAX && std::str::from_utf8(value).is_ok(),
                _ if found & tag::CRITICAL != 0 => return Err(AttributeError::Unsupported(found)),
                _ => true,
            };
            if !good {
                return Err(match (found, value.first()) {
                    (tag::EXPIRES, Some(kind @ EXPIRES_KINDS..))
                    | (tag::BACKOFF, Some(kind @ BACKOFF_KINDS..)) => {
                        AttributeError::UnknownKind(found, *kind)
                    }
                    _ => AttributeError::Malformed(found),
                });
            }
        }
        if headers_bytes > HEADERS_BYTES_MAX { Err(AttributeError::HeadersTooLarge) } else { Ok(()) }
    }
}

/// Iterates over encoded attributes; stops at the first one that is truncated.
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(u16, &'a [u8]), AttributeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let all = std::mem::take(&mut self.0);
        let Some(([t0, t1, l0, l1], rest)) = all.split_first_chunk() else {
            return Some(Err(AttributeError::Order(0)));
        };
        let tag = u16::from_le_bytes([*t0, *t1]);
        let length = usize::from(u16::from_le_bytes([*l0, *l1]));
        let Some((value, rest)) = rest.split_at_checked(length) else {
            return Some(Err(AttributeError::Order(tag)));
        };
        self.0 = rest;
        Some(Ok((tag, value)))
    }
}

/// A list without some of its elements.
fn without(checked: &[u8], goes: impl Fn((u16, &[u8])) -> bool) -> Cow<'_, [u8]> {
    let elements = || Elements(checked).filter_map(Result::ok);
    if !elements().any(&goes) {
        return checked.into();
    }
    let mut kept = Vec::with_capacity(checked.len());
    elements().filter(|element| !goes(*element)).for_each(|(found, value)| put(&mut kept, found, value));
    kept.into()
}

/// Encodes an element. Its value has at most 65,535 bytes.
fn put(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    out.put_u16_le(tag);
    out.put_u16_le(u16::try_from(value.len()).unwrap_or(u16::MAX));
    out.put_slice(value);
}

fn split_header(value: &[u8]) -> Option<(&str, &str)> {
    let (length, rest) = value.split_first()?;
    let (name, value) = rest.split_at_checked(usize::from(*length))?;
    if name.is_empty() {
        return None;
    }
    Some((std::str::from_utf8(name).ok()?, std::str::from_utf8(value).ok()?))
}

pub(super) fn read_u32(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_le_bytes)
}

fn read_u64(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes)
}

fn read_when(value: &[u8]) -> Option<When> {
    let (kind, millis) = value.split_first()?;
    let millis = u64::from_le_bytes(millis.try_into().ok()?);
    match kind {
        0 if millis <= DELAY_MS_MAX => Some(When::After(millis)),
        1 => Some(When::At(Millis(millis))),
        _ => None,
    }
}

pub(super) fn backoff_value(backoff: &Backoff) -> Vec<u8> {
    let (kind, waits) = match &backoff.curve {
        BackoffCurve::Fixed(wait_ms) => (0, vec![*wait_ms]),
        BackoffCurve::Linear { step_ms, max_ms } => (1, vec![*step_ms, *max_ms]),
        BackoffCurve::Exponential { first_ms, max_ms } => (2, vec![*first_ms, *max_ms]),
        BackoffCurve::List(waits) => (3, waits.clone()),
    };
    let mut bytes = vec![kind, backoff.jitter_percent];
    bytes.extend(waits.iter().flat_map(|wait_ms| wait_ms.to_le_bytes()));
    bytes
}

pub(super) fn read_backoff(value: &[u8]) -> Option<Backoff> {
    let ([kind, jitter_percent], rest) = value.split_first_chunk()?;
    let waits = rest.chunks(4).map(read_u32).collect::<Option<Vec<u32>>>()?;
    let curve = match (kind, waits.as_slice()) {
        (0, [wait_ms]) => BackoffCurve::Fixed(*wait_ms),
        (1, [step_ms, max_ms]) => BackoffCurve::Linear { step_ms: *step_ms, max_ms: *max_ms },
        (2, [first_ms, max_ms]) => BackoffCurve::Exponential { first_ms: *first_ms, max_ms: *max_ms },
        (3, [_, ..]) if waits.len() <= BACKOFF_LIST_MAX => BackoffCurve::List(waits),
        _ => return None,
    };
    (*jitter_percent <= 100).then_some(Backoff { curve, jitter_percent: *jitter_percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponential() -> Backoff {
        Backoff { curve: BackoffCurve::Exponential { first_ms: 1000, max_ms: 60_000 }, jitter_percent: 20 }
    }

    #[test]
    fn what_is_built_reads_back() {
        let built = AttributesBuilder::default()
            .backoff(&exponential())
            .header("content-type", "text/plain")
            .header("traceparent", "00-1-2-01")
            .expires(When::After(600_000))
            .attempts_max(5)
            .raw(900, vec![1, 2, 3])
            .build()
            .expect("valid");
        let again = Attributes::new(built.as_bytes().clone()).expect("valid");
        assert_eq!(
            again.headers().collect::<Vec<_>>(),
            [("content-type", "text/plain"), ("traceparent", "00-1-2-01")]
        );
        assert_eq!(
            again.policy(),
            Policy {
                expires: Some(When::After(600_000)),
                attempts_max: Some(5),
                backoff: Some(exponential())
            }
        );
        assert_eq!(again.iter().last(), Some((900, [1, 2, 3].as_slice())), "unknown attributes are kept");
    }

    #[test]
    fn bad_attributes_are_refused() {
        let build = |tag, value: &[u8]| AttributesBuilder::default().raw(tag, value.to_vec()).build();
        assert_eq!(build(0x8300, b""), Err(AttributeError::Unsupported(0x8300)));
        let newer = Bytes::from_static(&[0, 0x83, 0, 0]);
        assert_eq!(Attributes::shown(newer.clone()).map(|shown| shown.0), Ok(newer));
        assert!(Attributes::shown(Bytes::from_static(&[0, 0x83, 9, 0])).is_err(), "it is cut short");
        assert_eq!(build(tag::ATTEMPTS_MAX, &[0; 4]), Err(AttributeError::Malformed(tag::ATTEMPTS_MAX)));
        assert_eq!(build(tag::HEADER, &[9, b'a']), Err(AttributeError::Malformed(tag::HEADER)));
        assert_eq!(build(tag::BACKOFF, &[3, 0]), Err(AttributeError::Malformed(tag::BACKOFF)));
        assert_eq!(build(tag::BACKOFF, &[4, 0]), Err(AttributeError::UnknownKind(tag::BACKOFF, 4)));
        assert_eq!(build(tag::EXPIRES, &[2, 1]), Err(AttributeError::UnknownKind(tag::EXPIRES, 2)));
        assert_eq!(build(tag::EXPIRES, &[1, 1]), Err(AttributeError::Malformed(tag::EXPIRES)));
        let twice = AttributesBuilder::default().attempts_max(1).attempts_max(2).build();
        assert_eq!(twice, Err(AttributeError::Order(tag::ATTEMPTS_MAX)));
        let longest = AttributesBuilder::default().header(&"n".repeat(255), "v").build().expect("it fits");
        assert_eq!(longest.headers().collect::<Vec<_>>(), [("n".repeat(255).as_str(), "v")]);
        let longer = AttributesBuilder::default().header(&"n".repeat(256), "v").build();
        assert_eq!(longer, Err(AttributeError::HeaderName(256)));
        let reason = |bytes: usize| AttributesBuilder::default().buried(&"r".repeat(bytes)).build();
        assert_eq!(reason(1025), Err(AttributeError::Malformed(tag::BURIED)));
        let buried = reason(1024).expect("it fits");
        assert_eq!(Attributes::buried_of(buried.as_bytes()).map(str::len), Some(1024));
        assert_eq!(Attributes::buried_of(buried.without(tag::BURIED).as_bytes()), None);
        let large = AttributesBuilder::default().header("a", &"b".repeat(1024)).build();
        assert_eq!(large, Err(AttributeError::HeadersTooLarge));
        assert_eq!(Attributes::new(Bytes::from_static(&[1])), Err(AttributeError::Order(0)));
    }

    #[test]
    fn what_a_new_job_may_not_say_is_still_read_of_an_old_one() {
        let capped = AttributesBuilder::default().postpone_max(DELAY_MS_MAX).build().expect("valid");
        assert_eq!(capped.check_new(), Ok(()));
        assert_eq!(Attributes::postpone_max_of(capped.as_bytes()), Some(DELAY_MS_MAX));
        let longer = AttributesBuilder::default().postpone_max(DELAY_MS_MAX + 1).build().expect("read");
        assert_eq!(longer.check_new(), Err(AttributeError::OutOfRange(tag::POSTPONE_MAX, DELAY_MS_MAX)));
        let remembered = |ms| AttributesBuilder::default().dedupe_retention(ms).build().expect("read");
        assert_eq!(remembered(DEDUPE_RETENTION_MS_MAX).check_new(), Ok(()));
        let longer = remembered(DEDUPE_RETENTION_MS_MAX + 1);
        let too_long = AttributeError::OutOfRange(tag::DEDUPE_RETENTION, DEDUPE_RETENTION_MS_MAX);
        assert_eq!(longer.check_new(), Err(too_long));
        assert_eq!(Attributes::dedupe_retention_of(longer.as_bytes()), DEDUPE_RETENTION_MS_MAX);
        let shorter = AttributesBuilder::default().raw(tag::POSTPONE_MAX, vec![1; 7]).build().expect("read");
        assert_eq!(shorter.check_new(), Err(AttributeError::Malformed(tag::POSTPONE_MAX)));
        assert_eq!(Attributes::postpone_max_of(shorter.as_bytes()), None);
    }

    #[test]
    fn waits_grow_as_their_curve_says() {
        let of = |curve| Backoff { curve, jitter_percent: 0 };
        let linear = of(BackoffCurve::Linear { step_ms: 10, max_ms: 25 });
        let list = of(BackoffCurve::List(vec![5, 50]));
        assert_eq!([1, 2, 3, 40].map(|n| exponential().wait_ms(n)), [1000, 2000, 4000, 60_000]);
        assert_eq!([1, 2, 3].map(|n| linear.wait_ms(n)), [10, 20, 25]);
        assert_eq!([1, 2, 3].map(|n| list.wait_ms(n)), [5, 50, 50]);
    }
}
