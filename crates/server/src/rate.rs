//! A rate limit: the generic cell rate algorithm (ITU-T I.371), which is a token bucket without a bucket.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The default burst: after a pause, the amount of one second may come at once.
const BURST: Duration = Duration::from_secs(1);
/// The resolution of timers.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// A limit to the amount per second.
#[derive(Debug)]
pub struct Rate {
    per_second: u32,
    /// The burst: after a pause, the amount of this time may come at once.
    burst: Duration,
    /// When everything that was done would be paid for at this rate.
    paid: Mutex<Option<Instant>>,
}

impl Rate {
    /// A limit of this amount per second.
    pub fn new(per_second: u32) -> Self {
        Self::with_burst(per_second, BURST)
    }

    /// A limit of this amount per second with this burst.
    pub fn with_burst(per_second: u32, burst: Duration) -> Self {
        Self { per_second: per_second.max(1), burst, paid: Mutex::default() }
    }

    /// The amount per second.
    pub fn per_second(&self) -> u32 {
        self.per_second
    }

    /// Charges this amount. It may be more than a second's: then later calls wait that much longer.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded: the time to wait.
    pub fn take(&self, much: u64) -> Result<(), Duration> {
        let (mut paid, now) = (self.paid(), Instant::now());
        self.check_at(*paid, now)?;
        *paid = Some(paid.map_or(now, |paid| paid.max(now)) + self.costs(much));
        Ok(())
    }

    /// Fails if [`Self::take`] would fail now; charges nothing.
    pub fn check(&self) -> Result<(), Duration> {
        self.check_at(*self.paid(), Instant::now())
    }

    /// Charges this amount even if it exceeds the limit: later calls wait that much longer.
    pub fn charge(&self, much: u64) {
        let (mut paid, now) = (self.paid(), Instant::now());
        *paid = Some(paid.map_or(now, |paid| paid.max(now)) + self.costs(much));
    }

    /// How much may be done now, up to `much`; if nothing, how long to wait.
    pub fn room(&self, much: u32) -> Result<u32, Duration> {
        let now = Instant::now();
        let ahead = self.paid().map_or(Duration::ZERO, |paid| paid.saturating_duration_since(now));
        let left =
            self.burst.saturating_sub(ahead).as_nanos() * u128::from(self.per_second) / NANOS_PER_SECOND;
        match u32::try_from(left).unwrap_or(u32::MAX).min(much) {
            // Rounded up, so that there is room after this wait.
            0 => Err((ahead + self.costs(1) + SHORTEST_WAIT).saturating_sub(self.burst)),
            room => Ok(room),
        }
    }

    fn check_at(&self, paid: Option<Instant>, now: Instant) -> Result<(), Duration> {
        let ahead = paid.map_or(Duration::ZERO, |paid| paid.saturating_duration_since(now));
        if ahead < self.burst { Ok(()) } else { Err(ahead.saturating_sub(self.burst) + self.costs(1)) }
    }

    fn paid(&self) -> MutexGuard<'_, Option<Instant>> {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn costs(&self, much: u64) -> Duration {
        let nanos = u128::from(much) * NANOS_PER_SECOND / u128::from(self.per_second);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn what_is_too_much_waits_until_it_is_paid_for() {
        let rate = Rate::new(100);
        assert_eq!(rate.take(250), Ok(()), "after a pause as much as there is at once");
        assert_eq!((rate.take(1), rate.room(5)), (Err(1510 * MS), Err(1511 * MS)));
        tokio::time::advance(1500 * MS).await;
        assert_eq!(rate.take(1), Err(10 * MS));
        tokio::time::advance(10 * MS).await;
        assert_eq!((rate.room(5), rate.take(1), rate.take(1)), (Ok(1), Ok(()), Err(10 * MS)));
        tokio::time::advance(3600 * 1000 * MS).await;
        assert_eq!(
            (rate.room(5), rate.room(1000)),
            (Ok(5), Ok(100)),
            "a long pause brings no more than a second"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_may_be_what_more_than_a_second_brings() {
        let rate = Rate::with_burst(1, 10 * Duration::from_secs(1));
        assert_eq!((0..20).filter(|_| rate.take(1).is_ok()).count(), 10);
        tokio::time::advance(3000 * MS).await;
        assert_eq!((0..20).filter(|_| rate.take(1).is_ok()).count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_done_is_charged_whether_there_was_room_or_not() {
        let rate = Rate::new(100);
        assert_eq!(rate.check(), Ok(()));
        rate.charge(100);
        rate.charge(200);
        assert_eq!(rate.check(), Err(2010 * MS));
        tokio::time::advance(2010 * MS).await;
        assert_eq!((rate.check(), rate.room(9)), (Ok(()), Ok(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn over_time_as_much_is_done_as_may_be() {
        let rate = Rate::new(30);
        let begun = Instant::now();
        let mut done = 0;
        while begun.elapsed() < Duration::from_secs(10) {
            match rate.room(7) {
                Ok(room) => {
                    rate.take(room.into()).expect("there is room");
                    done += room;
                }
                Err(wait) => tokio::time::advance(wait).await,
            }
        }
        assert!((329..=331).contains(&done), "{done} in ten seconds, and a second's at once");
    }
}
