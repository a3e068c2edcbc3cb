//! The cost of commands, for sharing out the time of a node. It is not state, and nothing here depends on a clock:
//! work is counted in jobs that change, each about a microsecond.

use super::Engine;
use super::command::Command;

impl Command<'_> {
    /// How many jobs a command would change now, by and large; what it would read is not counted. A reserve counts as
    /// one: how many jobs it will find is not known.
    pub fn changes(&self, engine: &Engine) -> u64 {
        let jobs = match self {
            Command::Push { jobs, .. } | Command::PushIdempotent { jobs, .. } => jobs.len(),
            Command::Finish { leases }
            | Command::Release { leases, .. }
            | Command::Touch { leases, .. }
            | Command::Bury { leases }
            | Command::ReleaseBecause { leases, .. }
            | Command::BuryBecause { leases, .. } => leases.len(),
            Command::SessionLapse { session } | Command::SessionClose { session } => {
                engine.sessions.lease_count(*session).min(engine.members.lapse_leases_max())
            }
            Command::Bulk { jobs, .. } | Command::BulkIn { jobs, .. } => jobs.len(),
            Command::Move { jobs, .. } => jobs.len(),
            Command::KickMany { topic, jobs_max } => {
                let topic = engine.known(*topic).and_then(|topic| engine.topics.find(topic));
                topic.map_or(0, |topic| topic.buried.len()).min(*jobs_max as usize)
            }
            Command::ReserveNamed { topics, jobs_max, .. } => {
                let found = topics.iter().filter_map(|topic| engine.topics.find(engine.known(*topic)?));
                found.map(|topic| topic.ready.len()).sum::<usize>().clamp(1, (*jobs_max as usize).max(1))
            }
            Command::ReserveWeighted { shares, jobs_max, .. } => {
                let found = shares.iter().filter_map(|share| engine.topics.find(engine.known(share.topic)?));
                found.map(|topic| topic.ready.len()).sum::<usize>().clamp(1, (*jobs_max as usize).max(1))
            }
            _ => 1,
        };
        jobs as u64
    }
}
