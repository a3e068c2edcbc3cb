//! The operator's view of client connections, and how to close one.

use std::collections::BTreeSet;

use super::Leader;
use super::proposals::Reply;
use super::requests::retry_later;
use super::waiters::Demand;
use crate::engine::Command;
use crate::protocol::{ConnectionList, ConnectionReport, ErrorCode, ErrorReply, GoingAway, Response};
use crate::replica::group::Group;
use crate::replica::io::ConnectionId;
use crate::replica::node::Node;
use crate::replica::node::connections::{Asker, Phase};
use crate::types::SessionId;
use crate::types::limits::CONNECTION_TOPICS_MAX;

/// The number of a connection's subscriptions and long polls that are read for its topics.
const WAITERS_LOOKED_AT: usize = 16;
/// The number of subscriptions and long polls that are one unit of work.
const WAITERS_PER_WORK: usize = 8;
/// Units of work after which a page ends.
const PAGE_WORK_MAX: u64 = 1024;

impl Leader {
    /// The connections with a greater number than `after`, up to the given maximum: fewer if they have many subscriptions.
    pub(crate) fn connection_list(
        &self,
        node: &mut Node,
        group: &mut Group,
        after: ConnectionId,
        connections_max: u32,
    ) -> ConnectionList {
        let (mut last, mut connections) = (after, Vec::new());
        let until = group.work_done() + PAGE_WORK_MAX;
        while connections.len() < connections_max as usize
            && group.work_done() < until
            && let Some(id) = node.connections.next_id(last)
        {
            last = id;
            connections.extend(self.connection_report(node, group, id));
        }
        ConnectionList { has_more: node.connections.next_id(last).is_some(), connections }
    }

    fn connection_report(
        &self,
        node: &mut Node,
        group: &mut Group,
        id: ConnectionId,
    ) -> Option<ConnectionReport> {
        let waiters = self.waiters.of(id);
        group.work.count((1 + waiters.len() / WAITERS_PER_WORK) as u64);
        let (mut subscriptions, mut reserves, mut credit_jobs, mut credit_bytes) = (0, 0, 0_u64, 0_u64);
        for waiter in waiters.iter().filter_map(|waiter| self.waiters.one(*waiter)) {
            match waiter.demand {
                Demand::Poll { .. } => reserves += 1,
                Demand::Subscription { jobs, bytes } => {
                    subscriptions += 1;
                    credit_jobs = credit_jobs.saturating_add(jobs.try_into().unwrap_or(0));
                    credit_bytes = credit_bytes.saturating_add(bytes.try_into().unwrap_or(0));
                }
            }
        }
        let mut topics = BTreeSet::new();
        for waiter in waiters.iter().take(WAITERS_LOOKED_AT).filter_map(|waiter| self.waiters.one(*waiter)) {
            topics.extend(waiter.topics.iter().filter_map(|topic| group.known_name(*topic)));
            topics.extend(waiter.unknown().iter().cloned());
        }
        let has_more_topics = topics.len() > CONNECTION_TOPICS_MAX || waiters.len() > WAITERS_LOOKED_AT;
        let session = node.connections.session_of(id);
        let leases = session.map_or(0, |session| group.engine.lease_count(session));
        let one = node.connections.one(id)?;
        Some(ConnectionReport {
            connection: id.0,
            session,
            since: one.since,
            leases: u32::try_from(leases).unwrap_or(u32::MAX),
            subscriptions,
            reserves,
            credit_jobs,
            credit_bytes,
            unsent_bytes: one.unwritten_bytes() as u64,
            address: one.address.to_string(),
            client_name: one.client_name.clone(),
            topics: topics.into_iter().take(CONNECTION_TOPICS_MAX).collect(),
            has_more_topics,
        })
    }

    /// Closes another client's connection. Its session goes into grace, or ends.
    pub(crate) fn disconnect(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        other: ConnectionId,
        ends_session: bool,
    ) {
        let Some(phase) = node.connections.one(other).map(|one| one.phase) else {
            let gone = "this node has no connection under that number: it was closed";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::NotFound, gone));
        };
        if other == asker.connection {
            let own = "this is the connection that asks: say GOODBYE, or close it";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, own));
        }
        let session = match phase {
            Phase::Open(session) => Some(session),
            Phase::Silent | Phase::Ended => None,
            Phase::Opening => {
                // Its session is on its way through the log, and could not be ended here.
                let opening = "its HELLO is not answered yet: try again";
                return node.connections.refuse(asker, retry_later(ErrorCode::Busy, opening, 100));
            }
        };
        let why = "an operator has closed this connection";
        self.end_waiters(node, other, why);
        node.connections.end(other);
        node.connections.say_goodbye(other, why, GoingAway::Disconnected);
        node.closes.push(other);
        match session {
            Some(session) if ends_session => self.close_session(node, group, asker, session),
            Some(session) => {
                self.start_grace(node, session);
                node.connections.send(asker, Response::Done);
            }
            None => node.connections.send(asker, Response::Done),
        }
    }

    /// Ends a session without a connection; `connection` is told when it has given back its leases.
    pub(crate) fn close_session(&mut self, node: &Node, group: &Group, asker: Asker, session: SessionId) {
        self.lapsing.insert(session);
        let reply = Reply::Close(asker, session);
        self.propose_behind_grants(node, group, session, Command::SessionClose { session }, reply);
    }
}
