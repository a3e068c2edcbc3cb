//! TOPICS and STATS: a report of each topic that the client may see, in the order of their names. It is made in steps of a
//! bounded size: there may be tens of thousands of topics. Whatever fits into one step is answered at once.

use std::collections::{BTreeMap, VecDeque};

use super::Replica;
use super::browse::Asker;
use super::io::ConnectionId;
use super::queries::add;
use crate::protocol::{Request, RequestId, Response, StatsReport, TopicReport, Totals};
use crate::types::{Right, TopicName};

/// Topics that a step looks at.
const TOPICS_PER_STEP: usize = 1024;

/// Those that were not answered at once: the first is under way.
#[derive(Debug, Default)]
pub(super) struct TopicPasses(VecDeque<TopicPass>);

#[derive(Debug)]
struct TopicPass {
    asker: Asker,
    /// TOPICS or STATS.
    request: Request,
    /// The last topic that was looked at.
    after: Option<TopicName>,
    reports: Vec<TopicReport>,
}

impl TopicPasses {
    pub(super) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// How many of this connection wait.
    pub(super) fn count(&self, connection: ConnectionId) -> usize {
        self.0.iter().filter(|pass| pass.asker.0 == connection).count()
    }

    /// Drops all. Returns the requests that wait for an answer.
    pub(super) fn take_askers(&mut self) -> impl Iterator<Item = Asker> + '_ {
        self.0.drain(..).map(|pass| pass.asker)
    }

    /// Adds one behind the first. Connections take turns.
    fn add(&mut self, pass: TopicPass) {
        let place = place_in_turn(self.0.iter().map(|waiting| waiting.asker.0), pass.asker.0);
        self.0.insert(place.max(1).min(self.0.len()), pass);
    }
}

/// Where the next request of a connection stands among those that wait: before those of connections that have more there already.
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

impl Replica {
    /// Answers TOPICS or STATS: at once if there are few topics.
    pub(super) fn report_topics(&mut self, connection: ConnectionId, id: RequestId, request: Request) {
        let mut pass = TopicPass { asker: (connection, id), request, after: None, reports: Vec::new() };
        if self.look_at_topics(&mut pass) {
            return self.answer_with_topics(pass);
        }
        match self.refusal_of_pass(connection) {
            Some(refusal) => self.connections.refuse(connection, id, refusal),
            None => self.passes.topics.add(pass),
        }
    }

    /// One step.
    pub(super) fn go_on_with_topics(&mut self) {
        let Some(mut pass) = self.passes.topics.0.pop_front() else { return };
        if !self.connections.is_there(pass.asker.0) {
            return;
        }
        if self.look_at_topics(&mut pass) {
            self.answer_with_topics(pass);
        } else {
            self.passes.topics.0.push_front(pass);
        }
    }

    /// Looks at the next topics. Whether these were the last.
    fn look_at_topics(&mut self, pass: &mut TopicPass) -> bool {
        let access =
            self.connections.access(pass.asker.0).filter(|access| !access.has_everywhere(Right::Read));
        let after = pass.after.as_ref().map(TopicName::as_str);
        let (mut looks, mut last) = (0, None);
        for topic in self.engine.topics_after(after).take(TOPICS_PER_STEP) {
            (looks, last) = (looks + 1, Some(topic.name));
            if access.as_ref().is_none_or(|access| access.has(Right::Read, topic.name.as_str())) {
                pass.reports.push(self.topic_report(&topic));
            }
        }
        pass.after = last.cloned();
        self.turns.count(looks as u64);
        looks < TOPICS_PER_STEP
    }

    fn answer_with_topics(&mut self, pass: TopicPass) {
        let (connection, id) = pass.asker;
        if self.connections.must_wait(connection, id) {
            return self.connections.hold_searched(connection, id, pass.request);
        }
        let response = match pass.request {
            Request::Stats => Response::Stats(Box::new(self.stats(connection, pass.reports))),
            _ => Response::Topics(pass.reports),
        };
        self.connections.send(connection, id, response);
    }

    /// Of the topics that the client may see.
    fn stats(&self, connection: ConnectionId, topics: Vec<TopicReport>) -> StatsReport {
        let sees_all =
            self.connections.access(connection).is_none_or(|access| access.has_everywhere(Right::Read));
        let forgotten = if sees_all { self.forgotten() } else { Totals::default() };
        let totals = topics.iter().fold(forgotten, |sum, topic| add(sum, &topic.totals));
        StatsReport {
            now: self.engine.wall(self.clock.stamp()),
            uptime_ms: (self.now_us - self.started_us) / 1000,
            connections: u32::try_from(self.connections.count()).unwrap_or(u32::MAX),
            sessions: u32::try_from(self.engine.session_count()).unwrap_or(u32::MAX),
            waiting: u32::try_from(self.waiters.count()).unwrap_or(u32::MAX),
            applied_index: self.applied.0,
            term: self.group.term(),
            state_hash: self.engine.state_hash(),
            totals,
            topics,
            // The driver has the clocks to measure them.
            stages: Vec::new(),
        }
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
