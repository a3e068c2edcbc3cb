//! The send queue to one node, by priority: messages that hold the group together go before entries, and those
//! before the parts of a checkpoint.
//!
//! Bounded: bundles that do not fit are dropped, and Raft sends them again. The sender never waits.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::Notify;

use super::frames::PeerFrame;
use super::handshake::lock;
use adjourn_raft::Message;
use adjourn_replica::Bundle;
use adjourn_types::{Millis, whole_ms};

/// Entries that wait for one node, in bytes; beyond it they are dropped.
pub(super) const WAITING_BYTES_MAX: usize = 16 << 20;
/// The same for urgent messages, which have a limit of their own.
const URGENT_BYTES_MAX: usize = 1 << 20;
/// A bundle is closed when its messages reach this size, in bytes: an urgent message waits for at most one bundle.
const BUNDLE_BYTES_TARGET: usize = 256 << 10;
/// Estimated memory of a bundle beside its messages, in bytes.
const BUNDLE_BYTES: usize = 128;

/// The send queue to one node.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    urgent: VecDeque<Item>,
    urgent_bytes: usize,
    entries: VecDeque<Item>,
    entries_bytes: usize,
    part: Option<PeerFrame>,
    dropped: u64,
}

/// A queued frame.
#[derive(Debug)]
enum Item {
    Bundle {
        bundle: Bundle,
        bytes: usize,
        /// When it was queued.
        since: Duration,
    },
    Frame(PeerFrame),
}

impl SendQueue {
    /// Adds a bundle of the replica, at this time. If all or a part of it was dropped, returns how many bundles were
    /// dropped since the queue was empty.
    pub(super) fn push(&self, bundle: Bundle, now: Duration) -> Option<u64> {
        let mut waiting = lock(&self.waiting);
        let before = waiting.dropped;
        for (bundle, urgent) in split(bundle) {
            let bytes = BUNDLE_BYTES + bundle.weight_bytes();
            waiting.push(Item::Bundle { bundle, bytes, since: now }, bytes, urgent);
        }
        let dropped = waiting.dropped;
        drop(waiting);
        self.wake.notify_one();
        (dropped > before).then_some(dropped)
    }

    /// Adds a small, urgent frame.
    pub(super) fn push_frame(&self, frame: PeerFrame) {
        lock(&self.waiting).push(Item::Frame(frame), BUNDLE_BYTES, true);
        self.wake.notify_one();
    }

    /// Adds a part of a checkpoint. The queue holds one: a new part replaces the one before.
    pub(super) fn push_part(&self, part: PeerFrame) {
        lock(&self.waiting).part = Some(part);
        self.wake.notify_one();
    }

    /// Waits until there is something to send. For one task at a time.
    pub(super) async fn wait(&self) {
        while lock(&self.waiting).is_empty() {
            self.wake.notified().await;
        }
    }

    /// Encodes the next frames: at least one if there is any, and no further one once `out` has `bytes_max` bytes.
    pub(super) fn encode(&self, out: &mut BytesMut, bytes_max: usize, now: Duration) {
        loop {
            // Release the lock before encoding: adding to the queue never waits.
            let next = lock(&self.waiting).pop();
            let Some(item) = next else { break };
            let frame = match item {
                Item::Frame(frame) => frame,
                Item::Bundle { bundle, since, .. } => {
                    PeerFrame::Bundle(aged(bundle, now.saturating_sub(since)))
                }
            };
            frame.encode(out);
            if out.len() >= bytes_max {
                break;
            }
        }
    }

    /// Drops the queued frames: there is no connection to send them on.
    pub(super) fn clear(&self) {
        *lock(&self.waiting) = Waiting::default();
    }
}

impl Waiting {
    fn push(&mut self, item: Item, bytes: usize, urgent: bool) {
        let (lane, waiting_bytes, bytes_max) = if urgent {
            (&mut self.urgent, &mut self.urgent_bytes, URGENT_BYTES_MAX)
        } else {
            (&mut self.entries, &mut self.entries_bytes, WAITING_BYTES_MAX)
        };
        if *waiting_bytes + bytes > bytes_max {
            self.dropped += 1;
        } else {
            *waiting_bytes += bytes;
            lane.push_back(item);
        }
    }

    fn pop(&mut self) -> Option<Item> {
        let bytes = |item: &Item| if let Item::Bundle { bytes, .. } = item { *bytes } else { BUNDLE_BYTES };
        if let Some(item) = self.urgent.pop_front() {
            self.urgent_bytes -= bytes(&item);
            return Some(item);
        }
        if let Some(item) = self.entries.pop_front() {
            self.entries_bytes -= bytes(&item);
            return Some(item);
        }
        self.dropped = 0;
        self.part.take().map(Item::Frame)
    }

    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.entries.is_empty() && self.part.is_none()
    }
}

/// Splits a bundle into pieces, each with true if it is urgent. Other messages are cut so that no urgent one waits
/// for long.
fn split(bundle: Bundle) -> Vec<(Bundle, bool)> {
    let Bundle { wall, stamp_us, applied, audited, messages } = bundle;
    let with = |messages| Bundle { wall, stamp_us, applied, audited, messages };
    let nothing = messages.is_empty();
    let (urgent, entries): (Vec<_>, Vec<_>) = messages.into_iter().partition(Message::is_urgent);
    let mut pieces = Vec::new();
    if nothing || !urgent.is_empty() {
        pieces.push((with(urgent), true));
    }
    let (mut piece, mut bytes) = (Vec::new(), 0);
    for message in entries {
        let weight_bytes = message.weight_bytes();
        if bytes + weight_bytes > BUNDLE_BYTES_TARGET && !piece.is_empty() {
            pieces.push((with(std::mem::take(&mut piece)), false));
            bytes = 0;
        }
        bytes += weight_bytes;
        piece.push(message);
    }
    if !piece.is_empty() {
        pieces.push((with(piece), false));
    }
    pieces
}

/// Adjusts the sender's clocks in a bundle to now: the time that it has waited must not look like a clock difference.
fn aged(bundle: Bundle, waited: Duration) -> Bundle {
    let wall = Millis(bundle.wall.0.saturating_add(whole_ms(waited)));
    let waited_us = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
    let is_known = bundle.stamp_us > 0;
    let stamp_us = if is_known { bundle.stamp_us.saturating_add(waited_us) } else { 0 };
    Bundle { wall, stamp_us, ..bundle }
}

#[cfg(test)]
mod tests;
