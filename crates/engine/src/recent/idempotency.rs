//! Pushes with an idempotency key: a repeat gets the first answer.
//!
//! A key is a hash, made by the client, or by the server from the text that the caller gave. Each key belongs to an owner:
//! owners may use equal keys without seeing each other's. The queue remembers the last [`IDEMPOTENT_PUSHES_MAX`] jobs for
//! [`IDEMPOTENT_PUSH_MS`] each, with a [share](crate::recent) for each owner. Unlike the [window](crate::sessions::window) of a
//! session, it cannot tell a forgotten push from a new one.

use serde::{Deserialize, Serialize};

use crate::hash::{Element, Kind};
use crate::recent::{Happening, Recent};
use crate::sessions::repeat::JobChecksum;
use crate::sessions::window::{Recall, unpack};
use adjourn_types::limits::{IDEMPOTENT_PUSH_MS, IDEMPOTENT_PUSHES_MAX};
use adjourn_types::{GroupId, Millis};

/// One pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// When it was pushed, as a stamp.
    pub(crate) at: Millis,
    pub(crate) owner: u64,
    /// The [hash](crate::key_secret::KeySecret::hash_push) of owner and key: clients choose keys, but not where they are in a table.
    pub(crate) key_hash: u128,
    /// In the packed form of a [window](crate::sessions::window).
    pub(crate) outcome: u64,
    pub(crate) checksum: JobChecksum,
}

/// The remembered pushes.
pub(crate) type IdempotentPushes = Recent<Remembered>;

impl IdempotentPushes {
    /// Looks up the outcome of an earlier push with this key.
    pub(crate) fn recall(&self, pushed: &Remembered, group: GroupId) -> Recall {
        match self.find(pushed.key(), pushed.at) {
            None => Recall::New,
            Some(before) if before.checksum != pushed.checksum => Recall::Reused,
            Some(before) => unpack(before.outcome, group).map_or(Recall::New, Recall::Known),
        }
    }
}

/// An empty list.
pub(crate) fn no_pushes() -> IdempotentPushes {
    Recent::new(IDEMPOTENT_PUSHES_MAX, IDEMPOTENT_PUSH_MS)
}

impl Happening for Remembered {
    type Owner = u64;
    type Key = u128;

    fn at(&self) -> Millis {
        self.at
    }

    fn owner(&self) -> u64 {
        self.owner
    }

    fn key(&self) -> u128 {
        self.key_hash
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
    fn hash_of(key_hash: u128) -> u64 {
        key_hash as u64
    }

    fn element(&self) -> u128 {
        let Self { at, owner, key_hash, outcome, checksum } = self;
        let mut element = Element::new(Kind::Idempotent);
        element.word(at.0).word(*owner).wide(*key_hash).word(*outcome).word((*checksum).into()).hash()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::key_secret::KeySecret;

    /// Clients choose keys. Nobody else's push must wait because of a choice, so no choice may fill one place of the table.
    #[test]
    fn chosen_keys_are_spread_over_the_table() {
        let secret = KeySecret(Some([7; 16]));
        let spread = |keys: &dyn Fn(u128) -> u128| {
            let places =
                (0..1000).map(|number| Remembered::hash_of(secret.hash_push(0, keys(number))) % 4096);
            places.collect::<BTreeSet<u64>>().len()
        };
        assert!(spread(&|number| number << 64 | number) > 800, "halves that cancel out");
        assert!(spread(&|number| number << 100) > 800, "only the high bits differ");
    }

    #[test]
    fn owners_may_use_equal_keys() {
        let secret = KeySecret(Some([7; 16]));
        assert_ne!(secret.hash_push(1, 5), secret.hash_push(2, 5));
    }
}
