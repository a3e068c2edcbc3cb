//! Bounds the memory for input that is not processed yet, for each connection and for all together.
//!
//! There are two kinds of room. **Buffers**: each connection may buffer some unprocessed bytes, the fewer the more
//! connections there are. **The pool**: input handed over to the core takes its bytes from it until it is processed,
//! and so does a frame that is larger than a connection's buffer, before it is read. A connection that waits for the
//! pool holds nothing of it, so every holder finishes.
//!
//! A connection with nothing in flight hands over a little without asking: small requests do not wait for large ones
//! of other connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::outbox::Gauge;
use adjourn_protocol::frame::frame_bytes_max;
use adjourn_replica::Permit;
use adjourn_types::limits::INPUT_BYTES_MAX;

/// Every connection may have this many bytes read, and as many handed over, independently of the others.
pub(super) const BYTES_MIN: usize = 4 << 10;
/// A buffer is never larger than this, in bytes, but for one large frame.
pub(super) const BUFFER_BYTES_MAX: usize = 128 << 10;
/// The memory limit is divided by this for the most that input takes.
const MEMORY_PART: u64 = 16;
/// The pool is divided by this for the most that all buffers take, as long as each has [`BYTES_MIN`].
const BUFFERS_PART: usize = 2;

/// The room for the input of all connections.
#[derive(Debug)]
pub(crate) struct InputRoom {
    pool: Arc<Semaphore>,
    pool_bytes: usize,
    readers: AtomicUsize,
}

/// One connection's share of the room.
#[derive(Debug)]
pub(crate) struct InputShare {
    room: Arc<InputRoom>,
    gauge: Arc<Gauge>,
}

/// Requests of one connection that the core has not taken yet.
#[derive(Debug)]
struct UnderWay {
    gauge: Arc<Gauge>,
    bytes: usize,
    _pool: Option<OwnedSemaphorePermit>,
}

impl InputRoom {
    /// Has at least the room for the largest body. `memory_max_bytes` is 0 for no limit.
    pub(crate) fn new(memory_max_bytes: u64, body_bytes_max: usize) -> Self {
        let part = match memory_max_bytes {
            0 => INPUT_BYTES_MAX,
            max => usize::try_from(max / MEMORY_PART).unwrap_or(usize::MAX).min(INPUT_BYTES_MAX),
        };
        let frame_bytes = frame_bytes_max(body_bytes_max) as usize + BUFFER_BYTES_MAX;
        let pool_bytes = part.max(frame_bytes).min(Semaphore::MAX_PERMITS);
        Self { pool: Arc::new(Semaphore::new(pool_bytes)), pool_bytes, readers: AtomicUsize::new(0) }
    }
}

impl InputShare {
    /// The share of one more connection.
    pub(crate) fn new(room: &Arc<InputRoom>, gauge: &Arc<Gauge>) -> Self {
        room.readers.fetch_add(1, Ordering::Relaxed);
        Self { room: Arc::clone(room), gauge: Arc::clone(gauge) }
    }

    /// How large this connection's buffer may be, in bytes.
    pub(super) fn buffer_bytes_max(&self) -> usize {
        let readers = self.room.readers.load(Ordering::Relaxed).max(1);
        (self.room.pool_bytes / BUFFERS_PART / readers).clamp(BYTES_MIN, BUFFER_BYTES_MAX)
    }

    /// Waits for room for a frame of this size, which is then read as a whole.
    pub(super) async fn for_frame(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let permits = u32::try_from(bytes.min(self.room.pool_bytes)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        self.room.pool.clone().acquire_many_owned(permits).await.ok()
    }

    /// Waits for room for requests of this size. `frame` is the permit already taken for a single large request.
    pub(crate) async fn hand_over(&self, bytes: usize, frame: Option<OwnedSemaphorePermit>) -> Permit {
        let is_little = bytes <= BYTES_MIN && self.gauge.input_bytes() == 0;
        let pool = if frame.is_some() || is_little { frame } else { self.for_frame(bytes).await };
        self.gauge.took_in(bytes);
        Permit::new(UnderWay { gauge: Arc::clone(&self.gauge), bytes, _pool: pool })
    }
}

impl Drop for InputShare {
    fn drop(&mut self) {
        self.room.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.gauge.took_up(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::super::super::outbox::{Inbox, Outbox};
    use super::*;

    const MIB: usize = 1 << 20;

    /// The result of a future without waiting.
    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(found) => Some(found),
            Poll::Pending => None,
        }
    }

    fn gauge() -> Arc<Gauge> {
        let (_, Inbox { gauge, .. }) = Outbox::new(1024, 1 << 20);
        gauge
    }

    #[test]
    fn a_limit_of_memory_makes_it_smaller_but_for_the_largest_frame() {
        let bytes = |memory, body| InputRoom::new(memory, body).pool_bytes;
        assert_eq!(bytes(0, MIB), INPUT_BYTES_MAX);
        assert_eq!(bytes(128 << 20, MIB), 8 * MIB);
        assert!((8 * MIB..9 * MIB).contains(&bytes(64 << 20, 8 * MIB)));
    }

    #[test]
    fn the_more_connections_there_are_the_smaller_are_their_buffers() {
        let (room, gauge) = (Arc::new(InputRoom::new(0, MIB)), gauge());
        let mut shares: Vec<_> = (0..64).map(|_| InputShare::new(&room, &gauge)).collect();
        let bytes = |share: &[InputShare]| share.last().map(InputShare::buffer_bytes_max);
        assert_eq!(bytes(&shares), Some(BUFFER_BYTES_MAX));
        shares.extend((0..64).map(|_| InputShare::new(&room, &gauge)));
        assert_eq!(bytes(&shares), Some(BUFFER_BYTES_MAX / 2));
        shares.extend((0..10_000).map(|_| InputShare::new(&room, &gauge)));
        assert_eq!(bytes(&shares), Some(BYTES_MIN));
        shares.truncate(1);
        assert_eq!(bytes(&shares), Some(BUFFER_BYTES_MAX));
    }

    #[test]
    fn large_requests_wait_for_each_other_and_small_ones_of_others_do_not() {
        let room = Arc::new(InputRoom::new(0, 64 << 10));
        let (large, small) = (gauge(), gauge());
        let (large, small) = (InputShare::new(&room, &large), InputShare::new(&room, &small));
        let all: Vec<Permit> =
            (0..16).map(|_| now(large.hand_over(MIB, None)).expect("there is room")).collect();
        assert!(now(large.hand_over(1, None)).is_none(), "it has much under way");
        let one = now(small.hand_over(BYTES_MIN, None));
        assert!(one.is_some() && now(small.hand_over(1, None)).is_none(), "one at a time");
        assert!(now(small.for_frame(2 * BYTES_MIN)).is_none());
        drop((all, one));
        assert!(now(small.for_frame(MIB)).is_some(), "they were taken up");
        assert_eq!((large.gauge.input_bytes(), small.gauge.input_bytes()), (0, 0));
    }
}
