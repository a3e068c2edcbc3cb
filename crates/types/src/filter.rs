//! The conditions that select jobs for a list, a count or a bulk change, and the order of a list.

use std::fmt;

use bytes::Bytes;

use super::{BuryReason, GroupName, JobId, JobState, Millis, TopicName};

/// Equally long parts of a time, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueBars {
    /// Where the first one begins, by the wall clock.
    pub from: Millis,
    /// How long each is, in milliseconds; at least 1.
    pub width_ms: u64,
    /// How many: 1 to [`DUE_BARS_MAX`](crate::limits::DUE_BARS_MAX).
    pub count: u32,
}

impl DueBars {
    /// Where each bar begins, and where the last one ends.
    pub fn bounds(self) -> impl Iterator<Item = Millis> {
        let Self { from, width_ms, count } = self;
        (0..=u64::from(count)).map(move |nth| from.after(width_ms.saturating_mul(nth)))
    }

    /// In which part a time is: 0 before the bars, then the bars, and the last one behind them.
    pub fn part(self, at: Millis) -> usize {
        let Some(since) = at.0.checked_sub(self.from.0) else { return 0 };
        let bar = since / self.width_ms.max(1);
        usize::try_from(bar.min(self.count.into()) + 1).unwrap_or(usize::MAX)
    }

    /// How many parts there are.
    pub fn parts(self) -> usize {
        self.count as usize + 2
    }
}

/// Conditions on jobs. A job matches if it meets all of them; the default filter matches every job that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Jobs of this topic.
    pub topic: Option<TopicName>,
    /// Jobs in one of these states.
    pub states: States,
    /// Jobs due at this time or later.
    pub due_from: Option<Millis>,
    /// Jobs due before this time.
    pub due_before: Option<Millis>,
    /// Jobs with a key that begins with these bytes.
    pub key_prefix: Option<Bytes>,
    /// Jobs that were reserved at least this often.
    pub attempts_min: Option<u32>,
    /// Jobs that were reserved at most this often.
    pub attempts_max: Option<u32>,
    /// Jobs that are buried for this reason.
    pub buried: Option<BuryReason>,
    /// Jobs whose last reason contains this text.
    pub reason: Option<String>,
    /// Jobs of this group.
    pub group: Option<GroupName>,
}

/// A set of states.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct States(u8);

/// In which order jobs are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum ListOrder {
    /// By due time, then by id. A delayed job that expires before it is due counts as due when it expires.
    #[default]
    Due = 0,
    /// By id: the order in which the jobs were pushed.
    Id = 1,
    /// By key, then by id. Jobs without a key are left out.
    Key = 2,
}

/// A job's place in a list, for its cursor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// In [`ListOrder::Due`].
    Due(Millis, JobId),
    /// In [`ListOrder::Id`].
    Id(JobId),
    /// In [`ListOrder::Key`].
    Key(Vec<u8>, JobId),
}

impl Filter {
    /// A copy that owns its bytes, so that the buffer it was read from can be freed.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self {
            topic: self.topic.as_ref().map(TopicName::detached),
            key_prefix: self.key_prefix.as_deref().map(Bytes::copy_from_slice),
            group: self.group.as_ref().map(GroupName::detached),
            ..self.clone()
        }
    }
}

impl States {
    /// Every state of a job that is not finished.
    pub const ALL: Self = Self(0b1111);

    /// Every state of [`Self::ALL`], and finished jobs that are still remembered.
    pub const WITH_FINISHED: Self = Self(0b1_1111);

    /// The set of these states.
    pub fn of(states: impl IntoIterator<Item = JobState>) -> Self {
        Self(states.into_iter().fold(0, |set, state| set | bit(state)))
    }

    /// True if `state` is in the set.
    pub fn contains(self, state: JobState) -> bool {
        self.0 & bit(state) != 0
    }

    /// The states in the set, in order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = JobState> {
        (0..=u8::MAX).map_while(JobState::from_u8).filter(move |state| self.contains(*state))
    }

    /// As a set of bits: the lowest for [`JobState::Delayed`], the others in order.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits; `None` if it is empty or a bit stands for no state.
    pub fn from_bits(bits: u8) -> Option<Self> {
        (bits != 0 && bits & !Self::WITH_FINISHED.0 == 0).then_some(Self(bits))
    }
}

impl Default for States {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl ListOrder {
    /// The order with this number on the wire.
    pub fn from_u8(number: u8) -> Option<Self> {
        [Self::Due, Self::Id, Self::Key].into_iter().find(|order| *order as u8 == number)
    }
}

impl Position {
    /// The order in which it is a position.
    pub fn order(&self) -> ListOrder {
        match self {
            Self::Due(..) => ListOrder::Due,
            Self::Id(_) => ListOrder::Id,
            Self::Key(..) => ListOrder::Key,
        }
    }

    /// The position as the bytes of a cursor: the order `u8`, the id `u64`, then the due time `u64` or the key.
    pub fn to_cursor(&self) -> Bytes {
        let (id, rest): (JobId, &[u8]) = match self {
            Self::Due(at, id) => (*id, &at.0.to_le_bytes()),
            Self::Id(id) => (*id, &[]),
            Self::Key(key, id) => (*id, key),
        };
        [&[self.order() as u8], &id.0.to_le_bytes()[..], rest].concat().into()
    }

    /// The position that a cursor stands for; `None` if the bytes are no cursor.
    pub fn from_cursor(cursor: &[u8]) -> Option<Self> {
        let (order, rest) = cursor.split_first()?;
        let (id, rest) = rest.split_first_chunk()?;
        let id = JobId(u64::from_le_bytes(*id));
        match ListOrder::from_u8(*order)? {
            ListOrder::Due => Some(Self::Due(Millis(u64::from_le_bytes(rest.try_into().ok()?)), id)),
            ListOrder::Id => rest.is_empty().then_some(Self::Id(id)),
            ListOrder::Key => Some(Self::Key(rest.to_vec(), id)),
        }
    }
}

fn bit(state: JobState) -> u8 {
    1 << state as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let positions = [
            Position::Due(Millis(1_790_000_000_000), JobId(7)),
            Position::Id(JobId(u64::MAX)),
            Position::Key(b"order-17".to_vec(), JobId(3)),
        ];
        for position in positions {
            assert_eq!(Position::from_cursor(&position.to_cursor()), Some(position.clone()));
            let cut = position.to_cursor().slice(..8);
            assert_eq!(Position::from_cursor(&cut), None, "{position:?} without its end");
        }
        let longer = [&Position::Id(JobId(1)).to_cursor()[..], b"x"].concat();
        let unknown = [9; 17];
        assert_eq!([&longer[..], &unknown, b""].map(Position::from_cursor), [None, None, None]);
    }

    #[test]
    fn states_are_a_set() {
        let states = States::of([JobState::Delayed, JobState::Buried]);
        assert_eq!(states.iter().collect::<Vec<_>>(), [JobState::Delayed, JobState::Buried]);
        assert_eq!((states.bits(), States::from_bits(0b1001)), (0b1001, Some(states)));
        assert_eq!([0, 0b10_0000, 0xff].map(States::from_bits), [None; 3]);
        assert_eq!(States::from_bits(0b1_0000), Some(States::of([JobState::Finished])));
        assert_eq!(States::default().iter().count(), 4);
        assert_eq!(States::WITH_FINISHED.iter().count(), 5);
    }
}
