//! The newest record of the journal is damaged, at every stage of a node's life. The watermark names it: so each start is
//! refused, whichever files have come and gone since the record was written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use adjourn_engine::Engine;
use adjourn_storage::chunks::Manifest;
use adjourn_storage::folder::DiskFolder;
use adjourn_storage::journal::layout::{BLOCK_BYTES, HEADER_BYTES, Head, Header, RECORDS_AT};
use adjourn_storage::{
    Chore, DiskStorage, EntryKind, JournalSize, LogBase, LogEntry, PersistBatch, Storage as _, StorageError,
    StorageErrorKind, Vote,
};
use adjourn_types::GroupId;
use tempfile::TempDir;

use crate::storage::faults::{copy_into, directory, options};

const STORAGE_ID: [u8; 16] = [8; 16];
/// Larger than the first two files, so that these go with the first checkpoint; and few, so that the archive is needed.
const SIZE: JournalSize = JournalSize { file_bytes: 2 << 20, files_max: 3 };
/// Bytes of an entry.
const ENTRY_BYTES: usize = 150_000;

/// A node's storage, and what it has acknowledged.
struct Life {
    directory: TempDir,
    storage: Option<DiskStorage>,
    log: Vec<LogEntry>,
    base: u64,
    vote: Vote,
    refused: usize,
}

#[test]
fn each_start_of_a_life_is_refused() {
    let mut life = Life::begin();
    life.write(1);
    life.is_refused("the first entries");
    life.write(8);
    life.is_refused("the second file");
    life.checkpoint();
    life.is_refused("the first checkpoint");
    life.restart();
    life.is_refused("a kill");
    for _ in 0..6 {
        life.write(7);
        life.do_chores();
        life.checkpoint();
        life.is_refused("one of many checkpoints");
    }
    life.stop();
    life.is_refused("a clean stop");
    let late = loop {
        life.write(3);
        if let Some(chore) = life.storage().chore() {
            break chore;
        }
    };
    life.write(90);
    life.is_refused("growth while a chore is under way");
    life.chore_done(late);
    life.do_chores();
    life.is_refused("chores that archive");
    life.checkpoint();
    life.is_refused("a checkpoint after that");
    life.do_chores();
    life.is_refused("the archive is empty again");
    life.restart();
    life.is_refused("a kill after that");
    life.install(3);
    life.write(2);
    life.is_refused("a checkpoint of another member");
    life.install(0);
    life.is_refused("one that agrees with the log");
    life.write(2);
    life.checkpoint();
    life.restart();
    life.is_refused("the end");
    assert_eq!(life.refused, 19);
}

impl Life {
    fn begin() -> Self {
        let mut life = Self {
            directory: directory(),
            storage: None,
            log: Vec::new(),
            base: 0,
            vote: Vote::default(),
            refused: 0,
        };
        life.restart();
        life
    }

    fn storage(&mut self) -> &mut DiskStorage {
        self.storage.as_mut().expect("it is open")
    }

    /// A process ends, however, and another one starts.
    fn restart(&mut self) {
        self.storage = None;
        let mut storage = open(self.directory.path()).expect("it opens");
        let found = replayed(&mut storage).expect("whole");
        assert_eq!(found, self.log[place(self.base)..], "what was acknowledged is there");
        assert_eq!(storage.recovered().commit, self.log.len() as u64);
        self.storage = Some(storage);
    }

    /// The same, after a clean stop.
    fn stop(&mut self) {
        self.storage().write_watermark().expect("written");
        self.restart();
    }

    /// Some entries, one a batch; the last one changes the members, and becomes known to be committed.
    fn write(&mut self, entries: usize) {
        for number in 1..=entries {
            let index = self.log.len() as u64 + 1;
            let kind = if number == entries { EntryKind::ConfChange } else { EntryKind::Normal };
            let term = self.vote.term;
            let data = vec![index.to_le_bytes()[0]; ENTRY_BYTES].into();
            let entry = LogEntry { index, term, kind, data };
            let batch = PersistBatch { entries: vec![entry.clone()], ..PersistBatch::default() };
            self.storage().persist(&batch).expect("written");
            self.log.push(entry);
        }
        let commit = self.log.len() as u64;
        self.storage().persist(&PersistBatch { commit, ..PersistBatch::default() }).expect("written");
    }

    fn checkpoint(&mut self) {
        let index = self.log.len() as u64;
        let base = self.storage().base_at(index).expect("it is in the log");
        write_manifest(self.storage().chunks(), base);
        self.storage().cut(index).expect("cut");
        self.base = index;
    }

    /// A checkpoint of another member, `ahead` entries beyond the log, with a vote.
    fn install(&mut self, ahead: u64) {
        let term = self.vote.term + 1;
        let index = self.log.len() as u64 + ahead;
        for index in self.log.len() as u64 + 1..=index {
            let (kind, data) = (EntryKind::Normal, vec![1; 10].into());
            self.log.push(LogEntry { index, term, kind, data });
        }
        let root = LogBase::root([7; 16]);
        let base = self.log.iter().fold(root, LogBase::after);
        write_manifest(&self.storage().incoming(), base);
        self.vote = Vote { term, vote: 2 };
        let batch = PersistBatch {
            vote: Some(self.vote),
            install: Some(index),
            commit: index,
            ..PersistBatch::default()
        };
        self.storage().persist(&batch).expect("installed");
        self.base = index;
    }

    fn do_chores(&mut self) {
        while let Some(chore) = self.storage().chore() {
            self.chore_done(chore);
        }
    }

    fn chore_done(&mut self, chore: Chore) {
        self.storage().chore_done(chore.run()).expect("done");
    }

    /// The watermark has been written since. Whatever becomes of the newest record, a start is refused.
    fn is_refused(&mut self, when: &str) {
        self.storage().write_watermark().expect("written");
        let (path, at, bytes) = newest_record(self.directory.path());
        for place in [at + 3, at + HEADER_BYTES - 1, at + HEADER_BYTES, at + bytes - 1] {
            let copy = directory();
            copy_into(self.directory.path(), copy.path());
            let path = copy.path().join("log").join(path.file_name().expect("a name"));
            let mut file = fs::read(&path).expect("read");
            file[place] ^= 1 << (place % 8);
            fs::write(&path, file).expect("written");
            let outcome = open(copy.path())
                .and_then(|mut storage| replayed(&mut storage).map(|log| (log.len(), storage.recovered())));
            let error = outcome.map_err(Box::new).expect_err(when);
            assert_eq!(error.kind(), StorageErrorKind::Damaged, "{when}: {error}");
        }
        self.refused += 1;
    }
}

/// The newest record: its file, where it stands there, and its length.
fn newest_record(root: &Path) -> (PathBuf, usize, usize) {
    let salt = crc32c::crc32c(&STORAGE_ID);
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root.join("log")).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(&path).expect("read");
        let Some(head) = Head::decode(salt, &bytes[..BLOCK_BYTES]) else { continue };
        let mut at = usize::try_from(RECORDS_AT).expect("small");
        for sequence in head.sequence.. {
            let header = bytes.get(at..).and_then(|rest| Header::decode(salt, rest.first_chunk()?));
            let Some(header) = header.filter(|header| header.sequence == sequence) else { break };
            let length = HEADER_BYTES + header.length;
            found.insert((head.number, sequence), (path.clone(), at, length));
            at += length;
        }
    }
    found.pop_last().expect("there are records").1
}

fn write_manifest(folder: &DiskFolder, base: LogBase) {
    let LogBase { index, term, crc: log_crc } = base;
    let metadata = Engine::new(GroupId(0)).metadata().encode();
    Manifest { index, term, log_crc, metadata, ..Manifest::default() }.write(folder).expect("written");
}

fn replayed(storage: &mut DiskStorage) -> Result<Vec<LogEntry>, StorageError> {
    let mut log = Vec::new();
    let mut visit = |entry| {
        log.push(entry);
        Ok(())
    };
    storage.replay(storage.recovered().first_index, &mut visit)?;
    Ok(log)
}

fn open(root: &Path) -> Result<DiskStorage, StorageError> {
    DiskStorage::open_with(&options(root), SIZE)
}

fn place(index: u64) -> usize {
    usize::try_from(index).expect("it fits into memory")
}
