//! The content of checkpoints, and what a start finds after an interrupted one.

mod capture;
mod listing;
mod moving;
mod postponed;

use super::*;
use crate::audit::audit;
use crate::folder::SimulatedFolder;
use crate::{Depth, Fault};
use adjourn_engine::{
    COUNT_MAX, CapturedJob, Command, Entry, IDS_SKIPPED, JobSelect, LAST_JOB_MAX, Listed, Listing, NewJob,
    Outcome, RestoreError, TopicOrder, ids_floor,
};
use adjourn_types::limits::LAPSE_LEASES_MAX;
use adjourn_types::{IfExists, Millis, SessionId, SessionSecret, TopicId, When};

const CHUNK_BYTES: usize = 4 << 10;
const DAY_MS: u64 = 86_400_000;

fn begin(number: u32, engine: &Engine) -> CheckpointBegin {
    CheckpointBegin {
        number,
        index: number.into(),
        term: 1,
        voters: vec![1],
        learners: Vec::new(),
        state_hash: engine.state_hash(),
        jobs: engine.jobs(),
        metadata: engine.metadata().into(),
        chunks: Vec::new(),
        rewrite: Vec::new(),
        pages: Vec::new(),
        next_chunk: 1,
        chunk_bytes: CHUNK_BYTES,
        records: 0,
        pin: false,
    }
}

fn base(number: u32) -> LogBase {
    LogBase { index: number.into(), term: 1, crc: number }
}

fn write(folder: &SimulatedFolder, number: u32) -> Result<Checkpoint, StorageError> {
    CheckpointWriter::begin(folder.clone(), begin(number, &Engine::new(GroupId(0))))?
        .seal(base(number))?
        .publish()
}

/// A queue and its checkpoints.
struct Queue {
    engine: Engine,
    records: Records,
    folder: SimulatedFolder,
    number: u32,
    next_chunk: u32,
    chunk_bytes: usize,
    pages: Vec<PageFile>,
}

fn new_job(delay_ms: u64, body: &[u8]) -> NewJob<'_> {
    let (due, priority, if_exists) = (When::After(delay_ms), 0, IfExists::Reject);
    NewJob { due, priority, ttr_ms: 1000, if_exists, key: None, attributes: &[], body }
}

fn apply(engine: &mut Engine, records: &mut Records, command: Command<'_>) -> Outcome {
    let entry = Entry { stamp: Millis(1), commands: vec![command] };
    engine.apply(&entry, records).expect("applied").outcomes.pop().expect("one for each command")
}

impl Queue {
    fn new() -> Self {
        let mut engine = Engine::new(GroupId(0));
        let mut records = Records::default();
        let genesis = Entry { stamp: Millis(1), commands: vec![Command::Genesis { key_secret: [1; 16] }] };
        engine.apply(&genesis, &mut records).expect("applied");
        Self {
            engine,
            records,
            folder: SimulatedFolder::new(0),
            number: 0,
            next_chunk: 1,
            chunk_bytes: CHUNK_BYTES,
            pages: Vec::new(),
        }
    }

    fn push(&mut self, jobs: usize, delay_ms: u64, body_bytes: usize) {
        self.push_to("t", jobs, delay_ms, body_bytes);
    }

    fn push_to(&mut self, topic: &str, jobs: usize, delay_ms: u64, body_bytes: usize) {
        let body = vec![7; body_bytes];
        let jobs = vec![new_job(delay_ms, &body); jobs];
        self.apply(Command::Push { session: SessionId::NONE, sequence: 0, topic, jobs });
    }

    fn apply(&mut self, command: Command<'_>) -> Outcome {
        apply(&mut self.engine, &mut self.records, command)
    }

    /// The next job of a topic, searched for a few jobs at a time.
    fn peek(&mut self, topic: TopicId) -> Result<Listed, StorageError> {
        let mut listing = Listing::first_delayed(Some(topic));
        loop {
            let found = self.engine.peek(&mut listing, &mut 1, &mut self.records)?;
            if found != Listed::NotYet {
                return Ok(found);
            }
        }
    }

    /// Takes a checkpoint that rewrites these chunks, adopts it, and reads it back.
    fn checkpoint(&mut self, rewrite: Vec<u32>) -> Checkpoint {
        let checkpoint = self.write_checkpoint(rewrite);
        self.adopt(&checkpoint, 0..checkpoint.written.len());
        self.adopted(&checkpoint);
        checkpoint
    }

    /// Writes a checkpoint whose rows are not live yet.
    fn write_checkpoint(&mut self, rewrite: Vec<u32>) -> Checkpoint {
        self.number += 1;
        let pages = begin_capture(&mut self.engine, &self.pages, &rewrite);
        let chunks = self.records.begin_capture();
        let Self { number, next_chunk, chunk_bytes, .. } = *self;
        let begin = CheckpointBegin {
            chunks,
            rewrite,
            pages,
            next_chunk,
            chunk_bytes,
            ..begin(number, &self.engine)
        };
        let mut writer = CheckpointWriter::begin(self.folder.clone(), begin).expect("begun");
        let mut add = |job: CapturedJob| {
            let mut jobs = CheckpointJobs::default();
            jobs.push(&job, self.records.in_memory(job.place));
            writer.add(&jobs).expect("added");
        };
        while !self.engine.capture(100, u64::MAX, &mut add) {}
        let checkpoint = writer.seal(base(self.number)).and_then(SealedCheckpoint::publish).expect("written");
        self.records.end_capture();
        self.engine.keep_captured();
        self.pages.clone_from(&checkpoint.pages);
        self.next_chunk = checkpoint.next_chunk;
        for chunk in &checkpoint.chunks {
            self.records.add_chunk(Arc::clone(chunk)).expect("added");
        }
        checkpoint
    }

    /// Makes some of its rows live.
    fn adopt(&mut self, checkpoint: &Checkpoint, written: std::ops::Range<usize>) {
        for one in checkpoint.written.get(written).expect("they were written") {
            let relocated = self.engine.relocate(one.job, one.from, one.to, one.spilled());
            self.records.relocated(one.from, one.to, relocated).expect("relocated");
        }
    }

    /// Makes all of its rows live.
    fn adopted(&mut self, checkpoint: &Checkpoint) {
        let listed = checkpoint.numbers();
        self.records.retain_chunks(|number| listed.contains(&number));
        self.engine.verify(&mut self.records);
        let mut restored = restore(&self.folder).expect("whole").expect("there is one");
        assert_eq!(restored.engine.state_hash(), self.engine.state_hash());
        restored.engine.verify(&mut restored.records);
    }

    fn numbers(&self) -> Vec<u32> {
        self.records.chunks().map(|state| state.chunk.summary().number).collect()
    }
}

/// Rewriting fills several chunks before it has seen all of the kept ones.
#[test]
fn chunks_that_are_written_again_come_behind_those_that_stay() {
    let mut queue = Queue::new();
    for (delay_ms, _) in [(2 * DAY_MS, 1), (0, 2), (3 * DAY_MS, 3)] {
        queue.push(100, delay_ms, 200);
        queue.checkpoint(Vec::new());
    }
    let before = queue.numbers();
    assert!(before.len() > 12, "{before:?}");
    // Resident and spilled jobs, between kept chunks.
    let rewrite: Vec<u32> = before.iter().copied().filter(|number| number % 3 != 0).rev().collect();
    queue.push(10, DAY_MS, 200);
    let checkpoint = queue.checkpoint(rewrite.clone());
    let listed = checkpoint.numbers();
    assert!(listed.is_sorted(), "{listed:?}");
    assert!(checkpoint.chunks.len() > 5, "{}", checkpoint.chunks.len());
    assert!(rewrite.iter().all(|number| !listed.contains(number)));
}

#[test]
fn what_is_gathered_is_bounded_in_rows_as_well() {
    let mut queue = Queue::new();
    queue.push(1000, 0, 0);
    let checkpoint = queue.checkpoint(Vec::new());
    let rows = checkpoint.chunks.iter().map(|chunk| chunk.rows()).max().expect("a chunk");
    assert!(rows as usize <= rewritten_rows_max(CHUNK_BYTES), "{rows} rows in one chunk");
    assert_eq!(checkpoint.chunks.iter().map(|chunk| chunk.rows()).sum::<u32>(), 1000);
}

#[test]
fn without_a_resident_job_there_is_no_page_file() {
    let mut queue = Queue::new();
    queue.push(20, 2 * DAY_MS, 10);
    queue.checkpoint(Vec::new());
    let manifest = Manifest::read(&queue.folder).expect("read").expect("there is one");
    assert_eq!(manifest.pages, []);
    queue.push(1, 0, 10);
    queue.checkpoint(Vec::new());
    let manifest = Manifest::read(&queue.folder).expect("read").expect("there is one");
    let pages: Vec<_> = manifest.pages.iter().map(|pages| (pages.id.checkpoint, pages.entries)).collect();
    assert_eq!(pages, [(2, 1)]);
}

#[test]
#[should_panic(expected = "stands for the entry at which it was captured")]
fn the_entry_of_another_checkpoint_is_refused() {
    let folder = SimulatedFolder::new(0);
    let writer = CheckpointWriter::begin(folder, begin(2, &Engine::new(GroupId(0)))).expect("begun");
    let _ = writer.seal(base(1));
}

/// A full disk abandons a checkpoint before its manifest is renamed, and ends the process after that. A failed sync
/// always ends it.
#[test]
fn a_checkpoint_can_be_given_up_until_its_manifest_has_its_name() {
    let mut given_up = 0;
    for step in 0..100 {
        let folder = SimulatedFolder::new(0);
        write(&folder, 1).expect("written");
        let before = folder.steps();
        folder.arm(step, Fault::Full);
        let writer = CheckpointWriter::begin(folder.clone(), begin(2, &Engine::new(GroupId(0))));
        let sealed = writer.and_then(|writer| writer.seal(base(2)));
        let newest = || Manifest::read(&folder).expect("read").expect("there is one").checkpoint;
        match sealed {
            Err(error) => {
                given_up += u32::from(error.is_shortage());
                assert_eq!(newest(), 1, "nothing of it counts");
            }
            Ok(sealed) => {
                if sealed.publish().is_ok() {
                    assert_eq!(folder.steps() - before, step, "it has no further step");
                    assert!(given_up > 1, "{given_up}");
                    return;
                }
            }
        }
    }
    unreachable!("a checkpoint of nothing has fewer steps");
}

#[test]
fn a_sync_that_fails_is_no_shortage() {
    let folder = SimulatedFolder::new(0);
    folder.arm(0, Fault::Full);
    assert!(!folder.sync().expect_err("it fails").is_shortage());
    folder.arm(0, Fault::Full);
    assert!(folder.create("a").map(drop).expect_err("it is full").is_shortage());
}

/// While the power stays on, a start finds a manifest that was renamed but not synced. It may remove unlisted files only
/// when that manifest is durable.
#[test]
fn what_a_start_goes_by_is_durable_before_it_removes_anything() {
    for seed in 0..20 {
        let folder = SimulatedFolder::new(seed);
        write(&folder, 1).expect("written");
        let steps = folder.steps();
        let whole = SimulatedFolder::new(seed);
        write(&whole, 1).and_then(|_| write(&whole, 2)).expect("written");
        for failure in 0..whole.steps() - steps {
            for power_cut in 0..4 {
                let folder = SimulatedFolder::new(seed);
                write(&folder, 1).expect("written");
                folder.arm(failure, Fault::Failure);
                assert!(write(&folder, 2).is_err());
                let folder = folder.kill();
                folder.arm(power_cut, Fault::PowerCut);
                // It may complete or fail.
                let _ = restore(&folder).and_then(|_| sweep(&folder));
                let restored = restore(&folder.crash()).expect("whole").expect("one was durable");
                assert!(restored.number == 1 || restored.number == 2);
            }
        }
    }
}

#[test]
fn a_job_that_was_not_given_out_yet_is_refused() {
    for delay_ms in [0, 2 * DAY_MS] {
        let mut queue = Queue::new();
        queue.push(1, delay_ms, 10);
        let early = queue.engine.metadata().encode();
        queue.push(1, delay_ms, 10);
        queue.checkpoint(Vec::new());
        let manifest = Manifest::read(&queue.folder).expect("read").expect("there is one");
        let refused = read(&queue.folder, Manifest { metadata: early, ..manifest }).expect_err("refused");
        let job = |damage: &Damage| matches!(damage, Damage::State(RestoreError::Job(JobId(2))));
        assert!(matches!(&refused, StorageError::Damaged { damage, .. } if job(damage)), "{refused}");
    }
}

#[test]
fn a_job_that_is_there_twice_is_refused() {
    let mut queue = Queue::new();
    queue.push(3, 0, 10);
    let metadata = queue.engine.metadata();
    let restoring = || metadata.clone().restore(0);
    let twice = |restoring: Restoring, job| {
        assert_eq!(restoring.finish().map(drop), Err(RestoreError::Job(JobId(job))));
    };
    let mut spilled = restoring();
    for (id, key_hash) in [(1, None), (2, Some(7)), (1, None)] {
        spilled.spilled(JobId(id), key_hash, Place(id)).expect("it is seen in the end");
    }
    twice(spilled, 1);
    let mut keys = restoring();
    for (id, key_hash) in [(1, 7), (2, 8), (3, 7)] {
        keys.spilled(JobId(id), Some(key_hash), Place(id)).expect("it is seen in the end");
    }
    twice(keys, 3);
    let mut resident = restoring();
    let mut captured = Vec::new();
    queue.engine.begin_capture(|_| false);
    assert!(queue.engine.capture(10, u64::MAX, |job| captured.push(job)));
    for job in captured.iter().chain(captured.first()) {
        resident.resident(job.saved.clone(), job.place).expect("it is seen in the end");
    }
    twice(resident, 1);
}

#[test]
fn counts_that_leave_no_room_are_refused() {
    let mut queue = Queue::new();
    let skip = Command::SkipIds { floor: COUNT_MAX + 1 };
    let entry = Entry { stamp: Millis(1), commands: vec![skip] };
    assert!(StateMetadata::decode(&queue.engine.metadata().encode()).is_ok());
    queue.engine.apply(&entry, &mut queue.records).expect("applied");
    assert_eq!(StateMetadata::decode(&queue.engine.metadata().encode()), Err(RestoreError::Counts));
}

/// An operator accepted a loss more than once, with a clock of the far future.
#[test]
fn where_skips_end_ids_go_on() {
    let mut queue = Queue::new();
    let mut last = JobId(0);
    for _ in 0..3 {
        queue.apply(Command::SkipIds { floor: ids_floor(Millis(u64::MAX)) });
        queue.push(1, 0, 10);
        let job = queue.checkpoint(Vec::new()).written.last().expect("it was written").job;
        assert!(
            job.sequence() > LAST_JOB_MAX.max(last.sequence() + IDS_SKIPPED - 1),
            "{job:?} after {last:?}"
        );
        last = job;
    }
}

#[test]
fn an_entry_that_names_a_chunk_which_is_not_listed_is_damage() {
    let mut queue = Queue::new();
    queue.push(20, 0, 10);
    queue.checkpoint(Vec::new());
    let whole = Manifest::read(&queue.folder).expect("read").expect("there is one");
    let damage = |manifest: &Manifest| audit(&queue.folder, manifest, Depth::Whole, |_| {}).expect("read");
    assert!(damage(&whole).is_empty());
    let found = damage(&Manifest { chunks: Vec::new(), ..whole });
    let of_pages =
        |error: &StorageError| matches!(error, StorageError::Damaged { damage: Damage::Pages { .. }, .. });
    assert!(!found.is_empty() && found.iter().all(of_pages), "{found:?}");
}

#[test]
fn chunks_are_not_written_again_for_their_number_alone() {
    let mut queue = Queue::new();
    queue.push(6000, 2 * DAY_MS, 200);
    queue.checkpoint(Vec::new());
    assert!(queue.numbers().len() > 280, "{} chunks", queue.numbers().len());
    // All except the last one are full.
    assert!(queue.records.to_rewrite(CHUNK_BYTES).len() <= 1);
    let larger = queue.records.to_rewrite(4 * CHUNK_BYTES);
    assert!((1..=16).contains(&larger.len()), "so small ones are made one, some at a time: {}", larger.len());
    let bytes: usize = queue.records.chunk_bytes(1, usize::MAX);
    assert!(bytes * 256 > 6000 * 200, "{bytes}");
    assert_eq!(queue.records.chunk_bytes(1 << 20, 1 << 21), 1 << 20);
}

#[test]
fn spilled_jobs_with_large_bodies_are_loaded_a_few_at_a_time() {
    let mut queue = Queue::new();
    (0..10).for_each(|_| queue.push(1, 2 * DAY_MS, 1 << 20));
    queue.checkpoint(Vec::new());
    let stamp = Millis(3 * DAY_MS);
    let mut left = vec![queue.engine.spilled_jobs()];
    while !queue.engine.load_ahead(&mut queue.records, stamp, 100).expect("read") {
        left.push(queue.engine.spilled_jobs());
    }
    assert_eq!(left, [10, 8, 6, 4, 2]);
}

/// A member reads ahead for a command while the command goes through the log.
#[test]
#[expect(clippy::indexing_slicing, reason = "numbers are drawn below the lengths")]
fn a_command_reads_nothing_of_which_nobody_said_that_it_would() {
    let mut queue = Queue { chunk_bytes: 1 << 20, ..Queue::new() };
    let (topic, session, sequence) = ("t", SessionId::NONE, 0);
    let keys: Vec<String> = (0..200).map(|key| format!("key {key}")).collect();
    let jobs: Vec<NewJob<'_>> = keys
        .iter()
        .map(|key| NewJob { key: Some(key.as_bytes()), ..new_job(2 * DAY_MS, &[0; 1000]) })
        .collect();
    queue.apply(Command::Push { session, sequence, topic, jobs: jobs.clone() });
    queue.checkpoint(Vec::new());
    assert_eq!(queue.engine.spilled_jobs(), 200);
    let by_key = |key: usize| JobSelect::Key { topic, key: keys[key].as_bytes() };
    let commands = [
        Command::Delete { job: by_key(0) },
        Command::Reschedule { job: by_key(50), due: When::After(1), version: None },
        Command::Push { session, sequence, topic, jobs: [&jobs[100..102], &jobs[100..102]].concat() },
        Command::RunNow { job: by_key(150) },
    ];
    // A process that has read nothing yet.
    let Restored { mut engine, mut records, .. } =
        restore(&queue.folder).expect("whole").expect("there is one");
    for command in &commands {
        let places: Vec<_> = engine.places_named(command).collect();
        assert!(!places.is_empty());
        for place in places {
            records.read_ahead(place);
        }
    }
    let (blocks, sudden) = (records.blocks_read(), queue.folder.sudden_reads());
    for command in commands {
        apply(&mut engine, &mut records, command);
    }
    assert_eq!(engine.spilled_jobs(), 195);
    assert!(records.blocks_read() >= blocks + 3, "from several blocks");
    assert_eq!(queue.folder.sudden_reads(), sudden);
}

/// Opens a session with this number of leases.
fn with_leases(leases: usize) -> (Queue, SessionId) {
    let mut queue = Queue::new();
    let secret = SessionSecret([1; 16]);
    let opened = queue.apply(Command::SessionOpen { secret, leases_outlive: false, client: "" });
    let Outcome::Session { session } = opened else { panic!("{opened:?}") };
    queue.push(leases, 0, 10);
    let (topics, jobs_max) = (TopicOrder::OfJobs(vec!["t"]), u32::try_from(leases).expect("few"));
    queue.apply(Command::Reserve { session, topics, jobs_max, bytes_max: u64::MAX });
    assert_eq!(queue.engine.topic(TopicId(0)).expect("it is there").reserved, leases as u64);
    (queue, session)
}

#[test]
fn a_session_with_many_leases_ends_in_steps() {
    const LEASES: usize = 2 * LAPSE_LEASES_MAX + 1;
    let (mut queue, session) = with_leases(LEASES);
    let left = |done: usize| Outcome::Lapsing { leases: (LEASES - done) as u64 };
    assert_eq!(queue.apply(Command::SessionLapse { session }), left(LAPSE_LEASES_MAX));
    assert_eq!(queue.engine.available(TopicId(0), 0, queue.engine.stamp()), LAPSE_LEASES_MAX as u64);
    assert_eq!(queue.engine.lapsing_sessions().collect::<Vec<_>>(), [session]);
    let resume = || Command::SessionResume { session, secret: SessionSecret([1; 16]) };
    assert!(matches!(queue.apply(resume()), Outcome::Rejected(_)), "it holds leases");

    // A start from a checkpoint in the middle continues like all others.
    queue.checkpoint(Vec::new());
    let mut other = restore(&queue.folder).expect("whole").expect("there is one");
    assert_eq!(other.engine.lapsing_sessions().collect::<Vec<_>>(), [session]);
    for outcome in [left(2 * LAPSE_LEASES_MAX), Outcome::Done] {
        assert_eq!(queue.apply(Command::SessionLapse { session }), outcome);
        let same = apply(&mut other.engine, &mut other.records, Command::SessionLapse { session });
        assert_eq!((same, other.engine.state_hash()), (outcome, queue.engine.state_hash()));
    }
    assert_eq!(queue.engine.available(TopicId(0), 0, queue.engine.stamp()), LEASES as u64);
    assert_eq!(queue.engine.lapsing_sessions().count(), 0);
    assert_eq!(queue.apply(resume()), Outcome::Session { session });
    queue.engine.verify(&mut queue.records);
}

#[test]
fn a_session_that_closes_is_forgotten_with_its_last_lease() {
    let (mut queue, session) = with_leases(LAPSE_LEASES_MAX + 1);
    assert_eq!(queue.apply(Command::SessionClose { session }), Outcome::Lapsing { leases: 1 });
    assert_eq!(queue.engine.session_count(), 1);
    assert_eq!(queue.apply(Command::SessionClose { session }), Outcome::Done);
    assert_eq!(queue.engine.session_count(), 0);
    queue.engine.verify(&mut queue.records);
}

/// Whatever read fails, the spilled jobs come in order afterwards.
#[test]
fn a_read_that_fails_moves_nothing_on() {
    let mut queue = Queue::new();
    queue.push(300, 2 * DAY_MS, 200);
    queue.checkpoint(Vec::new());
    let topic = queue.engine.topic_id("t").expect("there is one");
    let mut failed = 0;
    for read in 0..6 {
        queue.folder.arm_read(read);
        failed += u32::from(queue.peek(topic).is_err());
        queue.folder.arm_read(u64::MAX >> 1);
        queue.engine.verify(&mut queue.records);
    }
    assert!(failed > 0);
    let stamp = Millis(3 * DAY_MS);
    while !queue.engine.load_ahead(&mut queue.records, stamp, 100).expect("read") {}
    assert_eq!(queue.engine.spilled_jobs(), 0);
}

#[test]
fn a_page_on_which_nothing_changed_keeps_its_file() {
    let mut queue = Queue { chunk_bytes: 1 << 20, ..Queue::new() };
    let written_by = |checkpoint: &Checkpoint| -> Vec<u32> {
        checkpoint.pages.iter().map(|file| file.summary.id.checkpoint).collect()
    };
    queue.push(100, 1000, 10);
    assert_eq!(written_by(&queue.checkpoint(Vec::new())), [1, 1, 1]);
    queue.push(20, 1000, 10);
    assert_eq!(written_by(&queue.checkpoint(Vec::new())), [1, 1, 2], "the last page has 20 more");
    assert_eq!(written_by(&queue.checkpoint(Vec::new())), [1, 1, 2]);
    let first = *queue.numbers().first().expect("there is one");
    let checkpoint = queue.checkpoint(vec![first]);
    assert_eq!(written_by(&checkpoint), [4, 4, 4], "their rows are elsewhere");
    for one in &checkpoint.written {
        let deleted = Command::Delete { job: JobSelect::Id(one.job) };
        queue.apply(deleted);
    }
    let left = queue.checkpoint(Vec::new());
    assert_eq!(left.pages.iter().map(|file| file.summary.entries).sum::<u64>(), queue.engine.jobs());
}

#[test]
fn a_job_not_spilled_because_its_chunk_went_is_spilled_by_the_next_checkpoint() {
    let mut queue = Queue::new();
    queue.push(1, 1000, 10);
    let written = queue.checkpoint(Vec::new()).written;
    let job = JobSelect::Id(written.first().expect("there is one").job);
    queue.apply(Command::Reschedule { job, due: When::After(2 * DAY_MS), version: None });
    let first = queue.numbers();
    let checkpoint = queue.checkpoint(first);
    assert_eq!((queue.engine.spilled_jobs(), checkpoint.pages.len()), (0, 1));
    let checkpoint = queue.checkpoint(Vec::new());
    assert_eq!((queue.engine.spilled_jobs(), checkpoint.pages.len()), (1, 0));
}

#[test]
fn the_memory_of_spilled_jobs_is_given_back() {
    const MANY: usize = 60_000;
    let mut queue = Queue { chunk_bytes: 1 << 20, ..Queue::new() };
    queue.push(MANY, 2 * DAY_MS, 10);
    let written = queue.checkpoint(Vec::new()).written;
    let shrunk = |engine: &mut Engine| {
        while engine.can_shrink() {
            engine.shrink();
        }
        engine.memory_bytes()
    };
    let full = shrunk(&mut queue.engine);
    assert!(queue.engine.spilled_jobs() == MANY as u64 && full > 16 * MANY, "{full} bytes");
    for one in written {
        queue.apply(Command::Delete { job: JobSelect::Id(one.job) });
    }
    let left = shrunk(&mut queue.engine);
    assert!(left < full / 2, "{left} of {full} bytes");
}
