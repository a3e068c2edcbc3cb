//! The same change to many schedules, one step per request.

use serde::Deserialize;
use utoipa::ToSchema;

use super::super::caller::Caller;
use super::super::fields::{Field, Reason, Topic, Whole, schema, schema_number};
use super::super::input::{JsonBody, object};
use super::super::problem::{Problem, ProblemJson};
use super::bulk::{BulkedJson, conditions_or_all};
use super::page::Cursor;
use super::schedules::{ScheduleConditionsJson, page_conditions, place};
use super::{Answer, ok};
use adjourn_protocol::{
    ErrorCode, Request as Asked, ScheduleChange, ScheduleConditions, ScheduleList, SchedulePage,
    SchedulePosition,
};
use adjourn_types::limits::SCHEDULES_LISTED_MAX;
use adjourn_types::{JobId, TopicName};

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
    /// Why, for people: only with `pause`.
    #[schema(schema_with = schema::<Reason>)]
    note: Option<Field<Reason>>,
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
#[derive(Clone, Copy, Deserialize, ToSchema)]
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

impl From<ChangeJson> for ScheduleChange {
    fn from(json: ChangeJson) -> Self {
        match json {
            ChangeJson::Pause => Self::Pause,
            ChangeJson::Resume => Self::Resume,
            ChangeJson::Delete => Self::Delete,
        }
    }
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
    let BulkJson { change, topic: Field(topic), filter, all, note, dry_run, limit, cursor } = json;
    let conditions = filter.conditions().map_err(|problem| problem.within("/filter"))?;
    let some = "give a condition, for example {\"prefix\": \"tenant-7.\"}, or \"all\": true for all schedules of the topic";
    conditions_or_all(conditions != ScheduleConditions::default(), all, some)?;
    let change = ScheduleChange::from(change);
    if note.is_some() && change != ScheduleChange::Pause {
        return Err(Problem::at_pointer("/note", "only pause takes a note: leave it out"));
    }
    let note = note.map(|Field(note)| note);
    let list = page_conditions(Some(&topic), &conditions);
    let cursor = place(list.open(cursor)?)?;
    let schedules_max = limit.map_or(LIMIT_DEFAULT, Whole::narrow);
    let asked = ScheduleList { topic: Some(topic.clone()), conditions, schedules_max, cursor };
    let page: SchedulePage = caller.ask(Asked::ScheduleList(asked)).await?;
    let (mut matched, mut changed, mut end) = (0, 0, page.cursor);
    for schedule in &page.schedules {
        if change.changes(schedule.state.paused, note.is_some()) {
            let asked = request_of(change, &topic, &schedule.name, note.clone());
            match carry_out(&caller, asked, dry_run.unwrap_or_default()).await {
                Ok(is_changed) => changed += u64::from(is_changed),
                Err(problem) if changed == 0 => return Err(problem),
                // What was changed stays so: the step ends before this one.
                Err(_) => {
                    let schedule = JobId(schedule.state.id.0.saturating_sub(1));
                    end = SchedulePosition { topic: None, schedule }.to_cursor();
                    break;
                }
            }
        }
        matched += 1;
    }
    ok(&BulkedJson { matched, changed, skipped: matched - changed, cursor: list.cursor(&end) })
}

/// Changes a schedule. Returns false if it is gone by now.
async fn carry_out(caller: &Caller, asked: Asked, is_dry_run: bool) -> Result<bool, Problem> {
    if is_dry_run {
        return Ok(true);
    }
    caller.wait_for_turn().await;
    match caller.ask(asked).await {
        Ok(()) => Ok(true),
        Err(problem) if problem.is(ErrorCode::NotFound) => Ok(false),
        Err(problem) => Err(problem),
    }
}

fn request_of(change: ScheduleChange, topic: &TopicName, name: &str, note: Option<String>) -> Asked {
    let (topic, name) = (topic.clone(), name.to_owned());
    match change {
        ScheduleChange::Pause => Asked::SchedulePause { topic, name, note },
        ScheduleChange::Resume => Asked::ScheduleResume { topic, name },
        ScheduleChange::Delete => Asked::ScheduleDelete { topic, name },
    }
}
