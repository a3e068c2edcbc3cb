//! tikv raft-rs as one group on one node. In: proposals and messages. Out: messages, batches to persist and
//! committed entries.
//!
//! No socket, no clock, no thread: the caller ticks it and carries out what [`Group::drain`] returns. A single node
//! is a group of one voter and takes the same path as three.
//!
//! Appends are asynchronous: [`Drained::persist`] is a batch that the caller makes durable while the group
//! continues; [`Group::persisted`] reports that it is durable. Until then raft-rs reads the entries from the
//! [`Tail`]. A leader's messages are sent at once, so that the others write in parallel (Ongaro, Consensus: Bridging
//! Theory and Practice, 2014, section 10.2.1). Messages of other members wait until the batch that they acknowledge
//! is durable.
//!
//! raft-rs draws its election timeouts from the thread's random source. After every call they are replaced by a
//! function of (seed, node, term, role), so that a seed determines the whole run.

mod entries;
mod membership;
mod message;
mod tail;

use std::collections::{BTreeMap, VecDeque};

use ::raft::eraftpb::{HardState, MessageType};
use ::raft::{INVALID_ID, INVALID_INDEX, ProgressState, RawNode, Ready, SnapshotStatus, StateRole};

use adjourn_storage::{EntryKind, LogEntry, PersistBatch, Vote};
use entries::{from_raft, to_raft};
use tail::Tail;

pub use membership::{Membership, MembershipChange};
pub use message::{Message, MessageError, SnapshotOffer};
pub use tail::{Offer, Wanted};

/// The length of a tick, in which raft-rs counts its timeouts.
pub const TICK_MS: u64 = 50;
/// The interval between a leader's heartbeats, in ticks.
const HEARTBEAT_TICKS: usize = 2;
/// The shortest election timeout, in ticks; the longest is twice that.
const ELECTION_TICKS: usize = 10;
/// The shortest election timeout in milliseconds. A leader without a majority steps down after it.
pub const ELECTION_MS_MIN: u64 = ELECTION_TICKS as u64 * TICK_MS;
/// Largest append message, in bytes. A single entry may exceed it.
const MESSAGE_BYTES_MAX: u64 = 512 << 10;
/// Most append messages in flight to one member.
const IN_FLIGHT_MAX: usize = 32;
/// Most committed entries in one portion, in bytes. A single entry may exceed it.
const COMMITTED_BYTES_MAX: u64 = 1 << 20;

/// The state from which a group starts.
#[derive(Clone, Debug)]
pub struct Start {
    /// This node.
    pub node: u64,
    /// The seed of the election timeouts.
    pub seed: u64,
    /// Term and vote as stored on disk.
    pub vote: Vote,
    /// Index and term of the entry before the first one in the log; (0, 0) for none.
    pub before: (u64, u64),
    /// The first index and the term of each term in the log, up to `applied`, in ascending order.
    pub terms: Vec<(u64, u64)>,
    /// Index of the last entry that the engine has applied.
    pub applied: u64,
    /// The members at that index.
    pub members: Membership,
    /// A lower bound of the commit index.
    pub commit: u64,
    /// The entries after `applied`.
    pub entries: Vec<LogEntry>,
    /// The newest checkpoint, for members that lag.
    pub offer: Option<Offer>,
}

/// The actions that a group asks for, to be carried out in this order: send, persist, apply.
#[derive(Debug, Default)]
pub struct Drained {
    /// Messages to send. They may be lost or overtake each other.
    pub messages: Vec<Message>,
    /// A batch to make durable, with its number for [`Group::persisted`]. Batches are written in order.
    pub persist: Option<(u64, PersistBatch)>,
    /// Entries to apply. If the batch installs a checkpoint, that comes first.
    pub committed: Vec<LogEntry>,
    /// Reads that may be answered from the state at an index or later: (the context given to [`Group::read`], index).
    pub reads: Vec<(u64, u64)>,
}

/// Why nothing was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// This node does not lead. (raft-rs would forward the proposal, and its outcome would be lost.)
    #[error("this node does not lead")]
    NotLeader,
    /// Raft accepts no proposal at the moment.
    #[error("the proposal was dropped")]
    Dropped,
    /// Another change of membership is under way.
    #[error("another change of membership is under way")]
    ChangePending,
}

/// This node's disk has lost acknowledged entries: the leader knows that the node once had more of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the leader knows that this node had the log up to entry {known}; it ends at {last}")]
pub struct LostEntries {
    /// The last entry that it once had.
    pub known: u64,
    /// The last entry that it has.
    pub last: u64,
}

/// A member's progress, as the leader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The last entry that it is known to have on disk.
    pub matched: u64,
    /// True if it was heard from since the last check of the majority.
    pub is_active: bool,
    /// The index of the checkpoint that it must install before it gets further entries.
    pub snapshot: Option<u64>,
}

/// One Raft group on one node.
pub struct Group {
    node: RawNode<Tail>,
    seed: u64,
    /// The last write that is not durable yet.
    last_write: Option<u64>,
    /// The last write of a new term or vote that is not durable yet.
    vote_write: Option<u64>,
    /// Messages that wait until the write with this number is durable.
    held: VecDeque<(u64, Message)>,
    /// Messages that may be sent now.
    released: Vec<Message>,
    /// A checkpoint that is replacing log and state. Until that is done the group does nothing else, and drops messages,
    /// which may be lost anyway.
    installing: Option<Box<Ready>>,
    /// The number of elections begun here. It varies the timeouts: two nodes with equal ones would block each other for
    /// ever.
    campaigns: u64,
    /// True if this node starts no election by itself. It still votes.
    campaigning_disabled: bool,
}

impl Group {
    /// Starts a group from `start`.
    ///
    /// # Panics
    ///
    /// If raft-rs rejects the configuration, because the constants above are wrong.
    pub fn new(start: Start) -> Self {
        let Start { node, seed, vote, before, terms, applied, members, commit, entries, offer } = start;
        let commit = commit.max(applied);
        let hard_state = HardState { term: vote.term, vote: vote.vote, commit, ..HardState::default() };
        let mut tail = Tail::new(hard_state, members, before, terms.into(), applied, VecDeque::new());
        tail.append(&entries.into_iter().map(to_raft).collect::<Vec<_>>());
        if let Some(offer) = offer {
            tail.set_offer(offer);
        }
        let config = ::raft::Config {
            id: node,
            applied,
            heartbeat_tick: HEARTBEAT_TICKS,
            election_tick: ELECTION_TICKS,
            max_size_per_msg: MESSAGE_BYTES_MAX,
            max_inflight_msgs: IN_FLIGHT_MAX,
            max_committed_size_per_ready: COMMITTED_BYTES_MAX,
            pre_vote: true,
            check_quorum: true,
            ..::raft::Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, tail, &logger)
            .unwrap_or_else(|error| unreachable!("the configuration is constant: {error}"));
        let mut group = Self {
            node,
            seed,
            last_write: None,
            vote_write: None,
            held: VecDeque::new(),
            released: Vec::new(),
            installing: None,
            campaigns: 0,
            campaigning_disabled: false,
        };
        group.fix_election_timeout();
        group
    }

    /// Starts an election at once if this node is the only voter: no other node could win it. Not during a write, because
    /// the only voter wins at once.
    pub fn campaign_if_sole(&mut self) {
        let idle = self.last_write.is_none() && self.installing.is_none();
        if self.is_sole_voter() && !self.is_leader() && idle {
            // This fails only for a removed node, which is not the only voter.
            let _started = self.node.campaign();
            self.fix_election_timeout();
        }
    }

    /// True if this node is the only member. Such a group needs no ticks.
    pub fn is_alone(&self) -> bool {
        self.is_sole_voter() && self.members().learners.is_empty()
    }

    /// True if this node is the only member, and no change of that is under way.
    pub fn stays_alone(&self) -> bool {
        self.is_alone() && !self.node.raft.has_pending_conf()
    }

    /// True if this node is the only voter.
    pub fn is_sole_voter(&self) -> bool {
        self.members().voters == [self.node.raft.id]
    }

    /// The members as of the last applied entry.
    pub fn members(&self) -> &Membership {
        self.node.raft.store().members()
    }

    /// Advances the group's time by one tick of [`TICK_MS`].
    pub fn tick(&mut self) {
        if self.installing.is_some() {
            return;
        }
        if self.is_sole_voter() && !self.is_leader() {
            return self.campaign_if_sole();
        }
        if self.node.tick() && !self.is_leader() {
            self.campaigns += 1;
        }
        self.fix_election_timeout();
    }

    /// If `campaigning_disabled`, this node starts no election by itself, except when a candidate lacks entries that this
    /// node has: no other member may have them.
    pub fn disable_campaigning(&mut self, campaigning_disabled: bool) {
        self.campaigning_disabled = campaigning_disabled;
    }

    /// True if this node is the leader.
    pub fn is_leader(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    /// True if an entry can be proposed now: this node leads and is not transferring leadership.
    pub fn takes_proposals(&self) -> bool {
        self.is_leader() && self.node.raft.lead_transferee.is_none()
    }

    /// The leader, as far as this node knows.
    pub fn leader(&self) -> Option<u64> {
        Some(self.node.raft.leader_id).filter(|leader| *leader != ::raft::INVALID_ID)
    }

    /// The current term.
    pub fn term(&self) -> u64 {
        self.node.raft.term
    }

    /// The highest index known to be committed.
    pub fn commit(&self) -> u64 {
        self.node.raft.raft_log.committed
    }

    /// Index of the last entry in the log.
    pub fn last_index(&self) -> u64 {
        self.node.raft.raft_log.last_index()
    }

    /// Handles a message from a member. Ignores an invalid message, as Raft ignores a late one.
    ///
    /// # Errors
    ///
    /// If this node's log is shorter than it has acknowledged.
    pub fn step(&mut self, message: Message) -> Result<(), LostEntries> {
        let message = message.into_raft();
        if self.installing.is_some()
            || (self.campaigning_disabled && message.get_msg_type() == MessageType::MsgTimeoutNow)
        {
            return Ok(());
        }
        let (known, last) = (message.commit, self.last_index());
        if message.get_msg_type() == MessageType::MsgHeartbeat && message.term >= self.term() && known > last
        {
            return Err(LostEntries { known, last });
        }
        if message.term > self.term() {
            // A new leader may need this node to commit entries before it has such a checkpoint, so the request is
            // withdrawn.
            self.node.raft.pending_request_snapshot = INVALID_INDEX;
        }
        let is_needed = self.campaigning_disabled && self.stands_without_our_entries(&message);
        // Fails for a sender that is no longer a member, or not one yet: such messages are ignored.
        let _passed_over = self.node.step(message);
        if is_needed {
            let _started = self.node.campaign();
        }
        self.fix_election_timeout();
        Ok(())
    }

    /// True if a message is a pre-vote request of a candidate that lacks entries of this node, while no leader is known.
    /// Then this node may campaign itself.
    fn stands_without_our_entries(&self, message: &::raft::eraftpb::Message) -> bool {
        let raft = &self.node.raft;
        message.get_msg_type() == MessageType::MsgRequestPreVote
            && !self.is_leader()
            && !self.is_sole_voter()
            && raft.promotable()
            && raft.election_elapsed >= ELECTION_TICKS
            && !raft.raft_log.is_up_to_date(message.index, message.log_term)
    }

    /// Proposes an encoded entry. Its outcome is known when the entry with this (term, index) is applied.
    pub fn propose(&mut self, data: Vec<u8>) -> Result<(u64, u64), ProposeError> {
        if !self.is_leader() {
            return Err(ProposeError::NotLeader);
        }
        self.node.propose(Vec::new(), data).map_err(|_| ProposeError::Dropped)?;
        Ok((self.node.raft.term, self.node.raft.raft_log.last_index()))
    }

    /// Proposes a change of the members, one at a time.
    pub fn propose_change(&mut self, change: MembershipChange) -> Result<(u64, u64), ProposeError> {
        if !self.is_leader() {
            return Err(ProposeError::NotLeader);
        }
        if self.node.raft.has_pending_conf() {
            return Err(ProposeError::ChangePending);
        }
        // raft-rs checks one step for plausibility; our own encoding travels beside it.
        let step = change.steps(self.members()).into_iter().next().unwrap_or_default();
        self.node.propose_conf_change(change.encode(), step).map_err(|_| ProposeError::Dropped)?;
        Ok((self.node.raft.term, self.node.raft.raft_log.last_index()))
    }

    /// Applies a change of membership. Ignores one that would leave no voter.
    pub fn apply_change(&mut self, change: MembershipChange) {
        let before = self.members().clone();
        let Some(after) = before.after(change) else { return };
        for step in change.steps(&before) {
            let applied = self.node.apply_conf_change(&step);
            applied.unwrap_or_else(|error| unreachable!("{change:?} fits {before:?}: {error}"));
        }
        let votes = after.voters.contains(&self.node.raft.id);
        self.node.mut_store().set_members(after);
        if self.is_leader() && !votes {
            // raft-rs would continue to lead, and fail at the next commit.
            let term = self.term();
            self.node.raft.become_follower(term, INVALID_ID);
        }
        self.fix_election_timeout();
    }

    /// Asks whether this node still leads. When [`Drained::reads`] returns `context` with an index, the state at that index
    /// contains everything that was acknowledged before. There is no answer if leadership or a message is lost.
    pub fn read(&mut self, context: u64) {
        // raft-rs would forward the question to the leader, but members do not accept that.
        if self.is_leader() {
            // Raft ignores a repeated request.
            self.node.read_index(context.to_le_bytes().to_vec());
        }
    }

    /// Transfers leadership to a voter as soon as it has caught up. Gives up after an election timeout. Ignored if this
    /// node does not lead.
    pub fn transfer_to(&mut self, node: u64) {
        // raft-rs would forward this too.
        if self.is_leader() {
            self.node.transfer_leader(node);
            self.fix_election_timeout();
        }
    }

    /// The target of a leadership transfer in progress.
    pub fn transferee(&self) -> Option<u64> {
        self.node.raft.lead_transferee
    }

    /// The progress of each member; empty if this node does not lead.
    pub fn progress(&self) -> BTreeMap<u64, Progress> {
        if !self.is_leader() {
            return BTreeMap::new();
        }
        let all = self.node.raft.prs().iter();
        all.map(|(node, progress)| {
            let sends_snapshot = progress.state == ProgressState::Snapshot;
            let snapshot = sends_snapshot.then_some(progress.pending_snapshot);
            (*node, Progress { matched: progress.matched, is_active: progress.recent_active, snapshot })
        })
        .collect()
    }

    /// Reports that the last messages to a member may be lost.
    pub fn unreachable(&mut self, node: u64) {
        self.node.report_unreachable(node);
    }

    /// Reports that a member will not get the checkpoint offered to it. It is offered the newest one again.
    pub fn snapshot_failed(&mut self, node: u64) {
        self.node.report_snapshot(node, SnapshotStatus::Failure);
    }

    /// Asks the leader for a checkpoint to replace this node's log and state. Ignored while an entry of the log is not
    /// known to be committed, because acknowledged entries could be lost with it. The leader's entries are refused until
    /// the checkpoint arrives or the leader changes.
    pub fn request_snapshot(&mut self) {
        if self.installing.is_none() && self.commit() == self.last_index() {
            // Fails without a leader, and after an earlier request.
            let _asked = self.node.request_snapshot();
        }
    }

    /// Reports that a member has installed the checkpoint offered to it. It continues with the entries after it.
    pub fn snapshot_installed(&mut self, node: u64) {
        self.node.report_snapshot(node, SnapshotStatus::Finish);
    }

    /// Reports that all batches up to this number are durable. Returns the index of the checkpoint that was installed with
    /// them, if any: it is now the state.
    pub fn persisted(&mut self, number: u64) -> Option<u64> {
        let installed = self.installing.take_if(|ready| ready.number() == number);
        let index = installed.map(|ready| self.installed(*ready));
        // A ready without writes counts with the one before it.
        self.node.on_persist_ready(number);
        if let Some(index) = index {
            self.node.advance_apply_to(index);
        }
        self.last_write = self.last_write.filter(|last| *last > number);
        self.vote_write = self.vote_write.filter(|last| *last > number);
        while let Some((_, message)) = self.held.pop_front_if(|(write, _)| *write <= number) {
            self.released.push(message);
        }
        self.fix_election_timeout();
        index
    }

    /// Returns the actions that the group asks for now; `None` if there are none.
    ///
    /// Term and vote are in the same batch as the entries, before anything that depends on them. Committed entries are
    /// returned only when their batch is reported durable.
    pub fn drain(&mut self) -> Option<Drained> {
        let messages = std::mem::take(&mut self.released);
        if self.installing.is_some() || !self.node.has_ready() {
            return (!messages.is_empty()).then(|| Drained { messages, ..Drained::default() });
        }
        let leads = self.is_leader();
        let mut ready = self.node.ready();
        let number = ready.number();
        let vote = ready.hs().map(|hard| Vote { term: hard.term, vote: hard.vote });
        let install = ready.snapshot().get_metadata().index;
        let tail = self.node.mut_store();
        let changed = vote.is_some_and(|vote| tail.set_vote(vote));
        if let Some(hard) = ready.hs() {
            tail.set_commit(hard.commit);
        }
        let batch = PersistBatch {
            vote: vote.filter(|_| changed),
            install: (install > 0).then_some(install),
            entries: ready.entries().iter().cloned().map(from_raft).collect(),
            commit: tail.commit(),
        };
        let mut drained = Drained {
            messages,
            persist: None,
            committed: ready.take_committed_entries().into_iter().map(from_raft).collect(),
            reads: ready.take_read_states().into_iter().filter_map(read_state).collect(),
        };
        // A start uses the members as of the last entry that the disk knows to be committed, so such a commit is written:
        // the nodes that know of a later membership may be gone by then.
        let changes_members = drained.committed.iter().any(|entry| entry.kind == EntryKind::ConfChange);
        if batch.vote.is_some() || install > 0 || !batch.entries.is_empty() || changes_members {
            self.last_write = Some(number);
            self.vote_write = if changed { Some(number) } else { self.vote_write };
            drained.persist = Some((number, batch));
        }
        let to_send = [ready.take_messages(), ready.take_persisted_messages()];
        let to_send = to_send.into_iter().flatten().map(Message::new);
        // A leader sends before its own write is durable, but not before its term and vote are.
        let write = if leads { self.vote_write } else { self.last_write };
        match write {
            Some(write) => self.held.extend(to_send.map(|message| (write, message))),
            None => drained.messages.extend(to_send),
        }
        if install > 0 {
            self.installing = Some(Box::new(ready));
            return Some(drained);
        }
        self.node.mut_store().append(ready.entries());
        self.node.advance_append_async(ready);
        if self.last_write.is_none() {
            // Nothing to write, so nothing to wait for.
            self.node.on_persist_ready(number);
        }
        self.fix_election_timeout();
        Some(drained)
    }

    /// Puts an installed checkpoint in the place of the log.
    fn installed(&mut self, ready: Ready) -> u64 {
        let metadata = ready.snapshot().get_metadata();
        let (index, term) = (metadata.index, metadata.term);
        let members = Membership::from(metadata.get_conf_state());
        let tail = self.node.mut_store();
        tail.install(Offer { index, term, members });
        tail.append(ready.entries());
        self.node.advance_append_async(ready);
        index
    }

    /// Reports that the engine has applied everything up to `index`: most of the tail before it is evicted from memory.
    pub fn applied(&mut self, index: u64) {
        self.node.advance_apply_to(index);
        let others = !self.is_alone();
        self.node.mut_store().forget(index, others);
        self.fix_election_timeout();
    }

    /// True while a checkpoint is replacing log and state.
    pub fn is_installing(&self) -> bool {
        self.installing.is_some() || self.node.snap().is_some_and(|snapshot| !snapshot.is_empty())
    }

    /// Sets the newest checkpoint, for members that lag far behind.
    pub fn offer(&mut self, offer: Offer) {
        self.node.mut_store().set_offer(offer);
    }

    /// True if a member needs a newer checkpoint than the one set last.
    pub fn is_offer_wanted(&self) -> bool {
        self.node.raft.store().is_offer_wanted()
    }

    /// Reports that the log on disk was truncated up to `through`, inclusive.
    pub fn cut(&mut self, through: u64) {
        self.node.mut_store().cut(through);
    }

    /// The next entries to read from disk, for a member that lags.
    pub fn wanted(&self) -> Option<Wanted> {
        self.node.raft.store().wanted()
    }

    /// Takes the entries that [`Self::wanted`] named, read from disk; empty if that failed.
    pub fn fetched(&mut self, entries: Vec<LogEntry>) {
        let entries = entries.into_iter().map(to_raft).collect();
        if let Some(context) = self.node.mut_store().fetched(entries) {
            self.node.on_entries_fetched(context);
        }
        self.fix_election_timeout();
    }

    fn fix_election_timeout(&mut self) {
        let campaigning_disabled = self.campaigning_disabled && !self.is_leader();
        let raft = &mut self.node.raft;
        if campaigning_disabled {
            // The count must go on: raft-rs takes its last leader for alive until an election timeout has elapsed.
            raft.set_randomized_election_timeout(2 * ELECTION_TICKS - 1);
            raft.election_elapsed = raft.election_elapsed.min(2 * ELECTION_TICKS - 3);
            return;
        }
        let words = [self.seed, raft.id, raft.term, raft.state as u64, self.campaigns];
        let mixed = words.into_iter().fold(0, |mixed, word| split_mix(mixed ^ word));
        let span = ELECTION_TICKS as u64;
        let ticks = usize::try_from(span + mixed % span).unwrap_or(ELECTION_TICKS);
        raft.set_randomized_election_timeout(ticks);
    }
}

/// One step of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn split_mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn read_state(state: ::raft::ReadState) -> Option<(u64, u64)> {
    let context = state.request_ctx.try_into().ok().map(u64::from_le_bytes)?;
    Some((context, state.index))
}

#[cfg(test)]
mod tests;
