//! Reads of a cluster: each is answered from a state that is as new as anything that was acknowledged before it came.
//!
//! All reads that gathered ask together, with one round of messages, whether this node still leads, and wait until the
//! state has come as far as the log was then (`ReadIndex`; Ongaro, Consensus: Bridging Theory and Practice, 2014, section 6.4).

use std::collections::VecDeque;

use super::io::ConnectionId;
use crate::protocol::{Request, RequestId};

/// A read and who waits for it.
pub(super) type Read = (ConnectionId, RequestId, Request);

/// Reads on their way.
#[derive(Debug, Default)]
pub(super) struct Reads {
    gathering: Vec<Read>,
    /// By what they were asked with, rising.
    asked: VecDeque<(u64, Vec<Read>)>,
    /// The index that the state has to reach first, not falling.
    confirmed: VecDeque<(u64, Vec<Read>)>,
    last: u64,
}

impl Reads {
    pub(super) fn add(&mut self, connection: ConnectionId, id: RequestId, request: Request) {
        self.gathering.push((connection, id, request));
    }

    /// What to ask for those that gathered, if there are any.
    pub(super) fn ask(&mut self) -> Option<u64> {
        if self.gathering.is_empty() {
            return None;
        }
        self.last += 1;
        self.asked.push_back((self.last, std::mem::take(&mut self.gathering)));
        Some(self.last)
    }

    /// This node led when it was asked with `context`, so it did for all that were asked before.
    pub(super) fn confirm(&mut self, context: u64, index: u64) {
        while let Some((_, reads)) = self.asked.pop_front_if(|(asked, _)| *asked <= context) {
            self.confirmed.push_back((index, reads));
        }
    }

    /// Those that can be answered from the state after the entry at `applied`.
    pub(super) fn take_ready(&mut self, applied: u64) -> Vec<Read> {
        let mut ready = Vec::new();
        while let Some((_, reads)) = self.confirmed.pop_front_if(|(index, _)| *index <= applied) {
            ready.extend(reads);
        }
        ready
    }

    /// All of them: this node does not lead any more.
    pub(super) fn take_all(&mut self) -> Vec<Read> {
        let waiting = self.confirmed.drain(..).chain(self.asked.drain(..)).flat_map(|(_, reads)| reads);
        waiting.chain(self.gathering.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(reads: &[Read]) -> Vec<u32> {
        reads.iter().map(|(_, id, _)| id.0).collect()
    }

    #[test]
    fn a_read_waits_for_its_answer_and_for_the_state() {
        let mut reads = Reads::default();
        let add = |reads: &mut Reads, id| reads.add(ConnectionId(1), RequestId(id), Request::Stats);
        add(&mut reads, 1);
        add(&mut reads, 2);
        let first = reads.ask().expect("there are some");
        add(&mut reads, 3);
        let second = reads.ask().expect("there is one");
        assert_eq!((reads.ask(), first < second), (None, true));
        add(&mut reads, 4);
        assert!(reads.take_ready(u64::MAX).is_empty(), "nobody said that this node leads");
        reads.confirm(second, 10);
        assert!(reads.take_ready(9).is_empty(), "the state is not there yet");
        assert_eq!(ids(&reads.take_ready(10)), [1, 2, 3], "an answer holds for those before");
        assert_eq!(ids(&reads.take_all()), [4]);
    }
}
