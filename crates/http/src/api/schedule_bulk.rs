//! The same change to many schedules, one step per request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Field, Topic, Whole, schema, schema_number};
use super::super::input::{JsonBody, object};
use super::super::problem::{Problem, ProblemJson};
use super::page::Cursor;
use super::schedules::{ScheduleConditionsJson, before, end_of, id_of, page_conditions};
use super::{Answer, ok};
use adjourn_protocol::{
    ErrorCode, ListedSchedule, Request as Asked, ScheduleConditions, ScheduleList, SchedulePage,
};
use adjourn_types::limits::SCHEDULES_LISTED_MAX;
use adjourn_types::{PausedBy, TopicName};

const LIMIT_MAX: u64 = SCHEDULES_LISTED_MAX as u64;
/// The default number of schedules of a step.
const LIMIT_DEFAULT: u32 = 100;

/// A step of a change to many schedules.
#[derive(Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"change\": \"pause\", \"topic\": \"reports\", \"all\": true}"
)]
#[schema(
    as = ScheduleBulk,
    example = json!({"change": "pause", "topic": "reports", "filter": {"prefix": "tenant-7."}})
)]
pub(super) struct BulkJson {
    /// The change to each schedule.
    change: ChangeJson,
    /// The topic of their jobs.
    #[schema(schema_with = schema::<Topic>)]
    topic: Field<Topic>,
    /// The schedules. At least one condition, or `all`, must be given.
    #[serde(default, deserialize_with = "object")]
    filter: ScheduleConditionsJson,
    /// All schedules of the topic.
    all: Option<bool>,
    /// Changes nothing, and counts what this step would change.
    dry_run: Option<bool>,
    /// Looks at no more than this many schedules that meet the conditions. The default is 100.
    #[schema(schema_with = schema_number::<1, LIMIT_MAX>)]
    limit: Option<Whole<1, LIMIT_MAX>>,
    /// The cursor of the step before, with the same topic and conditions.
    #[schema(schema_with = schema::<Cursor>)]
    cursor: Option<Field<Cursor>>,
}

/// The change to each schedule.
#[derive(Clone, Copy, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ScheduleChange)]
pub(super) enum ChangeJson {
    /// Let it fire no more until it is resumed.
    Pause,
    /// Let it fire again.
    Resume,
    /// Delete it; its jobs stay.
    Delete,
}

/// The outcome of a step.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleBulkStep)]
pub(super) struct BulkedJson {
    /// Schedules of this step that meet the conditions.
    matched: u64,
    /// Schedules that were changed, or would be.
    changed: u64,
    /// Schedules that were left as they are: they are paused already, or not paused, or gone by now.
    skipped: u64,
    /// For the next step; absent after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Change many schedules
///
/// Each request is one step. Send the cursor of its answer with the next one, until there is none. A step that comes upon an error after it has changed
/// some schedules ends there; a dry run counts one step, too.
#[utoipa::path(
    post,
    path = "/v1/schedules/bulk",
    operation_id = "change_schedules",
    tag = "schedules",
    request_body = BulkJson,
    responses(
        (status = 200, description = "What this step did", body = BulkedJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bulk(caller: Caller, JsonBody(json): JsonBody<BulkJson>) -> Answer {
    let BulkJson { change, topic: Field(topic), filter, all, dry_run, limit, cursor } = json;
    let conditions = filter.conditions().map_err(|problem| problem.within("/filter"))?;
    let is_all = all.unwrap_or_default();
    if (conditions == ScheduleConditions::default()) != is_all {
        let (pointer, detail) = if is_all {
            ("/all", "give conditions or \"all\": true, not both")
        } else {
            (
                "/filter",
                "give a condition, for example {\"prefix\": \"tenant-7.\"}, or \"all\": true for all schedules of the topic",
            )
        };
        return Err(Problem::at_pointer(pointer, detail));
    }
    let list = page_conditions(&topic, &conditions);
    let after = id_of(&list.open(cursor)?)?;
    let schedules_max = limit.map_or(LIMIT_DEFAULT, Whole::narrow);
    let asked = ScheduleList { topic: topic.clone(), conditions, after, schedules_max };
    let page: SchedulePage = caller.ask(Asked::ScheduleList(asked)).await?;
    let (mut matched, mut changed, mut end) = (0, 0, end_of(&page));
    for schedule in &page.schedules {
        if change.changes(schedule) {
            match carry_out(&caller, change, &topic, &schedule.name, dry_run.unwrap_or_default()).await {
                Ok(is_changed) => changed += u64::from(is_changed),
                Err(problem) if changed == 0 => return Err(problem),
                // What was changed stays so: the step ends before this one.
                Err(_) => {
                    end = before(schedule);
                    break;
                }
            }
        }
        matched += 1;
    }
    ok(&BulkedJson { matched, changed, skipped: matched - changed, cursor: list.cursor(&end) })
}

impl ChangeJson {
    /// True if a schedule is another one after the change.
    fn changes(self, schedule: &ListedSchedule) -> bool {
        match self {
            Self::Pause => schedule.state.paused != Some(PausedBy::User),
            Self::Resume => schedule.state.paused.is_some(),
            Self::Delete => true,
        }
    }
}

/// Changes a schedule. Returns false if it is gone by now.
async fn carry_out(
    caller: &Caller,
    change: ChangeJson,
    topic: &TopicName,
    name: &str,
    is_dry_run: bool,
) -> Result<bool, Problem> {
    if is_dry_run {
        return Ok(true);
    }
    caller.wait_for_turn().await;
    let (topic, name) = (topic.clone(), name.to_owned());
    let asked = match change {
        ChangeJson::Pause => Asked::SchedulePause { topic, name },
        ChangeJson::Resume => Asked::ScheduleResume { topic, name },
        ChangeJson::Delete => Asked::ScheduleDelete { topic, name },
    };
    match caller.ask(asked).await {
        Ok(()) => Ok(true),
        Err(problem) if problem.is(ErrorCode::NotFound) => Ok(false),
        Err(problem) => Err(problem),
    }
}
