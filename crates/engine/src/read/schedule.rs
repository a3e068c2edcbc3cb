//! Schedules as readers see them.

use crate::Engine;
use crate::job::Job;
use crate::jobs::Found;
use crate::outcome::ScheduleView;
use crate::store::JobStore;
use adjourn_types::{JobId, Millis};

impl Engine {
    /// The id of the schedule with this name.
    pub fn schedule_id<S: JobStore>(
        &self,
        topic: &str,
        name: &[u8],
        store: &mut S,
    ) -> Result<Option<JobId>, S::Error> {
        let Some(topic) = self.topics.id(topic) else { return Ok(None) };
        Ok(match self.jobs.find_key(self.key_secret.hash_name(topic, name)) {
            None => None,
            Some(Found::Resident(slot)) => Some(self.jobs[slot].id),
            Some(Found::Spilled(slot)) => Some(store.spilled_job(self.jobs.spilled().place(slot))?.id()),
        })
    }

    /// A schedule as it is now.
    pub fn schedule<S: JobStore>(
        &self,
        schedule: JobId,
        store: &mut S,
    ) -> Result<Option<ScheduleView>, S::Error> {
        Ok(match self.jobs.find(schedule) {
            None => None,
            Some(Found::Resident(slot)) => schedule_view(&self.jobs[slot]),
            Some(Found::Spilled(slot)) => {
                let place = self.jobs.spilled().place(slot);
                schedule_view(&store.spilled_job(place)?.into_job(place))
            }
        })
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
        next: (!schedule.is_over).then_some(Millis(job.due_at)),
        is_to_fire: job.is_to_fire(),
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
