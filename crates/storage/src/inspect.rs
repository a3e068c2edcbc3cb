//! Reads a data directory and checks it, without changing anything.
//!
//! No process may have the directory open meanwhile; the lock is held, and its file is not changed. sled writes when
//! it opens a database, so a copy of `log/` is read, in a temporary folder that is removed afterwards.
//!
//! Damage is collected, not returned: an operator wants to see all of it.

use std::fs::{self, DirBuilder};
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::audit::{Depth, audit, damage};
use super::chunks::{self, Manifest, PagesSummary};
use super::directory::Directory;
use super::folder::{Folder, FolderFile as _};
use super::identity::Identity;
use super::journal::JournalSize;
use super::log::Log;
use super::recover::{Unreadable, UnreadableJob};
use super::{Damage, EntryKind, LogBase, LogEntry, StorageError, Vote};
use adjourn_engine::{StateMetadata, TopicCounts};
use adjourn_types::Millis;

/// The findings in a data directory.
#[derive(Debug)]
pub struct Inspection {
    /// Whose data it is; `None` if that cannot be read.
    pub identity: Option<IdentityReport>,
    /// Term and vote; `None` if they cannot be read.
    pub vote: Option<Vote>,
    /// How far the log was durable; `None` if it cannot be read.
    pub watermark: Option<WatermarkReport>,
    /// The extent of the log; `None` if it cannot be read.
    pub log: Option<LogReport>,
    /// The log's entries after the checkpoint that change the members.
    pub changes: Vec<LogEntry>,
    /// The newest checkpoint; `None` if there is none, or its manifest cannot be read.
    pub checkpoint: Option<CheckpointReport>,
    /// Files among those of the checkpoint that it does not list: the next start removes them.
    pub unlisted: Vec<FileReport>,
    /// Jobs in the checkpoint with an unreadable part, if these jobs can be identified.
    pub unreadable: Vec<UnreadableJob>,
    /// Everything that is wrong.
    pub damage: Vec<StorageError>,
}

/// Whose data it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentityReport {
    /// The node's number in its group.
    pub node: u64,
    /// The cluster.
    pub cluster_id: [u8; 16],
    /// This copy of the data.
    pub storage_id: [u8; 16],
    /// True if the cluster began here.
    pub founder: bool,
}

/// How far the log is known to have been durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkReport {
    /// Index of the last entry that was durable.
    pub durable: u64,
    /// Index of the last entry that was known to be committed.
    pub commit: u64,
}

/// The extent of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogReport {
    /// The entry that the checkpoint stands for: the needed part of the log begins after it.
    pub base: u64,
    /// Index of the last entry; the base if there is none after it.
    pub last: u64,
    /// Its term.
    pub last_term: u64,
    /// Bytes of the entries after the base.
    pub entry_bytes: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
}

/// A checkpoint, as its manifest describes it.
#[derive(Clone, Debug)]
pub struct CheckpointReport {
    /// Its number, from 1.
    pub number: u64,
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The members that vote.
    pub voters: Vec<u64>,
    /// The members that do not.
    pub learners: Vec<u64>,
    /// Hash of the state.
    pub state_hash: u128,
    /// Jobs in the state.
    pub jobs: u64,
    /// The wall clock at the last entry; `None` if the metadata of the state cannot be read, and then there are no topics.
    pub wall: Option<Millis>,
    /// The topics, by number.
    pub topics: Vec<TopicCounts>,
    /// The chunks, by number.
    pub chunks: Vec<ChunkReport>,
    /// The page files.
    pub pages: Vec<PagesReport>,
}

/// A chunk, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkReport {
    /// Its file.
    pub file: FileReport,
    /// Rows in it.
    pub rows: u32,
    /// Rows that are still needed.
    pub live: u32,
    /// Those that are spilled jobs.
    pub spilled: u32,
    /// When the first and the last of its timers fire; `None` if it has no row.
    pub due: Option<[Millis; 2]>,
    /// Topics by number, and how many rows each has.
    pub topics: Vec<(u32, u32)>,
}

/// A page file, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagesReport {
    /// Its file.
    pub file: FileReport,
    /// Resident jobs in it.
    pub entries: u64,
}

/// A file, or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Its length; of a folder, the length of its files.
    pub bytes: u64,
}

/// Inspects the data directory `path`, and changes nothing in it. `scratch` is a folder that does not exist yet: the
/// log is copied there, and removed again.
///
/// # Errors
///
/// Only for causes other than damage: another process has the directory, there is none, or the system refuses to read it.
pub fn inspect(path: &Path, scratch: &Path, depth: Depth) -> Result<Inspection, StorageError> {
    let directory = Directory::look(path)?;
    let mut found = Found::default();
    let identity = found.take(directory.identity())?.flatten();
    let mut manifest = None;
    let (mut unlisted, mut unreadable) = (Vec::new(), Vec::new());
    if let Some(folder) = directory.existing_chunks()? {
        manifest = found.take(Manifest::read(&folder))?.flatten();
        if let Some(manifest) = &manifest {
            let damage = audit(&folder, manifest, depth, |_| {})?;
            if depth == Depth::Whole && !damage.is_empty() {
                // If this fails, the audit has reported the reason.
                unreadable = Unreadable::find(&folder, manifest).unwrap_or_default().into_jobs();
            }
            found.damage.extend(damage);
        }
        unlisted = unlisted_files(&folder, manifest.as_ref())?;
    }
    let mut read = LogRead::default();
    if let Some(identity) = identity {
        let base = manifest.as_ref().map_or(LogBase::root(identity.cluster_id), Manifest::base);
        let mut outcome = read_log(&directory, scratch, identity, base, &mut read);
        if manifest.is_none() && outcome.as_ref().is_err_and(StorageError::is_of_cut_log) {
            outcome = directory.refuse_lost_manifest().and(outcome);
        }
        found.take(outcome)?;
    }
    Ok(Inspection {
        identity: identity.map(|found| {
            let Identity { node, cluster_id, storage_id, founder } = found;
            IdentityReport { node, cluster_id, storage_id, founder }
        }),
        vote: read.vote,
        watermark: read.watermark,
        log: read.log,
        changes: read.changes,
        checkpoint: manifest.as_ref().map(CheckpointReport::new),
        unlisted,
        unreadable,
        damage: found.damage,
    })
}

/// The damage found so far.
#[derive(Default)]
struct Found {
    damage: Vec<StorageError>,
}

impl Found {
    /// Returns the read value. If it is damaged, notes the damage and returns `None`.
    fn take<T>(&mut self, outcome: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
        let mut read = None;
        let noted = damage(outcome.map(|value| read = Some(value)))?;
        self.damage.extend(noted);
        Ok(read)
    }
}

impl CheckpointReport {
    /// Describes the checkpoint of a manifest.
    pub fn new(manifest: &Manifest) -> Self {
        let metadata = StateMetadata::decode(&manifest.metadata).ok();
        let wall = |metadata: &StateMetadata| {
            Millis(metadata.stamp().0.saturating_add_signed(metadata.clock_offset_ms()))
        };
        let chunks = manifest.chunks.iter().map(|listed| {
            let summary = &listed.summary;
            let first = summary.topics.iter().map(|topic| topic.first_at).min();
            let last = summary.topics.iter().map(|topic| topic.last_at).max();
            ChunkReport {
                file: FileReport { name: chunks::chunk_name(summary.number), bytes: summary.bytes },
                rows: summary.rows,
                live: listed.live.count(),
                spilled: listed.spilled.count(),
                due: first.zip(last).map(|(first, last)| [Millis(first), Millis(last)]),
                topics: summary.topics.iter().map(|topic| (topic.topic, topic.rows)).collect(),
            }
        });
        Self {
            number: manifest.checkpoint,
            index: manifest.index,
            term: manifest.term,
            voters: manifest.voters.clone(),
            learners: manifest.learners.clone(),
            state_hash: manifest.state_hash,
            jobs: manifest.jobs,
            wall: metadata.as_ref().map(wall),
            topics: metadata.iter().flat_map(StateMetadata::topics).collect(),
            chunks: chunks.collect(),
            pages: manifest.pages.iter().map(pages_report).collect(),
        }
    }
}

fn pages_report(pages: &PagesSummary) -> PagesReport {
    let file = FileReport { name: chunks::pages_name(pages.id), bytes: pages.bytes };
    PagesReport { file, entries: pages.entries }
}

/// The files in the folder that the manifest does not list.
fn unlisted_files<F: Folder>(
    folder: &F,
    manifest: Option<&Manifest>,
) -> Result<Vec<FileReport>, StorageError> {
    let mut files = Vec::new();
    for name in chunks::unlisted(folder, manifest)? {
        let bytes = folder.open(&name)?.map_or(Ok(0), |file| file.bytes())?;
        files.push(FileReport { name, bytes });
    }
    Ok(files)
}

/// The findings in a log.
#[derive(Default)]
struct LogRead {
    vote: Option<Vote>,
    watermark: Option<WatermarkReport>,
    log: Option<LogReport>,
    changes: Vec<LogEntry>,
}

/// Reads all of a copy of the log into `read`.
fn read_log(
    directory: &Directory,
    scratch: &Path,
    identity: Identity,
    base: LogBase,
    read: &mut LogRead,
) -> Result<(), StorageError> {
    let log = directory.log_place(identity, JournalSize::default())?;
    let Some(log) = log else {
        let damage = Damage::LogMissing;
        return Err(StorageError::Damaged { path: directory.path().to_owned(), damage });
    };
    let copy = Copy::of(log.folder.path(), scratch)?;
    let place = directory.place_in(&copy.path, identity, JournalSize::default());
    let (mut log, found, obstacle) = Log::find(place, base)?;
    read.vote = Some(log.vote());
    read.watermark = Some(WatermarkReport { durable: found.durable, commit: log.commit_index() });
    let mut entry_bytes = 0;
    log.scan(base.index + 1, &mut |entry| {
        entry_bytes += entry.data.len() as u64;
        if entry.kind == EntryKind::ConfChange {
            read.changes.push(entry);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(obstacle) = obstacle {
        return Err(obstacle);
    }
    let LogBase { index: last, term: last_term, .. } =
        if log.end().index < base.index { base } else { log.end() };
    let file_bytes = copy.bytes;
    read.log = Some(LogReport { base: base.index, last, last_term, entry_bytes, file_bytes });
    Ok(())
}

/// A copy of a folder. Dropping it removes the copy.
struct Copy {
    path: PathBuf,
    bytes: u64,
}

impl Copy {
    fn of(from: &Path, to: &Path) -> Result<Self, StorageError> {
        // Only the owner may read the pushed jobs.
        let made = DirBuilder::new().mode(0o700).create(to);
        made.map_err(|error| StorageError::io("create", to, error))?;
        let mut copy = Self { path: to.to_owned(), bytes: 0 };
        if from.is_dir() {
            copy.bytes = copy_files(from, to)?;
        }
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // After a failure the files stay among temporary files: the system removes them.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<u64, StorageError> {
    let mut bytes = 0;
    let fail = |error| StorageError::io("read", from, error);
    for entry in fs::read_dir(from).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            fs::create_dir(&target).map_err(|error| StorageError::io("create", &target, error))?;
            bytes += copy_files(&source, &target)?;
        } else {
            bytes +=
                fs::copy(&source, &target).map_err(|error| StorageError::io("copy to", &target, error))?;
        }
    }
    Ok(bytes)
}
