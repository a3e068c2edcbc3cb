//! What must hold in every run, whatever goes wrong: a file for each.
//!
//! An invariant sees what can be seen from outside of a node, and keeps books of its own. It never asks the code under
//! test for the right answer.

mod acknowledged;
mod books;
mod bulks;
mod checkpoints;
mod cut_off;
mod due;
mod edits;
mod ended;
mod few_turns;
mod firings;
mod fresh_reads;
mod groups;
mod hardly_late;
mod known;
mod lapse;
mod last_reason;
mod members;
mod never_early;
mod one_leader;
mod one_lease;
mod order;
mod pages;
mod progress;
mod pushed_once;
mod reasons;
mod refusals;
mod remembered;
mod same_log;
mod same_state;
mod settled_once;
mod silence;
mod stop_ends;

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Delivered, Idempotency, Push, Response};
use adjourn_replica::Notice;

use adjourn_storage::{EntryKind, LogEntry};
use adjourn_types::SessionId;

use super::plan::Plan;
use super::seen::{NodeId, Seen, When};
use super::time::{MS, Us};

/// Something that must hold.
pub(super) trait Invariant {
    fn name(&self) -> &'static str;

    /// Takes notice of an event; returns an error if the invariant no longer holds.
    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String>;
}

/// All of them.
pub(super) fn all(plan: &Plan) -> Vec<Box<dyn Invariant + Send>> {
    let groups = (plan.tenants > 0).then(groups::GroupLog::default);
    let mut all: Vec<Box<dyn Invariant + Send>> = vec![
        Box::new(acknowledged::Acknowledged::new(plan.cluster.is_some())),
        Box::new(checkpoints::Checkpoints::default()),
        Box::new(cut_off::CutOff::default()),
        Box::new(edits::Edits::default()),
        Box::new(ended::Ended::default()),
        Box::new(firings::Firings::new(plan.cluster.is_some())),
        Box::new(fresh_reads::FreshReads::default()),
        Box::new(known::Known::default()),
        Box::new(lapse::Lapse::default()),
        Box::new(last_reason::LastReason::new(plan.memory_max_bytes > 0)),
        Box::new(members::Members::default()),
        Box::new(never_early::NeverEarly::new(plan.cluster.is_some())),
        Box::new(one_leader::OneLeader::default()),
        Box::new(one_lease::OneLease::default()),
        Box::new(order::Order::new(plan.every_us.step + plan.every_us.glitch == 0)),
        Box::new(pages::Pages::new(plan.cluster.is_some())),
        Box::new(progress::Progress::new(plan.cluster.is_some())),
        Box::new(pushed_once::PushedOnce::default()),
        Box::new(remembered::Remembered::default()),
        Box::new(refusals::Refusals),
        Box::new(same_log::SameLog::default()),
        Box::new(same_state::SameState::new(groups.clone())),
        Box::new(settled_once::SettledOnce::default()),
        Box::new(silence::Silence::new(plan.cluster.is_some())),
        Box::new(stop_ends::StopEnds::default()),
    ];
    all.extend(groups.iter().flat_map(groups::all));
    if plan.cluster.is_none() {
        all.push(Box::new(few_turns::FewTurns::default()));
    }
    if plan.calm {
        all.push(Box::new(hardly_late::HardlyLate::new(plan.checkpoint_log_bytes)));
    }
    all
}

/// Whether an entry is for the engine: not the empty one of a new leader, nor a change of membership.
pub(super) fn has_commands(entry: &LogEntry) -> bool {
    entry.kind == EntryKind::Normal && !entry.data.is_empty()
}

/// What a job of a push is known by when it is pushed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum JobIdentity {
    Numbered(SessionId, u64),
    Keyed(u128),
}

impl JobIdentity {
    /// That of a push's nth job, if it has one.
    fn of(session: Option<SessionId>, push: &Push, nth: u64) -> Option<Self> {
        match (push.idempotency, session) {
            (Some(Idempotency { key, .. }), _) => Some(Self::Keyed(key.get() + u128::from(nth))),
            (None, Some(session)) if push.sequence > 0 => Some(Self::Numbered(session, push.sequence + nth)),
            _ => None,
        }
    }
}

/// The jobs that an answer delivers.
fn delivered(response: &Response) -> &[Delivered] {
    match response {
        Response::Reserved(jobs) | Response::Deliver(jobs) => jobs,
        _ => &[],
    }
}

/// The jobs that an answer shows to their holder, for the first time or again.
fn shown(response: &Response) -> &[Delivered] {
    match response {
        Response::Leased(page) => &page.jobs,
        _ => delivered(response),
    }
}

/// Who leads, as far as can be seen: the last one to say so in the newest term.
#[derive(Debug, Default)]
struct Leading {
    term: u64,
    node: Option<NodeId>,
}

impl Leading {
    fn see(&mut self, seen: &Seen<'_>) {
        match seen {
            Seen::Noticed { node, notice: Notice::Leading { term } } if *term > self.term => {
                (self.term, self.node) = (*term, Some(*node));
            }
            Seen::Noticed { node, notice: Notice::Following { .. } } | Seen::Ended { node, .. }
                if self.node == Some(*node) =>
            {
                self.node = None;
            }
            _ => {}
        }
    }

    /// Whether somebody else took over from this node, which may not know yet.
    fn was_followed(&self, node: NodeId) -> bool {
        self.node.is_some_and(|leader| leader != node)
    }
}

/// How far the stamp may have jumped ahead of true time, and when: the change of most nodes' clocks while they were
/// unwatched, as seen by a node that leads and has followed no leader since its start.
#[derive(Debug, Default)]
struct Jumps {
    seen: Vec<(Us, Us)>,
    /// What each node may bring that has neither led nor followed yet.
    started: BTreeMap<NodeId, Us>,
    /// Nodes that have lost their states, and have not led since: they tell no time.
    without_state: BTreeSet<NodeId>,
}

impl Jumps {
    fn see(&mut self, when: When, seen: &Seen<'_>) {
        match seen {
            Seen::Started { node, jumped_us, .. } => {
                self.started.insert(*node, *jumped_us);
                self.without_state.remove(node);
            }
            Seen::Set { by_ms, .. } => {
                let by_us = u64::try_from(*by_ms).unwrap_or(0) * MS;
                self.started.values_mut().for_each(|jumped_us| *jumped_us += by_us);
            }
            Seen::Noticed { node, notice: Notice::StateLost { .. } } => _ = self.without_state.insert(*node),
            Seen::Noticed { notice: Notice::Follows { leader }, .. }
                if self.without_state.contains(leader) => {}
            Seen::Noticed { node, notice: Notice::Follows { leader } } => {
                self.started.remove(node);
                self.led_by(when.at, *leader);
            }
            Seen::Noticed { node, notice: Notice::Leading { .. } } => {
                self.without_state.remove(node);
                self.led_by(when.at, *node);
            }
            _ => {}
        }
    }

    /// Others go by this node's stamp, perhaps before it serves.
    fn led_by(&mut self, at: Us, node: NodeId) {
        let jumped_us = self.started.remove(&node).filter(|jumped_us| *jumped_us > 0);
        self.seen.extend(jumped_us.map(|jumped_us| (at, jumped_us)));
    }

    /// How much longer than in true time it may be, by the stamp, since then: the jumps, and what the stamp is slewed by.
    fn ahead_since(&self, since: Us, now: Us) -> Us {
        let jumped: Us =
            self.seen.iter().filter(|(at, _)| *at >= since).map(|(_, jumped_us)| *jumped_us).sum();
        jumped + now.saturating_sub(since) / 2000 + 1
    }
}
