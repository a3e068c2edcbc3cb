//! Every request, and what the server and the client know of each.
//!
//! Generated from `schema/` by `make generate`: do not edit.

use std::num::NonZeroU64;

use bytes::BytesMut;

use crate::codes::{ErrorCode, ResponseOpcode};
use crate::advance::Advance;
use crate::browse::{Bulk, Count, List};
use crate::decode_error::DecodeError;
use crate::edit::Edit;
use crate::field::{self, Field, JobRef, Subject};
use crate::groups::{GroupList, GroupSet};
use crate::opcode::opcodes;
use crate::policy::TopicSet;
use crate::push::Push;
use crate::request::{Kind, Repeat};
use crate::reserve::{Reserve, Subscribe};
use crate::schedule::{ScheduleFill, ScheduleList, SchedulePreview, ScheduleSet};
use crate::session::Hello;
use crate::settle::ReleaseKind;
use crate::wire::{Reader, in_range};
use adjourn_types::{JobId, Lease, Right, TopicName, When};

requests! {
    /// Opens the conversation; the first frame on every connection.
    Hello = 0x01, "HELLO" -> Welcome, Own, Unsafe, [], [Invalid, Quota, Busy] (hello: Hello)
    /// Asks for a PONG.
    Ping = 0x02, "PING" -> Pong, Read, Safe, [], []
    /// Ends the session: its leases are given back at once (unless they outlive it).
    Goodbye = 0x03, "GOODBYE" -> Done, Own, Safe, [], []
    /// Adds jobs to one topic.
    Push = 0x10, "PUSH" -> Pushed, Own, Safe, [Push], [Invalid, Busy, DiskFull, Quota, KeyExists, Reserved, OutcomeUnknown, ExpiresBeforeDue, SequenceReused] (push: Push)
    /// Long-poll: waits for jobs of some topics.
    Reserve = 0x20, "RESERVE" -> Reserved, Own, Safe, [Consume], [Invalid, Busy, Paused] (reserve: Reserve)
    /// Asks for jobs to be sent as they become ready.
    Subscribe = 0x21, "SUBSCRIBE" -> Subscribed, Own, Safe, [Consume], [Invalid, Quota] (subscribe: Subscribe)
    /// Adds credit to a subscription.
    Credit = 0x22, "CREDIT" -> Done, Own, Unsafe, [], [Invalid, NotFound] {
        /// The request id of SUBSCRIBE.
        subscription: u32,
        /// More jobs, at most 65,536.
        credit_jobs: u32 = 0..=65_536,
        /// More bytes, at most 268,435,456.
        credit_bytes: u64 = 0..=268_435_456,
    }
    /// Ends a subscription; jobs already sent stay leased.
    Unsubscribe = 0x23, "UNSUBSCRIBE" -> Done, Own, Unsafe, [], [NotFound] {
        /// The request id of SUBSCRIBE.
        subscription: u32,
    }
    /// Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
    Cancel = 0x24, "CANCEL" -> Done, Own, Unsafe, [], [NotFound] {
        /// The request id of RESERVE.
        request: u32,
    }
    /// Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among them.
    Leases = 0x25, "LEASES" -> Leased, Read, Safe, [Consume], [Invalid, Unreadable] {
        /// A job id: list only later ones. 0 for the first page.
        after: JobId,
        /// 1 to `reserve_jobs_max`.
        jobs_max: u32 = 1..=1_024,
    }
    /// Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back.
    ReserveJob = 0x26, "RESERVE_JOB" -> Reserved, Own, Unsafe, [Consume], [Invalid, Busy, NotFound, Reserved, WrongState] (job: JobRef)
    /// Says that jobs are done: they are removed.
    Finish = 0x30, "FINISH" -> Settled, Change, Safe, [Consume], [Busy, StaleLease] {
        /// 1 to `leases_max` leases.
        leases: Vec<Lease>,
    }
    /// Gives jobs back, to be attempted again.
    Release = 0x31, "RELEASE" -> Settled, Change, Safe, [Consume], [Invalid, Busy, StaleLease] {
        /// Whether the attempt counts, and when the next one is: 0 to ten years, or one of the values that `RELEASE_` begins.
        kind: ReleaseKind,
        /// 1 to `leases_max` leases.
        leases: Vec<Lease>,
        /// What each job shows as its last reason from now on, at most 1,024 bytes; empty for none.
        reason: Option<String>,
    }
    /// Starts the time to run anew.
    Touch = 0x32, "TOUCH" -> Settled, Change, Safe, [Consume], [Invalid, Busy, StaleLease] {
        /// The leases' new time to run, 100 to 604,800,000; 0 takes the jobs' own.
        ttr_ms: Option<u32>,
        /// 1 to `leases_max` leases.
        leases: Vec<Lease>,
    }
    /// Sets jobs aside until somebody kicks them.
    Bury = 0x33, "BURY" -> Settled, Change, Safe, [Consume], [Busy, StaleLease] {
        /// 1 to `leases_max` leases.
        leases: Vec<Lease>,
        /// As in RELEASE.
        reason: Option<String>,
    }
    /// Reads one job.
    Get = 0x40, "GET" -> Job, Read, Safe, [Read], [Invalid, Unreadable, NotFound] (job: JobRef)
    /// Removes one job, whatever its state.
    Delete = 0x41, "DELETE" -> Changed, Change, SafeById, [Manage], [Invalid, Busy, NotFound] (job: JobRef)
    /// Gives one delayed or ready job a new due time; a buried one is kicked first.
    Reschedule = 0x42, "RESCHEDULE" -> Changed, Change, Unsafe, [Manage], [Invalid, Busy, NotFound, Reserved, WrongState, ExpiresBeforeDue, Changed] {
        /// With due_kind: the due point.
        due: When,
        /// The job.
        job: JobRef,
        /// Only if the job is still of this version; absent or 0: in any case.
        if_version: Option<NonZeroU64>,
    }
    /// Makes one delayed job ready at once.
    RunNow = 0x43, "RUN_NOW" -> Changed, Change, Unsafe, [Manage], [Invalid, Busy, NotFound, Reserved, WrongState] (job: JobRef)
    /// Makes one buried job ready.
    Kick = 0x44, "KICK" -> Changed, Change, Unsafe, [Manage], [Invalid, Busy, NotFound, WrongState] (job: JobRef)
    /// Reads the next job of a topic without reserving it: the first ready one, else the first delayed.
    Peek = 0x45, "PEEK" -> Job, Read, Safe, [Read], [Invalid, Busy, Unreadable, NotFound] {
        /// The topic to look at.
        topic: TopicName,
    }
    /// Makes buried jobs of a topic ready: by priority, then by when they were due, then by id.
    KickMany = 0x46, "KICK_MANY" -> Kicked, Change, Unsafe, [Manage], [Invalid, Busy, NotFound] @ 1 {
        /// Most jobs to kick: 1 to `KICK_JOBS_MAX`.
        jobs_max: u32 = 1..=4_096,
        /// The topic of the buried jobs.
        topic: TopicName,
    }
    /// Shows jobs, a page at a time.
    List = 0x47, "LIST" -> Jobs, Read, Safe, [Read], [Invalid, Busy, Unreadable] (list: List)
    /// Counts the jobs that match, all together or by when they are due.
    Count = 0x48, "COUNT" -> Counted, Read, Safe, [Read], [Invalid, Busy, Unreadable] (count: Count)
    /// Does the same to many jobs, a bounded number with each request.
    Bulk = 0x49, "BULK" -> Bulked, Read, Unsafe, [Manage], [Invalid, Busy, Unreadable, Quota] (bulk: Bulk)
    /// Changes parts of one delayed, ready or buried job.
    Edit = 0x4a, "EDIT" -> Changed, Read, Unsafe, [Manage], [Invalid, Busy, NotFound, Reserved, WrongState, ExpiresBeforeDue, Changed, Quota, DiskFull, Unreadable] (edit: Edit)
    /// Stops the reserving of a topic's jobs.
    Pause = 0x50, "PAUSE" -> Done, Change, Safe, [Manage], [Invalid, Busy, NotFound] {
        /// The topic to pause.
        topic: TopicName,
        /// The pause ends by itself after this time; more than ten years count as ten. Absent or 0: it lasts until RESUME.
        for_ms: Option<NonZeroU64>,
    }
    /// Starts it again.
    Resume = 0x51, "RESUME" -> Done, Change, Safe, [Manage], [Invalid, Busy, NotFound] {
        /// The topic to resume.
        topic: TopicName,
    }
    /// Counts by topic.
    Topics = 0x52, "TOPICS" -> TopicCounts, Read, Safe, [Read], []
    /// Counts of the whole queue, and by topic.
    Stats = 0x53, "STATS" -> QueueStats, Read, Safe, [Read], []
    /// Lists the clients that are connected to this node, by number.
    Connections = 0x54, "CONNECTIONS" -> ConnectionList, Read, Safe, [Admin], [Invalid] {
        /// Only higher numbers; 0 for the first page.
        after: u64,
        /// 1 to `CONNECTIONS_LISTED_MAX`.
        connections_max: u32 = 1..=256,
    }
    /// Closes the connection of another client to this node.
    Disconnect = 0x55, "DISCONNECT" -> Done, Own, Unsafe, [Admin], [Invalid, Busy, NotFound] {
        /// Its number, as CONNECTION_LIST shows it.
        connection: u64,
        /// What else to do.
        ends_session: bool,
    }
    /// Changes what a topic decides for its jobs. The topic is made if it is new.
    TopicSet = 0x56, "TOPIC_SET" -> Done, Change, Safe, [Manage], [Invalid, Busy, Quota] (set: TopicSet)
    /// Forgets a topic that has no jobs, with its settings.
    TopicDelete = 0x57, "TOPIC_DELETE" -> Done, Change, Unsafe, [Manage], [Invalid, Busy, NotFound, WrongState] {
        /// The topic to forget.
        topic: TopicName,
    }
    /// Reads what a topic decides for its jobs.
    TopicShow = 0x58, "TOPIC_SHOW" -> TopicSettings, Read, Safe, [Read], [Invalid, NotFound] {
        /// The topic that is asked for.
        topic: TopicName,
    }
    /// Moves the clock of a server for tests. Answered when everything that is due by then is carried out.
    Advance = 0x59, "ADVANCE" -> Pong, Own, Unsafe, [Admin], [Invalid, Busy, Unreadable, NotFound] (advance: Advance)
    /// Asks for a backup of the state as it is now, to be read over this connection.
    BackupBegin = 0x60, "BACKUP_BEGIN" -> BackupReady, Own, Unsafe, [Admin], [Busy, DiskFull]
    /// Reads a part of that backup.
    BackupRead = 0x61, "BACKUP_READ" -> BackupData, Own, Unsafe, [], [Invalid, Unreadable, NotFound] {
        /// Where the part begins.
        offset: u64,
        /// Most bytes of it: 1 to `BACKUP_READ_BYTES_MAX`.
        bytes: u32 = 1..=1_048_576,
    }
    /// Lets go of it. The end of the connection does the same.
    BackupEnd = 0x62, "BACKUP_END" -> Done, Own, Unsafe, [], []
    /// Says when a schedule with these rules would fire, without setting it.
    SchedulePreview = 0x6f, "SCHEDULE_PREVIEW" -> Instants, Read, Safe, [Read], [Invalid] (preview: SchedulePreview)
    /// Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for anything else.
    ClusterStatus = 0x70, "CLUSTER_STATUS" -> ClusterReport, Own, Safe, [Read], []
    /// Adds the node that listens for its peers at an address; it votes when it has caught up.
    ClusterAdd = 0x71, "CLUSTER_ADD" -> Done, Own, Unsafe, [Admin], [Invalid, Busy] {
        /// Where it listens for its peers, as `host:port`.
        address: String,
    }
    /// Removes a member. It cannot come back under its number.
    ClusterRemove = 0x72, "CLUSTER_REMOVE" -> Done, Own, Unsafe, [Admin], [Invalid, Busy] {
        /// The member's number.
        node: u64,
    }
    /// Hands leadership to another member.
    ClusterTransfer = 0x73, "CLUSTER_TRANSFER" -> Done, Own, Unsafe, [Admin], [Invalid, Busy] {
        /// To which; 0 leaves it to the leader.
        node: u64,
    }
    /// Changes the settings of one group. With weight 1 and not paused it has none.
    GroupSet = 0x74, "GROUP_SET" -> Done, Change, Safe, [Manage], [Invalid, Busy, NotFound, WrongState, Quota] (set: GroupSet)
    /// Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name.
    GroupList = 0x75, "GROUP_LIST" -> Groups, Read, Safe, [Read], [Invalid, NotFound] (list: GroupList)
    /// Says why a job is not running.
    Why = 0x76, "WHY" -> Reasons, Read, Safe, [Read], [Invalid, Busy, Unreadable, NotFound] (job: JobRef)
    /// Says why a topic, or one of its groups, gives no job.
    TopicWhy = 0x77, "TOPIC_WHY" -> Reasons, Read, Safe, [Read], [Invalid, NotFound] {
        /// The topic.
        topic: TopicName,
        /// The group; empty for the whole topic.
        group: String,
    }
    /// Creates a schedule, or gives the one of this name another content. The topic is made if it is new.
    ScheduleSet = 0x78, "SCHEDULE_SET" -> Scheduled, Read, Unsafe, [Manage], [Invalid, Busy, Changed, Quota, DiskFull, Unreadable] (set: ScheduleSet)
    /// Reads one schedule, and what it did of late.
    ScheduleShow = 0x79, "SCHEDULE_SHOW" -> Schedule, Read, Safe, [Read], [Invalid, NotFound, Unreadable] {
        /// The topic of its jobs.
        topic: TopicName,
        /// Its name.
        name: String,
    }
    /// Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the order in which they were made.
    ScheduleList = 0x7a, "SCHEDULE_LIST" -> Schedules, Read, Safe, [Read], [Invalid, Unreadable] (list: ScheduleList)
    /// Forgets a schedule. Its jobs stay.
    ScheduleDelete = 0x7b, "SCHEDULE_DELETE" -> Done, Read, Unsafe, [Manage], [Invalid, Busy, NotFound] {
        /// The topic of its jobs.
        topic: TopicName,
        /// Its name.
        name: String,
    }
    /// Lets a schedule fire no more until it is resumed.
    SchedulePause = 0x7c, "SCHEDULE_PAUSE" -> Done, Read, Safe, [Manage], [Invalid, Busy, NotFound] {
        /// The topic of its jobs.
        topic: TopicName,
        /// Its name.
        name: String,
        /// Why, for people, at most 1,024 bytes. To pause again replaces it; empty for none, or to keep it.
        note: Option<String>,
    }
    /// Lets a paused schedule fire again. *missed* says what happens to the instants that passed.
    ScheduleResume = 0x7d, "SCHEDULE_RESUME" -> Done, Read, Safe, [Manage], [Invalid, Busy, NotFound] {
        /// The topic of its jobs.
        topic: TopicName,
        /// Its name.
        name: String,
    }
    /// Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays.
    ScheduleRun = 0x7e, "SCHEDULE_RUN" -> ScheduleRan, Read, Unsafe, [Manage], [Invalid, Busy, NotFound, Changed, KeyExists, Quota, DiskFull, Unreadable] {
        /// The topic of its jobs.
        topic: TopicName,
        /// Its name.
        name: String,
    }
    /// Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic has a job with the key of the instant.
    ScheduleFill = 0x7f, "SCHEDULE_FILL" -> ScheduleFilled, Read, Unsafe, [Push], [Invalid, Busy, NotFound, DiskFull, Unreadable] (fill: ScheduleFill)
}
