//! A job has at most one holder: no client is told of it while another may still take it for its own, by the rules that
//! `protocol.md` gives to clients. And a client that asks for its leases is shown all that it may take for its own.
//!
//! What counts is what clients believe, who may be cut off or read slowly, and not what the nodes have said to them.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Applied, Change, Delivered, JobRef, Push, Request, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::{Fence, IfExists, JobId, Key, Lease, SessionId, TopicName};

use super::super::clients::CALLER;
use super::super::node::GRACE_MS;
use super::super::seen::{Seen, When};
use super::super::time::{MS, Us};
use super::bulks::Bulks;
use super::{Invariant, Jumps, delivered, shown};

/// A client deducts one part in this number from its times: clocks differ in speed.
const DRIFT_PARTS: Us = 1000;
/// A lease that ends so soon need not be shown.
const ABOUT_TO_END: Us = 50 * MS;

#[derive(Debug, Default)]
pub(super) struct OneLease {
    held: BTreeMap<JobId, Held>,
    clients: BTreeMap<ConnectionId, Client>,
    sessions: BTreeMap<SessionId, Session>,
    /// The job and the session of each fence.
    fences: BTreeMap<Fence, (JobId, SessionId)>,
    /// When each lease was spoken of first.
    granted: BTreeMap<Lease, Us>,
    /// Leases that their holder has asked to end. A read that was under way then may still show one.
    ended: BTreeSet<Lease>,
    /// When jobs were deleted. What one turn leads to is said at one moment: a lease that was granted before may be heard of after it.
    deleted: BTreeMap<JobId, Us>,
    /// Keys whose job a push that was not answered yet replaces, reserved or not, and how many such pushes there are.
    replacing: BTreeMap<(TopicName, Option<Key>), u64>,
    /// When a push was answered last that may have replaced the job of a key, reserved or not.
    replaced: BTreeMap<(TopicName, Option<Key>), Us>,
    /// The leases of each key that were spoken of.
    of_key: BTreeMap<(TopicName, Option<Key>), BTreeSet<Lease>>,
    bulks: Bulks,
    jumps: Jumps,
    /// Sessions whose leases end with their connections.
    callers: BTreeMap<ConnectionId, SessionId>,
}

/// One end of a connection.
#[derive(Debug)]
struct Client {
    session: SessionId,
    /// What the node's monotonic clock showed then, or later.
    clock: (Us, u64),
}

#[derive(Debug)]
struct Session {
    /// When the last request was sent whose answer proves that the leases are kept.
    proven: Us,
    outlives: bool,
    /// Its client has said GOODBYE: what it hears of after that it does not take.
    left: bool,
}

/// What a client believes to hold.
#[derive(Debug)]
struct Held {
    lease: Lease,
    session: SessionId,
    name: (TopicName, Option<Key>),
    granted: Us,
    /// Until then, if nothing ends it before.
    until: Us,
    /// Something may have ended it.
    over: bool,
}

impl OneLease {
    fn hears_of(&mut self, at: Us, connection: ConnectionId, job: &Delivered) -> Result<(), String> {
        let Some(client) = self.clients.get(&connection) else { return Ok(()) };
        let granted = self.granted.get(&job.lease).copied().unwrap_or(at);
        let is_deleted = self.deleted.get(&job.lease.job).is_some_and(|deleted| granted <= *deleted);
        if is_deleted || self.ended.contains(&job.lease) {
            return Ok(());
        }
        let (sent, clock_ms) = client.clock;
        let until = sent + surely(Us::from(job.deadline_ms.saturating_sub(clock_ms)) * MS);
        let held = Held {
            lease: job.lease,
            session: client.session,
            name: (job.topic.clone(), job.key.clone()),
            granted,
            until: until.min(at + surely(Us::from(job.ttr_left_ms) * MS)),
            over: false,
        };
        // What one turn leads to is said at one moment: a push that is answered then may have replaced the job after its grant.
        let was_replaced = self.replaced.get(&held.name).is_some_and(|replaced| *replaced >= held.granted);
        let held = Held { over: was_replaced || self.may_be_deleted(&held), ..held };
        let known = self.held.get(&held.lease.job);
        let other = known.filter(|other| (other.lease, other.session) != (held.lease, held.session));
        if let Some(other) = other.filter(|other| self.is_live(at, other) && self.is_live(at, &held)) {
            return Err(format!(
                "session {:?} is told of {}, and session {:?} holds {} for {} us more",
                held.session,
                held.lease,
                other.session,
                other.lease,
                other.until - at,
            ));
        }
        if known.is_none_or(|known| known.lease.fence < held.lease.fence) {
            self.held.insert(held.lease.job, held);
        }
        Ok(())
    }

    /// A fence belongs to one job and one session.
    fn has_own_fence(&mut self, lease: Lease, session: SessionId) -> Result<(), String> {
        let whose = (lease.job, session);
        let first = *self.fences.entry(lease.fence).or_insert(whose);
        if first == whose {
            Ok(())
        } else {
            Err(format!("{lease} of {session:?} has the fence of {first:?}"))
        }
    }

    /// Whether a change to many jobs may have ended it.
    fn may_be_deleted(&self, held: &Held) -> bool {
        let (topic, key) = &held.name;
        let mut met = self.bulks.meeting(topic, key.as_ref()).filter(|one| one.deletes());
        met.any(|one| one.said.is_none_or(|said| said >= held.granted))
    }

    fn is_live(&self, at: Us, held: &Held) -> bool {
        let is_kept = self.sessions.get(&held.session).is_some_and(|session| {
            session.outlives || (!session.left && at < session.proven + surely(GRACE_MS * MS))
        });
        let is_replaced = self.replacing.get(&held.name).is_some_and(|pushes| *pushes > 0);
        !held.over && !is_replaced && is_kept && at + self.jumps.ahead_since(held.granted, at) < held.until
    }

    fn asked(&mut self, at: Us, session: Option<SessionId>, request: &Request) {
        match request {
            Request::Bulk(bulk) if bulk.change == Change::Delete => {
                let mut held = std::mem::take(&mut self.held);
                for held in held.values_mut() {
                    held.over |= self.may_be_deleted(held);
                }
                self.held = held;
            }
            Request::Finish { leases } | Request::Release { leases, .. } | Request::Bury { leases, .. } => {
                self.each(leases, |held| held.over = true);
                self.ended.extend(leases);
            }
            Request::Touch { leases, ttr_ms: Some(ttr_ms) } => {
                self.each(leases, |held| held.until = held.until.min(at + Us::from(*ttr_ms) * MS));
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
            Request::Push(push) => {
                for name in replaced(push) {
                    *self.replacing.entry(name).or_default() += 1;
                }
            }
            Request::Goodbye => {
                let Some(session) = session else { return };
                self.session_over(session);
                if let Some(known) = self.sessions.get_mut(&session) {
                    known.left = true;
                }
            }
            _ => {}
        }
    }

    /// A job was deleted: a client that was told of a lease on it, and hears of that later, has lost it.
    fn deleted(&mut self, at: Us, job: JobId) {
        self.deleted.insert(job, at);
        if let Some(held) = self.held.get_mut(&job) {
            held.over = true;
        }
    }

    /// A push has its answer: the holder of a job with one of its keys may have lost it.
    fn pushed(&mut self, at: Us, push: &Push) {
        for name in replaced(push) {
            self.replaced.insert(name.clone(), at);
            self.held.values_mut().filter(|held| held.name == name).for_each(|held| held.over = true);
            self.ended.extend(self.of_key.get(&name).into_iter().flatten());
            self.replacing.entry(name).and_modify(|pushes| *pushes -= 1);
        }
    }

    /// The session was connected to the leader after this. Leases that its client took for lost before stay lost.
    fn proven(&mut self, at: Us, session: SessionId, sent: Us) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        let presumed = known.proven + surely(GRACE_MS * MS);
        known.proven = known.proven.max(sent);
        if at >= presumed && !known.outlives {
            let lost =
                self.held.values_mut().filter(|held| held.session == session && held.granted < presumed);
            lost.for_each(|held| held.over = true);
        }
    }

    fn each(&mut self, leases: &[Lease], change: impl Fn(&mut Held)) {
        for lease in leases {
            if let Some(held) = self.held.get_mut(&lease.job).filter(|held| held.lease == *lease) {
                change(held);
            }
        }
    }

    fn session_over(&mut self, session: SessionId) {
        if self.sessions.get(&session).is_none_or(|session| !session.outlives) {
            self.held.values_mut().filter(|held| held.session == session).for_each(|held| held.over = true);
        }
    }

    fn heard(
        &mut self,
        at: Us,
        connection: ConnectionId,
        sent: Option<Us>,
        request: Option<&Request>,
        response: &Response,
    ) -> Result<(), String> {
        if let (Some(sent), Some(Request::Hello(hello)), Response::Welcome(welcome)) =
            (sent, request, response)
            && welcome.resume().is_some()
        {
            let (session, clock) = (welcome.session, (sent, welcome.clock_ms));
            self.clients.insert(connection, Client { session, clock });
            let outlives = hello.leases_outlive;
            if hello.client_name == CALLER {
                self.callers.insert(connection, session);
            }
            let known =
                self.sessions.entry(session).or_insert(Session { proven: sent, outlives, left: false });
            known.left = false;
            if !welcome.leases_kept {
                known.proven = sent;
                self.session_over(session);
            }
        }
        if let (Some(sent), Some(client)) = (sent, self.clients.get_mut(&connection)) {
            if let Response::Pong { clock_ms, .. } = response {
                client.clock = (sent, *clock_ms);
            }
            let session = client.session;
            if is_proof(response) {
                self.proven(at, session, sent);
            }
        }
        if let (
            Some(sent),
            Some(Request::Touch { leases, ttr_ms: Some(ttr_ms) }),
            Response::Settled(results),
        ) = (sent, request, response)
        {
            for (lease, _) in leases.iter().zip(results).filter(|(_, result)| result.is_ok()) {
                self.each(&[*lease], |held| {
                    (held.granted, held.until) = (sent, sent + surely(Us::from(*ttr_ms) * MS));
                });
            }
        }
        shown(response).iter().try_for_each(|job| self.hears_of(at, connection, job))?;
        if let (Some(Request::Leases { after: JobId(0), .. }), Response::Leased(page)) = (request, response)
            && !page.has_more
        {
            self.are_all_there(at, connection, &page.jobs)?;
        }
        Ok(())
    }

    /// A client was shown all of its leases: none is missing that it holds.
    fn are_all_there(&self, at: Us, connection: ConnectionId, jobs: &[Delivered]) -> Result<(), String> {
        let Some(client) = self.clients.get(&connection) else { return Ok(()) };
        let ends_with_it = |id| self.sessions.get(&id).is_some_and(|session| !session.outlives);
        let is_missing = |held: &&Held| {
            held.session == client.session
                && ends_with_it(held.session)
                && self.is_live(at + ABOUT_TO_END, held)
                && !jobs.iter().any(|job| job.lease == held.lease)
        };
        match self.held.values().find(is_missing) {
            Some(held) => {
                Err(format!("session {:?} holds {}, and is not shown it", held.session, held.lease))
            }
            None => Ok(()),
        }
    }
}

impl Invariant for OneLease {
    fn name(&self) -> &'static str {
        "one lease"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.jumps.see(when, seen);
        match seen {
            Seen::Asked { connection, id, session, request, .. } => {
                self.bulks.asked(when.at, (*connection, *id), request);
                self.asked(when.at, *session, request);
            }
            Seen::Said { connection, session, id, request, response, .. } => {
                if let Some(session) = *session {
                    shown(response).iter().try_for_each(|job| self.has_own_fence(job.lease, session))?;
                }
                self.bulks.said(when.at, (*connection, *id), response);
                let is_unknown =
                    matches!(response, Response::Error(error) if error.applied == Applied::Unknown);
                if let Some(Request::Push(push)) = request.filter(|_| !is_unknown) {
                    self.pushed(when.at, push);
                }
                if let (Some(Request::Delete(_)), Response::Changed { job, .. }) = (request, response) {
                    self.deleted(when.at, *job);
                }
                for job in shown(response) {
                    self.granted.entry(job.lease).or_insert(when.at);
                    if job.key.is_some() {
                        let name = (job.topic.clone(), job.key.clone());
                        self.of_key.entry(name).or_default().insert(job.lease);
                    }
                }
            }
            Seen::Ended { connections, .. } => {
                for session in connections.iter().filter_map(|id| self.callers.remove(id)).collect::<Vec<_>>()
                {
                    self.session_over(session);
                }
            }
            Seen::Heard { connection, sent, request, response } => {
                return self.heard(when.at, *connection, *sent, *request, response);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The keys whose jobs a push replaces also if they are reserved.
fn replaced(push: &Push) -> impl Iterator<Item = (TopicName, Option<Key>)> {
    let jobs = push.jobs.iter().filter(|job| job.key.is_some() && job.if_exists == IfExists::ReplaceReserved);
    jobs.map(|job| (push.topic.clone(), job.key.clone()))
}

fn surely(time: Us) -> Us {
    time - time / DRIFT_PARTS
}

/// Whether an answer proves that the session was connected to the leader after the request was sent.
fn is_proof(response: &Response) -> bool {
    match response {
        Response::Reserved(_) | Response::Deliver(_) => !delivered(response).is_empty(),
        Response::Pong { .. }
        | Response::Pushed(_)
        | Response::Settled(_)
        | Response::Job(_)
        | Response::Leased(_)
        | Response::Changed { .. }
        | Response::Kicked { .. }
        | Response::Bulked { .. }
        | Response::Jobs { .. }
        | Response::Counted { .. }
        | Response::Topics(_)
        | Response::Stats(_) => true,
        _ => false,
    }
}
