//! Templates, filled in with the values of a job.
//!
//! Every text has a maximum length, which is checked while it is written: a small body can make a very large form, because
//! the name of a list is repeated for each of its items.

use std::fmt::{self, Write as _};
use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::destination::{NotADestination, URL_BYTES_MAX};
use super::no_call_request::NoCallRequest;
use super::php_time::{self, FAILED_FIELD, TIME_FIELD};
use adjourn_protocol::Delivered;
use adjourn_types::{Piece, Placeholder, Template};

/// PHP writes fractions with at most this many digits.
const PHP_DIGITS: i32 = 14;
/// The characters that are escaped in a URL: all that may have a meaning there.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// Before the query.
    Path,
    Query,
    Header,
    Text,
    Json,
}

/// What fills in a template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    pub(super) job: &'a Delivered,
    /// The time zone of `notify_time`.
    pub(super) zone: &'a TimeZone,
}

/// What php-delayqueue adds to a form.
#[derive(Debug, Default)]
struct Retry {
    /// How many attempts failed.
    failed: u32,
    /// When this one was due, if it is not the first one.
    notify_time: Option<String>,
}

/// A text that is being filled in, up to a maximum length.
#[derive(Debug)]
pub(super) struct Filled {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// The error when it gets too long.
    too_large: NoCallRequest,
}

impl Filled {
    /// An empty text.
    pub(super) fn new(bytes_max: usize, too_large: NoCallRequest) -> Self {
        Self { bytes: Vec::new(), bytes_max, too_large }
    }

    /// The text.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends the template, with its placeholders replaced by values of the job.
    pub(super) fn fill(
        &mut self,
        template: &Template,
        values: Values<'_>,
        within: Within,
    ) -> Result<(), NoCallRequest> {
        for piece in template.pieces() {
            match piece {
                Piece::Text(text) => self.put(text.as_bytes())?,
                Piece::Placeholder(place) => self.put_value(*place, values, within)?,
            }
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), NoCallRequest> {
        self.check_room(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn check_room(&self, bytes: usize) -> Result<(), NoCallRequest> {
        if bytes > self.bytes_left() { Err(self.too_large.clone()) } else { Ok(()) }
    }

    fn bytes_left(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes.len())
    }

    fn put_value(
        &mut self,
        place: Placeholder,
        values: Values<'_>,
        within: Within,
    ) -> Result<(), NoCallRequest> {
        let job = values.job;
        let is_in_body = matches!(within, Within::Json | Within::Text);
        let retry = (place == Placeholder::BodyFormRetries).then(|| Retry::of(values));
        if matches!(place, Placeholder::Body | Placeholder::BodyJson | Placeholder::BodyBase64) {
            // Every encoding of a body takes at least as many bytes as the body.
            self.check_room(job.body.len())?;
        }
        let value = match place {
            Placeholder::Id => job.lease.job.to_string(),
            Placeholder::Topic => job.topic.as_str().to_owned(),
            Placeholder::Key => job.key.as_ref().map(|key| text(key.as_bytes())).unwrap_or_default(),
            Placeholder::Attempt => job.attempts.to_string(),
            Placeholder::DueMs => job.due.0.to_string(),
            Placeholder::Lease => job.lease.to_string(),
            Placeholder::Body if is_in_body => return self.put(&job.body),
            Placeholder::Body => text(&job.body),
            Placeholder::BodyJson if is_in_body => return self.put_json(&String::from_utf8_lossy(&job.body)),
            Placeholder::BodyJson => serde_json::to_string(&text(&job.body)).unwrap_or_default(),
            Placeholder::BodyBase64 => BASE64_STANDARD.encode(&job.body),
            Placeholder::BodyForm | Placeholder::BodyFormRetries if within != Within::Header => {
                return self.put_form(&job.body, retry);
            }
            Placeholder::BodyForm | Placeholder::BodyFormRetries => {
                let mut form = Self::new(self.bytes_left(), self.too_large.clone());
                form.put_form(&job.body, retry)?;
                text(&form.bytes)
            }
        };
        self.check_room(value.len())?;
        let value = match within {
            Within::Path | Within::Query => utf8_percent_encode(&value, IN_URL).to_string(),
            Within::Header => sendable(value.as_bytes()),
            Within::Json if place != Placeholder::BodyBase64 => adjourn_json::values::inside_quotes(&value),
            Within::Json | Within::Text => value,
        };
        self.put(value.as_bytes())
    }

    /// Appends a text as a JSON string.
    fn put_json(&mut self, text: &str) -> Result<(), NoCallRequest> {
        serde_json::to_writer(&mut *self, text).map_err(|_| self.too_large.clone())
    }

    /// Appends the fields of a JSON object as a form. Fields of a nested object are `outer[inner]`, as PHP writes them. A
    /// space is `%20`, which all receivers understand. With `retry`, values are those of php-delayqueue, and the number of
    /// failed attempts follows, if there were any.
    fn put_form(&mut self, body: &[u8], retry: Option<Retry>) -> Result<(), NoCallRequest> {
        let failed = retry.as_ref().map_or(0, |retry| retry.failed);
        let mut form =
            Form { filled: self, retry, name: String::new(), depth: 0, is_begun: false, fault: None };
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = json.deserialize_map(&mut form).and_then(|()| json.end());
        if read.is_err() {
            return Err(form.fault.unwrap_or(NoCallRequest::NoForm));
        }
        if failed == 0 {
            return Ok(());
        }
        FAILED_FIELD.clone_into(&mut form.name);
        form.put_field(&failed.to_string())
    }
}

impl Retry {
    fn of(Values { job, zone }: Values<'_>) -> Self {
        let failed = job.attempts.saturating_sub(1);
        Self { failed, notify_time: (failed > 0).then(|| php_time::text(job.due, zone)) }
    }
}

impl io::Write for Filled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The URL filled in with a job. An empty value in the path is refused: the URL would mean something else, perhaps all
/// orders.
pub(super) fn filled_url(template: &Template, values: Values<'_>) -> Result<String, NoCallRequest> {
    let mut filled = Filled::new(URL_BYTES_MAX, NotADestination::TooLong.into());
    for piece in template.pieces() {
        match piece {
            Piece::Text(text) => filled.put(text.as_bytes())?,
            Piece::Placeholder(place) => {
                let (is_of_query, before) = (filled.bytes.contains(&b'?'), filled.bytes.len());
                filled.put_value(*place, values, if is_of_query { Within::Query } else { Within::Path })?;
                if !is_of_query && filled.bytes.len() == before {
                    return Err(NoCallRequest::NoValue(place.name()));
                }
            }
        }
    }
    Ok(text(&filled.bytes))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Escapes a header value: bytes that are not printable ASCII, and `%`, are written as in a URL.
pub(super) fn sendable(bytes: &[u8]) -> String {
    let mut sendable = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b' '..=b'~' if *byte != b'%' => sendable.push(char::from(*byte)),
            // Writing to a text cannot fail.
            _ => drop(write!(sendable, "%{byte:02X}")),
        }
    }
    sendable
}

/// The fields of a JSON object, written while they are read: in memory they would take many times the bytes of their text.
struct Form<'a> {
    filled: &'a mut Filled,
    /// Set for a form of php-delayqueue.
    retry: Option<Retry>,
    /// The name of the next value.
    name: String,
    /// The number of objects and lists around it.
    depth: usize,
    is_begun: bool,
    /// Why reading stopped, if the reason is not the JSON text itself.
    fault: Option<NoCallRequest>,
}

impl Form<'_> {
    fn put_field(&mut self, value: &str) -> Result<(), NoCallRequest> {
        if self.is_begun {
            self.filled.put(b"&")?;
        }
        self.is_begun = true;
        let name = form_urlencoded::byte_serialize(self.name.as_bytes());
        let value = form_urlencoded::byte_serialize(value.as_bytes());
        for part in name.chain(["="]).chain(value) {
            let part = if part == "+" { "%20" } else { part };
            self.filled.put(part.as_bytes())?;
        }
        Ok(())
    }

    fn read_field<E: Error>(&mut self, value: &str) -> Result<(), E> {
        self.put_field(value).map_err(|fault| {
            let error = E::custom(&fault);
            self.fault = Some(fault);
            error
        })
    }

    /// Appends a name within the present one: that of the next value.
    fn push_name(&mut self, inner: &str) {
        if self.depth == 1 {
            self.name.push_str(inner);
        } else {
            self.name.extend(["[", inner, "]"]);
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Form<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Form<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    /// PHP's own forms leave `null` out; php-delayqueue sends it empty, and `false` as well.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.retry.is_some() { self.read_field("") } else { Ok(()) }
    }

    fn visit_bool<E: Error>(self, is_true: bool) -> Result<(), E> {
        let no = if self.retry.is_some() { "" } else { "0" };
        self.read_field(if is_true { "1" } else { no })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.read_field(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            #[expect(clippy::cast_precision_loss, reason = "PHP rounds, too")]
            Err(_) if self.retry.is_some() => self.visit_f64(number as f64),
            Err(_) => self.read_field(&number.to_string()),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        if self.retry.is_some() {
            return self.read_field(&php_fraction(number));
        }
        self.read_field(&serde_json::Value::from(number).to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.read_field(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let outer = self.name.len();
        self.depth += 1;
        for place in 0_usize.. {
            self.push_name(&place.to_string());
            let item = items.next_element_seed(&mut *self)?;
            self.name.truncate(outer);
            if item.is_none() {
                break;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let outer = self.name.len();
        self.depth += 1;
        while let Some(name) = fields.next_key::<String>()? {
            self.push_name(&name);
            let renewed = self.retry.as_mut().filter(|_| self.depth == 1 && name == TIME_FIELD);
            match renewed.and_then(|retry| retry.notify_time.take()) {
                Some(time) => {
                    fields.next_value::<IgnoredAny>()?;
                    self.read_field(&time)?;
                }
                None => fields.next_value_seed(&mut *self)?,
            }
            self.name.truncate(outer);
        }
        self.depth -= 1;
        Ok(())
    }
}

/// A fraction as PHP writes it: `%.14G`, with a digit after the point before an exponent.
fn php_fraction(number: f64) -> String {
    let scientific = format!("{number:.*e}", 13);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..PHP_DIGITS).contains(&exponent) {
        let places = usize::try_from(PHP_DIGITS - 1 - exponent).unwrap_or(0);
        let plain = format!("{number:.places$}");
        let is_fraction = plain.contains('.');
        return if is_fraction {
            plain.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            plain
        };
    }
    let mantissa = mantissa.trim_end_matches('0');
    let digit = if mantissa.ends_with('.') { "0" } else { "" };
    format!("{mantissa}{digit}E{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_written_as_php_writes_them() {
        for (number, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (-0.25, "-0.25"),
            (0.1 + 0.2, "0.3"),
            (100.0, "100"),
            (0.0001, "0.0001"),
            (0.00001, "1.0E-5"),
            (1.25e-7, "1.25E-7"),
            (12_345_678_901_234.5, "12345678901234"),
            (99_999_999_999_999.0, "99999999999999"),
            (1e14, "1.0E+14"),
            (1e25, "1.0E+25"),
            (1.234_567_890_123_456_7e19, "1.2345678901235E+19"),
            (-0.0, "-0"),
        ] {
            assert_eq!(php_fraction(number), text, "{number:e}");
        }
    }
}
