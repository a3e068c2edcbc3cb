//! Schedules as readers see them.

use crate::Engine;
use crate::job::Job;
use crate::outcome::ScheduleView;
use std::ops::Bound;

use adjourn_types::{JobId, Millis, TopicId};

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

    /// The schedules of a topic with ids after this one, in the order in which they were made; then those of later topics.
    pub fn schedules_after(&self, topic: TopicId, after: JobId) -> impl Iterator<Item = ScheduleView> {
        let schedules = self.topics.with_schedules(topic).flat_map(move |(id, found)| {
            let first = if id == topic { Bound::Excluded(after) } else { Bound::Unbounded };
            found.schedules.range((first, Bound::Unbounded))
        });
        schedules.filter_map(|(_, slot)| schedule_view(&self.jobs[*slot]))
    }

    /// The first instant for which a schedule waits, of all topics. It looks at each schedule.
    pub fn next_instant(&self) -> Option<Millis> {
        let all = self.topics.views().filter_map(|view| self.topics.find(view.id));
        let slots = all.flat_map(|topic| topic.schedules.values());
        let waiting = slots.map(|slot| &self.jobs[*slot]).filter(|job| job.waits_for_instant());
        waiting.filter_map(Job::next_instant).min()
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
        pause_note: schedule.pause_note.to_string(),
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
