//! A group alone, and three groups that exchange messages.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn founder() -> Start {
    Start {
        node: 1,
        seed: 7,
        vote: Vote::default(),
        before: (0, 0),
        terms: Vec::new(),
        applied: 0,
        members: Membership::alone(1),
        commit: 0,
        entries: Vec::new(),
        offer: None,
    }
}

/// Drains until nothing is left, reporting each batch durable at once.
fn settle(group: &mut Group) -> (Vec<PersistBatch>, Vec<LogEntry>) {
    let (mut batches, mut committed) = (Vec::new(), Vec::new());
    while let Some(drained) = group.drain() {
        if let Some((number, batch)) = drained.persist {
            batches.push(batch);
            group.persisted(number);
        }
        if let Some(last) = drained.committed.last() {
            group.applied(last.index);
        }
        committed.extend(drained.committed);
    }
    (batches, committed)
}

#[test]
fn the_only_voter_leads_at_once_and_commits_what_is_durable() {
    let mut group = Group::new(founder());
    group.campaign_if_sole();
    assert!(group.is_leader());
    settle(&mut group);
    let proposed = group.propose(b"one".to_vec());
    assert_eq!(proposed, Ok((1, 2)));
    let drained = group.drain().expect("there is an entry to persist");
    let (number, batch) = drained.persist.expect("an entry");
    assert_eq!(batch.entries.len(), 1);
    assert!(drained.committed.is_empty(), "nothing is committed before it is durable");
    group.persisted(number);
    let (_, committed) = settle(&mut group);
    assert_eq!(
        committed.iter().map(|entry| (entry.index, &entry.data[..])).collect::<Vec<_>>(),
        [(2, &b"one"[..])]
    );
}

#[test]
fn entries_are_persisted_in_order_while_earlier_ones_are_under_way() {
    let mut group = Group::new(founder());
    group.campaign_if_sole();
    settle(&mut group);
    let mut numbers = Vec::new();
    for body in [b"a", b"b", b"c"] {
        group.propose(body.to_vec()).expect("it leads");
        numbers.extend(group.drain().and_then(|drained| drained.persist).map(|(number, _)| number));
    }
    let [_, second, third] = numbers[..] else { panic!("three batches, not {numbers:?}") };
    group.persisted(second);
    let (_, committed) = settle(&mut group);
    assert_eq!(committed.len(), 2, "only what is durable is committed");
    group.persisted(third);
    assert_eq!(settle(&mut group).1.len(), 1);
}

#[test]
fn a_restart_goes_on_in_a_later_term() {
    let mut group = Group::new(founder());
    group.campaign_if_sole();
    let (mut batches, _) = settle(&mut group);
    group.propose(b"kept".to_vec()).expect("it leads");
    batches.extend(settle(&mut group).0);
    let vote = batches.iter().filter_map(|batch| batch.vote).next_back().expect("it voted");
    let entries: Vec<LogEntry> = batches.into_iter().flat_map(|batch| batch.entries).collect();
    let mut again = Group::new(Start { vote, entries, commit: 1, ..founder() });
    again.campaign_if_sole();
    let (_, committed) = settle(&mut again);
    assert_eq!(again.term(), 2);
    assert_eq!(committed.iter().map(|entry| entry.index).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn the_disk_learns_at_once_that_a_change_of_the_members_is_committed() {
    let mut group = Group::new(founder());
    group.campaign_if_sole();
    settle(&mut group);
    group.propose(b"one".to_vec()).expect("it leads");
    let (batches, _) = settle(&mut group);
    assert_eq!(batches.last().map(|batch| batch.commit), Some(1), "the next batch says it");
    assert!(group.stays_alone());
    group.propose_change(MembershipChange::Learner(2)).expect("nothing else is under way");
    assert!(group.is_alone() && !group.stays_alone(), "no more once it is applied");
    let (batches, committed) = settle(&mut group);
    let change = committed.last().map(|entry| (entry.kind, entry.index));
    assert_eq!(change, Some((EntryKind::ConfChange, 3)));
    assert_eq!(batches.last().map(|batch| (batch.entries.len(), batch.commit)), Some((0, 3)));
}

#[test]
fn a_follower_proposes_nothing() {
    let two = Membership { voters: vec![1, 2], learners: vec![] };
    let mut group = Group::new(Start { members: two, ..founder() });
    group.campaign_if_sole();
    assert_eq!(group.propose(b"x".to_vec()), Err(ProposeError::NotLeader));
}

/// Several groups that exchange messages, each with its own disk.
struct Net {
    groups: BTreeMap<u64, Group>,
    /// The log on each node's disk.
    logs: BTreeMap<u64, Vec<LogEntry>>,
    /// The entries that each node has applied.
    applied: BTreeMap<u64, Vec<LogEntry>>,
    /// Nodes that are cut off in both directions.
    cut_off: BTreeSet<u64>,
    /// Nodes whose writes never complete, with the numbers of these writes.
    slow: BTreeMap<u64, Vec<u64>>,
    reads: Vec<(u64, u64, u64)>,
}

impl Net {
    /// Groups that start with these members.
    fn of(voters: &[u64], learners: &[u64]) -> Self {
        let members = Membership { voters: voters.to_vec(), learners: learners.to_vec() };
        let mut net = Self {
            groups: BTreeMap::new(),
            logs: BTreeMap::new(),
            applied: BTreeMap::new(),
            cut_off: BTreeSet::new(),
            slow: BTreeMap::new(),
            reads: Vec::new(),
        };
        members.all().for_each(|node| net.add(node, members.clone()));
        net
    }

    fn add(&mut self, node: u64, members: Membership) {
        self.groups.insert(node, Group::new(Start { node, members, ..founder() }));
        self.logs.insert(node, Vec::new());
        self.applied.insert(node, Vec::new());
    }

    fn group(&mut self, node: u64) -> &mut Group {
        self.groups.get_mut(&node).expect("there is such a node")
    }

    fn persist(&mut self, node: u64, batch: PersistBatch) {
        let log = self.logs.get_mut(&node).expect("there is such a node");
        if batch.install.is_some() {
            log.clear();
        }
        if let Some(first) = batch.entries.first() {
            log.retain(|entry| entry.index < first.index);
        }
        log.extend(batch.entries);
    }

    fn apply(&mut self, node: u64, entries: Vec<LogEntry>) {
        for entry in entries {
            if let (EntryKind::ConfChange, Some(change)) = (entry.kind, MembershipChange::decode(&entry.data))
            {
                self.group(node).apply_change(change);
            }
            let index = entry.index;
            self.applied.get_mut(&node).expect("there is such a node").push(entry);
            self.group(node).applied(index);
        }
    }

    /// Carries out all actions and delivers all messages, until there are none left.
    fn settle(&mut self) {
        loop {
            let mut messages = Vec::new();
            let nodes: Vec<u64> = self.groups.keys().copied().collect();
            for node in nodes {
                while let Some(drained) = self.group(node).drain() {
                    messages.extend(drained.messages);
                    self.reads
                        .extend(drained.reads.into_iter().map(|(context, index)| (node, context, index)));
                    if let Some((number, batch)) = drained.persist {
                        self.persist(node, batch);
                        match self.slow.get_mut(&node) {
                            Some(writes) => writes.push(number),
                            None => _ = self.group(node).persisted(number),
                        }
                    }
                    self.apply(node, drained.committed);
                }
                if let Some(Wanted { first, last, .. }) = self.group(node).wanted() {
                    let log = &self.logs[&node];
                    let range = log.iter().filter(|entry| (first..=last).contains(&entry.index));
                    let entries = range.cloned().collect();
                    self.group(node).fetched(entries);
                }
            }
            if messages.is_empty() {
                return;
            }
            for message in messages {
                let bytes = message.encode().into();
                let message = Message::decode(&bytes).expect("it was just encoded");
                let (from, to) = (message.from(), message.to());
                let heard = !self.cut_off.contains(&from) && !self.cut_off.contains(&to);
                if let Some(group) = self.groups.get_mut(&to).filter(|_| heard) {
                    group.step(message).expect("nothing is lost");
                }
            }
        }
    }

    fn tick(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.groups.values_mut().for_each(Group::tick);
            self.settle();
        }
    }

    fn leader(&self) -> Option<u64> {
        let leads = |(node, group): (&u64, &Group)| group.is_leader().then_some(*node);
        self.groups.iter().filter(|(node, _)| !self.cut_off.contains(node)).find_map(leads)
    }

    /// Ticks until there is a leader that is not cut off.
    fn elect(&mut self) -> u64 {
        for _ in 0..100 {
            if let Some(leader) = self.leader() {
                return leader;
            }
            self.tick(1);
        }
        panic!("nobody leads")
    }

    fn bodies(&self, node: u64) -> Vec<&[u8]> {
        let normal = self.applied[&node].iter().filter(|entry| entry.kind == EntryKind::Normal);
        normal.map(|entry| &entry.data[..]).filter(|data| !data.is_empty()).collect()
    }
}

#[test]
fn three_members_elect_one_and_share_a_log() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    net.group(leader).propose(b"one".to_vec()).expect("it leads");
    net.settle();
    for node in 1..=3 {
        assert_eq!(net.bodies(node), [b"one"], "node {node}");
        assert_eq!(net.groups[&node].leader(), Some(leader));
    }
}

#[test]
fn a_leader_speaks_before_its_disk_has_heard_and_commits_by_the_others() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    net.slow.insert(leader, Vec::new());
    net.group(leader).propose(b"early".to_vec()).expect("it leads");
    net.settle();
    net.tick(2);
    let other = leader % 3 + 1;
    assert_eq!(net.bodies(other), [b"early"]);
    assert!(net.bodies(leader).is_empty(), "it applies nothing that its own disk does not have");
    let writes = net.slow.remove(&leader).expect("it is slow");
    net.group(leader).persisted(*writes.last().expect("there was one"));
    net.settle();
    assert_eq!(net.bodies(leader), [b"early"]);
}

#[test]
fn nobody_says_what_its_disk_has_not_heard() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    let others: Vec<u64> = (1..=3).filter(|node| *node != leader).collect();
    for node in &others {
        net.slow.insert(*node, Vec::new());
    }
    net.group(leader).propose(b"waits".to_vec()).expect("it leads");
    net.settle();
    assert!(net.bodies(leader).is_empty(), "one disk is no majority");
    let writes = net.slow.remove(&others[0]).expect("it is slow");
    net.group(others[0]).persisted(*writes.last().expect("there was one"));
    net.settle();
    assert_eq!(net.bodies(leader), [b"waits"]);
}

#[test]
fn a_sole_voter_with_a_learner_says_nothing_before_its_vote_is_durable() {
    let mut net = Net::of(&[1], &[2]);
    net.slow.insert(1, Vec::new());
    net.group(1).campaign_if_sole();
    let mut said = Vec::new();
    while let Some(drained) = net.group(1).drain() {
        said.extend(drained.messages);
    }
    assert!(net.group(1).is_leader() && said.is_empty(), "{said:?}");
}

#[test]
fn an_only_voter_waits_for_its_disk_before_it_elects_itself() {
    let mut net = Net::of(&[1, 2], &[]);
    let leader = net.elect();
    let node = 3 - leader;
    let vote = Vote { term: net.groups[&leader].term(), vote: leader };
    let (entries, members) = (net.logs[&node].clone(), Membership::alone(node));
    let mut group = Group::new(Start { node, vote, members, entries, ..founder() });
    net.group(leader).propose(b"not written".to_vec()).expect("it leads");
    for message in net.group(leader).drain().expect("there is something to say").messages {
        group.step(message).expect("nothing is lost");
    }
    let drained = group.drain().expect("there is something to write");
    let (number, _) = drained.persist.expect("an entry");
    group.tick();
    assert!(!group.is_leader(), "it would lead with an entry that its disk has not heard of");
    group.persisted(number);
    settle(&mut group);
    group.tick();
    assert!(group.is_leader());
}

#[test]
fn a_leader_that_is_cut_off_commits_nothing_and_steps_down() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let before = net.elect();
    net.cut_off.insert(before);
    net.group(before).propose(b"lost".to_vec()).expect("it still leads");
    net.settle();
    let after = net.elect();
    net.tick(2 * ELECTION_TICKS);
    assert!(after != before && !net.group(before).is_leader());
    net.group(after).propose(b"kept".to_vec()).expect("it leads");
    net.settle();
    net.cut_off.clear();
    net.tick(2 * ELECTION_TICKS);
    for node in 1..=3 {
        assert_eq!(net.bodies(node), [b"kept"], "node {node}");
    }
}

#[test]
fn a_node_joins_learns_everything_from_the_log_and_votes() {
    let mut net = Net::of(&[1], &[]);
    net.group(1).campaign_if_sole();
    net.settle();
    net.group(1).propose_change(MembershipChange::Alone(1)).expect("nothing else is under way");
    net.settle();
    for number in 0..200_u8 {
        net.group(1).propose(vec![number; 9]).expect("it leads");
    }
    net.settle();
    net.add(2, Membership::default());
    net.group(1).propose_change(MembershipChange::Learner(2)).expect("nothing else is under way");
    net.settle();
    net.tick(2 * HEARTBEAT_TICKS);
    assert_eq!(net.bodies(2).len(), 200, "read from the disk: nothing of it was in memory");
    assert_eq!(net.groups[&2].members(), net.groups[&1].members());
    net.group(1).propose_change(MembershipChange::Voter(2)).expect("nothing else is under way");
    net.settle();
    net.tick(2);
    assert_eq!(net.groups[&2].members(), &Membership { voters: vec![1, 2], learners: vec![] });
    net.cut_off.insert(2);
    net.group(1).propose(b"alone".to_vec()).expect("it leads");
    net.settle();
    assert_eq!(net.bodies(1).len(), 200, "one of two is no majority");
}

#[test]
fn who_is_too_far_behind_is_offered_a_checkpoint_that_knows_it() {
    let mut net = Net::of(&[1], &[]);
    net.group(1).campaign_if_sole();
    net.settle();
    for number in 0..50_u8 {
        net.group(1).propose(vec![number; 9]).expect("it leads");
    }
    net.settle();
    let last = net.groups[&1].last_index();
    net.group(1).offer(Offer { index: last, term: 1, members: Membership::alone(1) });
    net.group(1).cut(last);
    net.add(2, Membership::default());
    net.group(1).propose_change(MembershipChange::Learner(2)).expect("nothing else is under way");
    net.settle();
    net.tick(2 * HEARTBEAT_TICKS);
    assert!(net.groups[&1].is_offer_wanted(), "the one that there is was made before node 2 came");
    let members = net.groups[&1].members().clone();
    let index = net.groups[&1].last_index();
    net.group(1).offer(Offer { index, term: 1, members: members.clone() });
    net.slow.insert(2, Vec::new());
    net.tick(2 * HEARTBEAT_TICKS);
    assert!(net.groups[&2].is_installing());
    net.group(2).tick();
    let order = net.slow.remove(&2).expect("it is slow").last().copied().expect("there was one");
    assert_eq!(net.group(2).persisted(order), Some(index));
    net.group(1).propose(b"behind it".to_vec()).expect("it leads");
    net.settle();
    net.tick(2 * HEARTBEAT_TICKS);
    assert_eq!(net.bodies(2), [b"behind it"]);
    assert_eq!(net.groups[&2].members(), &members);
}

/// It has to commit its entries first, and two voters commit nothing without each other.
#[test]
fn who_asks_a_leader_for_a_checkpoint_takes_the_entries_of_the_next_one() {
    let mut net = Net::of(&[1, 2], &[]);
    let leader = net.elect();
    let follower = 3 - leader;
    net.group(leader).propose(b"one".to_vec()).expect("it leads");
    net.tick(2 * HEARTBEAT_TICKS);
    net.group(follower).request_snapshot();
    net.settle();
    // It restarts, and does not know that its entries were committed.
    let (vote, entries) =
        (Vote { term: net.groups[&leader].term(), vote: leader }, net.logs[&leader].clone());
    let members = net.groups[&leader].members().clone();
    net.groups.insert(leader, Group::new(Start { node: leader, vote, members, entries, ..founder() }));
    net.group(follower).disable_campaigning(true);
    assert_eq!(net.elect(), leader);
    net.group(leader).propose(b"two".to_vec()).expect("it leads");
    net.tick(2 * HEARTBEAT_TICKS);
    assert_eq!(net.bodies(follower), [b"one", b"two"]);
}

#[test]
fn a_leader_that_is_removed_by_what_it_inherited_steps_down() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    let other = leader % 3 + 1;
    net.group(leader).propose_change(MembershipChange::Remove(other)).expect("nothing else is under way");
    // The entry reaches one other member, and the leader fails before it is committed.
    let drained = net.group(leader).drain().expect("there is something to say");
    for message in drained.messages.into_iter().filter(|message| message.to() == other) {
        net.group(other).step(message).expect("nothing is lost");
    }
    net.cut_off.insert(leader);
    net.tick(10 * ELECTION_TICKS);
    let left = Membership { voters: (1..=3).filter(|node| *node != other).collect(), learners: vec![] };
    for node in (1..=3).filter(|node| *node != leader) {
        assert_eq!(
            net.groups[&node].members(),
            &left,
            "only node {other} had the entry, and committed it as leader"
        );
    }
    assert!(!net.groups[&other].is_leader());
}

#[test]
fn leadership_moves_at_once_when_it_is_handed_over() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    let other = leader % 3 + 1;
    net.group(leader).transfer_to(other);
    assert!(!net.groups[&leader].takes_proposals());
    net.settle();
    assert_eq!(net.leader(), Some(other));
}

#[test]
fn a_read_is_confirmed_by_a_majority_alone() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    net.group(leader).read(7);
    net.settle();
    let committed = net.groups[&leader].commit();
    assert_eq!(net.reads, [(leader, 7, committed)]);
    net.reads.clear();
    net.cut_off.extend((1..=3).filter(|node| *node != leader));
    net.group(leader).read(8);
    net.settle();
    assert!(net.reads.is_empty());
}

#[test]
fn who_does_not_lead_passes_on_neither_reads_nor_leadership() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    net.tick(HEARTBEAT_TICKS);
    let other = leader % 3 + 1;
    assert_eq!(net.groups[&other].leader(), Some(leader), "it would know to whom");
    net.group(other).read(7);
    net.group(other).transfer_to(other);
    let drained = net.group(other).drain().unwrap_or_default();
    assert!(drained.messages.is_empty(), "{:?}", drained.messages);
}

#[test]
fn a_node_whose_disk_forgot_is_told() {
    let mut net = Net::of(&[1, 2], &[]);
    let leader = net.elect();
    let other = 3 - leader;
    net.group(leader).propose(b"acknowledged".to_vec()).expect("it leads");
    net.settle();
    let members = Membership { voters: vec![1, 2], learners: vec![] };
    net.groups.insert(other, Group::new(Start { node: other, members, ..founder() }));
    let mut told = None;
    for _ in 0..=HEARTBEAT_TICKS {
        net.group(leader).tick();
        while let Some(drained) = net.group(leader).drain() {
            for message in drained.messages {
                told = told.or(net.group(other).step(message).err());
            }
        }
    }
    assert_eq!(told, Some(LostEntries { known: net.groups[&leader].last_index(), last: 0 }));
}

#[test]
fn a_node_with_campaigning_disabled_does_not_stand_for_election() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    let others = [leader % 3 + 1, (leader + 1) % 3 + 1];
    for other in others {
        net.group(other).disable_campaigning(true);
    }
    net.cut_off.insert(leader);
    net.tick(10 * ELECTION_TICKS);
    assert!(others.iter().all(|other| !net.groups[other].is_leader()), "they could elect one");
    net.group(others[0]).disable_campaigning(false);
    assert_eq!(net.elect(), others[0]);
}

#[test]
fn a_node_with_campaigning_disabled_stands_if_another_one_lacks_what_it_has() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    // A node's timeout depends on the term, so this tries many terms.
    for round in 0..40 {
        let leader = net.elect();
        let (behind, newest) = (leader % 3 + 1, (leader + 1) % 3 + 1);
        net.group(newest).disable_campaigning(true);
        net.cut_off.insert(behind);
        net.group(leader).propose(vec![round]).expect("it leads");
        net.settle();
        net.cut_off = BTreeSet::from([leader]);
        assert_eq!(net.elect(), newest, "nobody else has entry {round}");
        net.group(newest).disable_campaigning(false);
        net.cut_off.clear();
        net.tick(2 * ELECTION_TICKS);
        assert_eq!(net.bodies(behind).len(), usize::from(round) + 1);
    }
}

#[test]
fn a_removed_node_with_campaigning_disabled_stands_for_nothing() {
    let mut net = Net::of(&[1, 2, 3, 4], &[]);
    let leader = net.elect();
    let [removed, behind, newest] = [0, 1, 2].map(|nth| (leader + nth) % 4 + 1);
    net.cut_off.insert(behind);
    net.group(leader).propose_change(MembershipChange::Remove(removed)).expect("nothing else is under way");
    net.tick(2);
    assert!(!net.groups[&removed].members().contains(removed), "it knows");
    net.group(removed).disable_campaigning(true);
    // The newest has not heard from a leader for long, so it would vote for any of them.
    net.group(newest).disable_campaigning(true);
    (0..2 * ELECTION_TICKS).for_each(|_| net.group(newest).tick());
    net.group(newest).disable_campaigning(false);
    // A lagging member asks all members that it knows.
    net.cut_off = BTreeSet::from([leader]);
    for _ in 0..10 * ELECTION_TICKS {
        for node in [removed, behind] {
            net.group(node).tick();
        }
        net.settle();
    }
    assert_eq!(net.leader(), None, "it leads nothing that it is no member of");
    assert_eq!(net.elect(), newest);
}

#[test]
fn what_members_do_not_say_is_refused() {
    let mut net = Net::of(&[1, 2, 3], &[]);
    let leader = net.elect();
    net.group(leader).propose(b"body".to_vec()).expect("it leads");
    let drained = net.group(leader).drain().expect("there is something to say");
    let bytes = drained.messages[0].encode();
    for length in 0..bytes.len() {
        assert_eq!(Message::decode(&bytes[..length].to_vec().into()), Err(MessageError::Malformed));
    }
    let mut other_kind = bytes.clone();
    other_kind[0] = 99;
    assert_eq!(Message::decode(&other_kind.into()), Err(MessageError::Kind(99)));
    let mut no_term = bytes;
    no_term[3] = 0;
    assert_eq!(Message::decode(&no_term.into()), Err(MessageError::Malformed));
}
