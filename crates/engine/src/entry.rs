//! The entry, the element of the log: a stamp and a batch of commands, the unit of group commit.
//!
//! Encoding, little-endian: version `u8`, stamp `u64`, number of commands `u32`, then each command in
//! bincode 1.3 with varint integers. A decoder accepts only this version.

use bincode::Options;
use serde::Deserialize as _;

use super::command::Command;
use adjourn_types::Millis;

/// The version that this code writes.
pub const VERSION: u8 = 1;

/// Bytes before the first command.
pub const HEADER_BYTES: usize = 1 + 8 + 4;

/// A decoded entry, which borrows from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The time that the leader gave it: the only clock that the state sees.
    pub stamp: Millis,
    /// The commands, in the order in which they are applied.
    pub commands: Vec<Command<'a>>,
}

/// Why bytes are not an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Written by a newer version.
    #[error(
        "the log entry has version {0}, and this binary supports versions up to {VERSION}: use a newer one"
    )]
    Version(u8),
    /// It has a command that was written by a newer version.
    #[error("the log entry has a command that this binary does not know: use a newer one")]
    Command,
    /// Truncated, too long or malformed.
    #[error("the log entry cannot be decoded")]
    Malformed,
}

/// Encodes commands into an entry as they are added.
#[derive(Debug, Default)]
pub struct EntryBuilder {
    bytes: Vec<u8>,
    commands: u32,
}

impl EntryBuilder {
    /// Adds a command at the end.
    pub fn push(&mut self, command: &Command<'_>) {
        if self.bytes.is_empty() {
            self.bytes.resize(HEADER_BYTES, 0);
        }
        self.commands += 1;
        options()
            .serialize_into(&mut self.bytes, command)
            .unwrap_or_else(|error| unreachable!("a command in memory always encodes: {error}"));
    }

    /// The number of commands added.
    pub fn commands(&self) -> u32 {
        self.commands
    }

    /// The entry's length so far, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len().max(HEADER_BYTES)
    }

    /// Stamps and returns the entry, and empties the builder.
    pub fn finish(&mut self, stamp: Millis) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize(bytes.len().max(HEADER_BYTES), 0);
        let header = [VERSION]
            .into_iter()
            .chain(stamp.0.to_le_bytes())
            .chain(std::mem::take(&mut self.commands).to_le_bytes());
        for (place, byte) in bytes.iter_mut().zip(header) {
            *place = byte;
        }
        bytes
    }
}

impl<'a> Entry<'a> {
    /// Reads an entry; the commands borrow from `bytes`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, EntryError> {
        let (version, rest) = bytes.split_first().ok_or(EntryError::Malformed)?;
        if *version != VERSION {
            return Err(EntryError::Version(*version));
        }
        let (stamp, rest) = rest.split_first_chunk().ok_or(EntryError::Malformed)?;
        let (count, rest) = rest.split_first_chunk().ok_or(EntryError::Malformed)?;
        let count = u32::from_le_bytes(*count) as usize;
        // A command takes at least one byte, so a forged count cannot cause a large allocation.
        if count > rest.len() {
            return Err(EntryError::Malformed);
        }
        let mut commands = Vec::with_capacity(count);
        let mut decoder = bincode::Deserializer::from_slice(rest, options());
        for _ in 0..count {
            let command = Command::deserialize(&mut decoder).map_err(|_| EntryError::Malformed)?;
            if !command.is_readable() {
                return Err(EntryError::Command);
            }
            commands.push(command);
        }
        Ok(Self { stamp: Millis(u64::from_le_bytes(*stamp)), commands })
    }
}

fn options() -> impl Options {
    bincode::DefaultOptions::new().with_varint_encoding()
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests {
    use super::*;
    use crate::command::{NewJob, TopicOrder};
    use adjourn_types::{Fence, IfExists, JobId, Lease, PolicyChange, SessionId, When};

    fn commands() -> Vec<Command<'static>> {
        let job = NewJob {
            due: When::After(1500),
            priority: 7,
            ttr_ms: 60_000,
            if_exists: IfExists::Keep,
            key: Some(b"order 17"),
            attributes: &[],
            body: b"close it",
        };
        vec![
            Command::Push { session: SessionId(3), sequence: 1, topic: "orders", jobs: vec![job] },
            Command::Reserve {
                session: SessionId(3),
                topics: TopicOrder::OfJobs(vec!["orders"]),
                jobs_max: 1,
                bytes_max: 1,
            },
            Command::Finish { leases: vec![Lease { job: JobId(1), fence: Fence(2) }] },
        ]
    }

    #[test]
    fn what_is_built_decodes() {
        let mut builder = EntryBuilder::default();
        for command in &commands() {
            builder.push(command);
        }
        let bytes = builder.finish(Millis(99));
        assert_eq!(Entry::decode(&bytes), Ok(Entry { stamp: Millis(99), commands: commands() }));
        assert_eq!(builder.commands(), 0);
        let empty = builder.finish(Millis(100));
        assert_eq!(Entry::decode(&empty), Ok(Entry { stamp: Millis(100), commands: Vec::new() }));
    }

    #[test]
    fn a_policy_of_a_newer_version_is_refused_with_its_entry() {
        let entry = |change: &[u8]| {
            let mut builder = EntryBuilder::default();
            builder.push(&Command::TopicPolicy { topic: "orders", change });
            builder.finish(Millis(1))
        };
        let known = PolicyChange::default().encode();
        assert!(Entry::decode(&entry(&known)).is_ok());
        assert_eq!(Entry::decode(&entry(&[0xFF; 3])), Err(EntryError::Command));
    }

    #[test]
    fn damage_is_an_error() {
        let mut builder = EntryBuilder::default();
        for command in &commands() {
            builder.push(command);
        }
        let bytes = builder.finish(Millis(99));
        for length in 0..bytes.len() {
            assert_eq!(Entry::decode(&bytes[..length]), Err(EntryError::Malformed), "{length}");
        }
        let newer = [&[VERSION + 1], &bytes[1..]].concat();
        assert_eq!(Entry::decode(&newer), Err(EntryError::Version(VERSION + 1)));
    }
}
