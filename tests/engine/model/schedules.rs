//! Schedules in the model.

#![expect(clippy::indexing_slicing, reason = "numbers are drawn below the lengths")]

use adjourn_engine::{
    Command, JobTemplate, NewFiring, NewJob, NewSchedule, Outcome, PushOutcome, Record, Reject, ScheduleView,
    SkippedInstants, Tick,
};
use adjourn_types::{
    Fired, Firing, IfExists, JobEnd, JobId, Millis, Overlap, PausedBy, SCHEDULE_HISTORY_MAX, ScheduleBefore,
    SkipReason, TopicId, When,
};

use super::naive::{Job, Model, State, Time, topic_id};
use super::steps::{Action, BODY, Fire, KEYS, Known, KnownSchedule, TOPICS};
use crate::kept_bodies::reference;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    pub(crate) id: u64,
    pub(crate) topic: usize,
    pub(crate) name: Vec<u8>,
    body: Vec<u8>,
    place: u32,
    priority: u32,
    ttr_ms: u32,
    overlap: Overlap,
    failures_max: u32,
    failures: u32,
    fired: u64,
    version: u32,
    paused: Option<PausedBy>,
    pause_note: String,
    pub(crate) next: u64,
    is_over: bool,
    has_come: bool,
    is_held: bool,
    history: Vec<Firing>,
}

impl Schedule {
    fn new(id: u64, topic: usize, name: &[u8]) -> Self {
        Self {
            id,
            topic,
            name: name.to_vec(),
            body: Vec::new(),
            place: 0,
            priority: 0,
            ttr_ms: 0,
            overlap: Overlap::Skip,
            failures_max: 0,
            failures: 0,
            fired: 0,
            version: 0,
            paused: None,
            pause_note: String::new(),
            next: 0,
            is_over: false,
            has_come: false,
            is_held: false,
            history: Vec::new(),
        }
    }

    pub(crate) fn reference(&self) -> adjourn_engine::BodyRef {
        reference(self.place, &Record { key: Some(&self.name), attributes: &[], body: &self.body })
    }

    /// What a command that sets it anew has to have seen.
    pub(crate) fn as_before(&self) -> ScheduleBefore {
        ScheduleBefore {
            schedule: JobId(self.id),
            version: self.version,
            next: (!self.is_over).then_some(Millis(self.next)),
        }
    }

    /// When its next instant comes by itself.
    pub(super) fn alarm(&self) -> Option<Time> {
        (!self.has_come && !self.is_over && self.paused.is_none()).then_some(Time::Wall(self.next))
    }

    /// True if its instant lies ahead again.
    fn is_too_far(&self, wall: u64) -> bool {
        self.has_come && self.next > wall
    }

    fn note(&mut self, firing: Firing) {
        let runs = |firing: &Firing| matches!(firing.what, Fired::Pushed { end: None, .. });
        if self.history.len() == SCHEDULE_HISTORY_MAX {
            let is_first_the_last = self.history.iter().rposition(runs) == Some(0);
            self.history.remove(usize::from(is_first_the_last));
        }
        self.history.push(firing);
    }

    fn set_next(&mut self, next: Option<Millis>) {
        (self.has_come, self.is_held, self.is_over) = (false, false, next.is_none());
        self.next = next.map_or(self.next, |next| next.0);
    }
}

impl Known {
    pub(super) fn about_schedule(&self, action: &Action) -> Command<'_> {
        match action {
            Action::SetSchedule { topic, name, overlap, failures_max, next, is_stale, body_bytes } => {
                let (topic, name) = (TOPICS[*topic], KEYS[*name]);
                Command::ScheduleSet {
                    topic,
                    schedule: NewSchedule {
                        name,
                        priority: 1,
                        ttr_ms: 1000,
                        overlap: *overlap,
                        failures_max: *failures_max,
                        next: next.map(|by_ms| Millis(self.wall.saturating_add_signed(by_ms))),
                        attributes: &[],
                        body: &BODY[..*body_bytes],
                    },
                    before: self.schedule_before(topic, name, *is_stale),
                }
            }
            Action::Fire(fire) => self.fire(fire),
            Action::PauseSchedule(nth, paused) => Command::SchedulePause {
                schedule: self.schedule(*nth).id,
                paused: *paused,
                note: if *paused { "why" } else { "" },
            },
            Action::DeleteSchedule(nth) => Command::ScheduleDelete { schedule: self.schedule(*nth).id },
            other => unreachable!("{other:?} is not about a schedule"),
        }
    }

    fn schedule(&self, nth: usize) -> KnownSchedule {
        self.schedules.get(nth).copied().unwrap_or_default()
    }

    /// What a command that sets a schedule has seen of it.
    fn schedule_before(&self, topic: &str, name: &[u8], is_stale: bool) -> Option<ScheduleBefore> {
        let before = self.schedules.iter().find(|known| known.topic == topic && known.name == name);
        let before = before.map(|known| known.before);
        let stale = before.unwrap_or(KnownSchedule::default().before);
        if is_stale { Some(ScheduleBefore { version: stale.version + 1, ..stale }) } else { before }
    }

    fn fire(&self, fire: &Fire) -> Command<'_> {
        let KnownSchedule { id: schedule, record_checksum, before, .. } = self.schedule(fire.nth);
        let next = before.next.unwrap_or_default();
        let instant = Millis(next.0 + u64::from(fire.is_wrong));
        let firings = fire.firings.iter().map(|(by_ms, key)| {
            let instant = Millis(instant.0.saturating_add_signed(*by_ms));
            NewFiring { instant, due: Millis(instant.0 + 5), key: key.map(|key| KEYS[key]) }
        });
        let skipped = fire.skipped.map(|(after_ms, instants)| SkippedInstants {
            first: Millis(instant.0 + after_ms),
            last: Millis(instant.0 + after_ms + instants),
            instants,
            reason: SkipReason::Missed,
        });
        let next = fire.next.map(|after_ms| Millis(self.wall + after_ms));
        Command::ScheduleFire {
            schedule,
            record_checksum: record_checksum ^ u32::from(fire.is_stale),
            tick: (!fire.by_hand).then_some(Tick { instant, skipped, next, left: fire.left }),
            firings: firings.collect(),
            template: JobTemplate { attributes: &[], body: &BODY[..2] },
        }
    }
}

impl Model {
    pub(super) fn about_schedule(&mut self, command: &Command<'_>) -> Result<Outcome, Reject> {
        match command {
            Command::ScheduleSet { topic, schedule, before } => self.set_schedule(topic, schedule, *before),
            Command::ScheduleFire { schedule, record_checksum, tick, firings, template } => {
                self.fire_schedule(schedule.0, *record_checksum, tick.as_ref(), firings, template)
            }
            Command::SchedulePause { schedule, paused, note } => {
                let schedule_id = schedule.0;
                let schedule = self.schedule_mut(schedule_id).ok_or(Reject::NotFound)?;
                (schedule.paused, schedule.failures) = (paused.then_some(PausedBy::User), 0);
                if !*paused || !note.is_empty() {
                    (*note).clone_into(&mut schedule.pause_note);
                }
                schedule.is_held = false;
                if !paused {
                    self.hold_if_blocked(schedule_id);
                }
                Ok(Outcome::Done)
            }
            Command::ScheduleDelete { schedule } => {
                let gone = self.schedules.iter().position(|known| known.id == schedule.0);
                self.schedules.remove(gone.ok_or(Reject::NotFound)?);
                Ok(Outcome::Done)
            }
            other => unreachable!("{other:?} is not about a schedule"),
        }
    }

    fn set_schedule(
        &mut self,
        topic: &str,
        new: &NewSchedule<'_>,
        before: Option<ScheduleBefore>,
    ) -> Result<Outcome, Reject> {
        let known = self.topic(topic, false).ok().and_then(|topic| {
            self.schedules.iter().position(|known| known.topic == topic && known.name == new.name)
        });
        let present = known.and_then(|nth| self.schedules.get(nth)).map(Schedule::as_before);
        if before != present {
            return Err(Reject::Changed);
        }
        self.kept += 1;
        let place = self.kept;
        let nth = known.unwrap_or(self.schedules.len());
        if known.is_none() {
            let topic = self.topic(topic, true)?;
            self.last_job += 1;
            self.schedules.push(Schedule::new(self.last_job, topic, new.name));
        }
        let schedule = self.schedules.get_mut(nth).expect("it was found or made");
        (schedule.body, schedule.place) = (new.body.to_vec(), place);
        (schedule.priority, schedule.ttr_ms) = (new.priority, new.ttr_ms);
        (schedule.overlap, schedule.failures_max, schedule.failures) = (new.overlap, new.failures_max, 0);
        schedule.version += 1;
        schedule.paused = schedule.paused.filter(|by| *by != PausedBy::Failures);
        schedule.set_next(new.next);
        Ok(Outcome::ScheduleSet { schedule: JobId(schedule.id), version: schedule.version, next: new.next })
    }

    fn fire_schedule(
        &mut self,
        id: u64,
        record_checksum: u32,
        tick: Option<&Tick>,
        firings: &[NewFiring<'_>],
        template: &JobTemplate<'_>,
    ) -> Result<Outcome, Reject> {
        let is_to_fire = self.is_to_fire(id);
        let (at, stamp) = (Millis(self.wall(self.stamp)), self.stamp);
        let schedule = self.schedules.iter().find(|known| known.id == id).ok_or(Reject::NotFound)?;
        let has_come = self.has_come(Time::Wall(schedule.next), stamp);
        let goes_on = |tick: &Tick| tick.next.is_none_or(|next| next > tick.instant);
        let is_next =
            |tick: &Tick| is_to_fire && has_come && goes_on(tick) && schedule.next == tick.instant.0;
        if schedule.reference().checksum != record_checksum || tick.is_some_and(|tick| !is_next(tick)) {
            return Err(Reject::Changed);
        }
        let skipped = tick.and_then(|tick| tick.skipped).map(|skipped| {
            let (last, instants, reason) = (skipped.last, skipped.instants, skipped.reason);
            Firing { instant: skipped.first, at, what: Fired::Skipped { last, instants, reason } }
        });
        let (earlier, later) = match (skipped, firings.first()) {
            (Some(skipped), Some(firing)) if firing.instant < skipped.instant => (None, Some(skipped)),
            (skipped, _) => (skipped, None),
        };
        if let (Some(skipped), Some(schedule)) = (earlier, self.schedule_mut(id)) {
            schedule.note(skipped);
        }
        let mut outcomes = Vec::new();
        for firing in firings {
            let instant = firing.instant;
            let fired = self.fire_one(id, firing, template, tick.is_some());
            let what = match fired {
                Ok(job) => Fired::Pushed { job, end: None },
                Err(reason) => Fired::Skipped { last: instant, instants: 1, reason },
            };
            outcomes.push(fired);
            let schedule = self.schedule_mut(id).expect("it is not deleted meanwhile");
            schedule.note(Firing { instant, at, what });
        }
        if let (Some(skipped), Some(schedule)) = (later, self.schedule_mut(id)) {
            schedule.note(skipped);
        }
        if let (Some(tick), Some(schedule)) = (tick, self.schedule_mut(id)) {
            let fired = outcomes.iter().flatten().count() as u64;
            schedule.fired += fired;
            schedule.set_next(if tick.left.is_some_and(|left| fired >= left) { None } else { tick.next });
        }
        Ok(Outcome::Fired(outcomes))
    }

    fn fire_one(
        &mut self,
        id: u64,
        firing: &NewFiring<'_>,
        template: &JobTemplate<'_>,
        by_tick: bool,
    ) -> Result<JobId, SkipReason> {
        let schedule = self.schedules.iter().find(|known| known.id == id).expect("it lives").clone();
        let new = NewJob {
            due: When::At(firing.due),
            priority: schedule.priority,
            ttr_ms: schedule.ttr_ms,
            if_exists: IfExists::Keep,
            key: firing.key,
            attributes: template.attributes,
            body: template.body,
        };
        let mut replaced = Vec::new();
        if by_tick && self.running(id) > 0 {
            match schedule.overlap {
                Overlap::Allow => {}
                Overlap::Skip | Overlap::QueueOne => return Err(SkipReason::Overlap),
                Overlap::Replace => replaced = self.running_jobs(&schedule),
            }
        }
        match self.push_replacing(schedule.topic, &new, &replaced) {
            PushOutcome::Pushed(job) => {
                self.find_mut(job.0).schedule = Some(id);
                self.hold_if_blocked(id);
                Ok(job)
            }
            PushOutcome::Kept(_) => Err(SkipReason::KeyTaken),
            _ => Err(SkipReason::Refused),
        }
    }

    /// The instants of some schedules have come.
    pub(super) fn let_instants_come(&mut self, elapsed_ms: u64) {
        for _ in 0..elapsed_ms.saturating_mul(32).clamp(128, 4096) {
            let Some(id) = self.first_schedule(self.stamp) else { break };
            self.schedule_mut(id).expect("it lives").has_come = true;
            self.hold_if_blocked(id);
        }
    }

    fn hold_if_blocked(&mut self, id: u64) {
        let runs = self.running(id) > 0;
        let schedule = self.schedule_mut(id).expect("it lives");
        schedule.is_held |= runs && schedule.has_come && schedule.overlap == Overlap::QueueOne;
    }

    fn running_jobs(&self, schedule: &Schedule) -> Vec<Job> {
        let pushed = schedule.history.iter().filter_map(|firing| match firing.what {
            Fired::Pushed { job, end: None } => Some(job),
            _ => None,
        });
        let running = pushed.map(|job| self.find(job.0).clone());
        running.filter(|job| job.topic == schedule.topic).collect()
    }

    /// The first schedule whose instant has come.
    fn first_schedule(&self, stamp: u64) -> Option<u64> {
        let alarms = self.schedules.iter().filter_map(|schedule| Some((schedule.alarm()?, schedule.id)));
        let come = alarms.filter(|(alarm, _)| self.has_come(*alarm, stamp));
        come.map(|(alarm, id)| (self.as_stamp(alarm), id)).min().map(|(_, id)| id)
    }

    /// True if something happens by itself at a stamp.
    pub(crate) fn is_overdue(&self, stamp: u64) -> bool {
        let wall = self.wall(stamp);
        !self.due(stamp).is_empty()
            || !self.too_far(stamp).is_empty()
            || self.first_schedule(stamp).is_some()
            || self.schedules.iter().any(|schedule| schedule.is_too_far(wall))
    }

    /// Instants that lie ahead again, because the wall clock was set back.
    pub(super) fn turn_schedules_back(&mut self) {
        let wall = self.wall(self.stamp);
        for schedule in self.schedules.iter_mut().filter(|schedule| schedule.is_too_far(wall)) {
            (schedule.has_come, schedule.is_held) = (false, false);
        }
    }

    /// A job has ended: its schedule notes how.
    pub(super) fn leave_schedule(&mut self, id: u64, how: JobEnd) {
        let job = self.find(id);
        let Some(of) = job.schedule else { return };
        self.find_mut(id).schedule = None;
        let Some(schedule) = self.schedule_mut(of) else { return };
        for firing in &mut schedule.history {
            if let Fired::Pushed { job, end } = &mut firing.what
                && job.0 == id
            {
                *end = Some(how);
            }
        }
        match how {
            JobEnd::Finished => schedule.failures = 0,
            JobEnd::Failed => {
                schedule.failures += 1;
                if schedule.failures_max > 0 && schedule.failures >= schedule.failures_max {
                    schedule.paused = schedule.paused.or(Some(PausedBy::Failures));
                }
            }
            JobEnd::Deleted | JobEnd::Expired => {}
        }
    }

    fn running(&self, id: u64) -> usize {
        self.jobs.iter().filter(|job| job.schedule == Some(id)).count()
    }

    fn is_to_fire(&self, id: u64) -> bool {
        self.schedules.iter().any(|schedule| {
            let is_blocked = schedule.overlap == Overlap::QueueOne && self.running(id) > 0;
            schedule.id == id && schedule.has_come && schedule.paused.is_none() && !is_blocked
        })
    }

    pub(super) fn schedule_mut(&mut self, id: u64) -> Option<&mut Schedule> {
        self.schedules.iter_mut().find(|schedule| schedule.id == id)
    }

    /// The schedules that the leader is to fire.
    pub(crate) fn to_fire(&self) -> Vec<JobId> {
        let mut to_fire: Vec<_> =
            self.schedules.iter().filter(|schedule| self.is_to_fire(schedule.id)).collect();
        to_fire.sort_by_key(|schedule| (schedule.next, schedule.id));
        to_fire.iter().map(|schedule| JobId(schedule.id)).collect()
    }

    pub(crate) fn schedule_view(&self, schedule: &Schedule) -> ScheduleView {
        ScheduleView {
            id: JobId(schedule.id),
            topic: topic_id(schedule.topic),
            priority: schedule.priority,
            ttr_ms: schedule.ttr_ms,
            next: (!schedule.is_over).then_some(Millis(schedule.next)),
            is_to_fire: self.is_to_fire(schedule.id),
            is_held: schedule.is_held,
            paused: schedule.paused,
            pause_note: schedule.pause_note.clone(),
            overlap: schedule.overlap,
            failures_max: schedule.failures_max,
            failures: schedule.failures,
            fired: schedule.fired,
            running: u32::try_from(self.running(schedule.id)).expect("few"),
            version: schedule.version,
            history: schedule.history.clone(),
            body: schedule.reference(),
        }
    }

    /// The number of a topic's schedules.
    pub(crate) fn schedules_of(&self, topic: TopicId) -> u64 {
        self.schedules.iter().filter(|schedule| topic_id(schedule.topic) == topic).count() as u64
    }

    /// True if a job or a schedule is in the topic.
    pub(super) fn is_used(&self, topic: usize) -> bool {
        self.jobs.iter().any(|job| job.topic == topic) || self.schedules_of(topic_id(topic)) > 0
    }

    /// True if a job of a schedule is in a state in which it can be.
    pub(crate) fn are_links_sound(&self) -> bool {
        let lives = |state: &State| !matches!(state, State::Buried(_) | State::Finished { .. });
        self.jobs.iter().all(|job| job.schedule.is_none() || lives(&job.state))
    }
}
