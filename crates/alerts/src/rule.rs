//! Rules, which a node compares with what it observes. They have no memory and no clock.

use adjourn_json::values::spelled;
use adjourn_protocol::{MemberReport, Totals};
use adjourn_server::Observation;
use adjourn_types::{TopicName, TopicPattern};

/// One rule of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) measure: Measure,
    /// The topics of a rule about topics.
    pub(super) topics: TopicPattern,
    /// A rule of `disk_free` is broken below this, the others above it.
    pub(super) limit: u64,
    /// The time for which something must be wrong before it is reported, in milliseconds.
    pub(super) for_ms: u64,
    /// The shortest time between two messages about the same problem, in milliseconds.
    pub(super) repeat_ms: u64,
    /// The names of the targets.
    pub(super) tell: Vec<String>,
}

/// The quantity that a rule checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// For how long the oldest ready job of a topic has been due, in milliseconds.
    Lateness,
    /// Ready jobs of a topic.
    Ready,
    /// Delayed jobs of a topic.
    Delayed,
    /// Buried jobs of a topic.
    Buried,
    /// Destinations of a topic's call-backs whose breaker is open.
    Destinations,
    /// Free space on the device of the data, in bytes.
    DiskFree,
    /// A member is not connected to the leader.
    MemberDown,
    /// The node knows no leader.
    NoLeader,
}

/// The node that sends the messages of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Leader,
    EachNode,
}

/// The facts that a node's rules check.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) observation: Observation,
    /// Topics with the number of their destinations with an open breaker; only the leader has them.
    pub(super) failing: Vec<(TopicName, usize)>,
    pub(super) disk_free_bytes: Option<u64>,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    /// A topic, or a node as `node 2`.
    pub(super) subject: String,
    /// For people, for example `47s late`.
    pub(super) finding: String,
}

impl Measure {
    pub(super) const ALL: [Self; 8] = [
        Self::Lateness,
        Self::Ready,
        Self::Delayed,
        Self::Buried,
        Self::Destinations,
        Self::DiskFree,
        Self::MemberDown,
        Self::NoLeader,
    ];

    /// Its name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lateness => "lateness",
            Self::Ready => "ready",
            Self::Delayed => "delayed",
            Self::Buried => "buried",
            Self::Destinations => "destinations_failing",
            Self::DiskFree => "disk_free",
            Self::MemberDown => "member_down",
            Self::NoLeader => "no_leader",
        }
    }

    pub(super) fn is_of_topics(self) -> bool {
        !matches!(self, Self::DiskFree | Self::MemberDown | Self::NoLeader)
    }

    pub(super) fn speaker(self) -> Speaker {
        match self {
            Self::DiskFree | Self::NoLeader => Speaker::EachNode,
            _ => Speaker::Leader,
        }
    }
}

impl Facts {
    pub(super) fn leads(&self) -> bool {
        let cluster = &self.observation.cluster;
        cluster.leader == Some(cluster.node)
    }

    /// True if this node leads now, and the previous leader is gone, which may not have sent its last messages.
    pub(super) fn has_taken_over_from(&self, before: Option<u64>) -> bool {
        let cluster = &self.observation.cluster;
        let is_there =
            |node: u64| cluster.members.iter().any(|member| member.node == node && member.is_connected);
        self.leads() && before != Some(cluster.node) && !before.is_some_and(is_there)
    }

    fn node(&self) -> String {
        format!("node {}", self.observation.cluster.node)
    }
}

impl Rule {
    /// When something is wrong, in the words of the file.
    pub(super) fn condition(&self) -> String {
        let Self { measure, topics, limit, for_ms, .. } = self;
        let limit = match measure {
            Measure::Lateness => format!(" of {topics} above {}", spelled(*limit)),
            Measure::DiskFree => format!(" below {limit}"),
            Measure::MemberDown | Measure::NoLeader => String::new(),
            _ => format!(" of {topics} above {limit}"),
        };
        let held = if *for_ms > 0 { format!(" for {}", spelled(*for_ms)) } else { String::new() };
        format!("{}{limit}{held}", measure.name())
    }

    /// The problems by this rule.
    pub(super) fn breaches(&self, facts: &Facts) -> Vec<Breach> {
        match self.measure {
            Measure::Lateness => self.topics(
                facts,
                |totals| totals.oldest_ready_ms,
                |late_ms| {
                    // The milliseconds of a long time are of no use.
                    let late_ms = if late_ms < 10_000 { late_ms } else { late_ms / 1000 * 1000 };
                    format!("the oldest ready job has been due for {}", spelled(late_ms))
                },
            ),
            Measure::Ready => self.topics(facts, |totals| totals.ready, |jobs| counted(jobs, "ready job")),
            Measure::Delayed => {
                self.topics(facts, |totals| totals.delayed, |jobs| counted(jobs, "delayed job"))
            }
            Measure::Buried => self.topics(facts, |totals| totals.buried, |jobs| counted(jobs, "buried job")),
            Measure::Destinations => self.destinations(facts),
            Measure::DiskFree => self.disk(facts).into_iter().collect(),
            Measure::MemberDown => members_down(facts),
            Measure::NoLeader if facts.observation.cluster.leader.is_none() => {
                vec![Breach { subject: facts.node(), finding: "knows no leader".to_owned() }]
            }
            Measure::NoLeader => Vec::new(),
        }
    }

    fn topics(
        &self,
        facts: &Facts,
        value: impl Fn(&Totals) -> u64,
        told: impl Fn(u64) -> String,
    ) -> Vec<Breach> {
        let topics = facts.observation.topics.iter();
        let of_rule = topics.filter(|topic| self.topics.has(topic.topic.as_str()));
        let values = of_rule.map(|topic| (topic.topic.to_string(), value(&topic.totals)));
        let breaches = values.filter(|(_, value)| *value > self.limit);
        breaches.map(|(subject, value)| Breach { subject, finding: told(value) }).collect()
    }

    fn destinations(&self, facts: &Facts) -> Vec<Breach> {
        let of_rule = facts.failing.iter().filter(|(topic, _)| self.topics.has(topic.as_str()));
        let breaches = of_rule.filter(|(_, failing)| *failing as u64 > self.limit);
        let told = breaches.map(|(topic, failing)| Breach {
            subject: topic.to_string(),
            finding: counted(*failing as u64, "failing destination"),
        });
        told.collect()
    }

    fn disk(&self, facts: &Facts) -> Option<Breach> {
        let free = facts.disk_free_bytes.filter(|free| *free < self.limit)?;
        Some(Breach { subject: facts.node(), finding: format!("free disk space: {} MiB", free >> 20) })
    }
}

/// A number of things, for people.
fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

fn members_down(facts: &Facts) -> Vec<Breach> {
    let cluster = &facts.observation.cluster;
    let is_down = |member: &&MemberReport| member.node != cluster.node && !member.is_connected;
    let down = cluster.members.iter().filter(is_down).map(|member| Breach {
        subject: format!("node {}", member.node),
        finding: format!("not connected to node {}", cluster.node),
    });
    down.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_in_the_words_of_the_file() {
        let condition = |measure, limit, for_ms| {
            let (name, topics) = (String::new(), "orders*".parse().expect("a pattern"));
            Rule { name, measure, topics, limit, for_ms, repeat_ms: 60_000, tell: Vec::new() }.condition()
        };
        assert_eq!(condition(Measure::Lateness, 90_000, 60_000), "lateness of orders* above 1m 30s for 1m");
        assert_eq!(condition(Measure::Buried, 0, 0), "buried of orders* above 0");
        assert_eq!(condition(Measure::DiskFree, 2_000_000, 0), "disk_free below 2000000");
        assert_eq!(condition(Measure::NoLeader, 0, 5_000), "no_leader for 5s");
    }

    #[test]
    fn one_job_is_no_plural() {
        let texts = [0, 1, 2].map(|count| counted(count, "buried job"));
        assert_eq!(texts, ["0 buried jobs", "1 buried job", "2 buried jobs"]);
    }
}
