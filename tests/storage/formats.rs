//! Bytes on disk, as they are under `tests/formats/`: today's code reads them, and writes the same. See the README there.
//!
//! `ADJOURN_WRITE_FORMATS=1 cargo test --test all` writes those that do not exist.

use std::fs;
use std::path::{Path, PathBuf};

use adjourn_engine::{
    BulkChange, Command, Conditions, EditedRecord, Entry, EntryBuilder, GroupChange, JobEdit, JobSelect,
    JobTemplate, KeyedJob, NewFiring, NewJob, NewSchedule, Record, Share, SkippedInstants, Tick, TopicOrder,
};
use adjourn_storage::{
    DiskStorage, EntryKind, JournalSize, LogEntry, OpenOptions, PersistBatch, Recovered, Storage as _, Vote,
};
use adjourn_types::{
    AttributeSet, Attributes, AttributesBuilder, Backoff, BackoffCurve, BuryReason, Fence, GroupId, IfExists,
    JobId, Lease, Millis, Overlap, RetryDefaults, ScheduleBefore, SessionId, SessionSecret, SkipReason, When,
};
use bytes::Bytes;
use tempfile::TempDir;

/// So many kinds of commands are in the frozen entry.
const COMMANDS: usize = 35;
const STAMP: Millis = Millis(1_790_000_000_000);
const CLUSTER_ID: [u8; 16] = *b"a cluster's id 1";
const STORAGE_ID: [u8; 16] = *b"one copy of data";
const NODE: u64 = 0x0102_0304_0506_0708;
const VOTE: Vote = Vote { term: 7, vote: 3 };
const GROUP: GroupId = GroupId(0);
const TOPIC: &str = "orders.unpaid";

#[test]
fn an_entry_with_every_command() {
    let attributes = attributes();
    let commands = commands(&attributes);
    let mut kinds: Vec<usize> = commands.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, (0..COMMANDS).collect::<Vec<_>>(), "every command is in it");
    let frozen = frozen("entry-v1.bin", || entry(&commands));
    assert_eq!(Entry::decode(&frozen), Ok(Entry { stamp: STAMP, commands: commands.clone() }));
    assert_eq!(entry(&commands), frozen, "the encoder writes other bytes");
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
        let frozen = frozen(&format!("directory-v1/{name}"), || today.clone());
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

/// The empty entry of a new leader, one of commands, and one that is longer than a block.
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

/// Every command, with every variant of what it holds.
fn commands(attributes: &Attributes) -> Vec<Command<'_>> {
    let session = SessionId(300);
    let topic = TOPIC;
    let secret = SessionSecret([0xa5; 16]);
    let mut commands = vec![
        Command::Genesis { key_secret: [0x3c; 16] },
        Command::ClockOffset { offset_ms: -86_400_000 },
        Command::SessionOpen { secret, leases_outlive: true, client: "10.0.0.7:5000, \"mailer\"" },
        Command::SessionResume { session, secret },
        Command::SessionLapse { session },
        Command::SessionClose { session },
        Command::Push { session, sequence: 9, topic, jobs: new_jobs(attributes) },
        Command::Push { session: SessionId(0), sequence: 0, topic, jobs: Vec::new() },
        Command::PushIdempotent {
            owner: 1 << 63,
            key: 0xc0 << 120 | 7,
            list_jobs: 70_000,
            topic,
            jobs: new_jobs(attributes),
        },
        Command::TopicPause { topic, paused: true, by: "ops", for_ms: Some(60_000) },
        Command::TopicPolicy { topic, change: &[1, 0, 0, 0] },
        Command::TopicDelete { topic },
        Command::SkipIds { floor: 3_476_000_000_000_000 },
        Command::MemberSet {
            node: 3,
            storage_id: [0x5a; 16],
            peer_address: "10.0.0.3:7441",
            client_address: "10.0.0.3:7440",
        },
        Command::FeatureLevel { level: 2 },
        Command::RetryDefaults { defaults: RetryDefaults::default() },
        Command::RetryDefaults { defaults: RetryDefaults::NONE },
    ];
    commands.extend(of_leases(session));
    commands.extend(of_one_job());
    commands.extend(of_many_jobs());
    commands.extend(of_schedules());
    commands
}

fn new_jobs(attributes: &Attributes) -> Vec<NewJob<'_>> {
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
    let taking = NewJob { if_exists: IfExists::ReplaceReserved, ..replacing };
    let postponing = NewJob {
        if_exists: IfExists::Postpone,
        attributes: &[9, 0, 8, 0, 0x60, 0xea, 0, 0, 0, 0, 0, 0],
        body: b"later",
        ..whole
    };
    vec![whole, bare, replacing, taking, postponing]
}

fn of_leases(session: SessionId) -> Vec<Command<'static>> {
    let lease = |sequence| Lease { job: JobId::new(GROUP, sequence), fence: Fence(sequence << 20) };
    let leases = vec![lease(1), lease(70_000)];
    let (jobs_max, bytes_max) = (64, 1 << 40);
    let shares = vec![
        Share { topic: TOPIC, weight: 300, standing: -5 },
        Share { topic: "orders.failed", weight: 1, standing: 1 << 40 },
    ];
    let in_order = TopicOrder::OfJobs(vec![TOPIC, "orders.failed"]);
    vec![
        Command::Reserve { session, topics: in_order, jobs_max, bytes_max },
        Command::Reserve { session, topics: TopicOrder::OfShares(shares), jobs_max, bytes_max },
        Command::Finish { leases: leases.clone() },
        Command::Release {
            leases: leases.clone(),
            delay_ms: Some(5000),
            attempted: true,
            reason: "no such address",
        },
        Command::Release { leases: Vec::new(), delay_ms: None, attempted: false, reason: "" },
        Command::Touch { leases: leases.clone(), ttr_ms: Some(30_000) },
        Command::Touch { leases: leases.clone(), ttr_ms: None },
        Command::Bury { leases, reason: "später" },
    ]
}

fn of_one_job() -> Vec<Command<'static>> {
    let by_id = JobSelect::Id(JobId::new(GROUP, 70_000));
    let by_key = JobSelect::Key { topic: TOPIC, key: b"order 17" };
    vec![
        Command::Delete { job: by_id },
        Command::Reschedule { job: by_key, due: When::After(250), version: None },
        Command::Reschedule { job: by_key, due: When::At(STAMP), version: Some(u64::MAX) },
        Command::RunNow { job: by_key },
        Command::Kick { job: by_id },
        Command::Edit {
            job: JobId::new(GROUP, 70_000),
            edit: JobEdit {
                due: Some(When::At(STAMP)),
                priority: Some(7),
                ttr_ms: Some(30_000),
                record: Some(EditedRecord {
                    before: 0xdead_beef,
                    replaced: AttributeSet::HEADERS.and(AttributeSet::EXPIRES),
                    record: Record {
                        key: Some(b"order 17"),
                        attributes: &[9, 0, 8, 0, 0x60, 0xea, 0, 0, 0, 0, 0, 0],
                        body: b"new",
                    },
                }),
            },
            version: Some(u64::MAX),
        },
        Command::Edit { job: JobId(1), edit: JobEdit::default(), version: None },
    ]
}

fn of_schedules() -> Vec<Command<'static>> {
    let schedule = JobId::new(GROUP, 70_001);
    let new = NewSchedule {
        name: b"nightly",
        priority: 7,
        ttr_ms: 30_000,
        overlap: Overlap::QueueOne,
        failures_max: 300,
        next: Some(STAMP),
        attributes: &[9, 0, 8, 0, 0x60, 0xea, 0, 0, 0, 0, 0, 0],
        body: b"report",
    };
    let firing = NewFiring { instant: STAMP, due: Millis(STAMP.0 + 5), key: Some(b"nightly@1790000000000") };
    let template = JobTemplate { attributes: new.attributes, body: new.body };
    let skipped =
        SkippedInstants { first: Millis(9), last: STAMP, instants: 70_000, reason: SkipReason::Missed };
    let tick = Tick { instant: Millis(1), skipped: Some(skipped), next: Some(STAMP), left: Some(300) };
    let before = ScheduleBefore { schedule, version: 300, next: Some(Millis(300)) };
    let fire = |tick, firings| Command::ScheduleFire {
        schedule,
        record_checksum: 0xdead_beef,
        tick,
        firings,
        template,
    };
    vec![
        Command::ScheduleSet { topic: TOPIC, schedule: new, before: Some(before) },
        Command::ScheduleSet { topic: TOPIC, schedule: NewSchedule { next: None, ..new }, before: None },
        fire(Some(tick), vec![firing, NewFiring { key: None, ..firing }]),
        fire(Some(Tick { skipped: None, next: None, left: None, ..tick }), Vec::new()),
        fire(None, vec![firing]),
        Command::SchedulePause { schedule, paused: true, note: "why" },
        Command::ScheduleDelete { schedule },
    ]
}

fn of_many_jobs() -> Vec<Command<'static>> {
    let whole = Conditions {
        states: 0b1001,
        due_from: Some(Millis(1)),
        due_before: Some(STAMP),
        attempts_min: Some(300),
        attempts_max: None,
        buried: Some(BuryReason::AttemptsUsedUp),
        reason: Some("address"),
        group: Some("ann"),
    };
    let bulk = |change| Command::Bulk {
        topic: Some(TOPIC),
        change,
        jobs: vec![JobId::new(GROUP, 70_000), JobId(1)],
        conditions: whole,
    };
    let conditions = Conditions::default();
    let keyed = |job, key| KeyedJob { job, key };
    vec![
        Command::KickMany { topic: TOPIC, jobs_max: 1000 },
        Command::GroupSet {
            topic: TOPIC,
            group: "ann",
            change: GroupChange { weight: Some(300), paused: Some(true) },
        },
        Command::ReserveJob { session: SessionId(7), job: JobSelect::Key { topic: TOPIC, key: b"order 17" } },
        bulk(BulkChange::Reschedule { due: STAMP }),
        bulk(BulkChange::Delete),
        bulk(BulkChange::Kick),
        Command::Bulk { topic: None, change: BulkChange::RunNow, jobs: Vec::new(), conditions },
        Command::Move {
            from: Some(TOPIC),
            to: "orders.failed",
            jobs: vec![keyed(JobId::new(GROUP, 70_000), Some(b"order 17")), keyed(JobId(1), None)],
            conditions: whole,
        },
        Command::Move { from: None, to: TOPIC, jobs: Vec::new(), conditions },
        Command::SkipFences { count: 1 << 20 },
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
        Command::Bulk { .. } => 21,
        Command::Move { .. } => 22,
        Command::TopicDelete { .. } => 23,
        Command::TopicPolicy { .. } => 24,
        Command::PushIdempotent { .. } => 25,
        Command::RetryDefaults { .. } => 26,
        Command::Edit { .. } => 27,
        Command::ScheduleSet { .. } => 28,
        Command::ScheduleFire { .. } => 29,
        Command::SchedulePause { .. } => 30,
        Command::ScheduleDelete { .. } => 31,
        Command::GroupSet { .. } => 32,
        Command::ReserveJob { .. } => 33,
        Command::SkipFences { .. } => 34,
    }
}
