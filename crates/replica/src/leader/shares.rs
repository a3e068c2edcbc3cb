//! The standings of weighted topics, per consumer.
//!
//! Standings are not part of the state: the leader keeps them and sends them with each reserve, so a new leader starts at
//! zero. A standing belongs to a connection and a list of topics and weights, and outlives a long poll: a consumer that
//! asks for one job at a time gets the same shares as a subscription.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::io::ConnectionId;
use adjourn_engine::{Share, TopicOrder};
use adjourn_types::TopicName;

/// Most lists remembered for a connection that no request uses.
const IDLE_LISTS_MAX: usize = 4;

/// Topics, and one weight for each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Weighing {
    topics: Vec<TopicName>,
    weights: Vec<u16>,
}

/// A list, and the standing of each of its topics.
pub(super) type Standing = (Arc<Weighing>, Vec<i64>);

/// How a reserve chooses among topics: by their standings, or without weights by the order of jobs over all topics.
pub(super) fn topic_order<'a>(
    standing: Option<&'a Standing>,
    topics: impl Iterator<Item = &'a str>,
) -> TopicOrder<'a> {
    match standing {
        Some((weighing, standings)) => TopicOrder::OfShares(weighing.shares(standings)),
        None => TopicOrder::OfJobs(topics.collect()),
    }
}

/// The standings of all connections.
#[derive(Debug, Default)]
pub(super) struct Standings {
    /// Ordered by last use; the latest is at the end.
    lists: BTreeMap<ConnectionId, VecDeque<Standing>>,
}

impl Weighing {
    /// The shares for a reserve that begins with these standings.
    fn shares(&self, standings: &[i64]) -> Vec<Share<'_>> {
        let topics = self.topics.iter().map(TopicName::as_str);
        let parts = topics.zip(&self.weights).zip(standings);
        parts
            .map(|((topic, weight), standing)| Share { topic, weight: *weight, standing: *standing })
            .collect()
    }
}

impl Standings {
    /// The list of these topics and weights: the connection's existing one, or a new one with all standings at zero.
    pub(super) fn list(
        &mut self,
        connection: ConnectionId,
        topics: &[TopicName],
        weights: &[u16],
    ) -> Arc<Weighing> {
        let lists = self.lists.entry(connection).or_default();
        let is_same = |(list, _): &Standing| list.weights == weights && list.topics == topics;
        let known = lists.iter().position(is_same).and_then(|place| lists.remove(place));
        let list = known.unwrap_or_else(|| {
            let topics: Vec<TopicName> = topics.iter().map(TopicName::detached).collect();
            let standings = vec![0; topics.len()];
            (Arc::new(Weighing { topics, weights: weights.to_vec() }), standings)
        });
        let weighing = Arc::clone(&list.0);
        lists.push_back(list);
        let is_idle = |(list, _): &Standing| Arc::strong_count(list) == 1;
        let idle = lists.iter().filter(|list| is_idle(list)).count();
        if idle > IDLE_LISTS_MAX
            && let Some(oldest) = lists.iter().position(is_idle)
        {
            lists.remove(oldest);
        }
        weighing
    }

    /// The standing of each topic of a list.
    pub(super) fn of(&self, connection: ConnectionId, list: &Arc<Weighing>) -> Vec<i64> {
        let lists = self.lists.get(&connection).into_iter().flatten();
        let found = lists.rev().find(|(known, _)| Arc::ptr_eq(known, list));
        found.map_or_else(|| vec![0; list.topics.len()], |(_, standings)| standings.clone())
    }

    /// Adds the advances of a reserve. Several reserves may have begun with the same standings; all their advances are
    /// added.
    pub(crate) fn advance(&mut self, connection: ConnectionId, list: &Arc<Weighing>, advances: &[i64]) {
        let lists = self.lists.get_mut(&connection).into_iter().flatten();
        if let Some((_, standings)) = lists.rev().find(|(known, _)| Arc::ptr_eq(known, list)) {
            for (standing, advance) in standings.iter_mut().zip(advances) {
                *standing = standing.saturating_add(*advance);
            }
        }
    }

    /// Forgets the standings of a gone connection.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.lists.remove(&connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ConnectionId = ConnectionId(1);

    fn names(names: &[&str]) -> Vec<TopicName> {
        names.iter().map(|name| name.parse().expect("a name")).collect()
    }

    #[test]
    fn a_list_is_remembered_while_it_is_used_and_a_few_beyond() {
        let mut standings = Standings::default();
        let topics = names(&["a", "b"]);
        let held = standings.list(ONE, &topics, &[1, 1]);
        standings.advance(ONE, &held, &[2, -2]);
        let idle = |standings: &mut Standings, weight| drop(standings.list(ONE, &topics, &[weight, 7]));
        let first = standings.list(ONE, &topics, &[1, 7]);
        standings.advance(ONE, &first, &[-1, 1]);
        drop(first);
        for weight in 2..=4 {
            idle(&mut standings, weight);
        }
        let again = standings.list(ONE, &topics, &[1, 7]);
        assert_eq!(standings.of(ONE, &again), [-1, 1], "one of the last four");
        drop(again);
        for weight in 2..=40 {
            idle(&mut standings, weight);
        }
        let again = standings.list(ONE, &topics, &[1, 7]);
        assert_eq!((standings.of(ONE, &again), standings.of(ONE, &held)), (vec![0, 0], vec![2, -2]));
        assert!(standings.lists.values().all(|lists| lists.len() <= IDLE_LISTS_MAX + 3));
        standings.forget(ONE);
        assert_eq!(standings.of(ONE, &held), [0, 0]);
    }

    #[test]
    fn what_is_under_way_at_once_adds_up() {
        let mut standings = Standings::default();
        let list = standings.list(ONE, &names(&["a", "b"]), &[3, 1]);
        let same = standings.list(ONE, &names(&["a", "b"]), &[3, 1]);
        standings.advance(ONE, &list, &[-1, 1]);
        standings.advance(ONE, &same, &[-1, 1]);
        let shares =
            list.shares(&standings.of(ONE, &list)).iter().map(|share| share.standing).collect::<Vec<_>>();
        assert_eq!(shares, [-2, 2]);
    }
}
