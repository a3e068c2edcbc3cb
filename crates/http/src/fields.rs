//! Values in JSON and in queries, each checked as it is read: durations (`"15m"`, or milliseconds), times (RFC 3339, or
//! milliseconds since 1970), topics, keys.

use std::fmt;
use std::marker::PhantomData;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use adjourn_json::values::{self, ValueError};
use adjourn_protocol::Advance;
use adjourn_types::{Backoff, Key, Millis, NameError, TopicName, When};

/// A type of value that is written as text, or also as a number.
pub(crate) trait Kind {
    /// The parsed type.
    type Value;
    /// The error for an invalid text.
    type Error: fmt::Display;
    /// The expected form, for error messages and documents.
    const EXPECTED: &'static str;
    /// An example for documents.
    const EXAMPLE: &'static str;

    /// Parses a text.
    fn of_text(text: &str) -> Result<Self::Value, Self::Error>;

    /// Converts a number, if this type allows numbers.
    fn of_number(_number: u64) -> Option<Self::Value> {
        None
    }
}

/// A parsed value of this type.
pub(crate) struct Field<K: Kind>(pub K::Value);

/// A delay: how long from now.
pub(crate) enum Delay {}
/// How far a test moves the clock.
pub(crate) enum ClockStep {}
/// A time to run.
pub(crate) enum Ttr {}
/// How long to wait.
pub(crate) enum Wait {}
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
/// A number.
pub(crate) enum Number {}
/// True or false.
pub(crate) enum Flag {}

impl Kind for Delay {
    type Value = u64;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration such as \"15m\", or milliseconds";
    const EXAMPLE: &'static str = "15m";

    fn of_text(text: &str) -> Result<u64, ValueError> {
        values::delay_ms(text)
    }

    fn of_number(number: u64) -> Option<u64> {
        values::delay_of(number).ok()
    }
}

impl Kind for ClockStep {
    type Value = Advance;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration such as \"15m\", or milliseconds, or \"next\"";
    const EXAMPLE: &'static str = "15m";

    fn of_text(text: &str) -> Result<Advance, ValueError> {
        if text == "next" { Ok(Advance::ToNext) } else { values::delay_ms(text).map(Advance::By) }
    }

    fn of_number(number: u64) -> Option<Advance> {
        values::delay_of(number).ok().map(Advance::By)
    }
}

impl Kind for Ttr {
    type Value = u32;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration between 100ms and 7d such as \"30s\", or milliseconds";
    const EXAMPLE: &'static str = "30s";

    fn of_text(text: &str) -> Result<u32, ValueError> {
        values::ttr_ms(text)
    }

    fn of_number(number: u64) -> Option<u32> {
        values::ttr_of(number).ok()
    }
}

impl Kind for Wait {
    type Value = u64;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration up to 1h such as \"30s\"";
    const EXAMPLE: &'static str = "30s";

    fn of_text(text: &str) -> Result<u64, ValueError> {
        values::wait_ms(text)
    }
}

impl Kind for Time {
    type Value = Millis;
    type Error = ValueError;
    const EXPECTED: &'static str = "a time such as \"2030-12-24T18:00:00Z\", or milliseconds since 1970";
    const EXAMPLE: &'static str = "2030-12-24T18:00:00Z";

    fn of_text(text: &str) -> Result<Millis, ValueError> {
        // In a query a number is a text.
        text.parse().map(Millis).or_else(|_| values::time(text))
    }

    fn of_number(number: u64) -> Option<Millis> {
        Some(Millis(number))
    }
}

impl Kind for TimeOrDelay {
    type Value = When;
    type Error = ValueError;
    const EXPECTED: &'static str = "a duration such as \"2h\", or a time such as \"2030-12-24T18:00:00Z\"";
    const EXAMPLE: &'static str = "2h";

    fn of_text(text: &str) -> Result<When, ValueError> {
        values::time(text).map(When::At).or_else(|_| values::delay_ms(text).map(When::After))
    }
}

impl Kind for Waits {
    type Value = Backoff;
    type Error = ValueError;
    const EXPECTED: &'static str = "waits such as \"10s\", \"1s..10m\" or \"10s,30s,2m\"";
    const EXAMPLE: &'static str = "1s..10m";

    fn of_text(text: &str) -> Result<Backoff, ValueError> {
        values::backoff(text)
    }
}

impl Kind for Topic {
    type Value = TopicName;
    type Error = NameError;
    const EXPECTED: &'static str = "a topic's name";
    const EXAMPLE: &'static str = "orders";

    fn of_text(text: &str) -> Result<TopicName, NameError> {
        text.parse()
    }
}

impl Kind for JobKey {
    type Value = Key;
    type Error = NameError;
    const EXPECTED: &'static str = "a key";
    const EXAMPLE: &'static str = "order-17";

    fn of_text(text: &str) -> Result<Key, NameError> {
        text.parse()
    }
}

impl Kind for Number {
    type Value = u32;
    type Error = std::num::ParseIntError;
    const EXPECTED: &'static str = "a number from 0 to 4294967295";
    const EXAMPLE: &'static str = "3";

    fn of_text(text: &str) -> Result<u32, Self::Error> {
        text.parse()
    }

    fn of_number(number: u64) -> Option<u32> {
        number.try_into().ok()
    }
}

impl Kind for Flag {
    type Value = bool;
    type Error = std::str::ParseBoolError;
    const EXPECTED: &'static str = "true or false";
    const EXAMPLE: &'static str = "true";

    fn of_text(text: &str) -> Result<bool, Self::Error> {
        text.parse()
    }
}

impl<'de, K: Kind> Deserialize<'de> for Field<K> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(OfField(PhantomData::<K>))
    }
}

struct OfField<K>(PhantomData<K>);

impl<K: Kind> Visitor<'_> for OfField<K> {
    type Value = Field<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Field<K>, E> {
        let wrong = |error| E::custom(format_args!("expected {}: {error}", K::EXPECTED));
        K::of_text(text).map(Field).map_err(wrong)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Field<K>, E> {
        let wrong = || E::custom(format_args!("expected {}", K::EXPECTED));
        K::of_number(number).map(Field).ok_or_else(wrong)
    }
}

/// The schema of this type, for the `OpenAPI` document.
pub(crate) fn schema<K: Kind>() -> RefOr<Schema> {
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(K::EXPECTED))
        .examples([serde_json::Value::from(K::EXAMPLE)]);
    if K::of_number(1000).is_none() {
        return text.into();
    }
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    OneOfBuilder::new().item(text).item(number).into()
}
