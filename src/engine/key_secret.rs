//! The secret under which keys are hashed: without it nobody can make keys whose hashes collide.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher24};

use super::job::KeyHash;
use crate::types::TopicId;

/// Drawn by the node that founds the queue; `None` before the genesis.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeySecret(pub(super) Option<[u8; 16]>);

impl KeySecret {
    /// The hash under which a topic's key is known.
    pub(super) fn hash(&self, topic: TopicId, key: &[u8]) -> KeyHash {
        let mut hasher = SipHasher24::new_with_key(&self.0.unwrap_or_default());
        hasher.write(&topic.0.to_le_bytes());
        hasher.write(key);
        hasher.finish128().as_u128()
    }
}
