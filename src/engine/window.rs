//! What a producer pushed lately: the outcome of each sequence number, so that a repeat answers as the first did.
//!
//! A ring over the last [`PRODUCER_WINDOW_MAX`] sequence numbers, 8 bytes each. Numbers that were skipped are holes: a
//! push that comes late fills them. What lies before the window is not known any more.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::hash::{self, Sum};
use super::outcome::{PushOutcome, Reject};
use crate::types::limits::PRODUCER_WINDOW_MAX;
use crate::types::{GroupId, JobId, SessionId};

/// The outcomes of one producer.
#[derive(Debug)]
pub(super) struct Window {
    /// The first sequence number that it covers.
    start: u64,
    ring: VecDeque<u64>,
    sum: Sum,
}

/// A window as it is written to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedWindow {
    start: u64,
    /// 8 bytes each, little-endian.
    #[serde(with = "serde_bytes")]
    ring: Vec<u8>,
}

/// What is known of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recall {
    /// It was not applied.
    New,
    /// It was, with this outcome.
    Known(PushOutcome),
    /// It lies before the window.
    Forgotten,
}

/// The number in the ring of a sequence number that was skipped. No outcome packs to it.
const HOLE: u64 = 0;

impl Default for Window {
    fn default() -> Self {
        Self { start: 1, ring: VecDeque::new(), sum: Sum::default() }
    }
}

impl Window {
    /// What is known of a sequence number.
    pub(super) fn recall(&self, sequence: u64, group: GroupId) -> Recall {
        let Some(ahead) = sequence.checked_sub(self.start) else { return Recall::Forgotten };
        let packed = usize::try_from(ahead).ok().and_then(|ahead| self.ring.get(ahead)).copied();
        packed.and_then(|packed| unpack(packed, group)).map_or(Recall::New, Recall::Known)
    }

    /// Remembers the outcome of a sequence number that was new.
    pub(super) fn remember(&mut self, session: SessionId, sequence: u64, outcome: PushOutcome) {
        let packed = pack(outcome);
        self.sum.add(hash::of_pushed(session, sequence, packed));
        let ahead = usize::try_from(sequence.saturating_sub(self.start)).unwrap_or(usize::MAX);
        if let Some(hole) = self.ring.get_mut(ahead) {
            debug_assert_eq!(*hole, HOLE, "a sequence number has one outcome");
            *hole = packed;
            return;
        }
        if ahead - self.ring.len() >= PRODUCER_WINDOW_MAX {
            while !self.ring.is_empty() {
                self.forget_first(session);
            }
            self.start = sequence;
        } else {
            self.ring.resize(ahead, HOLE);
        }
        self.ring.push_back(packed);
        while self.ring.len() > PRODUCER_WINDOW_MAX {
            self.forget_first(session);
        }
    }

    /// All that it remembers.
    pub(super) fn save(&self) -> SavedWindow {
        SavedWindow {
            start: self.start,
            ring: self.ring.iter().flat_map(|packed| packed.to_le_bytes()).collect(),
        }
    }

    /// Takes back what was saved.
    pub(super) fn restore(session: SessionId, saved: &SavedWindow) -> Self {
        let (numbers, _) = saved.ring.as_chunks();
        let ring = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let mut window = Self { start: saved.start, ring, sum: Sum::default() };
        window.sum.add(window.recount(session));
        window
    }

    /// Start and sum of what is remembered, for the session's hash.
    pub(super) fn digest(&self) -> (u64, u128) {
        (self.start, self.sum.with(0))
    }

    /// The same sum, from scratch.
    pub(super) fn recount(&self, session: SessionId) -> u128 {
        let mut sum = Sum::default();
        for (ahead, packed) in (0..).zip(&self.ring).filter(|(_, packed)| **packed != HOLE) {
            sum.add(hash::of_pushed(session, self.start + ahead, *packed));
        }
        sum.with(0)
    }

    fn forget_first(&mut self, session: SessionId) {
        if let Some(packed) = self.ring.pop_front().filter(|packed| *packed != HOLE) {
            self.sum.subtract(hash::of_pushed(session, self.start, packed));
        }
        self.start = self.start.saturating_add(1);
    }
}

const KIND_SHIFT: u32 = 56;
const PUSHED: u64 = 1;
const KEPT: u64 = 2;
const REPLACED: u64 = 3;
const REFUSED_FOR: u64 = 0x40;
const REFUSED: u64 = 0x80;

/// 8 bits of outcome, 56 bits of job sequence: the group is the engine's own.
fn pack(outcome: PushOutcome) -> u64 {
    let (kind, job) = match outcome {
        PushOutcome::Pushed(job) => (PUSHED, Some(job)),
        PushOutcome::Kept(job) => (KEPT, Some(job)),
        PushOutcome::Replaced(job) => (REPLACED, Some(job)),
        PushOutcome::Refused(reject, None) => (REFUSED | reject as u64, None),
        PushOutcome::Refused(reject, Some(job)) => (REFUSED_FOR | reject as u64, Some(job)),
    };
    kind << KIND_SHIFT | job.map_or(0, JobId::sequence)
}

fn unpack(packed: u64, group: GroupId) -> Option<PushOutcome> {
    let job = JobId::new(group, packed & ((1 << KIND_SHIFT) - 1));
    let reject = |kind: u64| Reject::from_u8(u8::try_from(kind & 0x3f).ok()?);
    Some(match packed >> KIND_SHIFT {
        HOLE => return None,
        PUSHED => PushOutcome::Pushed(job),
        KEPT => PushOutcome::Kept(job),
        REPLACED => PushOutcome::Replaced(job),
        kind if kind & REFUSED != 0 => PushOutcome::Refused(reject(kind)?, None),
        kind => PushOutcome::Refused(reject(kind)?, Some(job)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId(2);
    const SESSION: SessionId = SessionId(7);

    fn pushed(sequence: u64) -> PushOutcome {
        PushOutcome::Pushed(JobId::new(GROUP, sequence + 1000))
    }

    #[test]
    fn outcomes_read_back() {
        let job = JobId::new(GROUP, 99);
        let outcomes = [
            PushOutcome::Pushed(job),
            PushOutcome::Kept(job),
            PushOutcome::Replaced(job),
            PushOutcome::Refused(Reject::KeyExists, Some(job)),
            PushOutcome::Refused(Reject::GenesisTwice, None),
            PushOutcome::Refused(Reject::ExpiresBeforeDue, None),
        ];
        for outcome in outcomes {
            assert_eq!(unpack(pack(outcome), GROUP), Some(outcome));
        }
        assert_eq!(unpack(HOLE, GROUP), None);
    }

    #[test]
    fn it_remembers_the_last_numbers_and_knows_what_it_forgot() {
        let mut window = Window::default();
        let last = PRODUCER_WINDOW_MAX as u64 + 10;
        for sequence in 1..=last {
            assert_eq!(window.recall(sequence, GROUP), Recall::New);
            window.remember(SESSION, sequence, pushed(sequence));
        }
        assert_eq!(window.recall(10, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(11, GROUP), Recall::Known(pushed(11)));
        assert_eq!(window.recall(last, GROUP), Recall::Known(pushed(last)));
        assert_eq!(window.recall(last + 1, GROUP), Recall::New);
        assert_eq!(window.digest(), (11, window.recount(SESSION)));
    }

    #[test]
    fn a_hole_is_filled_later_and_a_long_jump_starts_anew() {
        let mut window = Window::default();
        window.remember(SESSION, 5, pushed(5));
        assert_eq!(window.recall(3, GROUP), Recall::New);
        window.remember(SESSION, 3, pushed(3));
        assert_eq!(window.recall(3, GROUP), Recall::Known(pushed(3)));
        assert_eq!(window.digest(), (1, window.recount(SESSION)));
        window.remember(SESSION, u64::MAX, pushed(9));
        assert_eq!(window.recall(5, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(u64::MAX, GROUP), Recall::Known(pushed(9)));
        assert_eq!(window.digest(), (u64::MAX, window.recount(SESSION)));
    }
}
