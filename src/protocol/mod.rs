//! The wire protocol: bytes to requests and responses, and back.
//!
//! Pure: no socket, no clock, no state of a queue. `protocol.md` is this module's specification; a test parses every
//! frame in it and checks it against this code.

mod backup;
mod browse;
mod cluster;
mod codec;
mod connections;
mod counts;
pub mod decode_error;
pub mod error;
pub mod frame;
mod job;
pub mod opcode;
mod policy;
mod push;
mod refusals;
pub mod request;
mod reserve;
pub mod response;
mod session;
mod settle;
mod wire;

pub use connections::{ConnectionList, ConnectionReport};
pub use decode_error::DecodeError;
pub use error::{Applied, ErrorCode, ErrorReply};
pub use frame::{Frame, FrameDecoder, FrameError, FrameHeader, frame_bytes_max};
pub use opcode::{RequestOpcode, ResponseOpcode};
pub use refusals::ANY_REQUEST;
pub use request::{
    Bulk, Change, Hello, JobRef, List, NewJob, Push, ReleaseKind, Request, Reserve, Resume, Subscribe,
};
pub use response::{
    BackupReady, ClusterReport, Delivered, GoingAway, JobReport, Leased, Member, MemberReport, PushResult,
    Response, Role, SettleResult, StatsReport, TopicReport, TopicSettings, Totals, Welcome,
};
pub use session::{MAGIC, heartbeat_ms, negotiate};

/// The version of the protocol that this code speaks.
pub const VERSION: u16 = 1;
/// The oldest version that this code still understands.
pub const VERSION_MIN: u16 = 1;

/// A request and the number by which its answer is matched; chosen by the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);
