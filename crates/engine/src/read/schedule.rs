//! Schedules as readers see them.

use crate::Engine;
use crate::job::Job;
use crate::outcome::ScheduleView;
use adjourn_types::JobId;

impl Engine {
    /// The id of the schedule with this name.
    pub fn schedule_id(&self, topic: &str, name: &[u8]) -> Option<JobId> {
        let topic = self.topics.id(topic)?;
        let slot = self.jobs.find_key(self.key_secret.hash_name(topic, name))?.resident()?;
        Some(self.jobs[slot].id)
    }

    /// A schedule as it is now.
    pub fn schedule(&self, schedule: JobId) -> Option<ScheduleView> {
        let slot = self.jobs.resident(schedule)?;
        schedule_view(&self.jobs[slot])
    }

    /// The schedules that the leader is to fire, the earliest instant first.
    pub fn schedules_to_fire(&self) -> impl Iterator<Item = JobId> {
        self.timers.to_fire().map(|(_, schedule, _)| *schedule)
    }
}

fn schedule_view(job: &Job) -> Option<ScheduleView> {
    let schedule = job.schedule()?;
    Some(ScheduleView {
        id: job.id,
        topic: job.topic,
        priority: job.priority,
        ttr_ms: job.ttr_ms,
        next: job.next_instant(),
        is_to_fire: job.is_to_fire(),
        is_held: job.is_held(),
        paused: schedule.paused,
        overlap: schedule.overlap,
        failures_max: schedule.failures_max,
        failures: schedule.failures,
        fired: schedule.fired,
        running: schedule.running,
        version: schedule.version,
        history: schedule.history.iter().copied().collect(),
        body: job.body,
    })
}
