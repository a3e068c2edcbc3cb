//! Requests: the messages of a client.

use bytes::Bytes;

use crate::types::{
    Attributes, Filter, IfExists, JobId, Key, Lease, ListOrder, Millis, PolicyChange, SessionId,
    SessionSecret, TopicName, When,
};

/// One request. Each is answered once, under its request id, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Opens the conversation; the first frame on every connection.
    Hello(Hello),
    /// Asks for a PONG.
    Ping,
    /// Ends the session: its leases are given back at once (unless they outlive it).
    Goodbye,
    /// Adds jobs to one topic.
    Push(Push),
    /// Long-poll: waits for jobs of some topics.
    Reserve(Reserve),
    /// Asks for jobs to be sent as they become ready.
    Subscribe(Subscribe),
    /// Adds credit to a subscription.
    Credit {
        /// The request id of its SUBSCRIBE.
        subscription: u32,
        /// More jobs.
        jobs: u32,
        /// More bytes of bodies.
        bytes: u64,
    },
    /// Ends a subscription; jobs already sent stay leased.
    Unsubscribe {
        /// The request id of its SUBSCRIBE.
        subscription: u32,
    },
    /// Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
    Cancel {
        /// The request id of the RESERVE.
        request: u32,
    },
    /// Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among
    /// them.
    Leases {
        /// Only jobs with a greater id: 0 for the first page, then the last id of the page before.
        after: JobId,
        /// The maximum number: 1 to [`RESERVE_JOBS_MAX`](crate::types::limits::RESERVE_JOBS_MAX).
        jobs_max: u32,
    },
    /// Says that jobs are done: they are removed.
    Finish {
        /// Leases on the finished jobs.
        leases: Vec<Lease>,
    },
    /// Gives jobs back, to be attempted again.
    Release {
        /// Leases on the jobs to release.
        leases: Vec<Lease>,
        /// Whether the attempt counts, and when the next one is.
        kind: ReleaseKind,
        /// What each job shows as its last reason from now on; at most
        /// [`REASON_BYTES_MAX`](crate::types::limits::REASON_BYTES_MAX) bytes.
        reason: Option<String>,
    },
    /// Starts the time to run anew.
    Touch {
        /// Leases to extend.
        leases: Vec<Lease>,
        /// A new time to run in milliseconds; `None` keeps the job's own.
        ttr_ms: Option<u32>,
    },
    /// Sets jobs aside until somebody kicks them.
    Bury {
        /// Leases on the jobs to bury.
        leases: Vec<Lease>,
        /// As in [`Self::Release`].
        reason: Option<String>,
    },
    /// Reads one job.
    Get(JobRef),
    /// Removes one job, whatever its state.
    Delete(JobRef),
    /// Gives one delayed or ready job a new due time; a buried one is kicked first.
    Reschedule {
        /// The job to reschedule.
        job: JobRef,
        /// When it is due now.
        due: When,
    },
    /// Makes one delayed job ready at once.
    RunNow(JobRef),
    /// Makes one buried job ready.
    Kick(JobRef),
    /// Makes buried jobs of a topic ready: by priority, then by when they were due, then by id.
    KickMany {
        /// The topic of the buried jobs.
        topic: TopicName,
        /// The maximum number: 1 to [`KICK_JOBS_MAX`](crate::types::limits::KICK_JOBS_MAX).
        jobs_max: u32,
    },
    /// Stops the reserving of a topic's jobs.
    Pause {
        /// The topic to pause.
        topic: TopicName,
    },
    /// Starts it again.
    Resume {
        /// The topic to resume.
        topic: TopicName,
    },
    /// Changes what a topic decides for its jobs. The topic is made if it is new.
    TopicSet {
        /// The topic whose policy changes.
        topic: TopicName,
        /// What changes.
        change: Box<PolicyChange>,
    },
    /// Reads what a topic decides for its jobs.
    TopicShow {
        /// The topic that is asked for.
        topic: TopicName,
    },
    /// Forgets a topic that has no jobs, with its settings.
    TopicDelete {
        /// The topic to forget.
        topic: TopicName,
    },
    /// Reads the next job of a topic without reserving it: the first ready one, else the first delayed.
    Peek {
        /// The topic to look at.
        topic: TopicName,
    },
    /// Shows jobs, a page at a time.
    List(List),
    /// Counts the jobs that match.
    Count(Filter),
    /// Does the same to many jobs, a bounded number with each request.
    Bulk(Bulk),
    /// Counts by topic.
    Topics,
    /// Counts of the whole queue, and by topic.
    Stats,
    /// Lists the clients that are connected to this node, by number.
    Connections {
        /// Only connections with a greater number: 0 for the first page, then the last number of the page before.
        after: u64,
        /// The maximum number: 1 to [`CONNECTIONS_LISTED_MAX`](crate::types::limits::CONNECTIONS_LISTED_MAX).
        connections_max: u32,
    },
    /// Closes the connection of another client to this node.
    Disconnect {
        /// Its number, as [`Request::Connections`] shows it.
        connection: u64,
        /// Ends its session as well: its leases are given back at once. Otherwise the session's grace begins.
        ends_session: bool,
    },
    /// Asks for a backup of the state as it is now, to be read over this connection.
    BackupBegin,
    /// Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for
    /// anything else.
    ClusterStatus,
    /// Adds the node that listens for its peers at an address; it votes when it has caught up.
    ClusterAdd {
        /// `HOST:PORT`.
        address: String,
    },
    /// Removes a member. It cannot come back under its number.
    ClusterRemove {
        /// The member's node number.
        node: u64,
    },
    /// Hands leadership to another member.
    ClusterTransfer {
        /// To which; 0 leaves it to the leader.
        node: u64,
    },
    /// Reads a part of that backup.
    BackupRead {
        /// Where the part begins.
        offset: u64,
        /// The maximum number of bytes: 1 to [`BACKUP_READ_BYTES_MAX`](crate::types::limits::BACKUP_READ_BYTES_MAX).
        bytes: u32,
    },
    /// Lets go of it. The end of the connection does the same.
    BackupEnd,
}

/// The first frame of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The oldest protocol version that the client understands.
    pub version_min: u16,
    /// The newest.
    pub version_max: u16,
    /// What the client calls itself, for logs.
    pub client_name: String,
    /// The authentication token; empty for none.
    pub token: Bytes,
    /// The longest time between two frames from each side, before the connection is lost; 0 lets the server decide.
    pub heartbeat_ms: u32,
    /// The session to go on with; `None` opens a new one.
    pub resume: Option<Resume>,
    /// The session's leases run to their deadline when the connection is lost or the session ends.
    pub leases_outlive: bool,
}

/// Which session to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Its id.
    pub session: SessionId,
    /// Its secret.
    pub secret: SessionSecret,
}

/// Jobs for one topic, each with its own outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Where they belong.
    pub topic: TopicName,
    /// The session's sequence number of the first job; the others follow. A repeated number answers as it
    /// did the first time. 0: no protection against repeats.
    pub sequence: u64,
    /// The jobs.
    pub jobs: Vec<NewJob>,
}

/// One job to be pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// When it is due.
    pub due: When,
    /// A lower number is reserved first.
    pub priority: u32,
    /// How long a consumer may hold it, in milliseconds; 0 is the default.
    pub ttr_ms: u32,
    /// What to do when the key lives.
    pub if_exists: IfExists,
    /// The user's own id.
    pub key: Option<Key>,
    /// Headers, expiry, attempts and so on.
    pub attributes: Attributes,
    /// Opaque to the queue.
    pub body: Bytes,
}

/// A long-poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// The topics to reserve from.
    pub topics: Vec<TopicName>,
    /// The maximum number of jobs.
    pub jobs_max: u32,
    /// Answer without a job after this time in milliseconds; 0 answers at once.
    pub wait_ms: u64,
    /// The topics' shares, one number from 1 on per topic in their order: of topics with weights 5 and 1 the first gives five
    /// jobs for each of the second while both have some. Without them the order is by priority, due time and id over all
    /// topics.
    pub weights: Vec<u16>,
}

/// A standing order for jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribe {
    /// The topics to subscribe to.
    pub topics: Vec<TopicName>,
    /// Jobs that may be held at once. Settling a lease returns its share.
    pub credit_jobs: u32,
    /// Bytes of bodies that may be held at once. While it is above 0 one more job is sent, however large.
    pub credit_bytes: u64,
    /// As in [`Reserve::weights`].
    pub weights: Vec<u16>,
}

/// A page of a list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Which jobs.
    pub filter: Filter,
    /// In which order.
    pub order: ListOrder,
    /// At most this many: 1 to [`LIST_JOBS_MAX`](crate::types::limits::LIST_JOBS_MAX).
    pub jobs_max: u32,
    /// Whether their bodies are shown.
    pub with_bodies: bool,
    /// What the page before gave; empty for the first page.
    pub cursor: Bytes,
}

/// A step of a change to many jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// What to do to each job.
    pub change: Change,
    /// To which jobs.
    pub filter: Filter,
    /// To at most this many: 1 to [`BULK_JOBS_MAX`](crate::types::limits::BULK_JOBS_MAX).
    pub jobs_max: u32,
    /// What the step before gave; empty for the first one.
    pub cursor: Bytes,
}

/// What a bulk change does to each job. A job that may not be changed so is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes it, whatever its state.
    Delete,
    /// Makes it ready, if it is buried; its attempts start at 0 again.
    Kick,
    /// Makes it ready, if it is delayed.
    RunNow,
    /// Gives it this due time of the wall clock, if it is delayed or ready.
    Reschedule {
        /// When it is due.
        due: Millis,
    },
    /// Puts it into another topic, unless it is reserved, or another job has its key there.
    Move {
        /// Where it goes; made if it is new.
        to: TopicName,
    },
}

/// How a job is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseKind {
    /// The attempt failed: the job's backoff says when the next one is, at once without one.
    Backoff,
    /// The attempt failed. The next one begins after this delay in milliseconds.
    After(u64),
    /// The work was not begun: this counts as no attempt, and the job is ready at once.
    NotStarted,
}

/// Names one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRef {
    /// By the queue's id.
    Id(JobId),
    /// By the user's.
    Key {
        /// The key's topic.
        topic: TopicName,
        /// The key.
        key: Key,
    },
}

impl List {
    /// A copy that does not keep alive the buffer it was read from.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self { filter: self.filter.detached(), cursor: Bytes::copy_from_slice(&self.cursor), ..self.clone() }
    }
}

impl Bulk {
    /// A copy that does not keep alive the buffer it was read from.
    #[must_use]
    pub fn detached(&self) -> Self {
        let change = match &self.change {
            Change::Move { to } => Change::Move { to: to.detached() },
            change => change.clone(),
        };
        let cursor = Bytes::copy_from_slice(&self.cursor);
        Self { change, filter: self.filter.detached(), cursor, ..self.clone() }
    }
}

impl NewJob {
    /// A job with the default priority and time to run, due at once.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self {
            due: When::After(0),
            priority: crate::types::limits::PRIORITY_UNSAID,
            ttr_ms: 0,
            if_exists: IfExists::Reject,
            key: None,
            attributes: Attributes::default(),
            body: body.into(),
        }
    }

    /// Due this many milliseconds after the queue accepts it.
    #[must_use]
    pub fn after(mut self, delay_ms: u64) -> Self {
        self.due = When::After(delay_ms);
        self
    }

    /// Due at this point of the wall clock.
    #[must_use]
    pub fn at(mut self, at: Millis) -> Self {
        self.due = When::At(at);
        self
    }

    /// With the user's own id.
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }
}
