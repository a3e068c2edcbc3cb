//! A circuit breaker: a destination that fails gets no calls for a while, then one trial call, the probe.
//!
//! The pattern is M. Nygard's ("Release It!"); the pause doubles from one failed probe to the next.

use std::time::Duration;

use tokio::time::Instant;

/// Consecutive failures that open the breaker of a destination that worked before.
const FAILURES_MAX: u32 = 5;
/// The first pause, and the longest one.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// Jobs that come during a probe wait for as long as it has taken already, within these limits: so jobs of a destination
/// that hangs come back a few times, and those of one that answers at once hardly wait.
const PROBED_PAUSE_MIN: Duration = Duration::from_millis(250);
const PROBED_PAUSE_MAX: Duration = Duration::from_secs(5);

/// The health of a destination, as far as calls have shown it.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// True if a call has succeeded since the breaker was last open.
    is_proven: bool,
    failures: u32,
    pause: Duration,
    /// No call before this time.
    open_until: Option<Instant>,
    /// When the probe under way began.
    probed_since: Option<Instant>,
}

/// The answer to a request for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Allowed, as one of many.
    Call,
    /// Allowed as the only call: it probes the destination.
    Probe,
    /// Not allowed for this time.
    Wait(Duration),
}

impl Breaker {
    /// Decides whether a call may be made now. For an allowed call, report how it ended.
    pub(super) fn admit(&mut self, now: Instant) -> Admission {
        if self.is_proven {
            return Admission::Call;
        }
        if let Some(left) = self.open_for(now) {
            return Admission::Wait(left);
        }
        if let Some(since) = self.probed_since {
            return Admission::Wait((now - since).clamp(PROBED_PAUSE_MIN, PROBED_PAUSE_MAX));
        }
        self.probed_since = Some(now);
        Admission::Probe
    }

    /// The time until which no call may be made.
    pub(super) fn open_until(&self) -> Option<Instant> {
        self.open_until.filter(|_| !self.is_proven)
    }

    /// How much longer no call may be made.
    pub(super) fn open_for(&self, now: Instant) -> Option<Duration> {
        let left = self.open_until()?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// True if calls succeed.
    pub(super) fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// True if the last call succeeded.
    pub(super) fn is_steady(&self) -> bool {
        self.is_proven && self.failures == 0
    }

    /// True if it was opened before.
    pub(super) fn has_opened(&self) -> bool {
        self.open_until.is_some()
    }

    /// True while a probe is under way.
    pub(super) fn is_probed(&self) -> bool {
        self.probed_since.is_some()
    }

    /// How many calls have failed since the last success.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Reports a successful call.
    pub(super) fn succeeded(&mut self) {
        *self = Self { is_proven: true, ..Self::default() };
    }

    /// Reports a failed call, and the pause that the destination asked for, if any. Returns the pause if the breaker is
    /// open.
    pub(super) fn failed(
        &mut self,
        admission: Admission,
        asked: Option<Duration>,
        now: Instant,
    ) -> Option<Duration> {
        if admission == Admission::Probe {
            self.probed_since = None;
        } else if !self.is_proven {
            // One of several calls that were under way when it opened.
            return None;
        }
        self.failures += 1;
        if self.is_proven && self.failures < FAILURES_MAX {
            return None;
        }
        self.pause = (self.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
        self.is_proven = false;
        let alone = self.pause.max(asked.unwrap_or_default());
        self.open_until = Some(now + alone);
        Some(alone)
    }

    /// Reports that an allowed call was not made.
    pub(super) fn gave_up(&mut self, admission: Admission) {
        if admission == Admission::Probe {
            self.probed_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn a_destination_shows_that_it_is_well_before_it_gets_more_than_one_call() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        assert_eq!(breaker.admit(now), Admission::Probe);
        for (after, pause) in [(0, 250), (250, 250), (700, 700), (20_000, 5_000)].map(|(a, b)| (ms(a), ms(b)))
        {
            assert_eq!(breaker.admit(now + after), Admission::Wait(pause));
        }
        breaker.succeeded();
        assert_eq!((breaker.admit(now), breaker.admit(now)), (Admission::Call, Admission::Call));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_left_alone_after_failures_and_each_time_for_longer() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        breaker.succeeded();
        for _ in 0..4 {
            assert_eq!(breaker.failed(Admission::Call, None, now), None);
        }
        assert_eq!(breaker.failed(Admission::Call, None, now), Some(S));
        assert_eq!(breaker.failed(Admission::Call, None, now), None, "it was under way before");
        assert_eq!(breaker.admit(now + S / 2), Admission::Wait(S / 2));
        for pause in [2, 4, 8, 16, 32, 60, 60] {
            now = breaker.open_until().expect("open");
            assert_eq!(breaker.admit(now), Admission::Probe);
            assert_eq!(breaker.failed(Admission::Probe, None, now), Some(pause * S));
        }
        now = breaker.open_until().expect("open");
        assert_eq!(breaker.admit(now), Admission::Probe);
        breaker.succeeded();
        assert_eq!((breaker.admit(now), breaker.open_until()), (Admission::Call, None));
        assert_eq!(breaker.failed(Admission::Call, None, now), None, "it begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_left_alone_for_as_long_as_it_asks() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let probe = breaker.admit(now);
        assert_eq!(breaker.failed(probe, Some(300 * S), now), Some(300 * S));
        assert_eq!(breaker.admit(now + 299 * S), Admission::Wait(S));
        let (probe, now) = (breaker.admit(now + 300 * S), now + 300 * S);
        assert_eq!(probe, Admission::Probe);
        assert_eq!(breaker.failed(probe, Some(Duration::ZERO), now), Some(2 * S), "it shortens nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_not_made_leaves_the_place_to_the_next() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let probe = breaker.admit(now);
        breaker.gave_up(probe);
        assert_eq!(breaker.admit(now), Admission::Probe);
    }
}
