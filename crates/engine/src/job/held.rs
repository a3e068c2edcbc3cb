//! The part of a job that exists only once it was reserved or edited: its lease and its history.

use std::sync::Arc;

use crate::job::in_group::InGroup;
use crate::job::{Job, JobExtras};
use adjourn_types::{Fence, Lease, SessionId, first_bytes};

/// The fields that only a job has that is, or was, reserved, or that was edited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    fence: Fence,
    holder: SessionId,
    past: Past,
}

/// A job's past leases, the last reason with which one ended, and its last edit. Times are stamps; 0 for never.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) reserved_first: u64,
    pub(crate) reserved_last: u64,
    pub(crate) edited: u64,
    /// Who opened the session that got the last lease. Until the next start, jobs of one session share the text.
    pub(crate) held_by: Option<Arc<str>>,
    /// Jobs that are settled together share one text.
    pub(crate) reason: Option<Arc<str>>,
}

impl Job {
    /// The fence of its lease; 0 if it is not reserved.
    pub(crate) fn fence(&self) -> Fence {
        self.held().map(|held| held.fence).unwrap_or_default()
    }

    /// Its lease; meaningful only while it is reserved.
    pub(crate) fn lease(&self) -> Lease {
        Lease { job: self.id, fence: self.fence() }
    }

    /// The session that gives the lease back when it ends; 0 if the lease outlives the session, or the job is not reserved.
    pub(crate) fn holder(&self) -> SessionId {
        self.held().map(|held| held.holder).unwrap_or_default()
    }

    /// Sets its lease; zeros remove it.
    pub(crate) fn set_lease(&mut self, fence: Fence, holder: SessionId) {
        let lease = (fence, holder);
        if lease != (self.fence(), self.holder()) {
            self.change_held(|held| (held.fence, held.holder) = lease);
        }
    }

    /// Its past; `None` if it was neither reserved nor edited.
    pub(crate) fn past(&self) -> Option<&Past> {
        self.held().map(|held| &held.past).filter(|past| **past != Past::default())
    }

    pub(crate) fn set_past(&mut self, past: Past) {
        if self.past().is_some() || past != Past::default() {
            self.change_held(|held| held.past = past);
        }
    }

    /// Notes that a session of this client got a lease on it.
    pub(crate) fn note_held(&mut self, client: Option<Arc<str>>, stamp: u64) {
        self.change_held(|held| {
            if held.past.reserved_last == 0 {
                held.past.reserved_first = stamp;
            }
            (held.past.reserved_last, held.past.held_by) = (stamp, client);
        });
    }

    /// Notes that it was edited.
    pub(crate) fn note_edited(&mut self, stamp: u64) {
        self.change_held(|held| held.past.edited = stamp);
    }

    /// Sets the last reason.
    pub(crate) fn set_reason(&mut self, reason: Arc<str>) {
        self.change_held(|held| held.past.reason = Some(reason));
    }

    /// An estimate of the memory that its leases, its group and its schedule take beside the slab, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        /// The allocator's overhead, and the reference counts of a shared text.
        const ALLOCATION_BYTES: usize = 16;
        let held = self.held().map_or(0, |held| {
            // Texts that several jobs share count for each: after a restart each has its own.
            let texts = [&held.past.held_by, &held.past.reason].into_iter().flatten();
            let text_bytes: usize = texts.map(|text| text.len() + 2 * ALLOCATION_BYTES).sum();
            size_of::<JobExtras>() + size_of::<Held>() + 2 * ALLOCATION_BYTES + text_bytes
        });
        let in_group = self.group().map_or(0, |name| {
            size_of::<JobExtras>() + size_of::<InGroup>() + name.len() + 4 * ALLOCATION_BYTES
        });
        held + in_group + self.schedule_bytes()
    }

    fn held(&self) -> Option<&Held> {
        self.extras.as_ref()?.held.as_deref()
    }

    /// Changes the part and frees whatever is back at its default.
    fn change_held(&mut self, change: impl FnOnce(&mut Held)) {
        let mut extras = self.extras.take().unwrap_or_default();
        let mut held = extras.held.take().unwrap_or_default();
        change(&mut held);
        extras.held = (*held != Held::default()).then_some(held);
        self.extras = (*extras != JobExtras::default()).then_some(extras);
    }
}

/// The first `bytes_max` bytes of a text, to share; `None` if it is empty.
pub(crate) fn some_text(text: &str, bytes_max: usize) -> Option<Arc<str>> {
    let kept = first_bytes(text, bytes_max);
    (!kept.is_empty()).then(|| kept.into())
}
