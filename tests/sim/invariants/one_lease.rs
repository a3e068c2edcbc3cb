//! A job has at most one live lease: nobody else is given it while the one who holds it may still work on it.

use std::collections::BTreeMap;

use adjourn::protocol::{Delivered, JobRef, Request, RequestId, Response};
use adjourn::replica::{ConnectionId, Notice};
use adjourn::types::{JobId, Key, Lease, SessionId, TopicName};

use super::super::node::GRACE_MS;
use super::super::seen::{NodeId, Seen, When};
use super::super::time::{MS, Us};
use super::{Invariant, Jumps, Leading, delivered};

#[derive(Debug, Default)]
pub(super) struct OneLease {
    held: BTreeMap<JobId, Held>,
    /// Sessions that nobody speaks for, and since when.
    alone: BTreeMap<SessionId, Us>,
    /// Sessions whose leases outlive them.
    outliving: BTreeMap<SessionId, bool>,
    touches: BTreeMap<(ConnectionId, RequestId), Us>,
    jumps: Jumps,
    leading: Leading,
}

#[derive(Debug)]
struct Held {
    lease: Lease,
    session: Option<SessionId>,
    name: (TopicName, Option<Key>),
    since: Us,
    /// Live until then, in true time, if nothing ends it before.
    until: Us,
    /// Something may have ended it.
    over: bool,
}

impl OneLease {
    fn deliver(
        &mut self,
        at: Us,
        node: NodeId,
        session: Option<SessionId>,
        job: &Delivered,
    ) -> Result<(), String> {
        let lease = job.lease;
        if let Some(held) = self.held.get(&lease.job) {
            if lease.fence <= held.lease.fence {
                if self.leading.was_followed(node) && held.session != session {
                    // Granted in its time, and said too late: it is no good any more.
                    return Ok(());
                }
                return Err(format!("lease {lease} was given after lease {}", held.lease));
            }
            if self.is_live(at, held) {
                return Err(format!(
                    "lease {lease} was given to session {session:?} while session {:?} held {} for {} us more",
                    held.session,
                    held.lease,
                    held.until - at,
                ));
            }
        }
        let held = Held {
            lease,
            session,
            name: (job.topic.clone(), job.key.clone()),
            since: at,
            until: at + Us::from(job.ttr_left_ms.saturating_sub(1)) * MS,
            over: false,
        };
        self.held.insert(lease.job, held);
        Ok(())
    }

    fn is_live(&self, at: Us, held: &Held) -> bool {
        let outlives = held.session.is_some_and(|session| self.outliving.get(&session) == Some(&true));
        let alone = held.session.and_then(|session| self.alone.get(&session));
        let lapsed = !outlives && alone.is_some_and(|since| since + GRACE_MS * MS <= at);
        !held.over && !lapsed && at + self.jumps.ahead_since(held.since, at) < held.until
    }

    fn asked(
        &mut self,
        at: Us,
        connection: ConnectionId,
        id: RequestId,
        session: Option<SessionId>,
        request: &Request,
    ) {
        match request {
            Request::Finish { leases } | Request::Release { leases, .. } | Request::Bury { leases } => {
                self.each(leases, |held| held.over = true);
            }
            Request::Touch { leases, ttr_ms } => {
                self.touches.insert((connection, id), at);
                if let Some(ttr_ms) = ttr_ms {
                    self.each(leases, |held| held.until = held.until.min(at + Us::from(*ttr_ms) * MS));
                }
            }
            Request::Delete(JobRef::Id(job)) => {
                if let Some(held) = self.held.get_mut(job) {
                    held.over = true;
                }
            }
            Request::Delete(JobRef::Key { topic, key }) => {
                let name = (topic.clone(), Some(key.clone()));
                self.held.values_mut().filter(|held| held.name == name).for_each(|held| held.over = true);
            }
            Request::Goodbye => self.session_over(session),
            _ => {}
        }
    }

    fn each(&mut self, leases: &[Lease], change: impl Fn(&mut Held)) {
        for lease in leases {
            if let Some(held) = self.held.get_mut(&lease.job).filter(|held| held.lease == *lease) {
                change(held);
            }
        }
    }

    fn session_over(&mut self, session: Option<SessionId>) {
        if session.is_some_and(|session| self.outliving.get(&session) == Some(&true)) {
            return;
        }
        self.held.values_mut().filter(|held| held.session == session).for_each(|held| held.over = true);
    }

    fn graces_over(&mut self, at: Us) {
        let over = self.alone.iter().filter(|(_, since)| **since + GRACE_MS * MS <= at);
        for session in over.map(|(session, _)| *session).collect::<Vec<_>>() {
            self.session_over(Some(session));
        }
    }

    fn said(
        &mut self,
        at: Us,
        key: (ConnectionId, RequestId),
        request: Option<&Request>,
        response: &Response,
    ) {
        match (request, response) {
            (Some(Request::Touch { leases, ttr_ms: Some(ttr_ms) }), Response::Settled(results)) => {
                let asked = self.touches.remove(&key).unwrap_or(at);
                for (lease, _) in leases.iter().zip(results).filter(|(_, result)| result.is_ok()) {
                    self.each(&[*lease], |held| {
                        (held.since, held.until) = (asked, asked + Us::from(ttr_ms - 1) * MS);
                    });
                }
            }
            (Some(Request::Hello(hello)), Response::Welcome(welcome)) => {
                self.outliving.entry(welcome.session).or_insert(hello.leases_outlive);
                self.alone.remove(&welcome.session);
                if !welcome.leases_kept {
                    self.session_over(Some(welcome.session));
                }
            }
            _ => {}
        }
    }
}

impl Invariant for OneLease {
    fn name(&self) -> &'static str {
        "one lease"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.jumps.see(when, seen);
        let leader = self.leading.node;
        self.leading.see(seen);
        match seen {
            Seen::Asked { connection, id, session, request, .. } => {
                self.asked(when.at, *connection, *id, *session, request);
            }
            Seen::Said { node, connection, id, session, request, response } => {
                self.said(when.at, (*connection, *id), *request, response);
                for job in delivered(response) {
                    self.deliver(when.at, *node, *session, job)?;
                }
            }
            // Who leads by now has counted since it does.
            Seen::Gone { node, session: Some(session), .. } if self.leading.was_followed(*node) => {
                self.alone.entry(*session).or_insert(when.at);
            }
            Seen::Gone { session: Some(session), .. } => _ = self.alone.insert(*session, when.at),
            // Those whose grace was over have lapsed, perhaps.
            Seen::Ended { node, .. } | Seen::Noticed { node, notice: Notice::Following { .. } }
                if leader == Some(*node) =>
            {
                self.graces_over(when.at);
            }
            // With whoever leads from here on, of all others the grace begins anew.
            Seen::Noticed { notice: Notice::Leading { .. }, .. } => {
                self.graces_over(when.at);
                self.alone = self.outliving.keys().map(|session| (*session, when.at)).collect();
            }
            _ => {}
        }
        Ok(())
    }
}
