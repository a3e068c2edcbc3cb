//! The thread for chores of the log, in virtual time: commits go on while it does one, and before the disk thread takes
//! the result.

use adjourn_storage::{Chore, StorageError};

use super::disk::Part;
use super::seen::{NodeId, Seen};
use super::time::{MS, SECOND, Us};
use super::world::{Event, World};

/// How long a chore takes, and its result waits, if it is late.
const LATE: (Us, Us) = (50 * MS, 20 * SECOND);

/// What the thread has in hand.
#[derive(Default)]
pub(super) enum ChoreThread {
    #[default]
    Idle,
    Busy(Chore),
    /// The disk thread does not know yet how it went.
    Done(Result<(), StorageError>),
    /// It never comes to an end: the log has to do without.
    Hangs,
}

impl World {
    /// The disk thread hands the next chore out, if there is one and the thread is idle.
    pub(super) fn look_after_chores(&mut self, node: NodeId, life: u64) {
        let Some(found) = self.life(node, life) else { return };
        if !matches!(found.checkpointing.chores, ChoreThread::Idle) {
            return;
        }
        let Some(chore) = self.node(node).disk.chore() else { return };
        let hangs = self.random.percent(2);
        let Some(found) = self.life(node, life) else { return };
        found.checkpointing.chores = if hangs { ChoreThread::Hangs } else { ChoreThread::Busy(chore) };
        if !hangs {
            self.next_chore_step(node, life);
        }
    }

    /// The thread has done a chore, or the disk thread takes the result.
    pub(super) fn chore_step(&mut self, node: NodeId, life: u64) {
        let Some(found) = self.life(node, life) else { return };
        let in_hand = std::mem::take(&mut found.checkpointing.chores);
        let before = self.node(node).disk.steps(Part::Log);
        let outcome = match in_hand {
            ChoreThread::Busy(chore) => {
                let archived = self.node(node).disk.archived();
                let result = chore.run();
                let archived = self.node(node).disk.archived() > archived;
                if result.is_ok() {
                    self.see(&Seen::ChoreDone { node, archived });
                }
                let Some(found) = self.life(node, life) else { return };
                found.checkpointing.chores = ChoreThread::Done(result);
                self.next_chore_step(node, life);
                Ok(())
            }
            ChoreThread::Done(result) => self.node(node).disk.chore_done(result),
            ChoreThread::Idle | ChoreThread::Hangs => Ok(()),
        };
        let after = self.node(node).disk.steps(Part::Log);
        self.cut_steps.push(before..after);
        match outcome {
            Ok(()) => self.look_after_chores(node, life),
            Err(why) => self.end(node, why),
        }
    }

    fn next_chore_step(&mut self, node: NodeId, life: u64) {
        let is_late = !self.plan.calm && self.random.percent(20);
        let takes = self.random.within(if is_late { LATE } else { self.plan.checkpoint_us });
        self.after(takes, Event::Chores { node, life });
    }
}
