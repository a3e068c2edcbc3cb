//! What goes wrong, and how a node comes back from it.

use std::cell::RefCell;

use adjourn_engine::{Command, Entry};
use adjourn_replica::{ConnectionId, Input, Replica};
use adjourn_storage::{LogBase, LogEntry, PersistBatch, Recovered, Restored, Vote, folder};

use super::clients::Wish;
use super::cluster::ClusterPlan;
use super::disk::{Found, NoStart, Part};
use super::invariants::has_commands;
use super::mutants::Mutant;
use super::node::Life;
use super::plan::{MEMORY_BYTES, Pace};
use super::seen::{End, NodeId, Seen};
use super::time::{HOUR, MS, SECOND, Us};
use super::world::{Event, World};

/// What a process takes of memory when nothing is the matter, in bytes.
pub(super) const RESIDENT_BYTES: u64 = 8 << 20;

/// A fault that may come again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Crash,
    /// A crash of this node.
    CrashOf(NodeId),
    Stop,
    DiskFailure,
    /// Of the folder of checkpoints.
    FolderFailure,
    /// A member that starts cannot read its state.
    StateLost,
    DiskLow,
    DiskHasSpace(NodeId),
    Cut,
    Step,
    /// All wall clocks are ahead for a moment.
    Glitch,
    /// They were ahead by this, in milliseconds.
    GlitchEnds(i64),
    Partition,
    PeerLost,
    Slow,
    DiskHangs,
    Transfer,
    Replace,
    Upgrade,
    MemoryShort,
    MemoryFree(NodeId),
    Night,
}

impl World {
    /// The first of each fault that is planned.
    pub(super) fn plan_faults(&mut self) {
        use Fault::{
            Crash, Cut, DiskFailure, DiskHangs, DiskLow, FolderFailure, Glitch, MemoryShort, Night,
            Partition, PeerLost, Replace, Slow, StateLost, Step, Stop, Transfer, Upgrade,
        };
        let begins = self.plan.cluster.as_ref().map_or(0, ClusterPlan::begins);
        for fault in [Crash, Stop, DiskFailure, FolderFailure, DiskLow, Cut, Step, MemoryShort, Night] {
            self.plan_next(fault, begins);
        }
        for fault in [Partition, PeerLost, Slow, StateLost, DiskHangs, Transfer, Replace, Upgrade, Glitch] {
            self.plan_next(fault, begins);
        }
    }

    fn plan_next(&mut self, fault: Fault, begins: Us) {
        let every_us = self.plan.every_us;
        let pause = match fault {
            Fault::Crash => every_us.crash,
            Fault::Stop => every_us.stop,
            Fault::DiskFailure => every_us.disk_failure,
            Fault::FolderFailure => every_us.folder_failure,
            Fault::StateLost => every_us.state_lost,
            Fault::DiskLow => every_us.disk_low,
            Fault::CrashOf(_) | Fault::DiskHasSpace(_) | Fault::MemoryFree(_) | Fault::GlitchEnds(_) => 0,
            Fault::Cut => every_us.cut,
            Fault::Step => every_us.step,
            Fault::Glitch => every_us.glitch,
            Fault::Partition => every_us.partition,
            Fault::PeerLost => every_us.peer_lost,
            Fault::Slow => every_us.slow,
            Fault::DiskHangs => every_us.disk_hangs,
            Fault::Transfer => every_us.transfer,
            Fault::Replace => every_us.replace,
            Fault::Upgrade => every_us.upgrade,
            Fault::MemoryShort => every_us.memory_short,
            Fault::Night => every_us.night,
        };
        if pause > 0 {
            let pause = self.random.within((pause / 3, pause * 2));
            self.after(begins + pause, Event::Goes(fault));
        }
    }

    pub(super) fn go(&mut self, fault: Fault) {
        if self.part.is_some() {
            return;
        }
        self.plan_next(fault, 0);
        let node = self.any_node();
        match fault {
            Fault::Crash => self.crash(node),
            Fault::CrashOf(node) => self.crash(node),
            Fault::Stop => self.stop(node),
            Fault::DiskFailure => {
                let disk = &mut self.node(node).disk;
                disk.arm(Part::Log, disk.steps(Part::Log), folder::Fault::Failure);
            }
            Fault::FolderFailure => {
                let (steps, reads) = (self.random.below(20), self.random.percent(30));
                let fault = *self.random.pick(&[
                    folder::Fault::Failure,
                    folder::Fault::Full,
                    folder::Fault::PowerCut,
                ]);
                let disk = &mut self.node(node).disk;
                if reads {
                    disk.arm_read(steps);
                } else {
                    disk.arm(Part::Chunks, disk.steps(Part::Chunks) + steps, fault);
                }
            }
            Fault::StateLost => self.lose_state(node),
            Fault::DiskLow => {
                self.hand(node, Input::DiskLow(true));
                let pause = self.random.within((100 * MS, 2 * SECOND));
                self.after(pause, Event::Goes(Fault::DiskHasSpace(node)));
            }
            Fault::DiskHasSpace(node) => self.hand(node, Input::DiskLow(false)),
            Fault::Cut => {
                let open: Vec<ConnectionId> = self
                    .links
                    .iter()
                    .filter(|(_, link)| link.node_open && !link.broken)
                    .map(|(id, _)| *id)
                    .collect();
                if !open.is_empty() {
                    let link = *self.random.pick(&open);
                    self.break_link(link);
                }
            }
            Fault::Step if self.plan.cluster.is_some() => self.step_one_of_many(),
            Fault::Step => self.step(node),
            Fault::Glitch => self.glitch(),
            Fault::GlitchEnds(ahead_ms) => self.set_all_clocks(-ahead_ms),
            Fault::Partition => self.partition(),
            Fault::PeerLost => self.lose_peer(),
            Fault::Slow => self.slow_down(),
            Fault::DiskHangs if self.has_grown() => {
                self.node(node).hangs_us = self.random.within((3 * SECOND, 12 * SECOND));
            }
            Fault::DiskHangs => {}
            Fault::Transfer => self.board.wishes.push(Wish::Transfer),
            Fault::Replace => self.replace(),
            Fault::Upgrade => self.upgrade(),
            Fault::MemoryShort => self.memory_short(node),
            Fault::MemoryFree(node) => self.hand(node, Input::Memory { resident_bytes: RESIDENT_BYTES }),
            Fault::Night => self.night(),
        }
    }

    /// A process takes so much memory that a few pushes are too much, or one.
    fn memory_short(&mut self, node: NodeId) {
        let left = self.random.below(MEMORY_BYTES / 2);
        self.hand(node, Input::Memory { resident_bytes: MEMORY_BYTES - left });
        let pause = self.random.within((100 * MS, 2 * SECOND));
        self.after(pause, Event::Goes(Fault::MemoryFree(node)));
    }

    /// All nodes go down, and nothing happens for most of an hour, or for some.
    fn night(&mut self) {
        if !self.has_grown() {
            return;
        }
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.crash(node);
        }
        let lasts = self.random.within((HOUR / 3, 3 * HOUR));
        self.postpone(lasts);
    }

    /// Nothing goes wrong any more.
    pub(super) fn heal(&mut self) {
        self.plan.heal();
        self.links.values_mut().for_each(|link| link.slow_us = 0);
        self.heal_cluster();
    }

    fn step(&mut self, node: NodeId) {
        let size_ms = match self.plan.pace {
            Pace::Usual | Pace::Nights => {
                *self.random.pick(&[5, 300, 900, 1_500, 60_000, 7_200_000, 3 * 86_400_000])
            }
            Pace::Slow => *self.random.pick(&[900, 60_000, 1_800_000, 3_600_000, 7_200_000, 20 * 3_600_000]),
        };
        let by_ms = if self.random.percent(50) { size_ms } else { -size_ms };
        let drift_ppm = self.random.below(400).cast_signed() - 200;
        let now = self.now;
        self.see(&Seen::Set { node, by_ms });
        let wall = &mut self.node(node).wall;
        wall.step(now, by_ms);
        wall.drift(now, drift_ppm);
    }

    /// All wall clocks are set forward, by seconds or by days, and back within seconds. In between jobs come due that are not.
    fn glitch(&mut self) {
        let ahead_ms = *self.random.pick(&[4_000, 30_000, 7_200_000, 3 * 86_400_000]);
        self.set_all_clocks(ahead_ms);
        let lasts = self.random.within((100 * MS, 5 * SECOND));
        self.after(lasts, Event::Goes(Fault::GlitchEnds(ahead_ms)));
    }

    /// The power fails or the process is killed, perhaps while it writes.
    pub(super) fn crash(&mut self, node: NodeId) {
        let Some(order) = self.nodes[&node].life.as_ref().map(|life| life.writes.front().cloned()) else {
            return;
        };
        if let Some(order) = order.filter(|_| self.random.percent(60)) {
            // An install happens in the folders, for the most part.
            let in_folders = order.batch.install.is_some() && self.random.percent(70);
            let (part, steps_max) = if in_folders { (Part::Chunks, 12) } else { (Part::Log, 5) };
            let steps = self.random.below(steps_max);
            let disk = &mut self.node(node).disk;
            disk.arm(part, disk.steps(part) + steps, folder::Fault::PowerCut);
            // Whether it got to its end is for the next start to find out.
            let _ = disk.persist(&order.batch);
        }
        self.interrupt_checkpoint(node);
        let why = if self.random.percent(70) { End::PowerCut } else { End::Killed };
        self.end(node, why);
    }

    fn stop(&mut self, node: NodeId) {
        let among_others = self.plan.cluster.is_some();
        let life =
            self.node(node).life.as_mut().filter(|life| (life.serving || among_others) && !life.stopping);
        if let Some(life) = life {
            life.stopping = true;
            self.see(&Seen::Stops { node });
            self.hand(node, Input::Stop);
        }
    }

    /// A node is gone; it comes back after a while.
    pub(super) fn end(&mut self, node: NodeId, why: End) {
        let of_node = self.links.iter().filter(|(_, link)| link.node_open && link.node == node);
        let open: Vec<ConnectionId> = of_node.map(|(id, _)| *id).collect();
        self.see(&Seen::Ended { node, why, connections: &open });
        self.node(node).life = None;
        self.node(node).disk.close(why);
        self.leading = self.leading.filter(|leader| *leader != node);
        self.leave_peers(node, why);
        self.asked.retain(|(connection, _), _| !open.contains(connection));
        for id in open {
            self.sessions.remove(&id);
            let lost = why == End::PowerCut && self.random.percent(50);
            let is_caller = self.clients[self.links[&id].client].has_volatile_leases();
            let link = self.link(id);
            link.node_open = false;
            // A port is in the process.
            link.broken |= lost || is_caller;
            let notices = self.random.below(500 * MS);
            self.after(notices, Event::ClientSeesEnd { link: id });
        }
        let pause = if self.random.percent(70) { (MS, 300 * MS) } else { (SECOND, 8 * SECOND) };
        let long = self.plan.pace == Pace::Slow && why != End::DiskFailed && self.random.percent(15);
        let mut pause = self.random.within(if long { (HOUR / 2, 20 * HOUR) } else { pause });
        if long && self.now + pause > self.plan.turmoil_us {
            pause = SECOND;
        }
        self.after(pause, Event::Starts { node });
    }

    pub(super) fn start(&mut self, id: NodeId) {
        let (now, mutant, plan) = (self.now, self.plan.mutant, self.plan.clone());
        let most = self.plan.cluster.as_ref().map(|_| self.believable_wall());
        let node = self.node(id);
        if node.life.is_some() || (node.is_gone && !node.is_wiped) {
            return;
        }
        if let Some(reads) = node.fails_to_read.take() {
            node.disk.arm_read(reads);
        }
        let Found { restored, mut recovered, mut log } = match node.disk.open() {
            Ok(found) => found,
            Err(NoStart::Ends(why)) => return self.end(id, why),
            Err(NoStart::Refused(refused)) => {
                return self.breaks("starts", format!("the start is refused: {refused}"));
            }
        };
        let base = restored.as_ref().map(|restored| restored.base);
        if node.lives > 0 {
            let mut ended = None;
            spoil(mutant, base, &mut recovered, &mut log, |batch| {
                ended = ended.take().or(node.disk.persist(batch).err());
            });
            // The power may fail while the mutant writes.
            if let Some(why) = ended {
                return self.end(id, why);
            }
        }
        node.lives += 1;
        node.lost_state = restored.as_ref().is_some_and(|restored| restored.lost.is_some());
        let number = node.lives;
        let wall = node.wall.show(now);
        let last_us = node.proposed.get(&recovered.last_index).copied().unwrap_or(now);
        let clock =
            restored.as_ref().map(|Restored { engine, .. }| (engine.stamp().0, engine.clock_offset_ms()));
        let seen = most.unwrap_or(wall).0;
        let jumped_us = jumped(clock.unwrap_or_default(), &log, seen, now.saturating_sub(last_us));
        let base_us = node.random.below(100 * SECOND);
        let (config, chunks) = (node.config(&plan), node.disk.chunks.clone());
        let feature_level_max = config.feature_level_max;
        let restored = restored.map(RefCell::new);
        self.see(&Seen::Started {
            node: id,
            recovered: &recovered,
            restored: restored.as_ref(),
            log: &log,
            chunks: &chunks,
            jumped_us,
            feature_level_max,
        });
        let mut recovery = Replica::recover(config, recovered, restored.map(RefCell::into_inner));
        for entry in &log {
            if let Err(refused) = recovery.replay(entry.clone()) {
                return self.breaks("starts", format!("the log cannot be replayed: {refused}"));
            }
        }
        let replica = recovery.start(Life::clocks(now, now, base_us, wall, mutant));
        self.node(id).life = Some(Life::new(replica, number, now, base_us));
        self.audit(id);
        self.turn_by(id, number, now);
    }
}

/// Corrupts the data that a start finds, if the mutant says so.
fn spoil(
    mutant: Mutant,
    base: Option<LogBase>,
    recovered: &mut Recovered,
    log: &mut Vec<LogEntry>,
    mut write: impl FnMut(&PersistBatch),
) {
    match mutant {
        Mutant::LastEntryLost => {
            log.pop();
        }
        Mutant::EntryTwice => {
            let pushes = |entry: &&LogEntry| {
                commands(entry).iter().any(|command| matches!(command, Command::Push { .. }))
            };
            if let (Some(entry), Some(last)) = (log.iter().rfind(pushes).cloned(), log.last()) {
                let again = LogEntry { index: last.index + 1, term: last.term, ..entry };
                write(&PersistBatch { entries: vec![again.clone()], ..PersistBatch::default() });
                log.push(again);
            }
        }
        Mutant::VoteForgotten => recovered.vote = Vote::default(),
        Mutant::CommitAhead => {
            recovered.commit = log.last().map_or(recovered.commit, |entry| entry.index);
            return;
        }
        _ => return,
    }
    let base = base.map_or((0, 0), |base| (base.index, base.term));
    (recovered.last_index, recovered.last_term) = log.last().map_or(base, |entry| (entry.index, entry.term));
    recovered.commit = recovered.commit.min(recovered.last_index);
}

fn commands(entry: &LogEntry) -> Vec<Command<'_>> {
    if !has_commands(entry) {
        return Vec::new();
    }
    Entry::decode(&entry.data).expect("what was written can be read").commands
}

/// How far the stamp may jump ahead of true time after a start. No node watched the wall clocks, which show `wall_ms`, since
/// the last entry, which was proposed `passed_us` ago. A checkpoint gives stamp and offset at which the log begins.
fn jumped((mut stamp_ms, mut offset_ms): (u64, i64), log: &[LogEntry], wall_ms: u64, passed_us: Us) -> Us {
    for entry in log.iter().filter(|entry| has_commands(entry)) {
        let decoded = Entry::decode(&entry.data).expect("what was written can be read");
        stamp_ms = decoded.stamp.0.max(stamp_ms);
        for command in decoded.commands {
            if let Command::ClockOffset { offset_ms: set_ms } = command {
                offset_ms = set_ms;
            }
        }
    }
    if stamp_ms == 0 {
        return 0;
    }
    let starts_us = wall_ms.saturating_add_signed(-offset_ms).max(stamp_ms) * 1000;
    starts_us.saturating_sub(stamp_ms * 1000 + passed_us)
}
