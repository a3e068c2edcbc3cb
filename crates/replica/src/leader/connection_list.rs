//! The operator's view of client connections.

use std::collections::BTreeSet;

use super::waiters::{Demand, Waiters};
use crate::group::Group;
use crate::io::ConnectionId;
use crate::node::Node;
use adjourn_protocol::{ConnectionList, ConnectionReport};
use adjourn_types::limits::CONNECTION_TOPICS_MAX;

/// A connection's topics are taken from at most this many of its subscriptions and long polls.
const WAITERS_LOOKED_AT: usize = 16;
/// This many subscriptions and long polls are one unit of work.
const WAITERS_PER_WORK: usize = 8;
/// A page ends after this much work.
const PAGE_WORK_MAX: u64 = 1024;

impl Waiters {
    /// The connections with a greater number than `after`, at most `connections_max`; fewer if they have many
    /// subscriptions.
    pub(super) fn connection_list(
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
        let waiters = self.of(id);
        group.work.count((1 + waiters.len() / WAITERS_PER_WORK) as u64);
        let (mut subscriptions, mut reserves, mut credit_jobs, mut credit_bytes) = (0, 0, 0_u64, 0_u64);
        for waiter in waiters.iter().filter_map(|waiter| self.one(*waiter)) {
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
        for waiter in waiters.iter().take(WAITERS_LOOKED_AT).filter_map(|waiter| self.one(*waiter)) {
            topics.extend(waiter.topics.iter().filter_map(|topic| group.state.known_name(*topic)));
            topics.extend(waiter.unknown().iter().cloned());
        }
        let has_more_topics = topics.len() > CONNECTION_TOPICS_MAX || waiters.len() > WAITERS_LOOKED_AT;
        let session = node.connections.session_of(id);
        let leases = session.map_or(0, |session| group.state.engine.lease_count(session));
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
}
