//! The body of a job of php-delayqueue: a PHP array. Its fields keep their order, and their values stay as they were written.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, to_string};

/// The fields of a body, each with its value as JSON.
#[derive(Debug, Default)]
pub(super) struct PhpBody(Vec<(String, String)>);

impl PhpBody {
    /// True if there is this field, and it is not `null`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, value)| field == name && value != "null")
    }

    /// Sets a field, which keeps its place if there is one.
    pub(super) fn set(&mut self, name: &str, value: &Value) {
        self.put(name.to_owned(), value.to_string());
    }

    fn put(&mut self, name: String, json: String) {
        match self.0.iter_mut().find(|(field, _)| *field == name) {
            Some((_, value)) => *value = json,
            None => self.0.push((name, json)),
        }
    }

    /// The body as a JSON object.
    pub(super) fn to_json(&self) -> String {
        let fields = self.0.iter().map(|(name, json)| {
            // Writing a text as JSON cannot fail.
            format!("{}:{json}", to_string(name).unwrap_or_default())
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}

impl<'de> Deserialize<'de> for PhpBody {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(PhpBodyVisitor)
    }
}

struct PhpBodyVisitor;

impl<'de> Visitor<'de> for PhpBodyVisitor {
    type Value = PhpBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    /// PHP makes an array of `null`.
    fn visit_unit<E>(self) -> Result<PhpBody, E> {
        Ok(PhpBody::default())
    }

    /// PHP makes an array of `false`.
    fn visit_bool<E: Error>(self, is_true: bool) -> Result<PhpBody, E> {
        if is_true { Err(E::custom("true is no body")) } else { Ok(PhpBody::default()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PhpBody, A::Error> {
        let mut body = PhpBody::default();
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            body.0.push((body.0.len().to_string(), item.get().to_owned()));
        }
        Ok(body)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<PhpBody, A::Error> {
        let mut body = PhpBody::default();
        while let Some((name, value)) = fields.next_entry::<String, Box<RawValue>>()? {
            body.put(name, value.get().to_owned());
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<String> {
        serde_json::from_str::<PhpBody>(json).ok().map(|body| body.to_json())
    }

    #[test]
    fn fields_keep_their_order_and_their_values() {
        let json = r#"{"z":1.0,"a":null,"\u00fc":{"y":[1, 2],"b":0},"n":12345678901234567890}"#;
        assert_eq!(
            read(json).as_deref(),
            Some(r#"{"z":1.0,"a":null,"ü":{"y":[1, 2],"b":0},"n":12345678901234567890}"#)
        );
        assert_eq!(read(r#"{"a":1,"b":2,"a":3}"#).as_deref(), Some(r#"{"a":3,"b":2}"#));
        let mut body: PhpBody = serde_json::from_str(r#"{"notify_time":"x","a":null}"#).expect("a body");
        body.set("notify_time", &"now".into());
        body.set("b", &1.into());
        assert_eq!(body.to_json(), r#"{"notify_time":"now","a":null,"b":1}"#);
        assert!(body.has("b") && !body.has("a") && !body.has("c"));
    }

    #[test]
    fn what_php_makes_an_array_of_is_a_body() {
        assert_eq!(read(r#"["a",{"b":2}]"#).as_deref(), Some(r#"{"0":"a","1":{"b":2}}"#));
        assert_eq!((read("null").as_deref(), read("false").as_deref()), (Some("{}"), Some("{}")));
        assert_eq!((read("true"), read("5"), read("\"x\"")), (None, None, None));
    }
}
