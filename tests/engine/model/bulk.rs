//! What changes to many jobs do to the model, and the deleting of a topic.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use adjourn_engine::{BulkChange, Command, Conditions, JobSelect, KeyedJob, Outcome, Reject};
use adjourn_types::{JobId, When};

use super::naive::{Job, Model, State, Time, topic_id};

impl Model {
    pub(super) fn change_jobs(&mut self, command: &Command<'_>) -> Result<Outcome, Reject> {
        match command {
            Command::Bulk { topic, change, jobs, conditions } => {
                Ok(self.bulk(*change, *topic, jobs, conditions))
            }
            Command::Move { from, to, jobs, conditions } => self.move_many(*from, to, jobs, conditions),
            Command::KickMany { topic, jobs_max } => self.kick_many(topic, *jobs_max),
            Command::TopicDelete { topic } => self.delete_topic(topic),
            other => unreachable!("{other:?} changes neither many jobs nor a topic"),
        }
    }

    fn bulk(
        &mut self,
        change: BulkChange,
        topic: Option<&str>,
        jobs: &[JobId],
        conditions: &Conditions<'_>,
    ) -> Outcome {
        let mut changed = 0;
        for id in jobs {
            let elsewhere = |job: &Job| topic.is_some_and(|topic| self.topic_of(topic) != Some(job.topic));
            let Some(job) = self.jobs.iter().find(|job| job.id == id.0) else { continue };
            let is_done = match change {
                BulkChange::Reschedule { due } => job.due == Time::Wall(due.0),
                BulkChange::RunNow => matches!(job.state, State::Ready { .. }),
                _ => false,
            };
            if is_done || elsewhere(job) || !self.meets(job, conditions) {
                continue;
            }
            let job = JobSelect::Id(*id);
            let outcome = match change {
                BulkChange::Delete => self.delete(&job),
                BulkChange::Kick => self.kick(&job),
                BulkChange::RunNow => self.run_now(&job),
                BulkChange::Reschedule { due } => self.reschedule(&job, When::At(due)),
            };
            changed += u32::from(outcome.is_ok());
        }
        Outcome::ChangedMany { jobs: changed }
    }

    fn move_many(
        &mut self,
        from: Option<&str>,
        to: &str,
        jobs: &[KeyedJob<'_>],
        conditions: &Conditions<'_>,
    ) -> Result<Outcome, Reject> {
        let (mut moved, mut in_the_way) = (0, 0);
        for KeyedJob { job: id, key } in jobs {
            let Some(job) = self.jobs.iter().find(|job| job.id == id.0) else { continue };
            let is_there = from.is_none_or(|from| self.topic_of(from) == Some(job.topic));
            let target = self.topic_of(to);
            let may_go = is_there
                && target != Some(job.topic)
                && !matches!(job.state, State::Reserved { .. })
                && self.meets(job, conditions)
                && (job.found_by.is_none() || job.found_by.as_deref() == *key);
            if !may_go {
                continue;
            }
            let is_taken = |other: &Job| {
                Some(other.topic) == target && key.is_some() && other.found_by.as_deref() == *key
            };
            if self.jobs.iter().any(is_taken) {
                in_the_way += 1;
                continue;
            }
            let target = self.topic(to, true)?;
            let job = self.find_mut(id.0);
            job.found_by = key.map(<[u8]>::to_vec);
            job.holds_place = false;
            let was = std::mem::replace(&mut job.topic, target);
            if !matches!(self.find(id.0).state, State::Finished { .. }) {
                self.topics[was].deleted += 1;
                self.topics[target].pushed += 1;
            }
            moved += 1;
        }
        Ok(Outcome::Moved { jobs: moved, in_the_way })
    }

    pub(super) fn delete_topic(&mut self, topic: &str) -> Result<Outcome, Reject> {
        let topic = self.topic(topic, false)?;
        let jobs = self.jobs.iter().filter(|job| job.topic == topic).count() as u64;
        let schedules = self.schedules_of(topic_id(topic));
        if jobs + schedules > 0 {
            return Ok(Outcome::TopicHasJobs { jobs, schedules });
        }
        self.topics[topic].gone = true;
        let name = self.topics[topic].name.parse().expect("a name");
        self.deleted_topics.push((topic_id(topic), name));
        Ok(Outcome::Done)
    }

    fn topic_of(&self, topic: &str) -> Option<usize> {
        self.topics.iter().position(|known| known.name == topic && !known.gone)
    }

    fn meets(&self, job: &Job, conditions: &Conditions<'_>) -> bool {
        let view = self.view(job.id);
        // A delayed job that expires before it is due counts as due then.
        let listed = match (&job.state, job.due, job.expires) {
            (State::Delayed, Time::Stamp(due), Some(Time::Stamp(at))) if at < due => Time::Stamp(at),
            (State::Delayed, Time::Wall(due), Some(Time::Wall(at))) if at < due => Time::Wall(at),
            (_, due, _) => due,
        };
        let at = self.as_wall(listed);
        let reason = job.past.reason.as_deref();
        conditions.states & (1 << view.state as u8) != 0
            && conditions.due_from.is_none_or(|from| at >= from)
            && conditions.due_before.is_none_or(|before| at < before)
            && conditions.attempts_min.is_none_or(|min| view.attempts >= min)
            && conditions.attempts_max.is_none_or(|max| view.attempts <= max)
            && conditions.buried.is_none_or(|why| view.buried == Some(why))
            && conditions.reason.is_none_or(|text| reason.is_some_and(|reason| reason.contains(text)))
    }
}
