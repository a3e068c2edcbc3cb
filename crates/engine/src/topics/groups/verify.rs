//! Checks of the groups against themselves and against the jobs, for [`Engine::verify`](crate::Engine::verify).

use std::collections::{BTreeMap, BTreeSet};

use super::group::Wake;
use super::{GroupNumber, Groups, NO_GROUP};
use crate::job::in_group::GroupPart;
use adjourn_types::Millis;

/// How many jobs of a group are in each part, in the order of [`GroupPart`].
pub(crate) type PartCounts = [u32; 4];

impl Groups {
    /// Panics if the counters are not those of `jobs`, which names each job's group and part, or if the sorted sets do not
    /// follow from them.
    pub(crate) fn verify(&self, jobs: &BTreeMap<(&str, GroupPart), u32>, stamp: Millis) {
        let mut counted = BTreeMap::<&str, PartCounts>::new();
        for ((name, part), count) in jobs {
            if let Some(place) = counted.entry(name).or_default().get_mut(*part as usize) {
                *place = *count;
            }
        }
        let (mut turns, mut fronts, mut deliverable) = (BTreeSet::new(), BTreeSet::new(), 0);
        let (mut held_by_rate, mut remembered) = (BTreeSet::new(), BTreeSet::new());
        let (mut set, mut sum, mut name_bytes) = (0, 0_u128, 0);
        for number in self.numbers() {
            let (group, extras) = (&self.all[number], self.all[number].extras());
            let found = [group.ready, group.reserved, extras.retrying, extras.buried];
            assert_eq!(found, counted.remove(&*group.name).unwrap_or_default(), "the jobs of {group:?}");
            let room = if self.policy.is_on() { group.room(&self.policy_of(number), stamp) } else { 0 };
            assert_eq!(group.deliverable, room, "what {group:?} gives");
            assert!(group.used < extras.weight, "what {group:?} has given");
            assert_eq!(group.turn > 0, room > 0, "whether it is the turn of {group:?}");
            assert!(number == NO_GROUP || !group.is_gone(), "{group:?} is to be forgotten");
            turns.extend((room > 0).then(|| (group.load(), group.turn, number)));
            fronts.extend(self.front(number).map(|front| (front, number)));
            let wakes_at = self.next_wake(number, &self.policy_of(number), stamp);
            assert_eq!(extras.wakes_at, wakes_at, "when time changes {group:?}");
            match wakes_at {
                Some(Wake::Free(at)) => _ = held_by_rate.insert((at, number)),
                Some(Wake::Forgotten(at)) => _ = remembered.insert((at, number)),
                None => {}
            }
            deliverable += u64::from(room);
            name_bytes += group.name.len();
            set += usize::from(group.is_set());
            sum = sum.wrapping_add(group.hash());
        }
        assert!(counted.is_empty(), "jobs of unknown groups: {counted:?}");
        assert_eq!((&self.turns, self.deliverable), (&turns, deliverable), "the groups in turn");
        assert_eq!(self.fronts, fronts, "the first jobs of groups");
        assert_eq!((&self.held_by_rate, &self.remembered), (&held_by_rate, &remembered), "what time changes");
        assert!(self.wakes_at().is_none_or(|at| at > stamp), "nothing is left for a time that has come");
        assert_eq!((self.set, self.sum, self.name_bytes), (set, sum, name_bytes), "settings and sums");
        let by_turn: BTreeSet<u64> = turns.iter().map(|(_, turn, _)| *turn).collect();
        assert!(by_turn.len() == turns.len() && by_turn.last().is_none_or(|last| *last < self.next_turn));
        let numbers: BTreeSet<GroupNumber> = self.names.values().copied().collect();
        assert_eq!(numbers.len() + 1, self.all.len(), "the numbers");
    }
}
