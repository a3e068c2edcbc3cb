//! Requests: the messages of a client. One table has all of them, and everything that the server and the client know of each.

use std::num::NonZeroU64;

use bytes::BytesMut;

use super::RequestId;
use super::advance::Advance;
use super::browse::{Bulk, List};
use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::field::{self, Field, JobRef, Subject};
use super::frame::{self, Frame};
use super::opcode::{ResponseOpcode, opcodes};
use super::policy::TopicSet;
use super::push::Push;
use super::reserve::{Reserve, Subscribe};
use super::response::Response;
use super::session::Hello;
use super::settle::ReleaseKind;
use super::wire::{Reader, in_range};
use adjourn_types::limits::{
    BACKUP_READ_BYTES_MAX, CONNECTIONS_LISTED_MAX, CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, KICK_JOBS_MAX,
    RESERVE_JOBS_MAX,
};
use adjourn_types::{FEATURE_KICK_MANY, Filter, GroupId, JobId, Lease, Right, TopicName, When};

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It becomes one command of the log, and is answered once that is applied.
    Change,
    /// It is answered from the applied state, when this node has made sure that it still leads.
    Read,
    /// It has a handler of its own.
    Own,
}

/// Whether a client may send a request again when it does not know if the server got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Yes: carrying it out twice does no more than carrying it out once. A push is known by its numbers, what settles by the
    /// lease's fence, the others by what they are.
    Safe,
    /// Only if it names a job by its id: under the key there may be another job meanwhile.
    SafeById,
    /// No.
    Unsafe,
}

/// What every request may be told.
pub const ANY_REQUEST: &[ErrorCode] = &[
    ErrorCode::Malformed,
    ErrorCode::Unsupported,
    ErrorCode::TooLarge,
    ErrorCode::Unauthorised,
    ErrorCode::NotLeader,
    ErrorCode::NoLeader,
    ErrorCode::Stopping,
    ErrorCode::SessionUnknown,
];

/// Makes [`Request`] and [`RequestOpcode`] from a table. An entry is
///
/// ```text
/// /// What it does.
/// Name = opcode, "NAME" -> the opcode of its answer, Kind, Repeat, [the Right that it needs], [what it may be told beside ANY_REQUEST] @ FEATURE_LEVEL
/// ```
///
/// (without the last word where every member knows it), and then nothing, a message that has its own file, or the fields in the order of the wire, numbers with their range.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $name:ident = $number:literal, $text:literal -> $answer:ident, $kind:ident, $repeat:ident, [$($right:ident)?], [$($code:ident),*] $(@ $level:ident)?
        $(($message:ident: $message_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty $(= $range:expr)?,)+ })?
    )+) => {
        /// One request. Each is answered once, under its request id, in any order.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Request {
            $($(#[$doc])* $name $(($message_type))? $({ $($(#[$field_doc])* $field: $field_type,)+ })?,)+
        }

        opcodes! {
            /// What a client may send.
            RequestOpcode { $($(#[$doc])* $name = $number, $text;)+ }
        }

        impl RequestOpcode {
            /// What it is answered with, unless it is refused.
            pub fn answer(self) -> ResponseOpcode {
                match self {
                    $(Self::$name => ResponseOpcode::$answer,)+
                }
            }

            /// Who answers it.
            pub fn kind(self) -> Kind {
                match self {
                    $(Self::$name => Kind::$kind,)+
                }
            }

            /// Whether it may be sent again.
            pub fn repeat(self) -> Repeat {
                match self {
                    $(Self::$name => Repeat::$repeat,)+
                }
            }

            /// The right that a client needs for it, to the topic that it is about if there is one.
            pub fn right(self) -> Option<Right> {
                match self {
                    $(Self::$name => None$(.or(Some(Right::$right)))?,)+
                }
            }

            /// The feature level that all members must have before it is proposed.
            pub fn level(self) -> u32 {
                match self {
                    $(Self::$name => 0 $(+ $level)?,)+
                }
            }

            /// What this request may be told beside [`ANY_REQUEST`], its items included. `protocol.md` has the same table, and the
            /// simulator sees that no server says anything else.
            pub fn refusals(self) -> &'static [ErrorCode] {
                match self {
                    $(Self::$name => &[$(ErrorCode::$code),*],)+
                }
            }
        }

        impl Request {
            /// The number of the message.
            pub fn opcode(&self) -> RequestOpcode {
                match self {
                    $(Self::$name { .. } => RequestOpcode::$name,)+
                }
            }

            fn encode_payload(&self, out: &mut BytesMut) {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        $($message.put(out);)?
                        $($($field.put(out);)+)?
                    })+
                }
            }

            fn decode_payload(opcode: RequestOpcode, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(match opcode {
                    $(RequestOpcode::$name => Self::$name {
                        $(0: field::take(reader, stringify!($message))?)?
                        $($($field: {
                            let value: $field_type = field::take(reader, stringify!($field))?;
                            $(in_range(value, $range, stringify!($field))?;)?
                            value
                        },)+)?
                    },)+
                })
            }

            /// Refuses what a server with this limit of a body does not accept: exactly what [`Self::decode`] refuses, with the
            /// same error, and texts that encoding would cut. Values with two forms on the wire are left as they are: no new
            /// time to run and one of 0 mean the same, and so do no reason and an empty one.
            pub fn validate(&self, body_bytes_max: usize) -> Result<(), DecodeError> {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        $($message.check(stringify!($message), body_bytes_max)?;)?
                        $($(
                            $field.check(stringify!($field), body_bytes_max)?;
                            $(in_range(*$field, $range, stringify!($field))?;)?
                        )+)?
                    })+
                }
                Ok(())
            }

            /// What it names of the queue, as the types of its fields say it.
            pub fn subject(&mut self) -> Subject<'_> {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        Subject::Nothing $(.or($message.subject()))? $($(.or($field.subject()))+)?
                    })+
                }
            }

            /// The leases in it.
            pub fn leases(&self) -> &[Lease] {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        let found: &[&[Lease]] = &[&[], $($message.leases(),)? $($($field.leases(),)+)?];
                        found.iter().copied().find(|leases| !leases.is_empty()).unwrap_or_default()
                    })+
                }
            }

            /// A copy that does not keep alive the buffer it was read from.
            #[must_use]
            pub fn detached(self) -> Self {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => Self::$name {
                        $(0: $message.detach())?
                        $($($field: $field.detach(),)+)?
                    },)+
                }
            }
        }
    };
}

requests! {
    /// Opens the conversation; the first frame on every connection.
    Hello = 0x01, "HELLO" -> Welcome, Own, Unsafe, [], [Invalid, Quota, Busy] (hello: Hello)
    /// Asks for a PONG.
    Ping = 0x02, "PING" -> Pong, Read, Safe, [], []
    /// Ends the session: its leases are given back at once (unless they outlive it).
    Goodbye = 0x03, "GOODBYE" -> Done, Own, Safe, [], []

    /// Adds jobs to one topic.
    Push = 0x10, "PUSH" -> Pushed, Own, Safe, [Push], [
        Invalid, Busy, DiskFull, Quota, KeyExists, Reserved, OutcomeUnknown, ExpiresBeforeDue, SequenceReused
    ] (push: Push)

    /// Long-poll: waits for jobs of some topics.
    Reserve = 0x20, "RESERVE" -> Reserved, Own, Safe, [Consume], [Invalid, Busy, Paused] (reserve: Reserve)
    /// Asks for jobs to be sent as they become ready.
    Subscribe = 0x21, "SUBSCRIBE" -> Subscribed, Own, Safe, [Consume], [Invalid, Quota] (subscribe: Subscribe)
    /// Adds credit to a subscription.
    Credit = 0x22, "CREDIT" -> Done, Own, Unsafe, [], [Invalid, NotFound] {
        /// The request id of its SUBSCRIBE.
        subscription: u32,
        /// More jobs.
        credit_jobs: u32 = 0..=CREDIT_JOBS_MAX,
        /// More bytes of bodies.
        credit_bytes: u64 = 0..=CREDIT_BYTES_MAX,
    }
    /// Ends a subscription; jobs already sent stay leased.
    Unsubscribe = 0x23, "UNSUBSCRIBE" -> Done, Own, Unsafe, [], [NotFound] {
        /// The request id of its SUBSCRIBE.
        subscription: u32,
    }
    /// Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
    Cancel = 0x24, "CANCEL" -> Done, Own, Unsafe, [], [NotFound] {
        /// The request id of the RESERVE.
        request: u32,
    }
    /// Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among
    /// them.
    Leases = 0x25, "LEASES" -> Leased, Read, Safe, [Consume], [Invalid, Unreadable] {
        /// Only jobs with a greater id: 0 for the first page, then the last id of the page before.
        after: JobId,
        /// The maximum number: 1 to [`RESERVE_JOBS_MAX`].
        jobs_max: u32 = 1..=RESERVE_JOBS_MAX,
    }

    /// Says that jobs are done: they are removed.
    Finish = 0x30, "FINISH" -> Settled, Change, Safe, [Consume], [Busy, StaleLease] {
        /// Leases on the finished jobs.
        leases: Vec<Lease>,
    }
    /// Gives jobs back, to be attempted again.
    Release = 0x31, "RELEASE" -> Settled, Change, Safe, [Consume], [Invalid, Busy, StaleLease] {
        /// Whether the attempt counts, and when the next one is.
        kind: ReleaseKind,
        /// Leases on the jobs to release.
        leases: Vec<Lease>,
        /// What each job shows as its last reason from now on; at most
        /// [`REASON_BYTES_MAX`](adjourn_types::limits::REASON_BYTES_MAX) bytes.
        reason: Option<String>,
    }
    /// Starts the time to run anew.
    Touch = 0x32, "TOUCH" -> Settled, Change, Safe, [Consume], [Invalid, Busy, StaleLease] {
        /// A new time to run in milliseconds; `None` keeps the job's own.
        ttr_ms: Option<u32>,
        /// Leases to extend.
        leases: Vec<Lease>,
    }
    /// Sets jobs aside until somebody kicks them.
    Bury = 0x33, "BURY" -> Settled, Change, Safe, [Consume], [Busy, StaleLease] {
        /// Leases on the jobs to bury.
        leases: Vec<Lease>,
        /// As in [`Self::Release`].
        reason: Option<String>,
    }

    /// Reads one job.
    Get = 0x40, "GET" -> Job, Read, Safe, [Read], [Invalid, Unreadable, NotFound] (job: JobRef)
    /// Removes one job, whatever its state.
    Delete = 0x41, "DELETE" -> Changed, Change, SafeById, [Manage], [Invalid, Busy, NotFound] (job: JobRef)
    // The next ones: the job may have gone on meanwhile, and would be moved a second time.
    /// Gives one delayed or ready job a new due time; a buried one is kicked first.
    Reschedule = 0x42, "RESCHEDULE" -> Changed, Change, Unsafe, [Manage], [
        Invalid, Busy, NotFound, Reserved, WrongState, ExpiresBeforeDue, Changed
    ] {
        /// When it is due now.
        due: When,
        /// The job to reschedule.
        job: JobRef,
        /// Only if it is still of this version, as JOB shows it.
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
    KickMany = 0x46, "KICK_MANY" -> Kicked, Change, Unsafe, [Manage], [Invalid, Busy, NotFound] @ FEATURE_KICK_MANY {
        /// The maximum number: 1 to [`KICK_JOBS_MAX`].
        jobs_max: u32 = 1..=KICK_JOBS_MAX,
        /// The topic of the buried jobs.
        topic: TopicName,
    }
    /// Shows jobs, a page at a time.
    List = 0x47, "LIST" -> Jobs, Read, Safe, [Read], [Invalid, Busy, Unreadable] (list: List)
    /// Counts the jobs that match.
    Count = 0x48, "COUNT" -> Counted, Read, Safe, [Read], [Invalid, Busy, Unreadable] (filter: Filter)
    // The jobs that were changed may match again meanwhile.
    /// Does the same to many jobs, a bounded number with each request.
    Bulk = 0x49, "BULK" -> Bulked, Read, Unsafe, [Manage], [Invalid, Busy, Unreadable, Quota] (bulk: Bulk)

    /// Stops the reserving of a topic's jobs.
    Pause = 0x50, "PAUSE" -> Done, Change, Safe, [Manage], [Invalid, Busy, NotFound] {
        /// The topic to pause.
        topic: TopicName,
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
        /// Only connections with a greater number: 0 for the first page, then the last number of the page before.
        after: u64,
        /// The maximum number: 1 to [`CONNECTIONS_LISTED_MAX`].
        connections_max: u32 = 1..=CONNECTIONS_LISTED_MAX,
    }
    /// Closes the connection of another client to this node.
    Disconnect = 0x55, "DISCONNECT" -> Done, Own, Unsafe, [Admin], [Invalid, Busy, NotFound] {
        /// Its number, as [`Request::Connections`] shows it.
        connection: u64,
        /// Ends its session as well: its leases are given back at once. Otherwise the session's grace begins.
        ends_session: bool,
    }
    /// Changes what a topic decides for its jobs. The topic is made if it is new.
    TopicSet = 0x56, "TOPIC_SET" -> Done, Change, Safe, [Manage], [Invalid, Busy, Quota] (set: TopicSet)
    // Under the name there may be another topic meanwhile.
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
        /// The maximum number of bytes: 1 to [`BACKUP_READ_BYTES_MAX`].
        bytes: u32 = 1..=BACKUP_READ_BYTES_MAX,
    }
    /// Lets go of it. The end of the connection does the same.
    BackupEnd = 0x62, "BACKUP_END" -> Done, Own, Unsafe, [], []

    /// Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for
    /// anything else.
    ClusterStatus = 0x70, "CLUSTER_STATUS" -> ClusterReport, Own, Safe, [Read], []
    /// Adds the node that listens for its peers at an address; it votes when it has caught up.
    ClusterAdd = 0x71, "CLUSTER_ADD" -> Done, Own, Unsafe, [Admin], [Invalid, Busy] {
        /// `HOST:PORT`.
        address: String,
    }
    /// Removes a member. It cannot come back under its number.
    ClusterRemove = 0x72, "CLUSTER_REMOVE" -> Done, Own, Unsafe, [Admin], [Invalid, Busy] {
        /// The member's node number.
        node: u64,
    }
    /// Hands leadership to another member.
    ClusterTransfer = 0x73, "CLUSTER_TRANSFER" -> Done, Own, Unsafe, [Admin], [Invalid, Busy] {
        /// To which; 0 leaves it to the leader.
        node: u64,
    }
}

impl RequestOpcode {
    /// Whether this may be the answer: what was asked for, or an error that the table has.
    pub fn may_be_answered_with(self, response: &Response) -> bool {
        match response {
            Response::Error(error) => self.may_be_told(error.code),
            response => response.opcode() == self.answer(),
        }
    }

    /// Whether it may be told this.
    pub fn may_be_told(self, code: ErrorCode) -> bool {
        ANY_REQUEST.contains(&code) || self.refusals().contains(&code)
    }
}

impl Request {
    /// True if the connection must have a session for it: it leases jobs, or numbers the jobs that it pushes.
    pub fn needs_session(&self) -> bool {
        match self {
            Self::Reserve(_) | Self::Subscribe(_) | Self::Leases { .. } => true,
            Self::Push(push) => push.sequence > 0,
            _ => false,
        }
    }

    /// Appends the whole frame to `out` and returns how many bytes it took. The caller compares them with the
    /// `frame_bytes_max` of WELCOME before it sends them: a larger frame costs the connection.
    pub fn encode(&self, id: RequestId, out: &mut BytesMut) -> usize {
        frame::write(out, self.opcode() as u8, id, |out| self.encode_payload(out))
    }

    /// Reads the request that a frame holds. `body_bytes_max` is the server's setting; one body beyond it
    /// refuses the whole PUSH. On an error the frame is answered under its request id, and the connection
    /// goes on.
    pub fn decode(frame: &Frame, body_bytes_max: usize) -> Result<Self, DecodeError> {
        let opcode =
            RequestOpcode::from_u8(frame.header.opcode).ok_or(DecodeError::Opcode(frame.header.opcode))?;
        if frame.header.id == RequestId(0) {
            return Err(DecodeError::RequestIdZero);
        }
        if frame.header.group != GroupId::ONLY {
            return Err(DecodeError::Group(frame.header.group.0));
        }
        Self::decode_payload(opcode, &mut Reader::of_request(&frame.payload, body_bytes_max))
    }
}
