//! Where a store keeps what belongs to a job.

use serde::{Deserialize, Serialize};

/// A place in a store. Only the store knows what it means; it is not part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place(pub u64);

/// A reference to a record that a [`JobStore`](super::JobStore) keeps.
///
/// The place is not part of the state: replicas may keep the same record in different places. Length and checksum are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRef {
    /// The place of the record.
    pub place: Place,
    /// Length of the body, in bytes.
    pub body_bytes: u32,
    /// CRC32C of key, attributes and body.
    pub checksum: u32,
}
