//! Topics: counts, policies, pause and resume, the next job, buried jobs.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{
    Field, Pause, Span, SpanMs, Whole, either, not_both, schema, schema_ms, schema_number,
};
use super::super::input::{JsonBody, MaybeJson, Part, QueryOf, segment};
use super::super::problem::{Problem, ProblemJson};
use super::super::wording::no_such;
use super::list::CountJson;
use super::page::{Conditions, PageQuery};
use super::{Answer, done, ok};
use adjourn_json::{JobJson, SettingError, SettingsJson, TopicJson, TopicSettingsJson, setting_of_json};
use adjourn_protocol::{JobReport, Kicked, Request, TopicReport, TopicSet, TopicSettings};
use adjourn_types::limits::KICK_JOBS_MAX;
use adjourn_types::{PolicyChange, Setting, TopicName};

/// Which topics.
type TopicsQuery = PageQuery<10_000, 1000>;

/// A page of topics.
#[derive(Serialize, ToSchema)]
#[schema(as = Topics)]
pub(super) struct TopicsJson<'a> {
    /// By name.
    topics: Vec<TopicJson<'a>>,
    /// For the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// How long a topic is paused.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"for\": \"10m\"}")]
#[schema(as = Pause, example = json!({"for": "10m"}))]
pub(super) struct PauseJson {
    /// The pause ends by itself after this time. The default is that it lasts until the topic is resumed.
    #[serde(rename = "for")]
    #[schema(schema_with = schema::<Span<Pause>>)]
    lasts: Option<Field<Span<Pause>>>,
    /// The same in milliseconds.
    #[serde(rename = "for_ms")]
    #[schema(schema_with = schema_ms::<Pause>)]
    lasts_ms: Option<SpanMs<Pause>>,
}

/// The change to a topic's settings. What is not named stays as it is.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct SettingsChange(BTreeMap<String, Value>);

/// Why the settings have no effect yet.
#[derive(Serialize, ToSchema)]
#[schema(as = Warnings)]
pub(super) struct WarningsJson {
    /// Each says what to change.
    warnings: Vec<String>,
}

/// How many buried jobs become ready.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"max\": 100}")]
#[schema(as = Kick)]
pub(super) struct KickJson {
    /// At most this many. The default is 4096.
    #[schema(schema_with = schema_number::<1, KICK_MAX>)]
    max: Option<Whole<1, KICK_MAX>>,
}

const KICK_MAX: u64 = KICK_JOBS_MAX as u64;

/// List topics
#[utoipa::path(
    get,
    path = "/v1/topics",
    operation_id = "list_topics",
    tag = "topics",
    params(TopicsQuery),
    responses(
        (status = 200, description = "Counts by topic", body = TopicsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn topics(caller: Caller, QueryOf(query): QueryOf<TopicsQuery>) -> Answer {
    let topics: Vec<TopicReport> = caller.ask(Request::Topics).await?;
    let name = |topic: &TopicReport| topic.topic.as_str().as_bytes().to_vec();
    let (topics, cursor) = query.of(&Conditions::of(b"topics"), topics, name)?;
    ok(&TopicsJson { topics: topics.iter().map(TopicJson::of).collect(), cursor })
}

/// Show a topic's policy
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}",
    operation_id = "show_topic",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    responses(
        (status = 200, description = "What is set", body = TopicSettingsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn show(caller: Caller, Part(topic): Part<TopicName>) -> Answer {
    let settings: TopicSettings = caller.ask(Request::TopicShow { topic: topic.clone() }).await?;
    ok(&TopicSettingsJson::of(topic.as_str(), &settings))
}

/// Change a topic's policy
#[utoipa::path(
    patch,
    path = "/v1/topics/{topic}",
    operation_id = "set_topic",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic; it is made if it is new")),
    request_body = SettingsJson,
    responses(
        (status = 204, description = "Done"),
        (status = 200, description = "Done, but no calls are made", body = WarningsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn set(
    caller: Caller,
    Part(topic): Part<TopicName>,
    JsonBody(settings): JsonBody<SettingsChange>,
) -> Answer {
    let change = Box::new(settings.change()?);
    let call_back = change.set.call_back.clone();
    let done = done(&caller, Request::TopicSet(TopicSet { topic: topic.clone(), change })).await?;
    let warnings = match call_back {
        Some(call_back) => caller.state().call_backs().warnings(&topic, &call_back).await,
        None => Vec::new(),
    };
    if warnings.is_empty() { Ok(done) } else { ok(&WarningsJson { warnings }) }
}

/// Forget a topic that has no jobs
#[utoipa::path(
    delete,
    path = "/v1/topics/{topic}",
    operation_id = "delete_topic",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn delete(caller: Caller, Part(topic): Part<TopicName>) -> Answer {
    done(&caller, Request::TopicDelete { topic }).await
}

/// Stop the delivery of a topic's jobs
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/pause",
    operation_id = "pause_topic",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    request_body(content = PauseJson, description = "May be left out"),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn pause(
    caller: Caller,
    Part(topic): Part<TopicName>,
    MaybeJson(json): MaybeJson<PauseJson>,
) -> Answer {
    let for_ms = either("for", json.lasts.as_ref(), json.lasts_ms.as_ref())?;
    done(&caller, Request::Pause { topic, for_ms: for_ms.and_then(NonZeroU64::new) }).await
}

/// Resume the delivery of a topic's jobs
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/resume",
    operation_id = "resume_topic",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn resume(caller: Caller, Part(topic): Part<TopicName>) -> Answer {
    done(&caller, Request::Resume { topic }).await
}

/// Make buried jobs of a topic ready
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/kick",
    operation_id = "kick_jobs",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    request_body = Option<KickJson>,
    responses(
        (status = 200, description = "How many", body = CountJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn kick(
    caller: Caller,
    Part(topic): Part<TopicName>,
    MaybeJson(kick): MaybeJson<KickJson>,
) -> Answer {
    let jobs_max = kick.max.map_or(KICK_JOBS_MAX, Whole::narrow);
    let Kicked(jobs) = caller.ask(Request::KickMany { jobs_max, topic }).await?;
    ok(&CountJson { count: jobs.into() })
}

/// Show a topic's next job: the first ready one, else the first delayed
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/next",
    operation_id = "next_job",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    responses(
        (status = 200, description = "The job", body = JobJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn peek(caller: Caller, Part(topic): Part<TopicName>) -> Answer {
    let job: JobReport = caller.ask(Request::Peek { topic }).await?;
    ok(&JobJson::of(&job, true))
}

impl SettingsChange {
    fn change(mut self) -> Result<PolicyChange, Problem> {
        self.drop_null_twins();
        let mut all = PolicyChange::default();
        let twice = self.0.keys().find(|name| self.0.contains_key(&format!("{name}_ms")));
        if let Some(name) = twice {
            return Err(not_both(name));
        }
        for (name, value) in self.0 {
            let change = setting_of_json(&name, &value).map_err(|error| {
                let detail = match error {
                    SettingError::Unknown => {
                        let known: Vec<&str> = Setting::ALL.iter().map(|setting| setting.name()).collect();
                        no_such("setting", &name, &known)
                    }
                    error => error.to_string(),
                };
                Problem::at_pointer(&segment(&name), detail)
            });
            all.add(&change?);
        }
        Ok(all)
    }

    /// Of a duration that is given as a text and as a number, `null` means that the other one is given.
    fn drop_null_twins(&mut self) {
        let numbers: Vec<String> = self.0.keys().filter(|name| name.ends_with("_ms")).cloned().collect();
        for in_ms in numbers {
            let name = in_ms.trim_end_matches("_ms");
            if self.0.get(&in_ms).is_some_and(Value::is_null) && self.0.contains_key(name) {
                self.0.remove(&in_ms);
            } else if self.0.get(name).is_some_and(Value::is_null) {
                self.0.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_beside_the_other_form_of_a_duration_is_nothing() {
        let change =
            |value: Value| serde_json::from_value::<SettingsChange>(value).expect("an object").change();
        for given in [json!({"ttr": "30s", "ttr_ms": null}), json!({"ttr": null, "ttr_ms": 30000})] {
            let change = change(given).map_err(|problem| problem.json().detail).expect("one is given");
            assert!(change.set.ttr_ms == Some(30_000) && change.unset.is_empty());
        }
        let none = change(json!({"ttr": null, "ttr_ms": null}));
        assert!(none.is_ok_and(|none| none.unset.contains(&Setting::Ttr)), "both take it away");
        assert!(change(json!({"ttr": "30s", "ttr_ms": 30000})).is_err());
    }

    #[test]
    fn an_unknown_setting_is_told_with_the_one_that_is_meant() {
        let told = |name: &str| {
            let settings = SettingsChange(BTreeMap::from([(name.to_owned(), json!(1))]));
            settings.change().map(drop).expect_err(name).json().detail
        };
        assert_eq!(told("attempts"), "/attempts: there is no such setting: is attempts_max meant?");
        assert_eq!(told("call-back"), "/call-back: there is no such setting: is call_back meant?");
        assert!(told("a/b").starts_with("/a~1b: there is no such setting: there are ttr, priority"));
    }
}
