//! Connections: messages take their time and keep their order, until the connection breaks. What goes to a client who reads
//! slowly waits twice: in the node until it is written, and in the sockets after that.

use adjourn_protocol::{Push, Request, RequestId, Response};
use adjourn_replica::{ConnectionId, Input, Permit};
use adjourn_types::Lease;

use super::mutants::Mutant;
use super::node::Node;
use super::seen::{NodeId, Seen};
use super::time::{MS, SECOND, Us};
use super::world::{Event, World, true_wall};

/// The percentage of clients with a slow network.
const SLOW_PERCENT: u64 = 10;
/// By how much.
const SLOW: (Us, Us) = (50 * MS, 6 * SECOND);

/// One connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: usize,
    pub(super) node: NodeId,
    /// Whether the end of the node is open.
    pub(super) node_open: bool,
    /// Broken: nothing gets through any more, whether the ends know or not.
    pub(super) broken: bool,
    /// When the last message in each direction arrives; the next one comes after it.
    up: Us,
    down: Us,
    /// When what the node said last is written.
    written: Us,
    /// Its client reads slowly: output waits for up to this time in the node, and as long in the sockets.
    pub(super) slow_us: Us,
}

/// A mutant makes a weight so much higher on its way to the node.
const RAISED_BY: u32 = 20;
/// A mutant holds requests back for this number of turns.
const HELD_TURNS: u32 = 100;

impl World {
    pub(super) fn connect(&mut self, client: usize, node: NodeId) {
        self.next_link += 1;
        let id = ConnectionId(self.next_link);
        let is_slow = !self.plan.calm && self.part.is_none() && self.random.percent(SLOW_PERCENT);
        let slow_us = if is_slow { self.random.within(SLOW) } else { 0 };
        let (node_open, broken, now) = (false, false, self.now);
        let link = Link { client, node, node_open, broken, up: now, down: now, written: now, slow_us };
        self.links.insert(id, link);
        self.ends[client].0 = Some(id);
        let latency = self.latency();
        self.after(latency, Event::Opens { link: id });
    }

    pub(super) fn opens(&mut self, id: ConnectionId) {
        let Some(link) = self.links.get(&id) else { return };
        let (client, node, broken) = (link.client, link.node, link.broken);
        let listens = self.nodes.get(&node).is_some_and(|node| node.listens(self.plan.cluster.is_some()));
        if broken || !listens {
            let latency = self.latency();
            return self.after(latency, Event::ClientSeesEnd { link: id });
        }
        self.see(&Seen::Connected { client, connection: id, slow: self.links[&id].slow_us > 0 });
        let arrival = self.arrival(client);
        self.link(id).node_open = true;
        self.hand(node, Input::Connected { connection: id, arrival });
        self.down(id, Event::Opened { link: id });
    }

    pub(super) fn opened(&mut self, id: ConnectionId) {
        let Some(link) = self.links.get(&id).filter(|link| !link.broken) else { return };
        let client = link.client;
        if self.ends[client].0 == Some(id) {
            let acts = self.clients[client].opened();
            self.carry_out(client, acts);
        }
    }

    pub(super) fn send_up(&mut self, client: usize, requests: Vec<(RequestId, Request)>) {
        let Some(id) = self.ends[client].0 else { return };
        let arrives = (self.now + self.latency()).max(self.link(id).up);
        self.link(id).up = arrives;
        for (request_id, request) in &requests {
            self.sent.insert((id, *request_id), (self.now, request.clone()));
        }
        self.at(arrives, Event::ToNode { link: id, requests });
    }

    pub(super) fn reach_node(&mut self, id: ConnectionId, requests: Vec<(RequestId, Request)>) {
        let Some(link) = self.links.get(&id).filter(|link| !link.broken && link.node_open) else { return };
        let (node, client) = (link.node, link.client);
        let session = self.sessions.get(&id).copied();
        let mut handed = Vec::new();
        for (request_id, request) in requests {
            self.see(&Seen::Asked { node, connection: id, session, id: request_id, request: &request });
            self.asked.insert((id, request_id), request.clone());
            self.overhear(client, &request);
            handed.extend(self.on_its_way(node, request).map(|request| (request_id, request)));
        }
        if self.plan.mutant == Mutant::TurnsTaken && session.is_some() {
            self.held_back.0.push((id, handed));
            self.turn_soon(node);
        } else {
            self.hand_requests(node, id, handed);
        }
    }

    fn hand_requests(&mut self, node: NodeId, connection: ConnectionId, requests: Vec<(RequestId, Request)>) {
        self.hand(node, Input::Requests { connection, from: None, requests, permit: Permit::default() });
    }

    /// The core has made a turn. Whether requests are held back for another one.
    pub(super) fn holds_back(&mut self, node: NodeId) -> bool {
        let (held, turns) = &mut self.held_back;
        if held.is_empty() {
            return false;
        }
        *turns += 1;
        if *turns > HELD_TURNS {
            *turns = 0;
            for (connection, requests) in std::mem::take(held) {
                self.hand_requests(node, connection, requests);
            }
        }
        true
    }

    pub(super) fn send_down(&mut self, id: ConnectionId, responses: Vec<(RequestId, Response)>) {
        let slow_us = self.link(id).slow_us;
        if slow_us == 0 && self.link(id).written <= self.now {
            return self.write_down(id, responses);
        }
        let waits = if slow_us > 0 { self.random.below(slow_us) } else { 0 };
        let written = (self.now + waits).max(self.link(id).written);
        self.link(id).written = written;
        self.at(written, Event::Writes { link: id, responses });
    }

    /// What the server's writer does with what its core has said, while there is a server.
    pub(super) fn write_down(&mut self, id: ConnectionId, mut responses: Vec<(RequestId, Response)>) {
        let Some(link) = self.links.get(&id).filter(|link| link.node_open) else { return };
        let node = link.node;
        self.report_written(node, id, &responses);
        let clock_ms = self.clocks(node).elapsed_us.div_ceil(1000);
        let unsent: Vec<Lease> =
            responses.iter_mut().flat_map(|(_, response)| response.age(clock_ms)).collect();
        responses.retain(|(_, response)| response.is_worth_sending());
        if !unsent.is_empty() {
            self.hand(node, Input::NotSent { connection: id, leases: unsent });
        }
        self.down(id, Event::ToClient { link: id, responses });
    }

    pub(super) fn reach_client(&mut self, id: ConnectionId, responses: Vec<(RequestId, Response)>) {
        let Some(link) = self.links.get(&id).filter(|link| !link.broken) else { return };
        let client = link.client;
        if self.ends[client].0 == Some(id) {
            for (request_id, response) in &responses {
                self.hears(id, *request_id, response);
            }
            let acts = self.clients[client].received(self.now, true_wall(self.now), responses, &self.board);
            self.carry_out(client, acts);
        }
    }

    /// A node hears how much of what it said is written, in lumps.
    fn report_written(&mut self, node: NodeId, id: ConnectionId, responses: &[(RequestId, Response)]) {
        let output_bytes_max = self.plan.output_bytes_max;
        if output_bytes_max == usize::MAX {
            return;
        }
        let mut left: usize = responses.iter().map(|(_, response)| response.weight_bytes()).sum();
        while left > 0 {
            let bytes = left.min(output_bytes_max / 2 - 1);
            left -= bytes;
            self.hand(node, Input::Written { connection: id, bytes });
        }
    }

    fn hears(&mut self, connection: ConnectionId, id: RequestId, response: &Response) {
        let asked = match response {
            Response::Subscribed | Response::Deliver(_) => self.sent.get(&(connection, id)).cloned(),
            _ => self.sent.remove(&(connection, id)),
        };
        let (sent, request) = asked.unzip();
        self.see(&Seen::Heard { connection, sent, request: request.as_ref(), response });
    }

    /// A client ends its connection: what it sent before arrives.
    pub(super) fn hang_up(&mut self, id: ConnectionId) {
        let arrives = (self.now + self.latency()).max(self.link(id).up);
        self.at(arrives, Event::NodeSeesEnd { link: id });
    }

    /// A connection breaks: messages under way are lost, and both ends notice after a while.
    pub(super) fn break_link(&mut self, id: ConnectionId) {
        self.link(id).broken = true;
        let (node_notices, client_notices) = (self.random.below(1500 * MS), self.random.below(500 * MS));
        self.after(node_notices, Event::NodeSeesEnd { link: id });
        self.after(client_notices, Event::ClientSeesEnd { link: id });
    }

    /// The node closes a connection: what it sent before arrives.
    pub(super) fn close_link(&mut self, id: ConnectionId) {
        let written = self.link(id).written.max(self.now);
        self.at(written, Event::Closes { link: id });
        let latency = self.latency();
        self.after(latency, Event::NodeSeesEnd { link: id });
    }

    /// Everything that the node said before it closed a connection is written.
    pub(super) fn closes(&mut self, id: ConnectionId) {
        self.down(id, Event::ClientSeesEnd { link: id });
    }

    pub(super) fn node_sees_end(&mut self, id: ConnectionId) {
        let Some(link) = self.links.get_mut(&id).filter(|link| link.node_open) else { return };
        link.node_open = false;
        let node = link.node;
        let session = self.sessions.remove(&id);
        self.see(&Seen::Gone { node, connection: id, session });
        if self.plan.mutant != Mutant::DisconnectSwallowed || self.random.percent(50) {
            self.hand(node, Input::Disconnected { connection: id });
        }
    }

    pub(super) fn client_sees_end(&mut self, id: ConnectionId) {
        let client = self.link(id).client;
        if self.ends[client].0 == Some(id) {
            self.ends[client].0 = None;
            let acts = self.clients[client].lost(self.now);
            self.carry_out(client, acts);
        }
    }

    pub(super) fn link(&mut self, id: ConnectionId) -> &mut Link {
        self.links.get_mut(&id).expect("links are never forgotten")
    }

    fn down(&mut self, id: ConnectionId, event: Event) {
        let slow_us = self.link(id).slow_us;
        let waits = if slow_us > 0 { self.random.below(slow_us) } else { 0 };
        let arrives = (self.now + self.latency() + waits).max(self.link(id).down);
        self.link(id).down = arrives;
        self.at(arrives, event);
    }

    fn latency(&mut self) -> Us {
        self.random.within(self.plan.network_us)
    }

    /// What becomes of a request between a client and the replica, if something there is broken.
    fn on_its_way(&mut self, node: NodeId, mut request: Request) -> Option<Request> {
        let elsewhere = self.is_repeated_elsewhere(node, &request);
        match (self.plan.mutant, &mut request) {
            (Mutant::RequestForgotten, _) if self.random.percent(1) => return None,
            (Mutant::FenceIgnored, Request::Finish { leases }) => {
                for lease in leases {
                    *lease = self.newest.get(&lease.job).copied().unwrap_or(*lease);
                }
            }
            (Mutant::SequenceLost, Request::Push(push)) => push.sequence = 0,
            (Mutant::ReasonLost, Request::Release { reason, .. } | Request::Bury { reason, .. }) => {
                *reason = None;
            }
            (Mutant::GroupLimitLost, Request::TopicSet(set)) => set.change.set.groups.leases_max = None,
            (Mutant::GroupOrderLost, Request::TopicSet(set)) => set.change.set.groups.fifo = false,
            (Mutant::GroupWeightRaised, Request::GroupSet(set)) => {
                set.weight = set.weight.map(|weight| weight * RAISED_BY);
            }
            (Mutant::SequenceLostElsewhere, Request::Push(push)) if elsewhere => push.sequence = 0,
            (Mutant::BodiesSwapped, Request::Push(Push { jobs, .. })) => {
                if let [first, .., last] = &mut jobs[..] {
                    std::mem::swap(&mut first.body, &mut last.body);
                }
            }
            _ => {}
        }
        Some(request)
    }
}

impl Node {
    /// Whether clients can connect. Among several nodes each listens from the start, and says who leads.
    pub(super) fn listens(&self, among_others: bool) -> bool {
        self.life.as_ref().is_some_and(|life| (life.serving || among_others) && !life.stopping)
    }
}
