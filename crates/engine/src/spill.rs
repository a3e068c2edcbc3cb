//! The location of a job: resident (in memory) or spilled (in a store). It is never part of the state.
//!
//! Only resident jobs are changed. So spilled jobs that a command names are loaded before it is carried out
//! ([`Engine::load_named`]), and those that are due are loaded before due jobs are moved ([`Engine::first_due`]). The rest
//! of the engine sees only resident jobs.

use super::Engine;
use super::clock::{Clock, Moment, Timeline};
use super::command::{Command, JobSelect, NewJob};
use super::jobs::{Found, Slot};
use super::outcome::JobView;
use super::place::{BodyRef, Place};
use super::store::{JobStore, SpilledTimer};
use crate::jobs::spilled::SpilledSlot;
use adjourn_types::{JobId, Millis, TopicId};

/// A delayed job may be spilled if it waits for longer than this, in milliseconds.
pub const HORIZON_MS: u64 = 3_600_000;

/// A job whose row was written stays resident if it waits for less than this by then, in milliseconds: the write takes
/// time.
const HORIZON_LEAST_MS: u64 = HORIZON_MS / 2;

/// Limit on the bodies that one call reads to load spilled jobs ahead of their time, in bytes.
const LOAD_BYTES_MAX: u64 = 2 << 20;

/// When a timer fires, as a stamp, and the id of its job.
type FiringOrder = (i128, u64);

/// The result of [`Engine::relocate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocated {
    /// The job is gone, or its record is elsewhere: the written row is not needed.
    Gone,
    /// The job is resident, and its record is at the new place.
    Resident,
    /// The job is spilled, and all of it is at the new place.
    Spilled,
}

impl Engine {
    /// Moves a job's record from `from` to `to`, where the caller has written it too. With `spilled`, the caller has
    /// written the whole job, as it was when it had this hash: if it still has this hash, it becomes spilled.
    pub fn relocate(&mut self, job: JobId, from: Place, to: Place, spilled: Option<u128>) -> Relocated {
        match self.jobs.find(job) {
            Some(Found::Spilled(slot)) if self.jobs.spilled().place(slot) == from => {
                self.jobs.spilled_mut().set_place(slot, to);
                Relocated::Spilled
            }
            Some(Found::Resident(slot))
                if self.jobs[slot].body.place == from && self.jobs.has_captured_record(job) =>
            {
                if let Some(hash) = spilled {
                    if self.may_leave(slot, hash) {
                        self.spill(slot, to);
                        return Relocated::Spilled;
                    }
                    self.jobs.recapture(slot);
                }
                self.jobs.set_place(slot, to);
                Relocated::Resident
            }
            _ => Relocated::Gone,
        }
    }

    /// True if memory of removed or spilled jobs can be freed.
    pub fn can_shrink(&self) -> bool {
        self.jobs.can_shrink()
    }

    /// Frees some memory, if possible.
    pub fn shrink(&mut self) {
        if self.can_shrink() {
            let slots = self.jobs.shrink();
            self.timers.shrink(slots);
        }
    }

    /// Loads spilled jobs that are due by `stamp`: at most `budget` of them, and none after the one that brings the bodies
    /// read to 2 MiB. Returns true if no such job is left.
    pub fn load_ahead<S: JobStore>(
        &mut self,
        store: &mut S,
        stamp: Millis,
        budget: usize,
    ) -> Result<bool, S::Error> {
        let clock = self.clock.at(stamp);
        let (mut jobs, mut bytes) = (0, 0);
        while jobs < budget && bytes < LOAD_BYTES_MAX {
            let Some((_, first)) = first_spilled(store, clock)? else { return Ok(true) };
            let slot = self.load_one(first.job, store)?;
            jobs += 1;
            bytes += u64::from(self.jobs[slot].body.body_bytes);
        }
        Ok(first_spilled(store, clock)?.is_none())
    }

    /// A job as it is now, resident or spilled.
    pub fn job<S: JobStore>(
        &self,
        select: &JobSelect<'_>,
        store: &mut S,
    ) -> Result<Option<JobView>, S::Error> {
        Ok(match self.find(select) {
            None => None,
            Some(Found::Resident(slot)) => Some(self.view(&self.jobs[slot])),
            Some(Found::Spilled(slot)) => Some(self.spilled_view(self.jobs.spilled().place(slot), store)?),
        })
    }

    /// The topic of a job, resident or spilled.
    pub fn topic_of<S: JobStore>(&self, job: JobId, store: &mut S) -> Result<Option<TopicId>, S::Error> {
        Ok(match self.find(&JobSelect::Id(job)) {
            None => None,
            Some(Found::Resident(slot)) => Some(self.jobs[slot].topic),
            Some(Found::Spilled(slot)) => Some(store.spilled_topic(self.jobs.spilled().place(slot))?),
        })
    }

    /// A spilled job as it is now.
    pub(super) fn spilled_view<S: JobStore>(&self, place: Place, store: &mut S) -> Result<JobView, S::Error> {
        Ok(self.view(&store.spilled_job(place)?.into_job(place)))
    }

    /// Loads the spilled jobs that a command names.
    pub(super) fn load_named<S: JobStore>(
        &mut self,
        command: &Command<'_>,
        store: &mut S,
    ) -> Result<(), S::Error> {
        self.spilled_named(command).into_iter().try_for_each(|spilled| self.load(spilled, store).map(drop))
    }

    /// The places of the spilled jobs that a command names: the command will read them.
    pub fn places_named<'a>(&'a self, command: &Command<'_>) -> impl Iterator<Item = Place> + 'a {
        self.spilled_named(command).into_iter().map(|spilled| self.jobs.spilled().place(spilled))
    }

    /// For each of these new jobs, the place of the spilled job that has its key, if there is one.
    pub fn places_of_keys<'a>(
        &'a self,
        topic: &str,
        jobs: &'a [NewJob<'_>],
    ) -> impl Iterator<Item = Option<Place>> + 'a {
        let topic = self.topics.id(topic).filter(|_| self.jobs.spilled().len() > 0);
        let found = move |job: &NewJob<'_>| self.jobs.find_key(self.key_secret.hash(topic?, job.key?));
        jobs.iter().map(move |job| match found(job)? {
            Found::Spilled(spilled) => Some(self.jobs.spilled().place(spilled)),
            Found::Resident(_) => None,
        })
    }

    /// The place of a job's record.
    pub fn place_of(&self, job: &JobSelect<'_>) -> Option<Place> {
        Some(match self.find(job)? {
            Found::Resident(slot) => self.jobs[slot].body.place,
            Found::Spilled(slot) => self.jobs.spilled().place(slot),
        })
    }

    /// The spilled jobs that a command names, each once.
    fn spilled_named(&self, command: &Command<'_>) -> Vec<SpilledSlot> {
        let mut named = Vec::new();
        if self.jobs.spilled().len() == 0 {
            return named;
        }
        let mut name = |found| {
            named.extend(if let Some(Found::Spilled(spilled)) = found { Some(spilled) } else { None });
        };
        match command {
            Command::Push { topic, jobs, .. } | Command::PushIdempotent { topic, jobs, .. } => {
                if let Some(topic) = self.topics.id(topic) {
                    let keys = jobs.iter().filter_map(|job| job.key);
                    keys.for_each(|key| name(self.jobs.find_key(self.key_secret.hash(topic, key))));
                }
            }
            Command::Delete { job }
            | Command::Reschedule { job, .. }
            | Command::RunNow { job }
            | Command::Kick { job }
            | Command::ReserveJob { job, .. } => name(self.find(job)),
            Command::ScheduleFire { schedule, firings, .. } => {
                if let Some(schedule) = self.jobs.resident(*schedule) {
                    let topic = self.jobs[schedule].topic;
                    let keys = firings.iter().filter_map(|firing| firing.key);
                    keys.for_each(|key| name(self.jobs.find_key(self.key_secret.hash(topic, key))));
                }
            }
            Command::Edit { job, .. } => name(self.jobs.find(*job)),
            Command::Bulk { jobs, .. } => {
                for job in jobs {
                    name(self.jobs.find(*job));
                }
            }
            Command::Move { jobs, .. } => jobs.iter().for_each(|one| name(self.jobs.find(one.job))),
            // Leases are on resident jobs.
            _ => {}
        }
        named.sort_unstable();
        named.dedup();
        named
    }

    /// The slot of the first job whose timer is due, spilled jobs included.
    pub(super) fn first_due<S: JobStore>(&mut self, store: &mut S) -> Result<Option<Slot>, S::Error> {
        loop {
            let resident = self.timers.first(self.clock);
            if self.jobs.spilled().len() == 0 {
                return Ok(resident);
            }
            let Some((order, spilled)) = first_spilled(store, self.clock)? else { return Ok(resident) };
            if resident.is_some_and(|slot| self.firing_order(slot) < order) {
                return Ok(resident);
            }
            self.load_one(spilled.job, store)?;
        }
    }

    fn load_one<S: JobStore>(&mut self, job: JobId, store: &mut S) -> Result<Slot, S::Error> {
        match self.jobs.find(job) {
            Some(Found::Spilled(slot)) => self.load(slot, store),
            _ => unreachable!("a store offers spilled jobs alone"),
        }
    }

    /// Loads a spilled job. Sums and counters do not change: it is the same job.
    fn load<S: JobStore>(&mut self, spilled: SpilledSlot, store: &mut S) -> Result<Slot, S::Error> {
        let place = self.jobs.spilled().place(spilled);
        let job = store.spilled_job(place)?.into_job(place);
        store.no_longer_spilled(place);
        let slot = self.jobs.load(spilled, job);
        self.timers.enter(slot, &self.jobs[slot]);
        Ok(slot)
    }

    fn spill(&mut self, slot: Slot, place: Place) {
        self.timers.leave(slot, &self.jobs[slot]);
        self.jobs.spill(slot, place);
    }

    fn may_leave(&self, slot: Slot, hash: u128) -> bool {
        let job = &self.jobs[slot];
        let waits_long =
            |until: Moment| until.at > self.clock.now(until.timeline).saturating_add(HORIZON_LEAST_MS);
        job.may_spill() && job.timer().is_some_and(waits_long) && job.hash() == hash
    }

    fn firing_order(&self, slot: Slot) -> FiringOrder {
        let job = &self.jobs[slot];
        let timer = job.timer().unwrap_or_else(|| unreachable!("what fires has a timer"));
        (self.clock.as_stamp(timer), job.id.0)
    }
}

/// True if a job that waits until then may be spilled: see [`HORIZON_MS`].
pub(super) fn is_beyond_horizon(clock: Clock, until: Moment) -> bool {
    until.at > clock.now(until.timeline).saturating_add(HORIZON_MS)
}

/// The first spilled job in firing order that is due by `clock`, with its rank in that order.
fn first_spilled<S: JobStore>(
    store: &mut S,
    clock: Clock,
) -> Result<Option<(FiringOrder, SpilledTimer)>, S::Error> {
    let mut first: Option<(FiringOrder, SpilledTimer)> = None;
    for timeline in Timeline::ALL {
        let Some(timer) = store.first_spilled(timeline)? else { continue };
        let order = (clock.as_stamp(Moment { timeline, at: timer.at }), timer.job.0);
        if timer.at <= clock.now(timeline) && first.as_ref().is_none_or(|(other, _)| order < *other) {
            first = Some((order, timer));
        }
    }
    Ok(first)
}

impl BodyRef {
    /// The same record at another place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}
