//! The possible effects of changes to many jobs: no answer says which jobs one of them changed.
//!
//! It is known how many it changed at most, which conditions they met that do not change, and when that was over.

use adjourn_protocol::{Applied, Bulk, Change, ErrorReply, Request, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::{Key, TopicName};

use super::super::time::Us;

/// All that were asked for, and not refused.
#[derive(Debug, Default)]
pub(super) struct Bulks(Vec<Asked>);

/// One step.
#[derive(Debug)]
pub(super) struct Asked {
    by: (ConnectionId, RequestId),
    pub(super) bulk: Bulk,
    pub(super) at: Us,
    /// When it was answered; what has no answer may still be carried out.
    pub(super) said: Option<Us>,
    /// How many jobs it has changed at most.
    jobs_max: u32,
}

impl Bulks {
    pub(super) fn asked(&mut self, at: Us, by: (ConnectionId, RequestId), request: &Request) {
        if let Request::Bulk(bulk) = request {
            let (bulk, jobs_max) = (bulk.clone(), bulk.jobs_max);
            self.0.push(Asked { by, bulk, at, said: None, jobs_max });
        }
    }

    pub(super) fn said(&mut self, at: Us, by: (ConnectionId, RequestId), response: &Response) {
        let Some(place) = self.0.iter().rposition(|one| one.by == by && one.said.is_none()) else { return };
        match response {
            Response::Bulked { jobs: jobs @ 1.., .. } => {
                (self.0[place].said, self.0[place].jobs_max) = (Some(at), *jobs);
            }
            Response::Error(ErrorReply { applied: Applied::Unknown, .. }) => {}
            _ => _ = self.0.remove(place),
        }
    }

    /// Those that may have done something to such a job, wherever it was by then.
    pub(super) fn meeting<'a>(
        &'a self,
        topic: &'a TopicName,
        key: Option<&'a Key>,
    ) -> impl Iterator<Item = &'a Asked> {
        let any_moves = self.any_moves();
        let meets = move |one: &&Asked| {
            let filter = &one.bulk.filter;
            let has_prefix =
                |prefix: &bytes::Bytes| key.is_some_and(|key| key.as_bytes().starts_with(prefix));
            (any_moves || filter.topic.as_ref().is_none_or(|wanted| wanted == topic))
                && filter.key_prefix.as_ref().is_none_or(has_prefix)
        };
        self.0.iter().filter(meets)
    }

    /// Whether any job may have gone to another topic.
    pub(super) fn any_moves(&self) -> bool {
        self.0.iter().any(Asked::moves)
    }

    /// Whether a job of one topic may be in another one by now.
    pub(super) fn may_have_gone_to(&self, topic: &TopicName) -> bool {
        self.0.iter().any(|one| matches!(&one.bulk.change, Change::Move { to } if to == topic))
    }

    /// How many jobs may have been deleted.
    pub(super) fn deleted_max(&self) -> u64 {
        self.0.iter().filter(|one| one.deletes()).map(|one| u64::from(one.jobs_max)).sum()
    }

    /// Whether nothing was under way then, nor is now, that may have changed such a job.
    pub(super) fn are_over_since(&self, at: Us, topic: &TopicName, key: Option<&Key>) -> bool {
        self.meeting(topic, key).all(|one| one.said.is_some_and(|said| said < at))
    }
}

impl Asked {
    pub(super) fn deletes(&self) -> bool {
        self.bulk.change == Change::Delete
    }

    pub(super) fn moves(&self) -> bool {
        matches!(self.bulk.change, Change::Move { .. })
    }
}
