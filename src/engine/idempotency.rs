//! Pushes that carried an idempotency key: a repeat gets the answer of the first time.
//!
//! A key is a hash that the client, or the server for it, draws from what the caller says. It belongs to an owner, and other
//! owners may use the same: they neither meet nor see it. The last [`IDEMPOTENT_PUSHES_MAX`] jobs are remembered, each
//! for [`IDEMPOTENT_PUSH_MS`], with a [share](super::recent) for each owner. Unlike the
//! [window](super::window) of a session it cannot tell a push that it has forgotten from one that never was.

use serde::{Deserialize, Serialize};

use super::hash;
use super::recent::{Happening, Recent};
use super::repeat::JobChecksum;
use super::window::{Recall, unpack};
use crate::types::limits::{IDEMPOTENT_PUSH_MS, IDEMPOTENT_PUSHES_MAX};
use crate::types::{GroupId, Millis};

/// One pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// When it was pushed, as a stamp.
    pub(super) at: Millis,
    pub(super) owner: u64,
    pub(super) key: u128,
    /// As windows pack it.
    pub(super) outcome: u64,
    pub(super) checksum: JobChecksum,
}

/// Those that are remembered.
pub(super) type IdempotentPushes = Recent<Remembered>;

impl IdempotentPushes {
    /// What became of a key before.
    pub(super) fn recall(&self, pushed: &Remembered, group: GroupId) -> Recall {
        match self.find(pushed.key(), pushed.at) {
            None => Recall::New,
            Some(before) if before.checksum != pushed.checksum => Recall::Reused,
            Some(before) => unpack(before.outcome, group).map_or(Recall::New, Recall::Known),
        }
    }
}

/// None yet.
pub(super) fn no_pushes() -> IdempotentPushes {
    Recent::new(IDEMPOTENT_PUSHES_MAX, IDEMPOTENT_PUSH_MS)
}

impl Happening for Remembered {
    type Owner = u64;
    type Key = (u64, u128);

    fn at(&self) -> Millis {
        self.at
    }

    fn owner(&self) -> u64 {
        self.owner
    }

    fn key(&self) -> (u64, u128) {
        (self.owner, self.key)
    }

    /// Both are hashes already.
    #[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
    fn hash_of((owner, key): (u64, u128)) -> u64 {
        owner ^ key as u64 ^ (key >> 64) as u64
    }

    fn element(&self) -> u128 {
        hash::of_idempotent(self)
    }
}
