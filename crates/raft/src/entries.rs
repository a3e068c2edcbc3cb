//! Entries of the log, as raft-rs has them.

use ::raft::eraftpb::{Entry, EntryType};

use adjourn_storage::{EntryKind, LogEntry};

/// Converts an entry for raft-rs. A change of membership goes into the context, which raft-rs does not read.
pub(super) fn to_raft(entry: LogEntry) -> Entry {
    let LogEntry { index, term, kind, data } = entry;
    let mut raft_entry = Entry { index, term, ..Entry::default() };
    match kind {
        EntryKind::Normal => raft_entry.data = data,
        EntryKind::ConfChange => {
            raft_entry.set_entry_type(EntryType::EntryConfChange);
            raft_entry.context = data;
        }
    }
    raft_entry
}

/// Converts an entry of raft-rs.
pub(super) fn from_raft(entry: Entry) -> LogEntry {
    let (kind, data) = match entry.get_entry_type() {
        EntryType::EntryNormal => (EntryKind::Normal, entry.data),
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => (EntryKind::ConfChange, entry.context),
    };
    LogEntry { index: entry.index, term: entry.term, kind, data }
}
