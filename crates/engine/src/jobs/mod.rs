//! The jobs: a slab for resident jobs, and an index by id and by key over resident and spilled ones.
//!
//! A slot number has no meaning outside the engine: it is reused when its job is gone, and is not part of the state.

#![expect(clippy::indexing_slicing, reason = "a slot that is held elsewhere is live")]

pub(crate) mod capture;
pub(crate) mod free;
pub(crate) mod index;
pub(crate) mod loaded;
pub(crate) mod paged;
pub mod slab;
pub(crate) mod spilled;

use std::collections::BTreeSet;
use std::ops;

use crate::job::{Job, KeyHash};
use crate::place::Place;
use adjourn_types::{JobId, TopicId};
use capture::{Capture, page_of, start_of};
use free::FreeNumbers;
use index::Index;
use loaded::Loaded;
use paged::Paged;
use spilled::{SpilledJobs, SpilledSlot};

/// A job's place in the slab.
pub(super) type Slot = u32;

/// Where a job was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In the slab.
    Resident(Slot),
    /// Among the spilled jobs.
    Spilled(SpilledSlot),
}

/// A page of slots.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// How many jobs are on it.
    used: u32,
    /// True if it changed since it was last captured.
    changed: bool,
}

/// The slab, the spilled jobs, and the indexes over both.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    slots: Paged<Option<Job>>,
    /// Free slots; the lowest is reused first, so that the slab can shrink. Some may be behind its end: they are discarded
    /// before it grows again.
    free: FreeNumbers,
    /// The state of each page of slots.
    pages: Vec<Page>,
    /// The number of jobs on changed pages.
    changed: usize,
    spilled: SpilledJobs,
    /// [`handle`]s, by id.
    ids: Index,
    /// The same, by the hash of the key.
    key_hashes: Index,
    capture: Option<Capture>,
    /// The sum of [`Job::held_bytes`] of the resident jobs.
    held_bytes: usize,
    loaded: Loaded,
    /// Jobs that got a new record since the last capture began; not part of the state. The store may reuse a place, so the
    /// place alone does not distinguish the captured record from the current one.
    renewed: BTreeSet<JobId>,
}

impl Jobs {
    /// How many jobs exist.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// How many of them have a key.
    pub(super) fn keyed(&self) -> usize {
        self.key_hashes.len()
    }

    /// The job with this id.
    pub(super) fn find(&self, id: JobId) -> Option<Found> {
        self.ids.find(hash_of_id(id), |handle| self.id_of(handle) == id).map(found)
    }

    /// The slot of the job with this id, unless it is spilled.
    pub(super) fn resident(&self, id: JobId) -> Option<Slot> {
        self.find(id).and_then(Found::resident)
    }

    /// The job whose key has this hash.
    pub(super) fn find_key(&self, key_hash: KeyHash) -> Option<Found> {
        let same = |handle| self.key_hash_of(handle) == Some(key_hash);
        self.key_hashes.find(table_hash(key_hash), same).map(found)
    }

    /// The id of a job.
    pub(super) fn id(&self, found: Found) -> JobId {
        match found {
            Found::Resident(slot) => self[slot].id,
            Found::Spilled(slot) => self.spilled.id(slot),
        }
    }

    /// Adds a job whose id and key are not in the index.
    pub(super) fn insert(&mut self, job: Job) -> Slot {
        let (id, key_hash) = (job.id, job.key_hash());
        let slot = self.place(job);
        self.index(id, key_hash, slot);
        slot
    }

    /// Adds a spilled job, as [`Self::place`] adds a resident one.
    pub(super) fn place_spilled(&mut self, id: JobId, key_hash: Option<KeyHash>, place: Place) -> u32 {
        handle(self.spilled.insert(id, key_hash, place))
    }

    /// Indexes jobs that were placed. If the id or the key of one is in the index already, returns its id: then the indexes
    /// are incomplete and must not be used.
    pub(super) fn index_all(&mut self, handles: &[u32]) -> Result<(), JobId> {
        let (slots, spilled) = (&self.slots, &self.spilled);
        let id = |handle| id_of(slots, spilled, handle);
        let key_hash = |handle| key_hash_of(slots, spilled, handle);
        let id_hash = |handle| id_hash(slots, spilled, handle);
        let ids: Vec<_> = handles.iter().map(|handle| (id_hash(*handle), *handle)).collect();
        let keyed = handles.iter().filter_map(|handle| Some((table_hash(key_hash(*handle)?), *handle)));
        let keyed: Vec<_> = keyed.collect();
        self.ids
            .insert_all(&ids, id_hash, |one, other| id(one) == id(other))
            .and_then(|()| {
                let rehash = |handle| table_hash_of(slots, spilled, handle);
                self.key_hashes.insert_all(&keyed, rehash, |one, other| key_hash(one) == key_hash(other))
            })
            .map_err(id)
    }

    /// Makes room in the indexes for this total number of jobs.
    pub(super) fn reserve(&mut self, jobs: usize, keyed: usize) {
        let (slots, spilled) = (&self.slots, &self.spilled);
        self.ids.reserve(jobs, |handle| id_hash(slots, spilled, handle));
        self.key_hashes.reserve(keyed, |handle| table_hash_of(slots, spilled, handle));
    }

    /// Removes a job.
    pub(super) fn remove(&mut self, slot: Slot) -> Job {
        let job = self.take(slot);
        self.ids.remove(hash_of_id(job.id), slot);
        if let Some(key_hash) = job.key_hash() {
            self.key_hashes.remove(table_hash(key_hash), slot);
        }
        job
    }

    /// The number of resident jobs on pages that changed since they were captured.
    pub(super) fn changed(&self) -> usize {
        self.changed
    }

    /// Changes a job that stays in its topic.
    pub(super) fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Job)) {
        self.note_change(slot);
        let job = self.one(slot);
        let before = job.held_bytes();
        change(job);
        job.changes = job.changes.wrapping_add(1);
        let after = job.held_bytes();
        self.held_bytes = self.held_bytes - before + after;
    }

    /// Moves a job to another topic, under this hash of its key there, which no job has; with `None` it is no longer found
    /// by its key. The caller updates the orders of both topics, and the sums.
    pub(super) fn set_topic(&mut self, slot: Slot, topic: TopicId, key_hash: Option<KeyHash>) {
        if let Some(old) = self[slot].key_hash() {
            self.key_hashes.remove(table_hash(old), slot);
        }
        self.change(slot, |job| {
            job.topic = topic;
            job.set_holds_place(false);
            job.set_key_hash(key_hash);
        });
        if let Some(new) = key_hash {
            let (slots, spilled) = (&self.slots, &self.spilled);
            self.key_hashes.insert(table_hash(new), slot, |handle| table_hash_of(slots, spilled, handle));
        }
    }

    /// Notes that a job got a new record.
    pub(super) fn note_renewed(&mut self, id: JobId) {
        self.renewed.insert(id);
    }

    /// True if a job still has the record that it had when the last capture began.
    pub(super) fn has_captured_record(&self, id: JobId) -> bool {
        !self.renewed.contains(&id)
    }

    /// The jobs that became resident recently.
    pub(super) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Makes the next capture visit a job again.
    pub(super) fn recapture(&mut self, slot: Slot) {
        self.note_page(page_of(slot));
    }

    /// Sets the place of a job's record. This does not count as a change of the job.
    pub(super) fn set_place(&mut self, slot: Slot, place: Place) {
        self.one(slot).body.place = place;
    }

    /// Makes a spilled job resident.
    pub(super) fn load(&mut self, spilled: SpilledSlot, job: Job) -> Slot {
        let (id, key_hash) = (job.id, job.key_hash());
        debug_assert_eq!(
            (id, key_hash),
            (self.spilled.id(spilled), self.spilled.key_hash(spilled)),
            "the same job"
        );
        self.loaded.note(id);
        let slot = self.place(job);
        self.spilled.remove(spilled);
        self.replace(id, key_hash, handle(spilled), slot);
        slot
    }

    /// Makes a resident job spilled: only its id, its key's hash and its place stay in memory.
    pub(super) fn spill(&mut self, slot: Slot, place: Place) {
        let job = self.take(slot);
        let (id, key_hash) = (job.id, job.key_hash());
        let spilled = self.spilled.insert(id, key_hash, place);
        self.replace(id, key_hash, slot, handle(spilled));
    }

    pub(super) fn spilled(&self) -> &SpilledJobs {
        &self.spilled
    }

    pub(super) fn spilled_mut(&mut self) -> &mut SpilledJobs {
        &mut self.spilled
    }

    /// Begins to capture the changed pages, and those that `again` names. Their jobs are saved before they change, until
    /// [`Self::captured`] has visited them. Returns the other pages that are not empty.
    pub(super) fn begin_capture(&mut self, again: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        self.end_capture();
        self.renewed.clear();
        let (mut wanted, mut unchanged) = (Vec::new(), BTreeSet::new());
        for (number, page) in (0..).zip(&mut self.pages) {
            if page.used > 0 && (page.changed || again(number)) {
                wanted.push(number);
            } else if page.used > 0 {
                unchanged.insert(number);
            }
            page.changed = false;
        }
        self.changed = 0;
        self.capture = Some(Capture::new(self.slots.len(), wanted));
        unchanged
    }

    /// Abandons the capture: the next one takes its pages again.
    pub(super) fn end_capture(&mut self) {
        for page in self.capture.take().into_iter().flat_map(Capture::into_pages) {
            self.note_page(page);
        }
    }

    /// Visits up to `budget` resident jobs as they were when the capture began, page by page, until `visit` returns false.
    /// Returns true if all were visited.
    pub(super) fn captured(&mut self, budget: usize, visit: impl FnMut(u32, &Job) -> bool) -> bool {
        self.capture.as_mut().is_none_or(|capture| capture.step(&self.slots, budget, visit))
    }

    /// Completes a capture: the next one takes only the jobs that changed after this one began.
    pub(super) fn keep_captured(&mut self) {
        self.capture = None;
    }

    /// True if the last pages of the slab are empty, or many spilled jobs are gone. One empty page is kept for new jobs.
    pub(super) fn can_shrink(&self) -> bool {
        self.slab_can_shrink() || self.spilled.can_shrink()
    }

    /// Frees memory if [possible](Self::can_shrink), a page at a time. Returns the number of slots left.
    pub(super) fn shrink(&mut self) -> usize {
        if self.slab_can_shrink() {
            self.pages.pop();
            #[expect(clippy::cast_possible_truncation, reason = "there are fewer pages than slots")]
            self.slots.truncate(start_of(self.pages.len() as u32));
        }
        self.spilled.shrink();
        let (slots, spilled) = (&self.slots, &self.spilled);
        self.ids.shrink(|handle| id_hash(slots, spilled, handle));
        self.key_hashes.shrink(|handle| table_hash_of(slots, spilled, handle));
        self.slots.len()
    }

    /// Bytes of memory that the jobs and the indexes take.
    pub(super) fn memory_bytes(&self) -> usize {
        let resident = self.slots.memory_bytes();
        let indexes = self.ids.memory_bytes() + self.key_hashes.memory_bytes();
        resident + self.held_bytes + self.spilled.memory_bytes() + indexes
    }

    /// Every resident job, in no particular order: for recomputing sums.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &Job)> {
        (0..).zip(self.slots.iter()).filter_map(|(slot, job)| Some((slot, job.as_ref()?)))
    }

    /// The slots from this one on, in order, with their jobs.
    pub(super) fn slots_from(&self, slot: Slot) -> impl Iterator<Item = Option<&Job>> {
        (slot as usize..self.slots.len()).map(|slot| self.slots[slot].as_ref())
    }

    fn slab_can_shrink(&self) -> bool {
        let empty = self.pages.iter().rev().take(2).filter(|page| page.used == 0).count();
        empty == 2 && self.capture.is_none()
    }

    /// Adds a resident job, which is not found before it is [indexed](Self::index_all). Returns its handle: its slot.
    pub(super) fn place(&mut self, job: Job) -> Slot {
        let slot = self.free.take_below(self.slots.len()).unwrap_or_else(|| {
            self.slots.push(None);
            let slot = Slot::try_from(self.slots.len() - 1).unwrap_or(SPILLED_BIT);
            assert!(slot < SPILLED_BIT, "2 billion jobs do not fit into memory");
            slot
        });
        let page = page_of(slot) as usize;
        if page == self.pages.len() {
            self.pages.push(Page { used: 0, changed: false });
        }
        self.note_change(slot);
        self.held_bytes += job.held_bytes();
        self.slots[slot as usize] = Some(job);
        self.pages[page].used += 1;
        self.changed += 1;
        slot
    }

    fn take(&mut self, slot: Slot) -> Job {
        self.note_change(slot);
        self.free.insert(slot);
        self.pages[page_of(slot) as usize].used -= 1;
        self.changed -= 1;
        let job = self.slots[slot as usize].take();
        let job = job.unwrap_or_else(|| unreachable!("a slot that is held is live"));
        self.held_bytes -= job.held_bytes();
        job
    }

    fn one(&mut self, slot: Slot) -> &mut Job {
        match &mut self.slots[slot as usize] {
            Some(job) => job,
            None => unreachable!("a slot that is held is live"),
        }
    }

    fn note_change(&mut self, slot: Slot) {
        self.note_page(page_of(slot));
        if let Some(capture) = &mut self.capture {
            capture.before_change(slot, self.slots[slot as usize].as_ref());
        }
    }

    fn note_page(&mut self, page: u32) {
        let page = &mut self.pages[page as usize];
        if !page.changed {
            page.changed = true;
            self.changed += page.used as usize;
        }
    }

    fn index(&mut self, id: JobId, key_hash: Option<KeyHash>, handle: u32) {
        let (slots, spilled) = (&self.slots, &self.spilled);
        self.ids.insert(hash_of_id(id), handle, |handle| id_hash(slots, spilled, handle));
        if let Some(key_hash) = key_hash {
            let rehash = |handle| table_hash_of(slots, spilled, handle);
            self.key_hashes.insert(table_hash(key_hash), handle, rehash);
        }
    }

    fn replace(&mut self, id: JobId, key_hash: Option<KeyHash>, old: u32, new: u32) {
        self.ids.replace(hash_of_id(id), old, new);
        if let Some(key_hash) = key_hash {
            self.key_hashes.replace(table_hash(key_hash), old, new);
        }
    }

    fn id_of(&self, handle: u32) -> JobId {
        id_of(&self.slots, &self.spilled, handle)
    }

    fn key_hash_of(&self, handle: u32) -> Option<KeyHash> {
        key_hash_of(&self.slots, &self.spilled, handle)
    }
}

impl ops::Index<Slot> for Jobs {
    type Output = Job;

    fn index(&self, slot: Slot) -> &Job {
        live(self.slots[slot as usize].as_ref())
    }
}

impl Found {
    /// The slot, unless the job is spilled.
    pub(super) fn resident(self) -> Option<Slot> {
        match self {
            Self::Resident(slot) => Some(slot),
            Self::Spilled(_) => None,
        }
    }
}

/// Set in the handle of a spilled job; without it a handle is a slot of the slab.
const SPILLED_BIT: u32 = 1 << 31;

fn handle(spilled: SpilledSlot) -> u32 {
    SPILLED_BIT | spilled.0
}

/// What a handle refers to.
pub(super) fn found(handle: u32) -> Found {
    if handle & SPILLED_BIT == 0 {
        Found::Resident(handle)
    } else {
        Found::Spilled(SpilledSlot(handle & !SPILLED_BIT))
    }
}

fn id_of(slots: &Paged<Option<Job>>, spilled: &SpilledJobs, handle: u32) -> JobId {
    match found(handle) {
        Found::Resident(slot) => live(slots[slot as usize].as_ref()).id,
        Found::Spilled(slot) => spilled.id(slot),
    }
}

fn id_hash(slots: &Paged<Option<Job>>, spilled: &SpilledJobs, handle: u32) -> u64 {
    hash_of_id(id_of(slots, spilled, handle))
}

fn table_hash_of(slots: &Paged<Option<Job>>, spilled: &SpilledJobs, handle: u32) -> u64 {
    key_hash_of(slots, spilled, handle).map_or(0, table_hash)
}

fn key_hash_of(slots: &Paged<Option<Job>>, spilled: &SpilledJobs, handle: u32) -> Option<KeyHash> {
    match found(handle) {
        Found::Resident(slot) => live(slots[slot as usize].as_ref()).key_hash(),
        Found::Spilled(slot) => spilled.key_hash(slot),
    }
}

fn live(job: Option<&Job>) -> &Job {
    match job {
        Some(job) => job,
        None => unreachable!("a slot that is held is live"),
    }
}

/// Ids are sequential and not chosen by clients: one multiplication spreads them over both ends of the word.
pub(super) fn hash_of_id(id: JobId) -> u64 {
    let spread = id.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

/// A key hash is evenly spread, and without the secret a client cannot choose it.
#[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
fn table_hash(key_hash: KeyHash) -> u64 {
    key_hash.get() as u64
}

#[cfg(test)]
mod tests;
