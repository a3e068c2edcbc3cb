//! What readers may ask. Nothing here changes anything that is hashed.
//!
//! Some calls take `&mut self`: the timers may collect ahead of an answer, which no outcome ever shows.

use super::Engine;
use super::command::JobSelect;
use super::outcome::{JobView, SessionStatus, SessionView, TopicView};
use crate::types::{Millis, SessionId, SessionSecret, TopicId};

impl Engine {
    /// The stamp of the last entry; it never goes back.
    pub fn stamp(&self) -> Millis {
        self.stamp
    }

    /// How far the wall clock is ahead of the stamp (negative: behind it), in milliseconds.
    pub fn clock_offset_ms(&self) -> i64 {
        self.offset_ms
    }

    /// The wall clock at a stamp.
    pub fn wall(&self, stamp: Millis) -> Millis {
        Millis(stamp.0.saturating_add_signed(self.offset_ms))
    }

    /// Whether the queue was founded.
    pub fn has_genesis(&self) -> bool {
        self.genesis
    }

    /// The number of the topic with this name.
    pub fn topic_id(&self, _name: &str) -> Option<TopicId> {
        None
    }

    /// A topic.
    pub fn topic(&self, _id: TopicId) -> Option<TopicView<'_>> {
        None
    }

    /// Every topic, by number.
    pub fn topics(&self) -> impl Iterator<Item = TopicView<'_>> {
        std::iter::empty()
    }

    /// Jobs of a topic that a reserve could have now: 0 while it is paused.
    pub fn ready(&self, _topic: TopicId) -> u64 {
        0
    }

    /// Calls `visit` with the topic of each job that an entry with this stamp would make ready, in the order in
    /// which it would; at most [`DUE_PER_ENTRY_MAX`](crate::types::limits::DUE_PER_ENTRY_MAX) timers are
    /// looked at.
    pub fn due_topics(&mut self, _stamp: Millis, _visit: &mut dyn FnMut(TopicId)) {}

    /// Whether an entry with this stamp would move any job: make it ready, end its lease or drop it.
    pub fn is_overdue(&mut self, _stamp: Millis) -> bool {
        false
    }

    /// A stamp after `after` at which to look again: no timer fires between the two. It is the first timer's own
    /// stamp when that is near, and a little before it when it is far; `None` if there is no timer.
    pub fn next_deadline_after(&mut self, _after: Millis) -> Option<Millis> {
        None
    }

    /// Collects what comes due until `stamp`, in at most `budget` steps, so that an entry finds it done.
    /// Returns whether it is complete.
    pub fn prepare(&mut self, _stamp: Millis, _budget: usize) -> bool {
        true
    }

    /// A job as it is now.
    pub fn job(&self, _select: &JobSelect<'_>) -> Option<JobView> {
        None
    }

    /// The first ready job of a topic in reserving order; else the delayed one that is due first, if it is found among
    /// the next 65,536 timers.
    pub fn peek(&self, _topic: TopicId) -> Option<JobView> {
        None
    }

    /// What a client that shows this secret may expect of a session.
    pub fn session_matches(&self, _session: SessionId, _secret: &SessionSecret) -> SessionStatus {
        SessionStatus::Unknown
    }

    /// The sessions that have not lapsed, by id.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView> {
        std::iter::empty()
    }

    /// How many sessions the queue knows, lapsed ones included.
    pub fn session_count(&self) -> u64 {
        0
    }

    /// A hash of the whole state: equal on every replica at the same index.
    pub fn state_hash(&self) -> u128 {
        0
    }

    /// How many jobs live.
    pub fn jobs(&self) -> u64 {
        0
    }
}
