//! Applies committed entries to the state.

use super::Group;
use crate::Replica;
use crate::io::Notice;
use crate::node::Node;
use adjourn_engine::{Applied, Command, Engine, Entry, EntryError};
use adjourn_raft::{Membership, MembershipChange};
use adjourn_storage::{EntryKind, LogEntry, StorageError};

impl Replica {
    /// Applies a committed entry and answers the waiting requests. If the state is lost, only changes of membership are
    /// applied.
    ///
    /// # Panics
    ///
    /// If the entry cannot be read. It was written by this version or checked when the log was replayed.
    pub(crate) fn apply(&mut self, entry: &LogEntry) -> Result<(), StorageError> {
        let Self { node, group, leader, .. } = self;
        assert!(entry.index == group.applied.0 + 1, "entries are applied in order");
        let begins_term = entry.term != group.applied.1;
        group.applied = (entry.index, entry.term);
        if group.apply_membership(node, entry) {
            if let Some(leader) = leader {
                leader.changes.applied(node, entry);
            }
            group.note_state(node, begins_term);
            return Ok(());
        }
        if group.has_lost_state() {
            return Ok(());
        }
        let decoded = decode(entry).unwrap_or_else(|error| panic!("entry {}: {error}", entry.index));
        let Some(decoded) = decoded else {
            group.note_state(node, begins_term);
            return Ok(());
        };
        let replies = leader
            .as_mut()
            .map(|leader| leader.proposals.take_applied(entry.term, entry.index))
            .unwrap_or_default();
        group.checkpoints.log_bytes += entry.data.len() as u64;
        let applied = group.apply(node, &decoded)?;
        group.note_state(node, begins_term);
        match leader {
            Some(leader) => leader.applied(node, group, &decoded.commands, applied, replies),
            None => Ok(()),
        }
    }
}

impl Group {
    /// Applies an entry that changes the membership. Returns false for any other entry.
    pub(super) fn apply_membership(&mut self, node: &mut Node, entry: &LogEntry) -> bool {
        if entry.kind != EntryKind::ConfChange {
            return false;
        }
        let index = entry.index;
        let change = MembershipChange::decode(&entry.data);
        let change =
            change.unwrap_or_else(|| panic!("entry {index} changes the membership in an unknown way"));
        let before = self.raft.members().clone();
        let after = change_members(&mut self.state.engine, &before, change);
        self.raft.apply_change(change);
        if before.contains(node.config.node) && !after.contains(node.config.node) {
            node.notices.push(Notice::Removed);
        }
        self.members_changed = true;
        true
    }

    /// Applies an entry's commands to the state.
    fn apply(&mut self, node: &Node, entry: &Entry<'_>) -> Result<Applied, StorageError> {
        let applied = self.state.engine.apply(entry, &mut self.state.records)?;
        node.check_feature_level(self.state.engine.feature_level())?;
        let names_members = |command: &Command<'_>| {
            matches!(command, Command::MemberSet { .. } | Command::FeatureLevel { .. })
        };
        self.members_changed |= entry.commands.iter().any(names_members);
        Ok(applied)
    }

    /// Notes the state hash after this entry, unless the state is lost.
    fn note_state(&self, node: &mut Node, begins_term: bool) {
        if self.has_lost_state() {
            return;
        }
        node.peers.note_state(self.applied.0, begins_term, || self.state.engine.state_hash());
    }
}

/// Changes the members of the group, and the state, which remembers removed members. Ignores a change that would leave no
/// voter.
pub(crate) fn change_members(
    engine: &mut Engine,
    before: &Membership,
    change: MembershipChange,
) -> Membership {
    let Some(after) = before.after(change) else { return before.clone() };
    for gone in before.all().filter(|node| !after.contains(*node)) {
        engine.remove_member(gone);
    }
    if let MembershipChange::Remove(node) = change {
        // The node may be in the state without having been a member.
        engine.remove_member(node);
    }
    after
}

/// Decodes an entry; `None` for the empty one that a new leader appends.
pub(crate) fn decode(entry: &LogEntry) -> Result<Option<Entry<'_>>, EntryError> {
    if entry.data.is_empty() { Ok(None) } else { Entry::decode(&entry.data).map(Some) }
}
