//! Which error codes each request may be told: `protocol.md` has the same table, and the simulator sees that no server says
//! anything else.

use super::error::ErrorCode::{
    self, Busy, DiskFull, ExpiresBeforeDue, Invalid, KeyExists, Malformed, NoLeader, NotFound, NotLeader,
    OutcomeUnknown, Paused, Quota, Reserved, SequenceReused, SessionUnknown, StaleLease, Stopping, TooLarge,
    Unauthorised, Unreadable, Unsupported, WrongState,
};
use super::opcode::RequestOpcode;

/// What every request may be told.
pub const ANY_REQUEST: &[ErrorCode] =
    &[Malformed, Unsupported, TooLarge, Unauthorised, NotLeader, NoLeader, Stopping, SessionUnknown];

impl RequestOpcode {
    /// What this request may be told beside [`ANY_REQUEST`], its items included.
    pub fn refusals(self) -> &'static [ErrorCode] {
        match self {
            Self::Ping | Self::Goodbye | Self::Topics | Self::Stats | Self::ClusterStatus => &[],
            Self::Hello | Self::Subscribe => &[Invalid, Quota],
            Self::Push => &[
                Invalid,
                Busy,
                DiskFull,
                Quota,
                KeyExists,
                Reserved,
                OutcomeUnknown,
                ExpiresBeforeDue,
                SequenceReused,
            ],
            Self::Reserve => &[Invalid, Busy, Paused],
            Self::TopicSet => &[Invalid, Busy, Quota],
            Self::Credit | Self::Disconnect | Self::TopicShow => &[Invalid, NotFound],
            Self::Unsubscribe | Self::Cancel | Self::BackupEnd => &[NotFound],
            Self::Leases => &[Invalid, Unreadable],
            Self::Finish | Self::Bury => &[Busy, StaleLease],
            Self::Release | Self::Touch => &[Invalid, Busy, StaleLease],
            Self::Get | Self::BackupRead => &[Invalid, Unreadable, NotFound],
            Self::Delete | Self::KickMany => &[Invalid, Busy, NotFound],
            Self::Reschedule => &[Invalid, Busy, NotFound, Reserved, WrongState, ExpiresBeforeDue],
            Self::RunNow => &[Invalid, Busy, NotFound, Reserved, WrongState],
            Self::Kick | Self::TopicDelete => &[Invalid, Busy, NotFound, WrongState],
            Self::Peek => &[Invalid, Busy, Unreadable, NotFound],
            Self::List | Self::Count => &[Invalid, Busy, Unreadable],
            Self::Bulk => &[Invalid, Busy, Unreadable, Quota],
            // Below feature level 3 both make a topic that is new.
            Self::Pause | Self::Resume => &[Invalid, Busy, Quota, NotFound],
            Self::Connections => &[Invalid],
            Self::BackupBegin => &[Busy, DiskFull],
            Self::ClusterAdd | Self::ClusterRemove | Self::ClusterTransfer => &[Invalid, Busy],
        }
    }

    /// Whether it may be told this.
    pub fn may_be_told(self, code: ErrorCode) -> bool {
        ANY_REQUEST.contains(&code) || self.refusals().contains(&code)
    }
}
