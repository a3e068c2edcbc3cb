//! A node: its disk and its clocks, which stay, and the replica on them, which comes and goes; and its driver, which does
//! what the server's threads do.

use std::collections::{BTreeMap, VecDeque};

use adjourn_protocol::{PushResult, RequestId, Response};
use adjourn_replica::{
    ConnectionId, Input, MemoryAccount, Notice, Now, Output, Replica, ReplicaConfig, WriteBatch,
};
use adjourn_storage::{LogBase, StorageError};
use adjourn_types::{Backoff, BackoffCurve, Millis, RetryDefaults};

use super::checkpoint::Checkpointing;
use super::disk::{Disk, Part};
use super::faults::Fault;
use super::mutants::Mutant;
use super::peers::{Told, client_address, peer_address};
use super::plan::Plan;
use super::random::Random;
use super::seen::{End, NodeId, Seen};
use super::snapshots::Fetch;
use super::time::{MS, SECOND, Us, WallClock};
use super::world::{Event, NODE, World};

/// The watermark is written so long after what it tells of.
const WATERMARK_PAUSE: Us = 100 * MS;
/// A sleeping core wakes up to so much late.
const OVERSLEEP: Us = 100;
/// How long a lost connection's leases are kept.
pub(super) const GRACE_MS: u64 = 3_000;

/// Which cluster it is.
pub(super) const CLUSTER_ID: [u8; 16] = [7; 16];

/// One node.
#[expect(clippy::struct_excessive_bools, reason = "each may be so without the others")]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) disk: Disk,
    pub(super) wall: WallClock,
    pub(super) random: Random,
    pub(super) life: Option<Life>,
    /// How many lives it has had.
    pub(super) lives: u64,
    /// When each entry was proposed.
    pub(super) proposed: BTreeMap<u64, Us>,
    /// Which copy of the data it has.
    pub(super) storage_id: [u8; 16],
    /// What its version can do.
    pub(super) feature_level_max: u32,
    /// Whether the cluster began here.
    pub(super) founder: bool,
    /// It is to be removed, so no fault may strike it.
    pub(super) is_gone: bool,
    /// It has lost its disk, and does not know.
    pub(super) is_wiped: bool,
    /// Its wall clock was set wrong by so much.
    pub(super) set_wrong_ms: i64,
    /// It has no state: it could not read its own.
    pub(super) lost_state: bool,
    /// Of the reads of its folder at the next start this one fails.
    pub(super) fails_to_read: Option<u64>,
    /// Its disk takes so much longer for the next order.
    pub(super) hangs_us: Us,
    /// What it said last when it was asked for all topics, if it says that again.
    pub(super) old_topics: Option<Response>,
}

/// From a start to an end.
pub(super) struct Life {
    pub(super) replica: Replica,
    pub(super) number: u64,
    began: Us,
    /// What the monotonic clock showed when it began.
    base_us: u64,
    pub(super) writes: VecDeque<WriteBatch>,
    pub(super) serving: bool,
    pub(super) stopping: bool,
    /// Whom it is to talk to.
    pub(super) told: Told,
    /// The checkpoint that it fetches.
    pub(super) fetch: Option<Fetch>,
    /// What the last one stands for that it has fetched.
    pub(super) fetched: Option<LogBase>,
    pub(super) checkpointing: Checkpointing,
    turn_at: Option<Us>,
    watermark_lags: bool,
}

impl Node {
    pub(super) fn new(id: NodeId, plan: &Plan, mut random: Random) -> Self {
        let calm = plan.calm;
        let ahead_ms = if calm { 0 } else { random.below(20_000).cast_signed() - 10_000 };
        let drift_ppm = if calm { 0 } else { random.below(400).cast_signed() - 200 };
        // Its rng has another seed for each strike that is tried.
        let seed = plan.strikes.iter().fold(random.next(), |seed, (_, step, _)| seed.rotate_left(9) ^ step);
        let mut disk = Disk::new(seed, plan.mutant);
        for (part, step, fault) in &plan.strikes {
            disk.arm_later(*part, *step, *fault);
        }
        let wall = match plan.cluster {
            None => WallClock::new(ahead_ms, drift_ppm),
            Some(_) => Self::wall_among_others(plan, &mut random),
        };
        Self {
            id,
            disk,
            wall,
            storage_id: random.bytes(),
            random,
            life: None,
            lives: 0,
            feature_level_max: plan.first_feature_level(),
            proposed: BTreeMap::new(),
            founder: id == NODE,
            is_gone: false,
            is_wiped: false,
            set_wrong_ms: 0,
            lost_state: false,
            fails_to_read: None,
            hangs_us: 0,
            old_topics: None,
        }
    }

    pub(super) fn config(&mut self, plan: &Plan) -> ReplicaConfig {
        ReplicaConfig {
            node: self.id,
            cluster_id: CLUSTER_ID,
            storage_id: self.storage_id,
            founder: self.founder,
            peer_address: peer_address(self.id),
            feature_level_max: self.feature_level_max,
            entropy: self.random.bytes(),
            server_name: "simulated".to_owned(),
            client_address: client_address(self.id),
            body_bytes_max: 1 << 20,
            heartbeat_ms: 10_000,
            retry_defaults: retry_defaults(plan.seed ^ self.id),
            session_grace_ms: if plan.mutant == Mutant::GraceForgotten && !self.founder {
                0
            } else {
                GRACE_MS
            },
            zones: adjourn_calendar::ZoneData::bundled(),
            output_bytes_max: plan.output_bytes_max,
            uncommitted_bytes_max: 512 << 10,
            memory_max_bytes: plan.memory_max_bytes,
            memory_account: MemoryAccount::default(),
            checkpoint_log_bytes: plan.checkpoint_log_bytes,
        }
    }
}

/// Those of half the nodes, which end a job soon, or none: among several, those of the leader count.
fn retry_defaults(draw: u64) -> RetryDefaults {
    if draw.is_multiple_of(2) {
        return RetryDefaults::NONE;
    }
    let curve = BackoffCurve::Exponential { first_ms: 20, max_ms: 2_000 };
    RetryDefaults { attempts_max: Some(6), backoff: Some(Backoff { curve, jitter_percent: 20 }) }
}

impl Life {
    pub(super) fn new(replica: Replica, number: u64, now: Us, base_us: u64) -> Self {
        Self {
            replica,
            number,
            began: now,
            base_us,
            writes: VecDeque::new(),
            serving: false,
            stopping: false,
            told: Told::default(),
            fetch: None,
            fetched: None,
            checkpointing: Checkpointing::default(),
            turn_at: None,
            watermark_lags: false,
        }
    }

    /// What the two clocks of the node show.
    pub(super) fn clocks(now: Us, began: Us, base_us: u64, wall: Millis, mutant: Mutant) -> Now {
        let passed = now - began;
        match mutant {
            Mutant::ClockRunsAhead => Now { elapsed_us: base_us + passed + passed / 50, wall },
            Mutant::WallAhead => Now { elapsed_us: base_us + passed, wall: wall.after(60_000) },
            _ => Now { elapsed_us: base_us + passed, wall },
        }
    }
}

impl World {
    pub(super) fn node(&mut self, node: NodeId) -> &mut Node {
        self.nodes.get_mut(&node).expect("nodes are never forgotten")
    }

    /// A node's life, if it is this one.
    pub(super) fn life(&mut self, node: NodeId, life: u64) -> Option<&mut Life> {
        self.node(node).life.as_mut().filter(|found| found.number == life)
    }

    /// Tells a node's replica what happened; its core looks at it soon.
    pub(super) fn hand(&mut self, node: NodeId, input: Input) {
        let clocks = self.clocks(node);
        let pause = self.random.within(self.plan.core_us);
        let Some(life) = self.node(node).life.as_mut() else { return };
        life.replica.handle(clocks, input);
        let number = life.number;
        self.turn_by(node, number, self.now + pause);
    }

    pub(super) fn clocks(&self, node: NodeId) -> Now {
        let node = &self.nodes[&node];
        let unseen = self.plan.mutant == Mutant::SetBackUnseen;
        let wall = if unseen { node.wall.show_most(self.now) } else { node.wall.show(self.now) };
        let (began, base_us) = node.life.as_ref().map_or((self.now, 0), |life| (life.began, life.base_us));
        Life::clocks(self.now, began, base_us, wall, self.plan.mutant)
    }

    pub(super) fn turn_soon(&mut self, node: NodeId) {
        if let Some(number) = self.node(node).life.as_ref().map(|life| life.number) {
            self.turn_by(node, number, self.now);
        }
    }

    pub(super) fn turn_by(&mut self, node: NodeId, life: u64, at: Us) {
        let Some(found) = self.life(node, life) else { return };
        if found.turn_at.is_none_or(|turn_at| at < turn_at) {
            found.turn_at = Some(at);
            self.at(at, Event::Turn { node, life });
        }
    }

    /// The core handles the new events, and does the work that is due.
    pub(super) fn turn(&mut self, node: NodeId, number: u64) {
        let clocks = self.clocks(node);
        let (now, mutant) = (self.now, self.plan.mutant);
        let Some(life) = self.life(node, number).filter(|life| life.turn_at == Some(now)) else { return };
        life.turn_at = None;
        let mut outputs = Vec::new();
        life.replica.poll(clocks, &mut outputs);
        for output in outputs {
            self.output(node, number, output);
        }
        let Some(life) = self.life(node, number) else { return };
        let mut pause = life.replica.next_wake_us().saturating_sub(clocks.elapsed_us);
        if self.holds_back(node) {
            pause = 0;
        }
        let oversleep = match mutant {
            Mutant::Oversleeps => pause / 2 + 30 * MS,
            _ => self.random.below(OVERSLEEP),
        };
        self.see(&Seen::Turned { node, pause });
        self.turn_by(node, number, now + pause + oversleep);
    }

    fn output(&mut self, node: NodeId, life: u64, output: Output) {
        match output {
            Output::Send { connection, responses, .. } => self.said(node, connection, responses),
            Output::Close { connection } => self.close_link(connection),
            Output::Persist(order) => self.ordered(node, life, order),
            Output::Audited(_) => {}
            Output::Notice(notice) => {
                self.see(&Seen::Noticed { node, notice: &notice });
                self.noticed(node, life, &notice);
            }
            Output::Checkpoint(order) => self.checkpoint_ordered(node, life, order),
            Output::Cut { through } => self.cut_ordered(node, life, through),
            Output::Backup { connection, request, backup } => {
                self.backup_ready(node, life, (connection, request), backup);
            }
            Output::Peer { to, bundle } => self.say_to_peer(node, to, bundle),
            Output::Members { members, removed, feature_level } => {
                if let Some(life) = self.life(node, life) {
                    life.told = Told { members, removed, feature_level };
                }
            }
            Output::Probe { address } => self.probe(node, life, address),
            Output::Fetch(wanted) => self.fetch(node, life, wanted),
            Output::FetchSnapshot { from, index } => self.fetch_ordered(node, life, from, index),
            Output::Failed(error @ StorageError::LostAcknowledged { .. }) => {
                self.breaks("acknowledged", format!("node {node} ends: {error}"));
            }
            Output::Failed(_) => {
                let why = self.node(node).disk.why(Part::Chunks);
                self.end(node, why);
            }
            Output::Stopped => {
                let written = self.node(node).disk.write_watermark();
                self.end(node, written.err().unwrap_or(End::Stopped));
            }
        }
    }

    fn noticed(&mut self, node: NodeId, life: u64, notice: &Notice) {
        match notice {
            Notice::Leading { .. } => {
                self.leading = Some(node);
                if let Some(life) = self.life(node, life) {
                    life.serving = true;
                }
            }
            Notice::Following { .. } if self.leading == Some(node) => self.leading = None,
            Notice::StateLost { .. } => self.node(node).lost_state = true,
            _ => {}
        }
    }

    pub(super) fn said(
        &mut self,
        node: NodeId,
        connection: ConnectionId,
        mut responses: Vec<(RequestId, Response)>,
    ) {
        if self.plan.mutant == Mutant::OrderReversed {
            for (_, response) in &mut responses {
                if let Response::Reserved(jobs) | Response::Deliver(jobs) = response {
                    jobs.reverse();
                }
            }
        }
        self.repeat_old(node, &mut responses);
        self.falsify_firings(&mut responses);
        if self.plan.mutant == Mutant::ClockShownBehind {
            for (_, response) in &mut responses {
                if let Response::Pong { clock_ms, .. } = response {
                    *clock_ms = clock_ms.saturating_sub(2_000);
                }
            }
        }
        for (id, response) in &responses {
            self.say(node, connection, *id, response);
        }
        if self.plan.mutant == Mutant::DeliveredTwice {
            self.say_to_another(node, connection, &responses);
        }
        self.send_down(connection, responses);
    }

    fn say(&mut self, node: NodeId, connection: ConnectionId, id: RequestId, response: &Response) {
        match response {
            Response::Welcome(welcome) if welcome.resume().is_some() => {
                self.sessions.retain(|_, session| *session != welcome.session);
                self.sessions.insert(connection, welcome.session);
            }
            Response::Pushed(results) => {
                self.board.jobs.extend(results.iter().filter_map(|result| match result {
                    PushResult::Pushed(job) | PushResult::Replaced(job) | PushResult::Postponed(job) => {
                        Some(*job)
                    }
                    PushResult::Kept(_) | PushResult::Refused(..) => None,
                }));
            }
            Response::Deliver(jobs) | Response::Reserved(jobs)
                if self.plan.mutant == Mutant::FenceIgnored =>
            {
                self.newest.extend(jobs.iter().map(|job| (job.lease.job, job.lease)));
            }
            _ => {}
        }
        let session = self.sessions.get(&connection).copied();
        let stays = matches!(response, Response::Deliver(_) | Response::Subscribed);
        let request = self.asked.remove(&(connection, id));
        self.end_unasked(node, connection, request.as_ref(), response);
        self.see(&Seen::Said { node, connection, session, id, request: request.as_ref(), response });
        if let Some(request) = request.filter(|_| stays) {
            self.asked.insert((connection, id), request);
        }
    }

    fn say_to_another(
        &mut self,
        node: NodeId,
        connection: ConnectionId,
        responses: &[(RequestId, Response)],
    ) {
        let other = self.sessions.keys().copied().find(|other| *other != connection);
        let delivers = |response: &Response| match response {
            Response::Reserved(jobs) | Response::Deliver(jobs) => !jobs.is_empty(),
            _ => false,
        };
        for (id, response) in responses.iter().filter(|(_, response)| delivers(response)) {
            if let Some(other) = other {
                self.say(node, other, *id, response);
                self.send_down(other, vec![(*id, response.clone())]);
            }
        }
    }

    fn ordered(&mut self, node: NodeId, life: u64, order: WriteBatch) {
        self.see(&Seen::Ordered { node, order: &order });
        self.forge_agreement(node, &order);
        let too_soon = self.plan.mutant.reports_too_soon(&order.batch);
        let (now, number) = (self.now, order.number);
        for entry in &order.batch.entries {
            self.node(node).proposed.insert(entry.index, now);
        }
        let Some(found) = self.life(node, life) else { return };
        let is_next = found.writes.is_empty();
        let is_volatile = order.is_volatile;
        found.writes.push_back(order);
        if is_next && is_volatile {
            if self.plan.every_us.crash > 0 && self.random.percent(8) {
                // Before it is written, or soon after it.
                let pause = self.random.below(2 * WATERMARK_PAUSE);
                self.after(pause, Event::Goes(Fault::CrashOf(node)));
            }
            return self.written(node, life);
        }
        if is_next {
            self.write_next(node, life);
        }
        if too_soon {
            self.see(&Seen::Persisted { node, number });
            self.hand(node, Input::Persisted { number });
        }
    }

    fn write_next(&mut self, node: NodeId, life: u64) {
        let mut takes = self.random.within(self.plan.disk_us);
        if !self.plan.calm && self.random.percent(1) {
            takes += self.random.below(SECOND);
        }
        takes += std::mem::take(&mut self.node(node).hangs_us);
        self.after(takes, Event::Written { node, life });
    }

    /// The disk thread has carried out the oldest order.
    pub(super) fn written(&mut self, node: NodeId, number: u64) {
        let Some(order) = self.life(node, number).and_then(|life| life.writes.front().cloned()) else {
            return;
        };
        if order.batch.install.is_some() && self.installs(node) {
            return self.crash(node);
        }
        let disk = &mut self.node(node).disk;
        let done =
            if order.is_volatile { disk.persist_later(&order.batch) } else { disk.persist(&order.batch) };
        if let Err(why) = done {
            return self.end(node, why);
        }
        let Some(life) = self.life(node, number) else { return };
        life.writes.pop_front();
        let more = !life.writes.is_empty();
        if let Some(installed) = order.batch.install {
            self.node(node).lost_state = false;
            self.cut_ordered(node, number, installed);
        }
        let Some(life) = self.life(node, number) else { return };
        if !std::mem::replace(&mut life.watermark_lags, true) {
            self.after(WATERMARK_PAUSE, Event::Watermark { node, life: number });
        }
        if more {
            self.write_next(node, number);
        }
        self.look_after_chores(node, number);
        if !self.plan.mutant.reports_too_soon(&order.batch) {
            self.see(&Seen::Persisted { node, number: order.number });
            self.hand(node, Input::Persisted { number: order.number });
        }
    }

    /// A node is about to install what it has fetched. Returns whether it crashes meanwhile.
    fn installs(&mut self, node: NodeId) -> bool {
        let found = self.node(node);
        let end = found.disk.log_end();
        let theirs = found.life.as_ref().and_then(|life| life.fetched).map(|base| (base.index, base.term));
        self.see(&Seen::Installs { node, agrees: theirs == Some(end) });
        self.plan.every_us.crash > 0 && self.random.percent(30)
    }

    pub(super) fn watermark(&mut self, node: NodeId, number: u64) {
        let Some(life) = self.life(node, number) else { return };
        life.watermark_lags = false;
        match self.node(node).disk.write_watermark() {
            Ok(()) => self.see(&Seen::Flushed { node }),
            Err(why) => self.end(node, why),
        }
    }
}
