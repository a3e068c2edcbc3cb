//! A sorted list for millions of jobs: the order in which a topic's ready jobs are reserved, its buried ones kicked, and
//! jobs wait again after the wall clock was set back.
//!
//! The list is a tree of sorted runs, found by their first elements. Most jobs become ready after all others and leave from
//! the front, so most runs are full, and a job takes little more than its sort key, a third of what a tree of single keys
//! takes. An insert in the middle moves at most half of one run.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

use crate::job::Job;
use crate::jobs::Slot;
use adjourn_types::JobId;

/// A job's rank: priority, place in the order, id; and its slot.
pub(crate) type Rank = (u32, u64, JobId, Slot);

/// The rank of a ready job: see [`Job::set_ready`].
pub(crate) fn rank_of(job: &Job, slot: Slot) -> Rank {
    (job.priority, job.since, job.id, slot)
}

/// The rank of a buried job. Its due time is taken as given, on either timeline, so that the rank stays the same when
/// clocks change.
pub(crate) fn buried_rank_of(job: &Job, slot: Slot) -> Rank {
    (job.priority, job.due_at, job.id, slot)
}

/// The rank of a job that [rests on the wall clock](Job::reached_wall), by the time that it rests on.
pub(crate) fn reached_rank_of(job: &Job, slot: Slot) -> Option<Rank> {
    job.reached_wall().map(|at| (0, at, job.id, slot))
}

/// Most ranks in one run.
const RUN_MAX: usize = 512;
/// A run with fewer ranks is merged with a neighbour, if both together fill at most half of one.
const RUN_LEAST: usize = RUN_MAX / 8;

/// A sorted list of ranks.
#[derive(Debug)]
pub(crate) struct ReadyOrder<R = Rank> {
    /// The runs, each under a rank that is at most its first one and greater than all of the run before. No run is empty.
    runs: BTreeMap<R, VecDeque<R>>,
    len: usize,
}

impl<R> Default for ReadyOrder<R> {
    fn default() -> Self {
        Self { runs: BTreeMap::new(), len: 0 }
    }
}

impl<R: Copy + Ord + Debug> ReadyOrder<R> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The rank that comes first.
    pub(crate) fn first(&self) -> Option<&R> {
        self.runs.values().next()?.front()
    }

    /// The rank that comes last.
    pub(crate) fn last(&self) -> Option<&R> {
        self.runs.values().next_back()?.back()
    }

    /// All ranks, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        self.runs.values().flatten()
    }

    /// How many ranks are less than this one. It looks at each run.
    pub(crate) fn count_before(&self, rank: &R) -> usize {
        let mut runs = self.runs.range(..=*rank).map(|(_, run)| run).rev();
        let last = runs.next().map_or(0, |run| run.partition_point(|other| other < rank));
        last + runs.map(VecDeque::len).sum::<usize>()
    }

    /// Adds a rank that is not in the list.
    pub(crate) fn insert(&mut self, rank: R) {
        self.len += 1;
        let Some((key, run)) = self.runs.range_mut(..=rank).next_back() else { return self.prepend(rank) };
        let place = run.partition_point(|other| *other < rank);
        debug_assert_ne!(run.get(place), Some(&rank), "a job has one turn");
        if run.len() < RUN_MAX {
            return run.insert(place, rank);
        }
        if place < RUN_MAX {
            let key = *key;
            self.split(key, place, rank);
        } else {
            self.add_run(VecDeque::from([rank]));
        }
    }

    /// The first rank that is not less than this one.
    pub(crate) fn first_from(&self, rank: &R) -> Option<&R> {
        let within = self.runs.range(..=*rank).next_back();
        let within = within.and_then(|(_, run)| run.get(run.partition_point(|other| other < rank)));
        within.or_else(|| self.runs.range(*rank..).next()?.1.front())
    }

    /// Removes a rank.
    pub(crate) fn remove(&mut self, rank: &R) {
        let found = self.runs.range_mut(..=*rank).next_back();
        let found = found.and_then(|(key, run)| Some((*key, run.binary_search(rank).ok()?, run)));
        let Some((key, place, run)) = found else { return debug_assert!(false, "what is removed is there") };
        run.remove(place);
        self.len -= 1;
        if run.is_empty() {
            self.runs.remove(&key);
        } else if run.len() < RUN_LEAST {
            self.merge(key);
        }
    }

    /// An estimate of the memory of this number of ranks, in bytes: most runs are full.
    pub(crate) fn memory_bytes(jobs: usize) -> usize {
        jobs * size_of::<R>() * 5 / 4
    }

    /// Adds a rank before all others.
    fn prepend(&mut self, rank: R) {
        let run = match self.runs.first_entry() {
            Some(first) if first.get().len() < RUN_MAX => {
                let mut run = first.remove();
                run.push_front(rank);
                run
            }
            _ => VecDeque::from([rank]),
        };
        self.add_run(run);
    }

    /// Splits a full run in two and adds a rank to one half.
    fn split(&mut self, key: R, place: usize, rank: R) {
        let Some(run) = self.runs.get_mut(&key) else { return };
        let mut later = run.split_off(RUN_MAX / 2);
        match place.checked_sub(RUN_MAX / 2) {
            Some(place) if place > 0 => later.insert(place, rank),
            _ => run.insert(place, rank),
        }
        self.add_run(later);
    }

    /// Merges a small run with the previous or the next one, if both together are small enough.
    fn merge(&mut self, key: R) {
        let before = self.runs.range(..key).next_back().map(|(before, _)| (*before, key));
        let behind = self.runs.range(key..).nth(1).map(|(behind, _)| (key, *behind));
        for (first, second) in before.into_iter().chain(behind) {
            let len = |key: &R| self.runs.get(key).map_or(0, VecDeque::len);
            if len(&first) + len(&second) <= RUN_MAX / 2 {
                let mut second = self.runs.remove(&second).unwrap_or_default();
                self.runs.entry(first).or_default().append(&mut second);
                return;
            }
        }
    }

    fn add_run(&mut self, run: VecDeque<R>) {
        if let Some(first) = run.front() {
            self.runs.insert(*first, run);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn rank(number: u32) -> Rank {
        (number % 3, u64::from(number % 1000), JobId(number.into()), number)
    }

    fn check(order: &ReadyOrder, expected: &BTreeSet<Rank>) {
        assert!(order.iter().eq(expected), "the same turns in the same order");
        assert_eq!(
            (order.len(), order.first(), order.last()),
            (expected.len(), expected.first(), expected.last())
        );
        let mut last = None;
        for (key, run) in &order.runs {
            assert!(run.len() <= RUN_MAX && run.front().is_some_and(|first| key <= first));
            assert!(last < Some(*key), "a run begins behind the one before");
            last = run.back().copied();
        }
    }

    /// Changes to a list: each adds or removes many consecutive ranks, in ascending or descending order.
    fn steps() -> impl Strategy<Value = Vec<(bool, u32, u32, bool)>> {
        proptest::collection::vec((any::<bool>(), 0..20_000_u32, 1..1500_u32, any::<bool>()), 1..40)
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_set(steps in steps()) {
            let (mut order, mut expected) = (ReadyOrder::default(), BTreeSet::new());
            for (comes, first, count, rises) in steps {
                for nth in 0..count {
                    let number = first + if rises { nth } else { count - nth };
                    if comes && expected.insert(rank(number)) {
                        order.insert(rank(number));
                    } else if !comes && expected.remove(&rank(number)) {
                        order.remove(&rank(number));
                    }
                }
                check(&order, &expected);
                let from = rank(first);
                prop_assert_eq!(order.first_from(&from), expected.range(from..).next());
                prop_assert_eq!(order.count_before(&from), expected.range(..from).count());
            }
            while let Some(first) = expected.pop_first() {
                prop_assert_eq!(order.first(), Some(&first));
                order.remove(&first);
            }
            prop_assert_eq!((order.len(), order.runs.len()), (0, 0));
        }
    }

    #[test]
    fn what_comes_in_order_fills_its_runs_and_what_thins_out_gives_them_back() {
        const MANY: u32 = 100 * 512;
        let turn = |number: u32| (0, u64::from(number), JobId(number.into()), number);
        let mut order = ReadyOrder::default();
        (0..MANY).for_each(|number| order.insert(turn(number)));
        assert_eq!(order.runs.len(), 100);
        (0..MANY).filter(|number| !number.is_multiple_of(64)).for_each(|number| order.remove(&turn(number)));
        assert!(order.runs.len() <= 8, "{} runs for {} turns", order.runs.len(), order.len());
    }
}
