//! TOPICS and STATS: a report of each topic that the client may see, by name. There may be tens of thousands of topics, so
//! a report is made in steps of limited size; if one step suffices, the answer follows at once.

use std::collections::{BTreeMap, VecDeque};

use super::browse::Passes;
use super::consumption::Consumption;
use crate::group::Group;
use crate::group::state::add;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_protocol::{Request, Response, StatsReport, TopicReport, Totals};
use adjourn_types::{Right, TopicName};

/// Topics that one step looks at.
const TOPICS_PER_STEP: usize = 1024;

/// The requests that were not answered at once; the first one is running.
#[derive(Debug, Default)]
pub(super) struct TopicPasses(VecDeque<TopicPass>);

#[derive(Debug)]
struct TopicPass {
    asker: Asker,
    /// TOPICS or STATS.
    request: Request,
    /// The last topic looked at.
    after: Option<TopicName>,
    reports: Vec<TopicReport>,
}

impl TopicPass {
    /// Looks at the next topics. Returns true if there are no more.
    fn look(&mut self, node: &Node, group: &mut Group, consumption: Consumption<'_>) -> bool {
        let access = node
            .connections
            .access(self.asker.connection)
            .filter(|access| !access.has_everywhere(Right::Read));
        let after = self.after.as_ref().map(TopicName::as_str);
        let (mut looks, mut last) = (0, None);
        for topic in group.state.engine.topics_after(after).take(TOPICS_PER_STEP) {
            (looks, last) = (looks + 1, Some(topic.name));
            if access.as_ref().is_none_or(|access| access.has(Right::Read, topic.name.as_str())) {
                self.reports.push(group.state.topic_report(&topic, consumption.of(topic.id)));
            }
        }
        self.after = last.cloned();
        group.work.count(looks as u64);
        looks < TOPICS_PER_STEP
    }

    /// Answers with the reports, or holds the request until there is room. `waiting` is the number of waiting consumers,
    /// for STATS.
    fn answer(self, node: &mut Node, group: &Group, waiting: usize) {
        let asker = self.asker;
        if node.connections.must_wait(asker) {
            return node.connections.hold_searched(asker, self.request);
        }
        let response = match self.request {
            Request::Stats => {
                Response::Stats(Box::new(stats(node, group, waiting, asker.connection, self.reports)))
            }
            _ => Response::Topics(self.reports),
        };
        node.connections.send(asker, response);
    }
}

impl TopicPasses {
    pub(super) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The number of this connection's requests.
    pub(crate) fn count(&self, connection: ConnectionId) -> usize {
        self.0.iter().filter(|pass| pass.asker.connection == connection).count()
    }

    /// Drops all passes. Returns the requests that wait for an answer.
    pub(super) fn take_askers(&mut self) -> impl Iterator<Item = Asker> + '_ {
        self.0.drain(..).map(|pass| pass.asker)
    }

    /// Queues a request behind the running one. Connections take turns.
    fn add(&mut self, pass: TopicPass) {
        let place =
            place_in_turn(self.0.iter().map(|waiting| waiting.asker.connection), pass.asker.connection);
        self.0.insert(place.max(1).min(self.0.len()), pass);
    }
}

/// The place in a queue of a connection's next request: before those of connections that have more requests queued.
pub(super) fn place_in_turn<C: Ord + Copy>(waiting: impl Iterator<Item = C> + Clone, next: C) -> usize {
    let own = waiting.clone().filter(|connection| *connection == next).count();
    let (mut seen, mut end) = (BTreeMap::new(), 0);
    for (place, connection) in waiting.enumerate() {
        let nth: &mut usize = seen.entry(connection).or_default();
        *nth += 1;
        if *nth > own + 1 {
            return place;
        }
        end = place + 1;
    }
    end
}

impl Passes {
    /// Answers TOPICS or STATS: at once if there are few topics.
    pub(super) fn report_topics(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        request: Request,
        consumption: Consumption<'_>,
    ) {
        let mut pass = TopicPass { asker, request, after: None, reports: Vec::new() };
        if pass.look(node, group, consumption) {
            return pass.answer(node, group, consumption.waiting());
        }
        match self.refusal(node, asker.connection) {
            Some(refusal) => node.connections.refuse(asker, refusal),
            None => self.topics.add(pass),
        }
    }

    /// Takes one step.
    pub(super) fn go_on_with_topics(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        consumption: Consumption<'_>,
    ) {
        let Some(mut pass) = self.topics.0.pop_front() else { return };
        if !node.connections.is_there(pass.asker.connection) {
            return;
        }
        if pass.look(node, group, consumption) {
            pass.answer(node, group, consumption.waiting());
        } else {
            self.topics.0.push_front(pass);
        }
    }
}

/// Statistics over the topics that the client may see.
fn stats(
    node: &Node,
    group: &Group,
    waiting: usize,
    connection: ConnectionId,
    topics: Vec<TopicReport>,
) -> StatsReport {
    let sees_all =
        node.connections.access(connection).is_none_or(|access| access.has_everywhere(Right::Read));
    let forgotten = if sees_all { group.state.forgotten() } else { Totals::default() };
    let totals = topics.iter().fold(forgotten, |sum, topic| add(sum, &topic.totals));
    StatsReport {
        now: group.state.engine.wall(group.state.clock.stamp()),
        uptime_ms: node.uptime_ms(),
        connections: u32::try_from(node.connections.count()).unwrap_or(u32::MAX),
        sessions: u32::try_from(group.state.engine.session_count()).unwrap_or(u32::MAX),
        waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
        applied_index: group.applied.0,
        term: group.raft.term(),
        state_hash: group.state.engine.state_hash(),
        totals,
        topics,
        // The driver adds them: it has the clocks.
        stages: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_turns() {
        assert_eq!(place_in_turn([].iter().copied(), 1), 0);
        assert_eq!(place_in_turn([1, 1, 1].into_iter(), 1), 3);
        assert_eq!(place_in_turn([1, 1, 1].into_iter(), 2), 1, "behind the first of the other one");
        assert_eq!(place_in_turn([1, 2, 1, 1].into_iter(), 2), 3, "behind its second");
    }
}
