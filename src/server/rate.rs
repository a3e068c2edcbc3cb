//! How much may be done a second: the generic cell rate algorithm (ITU-T I.371), which is a token bucket without a bucket.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So much may be done at once after a pause, if it is not said otherwise: what a second brings.
const BURST: Duration = Duration::from_secs(1);
/// What timers can tell.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// A limit to how much is done a second.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: u32,
    /// What this time brings may be done at once.
    burst: Duration,
    /// When all that was done would be paid for at this rate.
    paid: Mutex<Option<Instant>>,
}

impl Rate {
    /// So much a second.
    pub(crate) fn new(per_second: u32) -> Self {
        Self::with_burst(per_second, BURST)
    }

    /// So much a second, and after a pause at once what this time brings.
    pub(crate) fn with_burst(per_second: u32, burst: Duration) -> Self {
        Self { per_second: per_second.max(1), burst, paid: Mutex::default() }
    }

    /// How much may be done a second.
    pub(crate) fn per_second(&self) -> u32 {
        self.per_second
    }

    /// Does this much. What is done at once may be more than a second's: then what follows waits as much longer.
    ///
    /// # Errors
    ///
    /// Too much was done: nothing may be for this time.
    pub(crate) fn take(&self, much: u64) -> Result<(), Duration> {
        let (mut paid, now) = (self.paid(), Instant::now());
        self.check_at(*paid, now)?;
        *paid = Some(paid.map_or(now, |paid| paid.max(now)) + self.costs(much));
        Ok(())
    }

    /// Whether [`Self::take`] would do anything now.
    pub(crate) fn check(&self) -> Result<(), Duration> {
        self.check_at(*self.paid(), Instant::now())
    }

    /// This much was done, whether it might be or not: what follows waits as much longer.
    pub(crate) fn charge(&self, much: u64) {
        let (mut paid, now) = (self.paid(), Instant::now());
        *paid = Some(paid.map_or(now, |paid| paid.max(now)) + self.costs(much));
    }

    /// How much may be done now, up to `much`; without any, how long to wait.
    pub(crate) fn room(&self, much: u32) -> Result<u32, Duration> {
        let now = Instant::now();
        let ahead = self.paid().map_or(Duration::ZERO, |paid| paid.saturating_duration_since(now));
        let left =
            self.burst.saturating_sub(ahead).as_nanos() * u128::from(self.per_second) / NANOS_PER_SECOND;
        match u32::try_from(left).unwrap_or(u32::MAX).min(much) {
            // Rounded up: whoever waits so long finds room.
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
