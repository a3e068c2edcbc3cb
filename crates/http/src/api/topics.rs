//! Topics: counts, policies, pause and resume, the next job, buried jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Field, Number};
use super::super::input::{JsonBody, Part};
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, done, ok};
use adjourn_json::{JobJson, TopicJson, TopicSettingsJson, setting_change};
use adjourn_protocol::{JobReport, Kicked, Request, TopicReport, TopicSet, TopicSettings};
use adjourn_types::limits::KICK_JOBS_MAX;
use adjourn_types::{PolicyChange, Setting, TopicName};

/// All topics.
#[derive(Serialize, ToSchema)]
pub(super) struct TopicsJson<'a> {
    /// By name.
    topics: Vec<TopicJson<'a>>,
}

/// Settings by name, each as `adjourn topic set` takes it; `null` takes one away. Those that are not named stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[schema(value_type = BTreeMap<String, Option<String>>, example = json!({"ttr": "30s", "attempts": 5, "rate": null}))]
pub(super) struct SettingsJson(BTreeMap<String, Option<SettingJson>>);

#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
enum SettingJson {
    Text(String),
    Number(u64),
}

/// Why the settings have no effect yet.
#[derive(Serialize, ToSchema)]
pub(super) struct WarningsJson {
    /// Each says what to change.
    warnings: Vec<String>,
}

/// How many buried jobs become ready.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KickJson {
    /// 1 to 4096; 4096 without it.
    #[schema(value_type = Option<u32>)]
    max: Option<Field<Number>>,
}

/// How many buried jobs became ready.
#[derive(Serialize, ToSchema)]
pub(super) struct KickedJson {
    /// Jobs.
    jobs: u32,
}

/// List topics
#[utoipa::path(
    get,
    path = "/v1/topics",
    tag = "topics",
    responses(
        (status = 200, description = "Counts by topic", body = TopicsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn topics(caller: Caller) -> Answer {
    let topics: Vec<TopicReport> = caller.ask(Request::Topics).await?;
    ok(&TopicsJson { topics: topics.iter().map(TopicJson::of).collect() })
}

/// Show a topic's policy
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}",
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
    JsonBody(settings): JsonBody<SettingsJson>,
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

/// Stop the reserving of a topic's jobs
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/pause",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn pause(caller: Caller, Part(topic): Part<TopicName>) -> Answer {
    done(&caller, Request::Pause { topic }).await
}

/// Start it again
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/resume",
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
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    request_body = KickJson,
    responses(
        (status = 200, description = "How many", body = KickedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn kick(
    caller: Caller,
    Part(topic): Part<TopicName>,
    JsonBody(kick): JsonBody<KickJson>,
) -> Answer {
    let jobs_max = kick.max.map_or(KICK_JOBS_MAX, |max| max.0);
    let Kicked(jobs) = caller.ask(Request::KickMany { jobs_max, topic }).await?;
    ok(&KickedJson { jobs })
}

/// Show a topic's next job: the first ready one, else the first delayed
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/next",
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

impl SettingsJson {
    fn change(self) -> Result<PolicyChange, Problem> {
        let mut all = PolicyChange::default();
        for (name, value) in self.0 {
            let known = Setting::ALL.into_iter().find(|setting| setting.name() == name);
            let setting = known.ok_or_else(|| Problem::malformed(format!("there is no setting {name}")))?;
            let text = match value {
                None => "none".to_owned(),
                Some(SettingJson::Text(text)) => text,
                Some(SettingJson::Number(number)) => number.to_string(),
            };
            let change = setting_change(setting, &text);
            all.add(&change.map_err(|error| Problem::malformed(format!("{name}: {error}")))?);
        }
        Ok(all)
    }
}
