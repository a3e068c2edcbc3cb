//! The wire protocol: bytes to requests and responses, and back.
//!
//! It does no IO, reads no clock, and has no state of a queue. `protocol.md` is this module's specification; a test
//! parses every frame in it and checks it against this code.

mod advance;
mod answer;
mod backup;
mod browse;
mod cluster;
mod codec;
#[rustfmt::skip]
#[expect(clippy::doc_markdown, reason = "doc texts are those of protocol.md")]
mod codes;
mod connections;
mod counts;
pub mod decode_error;
mod edit;
pub mod error;
mod field;
pub mod frame;
pub mod groups;
mod job;
mod layout;
pub mod opcode;
mod policy;
mod push;
pub mod request;
mod reserve;
pub mod response;
pub mod schedule;
mod session;
mod settle;
mod wire;

pub use advance::Advance;
pub use answer::{Changed, Counted, Kicked, Page, ScheduleRan, Scheduled, Step};
pub use browse::{Bulk, Change, Count, List};
pub use codes::ResponseOpcode;
pub use connections::{ConnectionList, ConnectionReport};
pub use decode_error::DecodeError;
pub use edit::Edit;
pub use error::{Applied, ErrorCode, ErrorReply};
pub use field::{JobRef, Subject};
pub use frame::{Frame, FrameDecoder, FrameError, FrameHeader, frame_bytes_max};
pub use groups::{GroupList, GroupPage, GroupReport, GroupSet, Reason};
pub use policy::TopicSet;
pub use push::{Idempotency, NewJob, Push};
pub use request::{ANY_REQUEST, Kind, Repeat, Request, RequestOpcode};
pub use reserve::{Reserve, Subscribe};
pub use response::{
    BackupReady, ClusterReport, Delivered, DueBar, GoingAway, JobReport, Leased, Member, MemberReport,
    PushResult, Response, Resume, Role, SettleResult, StageReport, StatsReport, TopicReport, TopicSettings,
    Totals, Welcome,
};
pub use schedule::backfill::{BACKFILL_MAX, Backfill};
pub use schedule::{
    IfVersion, JobTemplate, ListedSchedule, ScheduleChange, ScheduleConditions, ScheduleFill, ScheduleFilled,
    ScheduleInstants, ScheduleList, SchedulePage, SchedulePosition, SchedulePreview, ScheduleReport,
    ScheduleSet, ScheduleState,
};
pub use session::{Hello, MAGIC, heartbeat_ms, negotiate};
pub use settle::ReleaseKind;

/// The version of the protocol that this code speaks.
pub const VERSION: u16 = 1;
/// The oldest version that this code understands.
pub const VERSION_MIN: u16 = 1;

/// The number of a request, chosen by the client, by which its answer is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);
