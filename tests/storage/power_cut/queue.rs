//! A queue and its checkpoints in a folder on the disk, taken in the parts and in the order in which a node takes them,
//! with work between the parts. Knows nothing of power cuts.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjourn_engine::{Applied, Command, Engine, Entry, JobSelect, Relocated};
use adjourn_storage::chunks::{self, Manifest};
use adjourn_storage::folder::{DiskFolder, Folder as _};
use adjourn_storage::{
    Checkpoint, CheckpointBegin, CheckpointJobs, CheckpointWriter, LogBase, PageFile, Records, Restored,
    StorageError, begin_capture,
};
use adjourn_types::{GroupId, JobId, Millis, SessionSecret};
use proptest::prelude::RngExt as _;
use proptest::test_runner::TestRng;

use super::fault::Fault;

/// Small ones, so that a few jobs fill many.
const CHUNK_BYTES: usize = 4 << 10;
/// Chunks with more rows may grow to this number of bytes.
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Jobs that are captured, or taken out of memory, at once.
const JOBS_PER_STEP: usize = 32;
/// The limit of their bodies, in bytes.
const BATCH_BYTES: u64 = 64 << 10;
const TERM: u64 = 1;
const VOTERS: [u64; 1] = [1];
const START: Millis = Millis(1_790_000_000_000);

/// A job as it was pushed.
#[derive(Debug)]
pub(super) struct Pushed {
    pub(super) topic: &'static str,
    pub(super) key: Option<Vec<u8>>,
    pub(super) body: Vec<u8>,
}

/// A checkpoint: what the queue was when it began.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) number: u32,
    base: LogBase,
    state_hash: u128,
    jobs: u64,
    /// Every job that lived is among these.
    pushed: BTreeMap<JobId, Arc<Pushed>>,
}

/// How often what happened.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<&'static str, u64>);

/// A queue that runs.
pub(super) struct Queue {
    pub(super) engine: Engine,
    pub(super) records: Records,
    pub(super) now: Millis,
    /// Every job that lives is among these.
    pub(super) pushed: BTreeMap<JobId, Arc<Pushed>>,
    pub(super) counts: Counts,
    folder: DiskFolder,
    /// Of the last entry.
    index: u64,
    /// Of the last checkpoint.
    number: u32,
    next_chunk: u32,
    /// The page files of the last checkpoint, if it was taken since the start.
    pages: Vec<PageFile>,
}

impl Queue {
    /// A new queue.
    pub(super) fn found(folder: DiskFolder) -> Result<Self, StorageError> {
        let mut queue = Self {
            engine: Engine::new(GroupId(0)),
            records: Records::default(),
            now: START,
            pushed: BTreeMap::new(),
            counts: Counts::default(),
            folder,
            index: 0,
            number: 0,
            next_chunk: 1,
            pages: Vec::new(),
        };
        let open = Command::SessionOpen { secret: SessionSecret([2; 16]), leases_outlive: false, client: "" };
        queue.apply(vec![
            Command::Genesis { key_secret: [1; 16] },
            Command::ClockOffset { offset_ms: -5000 },
            open,
        ])?;
        Ok(queue)
    }

    /// The queue of a checkpoint. Fails if it is not as it was when that was taken.
    pub(super) fn restore(folder: DiskFolder, restored: Restored, taken: &Taken) -> Result<Self, Fault> {
        let Restored { number, base, voters, learners, next_chunk, engine, records, lost: _ } = restored;
        if (number, base) != (taken.number, taken.base) || voters != VOTERS || !learners.is_empty() {
            return Err(Fault::Wrong(format!("checkpoint {number} is at {base:?}, not at {:?}", taken.base)));
        }
        if (engine.state_hash(), engine.jobs()) != (taken.state_hash, taken.jobs) {
            return Err(Fault::Wrong(format!("another state: {} jobs, not {}", engine.jobs(), taken.jobs)));
        }
        let now = engine.stamp();
        let mut queue = Self {
            engine,
            records,
            now,
            pushed: taken.pushed.clone(),
            counts: Counts::default(),
            folder,
            index: base.index,
            number,
            next_chunk,
            pages: Vec::new(),
        };
        queue.verify()?;
        Ok(queue)
    }

    /// Reads every job, and compares it with the pushed one.
    pub(super) fn verify(&mut self) -> Result<(), Fault> {
        let Self { engine, records, pushed, .. } = self;
        engine.verify(records);
        let mut found = 0;
        for (id, pushed) in pushed {
            let Some(view) = engine.job(&JobSelect::Id(*id), records)? else { continue };
            found += 1;
            let record = records.record(view.body)?;
            if (record.key.as_deref(), &record.body[..]) != (pushed.key.as_deref(), &pushed.body[..]) {
                return Err(Fault::Wrong(format!("the record of job {} is another one", id.0)));
            }
        }
        if found == engine.jobs() {
            Ok(())
        } else {
            Err(Fault::Wrong(format!("{} jobs live, {found} are known", engine.jobs())))
        }
    }

    /// Applies the next entry.
    pub(super) fn apply(&mut self, commands: Vec<Command<'_>>) -> Result<Applied, StorageError> {
        self.index += 1;
        self.engine.apply(&Entry { stamp: self.now, commands }, &mut self.records)
    }

    /// Takes a checkpoint: durable when this returns.
    pub(super) fn checkpoint(&mut self, rng: &mut TestRng) -> Result<Arc<Taken>, StorageError> {
        let (begin, taken) = self.begin();
        let carried_over = begin.chunks.len() - begin.rewrite.len();
        self.counts.add("chunks carried over", carried_over);
        self.counts.add("chunks rewritten", begin.rewrite.len());
        let mut writer = CheckpointWriter::begin(self.folder.clone(), begin)?;
        loop {
            let (jobs, last) = self.capture();
            writer.add(&jobs)?;
            self.meanwhile(rng)?;
            if last {
                break;
            }
        }
        let before = self.folder.list()?;
        let checkpoint = writer.seal(taken.base)?.publish()?;
        self.count_files(&before, &checkpoint)?;
        self.meanwhile(rng)?;
        self.take_over(checkpoint, rng)?;
        Ok(Arc::new(taken))
    }

    /// Begins a checkpoint and gives it up, as a node does that finds no space for it.
    pub(super) fn give_up(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        let (begin, taken) = self.begin();
        let mut writer = CheckpointWriter::begin(self.folder.clone(), begin)?;
        let parts = rng.random_range(0..8);
        let mut last = false;
        for _ in 0..parts {
            if last {
                break;
            }
            let (jobs, is_last) = self.capture();
            writer.add(&jobs)?;
            self.meanwhile(rng)?;
            last = is_last;
        }
        if last {
            drop(writer.seal(taken.base)?);
        }
        chunks::remove_unlisted(&self.folder, Manifest::read(&self.folder)?.as_ref())?;
        self.engine.end_capture();
        self.records.end_capture();
        self.counts.add("checkpoints given up", 1);
        Ok(())
    }

    fn begin(&mut self) -> (CheckpointBegin, Taken) {
        self.engine.shrink();
        self.number += 1;
        let chunk_bytes = self.records.chunk_bytes(CHUNK_BYTES, CHUNK_BYTES_MAX);
        let rewrite = self.records.to_rewrite(chunk_bytes);
        let pages = begin_capture(&mut self.engine, &self.pages, &rewrite);
        let crc = u32::try_from(self.index).expect("they are few");
        let taken = Taken {
            number: self.number,
            base: LogBase { index: self.index, term: TERM, crc },
            state_hash: self.engine.state_hash(),
            jobs: self.engine.jobs(),
            pushed: self.pushed.clone(),
        };
        let begin = CheckpointBegin {
            number: self.number,
            index: self.index,
            term: TERM,
            voters: VOTERS.to_vec(),
            learners: Vec::new(),
            state_hash: taken.state_hash,
            jobs: taken.jobs,
            metadata: self.engine.metadata().into(),
            chunks: self.records.begin_capture(),
            rewrite,
            pages,
            next_chunk: self.next_chunk,
            chunk_bytes,
            records: 0,
            pin: false,
        };
        (begin, taken)
    }

    /// The next jobs of the checkpoint, and whether they are the last.
    fn capture(&mut self) -> (CheckpointJobs, bool) {
        let (mut jobs, records) = (CheckpointJobs::default(), &self.records);
        let last = self.engine.capture(JOBS_PER_STEP, BATCH_BYTES, |job| {
            jobs.push(&job, records.in_memory(job.place));
        });
        if last {
            self.records.end_capture();
        }
        (jobs, last)
    }

    /// Evicts the checkpointed records from memory.
    fn take_over(&mut self, checkpoint: Checkpoint, rng: &mut TestRng) -> Result<(), StorageError> {
        self.next_chunk = checkpoint.next_chunk;
        for chunk in &checkpoint.chunks {
            self.records.add_chunk(Arc::clone(chunk))?;
        }
        self.engine.keep_captured();
        for written in checkpoint.written.chunks(JOBS_PER_STEP) {
            for one in written {
                let relocated = self.engine.relocate(one.job, one.from, one.to, one.spilled());
                self.records.relocated(one.from, one.to, relocated)?;
                let jobs_spilled = relocated == Relocated::Spilled && one.spilled().is_some();
                self.counts.add("jobs that were spilled", usize::from(jobs_spilled));
            }
            self.meanwhile(rng)?;
        }
        let listed = checkpoint.numbers();
        self.records.retain_chunks(|number| listed.binary_search(&number).is_ok());
        self.records.shrink();
        self.pages = checkpoint.pages;
        Ok(())
    }

    /// The queue goes on while a checkpoint is written.
    fn meanwhile(&mut self, rng: &mut TestRng) -> Result<(), StorageError> {
        if rng.random_ratio(1, 5) { self.work(rng) } else { Ok(()) }
    }

    fn count_files(&mut self, before: &[String], checkpoint: &Checkpoint) -> Result<(), StorageError> {
        let after = self.folder.list()?;
        for (prefix, what) in [("chunk-", "chunks unlinked"), ("pages-", "page files unlinked")] {
            let is_gone = |name: &&String| name.starts_with(prefix) && !after.contains(name);
            self.counts.add(what, before.iter().filter(is_gone).count());
        }
        let is_new = |file: &&PageFile| file.summary.id.checkpoint == self.number;
        let new_pages = checkpoint.pages.iter().filter(is_new).count();
        self.counts.add("page files written", new_pages);
        self.counts.add("page files carried over", checkpoint.pages.len() - new_pages);
        self.counts.add("chunks written", checkpoint.chunks.len());
        Ok(())
    }
}

impl Counts {
    pub(super) fn add(&mut self, what: &'static str, count: usize) {
        *self.0.entry(what).or_default() += count as u64;
    }

    pub(super) fn merge(&mut self, others: &Self) {
        for (what, count) in &others.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// Fails unless each of these has happened so often at least.
    pub(super) fn expect(&self, seed: u64, least: &[(&'static str, u64)]) {
        for (what, least) in least {
            let count = self.0.get(what).copied().unwrap_or(0);
            assert!(count >= *least, "seed {seed}: {what}: {count}, not {least}; {:#?}", self.0);
        }
    }
}
