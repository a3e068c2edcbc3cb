//! Work in flight through the log: collected commands, proposed entries, and the requests that wait for each.
//!
//! Group commit: while a batch is being written, commands are collected. They become one entry once the disk is free, or
//! when they fill one. So entries are small while the disk is fast, and large when it falls behind.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::waiters::{Claim, WaiterId};
use crate::group::Group;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::Asker;
use crate::refusals::too_much_under_way;
use adjourn_engine::Command;
use adjourn_engine::entry::{EntryBuilder, HEADER_BYTES};
use adjourn_protocol::{ErrorReply, ScheduleSet};
use adjourn_storage::LogEntry;
use adjourn_types::limits::ENTRY_BYTES_TARGET;
use adjourn_types::{JobId, Millis, SessionId, SessionSecret, TopicId};

/// The request, or the internal step, that waits for the outcome of one command.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A client's request: the outcome is its answer.
    Request(Asker),
    /// A part of a PUSH on this connection: see [`pushes`](super::pushes).
    Part(ConnectionId),
    /// A BULK, and the cursor to continue with.
    Bulk { asker: Asker, cursor: Bytes, found: usize },
    /// A `SCHEDULE_FILL`: the length of the body of each job, and where the next part begins.
    Fill { asker: Asker, body_bytes: u64, next: Option<Millis> },
    /// A HELLO that opens a session, and the token's name.
    Open(Asker, String),
    /// A HELLO that resumes a lapsed session.
    Resume(Asker, Resumption),
    /// A GOODBYE.
    Close(Asker, SessionId),
    /// A reserve for a waiter.
    PendingReserve(WaiterId, Claim),
    /// A `SCHEDULE_SET`, and the schedule that had the name: if that was fired or set meanwhile, it is tried again.
    SetSchedule(Asker, Box<ScheduleSet>, Option<JobId>),
    /// The firing of a schedule that the leader proposed itself.
    Fired(JobId),
    /// A lapse that the leader proposed itself.
    Lapse(SessionId),
    /// The leader proposed the command itself, and waits for no outcome.
    Nobody,
}

/// The request of a HELLO that resumes a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resumption {
    /// The session's secret as the client presented it.
    pub(super) secret: SessionSecret,
    /// For the new session that is opened if the old one is gone.
    pub(super) leases_outlive: bool,
}

/// The metadata of an entry, without its bytes.
#[derive(Debug, Default)]
pub(super) struct Proposal {
    /// One reply per command.
    replies: Vec<Reply>,
    /// The size of its commands.
    bytes: usize,
    work: u64,
    /// When its oldest command was added; `None` if none was.
    since_us: Option<u64>,
    /// True if its entry does nothing but grant volatile leases.
    pub(super) is_volatile: bool,
}

#[derive(Debug, Default)]
struct Gathering {
    /// Its stamp, if the clock was moved since; otherwise it gets that of the moment at which it is taken.
    stamp: Option<Millis>,
    builder: EntryBuilder,
    replies: Vec<Reply>,
    work: u64,
    since_us: Option<u64>,
    /// How many of its commands grant volatile leases.
    volatile: usize,
}

/// An entry is closed when its commands reach this estimated work: see [`turns`](crate::turns).
const ENTRY_WORK: u64 = 4096;

/// All commands that are not applied yet.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    /// A new offset of the wall clock, for a separate entry before all others.
    clock_offset_ms: Option<i64>,
    /// The stamp of the last entry taken; before the first one, that of the state.
    stamp: Millis,
    full: VecDeque<Gathering>,
    gathering: Gathering,
    /// Proposed and unapplied entries, by term and index.
    in_flight: VecDeque<(u64, u64, Proposal)>,
    bytes: usize,
    work: u64,
    fresh: BTreeMap<TopicId, u64>,
}

impl Proposals {
    /// Nothing in flight, over a state with this stamp.
    pub(crate) fn new(stamp: Millis) -> Self {
        Self { stamp, ..Self::default() }
    }

    /// Adds a reserve for a connection with volatile leases.
    pub(super) fn add_volatile(&mut self, command: &Command<'_>, work: u64, reply: Reply, now_us: u64) {
        self.gathering.volatile += 1;
        self.add(command, work, reply, now_us);
    }

    /// Adds a command at the end. `work` is its cost.
    pub(crate) fn add(&mut self, command: &Command<'_>, work: u64, reply: Reply, now_us: u64) {
        let before = self.gathering.builder.bytes();
        self.gathering.builder.push(command);
        self.gathering.replies.push(reply);
        self.gathering.since_us.get_or_insert(now_us);
        self.bytes += self.gathering.builder.bytes() - before;
        self.gathering.work += work;
        self.work += work;
        if self.gathering.builder.bytes() >= ENTRY_BYTES_TARGET || self.gathering.work >= ENTRY_WORK {
            self.full.push_back(std::mem::take(&mut self.gathering));
        }
    }

    /// Sets a new offset of the wall clock. It goes before all waiting commands, in an entry with the old stamp: no time
    /// passes in it, so the old clock makes no further job due.
    pub(super) fn set_clock_offset(&mut self, offset_ms: i64) {
        self.clock_offset_ms = Some(offset_ms);
    }

    /// Notes that waiting commands push `jobs` jobs to this topic that are due at once.
    pub(super) fn add_fresh(&mut self, topic: TopicId, jobs: u64) {
        *self.fresh.entry(topic).or_default() += jobs;
    }

    /// Takes the counts added with [`Self::add_fresh`].
    pub(super) fn take_fresh(&mut self) -> BTreeMap<TopicId, u64> {
        std::mem::take(&mut self.fresh)
    }

    /// True if a command is waiting to be proposed.
    pub(super) fn any_waiting(&self) -> bool {
        self.clock_offset_ms.is_some() || !self.full.is_empty() || !self.gathering.replies.is_empty()
    }

    /// The size of unapplied commands, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The error if no command is accepted now. Commands that bring no bodies make room in the queue, so they are accepted
    /// for longer than pushes, but not without limit.
    pub(super) fn refusal(&self, node: &Node) -> Option<ErrorReply> {
        (self.bytes > node.config.uncommitted_bytes_max.saturating_mul(2)).then(too_much_under_way)
    }

    /// The work of unapplied commands.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// True if no command is waiting or in flight.
    pub(crate) fn is_idle(&self) -> bool {
        !self.any_waiting() && self.in_flight.is_empty()
    }

    /// Takes and stamps the oldest waiting entry; an empty one if there is none.
    pub(super) fn take_entry(&mut self, stamp: Millis) -> (Vec<u8>, Proposal) {
        if let Some(offset_ms) = self.clock_offset_ms.take() {
            let mut builder = EntryBuilder::default();
            builder.push(&Command::ClockOffset { offset_ms });
            let bytes = builder.bytes() - HEADER_BYTES;
            self.bytes += bytes;
            let proposal = Proposal { replies: vec![Reply::Nobody], bytes, ..Proposal::default() };
            return (builder.finish(self.stamp), proposal);
        }
        let mut oldest = self.full.pop_front().unwrap_or_else(|| std::mem::take(&mut self.gathering));
        let stamp = oldest.stamp.unwrap_or(stamp);
        self.stamp = stamp;
        let data = oldest.builder.finish(stamp);
        let bytes = data.len().saturating_sub(HEADER_BYTES);
        let Gathering { replies, work, since_us, volatile, .. } = oldest;
        let is_volatile = volatile > 0 && volatile == replies.len();
        (data, Proposal { replies, bytes, work, since_us, is_volatile })
    }

    /// The clock is about to be moved: the waiting commands came before that, and get the stamp of now.
    pub(super) fn stamp_waiting(&mut self, stamp: Millis) {
        if !self.gathering.replies.is_empty() {
            self.full.push_back(std::mem::take(&mut self.gathering));
        }
        self.full.iter_mut().for_each(|waiting| _ = waiting.stamp.get_or_insert(stamp));
    }

    /// Notes that an entry was proposed.
    pub(super) fn proposed(&mut self, term: u64, index: u64, proposal: Proposal) {
        self.in_flight.push_back((term, index, proposal));
    }

    /// When the oldest command of the entry at (term, index) was added, if this leader proposed the entry and it is in
    /// flight.
    pub(crate) fn since_us(&self, term: u64, index: u64) -> Option<u64> {
        self.find(term, index)?.since_us
    }

    /// True if this leader proposed these entries, at least one, and they do nothing but grant volatile leases.
    pub(crate) fn are_volatile(&self, entries: &[LogEntry]) -> bool {
        let is_volatile = |entry: &LogEntry| {
            self.find(entry.term, entry.index).is_some_and(|proposal| proposal.is_volatile)
        };
        !entries.is_empty() && entries.iter().all(is_volatile)
    }

    fn find(&self, term: u64, index: u64) -> Option<&Proposal> {
        let found = self.in_flight.iter().rev().find(|(of, at, _)| (*of, *at) == (term, index));
        found.map(|(.., proposal)| proposal)
    }

    /// Ends an entry that is applied or lost. Returns its waiting replies.
    pub(super) fn done(&mut self, proposal: Proposal) -> Vec<Reply> {
        self.bytes = self.bytes.saturating_sub(proposal.bytes);
        self.work = self.work.saturating_sub(proposal.work);
        proposal.replies
    }

    /// Takes the waiting replies of the entry that is applied at (term, index).
    ///
    /// Both must match: another leader's entry at the same index means that this leader's entry is lost. [`Self::lost`]
    /// returns the replies of lost entries.
    pub(crate) fn take_applied(&mut self, term: u64, index: u64) -> Vec<Reply> {
        let is_first = |(of, at, _): &mut (u64, u64, Proposal)| (*of, *at) == (term, index);
        let first = self.in_flight.pop_front_if(is_first);
        first.map_or_else(Vec::new, |(.., proposal)| self.done(proposal))
    }

    /// All waiting replies, when leadership is lost: first those of proposed commands, which may or may not be applied,
    /// then those of other commands.
    pub(crate) fn lost(self) -> (Vec<Reply>, Vec<Reply>) {
        let proposed = self.in_flight.into_iter().flat_map(|(.., proposal)| proposal.replies).collect();
        let full = self.full.into_iter().flat_map(|gathering| gathering.replies);
        (proposed, full.chain(self.gathering.replies).collect())
    }

    /// Adds a command to the waiting ones, and begins to read the records that it needs from disk.
    pub(super) fn add_command(&mut self, node: &Node, group: &Group, command: &Command<'_>, reply: Reply) {
        self.add(command, work_of(group, command), reply, node.now_us);
    }
}

/// The cost of a command. Begins to read the records that it needs from disk.
pub(super) fn work_of(group: &Group, command: &Command<'_>) -> u64 {
    command.changes(&group.state.engine) + group.state.read_ahead(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_engine::Entry;
    use adjourn_types::{Fence, JobId, Lease};

    fn finish(job: u64) -> Command<'static> {
        Command::Finish { leases: vec![Lease { job: JobId(job), fence: Fence(1) }] }
    }

    #[test]
    fn commands_gather_and_are_matched_by_term_and_index() {
        let mut proposals = Proposals::default();
        proposals.add(&finish(1), 1, Reply::Nobody, 50);
        proposals.add(&finish(2), 1, Reply::Nobody, 60);
        let (_, proposal) = proposals.take_entry(Millis(1));
        assert_eq!((proposal.replies.len(), proposals.work()), (2, 2));
        assert!(!proposals.any_waiting() && proposals.bytes() > 0);
        proposals.proposed(3, 9, proposal);
        assert_eq!(proposals.since_us(3, 9), Some(50), "since its oldest command");
        assert_eq!((proposals.since_us(3, 8), proposals.since_us(2, 9)), (None, None), "others' entries");
        assert!(proposals.take_applied(2, 9).is_empty(), "another leader's entry");
        assert_eq!(proposals.take_applied(3, 9).len(), 2);
        assert!(proposals.is_idle());
        assert_eq!((proposals.bytes(), proposals.work()), (0, 0));
    }

    #[test]
    fn what_is_refused_is_not_under_way() {
        let mut proposals = Proposals::default();
        proposals.add(&finish(1), 1, Reply::Nobody, 0);
        let (_, proposal) = proposals.take_entry(Millis(1));
        assert!(proposals.bytes() > 0);
        assert_eq!(proposals.done(proposal).len(), 1);
        assert_eq!((proposals.bytes(), proposals.work()), (0, 0));
    }

    #[test]
    fn a_clock_that_was_set_goes_first_and_lets_no_time_pass() {
        let mut proposals = Proposals::default();
        proposals.add(&finish(1), 1, Reply::Nobody, 0);
        proposals.take_entry(Millis(5));
        proposals.add(&finish(2), 1, Reply::Nobody, 0);
        proposals.set_clock_offset(7);
        proposals.set_clock_offset(-3);
        let (bytes, proposal) = proposals.take_entry(Millis(9));
        let commands = vec![Command::ClockOffset { offset_ms: -3 }];
        assert_eq!(Entry::decode(&bytes), Ok(Entry { stamp: Millis(5), commands }));
        assert_eq!(proposal.replies.len(), 1);
        let (bytes, _) = proposals.take_entry(Millis(9));
        assert_eq!(Entry::decode(&bytes), Ok(Entry { stamp: Millis(9), commands: vec![finish(2)] }));
        assert!(!proposals.any_waiting());
    }

    #[test]
    fn commands_that_waited_when_the_clock_was_moved_keep_the_time_before() {
        let mut proposals = Proposals::default();
        proposals.add(&finish(1), 1, Reply::Nobody, 0);
        proposals.stamp_waiting(Millis(5));
        proposals.stamp_waiting(Millis(7));
        proposals.add(&finish(2), 1, Reply::Nobody, 0);
        for (stamp, job) in [(5, 1), (9, 2)] {
            let (bytes, _) = proposals.take_entry(Millis(9));
            let expected = Entry { stamp: Millis(stamp), commands: vec![finish(job)] };
            assert_eq!(Entry::decode(&bytes), Ok(expected));
        }
        assert!(!proposals.any_waiting());
    }

    #[test]
    fn a_full_entry_is_closed_and_the_next_one_begins() {
        let mut proposals = Proposals::default();
        let many = ENTRY_BYTES_TARGET; // A finish takes a few bytes: this fills more than one.
        for job in 0..many {
            proposals.add(&finish(job as u64), 0, Reply::Nobody, 0);
        }
        let (first, proposal) = proposals.take_entry(Millis(1));
        assert!((ENTRY_BYTES_TARGET..ENTRY_BYTES_TARGET + 64).contains(&first.len()), "{}", first.len());
        assert_eq!(proposal.replies.len() + proposals.lost().1.len(), many);
    }
    #[test]
    fn an_entry_is_closed_when_it_is_much_work() {
        let mut proposals = Proposals::default();
        let many = [ENTRY_WORK / 2, ENTRY_WORK / 2, 1, 5 * ENTRY_WORK, 1];
        for work in many {
            proposals.add(&finish(1), work, Reply::Nobody, 0);
        }
        let mut taken = Vec::new();
        while proposals.any_waiting() {
            taken.push(proposals.take_entry(Millis(1)).1.work);
        }
        assert_eq!(taken, [ENTRY_WORK, 5 * ENTRY_WORK + 1, 1]);
    }
}
