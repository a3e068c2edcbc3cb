//! Schedules: set, fired, paused, deleted; and the ends of their jobs.
//!
//! The leader knows time zones and computes instants. A tick names the instant that it fires, and is refused unless that is
//! the schedule's next one. So each instant is fired once, whoever leads, and a tick that was computed twice changes nothing
//! the second time.

use super::Applier;
use crate::Engine;
use crate::clock::Timeline;
use crate::command::{JobTemplate, NewFiring, NewJob, NewSchedule, SkippedInstants, Tick};
use crate::job::schedule::{OfSchedule, Schedule};
use crate::job::{Job, JobExtras};
use crate::jobs::Slot;
use crate::outcome::{Outcome, PushOutcome, Reject};
use crate::store::{JobStore, Record};
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{
    BuryReason, Fired, Firing, IfExists, JobEnd, JobId, JobState, Overlap, PausedBy, ScheduleBefore,
    SkipReason, When, first_bytes,
};

impl<S: JobStore> Applier<'_, S> {
    /// Creates a schedule, or gives the one of this name another content; its history stays. If that is not what the
    /// proposer saw (`before`), nothing is changed.
    pub(super) fn set_schedule(
        &mut self,
        topic: &str,
        new: &NewSchedule<'_>,
        before: Option<ScheduleBefore>,
    ) -> Result<Outcome, Reject> {
        let known = self.schedule_named(topic, new.name);
        let present = known.and_then(|slot| self.engine.jobs[slot].as_before());
        if before != present {
            return Err(Reject::Changed);
        }
        let version = present.map_or(0, |present| present.version).saturating_add(1);
        let slot = match known {
            Some(slot) => slot,
            None => self.new_schedule(topic, new)?,
        };
        let record = Record { key: Some(new.name), attributes: new.attributes, body: new.body };
        let body = if known.is_some() { self.renew(slot, record) } else { self.engine.jobs[slot].body };
        self.engine.change(slot, |job| {
            (job.body, job.priority, job.ttr_ms) = (body, new.priority, new.ttr_ms);
            job.change_schedule(|schedule| {
                (schedule.overlap, schedule.failures_max) = (new.overlap, new.failures_max);
                (schedule.version, schedule.failures) = (version, 0);
                schedule.paused.take_if(|by| *by == PausedBy::Failures);
            });
            job.set_next_instant(new.next);
        });
        let job = &self.engine.jobs[slot];
        Ok(Outcome::ScheduleSet { schedule: job.id, version, next: new.next })
    }

    fn schedule_named(&self, topic: &str, name: &[u8]) -> Option<Slot> {
        let topic = self.engine.topics.id(topic)?;
        self.engine.jobs.find_key(self.engine.key_secret.hash_name(topic, name))?.resident()
    }

    /// Adds an empty schedule.
    fn new_schedule(&mut self, topic: &str, new: &NewSchedule<'_>) -> Result<Slot, Reject> {
        let topic = self.engine.intern(topic)?;
        let id = self.engine.numbers.next_job();
        let body =
            self.store.keep(Record { key: Some(new.name), attributes: new.attributes, body: new.body });
        let key_hash = self.engine.key_secret.hash_name(topic, new.name);
        let mut job = Job {
            id,
            due_at: 0,
            since: 0,
            topic,
            priority: new.priority,
            ttr_ms: new.ttr_ms,
            attempts: 0,
            changes: 0,
            body,
            due_timeline: Timeline::Wall,
            state: JobState::Scheduled,
            buried: BuryReason::Consumer,
            defaults: 0,
            pushed_at: self.engine.clock.stamp.0,
            extras: JobExtras::new(Some(key_hash), None),
        };
        job.set_of_schedule(Some(OfSchedule::Schedule(Schedule::default())));
        let slot = self.engine.jobs.insert(job);
        self.engine.enter(slot);
        Ok(slot)
    }

    /// Pushes the jobs of a schedule: at its next instant, and those that it missed; or by hand, without a tick. If the
    /// schedule was set since its record was read, or the tick is not for its next instant, nothing is changed.
    pub(super) fn fire_schedule(
        &mut self,
        schedule: JobId,
        record_checksum: u32,
        tick: Option<&Tick>,
        firings: &[NewFiring<'_>],
        template: JobTemplate<'_>,
    ) -> Result<Outcome, Reject> {
        let slot = self.schedule(schedule)?;
        let job = &self.engine.jobs[slot];
        let is_next = |tick: &Tick| {
            let goes_on = tick.next.is_none_or(|next| next > tick.instant);
            let has_come = job.is_to_fire() && self.engine.clock.reached(job.due());
            has_come && goes_on && job.due_at == tick.instant.0
        };
        if job.body.checksum != record_checksum || !tick.is_none_or(is_next) {
            return Err(Reject::Changed);
        }
        let at = self.engine.clock.wall();
        let skipped =
            tick.and_then(|tick| tick.skipped).map(|SkippedInstants { first, last, instants, reason }| {
                Firing { instant: first, at, what: Fired::Skipped { last, instants, reason } }
            });
        let is_later =
            |skipped: &Firing| firings.first().is_some_and(|firing| firing.instant < skipped.instant);
        if let Some(skipped) = skipped.filter(|skipped| !is_later(skipped)) {
            self.engine.note_firing(slot, skipped);
        }
        let mut outcomes = Vec::with_capacity(firings.len());
        for firing in firings {
            let fired = self.fire_one(slot, firing, template, tick.is_some());
            let what = match fired {
                Ok(job) => Fired::Pushed { job, end: None },
                Err(reason) => Fired::Skipped { last: firing.instant, instants: 1, reason },
            };
            self.engine.note_firing(slot, Firing { instant: firing.instant, at, what });
            outcomes.push(fired);
        }
        if let Some(skipped) = skipped.filter(is_later) {
            self.engine.note_firing(slot, skipped);
        }
        if let Some(tick) = tick {
            let fired = outcomes.iter().flatten().count() as u64;
            let next = tick.next.filter(|_| tick.left.is_none_or(|left| fired < left));
            self.engine.change(slot, |job| {
                job.change_schedule(|schedule| schedule.fired = schedule.fired.saturating_add(fired));
                job.set_next_instant(next);
            });
        }
        Ok(Outcome::Fired(outcomes))
    }

    /// Pushes a job of a schedule. By hand, it does so whether an earlier one has ended or not.
    fn fire_one(
        &mut self,
        slot: Slot,
        firing: &NewFiring<'_>,
        template: JobTemplate<'_>,
        by_tick: bool,
    ) -> Result<JobId, SkipReason> {
        let job = &self.engine.jobs[slot];
        let (id, topic, priority, ttr_ms) = (job.id, job.topic, job.priority, job.ttr_ms);
        let replaced = if by_tick { self.overlapping(job)? } else { Vec::new() };
        let new = NewJob {
            due: When::At(firing.due),
            priority,
            ttr_ms,
            if_exists: IfExists::Keep,
            key: firing.key,
            attributes: template.attributes,
            body: template.body,
        };
        match self.push_replacing(topic, &new, &replaced) {
            PushOutcome::Pushed(job) => {
                if let Some(pushed) = self.engine.jobs.resident(job) {
                    self.engine
                        .change_unnoted(pushed, |job| job.set_of_schedule(Some(OfSchedule::JobOf(id))));
                    self.engine.change(slot, Job::note_pushed);
                }
                Ok(job)
            }
            PushOutcome::Kept(_) => Err(SkipReason::KeyTaken),
            PushOutcome::Replaced(_) | PushOutcome::Postponed(_) | PushOutcome::Refused(..) => {
                Err(SkipReason::Refused)
            }
        }
    }

    /// The jobs that make way for another one of their schedule: those that have not ended and that its history knows.
    fn overlapping(&self, job: &Job) -> Result<Vec<Slot>, SkipReason> {
        let Some(schedule) = job.schedule().filter(|schedule| schedule.running > 0) else {
            return Ok(Vec::new());
        };
        match schedule.overlap {
            Overlap::Allow => Ok(Vec::new()),
            Overlap::Skip | Overlap::QueueOne => Err(SkipReason::Overlap),
            Overlap::Replace => {
                let running = schedule.running_jobs().filter_map(|job| self.engine.jobs.resident(job));
                // One that was moved to another topic is no business of this one.
                Ok(running.filter(|slot| self.engine.jobs[*slot].topic == job.topic).collect())
            }
        }
    }

    /// Pauses or resumes a schedule. A pause ends the waiting of an instant that was held: after a resume the leader decides
    /// about all instants that passed meanwhile.
    pub(super) fn pause_schedule(&mut self, schedule: JobId, paused: bool, note: &str) -> Result<(), Reject> {
        let slot = self.schedule(schedule)?;
        self.engine.change(slot, |job| {
            job.change_schedule(|schedule| {
                (schedule.paused, schedule.failures) = (paused.then_some(PausedBy::User), 0);
                // To pause it again keeps the note, unless there is a new one.
                if !paused || !note.is_empty() {
                    schedule.pause_note = first_bytes(note, REASON_BYTES_MAX).into();
                }
            });
            job.release_held(paused);
        });
        Ok(())
    }

    /// Forgets a schedule. Its jobs stay.
    pub(super) fn delete_schedule(&mut self, schedule: JobId) -> Result<(), Reject> {
        let slot = self.schedule(schedule)?;
        self.end(slot, JobEnd::Deleted);
        Ok(())
    }

    /// The slot of a schedule.
    fn schedule(&self, schedule: JobId) -> Result<Slot, Reject> {
        let slot = self.engine.jobs.resident(schedule).ok_or(Reject::NotFound)?;
        if self.engine.jobs[slot].state == JobState::Scheduled { Ok(slot) } else { Err(Reject::NotFound) }
    }
}

impl Engine {
    fn note_firing(&mut self, slot: Slot, firing: Firing) {
        self.change(slot, |job| job.change_schedule(|schedule| schedule.note(firing)));
    }
}
