//! The requests to the storage and their acknowledgements; and whether a disk after a power cut agrees with them.

use std::path::Path;

use adjourn_engine::Engine;
use adjourn_storage::chunks::Manifest;
use adjourn_storage::folder::DiskFolder;
use adjourn_storage::{
    DiskStorage, EntryKind, JournalSize, LogBase, LogEntry, OpenOptions, PersistBatch, Recovered,
    Storage as _, StorageError, Vote,
};
use adjourn_types::GroupId;

use super::fault::Fault;

const CLUSTER_ID: [u8; 16] = [7; 16];

/// Something that is asked of the storage.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Open,
    Persist(PersistBatch),
    WriteWatermark,
    /// A checkpoint that stands for the entry; of nothing, here.
    Checkpoint(LogBase),
    /// The log's beginning is not needed any more.
    Cut {
        through: u64,
    },
    /// A piece of work that waits is done, and its result is taken now, or after this batch.
    Chore {
        meanwhile: Option<PersistBatch>,
    },
    /// The checkpoint of another member replaces everything, with the entries after it.
    Install {
        /// The log of the others, up to the checkpoint's entry.
        theirs: Vec<LogEntry>,
        base: LogBase,
        batch: PersistBatch,
    },
    Close,
}

/// What the storage holds, as far as it was acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) founded: bool,
    /// From entry 1 on, whatever of it was cut since.
    pub(super) log: Vec<LogEntry>,
    /// What the newest checkpoint stands for.
    pub(super) base: Option<LogBase>,
    pub(super) vote: Vote,
    pub(super) commit: u64,
}

/// The expected content of a disk: the acknowledged data, and any prefix of the step under way.
#[derive(Debug)]
pub(super) struct Expectation<'a> {
    pub(super) state: &'a State,
    pub(super) under_way: Option<&'a Step>,
    pub(super) size: JournalSize,
}

/// How the tests open a data directory.
pub(super) fn open(root: &Path, size: JournalSize) -> Result<DiskStorage, StorageError> {
    DiskStorage::open_with(&options(root, [8; 16]), size)
}

/// Makes a checkpoint durable in a folder that stands for the entry.
pub(super) fn write_checkpoint(folder: &DiskFolder, base: LogBase) -> Result<(), StorageError> {
    let LogBase { index, term, crc: log_crc } = base;
    let metadata = Engine::new(GroupId(0)).metadata().encode();
    let manifest = Manifest { index, term, log_crc, metadata, ..Manifest::default() };
    manifest.write(folder)
}

impl State {
    /// What it is after a step.
    pub(super) fn after(&self, step: &Step) -> Self {
        let mut state = self.clone();
        match step {
            Step::Open => state.founded = true,
            Step::WriteWatermark | Step::Cut { .. } | Step::Chore { meanwhile: None } | Step::Close => {}
            Step::Checkpoint(base) => state.base = Some(*base),
            Step::Install { theirs, base, batch } => {
                state = state.installed(theirs, *base).after(&Step::Persist(batch.clone()));
            }
            Step::Persist(batch) | Step::Chore { meanwhile: Some(batch) } => {
                if let Some(vote) = batch.vote {
                    state.vote = vote;
                }
                if let Some(first) = batch.entries.first() {
                    state.log.truncate(place(first.index));
                    state.log.extend(batch.entries.iter().cloned());
                }
                state.commit = state.commit.max(batch.commit);
            }
        }
        state
    }

    /// The state with the other members' checkpoint, without the entries that come with it. A log that agrees with it
    /// keeps what follows its entry.
    fn installed(&self, theirs: &[LogEntry], base: LogBase) -> Self {
        let log = if self.agrees(theirs) { self.log.clone() } else { theirs.to_vec() };
        Self { log, base: Some(base), commit: self.commit.max(base.index), ..self.clone() }
    }

    /// Whether the log has the last entry of others.
    pub(super) fn agrees(&self, theirs: &[LogEntry]) -> bool {
        self.log.starts_with(theirs)
    }

    /// The base of a checkpoint that stands for an entry, computed from the written log.
    pub(super) fn base_at(&self, index: u64) -> LogBase {
        base_of(&self.log[..place(index + 1)])
    }

    /// Index of the newest checkpoint's entry; 0 without one.
    pub(super) fn base_index(&self) -> u64 {
        self.base.map_or(0, |base| base.index)
    }
}

impl Expectation<'_> {
    /// Opens the disk in `root` and reads everything; if that is not enough, writes more and opens it again.
    /// Returns the state found first.
    pub(super) fn check(&self, root: &Path, thoroughly: bool) -> Result<State, Fault> {
        // A queue that is founded anew would take this id.
        let mut storage =
            DiskStorage::open_with(&options(root, [9; 16]), self.size).map_err(Fault::Refused)?;
        let founded = storage.storage_id() == [8; 16];
        let found = self.verify(&mut storage, founded)?;
        if !thoroughly {
            return Ok(found);
        }
        let next = LogEntry {
            index: found.log.len() as u64 + 1,
            term: found.log.last().map_or(1, |last| last.term),
            kind: EntryKind::Normal,
            data: b"after the power cut".as_slice().into(),
        };
        let batch = PersistBatch { vote: None, install: None, entries: vec![next], commit: found.commit };
        storage.persist(&batch).map_err(Fault::Refused)?;
        storage.write_watermark().map_err(Fault::Refused)?;
        storage.cut(found.base_index()).map_err(Fault::Refused)?;
        while let Some(chore) = storage.chore() {
            storage.chore_done(chore.run()).map_err(Fault::Refused)?;
        }
        drop(storage);
        let after = found.after(&Step::Persist(batch));
        let mut storage = open(root, self.size).map_err(Fault::Refused)?;
        Expectation { state: &after, under_way: None, size: self.size }.verify(&mut storage, founded)?;
        Ok(found)
    }

    /// Reads everything and compares.
    pub(super) fn verify(&self, storage: &mut DiskStorage, founded: bool) -> Result<State, Fault> {
        if self.state.founded && !founded {
            return Err(Fault::Wrong("a new queue stands in place of the old one".to_owned()));
        }
        let recovered = storage.recovered();
        if let Some(Step::Install { theirs, base, batch }) = self.under_way
            && recovered.first_index == base.index + 1
        {
            // The vote comes before the checkpoint. One that was there already says nothing of it.
            let is_new = self.state.base_index() != base.index;
            let vote = batch.vote.filter(|_| is_new).unwrap_or(self.state.vote);
            let state = State { vote, ..self.state.installed(theirs, *base) };
            let under_way = Some(&Step::Persist(batch.clone()));
            return Expectation { state: &state, under_way, size: self.size }.verify(storage, founded);
        }
        let checkpoint = self.checkpoint(&recovered)?;
        let base = recovered.first_index - 1;
        let mut log = self.state.log[..place(recovered.first_index)].to_vec();
        let mut visit = |entry| {
            log.push(entry);
            Ok(())
        };
        storage.replay(recovered.first_index, &mut visit).map_err(Fault::Refused)?;
        self.verify_log(&log)?;
        let asked = self.batch().and_then(|batch| batch.vote);
        if recovered.vote != self.state.vote && Some(recovered.vote) != asked {
            return Err(Fault::Wrong(format!("{:?} in place of {:?}", recovered.vote, self.state.vote)));
        }
        let commit_max = self.state.commit.max(self.batch().map_or(0, |batch| batch.commit));
        let Recovered { commit, last_index, last_term, .. } = recovered;
        let last = log.last().map_or((0, 0), |last| (last.index, last.term));
        let bounds = base..=commit_max.min(last_index);
        if !bounds.contains(&commit) || (last_index, last_term) != last {
            return Err(Fault::Wrong(format!("{recovered:?} with a log that ends at {last:?}")));
        }
        let commit = commit.max(self.state.commit);
        Ok(State { founded, log, base: checkpoint, vote: recovered.vote, commit })
    }

    /// The checkpoint behind which the log begins.
    fn checkpoint(&self, recovered: &Recovered) -> Result<Option<LogBase>, Fault> {
        let asked = match self.under_way {
            Some(Step::Checkpoint(base)) => Some(*base),
            _ => self.state.base,
        };
        let right = |base: &Option<LogBase>| base.map_or(0, |base| base.index) + 1 == recovered.first_index;
        let found = [self.state.base, asked].into_iter().find(right);
        found.ok_or_else(|| Fault::Wrong("the log begins where no checkpoint stands".to_owned()))
    }

    fn verify_log(&self, log: &[LogEntry]) -> Result<(), Fault> {
        let old = &self.state.log[..];
        let new = match self.under_way {
            Some(Step::Persist(batch) | Step::Chore { meanwhile: Some(batch) }) => &batch.entries[..],
            _ => &[],
        };
        let kept = match self.under_way {
            // From its entry on the log may not be that of the others.
            Some(Step::Install { theirs, base, .. }) if !self.state.agrees(theirs) => {
                old.len().min(place(base.index))
            }
            _ => new.first().map_or(old.len(), |first| place(first.index)),
        };
        let rest = log.get(kept..).unwrap_or_default();
        if log.starts_with(&old[..kept]) && (old[kept..].starts_with(rest) || new.starts_with(rest)) {
            return Ok(());
        }
        let same = log.iter().zip(old).take_while(|(found, written)| found == written).count();
        Err(Fault::Wrong(format!(
            "{} entries, of which {same} are those acknowledged; {} were, {kept} must be there",
            log.len(),
            old.len()
        )))
    }

    fn batch(&self) -> Option<&PersistBatch> {
        match self.under_way {
            Some(
                Step::Persist(batch) | Step::Install { batch, .. } | Step::Chore { meanwhile: Some(batch) },
            ) => Some(batch),
            _ => None,
        }
    }
}

/// What a log begins after that follows these entries.
pub(super) fn base_of(log: &[LogEntry]) -> LogBase {
    log.iter().fold(LogBase::root(CLUSTER_ID), LogBase::after)
}

fn options(root: &Path, storage_id: [u8; 16]) -> OpenOptions {
    OpenOptions { path: root.to_owned(), node: 1, cluster_id: CLUSTER_ID, storage_id, founder: true }
}

fn place(index: u64) -> usize {
    usize::try_from(index - 1).expect("it fits into memory")
}
