//! A node's checkpoint thread, and what its disk thread does for it: in virtual time, a step at a time, so that anything
//! can happen between two of them.

use std::collections::VecDeque;
use std::sync::Arc;

use adjourn_replica::{CheckpointOrder, Input};
use adjourn_storage::chunks::{self, Manifest};
use adjourn_storage::{
    BackupOrigin, CheckpointJobs, CheckpointWriter, Fault, LogBase, PinnedBackup, SealedCheckpoint,
    StorageError,
};

use super::chores::ChoreThread;
use super::chunks::Chunks;
use super::disk::Part;
use super::mutants::Mutant;
use super::node::CLUSTER_ID;
use super::seen::{NodeId, Seen};
use super::time::{MS, Us};
use super::world::{Event, World, true_wall};

/// Checkpointed records are evicted from memory by then.
const AUDIT_AFTER: Us = 20 * MS;

/// The thread's own state, and what waits for it.
#[derive(Default)]
pub(super) struct Checkpointing {
    inputs: VecDeque<Step>,
    under_way: Option<UnderWay>,
    /// What of the log is to go.
    cut_through: Option<u64>,
    pub(super) chores: ChoreThread,
}

/// What the thread is told.
enum Step {
    Order(CheckpointOrder),
    Base(LogBase),
}

struct UnderWay {
    index: u64,
    pin: bool,
    writer: CheckpointWriter<Chunks>,
    base: Option<LogBase>,
    complete: bool,
}

impl UnderWay {
    /// What the disk thread says of the log's entry, unless it is for a checkpoint that was given up.
    fn take(&mut self, base: LogBase) {
        if base.index == self.index {
            self.base = Some(base);
        }
    }
}

impl World {
    pub(super) fn checkpoint_ordered(&mut self, node: NodeId, life: u64, mut order: CheckpointOrder) {
        match (self.plan.mutant, &mut order) {
            (Mutant::JobsNotCaptured, CheckpointOrder::Jobs(jobs)) => *jobs = CheckpointJobs::default(),
            (Mutant::CutTooSoon, CheckpointOrder::Begin(begin)) => {
                self.cut_ordered(node, life, begin.index);
            }
            _ => {}
        }
        if let CheckpointOrder::Begin(begin) = &order {
            self.see(&Seen::CheckpointBegins { node, begin });
        }
        self.checkpoint_input(node, life, Step::Order(order));
    }

    pub(super) fn cut_ordered(&mut self, node: NodeId, life: u64, through: u64) {
        let pause = self.random.within(self.plan.disk_us);
        let Some(found) = self.life(node, life) else { return };
        if found.checkpointing.cut_through.replace(through).is_none() {
            self.after(pause, Event::Cuts { node, life });
        }
    }

    /// The checkpoint thread takes what it was told next.
    pub(super) fn checkpoint_step(&mut self, node: NodeId, life: u64) {
        let Some(found) = self.life(node, life) else { return };
        let Some(step) = found.checkpointing.inputs.pop_front() else { return };
        let more = !found.checkpointing.inputs.is_empty();
        if self.checkpoint_does(node, life, step).is_err() {
            let why = self.node(node).disk.why(Part::Chunks);
            return self.end(node, why);
        }
        if more {
            self.next_checkpoint_step(node, life);
        }
    }

    /// Compares all of the state with itself, and with the log.
    pub(super) fn audit(&mut self, node: NodeId) {
        let found = self.node(node);
        if found.disk.may_fail_to_read() {
            // The audit would meet the read fault that is meant for the node.
            return;
        }
        let Some(life) = found.life.as_mut() else { return };
        let Some((index, state_hash)) = life.replica.audit() else { return };
        self.see(&Seen::Audited { node, index, state_hash });
    }

    /// The disk thread says where the log stands at an entry.
    pub(super) fn base_asked(&mut self, node: NodeId, life: u64, index: u64) {
        if self.life(node, life).is_none() {
            return;
        }
        match self.node(node).disk.base_at(index) {
            Ok(base) => {
                self.see(&Seen::Flushed { node });
                self.checkpoint_input(node, life, Step::Base(base));
            }
            Err(why) => self.end(node, why),
        }
    }

    /// The disk thread takes away the log's beginning.
    pub(super) fn cuts(&mut self, node: NodeId, life: u64) {
        let Some(through) = self.life(node, life).and_then(|life| life.checkpointing.cut_through) else {
            return;
        };
        let before = self.node(node).disk.steps(Part::Log);
        match self.node(node).disk.cut(through) {
            Ok(()) => {
                let after = self.node(node).disk.steps(Part::Log);
                self.cut_steps.push(before..after);
                self.see(&Seen::Cut { node, through });
                let Some(found) = self.life(node, life) else { return };
                found.checkpointing.cut_through = None;
                self.look_after_chores(node, life);
            }
            Err(why) => self.end(node, why),
        }
    }

    /// The process ends: perhaps in the middle of what its checkpoint thread does, or of a cut.
    pub(super) fn interrupt_checkpoint(&mut self, node: NodeId) {
        if !self.random.percent(60) {
            return;
        }
        let (log_steps, chunks_steps) = (self.random.below(12), self.random.below(20));
        let disk = &mut self.node(node).disk;
        disk.arm(Part::Chunks, disk.steps(Part::Chunks) + chunks_steps, Fault::PowerCut);
        let Some(mut life) = self.node(node).life.take() else { return };
        if let Some(through) = life.checkpointing.cut_through {
            let disk = &mut self.node(node).disk;
            disk.arm(Part::Log, disk.steps(Part::Log) + log_steps, Fault::PowerCut);
            // How far it got is for the next start to find out; and so below.
            let _ = disk.cut(through);
        }
        if let ChoreThread::Busy(chore) = std::mem::take(&mut life.checkpointing.chores) {
            let disk = &mut self.node(node).disk;
            disk.arm(Part::Log, disk.steps(Part::Log) + log_steps, Fault::PowerCut);
            let _ = chore.run();
        }
        let Checkpointing { mut inputs, under_way: Some(mut under_way), .. } =
            std::mem::take(&mut life.checkpointing)
        else {
            return;
        };
        let mut whole = Ok(());
        while let (Ok(()), Some(step)) = (&whole, inputs.pop_front()) {
            match step {
                Step::Order(CheckpointOrder::Sessions(sessions)) => under_way.writer.add_sessions(&sessions),
                Step::Order(CheckpointOrder::Jobs(jobs)) => {
                    whole = under_way.writer.add(&jobs);
                }
                Step::Order(CheckpointOrder::End) => under_way.complete = true,
                Step::Base(base) => under_way.take(base),
                Step::Order(CheckpointOrder::Begin(_) | CheckpointOrder::Abandon) => {}
            }
        }
        if let (Ok(()), true, Some(base)) = (whole, under_way.complete, under_way.base) {
            let _ = under_way.writer.seal(base).and_then(SealedCheckpoint::publish);
        }
    }

    fn checkpoint_input(&mut self, node: NodeId, life: u64, step: Step) {
        let Some(found) = self.life(node, life) else { return };
        found.checkpointing.inputs.push_back(step);
        if found.checkpointing.inputs.len() == 1 {
            self.next_checkpoint_step(node, life);
        }
    }

    fn next_checkpoint_step(&mut self, node: NodeId, life: u64) {
        let takes = self.random.within(self.plan.checkpoint_us);
        self.after(takes, Event::Checkpoints { node, life });
    }

    fn checkpoint_does(&mut self, node: NodeId, life: u64, step: Step) -> Result<(), StorageError> {
        match step {
            Step::Order(CheckpointOrder::Begin(begin)) => {
                let pause = self.random.within(self.plan.disk_us);
                let (index, pin) = (begin.index, begin.pin);
                self.after(pause, Event::BaseAsked { node, life, index });
                let writer = CheckpointWriter::begin(self.node(node).disk.chunks.clone(), *begin);
                let Some(writer) = self.unless_short(node, life, writer)? else { return Ok(()) };
                if let Some(life) = self.life(node, life) {
                    let under_way = UnderWay { index, pin, writer, base: None, complete: false };
                    life.checkpointing.under_way = Some(under_way);
                }
                Ok(())
            }
            Step::Order(CheckpointOrder::Sessions(sessions)) => {
                self.under_way(node, life, |under_way| under_way.writer.add_sessions(&sessions));
                self.hand(node, Input::CheckpointTook);
                Ok(())
            }
            Step::Order(CheckpointOrder::Jobs(jobs)) => {
                let Some(life) = self.life(node, life) else { return Ok(()) };
                let Some(under_way) = &mut life.checkpointing.under_way else { return Ok(()) };
                let number = life.number;
                let added = under_way.writer.add(&jobs);
                self.hand(node, Input::CheckpointTook);
                self.unless_short(node, number, added).map(drop)
            }
            Step::Order(CheckpointOrder::End) => {
                self.under_way(node, life, |under_way| under_way.complete = true);
                self.finish_if_complete(node, life)
            }
            Step::Order(CheckpointOrder::Abandon) => {
                let unfinished =
                    self.life(node, life).is_some_and(|life| life.checkpointing.under_way.is_some());
                if unfinished {
                    self.abandon_checkpoint(node, life, Input::CheckpointAbandoned)
                } else {
                    Ok(())
                }
            }
            Step::Base(base) => {
                self.under_way(node, life, |under_way| under_way.take(base));
                self.finish_if_complete(node, life)
            }
        }
    }

    /// Gives the checkpoint up for this reason, and removes its files.
    fn abandon_checkpoint(&mut self, node: NodeId, life: u64, why: Input) -> Result<(), StorageError> {
        if let Some(life) = self.life(node, life) {
            life.checkpointing.under_way = None;
        }
        let chunks = self.node(node).disk.chunks.clone();
        chunks::remove_unlisted(&chunks, Manifest::read(&chunks)?.as_ref())?;
        self.see(&Seen::CheckpointAbandoned { node });
        self.hand(node, why);
        Ok(())
    }

    /// What came of it, unless the checkpoint was given up because there was no space, or because something cannot be read.
    fn unless_short<T>(
        &mut self,
        node: NodeId,
        life: u64,
        done: Result<T, StorageError>,
    ) -> Result<Option<T>, StorageError> {
        match done {
            Err(error) if error.is_shortage() => {
                self.abandon_checkpoint(node, life, Input::CheckpointAbandoned).map(|()| None)
            }
            Err(error) if error.is_unreadable() => {
                self.abandon_checkpoint(node, life, Input::CheckpointUnreadable(error)).map(|()| None)
            }
            done => done.map(Some),
        }
    }

    fn under_way(&mut self, node: NodeId, life: u64, then: impl FnMut(&mut UnderWay)) {
        let found = self.life(node, life).and_then(|life| life.checkpointing.under_way.as_mut());
        found.into_iter().for_each(then);
    }

    fn finish_if_complete(&mut self, node: NodeId, life: u64) -> Result<(), StorageError> {
        let Some(found) = self.life(node, life) else { return Ok(()) };
        let complete = |under_way: &mut UnderWay| under_way.complete && under_way.base.is_some();
        let Some(UnderWay { writer, pin, base: Some(base), .. }) =
            found.checkpointing.under_way.take_if(complete)
        else {
            return Ok(());
        };
        let sealed = writer.seal(base);
        let Some(sealed) = self.unless_short(node, life, sealed)? else { return Ok(()) };
        let mut checkpoint = sealed.publish()?;
        let chunks = self.node(node).disk.chunks.clone();
        if pin {
            let origin = BackupOrigin { cluster_id: CLUSTER_ID, node, created_at: true_wall(self.now) };
            // A node goes on if it cannot hold the files open.
            checkpoint.pinned = PinnedBackup::open(&chunks, origin, &checkpoint.listed).ok().map(Arc::new);
        }
        self.see(&Seen::Checkpointed { node, checkpoint: &checkpoint, chunks: &chunks });
        self.hand(node, Input::CheckpointDone(Box::new(checkpoint)));
        self.after(AUDIT_AFTER, Event::Audits { node, life });
        Ok(())
    }
}
