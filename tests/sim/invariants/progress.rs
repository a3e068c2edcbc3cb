//! Every request is answered in time while its connection lasts; and when everything has healed, due jobs are
//! delivered and finished.
//!
//! A client that reads slowly may ask for more than it reads: there each answer is in time after those before it.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{JobReport, Request, RequestId, Response};
use adjourn_replica::ConnectionId;
use adjourn_types::JobState;

use super::super::seen::{NodeId, Seen, When};
use super::super::time::{MS, SECOND, Us};
use super::due::AGREED_MS;
use super::{Invariant, Leading};

/// The longest time for an answer, beyond the requested wait: the slowest disk, some times in a row.
const ANSWER_MAX: Us = 10 * SECOND;
/// A leader whose disk hangs hands over, but to no member with a wrong clock: then answers wait until its disk is back. That takes so
/// long at most.
const HANGS_MAX: Us = 12 * SECOND;
/// A backup waits for a checkpoint of its own, and for those before it.
const BACKUP_MS: u64 = 60_000;
/// Work that was begun when everything healed is over by then.
const OVER_AFTER: Us = 70 * SECOND;
/// A job that came due so shortly before it is looked at may still be on its way.
const ON_ITS_WAY_MS: u64 = 5_000;

/// The longest time without a leader after everything has healed: a node may be down for 8 s, and needs some elections.
const LEADER_AFTER: Us = 16 * SECOND;

#[derive(Debug, Default)]
pub(super) struct Progress {
    open: BTreeMap<(ConnectionId, RequestId), Us>,
    deadlines: BTreeSet<(Us, ConnectionId, RequestId)>,
    /// Connections whose clients read slowly.
    slow: BTreeSet<ConnectionId>,
    healed: Option<Us>,
    among_others: bool,
    leading: Leading,
    /// Since when there is no leader.
    leaderless: Us,
    /// How far each clock was set ahead, in milliseconds.
    ahead_ms: BTreeMap<NodeId, i64>,
    /// When the members' clocks disagreed last.
    disagreed: Option<Us>,
}

impl Progress {
    pub(super) fn new(among_others: bool) -> Self {
        Self { among_others, ..Self::default() }
    }

    /// With a majority up and connected, somebody leads soon.
    fn leads(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.leading.see(seen);
        if self.leading.node.is_some() || !self.among_others {
            self.leaderless = when.at;
        }
        let Some(healed) = self.healed.filter(|_| matches!(seen, Seen::Turned { .. })) else { return Ok(()) };
        let since = healed.max(self.leaderless);
        if when.at > since + LEADER_AFTER {
            return Err(format!("nobody leads for {} us", when.at - since));
        }
        Ok(())
    }

    /// How much longer answers may take, as some members could not lead.
    fn excuse(&mut self, now: Us) -> Us {
        let ahead = || self.ahead_ms.values().copied();
        if self.among_others && ahead().max() > ahead().min().map(|least| least + AGREED_MS.cast_signed()) {
            self.disagreed = Some(now);
        }
        let is_recent = self.disagreed.is_some_and(|at| now < at + ANSWER_MAX + HANGS_MAX);
        if is_recent { HANGS_MAX } else { 0 }
    }

    fn gone(&mut self, connection: ConnectionId) {
        let range = (connection, RequestId(0))..=(connection, RequestId(u32::MAX));
        let gone: Vec<RequestId> = self.open.range(range).map(|((_, id), _)| *id).collect();
        for id in gone {
            self.answered(connection, id);
        }
    }

    fn answered(&mut self, connection: ConnectionId, id: RequestId) {
        if let Some(deadline) = self.open.remove(&(connection, id)) {
            self.deadlines.remove(&(deadline, connection, id));
        }
    }

    /// A request was answered at `at`. Later requests on the same connection have time from then on.
    fn extend(&mut self, at: Us, connection: ConnectionId, id: RequestId) {
        let later = (connection, RequestId(id.0.saturating_add(1)))..=(connection, RequestId(u32::MAX));
        for ((_, id), deadline) in self.open.range_mut(later) {
            self.deadlines.remove(&(*deadline, connection, *id));
            *deadline = (at + ANSWER_MAX).max(*deadline);
            self.deadlines.insert((*deadline, connection, *id));
        }
    }
}

/// Whose delivery was lost with its leader stays leased until its ttr is over, and so may the one after it.
fn leased_ms(report: &JobReport) -> u64 {
    match report.state {
        Some(JobState::Reserved) => u64::from(report.attempts) * u64::from(report.ttr_ms),
        _ => 0,
    }
}

/// A job that has expired by the wall clock is not delivered. It is there until that time has come for sure.
fn may_be_held(when: When, report: &JobReport) -> bool {
    let expires = report.attributes.policy().expires;
    matches!(expires, Some(adjourn_types::When::At(at)) if at <= when.wall.after(ON_ITS_WAY_MS))
}

impl Invariant for Progress {
    fn name(&self) -> &'static str {
        "progress"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.leads(when, seen)?;
        match seen {
            Seen::Asked { connection, id, request, .. } => {
                let wait_ms = match request {
                    Request::Reserve(reserve) => reserve.wait_ms,
                    Request::BackupBegin => BACKUP_MS,
                    _ => 0,
                };
                let deadline = when.at + wait_ms * MS + ANSWER_MAX;
                self.open.insert((*connection, *id), deadline);
                self.deadlines.insert((deadline, *connection, *id));
            }
            Seen::Said { connection, id, response, .. } => {
                self.answered(*connection, *id);
                if self.slow.contains(connection) && *id != RequestId(0) {
                    self.extend(when.at, *connection, *id);
                }
                if let Response::Job(report) = response
                    && self.healed.is_some_and(|healed| when.at > healed + OVER_AFTER)
                    && !matches!(report.state, Some(JobState::Buried | JobState::Finished))
                    && !may_be_held(when, report)
                    && report.due.after(ON_ITS_WAY_MS + leased_ms(report)) < when.wall
                {
                    let (id, due, state) = (report.id, report.due, report.state);
                    return Err(format!("job {id} was due at {due} and is {state:?} at {}", when.wall));
                }
            }
            Seen::Gone { connection, .. } => self.gone(*connection),
            Seen::Ended { connections, .. } => {
                connections.iter().for_each(|connection| self.gone(*connection));
            }
            Seen::Set { node, by_ms } => *self.ahead_ms.entry(*node).or_default() += by_ms,
            Seen::Turned { node, .. } => {
                self.ahead_ms.entry(*node).or_default();
                let excuse = self.excuse(when.at);
                if let Some((deadline, connection, id)) =
                    self.deadlines.first().filter(|(at, ..)| *at + excuse < when.at)
                {
                    let late = when.at - deadline;
                    return Err(format!(
                        "request {}.{} has no answer, {late} us after its time",
                        connection.0, id.0
                    ));
                }
            }
            Seen::Connected { connection, slow: true, .. } => _ = self.slow.insert(*connection),
            Seen::Healed => self.healed = Some(when.at),
            _ => {}
        }
        Ok(())
    }
}
