//! Schedules: set, show, list, pause, resume, run, delete.

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::connection::connection;
use super::super::fields::{Field, Reason, ScheduleName, Time, TimeMs, either_time, schema, schema_time_ms};
use super::super::input::{self, MaybeJson, Pairs, Part, Parts2};
use super::super::problem::{Place, Problem, ProblemJson};
use super::page::{Conditions, CursorError, PageQuery};
use super::push::{bytes_max, located};
use super::schedule_rules::NewScheduleJson;
use super::{Answer, done, json, ok, version};
use adjourn_json::ScheduleJson;
use adjourn_json::values::time_text;
use adjourn_protocol::{
    Request as Asked, ScheduleConditions, ScheduleList, SchedulePage, SchedulePosition, ScheduleRan,
    ScheduleReport, ScheduleSet, Scheduled,
};
use adjourn_types::limits::{SCHEDULE_NAME_BYTES_MAX, SCHEDULES_LISTED_MAX};
use adjourn_types::{JobId, TopicName};

const LIMIT_MAX: u64 = SCHEDULES_LISTED_MAX as u64;
/// The default number of schedules on a page.
const LIMIT_DEFAULT: u32 = 100;
/// What is told about a version that would not be checked.
const UNCHECKED: &str = "only PUT checks it: leave it out";

/// Which schedules.
#[derive(Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"prefix\": \"tenant-7.\"}")]
#[into_params(parameter_in = Query)]
#[schema(as = ScheduleConditions)]
pub(super) struct ScheduleConditionsJson {
    /// Schedules whose names begin with this text.
    prefix: Option<String>,
    /// Schedules that are paused, or those that are not.
    paused: Option<bool>,
    /// Schedules with a next instant before this time.
    #[schema(schema_with = schema::<Time>)]
    #[param(schema_with = schema::<Time>, required = false)]
    next_before: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    #[param(schema_with = schema_time_ms, required = false)]
    next_before_ms: Option<TimeMs>,
}

/// The parameters of a page of schedules besides its conditions.
const PAGE_PARAMETERS: [&str; 2] = ["limit", "cursor"];
type SchedulesPage = PageQuery<LIMIT_MAX, LIMIT_DEFAULT>;

/// A page of schedules.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedules)]
pub(super) struct SchedulesJson<'a> {
    /// Those of a topic in the order in which they were made. There may be none, and more on the next page.
    schedules: Vec<ScheduleJson<'a>>,
    /// For the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// A schedule that was set.
#[derive(Serialize, ToSchema)]
#[schema(as = SetSchedule)]
pub(super) struct ScheduledJson {
    /// Its id.
    id: u64,
    /// How often it was set.
    version: u32,
    /// Its next instant; absent if there is none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    next: Option<String>,
}

/// A job that a schedule pushed.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleRan)]
pub(super) struct RanJson {
    /// Its id.
    job: u64,
}

impl ScheduleConditionsJson {
    /// The conditions.
    ///
    /// # Errors
    ///
    /// If they say a time twice, or the prefix is longer than any name.
    pub(super) fn conditions(self) -> Result<ScheduleConditions, Problem> {
        let next_before = either_time("next_before", self.next_before.as_ref(), self.next_before_ms)?;
        let prefix = self.prefix.unwrap_or_default();
        if prefix.len() > SCHEDULE_NAME_BYTES_MAX {
            let detail = format!("the name of a schedule has at most {SCHEDULE_NAME_BYTES_MAX} bytes");
            return Err(Problem::at_pointer("/prefix", detail));
        }
        Ok(ScheduleConditions { prefix, paused: self.paused, next_before })
    }
}

/// List a topic's schedules
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/schedules",
    operation_id = "list_schedules",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ScheduleConditionsJson, SchedulesPage),
    responses(
        (status = 200, description = "A page of schedules", body = SchedulesJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list(caller: Caller, Part(topic): Part<TopicName>, query: Pairs) -> Answer {
    page(&caller, Some(topic), query).await
}

/// List the schedules of all topics
///
/// Of the topics that the token may read. Those of a topic come together.
#[utoipa::path(
    get,
    path = "/v1/schedules",
    operation_id = "list_all_schedules",
    tag = "schedules",
    params(ScheduleConditionsJson, SchedulesPage),
    responses(
        (status = 200, description = "A page of schedules", body = SchedulesJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list_all(caller: Caller, query: Pairs) -> Answer {
    page(&caller, None, query).await
}

/// A page of the schedules of a topic, or of all.
async fn page(caller: &Caller, topic: Option<TopicName>, mut query: Pairs) -> Answer {
    let page: SchedulesPage = query.split(&PAGE_PARAMETERS).read(Place::Parameter)?;
    let which: ScheduleConditionsJson = query.read(Place::Parameter)?;
    let conditions = which.conditions().map_err(|problem| problem.elsewhere(Place::Parameter))?;
    let (list, schedules_max) = (page_conditions(topic.as_ref(), &conditions), page.limit());
    let cursor = place(page.after(&list)?).map_err(|problem| problem.elsewhere(Place::Parameter))?;
    let asked = ScheduleList { topic, conditions, schedules_max, cursor };
    let page: SchedulePage = caller.ask(Asked::ScheduleList(asked)).await?;
    let schedules = page.schedules.iter().map(ScheduleJson::listed).collect();
    ok(&SchedulesJson { schedules, cursor: list.cursor(&page.cursor) })
}

/// Where a page begins, if that is a place in a list of schedules.
pub(super) fn place(cursor: Bytes) -> Result<Bytes, Problem> {
    if cursor.is_empty() || SchedulePosition::from_cursor(&cursor).is_some() {
        return Ok(cursor);
    }
    Err(Problem::at_pointer("/cursor", CursorError.to_string()))
}

/// What a cursor of this list belongs to.
pub(super) fn page_conditions(topic: Option<&TopicName>, conditions: &ScheduleConditions) -> Conditions {
    let ScheduleConditions { prefix, paused, next_before } = conditions;
    let topic = topic.map(TopicName::as_str);
    Conditions::of(format!("schedules of {topic:?}: {paused:?} {next_before:?} {prefix:?}").as_bytes())
}

/// Show a schedule
///
/// The `ETag` is that of its content: it changes when the schedule is set, and not when it fires.
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/schedules/{name}",
    operation_id = "show_schedule",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ("name" = String, Path, description = "The schedule's name")),
    responses(
        (status = 200, description = "The schedule, and what it did last", body = ScheduleJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn show(
    caller: Caller,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
) -> Answer {
    let asked = Asked::ScheduleShow { topic: topic.clone(), name: name.clone() };
    let report: ScheduleReport = caller.ask(asked).await?;
    let shown = ok(&ScheduleJson::of(topic.as_str(), &name, &report))?;
    Ok(version::tagged(shown, version::tag_of(report.state.version.into())))
}

/// Create or replace a schedule
///
/// The whole content is replaced: what is left out gets its default. The history, the count of instants that fired, and a pause stay. With `If-Match`,
/// only if the schedule was not set since its `ETag` was shown; with `If-None-Match: *`, only if there is none.
#[utoipa::path(
    put,
    path = "/v1/topics/{topic}/schedules/{name}",
    operation_id = "set_schedule",
    tag = "schedules",
    params(
        ("topic" = String, Path, description = "The topic; it is created if it is new"),
        ("name" = String, Path, description = "The schedule's name, unique in the topic"),
        ("If-Match" = Option<String>, Header, description = "The schedule's ETag"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: the schedule must be new"),
    ),
    request_body = NewScheduleJson,
    responses(
        (status = 201, description = "It is new", body = ScheduledJson, content_type = "application/json"),
        (status = 200, description = "It was replaced", body = ScheduledJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn set(
    caller: Caller,
    headers: HeaderMap,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
    request: Request,
) -> Answer {
    let connection = connection(request.extensions())?;
    input::check_json(&headers)?;
    let if_version = version::if_version(&headers)?;
    let text = input::read(request.into_body(), bytes_max(&caller), &connection).await?;
    let (rules, template) = input::of_json::<NewScheduleJson<'_>>(&text)?.parts(caller.state().zones())?;
    let set = ScheduleSet { topic, name, rules: Box::new(rules), template, if_version };
    let Scheduled { schedule, version, next } = caller.ask(Asked::ScheduleSet(set)).await?;
    let status = if version == 1 { StatusCode::CREATED } else { StatusCode::OK };
    let shown = json(status, &ScheduledJson { id: schedule.0, version, next: next.map(time_text) })?;
    Ok(version::tagged(shown, version::tag_of(version.into())))
}

/// Delete a schedule; its jobs stay
#[utoipa::path(
    delete,
    path = "/v1/topics/{topic}/schedules/{name}",
    operation_id = "delete_schedule",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ("name" = String, Path, description = "The schedule's name")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn delete(
    caller: Caller,
    headers: HeaderMap,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
) -> Answer {
    version::no_if_match(&headers, UNCHECKED)?;
    done(&caller, Asked::ScheduleDelete { topic, name }).await
}

/// Why a schedule is paused.
#[derive(Default, Deserialize, ToSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "an object such as {\"note\": \"until the books are closed\"}"
)]
#[schema(as = SchedulePause, example = json!({"note": "until the books are closed"}))]
pub(super) struct PauseJson {
    /// For people. To pause again with another note replaces it.
    #[schema(schema_with = schema::<Reason>)]
    note: Option<Field<Reason>>,
}

/// Pause a schedule
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/schedules/{name}/pause",
    operation_id = "pause_schedule",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ("name" = String, Path, description = "The schedule's name")),
    request_body = Option<PauseJson>,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn pause(
    caller: Caller,
    headers: HeaderMap,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
    MaybeJson(pause): MaybeJson<PauseJson>,
) -> Answer {
    version::no_if_match(&headers, UNCHECKED)?;
    let note = pause.note.map(|Field(note)| note);
    done(&caller, Asked::SchedulePause { topic, name, note }).await
}

/// Resume a schedule
///
/// `missed` says what happens to the instants that passed while it was paused.
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/schedules/{name}/resume",
    operation_id = "resume_schedule",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ("name" = String, Path, description = "The schedule's name")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn resume(
    caller: Caller,
    headers: HeaderMap,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
) -> Answer {
    version::no_if_match(&headers, UNCHECKED)?;
    done(&caller, Asked::ScheduleResume { topic, name }).await
}

/// Push a job of a schedule now
///
/// It does so also if an earlier job has not ended, or the schedule is paused. The next instant stays.
#[utoipa::path(
    post,
    path = "/v1/topics/{topic}/schedules/{name}/run",
    operation_id = "run_schedule",
    tag = "schedules",
    params(("topic" = String, Path, description = "The topic"), ("name" = String, Path, description = "The schedule's name")),
    responses(
        (status = 201, description = "The job is on disk", body = RanJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn run(
    caller: Caller,
    headers: HeaderMap,
    Parts2(topic, ScheduleName(name)): Parts2<TopicName, ScheduleName>,
) -> Answer {
    version::no_if_match(&headers, UNCHECKED)?;
    let ScheduleRan(JobId(job)) = caller.ask(Asked::ScheduleRun { topic, name }).await?;
    Ok(located(json(StatusCode::CREATED, &RanJson { job })?, job))
}
