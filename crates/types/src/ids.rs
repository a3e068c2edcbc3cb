//! Numeric ids. None of them is ever reused.

use std::fmt;
use std::str::FromStr;

/// A Raft group. There is one for now; ids, log records and frames carry its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GroupId(pub u8);

impl GroupId {
    /// The only group for now.
    pub const ONLY: Self = Self(0);
}

/// The queue's own id of a job: 8 bits of group, 56 bits of sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobId(pub u64);

impl JobId {
    const SEQUENCE_BITS: u32 = 56;

    /// The id of the job with this `sequence` (56 bits) in `group`.
    pub fn new(group: GroupId, sequence: u64) -> Self {
        debug_assert!(sequence >> Self::SEQUENCE_BITS == 0, "a job sequence has 56 bits");
        Self(u64::from(group.0) << Self::SEQUENCE_BITS | sequence)
    }

    /// The group that assigned the id.
    pub fn group(self) -> GroupId {
        GroupId((self.0 >> Self::SEQUENCE_BITS) as u8)
    }

    /// The number of the job in its group.
    pub fn sequence(self) -> u64 {
        self.0 & ((1 << Self::SEQUENCE_BITS) - 1)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A topic's interned number in the state of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopicId(pub u32);

/// A number that only grows; each lease gets the next one. A stale fence finishes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence(pub u64);

/// One producer or consumer as the queue knows it. It outlives a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SessionId(pub u64);

impl SessionId {
    /// No session.
    pub const NONE: Self = Self(0);
}

/// The secret that a client must present, beside the id, to resume its session. Comparison takes constant time.
#[derive(Clone, Copy, Default, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SessionSecret(pub [u8; 16]);

impl PartialEq for SessionSecret {
    fn eq(&self, other: &Self) -> bool {
        let differences = self.0.iter().zip(other.0).fold(0, |all, (one, other)| all | (one ^ other));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionSecret(..)")
    }
}

/// What finish, release, touch and bury must show: the job and the fence of the lease.
///
/// Written as `JOB-FENCE`, both decimal, for example `42-7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lease {
    /// The leased job.
    pub job: JobId,
    /// The fence under which it was granted.
    pub fence: Fence,
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.job.0, self.fence.0)
    }
}

/// Why a text is not a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease is JOB-FENCE as a reserve shows it, for example 42-7")]
pub struct LeaseParseError;

impl FromStr for Lease {
    type Err = LeaseParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (job, fence) = text.split_once('-').ok_or(LeaseParseError)?;
        let job = job.parse().map_err(|_| LeaseParseError)?;
        let fence = fence.parse().map_err(|_| LeaseParseError)?;
        Ok(Self { job: JobId(job), fence: Fence(fence) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_id_keeps_group_and_sequence_apart() {
        let id = JobId::new(GroupId(3), 77);
        assert_eq!((id.group(), id.sequence()), (GroupId(3), 77));
    }

    #[test]
    fn a_lease_reads_back_what_it_writes() {
        let lease = Lease { job: JobId(42), fence: Fence(7) };
        assert_eq!(lease.to_string().parse(), Ok(lease));
        for bad in ["", "42", "42-", "-7", "42-7-1", "a-b", "42-99999999999999999999"] {
            assert_eq!(bad.parse::<Lease>(), Err(LeaseParseError), "{bad:?}");
        }
    }
}
