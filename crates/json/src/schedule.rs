//! Schedules as JSON.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::Schema;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::job::{BodyJson, HeaderJson, headers};
use super::values::{backoff_text, spelled, time_text};
use adjourn_protocol::{JobTemplate, ListedSchedule, ScheduleReport, ScheduleState};
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{
    Attributes, Dst, Fired, Firing, JobEnd, Key, Missed, Overlap, PausedBy, ScheduleRules, SkipReason, When,
};

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule)]
pub struct ScheduleJson<'a> {
    /// Its id.
    pub id: u64,
    /// The topic of its jobs.
    pub topic: &'a str,
    /// Its name, unique in the topic.
    pub name: &'a str,
    /// How often it was set.
    pub version: u32,
    /// Its next instant; absent if there is none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub next: Option<String>,
    /// Instants at which it pushed a job.
    pub fired: u64,
    /// Its jobs that have not ended.
    pub running: u32,
    /// Jobs that failed one after another until now.
    pub failures: u32,
    /// Why it does not fire at present: a user paused it, or its jobs failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = paused_names)]
    pub paused: Option<&'static str>,
    /// What the user who paused it noted.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub pause_note: &'a str,
    /// True if the next instant has come, and is about to be fired.
    pub has_come: bool,
    /// True if the next instant has come, and waits until an earlier job has ended.
    pub is_held: bool,
    /// When it fires.
    #[serde(flatten)]
    pub rules: ScheduleRulesJson<'a>,
    /// Its jobs; absent in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<ScheduleJobJson<'a>>,
    /// What it did last, the oldest first; absent in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<FiringJson>>,
}

/// When a schedule fires, and what it does then.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleRules)]
pub struct ScheduleRulesJson<'a> {
    /// A cron expression, `@daily` and the like, `@every` with a duration, or `@at` with times.
    pub when: &'a str,
    /// The time zone of a cron expression; UTC if it is absent.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    pub zone: &'a str,
    /// What happens when the clocks of the zone are changed.
    #[schema(schema_with = dst_names)]
    pub dst: &'static str,
    /// The time from which `@every` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub origin: Option<String>,
    /// It does not fire before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub start: Option<String>,
    /// It does not fire after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub end: Option<String>,
    /// It ends when it has pushed a job at this many instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub count: Option<NonZeroU64>,
    /// A job is due up to this long after its instant, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub jitter_ms: Option<NonZeroU32>,
    /// Which of the missed instants are fired late.
    #[schema(schema_with = missed_names)]
    pub missed: &'static str,
    /// Only those that are no longer ago than this, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub missed_window_ms: Option<NonZeroU64>,
    /// At most this many of them, the last ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub missed_max: Option<NonZeroU32>,
    /// What it does while an earlier job has not ended.
    #[schema(schema_with = overlap_names)]
    pub overlap: &'static str,
    /// It is paused after this many failures in a row; never if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub failures_max: Option<NonZeroU32>,
    /// The key of its jobs; if it is absent, its name, `@`, and the instant in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    /// A note for people.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    pub note: &'a str,
}

/// The jobs of a schedule. What is absent is as the topic or the server has it.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleJob)]
pub struct ScheduleJobJson<'a> {
    /// A lower number is reserved first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// How long a lease lasts, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub ttr_ms: Option<NonZeroU32>,
    /// When a job expires: a time, or a duration from its push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// How often a job may be attempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// The waits between attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<String>,
    /// How long a finished job is remembered, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub remember_ms: Option<NonZeroU64>,
    /// The group that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
    /// Their headers: a text, or a list if the name was repeated.
    #[schema(value_type = BTreeMap<String, HeaderJson>)]
    pub headers: BTreeMap<&'a str, HeaderJson<'a>>,
    /// Their body.
    #[serde(flatten)]
    pub body: BodyJson<'a>,
}

/// What a schedule did at one instant, or at several in a row.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Firing)]
pub struct FiringJson {
    /// The instant; the first of several.
    #[schema(format = DateTime)]
    pub instant: String,
    /// The last of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub last: Option<String>,
    /// How many instants were skipped together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instants: Option<u64>,
    /// When it was fired or skipped.
    #[schema(format = DateTime)]
    pub at: String,
    /// The job that was pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// What became of the job, or why there is none.
    #[schema(schema_with = fired_names)]
    pub fired: &'static str,
}

impl<'a> ScheduleJson<'a> {
    /// A schedule with its jobs and its history.
    pub fn of(topic: &'a str, name: &'a str, report: &'a ScheduleReport) -> Self {
        let ScheduleReport { state, pause_note, rules, template, history } = report;
        Self {
            pause_note,
            job: Some(ScheduleJobJson::of(template)),
            history: Some(history.iter().map(FiringJson::of).collect()),
            ..Self::short(topic, name, state, rules)
        }
    }

    /// A schedule in a list.
    pub fn listed(listed: &'a ListedSchedule) -> Self {
        let ListedSchedule { state, pause_note, rules, topic, name } = listed;
        Self { pause_note, ..Self::short(topic.as_str(), name, state, rules) }
    }

    fn short(topic: &'a str, name: &'a str, state: &ScheduleState, rules: &'a ScheduleRules) -> Self {
        Self {
            id: state.id.0,
            topic,
            name,
            version: state.version,
            next: state.next.map(time_text),
            fired: state.fired,
            running: state.running,
            failures: state.failures,
            paused: state.paused.map(paused_name),
            pause_note: "",
            has_come: state.has_come,
            is_held: state.is_held,
            rules: ScheduleRulesJson::of(rules),
            job: None,
            history: None,
        }
    }
}

impl<'a> ScheduleRulesJson<'a> {
    fn of(rules: &'a ScheduleRules) -> Self {
        Self {
            when: &rules.when,
            zone: &rules.zone,
            dst: dst_name(rules.dst),
            origin: rules.origin.map(time_text),
            start: rules.start.map(time_text),
            end: rules.end.map(time_text),
            count: rules.count,
            jitter_ms: NonZeroU32::new(rules.jitter_ms),
            missed: missed_name(rules.missed),
            missed_window_ms: rules.window_ms,
            missed_max: rules.missed_max,
            overlap: overlap_name(rules.overlap),
            failures_max: NonZeroU32::new(rules.failures_max),
            key: rules.key.as_ref().map(Key::as_str),
            note: &rules.note,
        }
    }
}

impl<'a> ScheduleJobJson<'a> {
    fn of(template: &'a JobTemplate) -> Self {
        let JobTemplate { priority, ttr_ms, attributes, body } = template;
        let policy = attributes.policy();
        Self {
            priority: Some(*priority).filter(|priority| *priority != PRIORITY_UNSAID),
            ttr_ms: NonZeroU32::new(*ttr_ms),
            expires: policy.expires.map(|expires| match expires {
                When::At(at) => time_text(at),
                When::After(after_ms) => spelled(after_ms),
            }),
            attempts_max: policy.attempts_max,
            backoff: policy.backoff.as_ref().map(backoff_text),
            remember_ms: NonZeroU64::new(Attributes::dedupe_retention_of(attributes.as_bytes())),
            group: Attributes::group_of(attributes.as_bytes()),
            headers: headers(attributes),
            body: BodyJson::of(body, attributes),
        }
    }
}

impl FiringJson {
    /// An entry of a schedule's history.
    pub fn of(firing: &Firing) -> Self {
        let (instant, at) = (time_text(firing.instant), time_text(firing.at));
        match firing.what {
            Fired::Pushed { job, end } => {
                Self { instant, at, last: None, instants: None, job: Some(job.0), fired: end_name(end) }
            }
            Fired::Skipped { last, instants, reason } => Self {
                instant,
                at,
                last: (instants > 1).then(|| time_text(last)),
                instants: Some(instants),
                job: None,
                fired: skip_name(reason),
            },
        }
    }
}

/// How `dst` is written.
pub fn dst_name(dst: Dst) -> &'static str {
    match dst {
        Dst::Vixie => "vixie",
        Dst::Literal => "literal",
    }
}

/// How `missed` is written.
pub fn missed_name(missed: Missed) -> &'static str {
    match missed {
        Missed::None => "none",
        Missed::Last => "last",
        Missed::All => "all",
    }
}

/// How `overlap` is written.
pub fn overlap_name(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Allow => "allow",
        Overlap::Skip => "skip",
        Overlap::QueueOne => "queue_one",
        Overlap::Replace => "replace",
    }
}

fn paused_name(paused: PausedBy) -> &'static str {
    match paused {
        PausedBy::User => "user",
        PausedBy::Failures => "failures",
    }
}

fn end_name(end: Option<JobEnd>) -> &'static str {
    match end {
        None => "pushed",
        Some(JobEnd::Finished) => "finished",
        Some(JobEnd::Failed) => "failed",
        Some(JobEnd::Deleted) => "deleted",
        Some(JobEnd::Expired) => "expired",
    }
}

fn skip_name(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Missed => "missed",
        SkipReason::Overlap => "overlap",
        SkipReason::Refused => "refused",
        SkipReason::KeyTaken => "key_taken",
    }
}

fn paused_names() -> Schema {
    one_of([PausedBy::User, PausedBy::Failures].map(paused_name))
}

fn dst_names() -> Schema {
    one_of([Dst::Vixie, Dst::Literal].map(dst_name))
}

fn missed_names() -> Schema {
    one_of([Missed::None, Missed::Last, Missed::All].map(missed_name))
}

fn overlap_names() -> Schema {
    one_of([Overlap::Allow, Overlap::Skip, Overlap::QueueOne, Overlap::Replace].map(overlap_name))
}

fn fired_names() -> Schema {
    let ends =
        [None, Some(JobEnd::Finished), Some(JobEnd::Failed), Some(JobEnd::Deleted), Some(JobEnd::Expired)];
    let reasons = [SkipReason::Missed, SkipReason::Overlap, SkipReason::Refused, SkipReason::KeyTaken];
    one_of(ends.map(end_name).into_iter().chain(reasons.map(skip_name)))
}

fn one_of(names: impl IntoIterator<Item = &'static str>) -> Schema {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{AttributesBuilder, JobId, Millis};
    use serde_json::{Value, json};

    const STATE: ScheduleState = ScheduleState {
        id: JobId(7),
        version: 2,
        next: Some(Millis(60_000)),
        has_come: false,
        is_held: false,
        paused: None,
        fired: 3,
        running: 1,
        failures: 0,
    };

    fn value(shown: &impl Serialize) -> Value {
        serde_json::to_value(shown).expect("JSON")
    }

    #[test]
    fn what_is_not_set_is_absent() {
        let report = ScheduleReport {
            state: STATE,
            pause_note: String::new(),
            rules: ScheduleRules { when: "@daily".to_owned(), ..ScheduleRules::default() },
            template: JobTemplate { priority: PRIORITY_UNSAID, ..JobTemplate::default() },
            history: Vec::new(),
        };
        let expected = json!({
            "id": 7, "topic": "reports", "name": "nightly", "version": 2, "next": "1970-01-01T00:01:00.000Z", "fired": 3,
            "running": 1, "failures": 0, "has_come": false, "is_held": false, "when": "@daily", "dst": "vixie",
            "missed": "last", "overlap": "skip", "job": {"headers": {}, "body": ""}, "history": []
        });
        assert_eq!(value(&ScheduleJson::of("reports", "nightly", &report)), expected);
    }

    #[test]
    fn what_is_set_is_shown() {
        let second = |seconds: u64| Some(Millis(seconds * 1000));
        let rules = ScheduleRules {
            when: "@every 90s".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            dst: Dst::Literal,
            origin: second(1),
            start: second(2),
            end: second(3),
            count: NonZeroU64::new(4),
            jitter_ms: 5,
            missed: Missed::All,
            window_ms: NonZeroU64::new(6),
            missed_max: NonZeroU32::new(7),
            overlap: Overlap::QueueOne,
            failures_max: 8,
            key: Some("k".parse().expect("a key")),
            note: "why".to_owned(),
        };
        let state = ScheduleState {
            next: None,
            paused: Some(PausedBy::Failures),
            has_come: true,
            is_held: true,
            ..STATE
        };
        let listed = ListedSchedule {
            state,
            pause_note: "of late".to_owned(),
            rules,
            topic: "reports".parse().expect("a topic"),
            name: "nightly".to_owned(),
        };
        let expected = json!({
            "id": 7, "topic": "reports", "name": "nightly", "version": 2, "fired": 3, "running": 1, "failures": 0,
            "paused": "failures", "pause_note": "of late", "has_come": true, "is_held": true, "when": "@every 90s", "zone": "Europe/Berlin",
            "dst": "literal", "origin": "1970-01-01T00:00:01.000Z", "start": "1970-01-01T00:00:02.000Z",
            "end": "1970-01-01T00:00:03.000Z", "count": 4, "jitter_ms": 5, "missed": "all", "missed_window_ms": 6,
            "missed_max": 7, "overlap": "queue_one", "failures_max": 8, "key": "k", "note": "why"
        });
        assert_eq!(value(&ScheduleJson::listed(&listed)), expected);
        let attributes = AttributesBuilder::default()
            .header("content-type", "application/json")
            .expires(When::After(5_400_000))
            .attempts_max(3)
            .dedupe_retention(9);
        let template = JobTemplate {
            priority: 1,
            ttr_ms: 2000,
            attributes: attributes.build().expect("attributes"),
            body: "{\"a\":1}".into(),
        };
        let expected = json!({
            "priority": 1, "ttr_ms": 2000, "expires": "1h 30m", "attempts_max": 3, "remember_ms": 9,
            "headers": {"content-type": "application/json"}, "body": {"a": 1}
        });
        assert_eq!(value(&ScheduleJobJson::of(&template)), expected);
    }

    #[test]
    fn a_history_names_jobs_and_what_was_skipped() {
        let firing = |what| value(&FiringJson::of(&Firing { instant: Millis(1000), at: Millis(2000), what }));
        let (instant, at) = ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z");
        let pushed = firing(Fired::Pushed { job: JobId(8), end: Some(JobEnd::Finished) });
        assert_eq!(pushed, json!({"instant": instant, "at": at, "job": 8, "fired": "finished"}));
        let skipped =
            |last, instants, reason| firing(Fired::Skipped { last: Millis(last), instants, reason });
        assert_eq!(
            skipped(1000, 1, SkipReason::KeyTaken),
            json!({"instant": instant, "instants": 1, "at": at, "fired": "key_taken"})
        );
        assert_eq!(
            skipped(2000, 3, SkipReason::Missed),
            json!({"instant": instant, "last": at, "instants": 3, "at": at, "fired": "missed"})
        );
    }
}
