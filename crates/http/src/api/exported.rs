//! Lines of an export: jobs as in a push, with their topic.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::super::fields::{Field, Topic};
use super::super::input::of_json;
use super::super::problem::Problem;
use super::new_job::NewJobJson;
use adjourn_protocol::NewJob;
use adjourn_types::TopicName;

/// A line of an export.
#[derive(Clone, Debug)]
pub struct ExportedJob {
    /// Its topic.
    pub topic: TopicName,
    /// The job.
    pub job: NewJob,
}

/// Reads a line of an export.
///
/// # Errors
///
/// If it is no job with its topic.
pub fn exported_job(line: &[u8]) -> Result<ExportedJob, Problem> {
    let (topic, rest) = split(line)?;
    let missing = || Problem::at_pointer("/topic", "a line of an export names the topic of its job");
    let topic = topic.ok_or_else(missing)?;
    Ok(ExportedJob { topic, job: of_json::<NewJobJson<'_>>(&rest)?.job()? })
}

/// Reads a job that is pushed to this topic. A line of an export of that topic is one.
pub(super) fn pushed_job(element: &[u8], topic: &TopicName) -> Result<NewJob, Problem> {
    let (named, rest) = split(element)?;
    if named.is_some_and(|named| named != *topic) {
        let detail =
            format!("the job is pushed to {topic}: push it to its own topic, or leave the field out");
        return Err(Problem::at_pointer("/topic", detail));
    }
    of_json::<NewJobJson<'_>>(&rest)?.job()
}

/// The topic that a job names, and its other fields as JSON.
fn split(element: &[u8]) -> Result<(Option<TopicName>, Cow<'_, [u8]>), Problem> {
    let name = b"\"topic\"";
    if !element.windows(name.len()).any(|bytes| bytes == name) {
        return Ok((None, Cow::Borrowed(element)));
    }
    // A field that stands twice is refused where the job is read.
    let mut fields: Vec<(Cow<'_, str>, &RawValue)> = of_json::<Fields<'_>>(element)?.0;
    let named = fields.extract_if(.., |(name, _)| name == "topic").collect::<Vec<_>>();
    let named: NamedTopic = of_json(&json(&named))?;
    Ok((named.topic.map(|topic| topic.0), Cow::Owned(json(&fields))))
}

/// The field that a line has beside those of a push.
#[derive(Deserialize)]
struct NamedTopic {
    topic: Option<Field<Topic>>,
}

/// An object with these fields.
fn json(fields: &[(Cow<'_, str>, &RawValue)]) -> Vec<u8> {
    let fields =
        fields.iter().map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_ref())));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(",")).into()
}

/// The fields of an object in their order.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct OfObject<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for OfObject<'a> {
            type Value = Fields<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a job: an object such as {\"body\": \"close order 17\"}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'a>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        source.deserialize_map(OfObject(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Attributes;

    #[test]
    fn a_line_has_its_topic_and_why_it_is_set_aside() {
        let line = br#"{"topic":"orders","buried":"no \"address\"","body":"a \u00e9","key":"k","due_ms":7}"#;
        let read = exported_job(line).expect("a job");
        let buried = Attributes::buried_of(read.job.attributes.as_bytes());
        assert_eq!((read.topic.as_str(), buried), ("orders", Some("no \"address\"")));
        assert_eq!(
            (&read.job.body[..], read.job.key.as_ref().map(adjourn_types::Key::as_str)),
            ("a é".as_bytes(), Some("k"))
        );
        assert!(exported_job(br#"{"body":"a"}"#).is_err(), "no topic");
        assert!(exported_job(br#"{"topic":"orders","other":1}"#).is_err(), "an unknown field");
        assert!(exported_job(br#"{"topic":"orders","body":1,"body":2}"#).is_err(), "a field twice");
        assert!(exported_job(br#"{"topic":"orders","topic":"mails"}"#).is_err(), "a topic twice");
    }

    #[test]
    fn a_line_of_its_topic_can_be_pushed() {
        let topic: TopicName = "orders".parse().expect("a name");
        let body = |element: &[u8]| pushed_job(element, &topic).map(|job| job.body);
        assert_eq!(body(br#"{"topic":"orders","body":"a"}"#).expect("pushed"), "a");
        assert_eq!(body(br#"{"body":"\"topic\""}"#).expect("pushed"), "\"topic\"");
        for refused in [&br#"{"topic":"mails"}"#[..], br#"["topic"]"#] {
            assert!(body(refused).is_err());
        }
    }
}
