//! An edit that was acknowledged is shown, or a later one is.
//!
//! Operators put a number of its own into a header with each edit, so a job says by itself which edit it has. Jobs that a push
//! may have postponed are left out: it gives them other headers.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Applied, Edit, JobRef, JobReport, Request, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::{Attributes, IfExists, JobId, JobState, Key};

use super::super::clients::EDIT_HEADER;
use super::super::seen::{Seen, When};
use super::super::time::Us;
use super::Invariant;

#[derive(Debug, Default)]
pub(super) struct Edits {
    /// The edits of each job, by their numbers.
    of_jobs: BTreeMap<JobId, BTreeMap<u64, Asked>>,
    postponed: BTreeSet<Key>,
    /// When each look at a job was asked for.
    looks: BTreeMap<(ConnectionId, RequestId), Us>,
}

/// An edit that may have been carried out.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Us,
    /// When it was acknowledged.
    done: Option<Us>,
}

impl Edits {
    fn answered(&mut self, at: Us, edit: &Edit, response: &Response) {
        let (JobRef::Id(job), Some(number)) = (&edit.job, number(&edit.attributes)) else { return };
        let Some(edits) = self.of_jobs.get_mut(job) else { return };
        match response {
            Response::Changed { .. } => {
                edits.entry(number).and_modify(|asked| asked.done = Some(at));
            }
            Response::Error(error) if error.applied == Applied::No => _ = edits.remove(&number),
            _ => {}
        }
    }

    fn shown(&self, asked_at: Us, report: &JobReport) -> Result<(), String> {
        let Some(edits) = self.of_jobs.get(&report.id) else { return Ok(()) };
        if report.key.as_ref().is_some_and(|key| self.postponed.contains(key)) {
            return Ok(());
        }
        let shown = number(&report.attributes);
        let found = shown.and_then(|number| edits.get(&number));
        let before = |due: &Asked| {
            found.is_none_or(|found| found.done.is_some_and(|done| done < due.at))
                && due.done.is_some_and(|done| done < asked_at)
        };
        match edits.iter().find(|(number, due)| Some(**number) != shown && before(due)) {
            Some((due, _)) => {
                Err(format!("job {} shows edit {shown:?} after edit {due} was acknowledged", report.id))
            }
            None => Ok(()),
        }
    }
}

fn number(attributes: &Attributes) -> Option<u64> {
    attributes.headers().find(|(name, _)| *name == EDIT_HEADER)?.1.parse().ok()
}

impl Invariant for Edits {
    fn name(&self) -> &'static str {
        "edits"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked { connection, id, request, .. } => match request {
                Request::Get(_) => _ = self.looks.insert((*connection, *id), when.at),
                Request::Edit(edit) => {
                    if let (JobRef::Id(job), Some(number)) = (&edit.job, number(&edit.attributes)) {
                        let asked = Asked { at: when.at, done: None };
                        self.of_jobs.entry(*job).or_default().insert(number, asked);
                    }
                }
                Request::Push(push) => {
                    let postponing = push.jobs.iter().filter(|job| job.if_exists == IfExists::Postpone);
                    self.postponed.extend(postponing.filter_map(|job| job.key.clone()));
                }
                _ => {}
            },
            Seen::Said { connection, id, request, response, .. } => {
                let asked_at = self.looks.remove(&(*connection, *id));
                match (request, response) {
                    (Some(Request::Edit(edit)), response) => self.answered(when.at, edit, response),
                    (_, Response::Job(report)) if report.state != Some(JobState::Finished) => {
                        return asked_at.map_or(Ok(()), |asked_at| self.shown(asked_at, report));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
