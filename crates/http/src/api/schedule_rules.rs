//! A schedule to be set, as JSON: when it fires, and what its jobs have in common.

use std::borrow::Cow;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::super::fields::{
    Bounds, Field, JobKey, Span, SpanMs, Text, Time, TimeMs, Whole, either, either_time, schema, schema_ms,
    schema_number, schema_time_ms, text_schema,
};
use super::super::input::Object;
use super::super::problem::Problem;
use super::new_job::NewJobJson;
use adjourn_calendar::{Recurrence, RecurrenceError, ZoneData};
use adjourn_protocol::{JobTemplate, NewJob};
use adjourn_types::limits::{
    DELAY_MS_MAX, SCHEDULE_JITTER_MS_MAX, SCHEDULE_MISSED_MAX, SCHEDULE_NOTE_BYTES_MAX,
    SCHEDULE_WHEN_BYTES_MAX,
};
use adjourn_types::{Dst, Millis, Missed, Overlap, ScheduleRules};

/// A schedule to be set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "a schedule: an object such as {\"when\": \"0 9 * * 1-5\"}")]
#[schema(
    as = NewSchedule,
    example = json!({"when": "0 9 * * 1-5", "zone": "Europe/Berlin", "job": {"body": "send the report"}})
)]
pub(super) struct NewScheduleJson<'a> {
    /// When it fires: a cron expression, `@daily` and the like, `@every` with a duration, or `@at` with times.
    #[schema(schema_with = schema_recurrence)]
    when: Field<RecurrenceText>,
    /// The time zone of a cron expression. The default is UTC.
    #[schema(example = "Europe/Berlin")]
    zone: Option<String>,
    /// What happens when the clocks of the zone are changed.
    #[schema(inline)]
    dst: Option<DstJson>,
    /// The time from which `@every` counts. The default is the start, or the time when the schedule is first set.
    #[schema(schema_with = schema::<Time>)]
    origin: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    origin_ms: Option<TimeMs>,
    /// It does not fire before this time.
    #[schema(schema_with = schema::<Time>)]
    start: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    start_ms: Option<TimeMs>,
    /// It does not fire after this time.
    #[schema(schema_with = schema::<Time>)]
    end: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    end_ms: Option<TimeMs>,
    /// It ends when it has pushed a job at this many instants.
    #[schema(schema_with = schema_number::<1, COUNT_MAX>)]
    count: Option<Whole<1, COUNT_MAX>>,
    /// A job is due up to this long after its instant.
    #[schema(schema_with = schema::<Span<Jitter>>)]
    jitter: Option<Field<Span<Jitter>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<Jitter>)]
    jitter_ms: Option<SpanMs<Jitter>>,
    /// Which of the missed instants are fired late. The default is last.
    #[schema(inline)]
    missed: Option<MissedJson>,
    /// Only those that are no longer ago than this.
    #[schema(schema_with = schema::<Span<MissedWindow>>)]
    missed_window: Option<Field<Span<MissedWindow>>>,
    /// The same in milliseconds.
    #[schema(schema_with = schema_ms::<MissedWindow>)]
    missed_window_ms: Option<SpanMs<MissedWindow>>,
    /// With missed all: at most this many, the last ones. The default is 100.
    #[schema(schema_with = schema_number::<1, MISSED_MAX>)]
    missed_max: Option<Whole<1, MISSED_MAX>>,
    /// What it does while an earlier job has not ended. The default is skip.
    #[schema(inline)]
    overlap: Option<OverlapJson>,
    /// It is paused after this many failures in a row. Without it, or with 0, never.
    #[schema(schema_with = schema_number::<0, FAILURES_MAX>)]
    failures_max: Option<Whole<0, FAILURES_MAX>>,
    /// The key of its jobs. The default is its name, `@`, and the instant in milliseconds.
    #[schema(schema_with = schema::<JobKey>)]
    key: Option<Field<JobKey>>,
    /// A note for people.
    #[schema(schema_with = schema::<Note>)]
    note: Option<Field<Note>>,
    /// Its jobs.
    #[serde(borrow, default, deserialize_with = "job")]
    #[schema(value_type = Option<NewScheduleJobJson>)]
    job: Option<NewJobJson<'a>>,
}

const COUNT_MAX: u64 = i64::MAX.unsigned_abs();
const MISSED_MAX: u64 = SCHEDULE_MISSED_MAX as u64;
const FAILURES_MAX: u64 = u32::MAX as u64;

/// An object that may be left out or `null`.
fn job<'de: 'a, 'a, D: Deserializer<'de>>(source: D) -> Result<Option<NewJobJson<'a>>, D::Error> {
    let job = Option::<Object<NewJobJson<'a>>>::deserialize(source)?;
    Ok(job.map(|Object(job)| job))
}

/// What happens when the clocks are changed.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Dst)]
pub(super) enum DstJson {
    /// A fixed time that is skipped fires after the gap, a repeated one fires once.
    #[default]
    Vixie,
    /// A skipped time does not fire, a repeated one fires twice.
    Literal,
}

/// Which of the missed instants are fired late.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Missed)]
pub(super) enum MissedJson {
    /// None of them.
    None,
    /// The last one.
    #[default]
    Last,
    /// All of them, up to a number.
    All,
}

/// What a schedule does while an earlier job has not ended.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Overlap)]
pub(super) enum OverlapJson {
    /// It pushes another job.
    Allow,
    /// It pushes no job.
    #[default]
    Skip,
    /// It pushes the job as soon as the earlier one has ended.
    QueueOne,
    /// It deletes the earlier job and pushes another.
    Replace,
}

/// How long after its instant a job may be due.
pub(super) enum Jitter {}
/// How long ago a missed instant may be.
pub(super) enum MissedWindow {}
/// When a schedule fires.
pub(super) enum RecurrenceText {}
/// A note for people.
pub(super) enum Note {}

impl Bounds for Jitter {
    const MILLIS: RangeInclusive<u64> = 0..=SCHEDULE_JITTER_MS_MAX as u64;
    const EXAMPLE: &'static str = "30s";
}

impl Bounds for MissedWindow {
    const MILLIS: RangeInclusive<u64> = 1..=DELAY_MS_MAX;
    const EXAMPLE: &'static str = "1h";
}

/// A text that does not say when a schedule fires.
#[derive(Debug, thiserror::Error)]
pub(super) enum WhenError {
    /// It is too long.
    #[error("it has at most {SCHEDULE_WHEN_BYTES_MAX} bytes: this one has {0}. Write several schedules")]
    TooLong(usize),
    /// It has another form.
    #[error(transparent)]
    Recurrence(#[from] RecurrenceError),
}

impl Text for RecurrenceText {
    type Value = String;
    type Error = WhenError;
    const EXPECTED: &'static str = "a cron expression such as \"0 9 * * 1-5\", an interval such as \"@every 90s\", or times such as \"@at 2030-12-24T18:00:00Z\"";
    const EXAMPLE: &'static str = "0 9 * * 1-5";

    fn of_text(text: &str) -> Result<String, WhenError> {
        if text.len() > SCHEDULE_WHEN_BYTES_MAX {
            return Err(WhenError::TooLong(text.len()));
        }
        Recurrence::parse(text, Millis(0))?;
        Ok(text.to_owned())
    }
}

/// The schema of a text that says when a schedule fires.
pub(super) fn schema_recurrence() -> RefOr<Schema> {
    text_schema::<RecurrenceText>().into()
}

/// A note that is too long.
#[derive(Debug, thiserror::Error)]
#[error("expected a text of at most {SCHEDULE_NOTE_BYTES_MAX} bytes: this one has {0}")]
pub(super) struct NoteError(usize);

impl Text for Note {
    type Value = String;
    type Error = NoteError;
    const EXPECTED: &'static str = "a text";
    const EXAMPLE: &'static str = "for the accountants";

    fn of_text(text: &str) -> Result<String, NoteError> {
        if text.len() > SCHEDULE_NOTE_BYTES_MAX {
            return Err(NoteError(text.len()));
        }
        Ok(text.to_owned())
    }
}

/// What the jobs of a schedule have in common, for the `OpenAPI` document: the fields of a new job, but for those about which the
/// schedule decides.
pub(super) struct NewScheduleJobJson;

impl PartialSchema for NewScheduleJobJson {
    fn schema() -> RefOr<Schema> {
        let mut schema = NewJobJson::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            let left_out = NewJobJson::default().of_one_job().map(|(name, _)| name);
            object.properties.retain(|name, _| !left_out.contains(&&**name));
            object.description = Some("What the jobs of a schedule have in common.".to_owned());
            object.examples = vec![serde_json::json!({"body": "send the report", "ttr": "10m"})];
        }
        schema
    }
}

impl ToSchema for NewScheduleJobJson {
    fn name() -> Cow<'static, str> {
        "NewScheduleJob".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        NewJobJson::schemas(schemas);
    }
}

impl NewScheduleJson<'_> {
    /// When it fires, and its jobs. This node must know the zone.
    pub(super) fn parts(self, zones: &ZoneData) -> Result<(ScheduleRules, JobTemplate), Problem> {
        if let Some(zone) = &self.zone {
            zones.zone(zone).map_err(|error| Problem::at_pointer("/zone", error.to_string()))?;
        }
        let jitter_ms = either("jitter", self.jitter.as_ref(), self.jitter_ms.as_ref())?;
        let window = either("missed_window", self.missed_window.as_ref(), self.missed_window_ms.as_ref())?;
        let rules = ScheduleRules {
            when: self.when.0,
            zone: self.zone.unwrap_or_default(),
            dst: self.dst.unwrap_or_default().into(),
            origin: either_time("origin", self.origin.as_ref(), self.origin_ms)?,
            start: either_time("start", self.start.as_ref(), self.start_ms)?,
            end: either_time("end", self.end.as_ref(), self.end_ms)?,
            count: self.count.and_then(|count| NonZeroU64::new(count.0)),
            jitter_ms: jitter_ms.and_then(|jitter_ms| jitter_ms.try_into().ok()).unwrap_or(0),
            missed: self.missed.unwrap_or_default().into(),
            window_ms: window.and_then(NonZeroU64::new),
            missed_max: self.missed_max.and_then(|missed_max| NonZeroU32::new(missed_max.narrow())),
            overlap: self.overlap.unwrap_or_default().into(),
            failures_max: self.failures_max.map_or(0, Whole::narrow),
            key: self.key.map(|key| key.0),
            note: self.note.map(|note| note.0).unwrap_or_default(),
        };
        Ok((rules, template(self.job.unwrap_or_default())?))
    }
}

fn template(job: NewJobJson<'_>) -> Result<JobTemplate, Problem> {
    if let Some((name, _)) = job.of_one_job().into_iter().find(|(_, is_given)| *is_given) {
        let detail = "the schedule decides it for its jobs: leave it out";
        return Err(Problem::at_pointer(&format!("/job/{name}"), detail));
    }
    Ok(template_of(job.job().map_err(|problem| problem.within("/job"))?))
}

/// What a schedule keeps of a job that describes all of its jobs.
pub(super) fn template_of(job: NewJob) -> JobTemplate {
    let NewJob { priority, ttr_ms, attributes, body, .. } = job;
    JobTemplate { priority, ttr_ms, attributes, body }
}

impl From<DstJson> for Dst {
    fn from(mode: DstJson) -> Self {
        match mode {
            DstJson::Vixie => Self::Vixie,
            DstJson::Literal => Self::Literal,
        }
    }
}

impl From<MissedJson> for Missed {
    fn from(missed: MissedJson) -> Self {
        match missed {
            MissedJson::None => Self::None,
            MissedJson::Last => Self::Last,
            MissedJson::All => Self::All,
        }
    }
}

impl From<OverlapJson> for Overlap {
    fn from(overlap: OverlapJson) -> Self {
        match overlap {
            OverlapJson::Allow => Self::Allow,
            OverlapJson::Skip => Self::Skip,
            OverlapJson::QueueOne => Self::QueueOne,
            OverlapJson::Replace => Self::Replace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::input;
    use super::*;
    use adjourn_types::When;
    use adjourn_types::limits::PRIORITY_UNSAID;

    fn read(text: &str) -> Result<(ScheduleRules, JobTemplate), String> {
        let json = input::of_json::<NewScheduleJson<'_>>(text.as_bytes());
        json.and_then(|json| json.parts(&ZoneData::bundled())).map_err(|problem| problem.json().detail)
    }

    #[test]
    fn every_field_reaches_the_schedule() {
        let (rules, template) = read(concat!(
            r#"{"when":"30 2 * * *","zone":"Europe/Berlin","dst":"literal","origin_ms":1000,"start":"1970-01-01T00:00:02Z","#,
            r#""end":"1970-01-01T00:00:03Z","count":4,"jitter":"5s","missed":"all","missed_window":"6s","missed_max":7,"#,
            r#""overlap":"queue_one","failures_max":8,"key":"k","note":"why","job":{"body":{"a":1},"priority":9,"ttr":"10s","#,
            r#""expires":"1h","attempts_max":11,"headers":{"b":"2"}}}"#
        ))
        .expect("a schedule");
        let second = |seconds: u64| Some(Millis(seconds * 1000));
        let expected = ScheduleRules {
            when: "30 2 * * *".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            dst: Dst::Literal,
            origin: second(1),
            start: second(2),
            end: second(3),
            count: NonZeroU64::new(4),
            jitter_ms: 5000,
            missed: Missed::All,
            window_ms: NonZeroU64::new(6000),
            missed_max: NonZeroU32::new(7),
            overlap: Overlap::QueueOne,
            failures_max: 8,
            key: Some("k".parse().expect("a key")),
            note: "why".to_owned(),
        };
        assert_eq!(rules, expected);
        assert_eq!((&template.body[..], template.priority, template.ttr_ms), (&b"{\"a\":1}"[..], 9, 10_000));
        let headers: Vec<_> = template.attributes.headers().collect();
        assert_eq!(headers, [("content-type", "application/json"), ("b", "2")]);
        let policy = template.attributes.policy();
        assert_eq!((policy.expires, policy.attempts_max), (Some(When::After(3_600_000)), Some(11)));
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        for text in [r#"{"when":"@daily"}"#, r#"{"when":"@daily","job":null,"zone":null,"dst":null}"#] {
            let (rules, template) = read(text).expect("a schedule");
            assert_eq!(rules, ScheduleRules { when: "@daily".to_owned(), ..ScheduleRules::default() });
            assert_eq!(template, JobTemplate { priority: PRIORITY_UNSAID, ..JobTemplate::default() });
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("{}", "/when: it is missing"),
            (r#"{"when":"0 9 * *"}"#, "/when: a cron expression has 5 or 6 fields: this one has 4"),
            (r#"{"when":"@daily","zone":"Berlin"}"#, "/zone: there is no time zone Berlin: did you mean"),
            (r#"{"when":"@daily","job":{"dealy":"1s"}}"#, "/job/dealy: there is no such field"),
            (r#"{"when":"@daily","job":{"delay":"1s"}}"#, "/job/delay: the schedule decides it"),
            (r#"{"when":"@daily","job":{"key":"k"}}"#, "/job/key: the schedule decides it"),
            (r#"{"when":"@daily","job":{"if_exists":"keep"}}"#, "/job/if_exists: the schedule decides it"),
            (r#"{"when":"@daily","job":{"body":1,"body_base64":""}}"#, "/job/body_base64: give body or"),
            (r#"{"when":"@daily","job":["x"]}"#, "/job: expected a job: an object such as"),
            (r#"{"when":"@daily","jitter":"2d"}"#, "/jitter: expected a duration between 0s and 1d"),
            (r#"{"when":"@daily","jitter":"1s","jitter_ms":1}"#, "/jitter_ms: give jitter or jitter_ms"),
        ] {
            let told = read(text).map(|_| ()).expect_err(text);
            assert!(told.starts_with(expected), "{text}: {told}");
        }
        let times = format!("@at{}", " 2030-12-24T18:00:00Z".repeat(98));
        let told = read(&serde_json::json!({ "when": times }).to_string()).map(|_| ()).expect_err("too long");
        assert!(told.starts_with("/when: it has at most 2048 bytes: this one has 2061"), "{told}");
        let told = read(&serde_json::json!({"when": "@daily", "note": "x".repeat(257)}).to_string());
        assert!(told.is_err_and(|told| told.starts_with("/note: expected a text of at most 256 bytes")));
    }
}
