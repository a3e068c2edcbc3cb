//! Groups of a topic's jobs, and why nothing is delivered.

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Whole, schema_number};
use super::super::input::{JsonBody, Number, Pairs, Part, Parts2};
use super::super::problem::{Place, Problem, ProblemJson};
use super::change::of_one_job;
use super::page::{Conditions, CursorError, PageQuery};
use super::{Answer, done, ok};
use adjourn_json::{GroupJson, ReasonJson};
use adjourn_protocol::{GroupList, GroupPage, GroupSet, JobRef, Reason, Request};
use adjourn_types::limits::{GROUP_BYTES_MAX, GROUP_WEIGHT_MAX, GROUPS_LISTED_MAX};
use adjourn_types::{GroupName, JobId, Key, TopicName};

const LIMIT_MAX: u64 = GROUPS_LISTED_MAX as u64;
const WEIGHT_MAX: u64 = GROUP_WEIGHT_MAX as u64;
/// The default number of groups on a page.
const LIMIT_DEFAULT: u32 = 100;

/// Which groups of a topic.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, expecting = "a query such as prefix=tenant-")]
#[into_params(parameter_in = Query)]
pub(super) struct GroupConditions {
    /// Groups whose names begin with this text.
    prefix: Option<String>,
}

type GroupsPage = PageQuery<LIMIT_MAX, LIMIT_DEFAULT>;

/// A page of groups.
#[derive(Serialize, ToSchema)]
#[schema(as = Groups)]
pub(super) struct GroupsJson<'a> {
    /// By name.
    groups: Vec<GroupJson<'a>>,
    /// For the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// The change to a group's settings. What is left out stays as it is.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"weight\": 5}")]
#[schema(as = GroupSettings, example = json!({"weight": 5}))]
pub(super) struct GroupSettingsJson {
    /// How many jobs it gives at a turn. The default is 1.
    #[schema(schema_with = schema_number::<1, WEIGHT_MAX>)]
    weight: Option<Whole<1, WEIGHT_MAX>>,
    /// Whether none of its jobs is delivered.
    paused: Option<bool>,
}

/// Why something is not delivered.
#[derive(Serialize, ToSchema)]
#[schema(as = Reasons)]
pub(super) struct ReasonsJson<'a> {
    /// The most important one comes first. There is at least one.
    reasons: Vec<ReasonJson<'a>>,
}

/// List the groups of a topic that have a job that is ready or reserved, or settings
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/groups",
    operation_id = "list_groups",
    tag = "groups",
    params(("topic" = String, Path, description = "The topic"), GroupConditions, GroupsPage),
    responses(
        (status = 200, description = "A page of groups", body = GroupsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list(caller: Caller, Part(topic): Part<TopicName>, mut query: Pairs) -> Answer {
    let page: GroupsPage = query.split(&["limit", "cursor"]).read(Place::Parameter)?;
    let which: GroupConditions = query.read(Place::Parameter)?;
    let prefix = which.prefix.unwrap_or_default();
    if prefix.len() > GROUP_BYTES_MAX {
        let detail = format!("a group has at most {GROUP_BYTES_MAX} bytes");
        return Err(Problem::at(Place::Parameter("prefix".to_owned()), detail));
    }
    let conditions = Conditions::of(format!("groups of {topic}: {prefix:?}").as_bytes());
    let groups_max = page.limit();
    let after = String::from_utf8(page.after(&conditions)?.to_vec())
        .map_err(|_| Problem::at(Place::Parameter("cursor".to_owned()), CursorError.to_string()))?;
    let asked = GroupList { topic, after, prefix, groups_max };
    let page: GroupPage = caller.ask(Request::GroupList(asked)).await?;
    let groups = page.groups.iter().map(GroupJson::of).collect();
    let end = page.after.as_deref().unwrap_or_default();
    ok(&GroupsJson { groups, cursor: conditions.cursor(end.as_bytes()) })
}

/// Change the weight of a group, pause or resume it
///
/// The topic must have a setting of groups, such as `fair`. With weight 1 and not paused, the group has no settings.
#[utoipa::path(
    patch,
    path = "/v1/topics/{topic}/groups/{group}",
    operation_id = "set_group",
    tag = "groups",
    params(("topic" = String, Path, description = "The topic"), ("group" = String, Path, description = "The group")),
    request_body = GroupSettingsJson,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn set(
    caller: Caller,
    Parts2(topic, group): Parts2<TopicName, GroupName>,
    JsonBody(settings): JsonBody<GroupSettingsJson>,
) -> Answer {
    let GroupSettingsJson { weight, paused } = settings;
    if weight.is_none() && paused.is_none() {
        return Err(Problem::malformed("give weight or paused, such as {\"weight\": 5}"));
    }
    let set = GroupSet { topic, group, weight: weight.map(Whole::narrow), paused };
    done(&caller, Request::GroupSet(set)).await
}

/// Say why a topic gives no job
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/why",
    operation_id = "why_topic",
    tag = "topics",
    params(("topic" = String, Path, description = "The topic")),
    responses(
        (status = 200, description = "The reasons", body = ReasonsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn why_topic(caller: Caller, Part(topic): Part<TopicName>) -> Answer {
    reasons(&caller, Request::TopicWhy { topic, group: String::new() }).await
}

/// Say why a group gives no job
#[utoipa::path(
    get,
    path = "/v1/topics/{topic}/groups/{group}/why",
    operation_id = "why_group",
    tag = "groups",
    params(("topic" = String, Path, description = "The topic"), ("group" = String, Path, description = "The group")),
    responses(
        (status = 200, description = "The reasons", body = ReasonsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn why_group(caller: Caller, Parts2(topic, group): Parts2<TopicName, GroupName>) -> Answer {
    reasons(&caller, Request::TopicWhy { topic, group: group.as_str().to_owned() }).await
}

of_one_job!(
    /// Say why a job is not running
    get why, why_by_key, "/why", ReasonsJson, reasons_of_job, "The reasons",
    |job| Request::Why(job)
);

async fn reasons_of_job(caller: &Caller, request: Request, _: &HeaderMap) -> Answer {
    reasons(caller, request).await
}

async fn reasons(caller: &Caller, request: Request) -> Answer {
    let reasons: Vec<Reason> = caller.ask(request).await?;
    ok(&ReasonsJson { reasons: reasons.iter().map(ReasonJson::of).collect() })
}
