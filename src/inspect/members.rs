//! The members of the group, read from the data directory of a stopped node.

use adjourn_raft::{Membership, MembershipChange};
use adjourn_storage::{EntryKind, LogEntry};

/// The members after these entries, committed or not. Changes of a later version are skipped.
pub(crate) fn after(before: Membership, entries: &[LogEntry]) -> Membership {
    let changes = entries.iter().filter(|entry| entry.kind == EntryKind::ConfChange);
    changes
        .filter_map(|entry| MembershipChange::decode(&entry.data))
        .fold(before, |members, change| members.after(change).unwrap_or(members))
}

/// The members as text.
pub(crate) fn text(members: &Membership) -> String {
    let numbers = |nodes: &[u64]| nodes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match (members.voters.as_slice(), members.learners.as_slice()) {
        ([], []) => "none yet".to_owned(),
        (voters, []) => format!("voters {}", numbers(voters)),
        (voters, learners) => format!("voters {}; learners {}", numbers(voters), numbers(learners)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_change_the_members_in_their_order() {
        let change = |index, change: MembershipChange| LogEntry {
            index,
            term: 1,
            kind: EntryKind::ConfChange,
            data: change.encode().into(),
        };
        let entries = [
            change(2, MembershipChange::Learner(2)),
            change(3, MembershipChange::Learner(3)),
            LogEntry { index: 4, term: 1, kind: EntryKind::Normal, data: "".into() },
            change(5, MembershipChange::Voter(2)),
        ];
        let members = after(Membership::alone(1), &entries);
        assert_eq!(members, Membership { voters: vec![1, 2], learners: vec![3] });
        assert_eq!(text(&members), "voters 1, 2; learners 3");
        assert_eq!(text(&Membership::alone(1)), "voters 1");
        assert_eq!(text(&Membership::default()), "none yet");
        assert_eq!(after(members, &[change(6, MembershipChange::Alone(3))]), Membership::alone(3));
    }
}
