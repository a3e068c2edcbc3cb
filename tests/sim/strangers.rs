//! Strangers: clients without a right to anything that is there, and nodes that no handshake has let in. They get nothing, and
//! change nothing: what they ask for is hidden from the invariants, so that a change would be one that nobody asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use adjourn_protocol::{PushResult, Request, Response};
use adjourn_replica::{Arrival, ConnectionId, Input, PeerInfo};
use adjourn_types::{Access, FEATURE_LEVEL, Member, SessionSecret};

use super::forgery::forged;
use super::mutants::Mutant;
use super::peers::{client_address, peer_address};
use super::seen::{NodeId, Seen};
use super::tally::Tally;
use super::time::{MS, Us};
use super::world::{Event, World};

/// Requests that a stranger can have overheard.
const OVERHEARD_MAX: usize = 64;
/// The number of a node that belongs to no cluster.
const NOBODY: NodeId = 99;
/// Strangers speak as nodes so often.
const INTRUDES_EVERY: (Us, Us) = (20 * MS, 500 * MS);
/// The terms that they speak of: far beyond those of a run.
const TERM_MAX: u64 = 5000;
/// The kinds of messages, by the numbers under which they go; those with a snapshot are of another form.
const KINDS: [u8; 9] = [1, 2, 3, 4, 6, 7, 8, 9, 10];

/// The connections of strangers, and what they were told.
#[derive(Debug)]
pub(super) struct Strangers {
    /// The first client that is one; all after it are, too.
    first: usize,
    connections: BTreeSet<ConnectionId>,
}

impl Strangers {
    /// Clients from this one on.
    pub(super) fn from(first: usize) -> Self {
        Self { first, connections: BTreeSet::new() }
    }

    /// Whether it is a stranger who does it, or is told it. An error if a stranger is told something.
    pub(super) fn see(&mut self, seen: &Seen<'_>, tally: &mut Tally) -> Result<bool, String> {
        let (connection, told) = match seen {
            Seen::Connected { client, connection, .. } => {
                if *client >= self.first {
                    self.connections.insert(*connection);
                }
                (connection, None)
            }
            Seen::Heard { connection, request, response, .. } => (connection, Some((request, response))),
            Seen::Asked { connection, .. }
            | Seen::Said { connection, .. }
            | Seen::Gone { connection, .. } => (connection, None),
            _ => return Ok(false),
        };
        if !self.connections.contains(connection) {
            return Ok(false);
        }
        if let Some((request, response)) = told {
            tally.strangers_refused += 1;
            if !says_nothing(*request, response) {
                return Err(format!("a stranger asked {request:?} and was told {response:?}"));
            }
        }
        Ok(true)
    }
}

/// Whether an answer tells nothing of any job or topic, and nothing was done.
fn says_nothing(request: Option<&Request>, response: &Response) -> bool {
    match response {
        Response::Error(_)
        | Response::Welcome(_)
        | Response::GoingAway { .. }
        | Response::Pong { .. }
        | Response::Cluster(_) => true,
        Response::Done => matches!(request, Some(Request::Cancel { .. })),
        Response::Pushed(results) => results.iter().all(|result| matches!(result, PushResult::Refused(..))),
        Response::Settled(results) => results.iter().all(Result::is_err),
        Response::Jobs { jobs, .. } => jobs.is_empty(),
        Response::Leased(page) => page.jobs.is_empty(),
        Response::Topics(topics) => topics.is_empty(),
        Response::Stats(report) => report.topics.is_empty(),
        _ => false,
    }
}

/// What one who is in no cluster says of itself.
fn about_nobody() -> PeerInfo {
    let member = Member {
        node: NOBODY,
        storage_id: [9; 16],
        peer_address: peer_address(NOBODY),
        client_address: client_address(NOBODY),
    };
    PeerInfo { member, feature_level_max: FEATURE_LEVEL }
}

impl World {
    /// A client of the plan that is a stranger may do everything in topics that are not there.
    pub(super) fn arrival(&mut self, client: usize) -> Arrival {
        let volatile_leases = self.clients[client].has_volatile_leases();
        let open = Arrival { volatile_leases, ..Arrival::open(SessionSecret(self.random.bytes()), "") };
        if client < self.strangers.first || self.plan.mutant == Mutant::StrangersMayAll {
            return open;
        }
        let grants = vec!["push,consume,read,manage:strange.*".parse().expect("a grant")];
        Arrival {
            access: Arc::new(Access { token: "stranger".to_owned(), grants, ..Access::open() }),
            ..open
        }
    }

    /// A request of a client reaches a node. Strangers listen.
    pub(super) fn overhear(&mut self, client: usize, request: &Request) {
        let is_own = matches!(request, Request::Hello(_) | Request::Goodbye | Request::Unsubscribe { .. });
        if self.plan.strangers == 0 || client >= self.strangers.first || is_own {
            return;
        }
        let overheard = &mut self.board.overheard;
        if overheard.len() >= OVERHEARD_MAX {
            overheard.pop_front();
        }
        overheard.push_back(request.clone());
    }

    /// Strangers begin to speak as nodes.
    pub(super) fn begin_intrusions(&mut self) {
        if self.plan.strangers > 0 && self.plan.cluster.is_some() {
            self.plan_intrusion();
        }
    }

    fn plan_intrusion(&mut self) {
        let pause = self.plan.pace.stretched(self.random.within(INTRUDES_EVERY));
        self.after(pause, Event::Intrudes);
    }

    /// Somebody speaks as a node that is in no cluster, or as one that is, without being connected.
    pub(super) fn intrude(&mut self) {
        if self.part.is_some() {
            return;
        }
        self.plan_intrusion();
        let others: Vec<NodeId> = self.nodes.keys().copied().chain([NOBODY]).collect();
        let (to, from) = (self.any_node(), *self.random.pick(&others));
        if from == to || self.nodes[&to].life.is_none() || self.wires.hears(to, from) {
            return;
        }
        if self.plan.mutant == Mutant::StrangersHeard {
            self.hand(to, Input::PeerConnected { about: about_nobody() });
        }
        let (kind, term) = (*self.random.pick(&KINDS), self.random.within((1, TERM_MAX)));
        let index = self.random.below(TERM_MAX);
        self.hand_forged(to, from, &forged(kind, to, from, term, index));
    }
}
