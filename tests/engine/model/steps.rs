//! Random work for an engine: the drawn steps, and their translation to the commands of an entry.
//!
//! A lease or a job can only be named once it is known, so steps name them by number, and are made concrete when their turn
//! comes.

#![expect(clippy::indexing_slicing, reason = "numbers are drawn below the lengths")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use adjourn_engine::{
    BulkChange, Command, Conditions, EditedRecord, GroupChange, JobEdit, JobSelect, KeyedJob, NewJob, Record,
    Share, TopicOrder,
};
use adjourn_types::{
    AttributeSet, Attributes, AttributesBuilder, Backoff, IfExists, JobId, Lease, Millis, Overlap,
    ScheduleBefore, SessionId, SessionSecret, When,
};

use super::groups::GROUPS;
use super::policies::{CHANGES, DEFAULTS};
use crate::kept_bodies::KeptRecord;

pub(crate) const TOPICS: [&str; 3] = ["orders", "mails", "reports"];
pub(crate) const KEYS: [&[u8]; 3] = [b"a", b"id:b", b"order 17"];
/// Why leases end. The last reason is longer than the limit, and the limit lies within a character.
pub(super) static REASONS: LazyLock<[String; 4]> = LazyLock::new(|| {
    [String::new(), "no such address".to_owned(), "später".to_owned(), format!("x{}", "ü".repeat(600))]
});
pub(super) const BODY: &[u8] = b"0123456789";
pub(super) const DAY: i64 = 86_400_000;

/// An entry: how far the clock moved, and the actions.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) elapsed_ms: i64,
    pub(crate) actions: Vec<Action>,
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(super) due: Due,
    pub(super) priority: u32,
    pub(super) ttr_ms: u32,
    pub(super) if_exists: IfExists,
    pub(super) key: Option<usize>,
    pub(super) postpone_max: Option<u64>,
    pub(super) retention_ms: Option<u64>,
    pub(super) expires: Option<Due>,
    pub(super) attempts_max: Option<u32>,
    pub(super) backoff: Option<Backoff>,
    pub(super) body_bytes: usize,
    pub(super) group: Option<usize>,
    /// Why a push buries it.
    pub(super) buried: Option<usize>,
}

/// An edit of the nth job from the one that was pushed last.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(super) back: u64,
    /// Where the new values come from.
    pub(super) new: Job,
    /// Whether due time, priority, time to run and body change.
    pub(super) changes: [bool; 4],
    /// Which of [`ATTRIBUTES`] are replaced.
    pub(super) replaced: [bool; 6],
    /// With the version that it had, or another one.
    pub(super) version: Option<bool>,
    /// The proposer read a record that the job has no more.
    pub(super) is_stale: bool,
}

const ATTRIBUTES: [AttributeSet; 6] = [
    AttributeSet::HEADERS,
    AttributeSet::EXPIRES,
    AttributeSet::ATTEMPTS_MAX,
    AttributeSet::BACKOFF,
    AttributeSet::DEDUPE_RETENTION,
    AttributeSet::GROUP,
];

/// A firing of the nth schedule that is known.
#[derive(Clone, Debug)]
pub(crate) struct Fire {
    pub(super) nth: usize,
    pub(super) by_hand: bool,
    /// The proposer read a record that the schedule has no more.
    pub(super) is_stale: bool,
    /// The instant is not its next one.
    pub(super) is_wrong: bool,
    /// How long after the instant, and how many.
    pub(super) skipped: Option<(u64, u64)>,
    /// Before or after the instant, and the key.
    pub(super) firings: Vec<(i64, Option<usize>)>,
    /// After the wall clock.
    pub(super) next: Option<u64>,
    pub(super) left: Option<u64>,
}

/// A due time; on the wall clock it is relative to what that shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    After(u64),
    Wall(i64),
}

#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// The nth job from the one that was pushed last.
    Back(u64),
    Key(usize, usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Genesis,
    ClockStep(i64),
    Open(bool),
    Resume(u64, bool),
    Lapse(u64),
    Close(u64),
    Push {
        session: u64,
        sequence: u64,
        topic: usize,
        jobs: Vec<Job>,
    },
    /// Under one of some keys.
    PushIdempotent {
        owner: u64,
        key: u128,
        /// Jobs of the list beside these.
        more_jobs: u32,
        topic: usize,
        jobs: Vec<Job>,
    },
    Reserve {
        session: u64,
        topics: Vec<usize>,
        jobs_max: u32,
        bytes_max: u64,
    },
    /// Topics, their weights and standings.
    ReserveWeighted {
        session: u64,
        shares: Vec<(usize, u16, i64)>,
        jobs_max: u32,
    },
    Finish(Vec<usize>),
    /// With the nth of some reasons.
    Release(Vec<usize>, Option<u64>, bool, usize),
    Touch(Vec<usize>, Option<u32>),
    Bury(Vec<usize>, usize),
    Delete(Which),
    Reschedule(Which, Due),
    /// The nth job from the one that was pushed last, with the version that it had or another one.
    RescheduleIf(u64, Due, bool),
    RunNow(Which),
    Kick(Which),
    ReserveJob(u64, Which),
    Edit(Edit),
    /// To which of the newest jobs, and in which states of how many attempts.
    Bulk {
        change: usize,
        topic: Option<usize>,
        jobs: Vec<u64>,
        states: u8,
        attempts: (Option<u32>, Option<u32>),
        due: (Due, Due),
    },
    /// The nth topic, if one is named, to which of the newest jobs with which of the keys, to which topic, in which states.
    Move {
        from: Option<usize>,
        to: usize,
        jobs: Vec<(u64, Option<usize>)>,
        states: u8,
    },
    DeleteTopic(usize),
    /// Of which topic, and with which name.
    SetSchedule {
        topic: usize,
        name: usize,
        overlap: Overlap,
        failures_max: u32,
        next: Option<i64>,
        is_stale: bool,
        body_bytes: usize,
    },
    Fire(Fire),
    PauseSchedule(usize, bool),
    DeleteSchedule(usize),
    /// Of which topic, and how many at most.
    KickMany(usize, u32),
    /// Of which topic, which of some names, weight and pause.
    SetGroup(usize, usize, GroupChange),
    /// The topic, whether it is paused, and for how long.
    Pause(usize, bool, Option<u64>),
    /// Of which topic, and which of some changes.
    Policy(usize, usize),
    SkipIds,
    SkipFences(u64),
    /// A member, and which of two copies of the data it has.
    Member(u64, bool),
    FeatureLevel(u32),
    /// Which of some defaults for retries.
    Defaults(usize),
}

/// A schedule that lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownSchedule {
    pub(crate) id: JobId,
    pub(crate) topic: &'static str,
    pub(crate) name: &'static [u8],
    pub(crate) record_checksum: u32,
    pub(crate) before: ScheduleBefore,
}

impl Default for KnownSchedule {
    /// One that is not there.
    fn default() -> Self {
        let before = ScheduleBefore { schedule: JobId(1), version: 0, next: None };
        Self { id: JobId(1), topic: "", name: &[], record_checksum: 0, before }
    }
}

/// What steps refer to.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Every lease that was granted, the newest last.
    pub(crate) leases: Vec<Lease>,
    pub(crate) last_job: u64,
    pub(crate) wall: u64,
    pub(crate) offset: i64,
    /// The records of the jobs that live.
    pub(crate) records: BTreeMap<JobId, KeptRecord>,
    pub(crate) schedules: Vec<KnownSchedule>,
    /// The versions that jobs had when they were looked at last.
    pub(crate) versions: BTreeMap<JobId, u64>,
    /// Attributes of the entry that is being made.
    attributes: Vec<Vec<u8>>,
}

pub(crate) fn secret(session: u64) -> SessionSecret {
    SessionSecret([u8::try_from(session % 251).expect("small"); 16])
}

fn share((topic, weight, standing): &(usize, u16, i64)) -> Share<'static> {
    Share { topic: TOPICS[*topic], weight: *weight, standing: *standing }
}

impl Edit {
    fn replaced(&self) -> AttributeSet {
        let replaced = ATTRIBUTES.into_iter().zip(self.replaced).filter(|(_, is_new)| *is_new);
        replaced.fold(AttributeSet::NONE, |set, (attribute, _)| set.and(attribute))
    }
}

impl Known {
    /// The commands of a step; they borrow from data prepared here.
    pub(crate) fn commands(&mut self, actions: &[Action], next_session: u64) -> Vec<Command<'_>> {
        self.attributes = actions.iter().flat_map(|action| self.attributes_of(action)).collect();
        let this = &*self;
        let mut attributes = this.attributes.iter().map(Vec::as_slice);
        let mut opened = 0;
        let command = |action: &Action| match action {
            Action::Open(leases_outlive) => {
                opened += 1;
                let secret = secret(next_session + opened - 1);
                let client = if secret.0[0].is_multiple_of(3) { "" } else { "10.0.0.7:5000, \"mailer\"" };
                Command::SessionOpen { secret, leases_outlive: *leases_outlive, client }
            }
            Action::Push { session, sequence, topic, jobs } => Command::Push {
                session: SessionId(*session),
                sequence: *sequence,
                topic: TOPICS[*topic],
                jobs: jobs.iter().map(|job| this.job(job, attributes.next().expect("made"))).collect(),
            },
            Action::PushIdempotent { owner, key, more_jobs, topic, jobs } => Command::PushIdempotent {
                owner: *owner,
                key: *key,
                list_jobs: u32::try_from(jobs.len()).expect("few") + more_jobs,
                topic: TOPICS[*topic],
                jobs: jobs.iter().map(|job| this.job(job, attributes.next().expect("made"))).collect(),
            },
            Action::Edit(edit) => this.edit(edit, attributes.next().expect("made")),
            action => this.command(action),
        };
        actions.iter().map(command).collect()
    }

    fn command(&self, action: &Action) -> Command<'_> {
        match action {
            Action::Genesis => Command::Genesis { key_secret: [7; 16] },
            Action::SkipIds => Command::SkipIds { floor: 0 },
            Action::SkipFences(count) => Command::SkipFences { count: *count },
            Action::Member(node, other) => Command::MemberSet {
                node: *node,
                storage_id: [u8::from(*other); 16],
                peer_address: "peer:1",
                client_address: "client:1",
            },
            Action::FeatureLevel(level) => Command::FeatureLevel { level: *level },
            Action::Defaults(nth) => Command::RetryDefaults { defaults: DEFAULTS[*nth].clone() },
            Action::ClockStep(by_ms) => Command::ClockOffset { offset_ms: self.offset + by_ms },
            Action::Resume(session, right) => Command::SessionResume {
                session: SessionId(*session),
                secret: secret(session + u64::from(!right)),
            },
            Action::Lapse(session) => Command::SessionLapse { session: SessionId(*session) },
            Action::Close(session) => Command::SessionClose { session: SessionId(*session) },
            Action::Reserve { session, topics, jobs_max, bytes_max } => Command::Reserve {
                session: SessionId(*session),
                topics: TopicOrder::OfJobs(topics.iter().map(|topic| TOPICS[*topic]).collect()),
                jobs_max: *jobs_max,
                bytes_max: *bytes_max,
            },
            Action::ReserveWeighted { session, shares, jobs_max } => Command::Reserve {
                session: SessionId(*session),
                topics: TopicOrder::OfShares(shares.iter().map(share).collect()),
                jobs_max: *jobs_max,
                bytes_max: 1000,
            },
            Action::Finish(_) | Action::Release(..) | Action::Touch(..) | Action::Bury(..) => {
                self.settling(action)
            }
            Action::RescheduleIf(back, due, right) => {
                let job = self.back(*back);
                let version = Some(self.version(job, *right));
                Command::Reschedule { job: JobSelect::Id(job), due: self.when(*due), version }
            }
            Action::Delete(_) | Action::Reschedule(..) | Action::RunNow(_) | Action::Kick(_) => {
                self.one_job(action)
            }
            Action::ReserveJob(session, which) => {
                Command::ReserveJob { session: SessionId(*session), job: self.which(which) }
            }
            Action::SetSchedule { .. }
            | Action::Fire(_)
            | Action::PauseSchedule(..)
            | Action::DeleteSchedule(_) => self.about_schedule(action),
            Action::Bulk { .. } | Action::Move { .. } => self.many(action),
            Action::KickMany(topic, jobs_max) => {
                Command::KickMany { topic: TOPICS[*topic], jobs_max: *jobs_max }
            }
            Action::Pause(..) | Action::Policy(..) | Action::DeleteTopic(_) | Action::SetGroup(..) => {
                Self::of_topic(action)
            }
            Action::Open(_) | Action::Push { .. } | Action::PushIdempotent { .. } | Action::Edit(_) => {
                unreachable!("made by the caller")
            }
        }
    }

    fn back(&self, back: u64) -> JobId {
        JobId((self.last_job + 1).saturating_sub(back))
    }

    /// The version that a job had, or another one.
    fn version(&self, job: JobId, right: bool) -> u64 {
        self.versions.get(&job).map_or(1, |version| version ^ u64::from(!right))
    }

    fn edit<'a>(&'a self, edit: &Edit, attributes: &'a [u8]) -> Command<'a> {
        let (job, new) = (self.back(edit.back), &edit.new);
        let [has_due, has_priority, has_ttr, has_body] = edit.changes;
        let replaced = edit.replaced();
        let known = self.records.get(&job);
        let record = known.filter(|_| has_body || replaced != AttributeSet::NONE).map(|known| EditedRecord {
            before: known.reference.checksum ^ u32::from(edit.is_stale),
            replaced,
            record: Record {
                key: known.key.as_deref(),
                attributes,
                body: if has_body { &BODY[..new.body_bytes] } else { &known.body },
            },
        });
        let changes = JobEdit {
            due: has_due.then(|| self.when(new.due)),
            priority: has_priority.then_some(new.priority),
            ttr_ms: has_ttr.then_some(new.ttr_ms),
            record,
        };
        let version = edit.version.map(|right| self.version(job, right));
        Command::Edit { job, edit: changes, version }
    }

    fn one_job(&self, action: &Action) -> Command<'static> {
        match action {
            Action::Delete(which) => Command::Delete { job: self.which(which) },
            Action::Reschedule(which, due) => {
                Command::Reschedule { job: self.which(which), due: self.when(*due), version: None }
            }
            Action::RunNow(which) => Command::RunNow { job: self.which(which) },
            Action::Kick(which) => Command::Kick { job: self.which(which) },
            other => unreachable!("{other:?} changes not one job"),
        }
    }

    fn of_topic(action: &Action) -> Command<'static> {
        match action {
            Action::Pause(topic, paused, for_ms) => {
                Command::TopicPause { topic: TOPICS[*topic], paused: *paused, by: "ops", for_ms: *for_ms }
            }
            Action::Policy(topic, change) => {
                Command::TopicPolicy { topic: TOPICS[*topic], change: &CHANGES[*change] }
            }
            Action::DeleteTopic(topic) => Command::TopicDelete { topic: TOPICS[*topic] },
            Action::SetGroup(topic, group, change) => {
                Command::GroupSet { topic: TOPICS[*topic], group: GROUPS[*group], change: *change }
            }
            other => unreachable!("{other:?} is not about a topic"),
        }
    }

    fn many(&self, action: &Action) -> Command<'_> {
        match action {
            Action::Bulk { change, topic, jobs, states, attempts, due } => {
                self.bulk(*change, *topic, jobs, *states, *attempts, *due)
            }
            Action::Move { from, to, jobs, states } => Command::Move {
                from: from.map(|from| TOPICS[from]),
                to: TOPICS[*to],
                jobs: jobs.iter().map(|(back, key)| self.keyed(*back, *key)).collect(),
                conditions: Conditions { states: *states, ..Conditions::default() },
            },
            other => unreachable!("{other:?} changes no jobs together"),
        }
    }

    fn settling(&self, action: &Action) -> Command<'_> {
        match action {
            Action::Finish(leases) => Command::Finish { leases: self.leases(leases) },
            Action::Release(leases, delay_ms, attempted, reason) => Command::Release {
                leases: self.leases(leases),
                delay_ms: *delay_ms,
                attempted: *attempted,
                reason: &REASONS[*reason],
            },
            Action::Touch(leases, ttr_ms) => Command::Touch { leases: self.leases(leases), ttr_ms: *ttr_ms },
            Action::Bury(leases, reason) => {
                Command::Bury { leases: self.leases(leases), reason: &REASONS[*reason] }
            }
            other => unreachable!("{other:?} settles no leases"),
        }
    }

    fn job<'a>(&self, job: &Job, attributes: &'a [u8]) -> NewJob<'a> {
        NewJob {
            due: self.when(job.due),
            priority: job.priority,
            ttr_ms: job.ttr_ms,
            if_exists: job.if_exists,
            key: job.key.map(|key| KEYS[key]),
            attributes,
            body: &BODY[..job.body_bytes],
        }
    }

    fn attributes_of(&self, action: &Action) -> Vec<Vec<u8>> {
        let bytes = |attributes: Attributes| attributes.as_bytes().to_vec();
        match action {
            Action::Push { jobs, .. } | Action::PushIdempotent { jobs, .. } => {
                jobs.iter().map(|job| bytes(self.built(job))).collect()
            }
            Action::Edit(edit) => {
                let known = self.records.get(&self.back(edit.back)).map(|job| job.attributes.clone());
                let old = Attributes::new(known.unwrap_or_default().into()).expect("valid");
                vec![bytes(old.edited(edit.replaced(), &self.built(&edit.new)).expect("valid"))]
            }
            _ => Vec::new(),
        }
    }

    fn built(&self, job: &Job) -> Attributes {
        let mut builder = AttributesBuilder::default();
        if job.body_bytes == 1 {
            builder = builder.header("a", "b");
        }
        if let Some(expires) = job.expires {
            builder = builder.expires(self.when(expires));
        }
        if let Some(attempts) = job.attempts_max {
            builder = builder.attempts_max(attempts);
        }
        if let Some(backoff) = &job.backoff {
            builder = builder.backoff(backoff);
        }
        if let Some(retention_ms) = job.retention_ms {
            builder = builder.dedupe_retention(retention_ms);
        }
        if let Some(max_ms) = job.postpone_max {
            builder = builder.postpone_max(max_ms);
        }
        if let Some(group) = job.group {
            builder = builder.group(GROUPS[group]);
        }
        if let Some(reason) = job.buried {
            builder = builder.buried(&REASONS[reason]);
        }
        builder.build().expect("valid")
    }

    fn when(&self, due: Due) -> When {
        match due {
            Due::After(delay_ms) => When::After(delay_ms),
            Due::Wall(by_ms) => When::At(Millis(self.wall.saturating_add_signed(by_ms))),
        }
    }

    fn bulk(
        &self,
        change: usize,
        topic: Option<usize>,
        jobs: &[u64],
        states: u8,
        attempts: (Option<u32>, Option<u32>),
        due: (Due, Due),
    ) -> Command<'static> {
        let wall = |due: Due| match self.when(due) {
            When::At(at) => at,
            When::After(delay_ms) => Millis(self.wall + delay_ms),
        };
        let change = match change {
            0 => BulkChange::Delete,
            1 => BulkChange::Kick,
            2 => BulkChange::RunNow,
            _ => BulkChange::Reschedule { due: wall(due.0) },
        };
        let conditions = Conditions {
            states,
            due_from: matches!(due.1, Due::Wall(_)).then(|| wall(due.1)),
            due_before: matches!(due.1, Due::After(_)).then(|| wall(due.1)),
            attempts_min: attempts.0,
            attempts_max: attempts.1,
            ..Conditions::default()
        };
        let jobs = jobs.iter().map(|back| self.back(*back)).collect();
        Command::Bulk { topic: topic.map(|topic| TOPICS[topic]), change, jobs, conditions }
    }

    /// A job with its key, as read by the proposer of a move; or with another key.
    fn keyed(&self, back: u64, wrong: Option<usize>) -> KeyedJob<'_> {
        let job = self.back(back);
        let key = self.records.get(&job).and_then(|job| job.key.as_deref());
        // Of a job without a key the state could not tell.
        let key = wrong.filter(|_| key.is_some()).map(|wrong| KEYS[wrong]).or(key);
        KeyedJob { job, key }
    }

    fn leases(&self, back: &[usize]) -> Vec<Lease> {
        back.iter().filter_map(|back| self.leases.iter().rev().nth(*back)).copied().collect()
    }

    fn which(&self, which: &Which) -> JobSelect<'static> {
        match *which {
            Which::Back(back) => JobSelect::Id(self.back(back)),
            Which::Key(topic, key) => JobSelect::Key { topic: TOPICS[topic], key: KEYS[key] },
        }
    }
}
