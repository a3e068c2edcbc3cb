//! Jobs for instants of a schedule that have passed; and those that lie ahead, to be shown.

use std::num::NonZeroU64;

use super::Leader;
use super::proposals::Reply;
use super::schedules::{Template, find, template, unreadable_rules};
use crate::group::Group;
use crate::group::work::{PREVIEW_WORK, UNIT_BYTES};
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_calendar::Calendar;
use adjourn_engine::{Command, NewJob, PushOutcome};
use adjourn_protocol::{
    ErrorCode, ErrorReply, Response, ScheduleFill, ScheduleFilled, ScheduleInstants, SchedulePreview,
};
use adjourn_storage::StorageError;
use adjourn_types::{IfExists, Key, Millis, SessionId, When};

/// The jobs of one part take about this many bytes, if they are more than one: it leaves room for others.
const PART_BYTES: usize = 256 << 10;
/// What a job takes beside its record, in bytes, or less.
const JOB_BYTES: usize = 1 << 10;
/// Most instants that one part counts.
const COUNTED_MAX: usize = 1000;

impl Leader {
    /// Pushes jobs for the first instants of a time that has passed, or counts instants. Returns the answer if there is nothing to
    /// propose.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    pub(super) fn fill_schedule(
        &mut self,
        node: &Node,
        group: &mut Group,
        asker: Asker,
        fill: &ScheduleFill,
    ) -> Result<Option<Response>, StorageError> {
        let refusal = node.stopping().or_else(|| self.no_room_for_jobs(node));
        if let Some(refusal) = refusal.or_else(|| refuse_time(fill, group.state.clock.wall())) {
            return Ok(Some(Response::Error(refusal)));
        }
        let view = match find(group, &fill.topic, &fill.name) {
            Ok(view) => view,
            Err(error) => return Ok(Some(Response::Error(error))),
        };
        let template = template(group, &view)?;
        let body_bytes = template.stored.body.len();
        group.work.count((template.attributes.as_bytes().len() + body_bytes) as u64 / UNIT_BYTES);
        let Some(rules) = &template.rules else { return Ok(Some(Response::Error(unreadable_rules()))) };
        if rules.key.is_some() {
            let text =
                "all jobs of this schedule have one key, so that only one can be there: push a job yourself";
            return Ok(Some(Response::Error(ErrorReply::new(ErrorCode::Invalid, text))));
        }
        let access = node.connections.access(asker.connection);
        let body_bytes_max = access.map_or(usize::MAX, |access| access.body_bytes_max);
        if body_bytes > body_bytes_max && !fill.is_dry_run {
            let text = format!(
                "the token may push at most {body_bytes_max} bytes of body, and its jobs have {body_bytes}"
            );
            return Ok(Some(Response::Error(ErrorReply::new(ErrorCode::TooLarge, text))));
        }
        let calendar = match Calendar::of_rules(rules, fill.from, &node.config.zones) {
            Ok(calendar) => calendar,
            Err(error) => return Ok(Some(Response::Error(unknown(&error)))),
        };
        let together = if fill.is_dry_run { COUNTED_MAX } else { jobs_together(&template) };
        let before = Millis(fill.from.0.saturating_sub(1));
        let mut instants: Vec<_> = calendar.between(before, fill.to).take(together + 1).collect();
        group.work.count(instants.len() as u64);
        let next = instants.get(together).copied();
        instants.truncate(together);
        if fill.is_dry_run || instants.is_empty() {
            let instants = u32::try_from(instants.len()).unwrap_or(u32::MAX);
            let counted = ScheduleFilled { instants, next, ..ScheduleFilled::default() };
            return Ok(Some(Response::ScheduleFilled(counted)));
        }
        let keys: Vec<_> = instants.iter().map(|instant| rules.key_of(&template.name, *instant)).collect();
        let jobs = keys.iter().map(|key| NewJob {
            due: When::After(0),
            priority: view.priority,
            ttr_ms: view.ttr_ms,
            if_exists: IfExists::Keep,
            key: key.as_ref().map(Key::as_bytes),
            attributes: template.attributes.as_bytes(),
            body: &template.stored.body,
        });
        let mut jobs: Vec<_> = jobs.collect();
        let (count, work) = group.state.part_of(fill.topic.as_str(), &jobs);
        let next = instants.get(count).copied().or(next);
        jobs.truncate(count);
        self.proposals.add_fresh(view.topic, jobs.len() as u64);
        let work = work + count as u64;
        let command =
            Command::Push { session: SessionId::NONE, sequence: 0, topic: fill.topic.as_str(), jobs };
        let reply = Reply::Fill { asker, body_bytes: body_bytes as u64, next };
        self.proposals.add(&command, work, reply, node.now_us);
        Ok(None)
    }
}

fn refuse_time(fill: &ScheduleFill, now: Millis) -> Option<ErrorReply> {
    let text = if fill.from > fill.to {
        "the time ends before it begins: exchange its ends"
    } else if fill.to > now {
        "the time is ahead: the schedule fires what is ahead by itself"
    } else {
        return None;
    };
    Some(ErrorReply::new(ErrorCode::Invalid, text))
}

fn jobs_together(template: &Template) -> usize {
    let job_bytes = JOB_BYTES + template.attributes.as_bytes().len() + template.stored.body.len();
    (PART_BYTES / job_bytes).max(1)
}

/// What became of the jobs of a part.
pub(super) fn filled(outcomes: &[PushOutcome], body_bytes: u64, next: Option<Millis>) -> ScheduleFilled {
    let bytes = outcomes.len() as u64 * body_bytes;
    let mut filled = ScheduleFilled { bytes, next, ..ScheduleFilled::default() };
    for outcome in outcomes {
        filled.instants += 1;
        match outcome {
            PushOutcome::Kept(_) => filled.kept += 1,
            PushOutcome::Refused(..) => filled.refused += 1,
            PushOutcome::Pushed(_) | PushOutcome::Replaced(_) | PushOutcome::Postponed(_) => {
                filled.pushed += 1;
            }
        }
    }
    filled
}

/// When a schedule with these rules would fire, by the zone data of this member.
pub(super) fn preview(node: &Node, group: &mut Group, asked: &SchedulePreview) -> Response {
    group.work.count(PREVIEW_WORK);
    let from = asked.from.unwrap_or_else(|| group.state.clock.wall());
    let origin = asked.rules.start.unwrap_or(from);
    let calendar = match Calendar::of_rules(&asked.rules, origin, &node.config.zones) {
        Ok(calendar) => calendar,
        Err(error) => return Response::Error(unknown(&error)),
    };
    let count = asked.rules.count.map_or(u64::MAX, NonZeroU64::get).min(asked.instants_max.into());
    let instants = calendar.preview(from, usize::try_from(count).unwrap_or(usize::MAX));
    let instants: Vec<_> = instants.map(|firing| (firing.at, firing.local)).collect();
    group.work.count(instants.len() as u64);
    Response::Instants(ScheduleInstants { zone_data: node.config.zones.to_string(), instants })
}

fn unknown(error: &adjourn_calendar::RulesError) -> ErrorReply {
    ErrorReply::new(ErrorCode::Invalid, error.to_string())
}
