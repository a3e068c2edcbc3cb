//! Values in JSON and in queries, each checked as it is read: durations (`"15m"`), numbers of milliseconds under names that
//! end in `_ms`, times (RFC 3339), numbers, topics, keys.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};

use super::problem::Problem;
use adjourn_json::values::{self, ValueError};
use adjourn_protocol::Advance;
use adjourn_types::limits::{
    DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, GROUP_BYTES_MAX, KEY_BYTES_MAX, SCHEDULE_NAME_BYTES_MAX,
    TOPIC_BYTES_MAX, TTR_MS_MAX, TTR_MS_MIN, WAIT_MS_MAX,
};
use adjourn_types::{Backoff, GroupName, Key, Lease, LeaseParseError, Millis, NameError, TopicName, When};

/// A type of value that is written as text.
pub(crate) trait Text {
    /// The parsed type.
    type Value;
    /// The error for an invalid text.
    type Error: fmt::Display;
    /// The expected form, for error messages and documents.
    const EXPECTED: &'static str;
    /// An example for documents.
    const EXAMPLE: &'static str;
    /// The format or the pattern for documents.
    const FORM: Form = Form::Any;

    /// Parses a text.
    fn of_text(text: &str) -> Result<Self::Value, Self::Error>;
}

/// The form of a text, for documents.
pub(crate) enum Form {
    /// What [`Text::EXPECTED`] says.
    Any,
    /// A regular expression.
    Pattern(&'static str),
    /// RFC 3339.
    DateTime,
    /// A regular expression, and at most this many bytes.
    Name(&'static str, usize),
}

/// A type of duration: its bounds in milliseconds.
pub(crate) trait Bounds {
    /// Both are included.
    const MILLIS: RangeInclusive<u64>;
    /// An example for documents.
    const EXAMPLE: &'static str = "15m";
}

/// A parsed value of this type.
pub(crate) struct Field<K: Text>(pub K::Value);

/// A whole number between these bounds; both are included.
#[derive(Clone, Copy)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(pub u64);

/// A duration as a text.
pub(crate) struct Span<B>(PhantomData<B>);

/// A duration as a number of milliseconds.
pub(crate) struct SpanMs<B: Bounds>(u64, PhantomData<B>);

/// A delay: how long from now.
pub(crate) enum Delay {}
/// A time to run.
pub(crate) enum Ttr {}
/// How long to wait.
pub(crate) enum Wait {}
/// How long a finished job is remembered.
pub(crate) enum Remember {}
/// How long the parts of a time are by which jobs are counted.
pub(crate) enum BarWidth {}
/// How long a topic is paused.
pub(crate) enum Pause {}
/// How far a test moves the clock.
pub(crate) enum ClockStep {}
/// A point in time.
pub(crate) enum Time {}
/// A point in time, or how long after another one.
pub(crate) enum TimeOrDelay {}
/// The waits between attempts.
pub(crate) enum Waits {}
/// A topic's name.
pub(crate) enum Topic {}
/// A key.
pub(crate) enum JobKey {}
/// The name of a schedule, as it stands in a path.
pub(crate) struct ScheduleName(pub String);
/// A lease.
pub(crate) enum LeaseText {}
/// A lease as it was sent: it may be malformed.
pub(crate) enum SentLease {}
/// The group of a job.
pub(crate) enum Group {}
/// Why a job is released or buried.
pub(crate) enum Reason {}

/// A number of milliseconds since 1970.
pub(crate) type TimeMs = Whole<0, { i64::MAX.unsigned_abs() }>;
/// A number of attempts.
pub(crate) type Attempts = Whole<0, { u32::MAX as u64 }>;

impl Bounds for Delay {
    const MILLIS: RangeInclusive<u64> = 0..=DELAY_MS_MAX;
}

impl Bounds for Ttr {
    const MILLIS: RangeInclusive<u64> = TTR_MS_MIN as u64..=TTR_MS_MAX as u64;
    const EXAMPLE: &'static str = "30s";
}

impl Bounds for Wait {
    const MILLIS: RangeInclusive<u64> = 0..=WAIT_MS_MAX;
    const EXAMPLE: &'static str = "30s";
}

impl Bounds for Remember {
    const MILLIS: RangeInclusive<u64> = 0..=DEDUPE_RETENTION_MS_MAX;
    const EXAMPLE: &'static str = "1d";
}

impl Bounds for Pause {
    const MILLIS: RangeInclusive<u64> = 1..=DELAY_MS_MAX;
    const EXAMPLE: &'static str = "10m";
}

impl Bounds for BarWidth {
    const MILLIS: RangeInclusive<u64> = 1..=DELAY_MS_MAX;
    const EXAMPLE: &'static str = "1h";
}

impl<B: Bounds> Text for Span<B> {
    type Value = u64;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration with a unit, such as \"15m\"";
    const EXAMPLE: &'static str = B::EXAMPLE;
    const FORM: Form = Form::Pattern(r"^\s*(\d+([.,]\d+)?\s*[a-zµ]+[\s,]*)+$");

    fn of_text(text: &str) -> Result<u64, ValueError> {
        values::duration_within(text, B::MILLIS)
    }
}

impl Text for ClockStep {
    type Value = Advance;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration with a unit, such as \"15m\", or \"next\"";
    const EXAMPLE: &'static str = "15m";

    fn of_text(text: &str) -> Result<Advance, ValueError> {
        if text == "next" { Ok(Advance::ToNext) } else { values::delay_ms(text).map(Advance::By) }
    }
}

impl Text for Time {
    type Value = Millis;
    type Error = ValueError;
    const EXPECTED: &'static str = "a time such as \"2030-12-24T18:00:00Z\"";
    const EXAMPLE: &'static str = "2030-12-24T18:00:00Z";
    const FORM: Form = Form::DateTime;

    fn of_text(text: &str) -> Result<Millis, ValueError> {
        values::time(text)
    }
}

impl Text for TimeOrDelay {
    type Value = When;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration such as \"2h\", or a time such as \"2030-12-24T18:00:00Z\"";
    const EXAMPLE: &'static str = "2h";

    fn of_text(text: &str) -> Result<When, ValueError> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        match values::time(text) {
            Err(bare) if is_number => Err(bare),
            Err(_) => values::delay_ms(text).map(When::After),
            Ok(at) => Ok(When::At(at)),
        }
    }
}

impl Text for Waits {
    type Value = Backoff;
    type Error = ValueError;
    const EXPECTED: &'static str = "waits such as \"10s\", \"1s..10m\" or \"10s,30s,2m\"";
    const EXAMPLE: &'static str = "1s..10m";

    fn of_text(text: &str) -> Result<Backoff, ValueError> {
        values::backoff(text)
    }
}

impl Text for Topic {
    type Value = TopicName;
    type Error = NameError;
    const EXPECTED: &'static str = "a topic's name";
    const EXAMPLE: &'static str = "orders";
    const FORM: Form = Form::Name("^[A-Za-z0-9._:/+;$()][A-Za-z0-9._:/+;$()-]*$", TOPIC_BYTES_MAX);

    fn of_text(text: &str) -> Result<TopicName, NameError> {
        text.parse()
    }
}

/// A text without control characters.
const LINE: &str = r"^[^\u0000-\u001F\u007F-\u009F]+$";

impl Text for JobKey {
    type Value = Key;
    type Error = NameError;
    const EXPECTED: &'static str = "a key";
    const EXAMPLE: &'static str = "order-17";
    const FORM: Form = Form::Name(LINE, KEY_BYTES_MAX);

    fn of_text(text: &str) -> Result<Key, NameError> {
        text.parse()
    }
}

impl Text for Group {
    type Value = GroupName;
    type Error = NameError;
    const EXPECTED: &'static str = "a group";
    const EXAMPLE: &'static str = "tenant-7";
    const FORM: Form = Form::Name(LINE, GROUP_BYTES_MAX);

    fn of_text(text: &str) -> Result<GroupName, NameError> {
        text.parse()
    }
}

impl Text for ScheduleName {
    type Value = Self;
    type Error = ScheduleNameError;
    const EXPECTED: &'static str = "the name of a schedule";
    const EXAMPLE: &'static str = "nightly-report";
    const FORM: Form = Form::Name(r"^[\s\S]+$", SCHEDULE_NAME_BYTES_MAX);

    fn of_text(text: &str) -> Result<Self, ScheduleNameError> {
        let is_valid = (1..=SCHEDULE_NAME_BYTES_MAX).contains(&text.len());
        is_valid.then(|| Self(text.to_owned())).ok_or(ScheduleNameError)
    }
}

/// Not the name of a schedule.
#[derive(Debug, thiserror::Error)]
#[error("the name of a schedule has 1 to {SCHEDULE_NAME_BYTES_MAX} bytes")]
pub(crate) struct ScheduleNameError;

impl FromStr for ScheduleName {
    type Err = ScheduleNameError;

    fn from_str(text: &str) -> Result<Self, ScheduleNameError> {
        Self::of_text(text)
    }
}

impl Text for LeaseText {
    type Value = Lease;
    type Error = LeaseParseError;
    const EXPECTED: &'static str = "a lease such as \"42-7\"";
    const EXAMPLE: &'static str = "42-7";
    const FORM: Form = Form::Pattern("^[0-9]+-[0-9]+$");

    fn of_text(text: &str) -> Result<Lease, LeaseParseError> {
        text.parse()
    }
}

impl Text for SentLease {
    type Value = String;
    type Error = Infallible;
    const EXPECTED: &'static str = LeaseText::EXPECTED;
    const EXAMPLE: &'static str = LeaseText::EXAMPLE;

    fn of_text(text: &str) -> Result<String, Infallible> {
        Ok(text.to_owned())
    }
}

impl Text for Reason {
    type Value = String;
    type Error = ValueError;
    const EXPECTED: &'static str = "a text";
    const EXAMPLE: &'static str = "no such address";

    fn of_text(text: &str) -> Result<String, ValueError> {
        values::reason(text)
    }
}

impl<'de, K: Text> Deserialize<'de> for Field<K> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct OfText<K>(PhantomData<K>);

        impl<K: Text> Visitor<'_> for OfText<K> {
            type Value = Field<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(K::EXPECTED)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Field<K>, E> {
                K::of_text(text).map(Field).map_err(E::custom)
            }
        }

        source.deserialize_str(OfText(PhantomData))
    }
}

/// A visitor for whole numbers between two bounds.
struct OfNumber(RangeInclusive<u64>);

impl Visitor<'_> for OfNumber {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.0.start(), self.0.end())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
        if self.0.contains(&number) {
            return Ok(number);
        }
        Err(E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_u64(OfNumber(MIN..=MAX)).map(Self)
    }
}

impl<'de, B: Bounds> Deserialize<'de> for SpanMs<B> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_u64(OfNumber(B::MILLIS)).map(|millis| Self(millis, PhantomData))
    }
}

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number, where the bounds say that it fits.
    pub(crate) fn narrow(self) -> u32 {
        const { assert!(MAX <= u32::MAX as u64, "it does not fit") };
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<B: Bounds> SpanMs<B> {
    /// The duration in milliseconds.
    pub(crate) fn millis(&self) -> u64 {
        self.0
    }
}

/// A duration that may be a text, or a number of milliseconds under the name with `_ms`.
///
/// # Errors
///
/// If it is both.
pub(crate) fn either<B: Bounds>(
    name: &str,
    text: Option<&Field<Span<B>>>,
    millis: Option<&SpanMs<B>>,
) -> Result<Option<u64>, Problem> {
    only_one(name, text.map(|text| text.0), millis.map(|millis| millis.0))
}

/// A point in time that may be a text, or a number of milliseconds since 1970 under the name with `_ms`.
///
/// # Errors
///
/// If it is both.
pub(crate) fn either_time(
    name: &str,
    text: Option<&Field<Time>>,
    millis: Option<TimeMs>,
) -> Result<Option<Millis>, Problem> {
    only_one(name, text.map(|text| text.0), millis.map(|millis| Millis(millis.0)))
}

/// A due time: how long from now, or when. Each is a text or a number, as in [`either`].
///
/// # Errors
///
/// If it is more than one of these.
pub(crate) fn when(
    delay: (Option<&Field<Span<Delay>>>, Option<&SpanMs<Delay>>),
    due: (Option<&Field<Time>>, Option<TimeMs>),
) -> Result<Option<When>, Problem> {
    match (either("delay", delay.0, delay.1)?, either_time("due", due.0, due.1)?) {
        (Some(_), Some(_)) => Err(Problem::at_pointer("/due", "give a delay or a due time, not both")),
        (Some(delay_ms), None) => Ok(Some(When::After(delay_ms))),
        (None, at) => Ok(at.map(When::At)),
    }
}

fn only_one<T>(name: &str, text: Option<T>, millis: Option<T>) -> Result<Option<T>, Problem> {
    if text.is_some() && millis.is_some() {
        return Err(not_both(name));
    }
    Ok(text.or(millis))
}

/// A value is given as a text, and as a number under the name with `_ms`.
pub(crate) fn not_both(name: &str) -> Problem {
    Problem::at_pointer(&format!("/{name}_ms"), format!("give {name} or {name}_ms, not both"))
}

/// The schema of an optional text of this type, for the `OpenAPI` document. `null` is the same as nothing.
pub(crate) fn schema<K: Text>() -> RefOr<Schema> {
    text_schema::<K>().schema_type(optional(Type::String)).into()
}

fn optional(of: Type) -> SchemaType {
    SchemaType::from_iter([of, Type::Null])
}

/// The schema of a text of this type.
pub(crate) fn text_schema<K: Text>() -> ObjectBuilder {
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(K::EXPECTED))
        .examples([serde_json::Value::from(K::EXAMPLE)]);
    match K::FORM {
        Form::Any => text,
        Form::Pattern(pattern) => text.pattern(Some(pattern)),
        Form::DateTime => text
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(utoipa::openapi::KnownFormat::DateTime))),
        Form::Name(pattern, most) => text.min_length(Some(1)).max_length(Some(most)).pattern(Some(pattern)),
    }
}

/// The schema of a number of milliseconds within these bounds.
pub(crate) fn schema_ms<B: Bounds>() -> RefOr<Schema> {
    numbers(&B::MILLIS).into()
}

/// The schema of a number within these bounds.
pub(crate) fn schema_number<const MIN: u64, const MAX: u64>() -> RefOr<Schema> {
    numbers(&(MIN..=MAX)).into()
}

/// The schema of the most elements of a page.
pub(crate) fn schema_limit<const MAX: u64, const DEFAULT: u32>() -> RefOr<Schema> {
    numbers(&(1..=MAX)).default(Some(DEFAULT.into())).into()
}

/// The schema of a point in time in milliseconds.
pub(crate) fn schema_time_ms() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(optional(Type::Integer))
        .minimum(Some(0))
        .maximum(Some(i64::MAX))
        .description(Some("milliseconds since 1970"))
        .into()
}

/// The schema of a list of topics.
pub(crate) fn schema_topics() -> RefOr<Schema> {
    ArrayBuilder::new().items(text_schema::<Topic>()).min_items(Some(1)).into()
}

fn numbers(range: &RangeInclusive<u64>) -> ObjectBuilder {
    let number = ObjectBuilder::new().schema_type(optional(Type::Integer)).minimum(Some(*range.start()));
    number.maximum(Some(*range.end()))
}
