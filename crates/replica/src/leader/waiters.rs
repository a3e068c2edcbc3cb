//! Waiting consumers: long polls and subscriptions.
//!
//! Waiters are not part of the state: only the leader has them, and clients repeat their requests to a new leader. A waiter
//! is in the line of each of its topics while it can take a job. It leaves all lines when a reserve is proposed for it, and
//! rejoins them at the end when the outcome is known and it can take more. So each waiter has one reserve in flight, and
//! the waiters of a topic take turns. A waiter whose connection has no room for jobs also leaves the lines, until output
//! was written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::shares::{Standing, Standings, Weighing, topic_order};
use crate::io::ConnectionId;
use crate::node::connections::Asker;
use adjourn_engine::{Command, Engine};
use adjourn_types::limits::{RESERVE_BYTES_MAX, RESERVE_JOBS_MAX};
use adjourn_types::{Lease, SessionId, TopicId, TopicName};

/// The number of a waiter; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaiterId(u64);

/// The demand of a waiter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Demand {
    /// One answer, at the latest at a time on the monotonic clock.
    Poll {
        /// The maximum number of jobs.
        jobs_max: u32,
        /// Then the answer has no jobs.
        deadline_us: u64,
    },
    /// Jobs as long as there is credit. A job larger than the remaining byte credit takes it below 0.
    Subscription {
        /// The remaining credit in jobs.
        jobs: i64,
        /// The remaining credit in bytes of bodies.
        bytes: i64,
    },
}

/// One long poll or subscription.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(super) asker: Asker,
    pub(super) session: SessionId,
    pub(super) demand: Demand,
    /// Its existing topics, by number.
    pub(super) topics: Vec<TopicId>,
    /// Topics that did not exist when it was added.
    unknown: Vec<TopicName>,
    /// Its place in the lines; `None` while a reserve is in flight, or it has no credit or no room.
    turn: Option<u64>,
    /// True while a reserve is in flight.
    reserving: bool,
    /// Its topics and their weights, if it uses weights.
    weighing: Option<Arc<Weighing>>,
}

impl Waiter {
    /// True for a long poll.
    pub(super) fn is_poll(&self) -> bool {
        matches!(self.demand, Demand::Poll { .. })
    }

    /// The names of its topics that do not exist.
    pub(super) fn unknown(&self) -> &[TopicName] {
        &self.unknown
    }

    /// True if it is to be answered now, even without a job.
    pub(super) fn wait_is_over(&self, now_us: u64) -> bool {
        matches!(self.demand, Demand::Poll { deadline_us, .. } if deadline_us <= now_us)
    }
}

/// All waiters of one leader.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    all: BTreeMap<WaiterId, Waiter>,
    lines: BTreeMap<TopicId, BTreeMap<u64, WaiterId>>,
    /// How many waiters want jobs of each topic, in line or not.
    wanted: BTreeMap<TopicId, u32>,
    /// Waiters for topics that do not exist, by name.
    unknown: BTreeMap<TopicName, BTreeSet<WaiterId>>,
    deadlines: BTreeSet<(u64, WaiterId)>,
    by_connection: BTreeSet<(ConnectionId, WaiterId)>,
    /// The number of each connection's long polls.
    polls: BTreeMap<ConnectionId, u32>,
    poll_ids: BTreeMap<Asker, WaiterId>,
    standings: Standings,
    /// Jobs that reserves in flight are expected to take, by topic.
    claims: BTreeMap<TopicId, u64>,
    /// Reserves in flight, including those of removed waiters.
    reserves: BTreeMap<SessionId, u32>,
    /// For each delivered lease, the subscription that it counts against, and its bytes.
    held: BTreeMap<Lease, (WaiterId, u32)>,
    next: u64,
    /// The next number after the topics reported by [`Self::topic_made`].
    topics_seen: u32,
}

/// A reserve to be proposed.
#[derive(Debug)]
pub(super) struct PendingReserve {
    pub(super) waiter: WaiterId,
    pub(super) session: SessionId,
    pub(super) topics: Vec<TopicId>,
    pub(super) jobs_max: u32,
    pub(super) bytes_max: u64,
    pub(super) claim: Claim,
    /// Topics and weights, with their standings.
    weighed: Option<Standing>,
}

impl PendingReserve {
    /// The command to propose.
    pub(super) fn command<'a>(&'a self, engine: &'a Engine) -> Command<'a> {
        let Self { session, jobs_max, bytes_max, .. } = *self;
        let name = |topic: &TopicId| Some(engine.topic(*topic)?.name.as_str());
        let topics = topic_order(self.weighed.as_ref(), self.topics.iter().filter_map(name));
        Command::Reserve { session, topics, jobs_max, bytes_max }
    }
}

/// The result of cancelling a long poll.
#[derive(Debug)]
pub(super) enum Cancelled {
    /// There is no such poll: it was answered.
    Unknown,
    /// It was removed, and must be answered.
    Now(Waiter),
    /// A reserve for it is in flight, and its outcome will be the answer.
    WithOutcome,
}

/// The expected result of a reserve in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The session that will hold its leases.
    pub(super) session: SessionId,
    /// The topic from whose line the waiter was taken.
    topic: TopicId,
    /// The number of jobs of that topic.
    pub(super) jobs: u64,
}

impl Waiters {
    /// Starts without waiters. Topics before `next_topic` exist already, or are gone.
    pub(crate) fn new(next_topic: TopicId) -> Self {
        Self { topics_seen: next_topic.0, ..Self::default() }
    }

    /// Adds a waiter. `topics` without a number do not exist: the waiter joins their lines when they are created.
    pub(crate) fn add(
        &mut self,
        asker: Asker,
        session: SessionId,
        demand: Demand,
        topics: impl IntoIterator<Item = (TopicName, Option<TopicId>)>,
    ) -> WaiterId {
        self.next += 1;
        let id = WaiterId(self.next);
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for (name, topic) in topics {
            match topic {
                Some(topic) => known.push(topic),
                None => unknown.push(name.detached()),
            }
        }
        for name in &unknown {
            self.unknown.entry(name.clone()).or_default().insert(id);
        }
        if let Demand::Poll { deadline_us, .. } = demand {
            self.deadlines.insert((deadline_us, id));
            *self.polls.entry(asker.connection).or_default() += 1;
            self.poll_ids.insert(asker, id);
        }
        known.sort_unstable();
        known.dedup();
        for topic in &known {
            *self.wanted.entry(*topic).or_default() += 1;
        }
        let waiter = Waiter {
            asker,
            session,
            demand,
            topics: known,
            unknown,
            turn: None,
            reserving: false,
            weighing: None,
        };
        self.all.insert(id, waiter);
        self.by_connection.insert((asker.connection, id));
        self.line_up(id);
        id
    }

    /// Adds a waiter for a RESERVE that does not wait: its reserve is in flight, and the outcome is the answer.
    pub(super) fn add_reserving(
        &mut self,
        asker: Asker,
        session: SessionId,
        jobs_max: u32,
        now_us: u64,
    ) -> (WaiterId, Claim) {
        let demand = Demand::Poll { jobs_max, deadline_us: now_us };
        let id = self.add(asker, session, demand, []);
        if let Some(waiter) = self.all.get_mut(&id) {
            (waiter.turn, waiter.reserving) = (None, true);
        }
        *self.reserves.entry(session).or_default() += 1;
        // It claims no jobs. Waiters in line find out when it took some.
        (id, Claim { session, topic: TopicId(0), jobs: 0 })
    }

    /// Gives a waiter weights for its topics.
    pub(super) fn weigh(&mut self, id: WaiterId, topics: &[TopicName], weights: &[u16]) {
        if let Some(waiter) = self.all.get_mut(&id) {
            waiter.weighing = Some(self.standings.list(waiter.asker.connection, topics, weights));
        }
    }

    /// The shares for a reserve that is proposed for a waiter with weights.
    pub(super) fn weighed(&self, id: WaiterId) -> Option<Standing> {
        let waiter = self.all.get(&id)?;
        let weighing = waiter.weighing.as_ref()?;
        Some((Arc::clone(weighing), self.standings.of(waiter.asker.connection, weighing)))
    }

    /// Adds a reserve's advances to the standings of a waiter with weights.
    pub(crate) fn advance(&mut self, id: WaiterId, advances: &[i64]) {
        let waiter =
            self.all.get(&id).and_then(|waiter| Some((waiter.asker.connection, waiter.weighing.as_ref()?)));
        if let Some((connection, weighing)) = waiter {
            self.standings.advance(connection, weighing, advances);
        }
    }

    /// Forgets a gone connection, whose waiters were removed.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.standings.forget(connection);
    }

    /// Cancels a long poll.
    pub(super) fn cancel(&mut self, poll: Asker, now_us: u64) -> Cancelled {
        let Some(id) = self.poll_ids.get(&poll).copied() else { return Cancelled::Unknown };
        let Some(waiter) = self.all.get_mut(&id) else { return Cancelled::Unknown };
        if !waiter.reserving {
            return self.remove(id).map_or(Cancelled::Unknown, Cancelled::Now);
        }
        if let Demand::Poll { deadline_us, .. } = &mut waiter.demand {
            self.deadlines.remove(&(*deadline_us, id));
            *deadline_us = now_us.min(*deadline_us);
            self.deadlines.insert((*deadline_us, id));
        }
        Cancelled::WithOutcome
    }

    /// The waiter with this number.
    pub(crate) fn one(&self, id: WaiterId) -> Option<&Waiter> {
        self.all.get(&id)
    }

    /// Removes a waiter. Its leases stay, and their credit is forgotten.
    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
        self.leave_lines(id);
        let waiter = self.all.remove(&id)?;
        for topic in &waiter.topics {
            want_less(&mut self.wanted, *topic);
        }
        self.by_connection.remove(&(waiter.asker.connection, id));
        if let Demand::Poll { deadline_us, .. } = waiter.demand {
            self.deadlines.remove(&(deadline_us, id));
            if self.poll_ids.get(&waiter.asker) == Some(&id) {
                self.poll_ids.remove(&waiter.asker);
            }
            if let Some(polls) = self.polls.get_mut(&waiter.asker.connection) {
                *polls -= 1;
                if *polls == 0 {
                    self.polls.remove(&waiter.asker.connection);
                }
            }
        }
        for name in &waiter.unknown {
            if let Some(waiters) = self.unknown.get_mut(name) {
                waiters.remove(&id);
                if waiters.is_empty() {
                    self.unknown.remove(name);
                }
            }
        }
        Some(waiter)
    }

    /// The number of a connection's long polls.
    pub(super) fn polls_of(&self, connection: ConnectionId) -> u32 {
        self.polls.get(&connection).copied().unwrap_or(0)
    }

    /// The number of all long polls and subscriptions.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// How many long polls and subscriptions want jobs of a topic.
    pub(super) fn of_topic(&self, topic: TopicId) -> u32 {
        self.wanted.get(&topic).copied().unwrap_or_default()
    }

    /// True if a waiter is in any line.
    pub(super) fn any_in_line(&self) -> bool {
        !self.lines.is_empty()
    }

    /// True if a waiter is in this topic's line.
    pub(super) fn in_line(&self, topic: TopicId) -> bool {
        self.lines.contains_key(&topic)
    }

    /// The next number after the topics reported by [`Self::topic_made`].
    pub(super) fn next_topic(&self) -> TopicId {
        TopicId(self.topics_seen)
    }

    /// A topic was created: its waiters join its line.
    pub(super) fn topic_made(&mut self, topic: TopicId, name: &TopicName) {
        self.topics_seen = topic.0.saturating_add(1);
        for id in self.unknown.remove(name).unwrap_or_default() {
            self.leave_lines(id);
            if let Some(waiter) = self.all.get_mut(&id) {
                waiter.unknown.retain(|unknown| unknown != name);
                waiter.topics.push(topic);
                *self.wanted.entry(topic).or_default() += 1;
            }
            self.line_up(id);
        }
    }

    /// Topics are gone: their waiters wait until topics with these names exist again.
    pub(super) fn topics_gone(&mut self, gone: &BTreeMap<TopicId, TopicName>) {
        if gone.is_empty() {
            return;
        }
        let waits = |waiter: &Waiter| waiter.topics.iter().any(|topic| gone.contains_key(topic));
        let waiting = self.all.iter().filter(|(_, waiter)| waits(waiter)).map(|(id, _)| *id);
        for id in waiting.collect::<Vec<_>>() {
            self.leave_lines(id);
            if let Some(waiter) = self.all.get_mut(&id) {
                for topic in waiter.topics.extract_if(.., |topic| gone.contains_key(topic)) {
                    want_less(&mut self.wanted, topic);
                    if let Some(name) = gone.get(&topic) {
                        self.unknown.entry(name.clone()).or_default().insert(id);
                        waiter.unknown.push(name.clone());
                    }
                }
            }
            self.line_up(id);
        }
    }

    /// The topics with jobs that have waiters. Iterates over the smaller set.
    pub(super) fn waited_for(&self, with_jobs: &BTreeSet<TopicId>) -> Vec<TopicId> {
        if self.lines.len() < with_jobs.len() {
            self.lines.keys().filter(|topic| with_jobs.contains(topic)).copied().collect()
        } else {
            with_jobs.iter().filter(|topic| self.lines.contains_key(topic)).copied().collect()
        }
    }

    /// Takes waiters out of the lines of these topics, for the jobs that are there: `available` is the number of a topic's
    /// jobs, from which the claims of reserves in flight are subtracted. `room_bytes` is the room of a connection; a waiter
    /// without room loses its place and needs [`Self::line_up`].
    pub(super) fn take_turns(
        &mut self,
        topics: impl IntoIterator<Item = TopicId>,
        available: impl Fn(TopicId) -> u64,
        mut room_bytes: impl FnMut(ConnectionId) -> u64,
    ) -> Vec<PendingReserve> {
        let mut turns = Vec::new();
        for topic in topics {
            let claimed = self.claims.get(&topic).copied().unwrap_or(0);
            let mut left = available(topic).saturating_sub(claimed);
            while left > 0 {
                let first = self.lines.get(&topic).and_then(|line| line.values().next().copied());
                let Some(id) = first else { break };
                if let Some(turn) = self.take_turn(id, topic, left, &mut room_bytes) {
                    left -= turn.claim.jobs;
                    turns.push(turn);
                }
            }
        }
        turns
    }

    fn take_turn(
        &mut self,
        id: WaiterId,
        topic: TopicId,
        left: u64,
        room_bytes: &mut impl FnMut(ConnectionId) -> u64,
    ) -> Option<PendingReserve> {
        self.leave_lines(id);
        let waiter = self.all.get_mut(&id)?;
        let room_bytes = Some(room_bytes(waiter.asker.connection)).filter(|bytes| *bytes > 0)?;
        waiter.reserving = true;
        let (jobs_max, bytes_max) = match waiter.demand {
            Demand::Poll { jobs_max, .. } => (jobs_max, RESERVE_BYTES_MAX),
            Demand::Subscription { jobs, bytes } => (
                u32::try_from(jobs.max(0)).unwrap_or(u32::MAX).min(RESERVE_JOBS_MAX),
                u64::try_from(bytes).unwrap_or(0).min(RESERVE_BYTES_MAX),
            ),
        };
        let claim = Claim { session: waiter.session, topic, jobs: left.min(u64::from(jobs_max)) };
        *self.claims.entry(topic).or_default() += claim.jobs;
        *self.reserves.entry(claim.session).or_default() += 1;
        let (session, topics) = (waiter.session, waiter.topics.clone());
        let (bytes_max, weighed) = (bytes_max.min(room_bytes), self.weighed(id));
        Some(PendingReserve { waiter: id, session, topics, jobs_max, bytes_max, claim, weighed })
    }

    /// Ends a reserve in flight: removes its claim.
    pub(super) fn turn_over(&mut self, id: WaiterId, claim: Claim) {
        if let Some(claimed) = self.claims.get_mut(&claim.topic) {
            *claimed = claimed.saturating_sub(claim.jobs);
            if *claimed == 0 {
                self.claims.remove(&claim.topic);
            }
        }
        if let Some(reserves) = self.reserves.get_mut(&claim.session) {
            *reserves = reserves.saturating_sub(1);
            if *reserves == 0 {
                self.reserves.remove(&claim.session);
            }
        }
        if let Some(waiter) = self.all.get_mut(&id) {
            waiter.reserving = false;
        }
    }

    /// True if a reserve of this session is in flight, so that its grants are not known yet.
    pub(super) fn is_reserving(&self, session: SessionId) -> bool {
        self.reserves.contains_key(&session)
    }

    /// Counts a lease against a subscription.
    pub(super) fn debit(&mut self, id: WaiterId, lease: Lease, body_bytes: u32) {
        let Some(waiter) = self.all.get_mut(&id) else { return };
        if let Demand::Subscription { jobs, bytes } = &mut waiter.demand {
            *jobs -= 1;
            *bytes -= i64::from(body_bytes);
            self.held.insert(lease, (id, body_bytes));
        }
    }

    /// Returns the credit of a lease that has ended to its subscription.
    pub(super) fn lease_over(&mut self, lease: Lease) {
        if let Some((id, body_bytes)) = self.held.remove(&lease) {
            self.add_credit(id, 1, i64::from(body_bytes));
        }
    }

    /// Adds credit to a subscription.
    pub(super) fn add_credit(&mut self, id: WaiterId, more_jobs: i64, more_bytes: i64) {
        let Some(waiter) = self.all.get_mut(&id) else { return };
        if let Demand::Subscription { jobs, bytes } = &mut waiter.demand {
            *jobs = jobs.saturating_add(more_jobs);
            *bytes = bytes.saturating_add(more_bytes);
        }
        self.line_up(id);
    }

    /// Puts a waiter at the end of its lines, if it can take a job and is not in them.
    pub(super) fn line_up(&mut self, id: WaiterId) {
        let Some(waiter) = self.all.get_mut(&id) else { return };
        let can_take = match waiter.demand {
            Demand::Poll { .. } => true,
            Demand::Subscription { jobs, bytes } => jobs > 0 && bytes > 0,
        };
        if !can_take || waiter.reserving || waiter.turn.is_some() {
            return;
        }
        self.next += 1;
        waiter.turn = Some(self.next);
        for topic in &waiter.topics {
            self.lines.entry(*topic).or_default().insert(self.next, id);
        }
    }

    /// Removes the long polls whose wait is over and that have no reserve in flight.
    pub(super) fn take_expired(&mut self, now_us: u64) -> Vec<Waiter> {
        let over: Vec<WaiterId> = self
            .deadlines
            .iter()
            .take_while(|(deadline_us, _)| *deadline_us <= now_us)
            .filter(|(_, id)| self.all.get(id).is_some_and(|waiter| !waiter.reserving))
            .map(|(_, id)| *id)
            .collect();
        over.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// When the next wait ends. A wait that ends while its reserve is in flight is answered with the outcome.
    pub(super) fn next_deadline_us(&self, now_us: u64) -> Option<u64> {
        self.deadlines.range((now_us + 1, WaiterId(0))..).next().map(|(deadline_us, _)| *deadline_us)
    }

    /// Removes all waiters of a connection.
    pub(super) fn take_of(&mut self, connection: ConnectionId) -> Vec<Waiter> {
        self.of(connection).into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Lets the waiters of a connection try again: it may have room.
    pub(crate) fn line_up_all(&mut self, connection: ConnectionId) {
        for id in self.of(connection) {
            self.line_up(id);
        }
    }

    /// The waiters of a connection.
    pub(super) fn of(&self, connection: ConnectionId) -> Vec<WaiterId> {
        let range = (connection, WaiterId(0))..=(connection, WaiterId(u64::MAX));
        self.by_connection.range(range).map(|(_, id)| *id).collect()
    }

    fn leave_lines(&mut self, id: WaiterId) {
        let Some(waiter) = self.all.get_mut(&id) else { return };
        let Some(turn) = waiter.turn.take() else { return };
        for topic in &waiter.topics {
            if let Some(line) = self.lines.get_mut(topic) {
                line.remove(&turn);
                if line.is_empty() {
                    self.lines.remove(topic);
                }
            }
        }
    }
}

/// Counts one waiter less that wants jobs of a topic.
fn want_less(wanted: &mut BTreeMap<TopicId, u32>, topic: TopicId) {
    if let Some(count) = wanted.get_mut(&topic) {
        *count -= 1;
        if *count == 0 {
            wanted.remove(&topic);
        }
    }
}

#[cfg(test)]
mod tests;
