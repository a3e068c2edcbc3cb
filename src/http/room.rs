//! Room for large bodies of requests: how much memory they take together, and those of one caller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::problem::Problem;
use crate::protocol::{ErrorCode, ErrorReply};

/// Large bodies that are being read, and what becomes of them, take no more than this, in KiB.
const ALL_KIB: u32 = 64 << 10;
/// Those of one caller: none keeps the others from theirs.
const OF_CALLER_KIB: u32 = ALL_KIB / 2;
/// A body up to this size needs no room, in bytes.
const SMALL_BYTES: usize = 16 << 10;
/// How long a large body waits for room.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The room, and the callers that have some of it.
#[derive(Debug)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    shares: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

/// A part of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for Room {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(ALL_KIB as usize)), shares: Mutex::default() }
    }
}

impl Room {
    /// Room for the body of one of this caller's requests, which has at most `bytes_max` bytes. `None` if it needs none.
    ///
    /// # Errors
    ///
    /// Others have all of it for too long.
    pub(super) async fn take(
        &self,
        caller: &str,
        headers: &HeaderMap,
        bytes_max: usize,
    ) -> Result<Option<Taken>, Problem> {
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let bytes = length.unwrap_or(bytes_max).min(bytes_max);
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(OF_CALLER_KIB);
        let (all, share) = (Arc::clone(&self.all), self.share(caller));
        let taking = async {
            // They are never closed.
            let share = share.acquire_many_owned(kib).await.ok()?;
            Some(Taken { _share: share, _all: all.acquire_many_owned(kib).await.ok()? })
        };
        timeout(WAIT_MAX, taking).await.ok().flatten().map(Some).ok_or_else(|| {
            let message = "other requests with large bodies have all the room that there is: try again";
            let error = ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) };
            error.into()
        })
    }

    fn share(&self, caller: &str) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(caller).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(OF_CALLER_KIB as usize));
        shares.insert(caller.to_owned(), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: usize) -> HeaderMap {
        [(CONTENT_LENGTH, bytes.into())].into_iter().collect()
    }

    #[tokio::test(start_paused = true)]
    async fn no_caller_takes_all_of_it() {
        let (room, large) = (Room::default(), of(16 << 20));
        let take = |caller: &'static str| room.take(caller, &large, 16 << 20);
        let of_a = [take("a").await.expect("room"), take("a").await.expect("room")];
        assert!(of_a.iter().all(Option::is_some));
        assert_eq!(take("a").await.expect_err("none").json().code, "BUSY");
        let of_b = [take("b").await.expect("room"), take("b").await.expect("room")];
        assert!(take("c").await.is_err());
        assert!(room.take("c", &of(SMALL_BYTES), 16 << 20).await.expect("it needs none").is_none());
        drop((of_a, of_b));
        assert!(take("c").await.expect("room").is_some());
        assert_eq!(room.shares.lock().expect("unpoisoned").len(), 1);
    }
}
