//! The steward: looks after the cluster. Wishes come from the world; it requests one after the other until the
//! cluster reports that it is done.

use adjourn_protocol::{ClusterReport, Request, RequestId, Response, Role as Part};

use super::super::peers::peer_address;
use super::super::seen::NodeId;
use super::super::time::{MS, Us};
use super::{Board, Endpoint, Kept, Role};

/// Between two looks at the cluster.
const LOOK_PAUSE: Us = 100 * MS;
/// Between two requests for the same.
const ASK_PAUSE: Us = 400 * MS;

/// Something that the cluster should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Wish {
    /// This node becomes a member that votes.
    Member(NodeId),
    /// This one is a member no more.
    Gone(NodeId),
    /// This one is not taken as a member.
    Refused(NodeId),
    /// Another one leads. The steward tries only once.
    Transfer,
}

#[derive(Default)]
pub(super) struct Steward {
    /// Wishes that came true.
    done: usize,
    wishes: usize,
    wish: Option<Wish>,
    asked: bool,
    look_at: Us,
    ask_at: Us,
    /// The leader was asked to step down first.
    stands_aside: bool,
}

impl Steward {
    fn look(&mut self, report: &ClusterReport) {
        let role = |node| report.members.iter().find(|member| member.node == node).map(|member| member.role);
        let is_so = match self.wish {
            Some(Wish::Member(node)) => matches!(role(node), Some(Part::Voter | Part::Leader)),
            Some(Wish::Gone(node)) => role(node).is_none(),
            Some(Wish::Refused(_) | Wish::Transfer) | None => false,
        };
        if report.leader == Some(report.node) {
            self.stands_aside = matches!(self.wish, Some(Wish::Gone(node)) if report.node == node);
            if is_so {
                self.come_true();
            }
        }
    }

    fn come_true(&mut self) {
        self.done += 1;
        self.wish = None;
        self.ask_at = 0;
    }
}

impl Role for Steward {
    fn up(&mut self, _endpoint: &mut Endpoint, _kept: Kept) {
        self.asked = false;
    }

    fn answered(&mut self, endpoint: &mut Endpoint, _id: RequestId, request: &Request, response: &Response) {
        if let Response::Cluster(report) = response {
            return self.look(report);
        }
        self.asked = false;
        self.ask_at = endpoint.now + ASK_PAUSE;
        match (self.wish, request, response) {
            (Some(Wish::Transfer), _, _) => self.come_true(),
            (Some(Wish::Refused(_)), Request::ClusterAdd { .. }, Response::Error(error))
                if !error.code.retryable() || error.message.starts_with("cannot reach") =>
            {
                self.come_true();
            }
            _ => {}
        }
    }

    fn unanswered(&mut self, _request: Request) {
        self.asked = false;
    }

    fn act(&mut self, endpoint: &mut Endpoint, board: &Board) -> Us {
        self.wishes = board.wishes.len();
        if self.wish.is_none() {
            self.wish = board.wishes.get(self.done).copied();
        }
        let Some(wish) = self.wish else { return endpoint.now + LOOK_PAUSE };
        if self.look_at <= endpoint.now {
            self.look_at = endpoint.now + LOOK_PAUSE;
            endpoint.send(Request::ClusterStatus);
        }
        if !self.asked && self.ask_at <= endpoint.now {
            self.asked = true;
            endpoint.send(match wish {
                Wish::Gone(_) if self.stands_aside => Request::ClusterTransfer { node: 0 },
                Wish::Transfer => Request::ClusterTransfer { node: 0 },
                Wish::Gone(node) => Request::ClusterRemove { node },
                Wish::Member(node) | Wish::Refused(node) => {
                    Request::ClusterAdd { address: peer_address(node) }
                }
            });
        }
        endpoint.now + LOOK_PAUSE
    }

    fn drain(&mut self) {}

    fn is_done(&self) -> bool {
        self.done == self.wishes
    }

    fn looks_after_cluster(&self) -> bool {
        true
    }

    fn wishes_done(&self) -> usize {
        self.done
    }
}
