//! A PUSH that is proposed in parts, while it waits for its connection's turn.

use super::Node;
use super::connections::Asker;
use adjourn_protocol::{ErrorReply, Push, PushResult, Response};
use adjourn_types::SessionId;

/// A PUSH that is proposed in parts.
#[derive(Debug)]
pub(crate) struct PushParts {
    pub(crate) asker: Asker,
    pub(crate) session: SessionId,
    pub(crate) push: Push,
    /// The number of its jobs that are proposed and not applied; 0 while it waits for its connection's turn.
    pub(crate) proposed: usize,
    /// The outcomes of earlier jobs.
    pub(crate) results: Vec<PushResult>,
}

impl PushParts {
    /// Ends the push: jobs that are not applied are refused, the others have their outcomes.
    pub(crate) fn end(mut self, node: &mut Node, refusal: ErrorReply) {
        if self.results.is_empty() {
            return node.connections.refuse(self.asker, refusal);
        }
        self.results.resize(self.push.jobs.len(), PushResult::Refused(refusal.code, None));
        node.connections.send(self.asker, Response::Pushed(self.results));
    }

    /// True if a part is in flight through the log.
    pub(crate) fn is_under_way(&self) -> bool {
        self.proposed > 0
    }
}
