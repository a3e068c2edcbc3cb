//! A job store for tests: it knows exactly which bodies are kept, and fails if one is forgotten twice.

#![expect(clippy::indexing_slicing, reason = "what is spilled is there")]

use std::collections::BTreeMap;
use std::convert::Infallible;

use adjourn_engine::{
    BodyRef, JobStore, Place, Record, SavedJob, SpilledTimer, Timeline, TimerCounts, WalkFrom, Walked,
};
use adjourn_types::{JobId, Millis, TopicId};

/// Keeps records under growing places (or falling ones, to show that places do not matter).
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptBodies {
    pub(super) kept: BTreeMap<Place, KeptRecord>,
    pub(super) spilled: BTreeMap<(Timeline, u64, JobId), Place>,
    pub(super) saved: BTreeMap<Place, (SavedJob, Timeline, u64)>,
    pub(super) count: u64,
    pub(super) falling: bool,
}

/// A record and the reference to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptRecord {
    pub(crate) reference: BodyRef,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) attributes: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl KeptBodies {
    /// The spilled jobs of a timeline, in order.
    fn spilled_of(&self, timeline: Timeline) -> impl Iterator<Item = SpilledTimer> + '_ {
        let of_timeline = self.spilled.iter().filter(move |((of, ..), _)| *of == timeline);
        of_timeline.map(|((_, at, job), place)| SpilledTimer { at: *at, job: *job, place: *place })
    }

    pub(super) fn next_place(&mut self) -> Place {
        self.count += 1;
        Place(if self.falling { u64::MAX - self.count } else { self.count })
    }
}

pub(super) fn reference_at(place: Place, record: &Record<'_>) -> BodyRef {
    let checksum = crc32c::crc32c(record.key.unwrap_or_default());
    let checksum = crc32c::crc32c_append(checksum, record.attributes);
    let checksum = crc32c::crc32c_append(checksum, record.body);
    let body_bytes = u32::try_from(record.body.len()).expect("a small body");
    BodyRef { place, body_bytes, checksum }
}

impl JobStore for KeptBodies {
    type Error = Infallible;
    type Walk = WalkFrom;

    fn keep(&mut self, record: Record<'_>) -> BodyRef {
        let place = self.next_place();
        let reference = reference_at(place, &record);
        let kept = KeptRecord {
            reference,
            key: record.key.map(<[u8]>::to_vec),
            attributes: record.attributes.to_vec(),
            body: record.body.to_vec(),
        };
        assert_eq!(self.kept.insert(place, kept), None);
        reference
    }

    fn forget(&mut self, body: BodyRef) {
        let forgotten = self.kept.remove(&body.place).expect("a record is forgotten once");
        assert_eq!(forgotten.reference, body);
        assert!(!self.saved.contains_key(&body.place), "what is done to a job is done to a resident one");
    }

    fn spilled_job(&mut self, place: Place) -> Result<SavedJob, Infallible> {
        Ok(self.saved[&place].0.clone())
    }

    fn spilled_topic(&mut self, place: Place) -> Result<TopicId, Infallible> {
        Ok(self.saved[&place].0.topic())
    }

    fn key(&mut self, body: BodyRef) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.kept[&body.place].key.clone())
    }

    fn walk(&self, from: WalkFrom) -> WalkFrom {
        from
    }

    fn walk_on(&self, walk: &mut WalkFrom, budget: &mut usize) -> Result<Walked, Infallible> {
        let offset_ms = walk.offset_ms;
        let shown = |timeline: Timeline, at: u64| match timeline {
            Timeline::Stamp => Millis(at.saturating_add_signed(offset_ms)),
            Timeline::Wall => Millis(at),
        };
        let spilled =
            self.spilled.iter().map(|((timeline, at, job), place)| (shown(*timeline, *at), *job, *place));
        let wanted = |place| walk.topic.is_none_or(|topic| self.saved[&place].0.topic() == topic);
        let behind = spilled.filter(|(at, job, place)| (*at, *job) > walk.after && wanted(*place));
        let Some((at, job, _)) = behind.min() else { return Ok(Walked::End) };
        if *budget == 0 {
            return Ok(Walked::Until(at));
        }
        *budget -= 1;
        walk.after = (at, job);
        Ok(Walked::Job { at, job })
    }

    fn count_on(
        &self,
        walk: &mut WalkFrom,
        counts: &mut TimerCounts,
        budget: &mut usize,
    ) -> Result<bool, Infallible> {
        loop {
            match self.walk_on(walk, budget)? {
                Walked::Job { at, .. } => {
                    let place = counts.bounds.partition_point(|bound| *bound <= at);
                    counts.counts.get_mut(place).into_iter().for_each(|count| *count += 1);
                }
                Walked::Until(_) => return Ok(false),
                Walked::End => return Ok(true),
            }
        }
    }

    fn first_spilled(&mut self, timeline: Timeline) -> Result<Option<SpilledTimer>, Infallible> {
        Ok(self.spilled_of(timeline).next())
    }

    fn no_longer_spilled(&mut self, place: Place) {
        let (saved, timeline, at) = self.saved.remove(&place).expect("it was spilled");
        assert_eq!(self.spilled.remove(&(timeline, at, saved.id())), Some(place));
    }
}
