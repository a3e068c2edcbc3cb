//! Values of a query for serde: texts, which become numbers, flags or lists where these are expected.

use serde::de::value::{Error, SeqDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::wording::TWICE;

/// The values of one name; more than one if it was repeated.
pub(super) struct QueryValue(Vec<String>);

impl QueryValue {
    pub(super) fn new(values: Vec<String>) -> Self {
        Self(values)
    }

    fn one(mut self) -> Result<String, Error> {
        let last = self.0.pop().unwrap_or_default();
        if self.0.is_empty() { Ok(last) } else { Err(de::Error::custom(TWICE)) }
    }
}

impl IntoDeserializer<'_, Error> for QueryValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for QueryValue {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.one()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.one()?;
        // The visitor refuses a text in its own words.
        match text.parse() {
            Ok(number) => visitor.visit_u64(number),
            Err(_) => visitor.visit_string(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.one()?;
        match text.parse() {
            Ok(flag) => visitor.visit_bool(flag),
            Err(_) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Each value may itself be a list, with commas between.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let texts = self.0.iter().flat_map(|value| value.split(','));
        let values = texts.map(|text| Self(vec![text.trim().to_owned()]));
        visitor.visit_seq(SeqDeserializer::new(values))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.one()?.into_deserializer())
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple tuple_struct
        map struct identifier ignored_any
    }
}
