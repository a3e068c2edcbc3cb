//! BULK: a pass finds jobs, and a command changes them.
//!
//! The command names the jobs and the conditions, and applying it checks each job again. So nothing depends on when the
//! jobs were found, or on which node leads by then.

use bytes::Bytes;

use super::browse::{PageStart, Passes, Purpose};
use super::proposals::{Proposals, Reply};
use crate::group::Group;
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_engine::{BulkChange, Command, Conditions, JobStore as _, KeyedJob, Listed};
use adjourn_protocol::{Bulk, Change, ErrorCode, ErrorReply, Response};
use adjourn_storage::{Records, StorageError};
use adjourn_types::limits::DUE_BYTES_PER_ENTRY_MAX;
use adjourn_types::{JobId, ListOrder, Position, TopicName};

/// A job to change, and its key if the change needs it.
pub(super) type ToChange = (JobId, Option<Vec<u8>>);

/// Whether a step has collected its jobs.
pub(super) enum Found {
    NotYet,
    Step { has_more: bool },
}

impl Passes {
    /// Begins a step of a change to many jobs.
    pub(super) fn bulk(&mut self, node: &mut Node, group: &Group, asker: Asker, bulk: &Bulk) {
        let order = order(&bulk.change);
        let after = if bulk.cursor.is_empty() { None } else { Position::from_cursor(&bulk.cursor) };
        if after.as_ref().map_or(!bulk.cursor.is_empty(), |after| after.order() != order) {
            let wrong = "this is no cursor of such a BULK: send the one of the step before, or none to begin";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, wrong));
        }
        if matches!(&bulk.change, Change::Move { to } if bulk.filter.topic.as_ref() == Some(to)) {
            let same = "the jobs are in this topic: move them to another one";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, same));
        }
        let page = PageStart { filter: &bulk.filter, order, after, jobs_max: bulk.jobs_max };
        match self.begin_page(node, group, asker.connection, page) {
            None => node.connections.send(asker, nothing(Bytes::new())),
            Some(listing) => {
                let bulk = Box::new(bulk.detached());
                self.begin(node, asker, listing, Purpose::Bulk { asker, bulk, found: Vec::new(), bytes: 0 });
            }
        }
    }
}

/// Proposes the change to the jobs that were found. Returns false if the request was refused.
pub(super) fn propose(
    node: &mut Node,
    group: &Group,
    proposals: &mut Proposals,
    asker: Asker,
    cursor: Bytes,
    bulk: &Bulk,
    found: &[ToChange],
) -> bool {
    if found.is_empty() {
        node.connections.send(asker, nothing(cursor));
        return true;
    }
    if let Some(refusal) = node.stopping().or_else(|| proposals.refusal(node)) {
        node.connections.refuse(asker, refusal);
        return false;
    }
    let conditions = Conditions::of(&bulk.filter);
    let topic = bulk.filter.topic.as_ref().map(TopicName::as_str);
    let reply = Reply::Bulk { asker, cursor, found: found.len() };
    let change = match &bulk.change {
        Change::Delete => BulkChange::Delete,
        Change::Kick => BulkChange::Kick,
        Change::RunNow => BulkChange::RunNow,
        Change::Reschedule { due } => BulkChange::Reschedule { due: *due },
        Change::Move { to } => {
            let jobs = found.iter().map(|(job, key)| KeyedJob { job: *job, key: key.as_deref() }).collect();
            let command = Command::Move { from: topic, to: to.as_str(), jobs, conditions };
            proposals.add_command(node, group, &command, reply);
            return true;
        }
    };
    let jobs = found.iter().map(|(job, _)| *job).collect();
    proposals.add_command(node, group, &Command::Bulk { topic, change, jobs, conditions }, reply);
    true
}

/// Adds a job that the pass found to the step.
pub(super) fn found_next(
    records: &mut Records,
    bulk: &Bulk,
    found: &mut Vec<ToChange>,
    bytes: &mut u64,
    listed: &Listed,
) -> Result<Found, StorageError> {
    match listed {
        Listed::Job(view) => {
            let is_move = matches!(bulk.change, Change::Move { .. });
            let key = if is_move { records.key(view.body)? } else { None };
            found.push((view.id, key));
            *bytes += u64::from(view.body.body_bytes);
            // Applying the command reads spilled jobs, bodies included, so their size limits a step.
            let is_enough = *bytes >= DUE_BYTES_PER_ENTRY_MAX;
            Ok(if is_enough { Found::Step { has_more: true } } else { Found::NotYet })
        }
        Listed::End { next, .. } => Ok(Found::Step { has_more: next.is_some() }),
        Listed::NotYet => Ok(Found::NotYet),
    }
}

fn nothing(cursor: Bytes) -> Response {
    Response::Bulked { jobs: 0, skipped: 0, cursor }
}

/// By due time, which is cheapest. A reschedule goes by id, because by due time it would meet its own jobs again.
fn order(change: &Change) -> ListOrder {
    match change {
        Change::Reschedule { .. } => ListOrder::Id,
        Change::Delete | Change::Kick | Change::RunNow | Change::Move { .. } => ListOrder::Due,
    }
}
