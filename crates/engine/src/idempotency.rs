//! Pushes with an idempotency key: a repeat gets the first answer.
//!
//! A key is a hash, made by the client, or by the server from the text that the caller gave. Each key belongs to an owner:
//! owners may use equal keys without seeing each other's. The queue remembers the last [`IDEMPOTENT_PUSHES_MAX`] jobs for
//! [`IDEMPOTENT_PUSH_MS`] each, with a [share](super::recent) for each owner. Unlike the [window](super::window) of a
//! session, it cannot tell a forgotten push from a new one.

use serde::{Deserialize, Serialize};

use super::hash;
use super::recent::{Happening, Recent};
use super::repeat::JobChecksum;
use super::window::{Recall, unpack};
use adjourn_types::limits::{IDEMPOTENT_PUSH_MS, IDEMPOTENT_PUSHES_MAX};
use adjourn_types::{GroupId, Millis};

/// One pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// When it was pushed, as a stamp.
    pub(super) at: Millis,
    pub(super) owner: u64,
    pub(super) key: u128,
    /// In the packed form of a [window](super::window).
    pub(super) outcome: u64,
    pub(super) checksum: JobChecksum,
}

/// The remembered pushes.
pub(super) type IdempotentPushes = Recent<Remembered>;

impl IdempotentPushes {
    /// Looks up the outcome of an earlier push with this key.
    pub(super) fn recall(&self, pushed: &Remembered, group: GroupId) -> Recall {
        match self.find(pushed.key(), pushed.at) {
            None => Recall::New,
            Some(before) if before.checksum != pushed.checksum => Recall::Reused,
            Some(before) => unpack(before.outcome, group).map_or(Recall::New, Recall::Known),
        }
    }
}

/// An empty list.
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

    /// Owner and key are hashes already.
    #[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
    fn hash_of((owner, key): (u64, u128)) -> u64 {
        owner ^ key as u64 ^ (key >> 64) as u64
    }

    fn element(&self) -> u128 {
        hash::of_idempotent(self)
    }
}
