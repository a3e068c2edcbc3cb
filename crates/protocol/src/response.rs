//! Responses: answers to requests, and the messages that a server sends on its own.

use bytes::Bytes;

use super::connections::{ConnectionList, ConnectionReport};
use super::error::{ErrorCode, ErrorReply};
use super::groups::{GroupPage, GroupReport, Reason};
pub use super::layout::records::Totals;
use super::schedule::{ListedSchedule, ScheduleFilled, ScheduleInstants, SchedulePage, ScheduleReport};
use adjourn_types::limits::TTR_LEFT_MS_MIN;
use adjourn_types::{
    Attributes, BuryReason, JobHistory, JobId, JobState, Key, Lease, Millis, SessionId, SessionSecret,
    TopicName,
};

mod due_bar;
mod reports;
mod stage;

pub use due_bar::DueBar;
pub use reports::{StatsReport, TopicReport, TopicSettings};
pub use stage::StageReport;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// To HELLO.
    Welcome(Box<Welcome>),
    /// To PING: at some moment after it was sent this node led, and the session was connected to it.
    Pong {
        /// The server's wall clock.
        now: Millis,
        /// The server's monotonic clock, in milliseconds: [`Delivered::deadline_ms`] is a point on it. 0 from a server
        /// that does not show it.
        clock_ms: u64,
    },
    /// To GOODBYE, CREDIT, UNSUBSCRIBE, CANCEL, PAUSE, RESUME, DISCONNECT, `BACKUP_END` and what changes the cluster: it is
    /// done.
    Done,
    /// To PUSH: an outcome per job, in order.
    Pushed(Vec<PushResult>),
    /// To RESERVE: the jobs; none when the wait was over first.
    Reserved(Vec<Delivered>),
    /// To SUBSCRIBE. Jobs follow as `Deliver`.
    Subscribed,
    /// Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session.
    Deliver(Vec<Delivered>),
    /// To LEASES.
    Leased(Leased),
    /// To FINISH, RELEASE, TOUCH and BURY: an outcome per lease, in order.
    Settled(Vec<SettleResult>),
    /// To GET and PEEK.
    Job(Box<JobReport>),
    /// To DELETE, RESCHEDULE, RUN-NOW and KICK.
    Changed {
        /// The job's id.
        job: JobId,
        /// The state it is in now; for DELETE, the one it was in. `None`: one that only a newer server knows.
        state: Option<JobState>,
        /// When it is due.
        due: Millis,
        /// As in [`JobReport::version`]: after the change, and of a deleted job before it.
        version: u64,
    },
    /// To `KICK_MANY`.
    Kicked {
        /// How many jobs are ready now that were buried.
        jobs: u32,
    },
    /// To LIST.
    Jobs {
        /// The jobs, in the order that was asked for.
        jobs: Vec<JobReport>,
        /// Where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor.
        cursor: Bytes,
    },
    /// To COUNT.
    Counted {
        /// How many jobs match.
        jobs: u64,
        /// If bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them.
        by_due: Vec<DueBar>,
    },
    /// To BULK.
    Bulked {
        /// How many jobs were changed.
        jobs: u32,
        /// How many met the conditions and were left as they are: their state does not allow the change, or the topic to which they
        /// were to go has their key.
        skipped: u32,
        /// Where the next step goes on; empty if this was the last one.
        cursor: Bytes,
    },
    /// To TOPICS.
    Topics(Vec<TopicReport>),
    /// To STATS.
    Stats(Box<StatsReport>),
    /// To CONNECTIONS.
    Connections(ConnectionList),
    /// To `TOPIC_SHOW`.
    TopicSettings(Box<TopicSettings>),
    /// To `BACKUP_BEGIN`.
    BackupReady(BackupReady),
    /// To `BACKUP_READ`: the bytes at that offset; fewer than were asked for only at the end.
    BackupData(Bytes),
    /// To `CLUSTER_STATUS`.
    Cluster(Box<ClusterReport>),
    /// To `GROUP_LIST`.
    Groups(GroupPage),
    /// To `WHY` and `TOPIC_WHY`.
    Reasons(Vec<Reason>),
    /// To `SCHEDULE_SET`.
    Scheduled {
        /// Its id.
        schedule: JobId,
        /// How often it was set.
        version: u32,
        /// Its next instant; `None` if there is none.
        next: Option<Millis>,
    },
    /// To `SCHEDULE_SHOW`.
    Schedule(Box<ScheduleReport>),
    /// To `SCHEDULE_LIST`. The cursor says whether there is a further page.
    Schedules(SchedulePage),
    /// To `SCHEDULE_RUN`: it pushed this job.
    ScheduleRan {
        /// The job's id.
        job: JobId,
    },
    /// To `SCHEDULE_FILL`.
    ScheduleFilled(ScheduleFilled),
    /// To `SCHEDULE_PREVIEW`.
    Instants(ScheduleInstants),
    /// Unasked, request id 0: the server is about to close. No new work is taken on this connection.
    GoingAway {
        /// Why, for a person.
        message: String,
        /// Why, for the client.
        reason: GoingAway,
    },
    /// To any request that failed as a whole.
    Error(ErrorReply),
}

/// Why a server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GoingAway {
    /// It does not say, or says something that this version does not know.
    Unknown = 0,
    /// The server stops.
    Stopping = 1,
    /// Another member leads, or none does.
    NotLeader = 2,
    /// Another connection took the session over: this client does not come back under it by itself.
    SessionTakenOver = 3,
    /// An operator closes it: this client does not come back at once.
    Disconnected = 4,
}

impl GoingAway {
    /// The reason with this number.
    pub fn from_u8(number: u8) -> Self {
        let known = [Self::Stopping, Self::NotLeader, Self::SessionTakenOver, Self::Disconnected];
        known.into_iter().find(|reason| *reason as u8 == number).unwrap_or(Self::Unknown)
    }
}

impl Response {
    /// Sets the time left of each lease in it as of `clock_ms` of the server's monotonic clock, the time of writing. Removes
    /// the jobs whose lease is over or almost over. Returns their leases, unless the client may know them from
    /// before.
    pub fn age(&mut self, clock_ms: u64) -> Vec<Lease> {
        let mut unsent = Vec::new();
        let is_first_word = !matches!(self, Self::Leased(_));
        if let Self::Reserved(jobs) | Self::Deliver(jobs) | Self::Leased(Leased { jobs, .. }) = self {
            jobs.retain_mut(|job| {
                job.ttr_left_ms = u32::try_from(job.left_ms(clock_ms)).unwrap_or(u32::MAX);
                let is_held = job.ttr_left_ms >= TTR_LEFT_MS_MIN;
                if !is_held && is_first_word {
                    unsent.push(job.lease);
                }
                is_held
            });
        }
        unsent
    }

    /// Takes the deadlines out of its leases: the client counts on what is left of them. For a clock that does not run, from
    /// which a client cannot count on.
    pub fn hide_deadlines(&mut self) {
        if let Self::Reserved(jobs) | Self::Deliver(jobs) | Self::Leased(Leased { jobs, .. }) = self {
            for job in jobs {
                job.deadline_ms = 0;
            }
        }
    }

    /// Whether it carries anything: a delivery without jobs does not.
    pub fn is_worth_sending(&self) -> bool {
        !matches!(self, Self::Deliver(jobs) if jobs.is_empty())
    }

    /// How many bytes it holds in memory and on the wire: exact for whatever has a length, roughly for the rest.
    pub fn weight_bytes(&self) -> usize {
        const FRAME_BYTES: usize = 48;
        const ITEM_BYTES: usize = 16;
        let topics_bytes = |topics: &[TopicReport]| -> usize {
            topics.iter().map(|report| PART_BYTES + report.topic.as_str().len()).sum()
        };
        FRAME_BYTES
            + match self {
                Self::Reserved(jobs) | Self::Deliver(jobs) | Self::Leased(Leased { jobs, .. }) => jobs
                    .iter()
                    .map(|job| {
                        PART_BYTES + held_bytes(&job.topic, job.key.as_ref(), &job.attributes, &job.body)
                    })
                    .sum(),
                Self::Job(job) => job.weight_bytes(),
                Self::Jobs { jobs, cursor } => {
                    cursor.len() + jobs.iter().map(JobReport::weight_bytes).sum::<usize>()
                }
                Self::Pushed(results) => ITEM_BYTES * results.len(),
                Self::Settled(results) => ITEM_BYTES * results.len(),
                Self::Counted { by_due, .. } => ITEM_BYTES * by_due.len(),
                Self::Topics(topics) => topics_bytes(topics),
                // The driver adds the stages later, and the weight must not change by that.
                Self::Stats(stats) => PART_BYTES + STAGES_BYTES + topics_bytes(&stats.topics),
                Self::Connections(list) => list.connections.iter().map(ConnectionReport::weight_bytes).sum(),
                Self::Cluster(report) => {
                    let addresses =
                        |member: &MemberReport| member.client_address.len() + member.peer_address.len();
                    PART_BYTES + report.members.iter().map(|one| PART_BYTES + addresses(one)).sum::<usize>()
                }
                Self::Welcome(welcome) => {
                    let members = welcome.members.iter().map(|one| PART_BYTES + one.address.len());
                    PART_BYTES + members.sum::<usize>()
                }
                Self::GoingAway { message, .. } => message.len(),
                Self::Error(error) => error.message.len(),
                Self::BackupData(data) => data.len(),
                Self::Bulked { cursor, .. } => cursor.len(),
                Self::TopicSettings(settings) => PART_BYTES + settings.policy.encode().len(),
                Self::Schedule(report) => report.weight_bytes(),
                Self::Instants(shown) => shown.weight_bytes(),
                Self::Schedules(page) => page.schedules.iter().map(ListedSchedule::weight_bytes).sum(),
                Self::Groups(page) => page.groups.iter().map(GroupReport::weight_bytes).sum(),
                Self::Reasons(reasons) => reasons.iter().map(Reason::weight_bytes).sum(),
                Self::Scheduled { .. }
                | Self::ScheduleRan { .. }
                | Self::ScheduleFilled(_)
                | Self::Pong { .. }
                | Self::Done
                | Self::Subscribed
                | Self::Changed { .. }
                | Self::Kicked { .. }
                | Self::BackupReady(_) => 0,
            }
    }
}

/// The size of the fields of fixed length in a job, a topic or a member, in bytes.
const PART_BYTES: usize = 256;
/// The size of the stages in `QUEUE_STATS`, in bytes.
const STAGES_BYTES: usize = 512;

impl JobReport {
    /// How many bytes it holds in memory and on the wire, roughly.
    pub fn weight_bytes(&self) -> usize {
        let texts = [&self.history.held_by, &self.history.reason];
        let text_bytes: usize = texts.into_iter().flatten().map(String::len).sum();
        let bytes = held_bytes(&self.topic, self.key.as_ref(), &self.attributes, &self.body);
        PART_BYTES + bytes + text_bytes
    }
}

/// Bytes of a job that is sent.
fn held_bytes(topic: &TopicName, key: Option<&Key>, attributes: &Attributes, body: &Bytes) -> usize {
    let key_bytes = key.map_or(0, |key| key.as_bytes().len());
    topic.as_str().len() + key_bytes + attributes.as_bytes().len() + body.len()
}

/// The cluster as one node sees it. The leader knows how far each member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterReport {
    /// The node that says so.
    pub node: u64,
    /// Which cluster it is.
    pub cluster_id: [u8; 16],
    /// The leader's number, as far as it knows.
    pub leader: Option<u64>,
    /// The Raft term.
    pub term: u64,
    /// The last entry in its log.
    pub last: u64,
    /// The last entry that it knows to be committed.
    pub commit: u64,
    /// What all members can do.
    pub feature_level: u32,
    /// The members, voters first.
    pub members: Vec<MemberReport>,
}

/// One member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberReport {
    /// Its number.
    pub node: u64,
    /// Its role.
    pub role: Role,
    /// Where the other members reach it.
    pub peer_address: String,
    /// Where clients reach it.
    pub client_address: String,
    /// Whether the node that reports is connected to it.
    pub is_connected: bool,
    /// The last entry that it is known to have durable; the leader knows.
    pub matched: Option<u64>,
    /// The last entry that it said it had applied.
    pub applied: Option<u64>,
    /// How far its wall clock is ahead of that of the node that reports, in milliseconds (negative: behind).
    pub ahead_ms: Option<i64>,
    /// The newest entry after which members compare their states, as it said.
    pub audited: u64,
    /// Whether its state after that entry was that of the node that reports.
    pub same_state: Option<bool>,
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// It receives the log, and does not vote yet.
    Learner = 0,
    /// It votes, and its disk counts.
    Voter = 1,
    /// A voter that leads.
    Leader = 2,
}

impl Role {
    /// The role with this number.
    pub fn from_u8(number: u8) -> Option<Self> {
        [Self::Learner, Self::Voter, Self::Leader].into_iter().find(|role| *role as u8 == number)
    }
}

/// A backup that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReady {
    /// The last entry of the log that it contains.
    pub index: u64,
    /// How many jobs are in it.
    pub jobs: u64,
    /// Hash of the state.
    pub state_hash: u128,
    /// How many bytes there are to be read: all of the backup but its footer.
    pub bytes: u64,
}

/// The server's side of the bargain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The protocol version that both speak from now on.
    pub version: u16,
    /// What the server calls itself.
    pub server_name: String,
    /// Which cluster this is: a client that reconnects checks that it is the same.
    pub cluster_id: [u8; 16],
    /// The session, new or resumed; 0 if HELLO asked for none.
    pub session: SessionId,
    /// What to show when resuming it; zeros without one.
    pub secret: SessionSecret,
    /// Whether the session is the one that the client asked to resume.
    pub resumed: bool,
    /// Whether its leases were kept; false after its grace was over.
    pub leases_kept: bool,
    /// The longest time between two frames from each side.
    pub heartbeat_ms: u32,
    /// How long a lost connection's leases are kept.
    pub session_grace_ms: u32,
    /// Largest frame.
    pub frame_bytes_max: u32,
    /// Largest body.
    pub body_bytes_max: u32,
    /// Most jobs in a PUSH.
    pub push_jobs_max: u32,
    /// Most leases in a FINISH and its like.
    pub leases_max: u32,
    /// Most jobs in a RESERVE.
    pub reserve_jobs_max: u32,
    /// Most requests that may wait for their answer on one connection.
    pub in_flight_max: u32,
    /// The members of the cluster and where clients reach them.
    pub members: Vec<Member>,
    /// As in [`Response::Pong`].
    pub clock_ms: u64,
}

/// The session to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Its id.
    pub session: SessionId,
    /// Its secret.
    pub secret: SessionSecret,
}

impl Welcome {
    /// What a later HELLO shows to resume the session; `None` without one.
    pub fn resume(&self) -> Option<Resume> {
        (self.session != SessionId::NONE).then_some(Resume { session: self.session, secret: self.secret })
    }
}

/// One node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub node: u64,
    /// Where clients connect.
    pub address: String,
    /// Whether it leads now.
    pub leader: bool,
}

/// The outcome of one pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushResult {
    /// It is in the queue.
    Pushed(JobId),
    /// The key lives and the push said keep: this job.
    Kept(JobId),
    /// It took the place of a job with its key; the new id.
    Replaced(JobId),
    /// The job with its key was postponed: this one.
    Postponed(JobId),
    /// Refused. For `KeyExists` and `Reserved` the job that lives.
    Refused(ErrorCode, Option<JobId>),
}

/// The outcome of one lease: done, or why not.
pub type SettleResult = Result<(), ErrorCode>;

/// A job that is now leased to the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// What to show when settling it.
    pub lease: Lease,
    /// Its topic.
    pub topic: TopicName,
    /// The user's own id.
    pub key: Option<Key>,
    /// A lower number was reserved first.
    pub priority: u32,
    /// How often it was reserved, this time included.
    pub attempts: u32,
    /// When it was due.
    pub due: Millis,
    /// How much of the lease was left when the server wrote this, in milliseconds. The client updates it when
    /// it hands the job out.
    pub ttr_left_ms: u32,
    /// When the lease ends, on the server's monotonic clock in milliseconds; 0 from a server that does not say. See
    /// [`Response::Pong`].
    pub deadline_ms: u64,
    /// Headers and so on.
    pub attributes: Attributes,
    /// Opaque.
    pub body: Bytes,
}

impl Delivered {
    /// How much of the lease is left at `clock_ms` of the server's monotonic clock, in milliseconds.
    pub fn left_ms(&self, clock_ms: u64) -> u64 {
        self.deadline_ms.saturating_sub(clock_ms)
    }
}

/// A page of the leases that a session holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// Whether there are leases on jobs behind the last one. A page may be empty and there be more: then ask for the same
    /// page again.
    pub has_more: bool,
    /// The jobs, by id.
    pub jobs: Vec<Delivered>,
}

/// A job as GET and PEEK show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// Its id.
    pub id: JobId,
    /// Where it stands. `None`: in a state that only a newer server knows.
    pub state: Option<JobState>,
    /// Its topic.
    pub topic: TopicName,
    /// The user's own id.
    pub key: Option<Key>,
    /// A lower number is reserved first.
    pub priority: u32,
    /// How often it was reserved.
    pub attempts: u32,
    /// When it is, or was, due.
    pub due: Millis,
    /// How long a lease on it lasts.
    pub ttr_ms: u32,
    /// How much of its lease is left; 0 when it is not reserved.
    pub ttr_left_ms: u32,
    /// Why it is buried, if this version knows the reason.
    pub buried: Option<BuryReason>,
    /// Headers and so on.
    pub attributes: Attributes,
    /// The length of the body, whether it is shown or not.
    pub body_bytes: u32,
    /// Opaque; empty in a list without bodies.
    pub body: Bytes,
    /// What happened to it so far.
    pub history: JobHistory,
    /// Another number after each change of it; 0 in a list, and from a server that does not show it.
    pub version: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestId;
    use adjourn_types::{AttributesBuilder, Fence};

    #[test]
    fn what_a_job_carries_beside_its_body_weighs() {
        let attributes = AttributesBuilder::default().header("trace", &"x".repeat(1000)).build();
        let attributes = attributes.expect("valid");
        let job = Delivered {
            lease: Lease { job: JobId(1), fence: Fence(1) },
            topic: "t".repeat(100).parse().expect("a name"),
            key: Some(Key::new(Bytes::from(vec![b'k'; 200])).expect("a key")),
            priority: 0,
            attempts: 1,
            due: Millis(0),
            ttr_left_ms: 0,
            deadline_ms: 0,
            attributes: attributes.clone(),
            body: Bytes::from(vec![0; 10]),
        };
        let carried = 100 + 200 + attributes.as_bytes().len() + 10;
        for response in [Response::Deliver(vec![job.clone(); 9]), Response::Reserved(vec![job; 9])] {
            let mut out = bytes::BytesMut::new();
            response.encode(RequestId(1), &mut out);
            let weight = response.weight_bytes();
            assert!((9 * carried..out.len() + 9 * 256).contains(&weight), "{weight} of {}", out.len());
        }
    }
}
