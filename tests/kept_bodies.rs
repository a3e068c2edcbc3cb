//! A job store for tests that can also spill jobs.

#![expect(clippy::indexing_slicing, reason = "what is spilled is there")]

mod store;

use adjourn_engine::{BodyRef, CapturedJob, Engine, JobView, Listed, Listing, Place, Record, Relocated};
use adjourn_types::{JobId, TopicId};

pub(crate) use store::{KeptBodies, KeptRecord};

impl KeptBodies {
    pub(crate) fn falling() -> Self {
        Self { falling: true, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn read(&self, reference: BodyRef) -> &KeptRecord {
        let record = self.kept.get(&reference.place).expect("a job's record is kept");
        assert_eq!(record.reference, reference);
        record
    }

    /// Every spilled job: id, hash of its key, place.
    pub(crate) fn spilled_jobs(&self) -> impl Iterator<Item = (JobId, Option<u128>, Place)> + '_ {
        self.spilled.values().map(|place| {
            let saved = &self.saved[place].0;
            (saved.id(), saved.key_hash(), *place)
        })
    }

    /// Does with a captured job what a checkpoint does: it has a new place, and is spilled if it waits for long. Returns the place,
    /// and whether it was spilled.
    pub(crate) fn write(&mut self, engine: &mut Engine, captured: CapturedJob) -> (Place, bool) {
        let (from, to) = (captured.place, self.next_place());
        let id = captured.saved.id();
        let relocated = engine.relocate(id, from, to, captured.spillable);
        if relocated != Relocated::Gone {
            let mut record = self.kept.remove(&from).expect("its record is kept");
            record.reference = record.reference.at(to);
            self.kept.insert(to, record);
        }
        if let (Relocated::Spilled, Some(until)) = (relocated, captured.delayed_until) {
            self.spilled.insert((until.timeline, until.at, id), to);
            self.saved.insert(to, (captured.saved, until.timeline, until.at));
        }
        (to, relocated == Relocated::Spilled)
    }
}

/// The reference that the `place`-th kept record has.
pub(crate) fn reference(place: u32, record: &Record<'_>) -> BodyRef {
    store::reference_at(Place(place.into()), record)
}

/// The job that a peek shows, found a few jobs at a time.
pub(crate) fn peek(engine: &Engine, topic: TopicId, store: &mut KeptBodies) -> Option<JobView> {
    let mut listing = Listing::first_delayed(Some(topic));
    loop {
        let Ok(found) = engine.peek(&mut listing, &mut 3, store);
        match found {
            Listed::Job(view) => return Some(*view),
            Listed::End { .. } => return None,
            Listed::NotYet => {}
        }
    }
}
