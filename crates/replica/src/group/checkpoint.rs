//! Checkpoints as the replica sees them: when to take one, what it contains, and what follows.
//!
//! 1. When the log has grown enough, sessions and jobs are captured as of that moment, a few at a time, and handed
//!    to the driver, which writes them. The engine continues meanwhile.
//! 2. When the checkpoint is durable, the log before it is truncated.
//! 3. The written records are evicted from memory, a few jobs at a time, and jobs that wait for long are spilled.
//!
//! A backup is a checkpoint whose files are held open for the client that asked. It begins after the request, so
//! that it contains everything that was answered before.
//!
//! None of this is in the log or in the state: each node takes checkpoints on its own schedule.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::Group;
use crate::io::{CheckpointOrder, Output};
use crate::node::Node;
use crate::node::connections::Asker;
use crate::stopping::Stop;
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_raft::Offer;
use adjourn_storage::checkpoint::memory_bytes_max;
use adjourn_storage::{
    Checkpoint, CheckpointBegin, CheckpointJobs, PageFile, PinnedBackup, StorageError, Written, begin_capture,
};
use adjourn_types::limits::BODY_BYTES_CEILING;

/// Jobs that are captured, or evicted from memory, in one step.
const JOBS_PER_STEP: usize = 256;
/// The same when the next checkpoint is already due.
const JOBS_PER_STEP_LATE: usize = 2048;
/// A step captures this many outcomes of sessions instead of one job, for about the same cost.
const OUTCOMES_PER_JOB: usize = 32;
/// While there is time: the number of jobs evicted from memory at once, and the shortest interval between two such steps in
/// microseconds. Eviction is not urgent, and deliveries need the processor.
const ADOPTED_PER_STEP: usize = 64;
const ADOPTING_EVERY_US: u64 = 500;
/// A batch is closed when its bodies reach this size in bytes.
const BATCH_BYTES: u64 = 256 << 10;
/// The maximum number of batches in flight to the checkpoint thread.
const BATCHES_MAX: usize = 32;
/// The maximum size of these batches before another is sent, in bytes.
const ON_THE_WAY_BYTES: usize = 16 << 20;
/// A checkpoint that begins this long after the last one, in microseconds, is due after an eighth of the usual log growth:
/// a start reads the whole log, and a quiet node has the time.
const SELDOM_US: u64 = 60_000_000;
const SELDOM_SHARE: u64 = 8;
/// When memory is short, a checkpoint is due after this much log growth, in bytes.
const SHORT_LOG_BYTES: u64 = 4 << 20;
/// Most checkpoints held open for backups. A further request waits until one is released; waiting requests share the next
/// checkpoint.
const PINS_MAX: usize = 2;
/// The pause before the next checkpoint if there was no disk space, in microseconds.
const NO_SPACE_PAUSE_US: u64 = 10_000_000;
/// A checkpoint lags when the log has grown by this many quarters of the amount that it may grow meanwhile.
const LAGGING_QUARTERS: u64 = 4;
/// While it lags, entries are this far apart, in microseconds; the pause doubles with each further quarter.
const LAGGING_PAUSE_US: u64 = 1_000;
/// Most doublings.
const LAGGING_SHIFT_MAX: u64 = 6;
/// For active members that lag, the log keeps at most this multiple of the size at which a checkpoint is due.
const KEPT_LOGS_MAX: u64 = 16;
/// And at most the entries after this many checkpoints, however small.
const KEPT_MAX: usize = 256;
/// The size of a chunk in bytes; smaller if a checkpoint is due earlier. With very many rows chunks are larger.
const CHUNK_BYTES: usize = 32 << 20;
/// The log may grow by this many bytes for each resident job on a changed page: a checkpoint writes all of these jobs.
const LOG_BYTES_PER_JOB: u64 = 32;

/// The stage of the checkpoint under way.
#[derive(Debug, Default)]
pub(super) enum Stage {
    #[default]
    Idle,
    /// Sessions and jobs are sent to the checkpoint thread. `on_the_way`: sizes in bytes of the batches it has not taken yet.
    Capturing { on_the_way: VecDeque<usize> },
    /// Everything was sent.
    Writing,
    /// It is durable. The records from index `next` on are still in memory, until `not_before_us` at least.
    Adopting { checkpoint: Box<Checkpoint>, next: usize, not_before_us: u64 },
}

/// A checkpoint after which the log is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// The entry of the checkpoint.
    index: u64,
    /// Bytes of entries up to it, since this process started.
    logged_bytes: u64,
}

/// The checkpoints of a node.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// Number of the last checkpoint.
    pub(super) number: u32,
    /// The page files of the last checkpoint, if this process wrote it.
    pub(super) pages: Vec<PageFile>,
    /// The first number for a new chunk.
    pub(super) next_chunk: u32,
    /// Bytes of entries since the last checkpoint.
    pub(crate) log_bytes: u64,
    /// When the last checkpoint began; 0 if none did since this process started.
    pub(super) begun_us: u64,
    /// The log growth, in bytes, that the amount written by the last checkpoint justifies.
    pub(super) written_for_bytes: u64,
    /// If the disk had no space: when the next checkpoint may begin.
    pub(super) not_before_us: u64,
    pub(super) stage: Stage,
    /// Backup requests that wait for the next checkpoint to begin.
    pub(super) backups_wanted: Vec<Asker>,
    /// Backup requests that the current checkpoint will answer.
    pub(super) backups_begun: Vec<Asker>,
    /// Backups that are ready.
    pub(super) backups: Vec<Output>,
    /// How the current checkpoint can be offered to members that lag far behind.
    pub(super) offer: Option<Offer>,
    /// Bytes of entries up to the last checkpoint's beginning, since this process started.
    pub(super) logged_bytes: u64,
    /// Durable checkpoints whose log is still there, oldest first.
    pub(super) kept: VecDeque<Kept>,
    /// Checkpoints that are held open for backups.
    pub(super) pins: Vec<Weak<PinnedBackup>>,
}

impl Checkpoints {
    /// Continues after the checkpoint of this number; new chunks are numbered from `next_chunk` on.
    pub(crate) fn after(number: u32, next_chunk: u32) -> Self {
        Self { number, next_chunk, ..Self::default() }
    }

    /// When the next step may be taken; `None` if it waits for an event.
    pub(crate) fn next_step_us(&self) -> Option<u64> {
        match &self.stage {
            Stage::Capturing { on_the_way } => may_send(on_the_way).then_some(0),
            Stage::Adopting { not_before_us, .. } => Some(*not_before_us),
            Stage::Idle => self.may_begin_backup().then_some(0),
            Stage::Writing => None,
        }
    }

    /// True if no checkpoint is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle)
    }

    /// True if a backup is wanted, and one more checkpoint may be held open.
    fn may_begin_backup(&self) -> bool {
        let held = self.pins.iter().filter(|pin| pin.strong_count() > 0);
        !self.backups_wanted.is_empty() && held.count() < PINS_MAX
    }

    /// Decides whether a checkpoint begins now. Without disk space, one for a lagging member waits too; one for a backup is
    /// tried, and fails with an error.
    fn begins(&self, pin: bool, offer_wanted: bool, due: bool, now_us: u64) -> bool {
        pin || ((offer_wanted || due) && now_us >= self.not_before_us)
    }

    /// The last entry that may be removed from the log. With other members, the log reaches back to a checkpoint before the
    /// newest, by at least `least_bytes`, so that a member that was away briefly needs no checkpoint; and as far as active
    /// members need it, within limits.
    fn cut_point(&mut self, least_bytes: Option<u64>, needed: u64) -> Option<u64> {
        let may_go = |kept: &Kept| {
            let Some(least_bytes) = least_bytes else { return true };
            let behind = self.logged_bytes - kept.logged_bytes;
            behind > KEPT_LOGS_MAX * least_bytes || (behind >= least_bytes && kept.index <= needed)
        };
        let kept_min = usize::from(least_bytes.is_some());
        let mut through = None;
        while self.kept.len() > KEPT_MAX
            || (self.kept.len() > kept_min && self.kept.front().is_some_and(may_go))
        {
            through = self.kept.pop_front().map(|kept| kept.index);
        }
        through
    }

    /// Takes the backups that are ready.
    pub(crate) fn take_backups(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.backups)
    }

    /// The checkpoint thread has taken over a batch.
    pub(crate) fn taken(&mut self) {
        if let Stage::Capturing { on_the_way } = &mut self.stage {
            on_the_way.pop_front();
        }
    }
}

impl Group {
    /// How long the next entry must wait for the current checkpoint, in microseconds. New data stays in memory and in the
    /// log until the next checkpoint, so the pause grows with the log.
    pub(crate) fn lagging_pause_us(&self, node: &Node) -> u64 {
        if matches!(self.checkpoints.stage, Stage::Idle) {
            return 0;
        }
        let quarters = 4 * self.checkpoints.log_bytes / self.checkpoint_may_take_bytes(node);
        match quarters.checked_sub(LAGGING_QUARTERS) {
            None => 0,
            Some(beyond) => LAGGING_PAUSE_US << beyond.min(LAGGING_SHIFT_MAX),
        }
    }

    fn jobs_per_step(&self, node: &Node) -> usize {
        let late = self.checkpoints.log_bytes > self.checkpoint_may_take_bytes(node);
        if late { JOBS_PER_STEP_LATE } else { JOBS_PER_STEP }
    }

    /// True if the current checkpoint does not lag, memory is not short, and no request waits for the next checkpoint.
    fn has_time(&self, node: &Node) -> bool {
        let is_wanted = !self.checkpoints.backups_wanted.is_empty() || self.raft.is_offer_wanted();
        let grows_slowly = self.checkpoints.log_bytes < self.checkpoint_may_take_bytes(node) / 2;
        grows_slowly && !is_wanted && !node.memory.is_short()
    }

    /// The log growth after which a checkpoint is due, in bytes.
    fn checkpoint_due_bytes(&self, node: &Node) -> u64 {
        node.config.checkpoint_log_bytes.max(self.state.engine.changed_jobs() * LOG_BYTES_PER_JOB)
    }

    /// The log growth after which the next checkpoint begins, in bytes.
    fn checkpoint_wanted_bytes(&self, node: &Node) -> u64 {
        let is_long_ago = node.now_us >= self.checkpoints.begun_us + SELDOM_US;
        let due = self.checkpoint_due_bytes(node) / if is_long_ago { SELDOM_SHARE } else { 1 };
        // A checkpoint lets its records be evicted from memory.
        if node.memory.is_short() { due.min(SHORT_LOG_BYTES) } else { due }
    }

    /// How much the log may grow during a checkpoint, in bytes: the growth at which the next one is due, or the growth that
    /// the size of the current one justifies.
    fn checkpoint_may_take_bytes(&self, node: &Node) -> u64 {
        self.checkpoint_due_bytes(node).max(self.checkpoints.written_for_bytes)
    }

    /// The size of new chunks, in bytes.
    fn chunk_bytes(&self, node: &Node) -> usize {
        let most = node.memory.chunk_bytes_max();
        let due = usize::try_from(node.config.checkpoint_log_bytes).unwrap_or(usize::MAX);
        self.state.records.chunk_bytes(due.min(CHUNK_BYTES).min(most), most)
    }

    /// The upper bound of the next checkpoint's memory, in bytes.
    pub(super) fn checkpoint_memory_bytes(&self, node: &Node) -> u64 {
        let written = self.state.records.in_memory_count() * size_of::<Written>();
        let handed_over = ON_THE_WAY_BYTES + BODY_BYTES_CEILING;
        (memory_bytes_max(self.chunk_bytes(node))
            + written
            + handed_over
            + self.state.engine.metadata_bytes()) as u64
    }

    /// Takes a step of the current checkpoint, or begins the next one if it is due.
    pub(crate) fn step_checkpoint(
        &mut self,
        node: &mut Node,
        outputs: &mut Vec<Output>,
    ) -> Result<(), StorageError> {
        self.state.records.free_forgotten(self.jobs_per_step(node));
        match std::mem::take(&mut self.checkpoints.stage) {
            Stage::Idle => {
                self.state.engine.shrink();
                self.begin_checkpoint_if_due(node, outputs);
            }
            Stage::Capturing { on_the_way } if may_send(&on_the_way) => {
                self.hand_over(node, on_the_way, outputs);
            }
            Stage::Adopting { checkpoint, next, not_before_us } if not_before_us <= node.now_us => {
                return self.adopt(node, checkpoint, next);
            }
            stage => self.checkpoints.stage = stage,
        }
        Ok(())
    }

    /// There was no disk space for the checkpoint. Undoes the capture; it is tried again later.
    pub(crate) fn checkpoint_abandoned(&mut self, node: &mut Node) {
        self.state.engine.end_capture();
        self.state.records.end_capture();
        let full = "there is no space for the checkpoint that a backup is, or too many files are open: make some and begin \
                    again";
        let full = ErrorReply::new(ErrorCode::DiskFull, full);
        for asker in std::mem::take(&mut self.checkpoints.backups_begun) {
            node.connections.refuse(asker, full.clone());
        }
        self.checkpoints.stage = Stage::Idle;
        self.checkpoints.log_bytes = self.checkpoints.log_bytes.max(self.checkpoint_due_bytes(node));
        self.checkpoints.not_before_us = node.now_us + NO_SPACE_PAUSE_US;
    }

    /// Requests a backup, which is the next checkpoint. It begins once none is in progress.
    pub(crate) fn begin_backup(&mut self, asker: Asker) {
        self.checkpoints.backups_wanted.push(asker);
    }

    /// Refuses all requested backups.
    pub(crate) fn refuse_backups(&mut self, node: &mut Node, error: &ErrorReply) {
        let Checkpoints { backups_wanted, backups_begun, .. } = &mut self.checkpoints;
        for asker in backups_wanted.drain(..).chain(backups_begun.drain(..)) {
            node.connections.refuse(asker, error.clone());
        }
    }

    /// The checkpoint is durable: uses its chunks, hands out backups, and begins to evict its records from memory.
    pub(crate) fn checkpoint_done(
        &mut self,
        node: &mut Node,
        mut checkpoint: Box<Checkpoint>,
    ) -> Result<(), StorageError> {
        if self.has_lost_state() {
            // It belongs to the state that was lost.
            self.checkpoint_abandoned(node);
            return Ok(());
        }
        self.checkpoints.stage = Stage::Idle;
        let pinned = checkpoint.pinned.take();
        self.checkpoints.pins.retain(|pin| pin.strong_count() > 0);
        self.checkpoints.pins.extend(pinned.as_ref().map(Arc::downgrade));
        for asker in std::mem::take(&mut self.checkpoints.backups_begun) {
            if let Some(backup) = pinned.clone() {
                let Asker { connection, request } = asker;
                self.checkpoints.backups.push(Output::Backup { connection, request, backup });
                node.connections.answered(asker);
            } else {
                let text = "the files of the backup could not be opened: the server's log says why";
                node.connections.refuse(asker, ErrorReply::new(ErrorCode::Busy, text));
            }
        }
        self.checkpoints.next_chunk = checkpoint.next_chunk;
        for chunk in &checkpoint.chunks {
            self.state.records.add_chunk(Arc::clone(chunk))?;
        }
        self.state.engine.keep_captured();
        self.checkpoints.pages = std::mem::take(&mut checkpoint.pages);
        let logged_bytes = self.checkpoints.logged_bytes;
        self.checkpoints.kept.push_back(Kept { index: checkpoint.index, logged_bytes });
        if let Some(offer) = self.checkpoints.offer.take() {
            self.raft.offer(offer);
        }
        self.log.cut_through = self.cut_point(node).or(self.log.cut_through);
        self.checkpoints.stage = Stage::Adopting { checkpoint, next: 0, not_before_us: 0 };
        Ok(())
    }

    /// The last entry that may be removed from the log, if any.
    fn cut_point(&mut self, node: &Node) -> Option<u64> {
        let progress = self.progress(node);
        let others =
            progress.iter().filter(|(member, progress)| **member != node.config.node && progress.is_active);
        let needed = others.map(|(_, progress)| progress.snapshot.unwrap_or(progress.matched)).min();
        let least_bytes = (!self.raft.is_alone()).then_some(node.config.checkpoint_log_bytes);
        self.checkpoints.cut_point(least_bytes, needed.unwrap_or(u64::MAX))
    }

    fn begin_checkpoint_if_due(&mut self, node: &mut Node, outputs: &mut Vec<Output>) {
        if self.incoming.is_close() || self.untrusted.is_some() {
            return;
        }
        let connections = &mut node.connections;
        self.checkpoints.backups_wanted.retain(|asker| connections.one(asker.connection).is_some());
        let pin = self.checkpoints.may_begin_backup();
        if node.stop != Stop::No {
            return;
        }
        let due = self.checkpoints.log_bytes >= self.checkpoint_wanted_bytes(node)
            || self.state.records.has_waste(node.config.checkpoint_log_bytes);
        if !self.checkpoints.begins(pin, self.raft.is_offer_wanted(), due, node.now_us) {
            return;
        }
        if pin {
            // Only so many checkpoints are held open: later requests wait for another one.
            self.checkpoints.backups_begun = std::mem::take(&mut self.checkpoints.backups_wanted);
        }
        self.checkpoints.number += 1;
        self.checkpoints.begun_us = node.now_us;
        self.checkpoints.logged_bytes += std::mem::take(&mut self.checkpoints.log_bytes);
        let chunk_bytes = self.chunk_bytes(node);
        let rewrite = self.state.records.to_rewrite(chunk_bytes);
        let pages = begin_capture(&mut self.state.engine, &self.checkpoints.pages, &rewrite);
        let kept: u64 = pages.iter().map(|file| file.summary.entries).sum();
        let captured = (self.state.engine.jobs() - self.state.engine.spilled_jobs()).saturating_sub(kept);
        self.checkpoints.written_for_bytes = captured * LOG_BYTES_PER_JOB;
        let members = self.raft.members().clone();
        let begin = CheckpointBegin {
            number: self.checkpoints.number,
            index: self.applied.0,
            term: self.applied.1,
            voters: members.voters.clone(),
            learners: members.learners.clone(),
            state_hash: self.state.engine.state_hash(),
            jobs: self.state.engine.jobs(),
            metadata: self.state.engine.partial_metadata(),
            chunks: self.state.records.begin_capture(),
            rewrite,
            pages,
            next_chunk: self.checkpoints.next_chunk,
            chunk_bytes,
            records: self.state.records.in_memory_count(),
            pin,
        };
        self.checkpoints.offer = Some(Offer { index: begin.index, term: begin.term, members });
        outputs.push(Output::Checkpoint(CheckpointOrder::Begin(Box::new(begin))));
        self.checkpoints.stage = Stage::Capturing { on_the_way: VecDeque::new() };
    }

    fn hand_over(&mut self, node: &Node, mut on_the_way: VecDeque<usize>, outputs: &mut Vec<Output>) {
        let jobs_max = self.jobs_per_step(node);
        let sessions = self.state.engine.capture_sessions(jobs_max * OUTCOMES_PER_JOB);
        if !sessions.is_empty() {
            on_the_way.push_back(sessions.memory_bytes());
            outputs.push(Output::Checkpoint(CheckpointOrder::Sessions(sessions)));
            self.checkpoints.stage = Stage::Capturing { on_the_way };
            return;
        }
        let mut jobs = CheckpointJobs::with_capacity(jobs_max);
        let records = &self.state.records;
        let done = self.state.engine.capture(jobs_max, BATCH_BYTES, |job| {
            jobs.push(&job, records.in_memory(job.place));
        });
        if !jobs.is_empty() {
            on_the_way.push_back(jobs.memory_bytes());
            outputs.push(Output::Checkpoint(CheckpointOrder::Jobs(jobs)));
        }
        self.checkpoints.stage = if done {
            self.state.records.end_capture();
            outputs.push(Output::Checkpoint(CheckpointOrder::End));
            Stage::Writing
        } else {
            Stage::Capturing { on_the_way }
        };
    }

    /// Evicts checkpointed records from memory.
    fn adopt(&mut self, node: &Node, checkpoint: Box<Checkpoint>, next: usize) -> Result<(), StorageError> {
        let written = checkpoint.written.get(next..).unwrap_or_default();
        let (jobs_max, pause_us) = if self.has_time(node) {
            (ADOPTED_PER_STEP, ADOPTING_EVERY_US)
        } else {
            (self.jobs_per_step(node), 0)
        };
        for one in written.iter().take(jobs_max) {
            let relocated = self.state.engine.relocate(one.job, one.from, one.to, one.spilled());
            self.state.records.relocated(one.from, one.to, relocated)?;
        }
        if written.len() > jobs_max {
            let (next, not_before_us) = (next + jobs_max, node.now_us + pause_us);
            self.checkpoints.stage = Stage::Adopting { checkpoint, next, not_before_us };
        } else {
            let listed = checkpoint.numbers();
            self.state.records.retain_chunks(|number| listed.binary_search(&number).is_ok());
            self.state.records.shrink();
        }
        Ok(())
    }
}

/// True if the checkpoint thread can take another batch.
fn may_send(on_the_way: &VecDeque<usize>) -> bool {
    on_the_way.len() < BATCHES_MAX && on_the_way.iter().sum::<usize>() < ON_THE_WAY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checkpoints at entries 1, 2 and so on, with `bytes` bytes of log before each.
    fn kept(count: u64, bytes: u64) -> Checkpoints {
        let kept = (1..=count).map(|index| Kept { index, logged_bytes: index * bytes }).collect();
        Checkpoints { kept, logged_bytes: count * bytes, ..Checkpoints::default() }
    }

    #[test]
    fn the_log_reaches_back_for_those_who_need_it() {
        let through = |count, bytes, least, needed| kept(count, bytes).cut_point(least, needed);
        assert_eq!(through(3, 10, None, 0), Some(3), "nobody else is there");
        assert_eq!(through(2, 10, Some(10), u64::MAX), Some(1), "all but what one is due for");
        assert_eq!(through(7, 10, Some(70), u64::MAX), None, "small ones count for little");
        assert_eq!(through(9, 10, Some(70), u64::MAX), Some(2));
        assert_eq!(through(9, 10, Some(10), 3), Some(3), "somebody is there yet");
        assert_eq!(through(30, 10, Some(10), 3), Some(13), "too far back");
        assert_eq!(through(300, 1, Some(1000), 0), Some(44), "too many");
        assert_eq!(through(1, 10, Some(1), u64::MAX), None, "the newest is the one to begin from");
    }

    #[test]
    fn without_space_a_member_waits_as_what_is_due_does() {
        let checkpoints = Checkpoints { not_before_us: 10, ..Checkpoints::default() };
        let begins =
            |pin, offer_wanted, due| [9, 10].map(|now_us| checkpoints.begins(pin, offer_wanted, due, now_us));
        assert_eq!(begins(false, true, false), [false, true]);
        assert_eq!(begins(false, false, true), [false, true]);
        assert_eq!(begins(true, false, false), [true, true]);
        assert_eq!(begins(false, false, false), [false, false]);
    }
}
