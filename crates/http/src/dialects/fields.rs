//! The fields of a JSON request. Unknown fields are not stored: a small text may describe a large tree.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::go_json::mended;

/// The names of the known fields.
const FIELDS: [&str; 6] = ["command", "topic", "id", "delay", "ttr", "body"];
/// Those that are numbers; the others are texts.
const NUMBERS: [&str; 2] = ["delay", "ttr"];

/// The fields of a request. The case of their names does not matter, as in Go. Unknown fields are skipped.
#[derive(Default)]
pub(super) struct Fields([Value; FIELDS.len()]);

/// The value of a field.
#[derive(Default)]
enum Value {
    #[default]
    Nothing,
    Text(String),
    Whole(i64),
    /// A value that the field cannot have.
    Wrong,
}

impl Fields {
    /// Parses the fields of a request's body. `None` if it is not a JSON object; `null` counts as one without fields.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let fields: Option<Self> = serde_json::from_str(&mended(bytes)).ok()?;
        Some(fields.unwrap_or_default())
    }

    fn get(&self, name: &str) -> &Value {
        let at = FIELDS.iter().position(|field| field.eq_ignore_ascii_case(name));
        at.and_then(|at| self.0.get(at)).unwrap_or(&Value::Nothing)
    }

    /// A text, trimmed; empty if the field is missing. `None` if it is not a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Value::Nothing => Some(String::new()),
            Value::Text(text) => Some(text.trim().to_owned()),
            Value::Whole(_) | Value::Wrong => None,
        }
    }

    /// A whole number; 0 if the field is missing. `None` if it is something else, such as `1.0`.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Value::Nothing => Some(0),
            Value::Whole(number) => Some(*number),
            Value::Text(_) | Value::Wrong => None,
        }
    }
}

impl Value {
    /// Sets the value of a field. As in Go, `null` changes nothing, and a wrong value is not made good by a later one.
    fn set(&mut self, new: Self, name: &str) {
        let is_number = NUMBERS.iter().any(|number| number.eq_ignore_ascii_case(name));
        let fits = match (&*self, &new) {
            (_, Self::Nothing) | (Self::Wrong, _) => return,
            (_, Self::Text(_)) => !is_number,
            (_, Self::Whole(_)) => is_number,
            (_, Self::Wrong) => false,
        };
        *self = if fits { new } else { Self::Wrong };
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<String>()? {
            let at = FIELDS.iter().position(|field| field.eq_ignore_ascii_case(&name));
            match at.and_then(|at| fields.0.get_mut(at)) {
                Some(field) => field.set(map.next_value()?, &name),
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(fields)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Wrong, Value::Whole))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Wrong)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Wrong)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Wrong)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names_of_any_case_and_strict_values() {
        let fields = Fields::read(br#"{"Topic":" a ","TTR":60,"delay":1.0,"id":7}"#).expect("an object");
        assert_eq!((fields.text("topic"), fields.number("ttr")), (Some("a".to_owned()), Some(60)));
        assert_eq!(
            (fields.number("delay"), fields.text("id"), fields.text("body")),
            (None, None, Some(String::new()))
        );
        assert!(
            Fields::read(b"[]").is_none() && Fields::read(b"").is_none() && Fields::read(b"null").is_some()
        );
    }

    #[test]
    fn what_no_request_has_is_passed_over() {
        let fields = Fields::read(br#"{"x":[1,{"y":2}],"id":"a","body":{"z":[]},"topic":["t"],"ID":"b"}"#);
        let fields = fields.expect("an object");
        assert_eq!(
            (fields.text("id"), fields.text("body"), fields.text("topic")),
            (Some("b".to_owned()), None, None)
        );
        let fields =
            Fields::read(br#"{"id":"a","id":null,"body":{},"body":"b","ttr":"5","ttr":5,"delay":7}"#);
        let fields = fields.expect("an object");
        assert_eq!(
            (fields.text("id"), fields.text("body"), fields.number("ttr"), fields.number("delay")),
            (Some("a".to_owned()), None, None, Some(7))
        );
        let fields = Fields::read(b"{\"id\":\"\xff\",\"body\":\"\\ud800\"}").expect("an object");
        assert_eq!(
            (fields.text("id"), fields.text("body")),
            (Some("\u{fffd}".to_owned()), Some("\u{fffd}".to_owned()))
        );
    }
}
