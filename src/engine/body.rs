//! Where bodies are, as far as the engine cares.

/// What a body store was given for one job and gives back by reference: everything that the engine itself
/// never needs to decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The user's own id.
    pub key: Option<&'a [u8]>,
    /// The encoded attributes.
    pub attributes: &'a [u8],
    /// Opaque.
    pub body: &'a [u8],
}

/// A reference to a record that a [`BodyStore`] keeps.
///
/// `place` means something to the store alone and is not part of the state: two replicas that agree may
/// keep the same record in different places. Length and checksum are state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRef {
    /// Where the store put it.
    pub place: u32,
    /// Length of the body, in bytes.
    pub body_bytes: u32,
    /// CRC32C of key, attributes and body.
    pub checksum: u32,
}

/// Keeps records while their jobs live.
pub trait BodyStore {
    /// Takes a record in.
    fn keep(&mut self, record: Record<'_>) -> BodyRef;
    /// Drops a record: its job is gone. Called once for each kept reference.
    fn forget(&mut self, body: BodyRef);
}
