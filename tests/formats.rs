//! Bytes on disk that an older binary wrote, under `tests/formats/`: today's reads them, and writes the same.
//!
//! The files are never edited. `ADJOURN_WRITE_FORMATS=1 cargo test --test all formats` writes those that do not
//! exist, for a new version or a new command.

use std::fs;
use std::path::{Path, PathBuf};

use adjourn::engine::{
    BulkChange, Command, Conditions, Entry, EntryBuilder, JobSelect, KeyedJob, NewJob, Share, TopicSelect,
};
use adjourn::storage::{
    DiskStorage, EntryKind, JournalSize, LogEntry, OpenOptions, PersistBatch, Recovered, Storage as _, Vote,
};
use adjourn::types::{
    Attributes, AttributesBuilder, Backoff, BackoffCurve, BuryReason, Fence, GroupId, IfExists, JobId, Lease,
    Millis, RetryDefaults, SessionId, SessionSecret, TopicId, When,
};
use bytes::Bytes;
use tempfile::TempDir;

/// So many kinds of commands are in the frozen entries.
const COMMANDS: usize = 33;
const STAMP: Millis = Millis(1_790_000_000_000);
const CLUSTER_ID: [u8; 16] = *b"a cluster's id 1";
const STORAGE_ID: [u8; 16] = *b"one copy of data";
const NODE: u64 = 0x0102_0304_0506_0708;
const VOTE: Vote = Vote { term: 7, vote: 3 };
const GROUP: GroupId = GroupId(0);

#[test]
fn an_entry_with_every_command() {
    let attributes = attributes();
    let commands = commands(&attributes);
    let later = vec![
        Command::KickMany { topic: TopicSelect::Name("orders.unpaid"), jobs_max: 1000 },
        Command::KickMany { topic: TopicSelect::Id(TopicId(70_000)), jobs_max: 0 },
    ];
    let latest = vec![Command::ReserveNamed {
        session: SessionId(9),
        topics: vec![TopicSelect::Name("orders.unpaid"), TopicSelect::Id(TopicId(70_000))],
        jobs_max: 64,
        bytes_max: 1 << 40,
    }];
    let lease = Lease { job: JobId::new(GROUP, 70_000), fence: Fence(70_000 << 20) };
    let reasons = vec![
        Command::ReleaseBecause {
            leases: vec![lease],
            delay_ms: Some(5000),
            attempted: true,
            reason: "no such address",
        },
        Command::ReleaseBecause { leases: Vec::new(), delay_ms: None, attempted: false, reason: "" },
        Command::BuryBecause { leases: vec![lease], reason: "später" },
    ];
    let weighted = vec![Command::ReserveWeighted {
        session: SessionId(9),
        shares: vec![
            Share { topic: TopicSelect::Name("orders.unpaid"), weight: 300, standing: -5 },
            Share { topic: TopicSelect::Id(TopicId(70_000)), weight: 1, standing: 1 << 40 },
        ],
        jobs_max: 64,
        bytes_max: 1 << 40,
    }];
    let bulk = bulk_changes();
    let policy =
        vec![Command::TopicPolicy { topic: TopicSelect::Name("orders.unpaid"), change: &[1, 0, 0, 0] }];
    let modes = vec![push_modes()];
    let (to_topics, topics) =
        (moves(), vec![Command::TopicDelete { topic: TopicSelect::Name("orders.unpaid") }]);
    let level_4 = known_and_unchanged();
    let all = [
        &commands, &later, &latest, &reasons, &weighted, &bulk, &modes, &policy, &to_topics, &topics,
        &level_4,
    ];
    let mut kinds: Vec<usize> = all.into_iter().flatten().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, (0..COMMANDS).collect::<Vec<_>>(), "every command is in it");

    let files = [
        ("entry-v1.bin", commands),
        ("entry-v1-level-2.bin", later),
        ("entry-v1-level-3.bin", latest),
        ("entry-v1-level-3-reasons.bin", reasons),
        ("entry-v1-weighted.bin", weighted),
        ("entry-v1-bulk.bin", bulk),
        ("entry-v1-policy.bin", policy),
        ("entry-v1-push-modes.bin", modes),
        ("entry-v1-moves.bin", to_topics),
        ("entry-v1-topic-delete.bin", topics),
        ("entry-v1-level-4.bin", level_4),
    ];
    for (name, commands) in files {
        let frozen = frozen(name, || entry(&commands));
        assert_eq!(Entry::decode(&frozen), Ok(Entry { stamp: STAMP, commands: commands.clone() }));
        assert_eq!(entry(&commands), frozen, "{name}: the encoder writes other bytes");
    }
}

/// A push that came with feature level 3, of every later mode.
fn push_modes() -> Command<'static> {
    let any = NewJob {
        due: When::After(5000),
        priority: 1024,
        ttr_ms: 60_000,
        if_exists: IfExists::ReplaceReserved,
        key: Some(b"order 17"),
        attributes: &[],
        body: b"any",
    };
    let postponing = NewJob {
        if_exists: IfExists::Postpone,
        attributes: &[9, 0, 8, 0, 0x60, 0xea, 0, 0, 0, 0, 0, 0],
        body: b"later",
        ..any
    };
    let topic = TopicSelect::Name("orders.unpaid");
    Command::Push { session: SessionId(300), sequence: 9, topic, jobs: vec![any, postponing] }
}

fn known_and_unchanged() -> Vec<Command<'static>> {
    let Command::Push { topic, jobs, .. } = push_modes() else { unreachable!("a push") };
    let by_key = JobSelect::Key { topic, key: b"order 17" };
    vec![
        Command::PushIdempotent { owner: 1 << 63, key: 0xc0 << 120 | 7, list_jobs: 70_000, topic, jobs },
        Command::RescheduleIf { job: by_key, due: When::After(250), version: u64::MAX },
        Command::RetryDefaults { defaults: RetryDefaults::default() },
        Command::RetryDefaults { defaults: RetryDefaults::NONE },
    ]
}

fn bulk_changes() -> Vec<Command<'static>> {
    vec![
        Command::Bulk {
            change: BulkChange::Reschedule { due: STAMP },
            jobs: vec![JobId::new(GROUP, 70_000), JobId(1)],
            conditions: Conditions {
                states: 0b1001,
                due_from: Some(Millis(1)),
                due_before: Some(STAMP),
                attempts_min: Some(300),
                attempts_max: None,
                buried: Some(BuryReason::AttemptsUsedUp),
                reason: Some("address"),
            },
        },
        Command::Bulk { change: BulkChange::Delete, jobs: Vec::new(), conditions: Conditions::default() },
        Command::Bulk { change: BulkChange::Kick, jobs: Vec::new(), conditions: Conditions::default() },
        Command::Bulk { change: BulkChange::RunNow, jobs: Vec::new(), conditions: Conditions::default() },
    ]
}

fn moves() -> Vec<Command<'static>> {
    let conditions =
        Conditions { states: 0b1000, buried: Some(BuryReason::Consumer), ..Conditions::default() };
    let topic = TopicSelect::Name("orders.unpaid");
    vec![
        Command::BulkIn { topic, change: BulkChange::Delete, jobs: vec![JobId(1)], conditions },
        Command::Move {
            from: Some(topic),
            to: TopicSelect::Name("orders.failed"),
            jobs: vec![
                KeyedJob { job: JobId::new(GROUP, 70_000), key: Some(b"order 17") },
                KeyedJob { job: JobId(1), key: None },
            ],
            conditions,
        },
        Command::Move {
            from: None,
            to: TopicSelect::Id(TopicId(70_000)),
            jobs: Vec::new(),
            conditions: Conditions::default(),
        },
    ]
}

/// One of format 1 is taken over: all of it is found, and the next start finds it as well.
#[test]
fn a_data_directory_of_format_1() {
    let copy = TempDir::new().expect("a directory");
    fs::create_dir_all(copy.path().join("log/blobs")).expect("made");
    for name in ["identity", "vote", "watermark", "log/conf", "log/db"] {
        let missing = || panic!("no binary of today writes {name}");
        fs::write(copy.path().join(name), frozen(&format!("directory-v1/{name}"), missing)).expect("written");
    }
    holds_the_log(copy.path());
    for gone in ["vote", "watermark", "log.1", "log/db"] {
        assert!(!copy.path().join(gone).exists(), "{gone} is still there");
    }
    let identity = fs::read(copy.path().join("identity")).expect("the file");
    assert_eq!(identity, frozen("directory-v2/identity", || panic!("the other test writes it")));
    holds_the_log(copy.path());
}

#[test]
fn a_data_directory() {
    let written = TempDir::new().expect("a directory");
    let mut storage = open(written.path());
    let batch = PersistBatch { vote: Some(VOTE), install: None, entries: log(), commit: 2 };
    storage.persist(&batch).expect("written");
    storage.write_watermark().expect("written");
    drop(storage);
    let copy = TempDir::new().expect("a directory");
    fs::create_dir(copy.path().join("log")).expect("made");
    for name in ["identity", "log/journal-00"] {
        let today = fs::read(written.path().join(name)).expect("the file");
        let frozen = frozen(&format!("directory-v2/{name}"), || today.clone());
        assert!(today == frozen, "{name} is written with other bytes");
        fs::write(copy.path().join(name), frozen).expect("written");
    }
    let names = |folder: &Path| fs::read_dir(folder).expect("the folder").count();
    assert_eq!(names(&written.path().join("log")), 1, "all files of the log are frozen");
    holds_the_log(copy.path());
}

/// Opens a directory, which holds [`log`] and what belongs to it.
fn holds_the_log(path: &Path) {
    let mut storage = open(path);
    assert_eq!((storage.cluster_id(), storage.storage_id()), (CLUSTER_ID, STORAGE_ID));
    let expected = Recovered { vote: VOTE, commit: 2, first_index: 1, last_index: 3, last_term: 7 };
    assert_eq!(storage.recovered(), expected);
    let mut entries = Vec::new();
    let mut visit = |entry| {
        entries.push(entry);
        Ok(())
    };
    storage.replay(1, &mut visit).expect("every entry verifies");
    assert_eq!(entries, log());
}

/// The bytes of a frozen file. One that does not exist is written, on demand alone, and never another.
pub(crate) fn frozen(name: &str, today: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "formats", name].iter().collect();
    if std::env::var_os("ADJOURN_WRITE_FORMATS").is_some() && !path.exists() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, today()).expect("written");
    }
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn open(path: &Path) -> DiskStorage {
    let path = path.to_owned();
    let options =
        OpenOptions { path, node: NODE, cluster_id: CLUSTER_ID, storage_id: STORAGE_ID, founder: true };
    // Small, so that the frozen file is.
    let size = JournalSize { file_bytes: 32 << 10, files_max: 3 };
    DiskStorage::open_with(&options, size).expect("it opens")
}

/// The empty entry of a new leader, one of commands, and one that took two values in format 1.
fn log() -> Vec<LogEntry> {
    let attributes = attributes();
    let long: Vec<u8> = (0..20_000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
    vec![
        LogEntry { index: 1, term: 1, kind: EntryKind::Normal, data: Bytes::new() },
        LogEntry { index: 2, term: 7, kind: EntryKind::Normal, data: entry(&commands(&attributes)).into() },
        LogEntry { index: 3, term: 7, kind: EntryKind::ConfChange, data: long.into() },
    ]
}

fn entry(commands: &[Command<'_>]) -> Vec<u8> {
    let mut builder = EntryBuilder::default();
    for command in commands {
        builder.push(command);
    }
    builder.finish(STAMP)
}

fn attributes() -> Attributes {
    let curve = BackoffCurve::Exponential { first_ms: 1500, max_ms: 3_600_000 };
    let backoff = Backoff { curve, jitter_percent: 20 };
    AttributesBuilder::default()
        .header("trace", "4bf92f35")
        .expires(When::At(Millis(1_790_000_086_400)))
        .attempts_max(25)
        .backoff(&backoff)
        .build()
        .expect("they are valid")
}

/// Every command of feature level 1, with every variant of what it holds.
fn commands(attributes: &Attributes) -> Vec<Command<'_>> {
    let session = SessionId(300);
    let job = JobId::new(GROUP, 70_000);
    let topic = TopicSelect::Name("orders.unpaid");
    let by_key = JobSelect::Key { topic: TopicSelect::Id(TopicId(2)), key: b"order 17" };
    let lease = |sequence| Lease { job: JobId::new(GROUP, sequence), fence: Fence(sequence << 20) };
    let leases = vec![lease(1), lease(70_000)];
    let whole = NewJob {
        due: When::At(Millis(1_790_000_060_000)),
        priority: 1024,
        ttr_ms: 60_000,
        if_exists: IfExists::Reject,
        key: Some(b"order 17"),
        attributes: attributes.as_bytes(),
        body: b"\x00\x01binary\xff",
    };
    let bare = NewJob {
        due: When::After(0),
        priority: 0,
        ttr_ms: 100,
        if_exists: IfExists::Keep,
        key: None,
        attributes: &[],
        body: &[],
    };
    let replacing =
        NewJob { due: When::After(u64::MAX), if_exists: IfExists::Replace, key: Some(b""), ..bare };
    let secret = SessionSecret([0xa5; 16]);
    vec![
        Command::Genesis { key_secret: [0x3c; 16] },
        Command::ClockOffset { offset_ms: -86_400_000 },
        Command::SessionOpen { secret, leases_outlive: true },
        Command::SessionResume { session, secret },
        Command::SessionLapse { session },
        Command::SessionClose { session },
        Command::Push { session, sequence: 9, topic, jobs: vec![whole, bare, replacing] },
        Command::Push {
            session: SessionId(0),
            sequence: 0,
            topic: TopicSelect::Id(TopicId(70_000)),
            jobs: Vec::new(),
        },
        Command::Reserve {
            session,
            topics: vec![TopicId(0), TopicId(300)],
            jobs_max: 64,
            bytes_max: 1 << 40,
        },
        Command::Finish { leases: leases.clone() },
        Command::Release { leases: leases.clone(), delay_ms: Some(5000), attempted: true },
        Command::Release { leases: Vec::new(), delay_ms: None, attempted: false },
        Command::Touch { leases: leases.clone(), ttr_ms: Some(30_000) },
        Command::Touch { leases: leases.clone(), ttr_ms: None },
        Command::Bury { leases },
        Command::Delete { job: JobSelect::Id(job) },
        Command::Reschedule { job: by_key, due: When::After(250) },
        Command::RunNow { job: by_key },
        Command::Kick { job: JobSelect::Id(job) },
        Command::TopicPause { topic, paused: true },
        Command::SkipIds { floor: 3_476_000_000_000_000 },
        Command::MemberSet {
            node: 3,
            storage_id: [0x5a; 16],
            peer_address: "10.0.0.3:7441",
            client_address: "10.0.0.3:7440",
        },
        Command::FeatureLevel { level: 2 },
    ]
}

/// The number of each kind. A new one gets a number here, and a new frozen entry.
fn kind(command: &Command<'_>) -> usize {
    match command {
        Command::Genesis { .. } => 0,
        Command::ClockOffset { .. } => 1,
        Command::SessionOpen { .. } => 2,
        Command::SessionResume { .. } => 3,
        Command::SessionLapse { .. } => 4,
        Command::SessionClose { .. } => 5,
        Command::Push { .. } => 6,
        Command::Reserve { .. } => 7,
        Command::Finish { .. } => 8,
        Command::Release { .. } => 9,
        Command::Touch { .. } => 10,
        Command::Bury { .. } => 11,
        Command::Delete { .. } => 12,
        Command::Reschedule { .. } => 13,
        Command::RunNow { .. } => 14,
        Command::Kick { .. } => 15,
        Command::TopicPause { .. } => 16,
        Command::SkipIds { .. } => 17,
        Command::MemberSet { .. } => 18,
        Command::FeatureLevel { .. } => 19,
        Command::KickMany { .. } => 20,
        Command::ReserveNamed { .. } => 21,
        Command::ReleaseBecause { .. } => 22,
        Command::BuryBecause { .. } => 23,
        Command::ReserveWeighted { .. } => 24,
        Command::Bulk { .. } => 25,
        Command::BulkIn { .. } => 26,
        Command::Move { .. } => 27,
        Command::TopicDelete { .. } => 28,
        Command::TopicPolicy { .. } => 29,
        Command::PushIdempotent { .. } => 30,
        Command::RescheduleIf { .. } => 31,
        Command::RetryDefaults { .. } => 32,
    }
}
