//! The cost of commands, for dividing a node's time among clients. It is not state and reads no clock: work is counted in
//! jobs that change, at about a microsecond each.

use super::Engine;
use super::command::Command;
use super::topics::topic::Topic;
use adjourn_types::limits::LAPSE_LEASES_MAX;

impl Command<'_> {
    /// An estimate of how many jobs a command would change now. Reading is not counted.
    pub fn changes(&self, engine: &Engine) -> u64 {
        let find = |topic| engine.topics.find(engine.topics.id(topic)?);
        let jobs = match self {
            Command::Push { jobs, .. } | Command::PushIdempotent { jobs, .. } => jobs.len(),
            Command::Finish { leases }
            | Command::Release { leases, .. }
            | Command::Touch { leases, .. }
            | Command::Bury { leases, .. } => leases.len(),
            Command::SessionLapse { session } | Command::SessionClose { session } => {
                engine.sessions.lease_count(*session).min(LAPSE_LEASES_MAX)
            }
            Command::Bulk { jobs, .. } => jobs.len(),
            Command::ScheduleFire { firings, .. } => firings.len() + 1,
            Command::Move { jobs, .. } => jobs.len(),
            Command::KickMany { topic, jobs_max } => {
                find(topic).map_or(0, |topic| topic.buried.len()).min(*jobs_max as usize)
            }
            Command::Reserve { topics, jobs_max, .. } => {
                let ready = topics.names().filter_map(find).map(Topic::ready).sum::<usize>();
                ready.clamp(1, (*jobs_max as usize).max(1))
            }
            // Each group is looked at, if what groups mean changes.
            Command::TopicPolicy { topic, .. } => 1 + find(topic).map_or(0, Topic::group_count),
            _ => 1,
        };
        jobs as u64
    }
}
