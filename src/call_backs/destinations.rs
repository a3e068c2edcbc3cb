//! What a topic knows of each of its destinations, and whether one may be called now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::breaker::{Admission, Breaker};
use super::destination::Origin;
use super::outcome::Health;
use super::room::{Lane, Room};
use crate::server::Rate;

/// Beyond this many, those of which nothing is known that matters are forgotten.
const KEPT_MAX: usize = 20_000;
/// A job that finds no place for its call comes again after this time.
const NO_PLACE_PAUSE: Duration = Duration::from_millis(500);
/// Calls of one topic at the same time to destinations that are not known to answer. It is half of the jobs that a topic may hold, so
/// those that hang do not keep the topic from its other jobs.
const UNPROVEN_MAX: usize = 1024;
/// A job for such a destination that finds no place comes again after this time: there may be very many.
const UNPROVEN_PAUSE: Duration = Duration::from_secs(5);

/// The destinations of one topic.
#[derive(Debug)]
pub(super) struct Destinations {
    /// Calls of one destination at the same time.
    concurrency: u32,
    per_second_max: Option<u32>,
    unproven: Arc<Semaphore>,
    known: Mutex<BTreeMap<Origin, Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    rate: Option<Rate>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    breaker: Breaker,
    calls: u32,
}

/// A call that may be made.
#[derive(Debug)]
pub(super) struct Pass {
    of: Arc<Known>,
    pub(super) lane: Lane,
    admission: Admission,
    /// The destination was left alone before: the call is made to see how it is.
    is_free: bool,
    /// How it ended was said.
    is_told: bool,
    _places: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
}

/// Why a call may not be made now: it may be after this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPass {
    /// The destination is left alone.
    Open(Duration),
    /// It has as many calls as it may.
    Full(Duration),
}

impl Destinations {
    pub(super) fn new(concurrency: u32, per_second_max: Option<u32>) -> Self {
        let unproven = Arc::new(Semaphore::new(UNPROVEN_MAX));
        Self { concurrency, per_second_max, unproven, known: Mutex::default() }
    }

    /// Whether this destination may be called.
    pub(super) fn pass(&self, origin: &Origin, room: &Room) -> Result<Pass, NoPass> {
        let of = self.of(origin);
        let mut state = of.state();
        let is_proven = state.breaker.is_proven();
        if is_proven && state.calls >= self.concurrency {
            return Err(NoPass::Full(NO_PLACE_PAUSE));
        }
        let is_free = state.breaker.has_opened();
        let lane = if is_proven { Lane::Proven } else { Lane::Probation };
        let admission = match state.breaker.admit(Instant::now()) {
            Admission::Wait(pause) => return Err(NoPass::Open(pause)),
            admission => admission,
        };
        let of_topic = if is_proven { None } else { Arc::clone(&self.unproven).try_acquire_owned().ok() };
        let place = room.take(lane, state.calls).filter(|_| is_proven || of_topic.is_some());
        let Some(place) = place else {
            state.breaker.gave_up(admission);
            return Err(NoPass::Full(if is_proven { NO_PLACE_PAUSE } else { UNPROVEN_PAUSE }));
        };
        state.calls += 1;
        drop(state);
        Ok(Pass { of, lane, admission, is_free, is_told: false, _places: (place, of_topic) })
    }

    /// Whether calls to it succeed.
    pub(super) fn is_proven(&self, origin: &Origin) -> bool {
        self.of(origin).state().breaker.is_proven()
    }

    /// Until when it is left alone.
    pub(super) fn open_until(&self, origin: &Origin) -> Option<Instant> {
        self.of(origin).state().breaker.open_until()
    }

    /// How many destinations are left alone now.
    pub(super) fn open(&self) -> usize {
        let now = Instant::now();
        let is_open =
            |known: &Arc<Known>| known.state().breaker.open_until().is_some_and(|until| until > now);
        self.known().values().filter(|known| is_open(known)).count()
    }

    fn of(&self, origin: &Origin) -> Arc<Known> {
        let mut known = self.known();
        if let Some(found) = known.get(origin) {
            return Arc::clone(found);
        }
        if known.len() >= KEPT_MAX {
            let now = Instant::now();
            known.retain(|_, known| {
                let state = known.state();
                state.calls > 0 || !state.breaker.is_idle(now)
            });
        }
        let new = Arc::new(Known { rate: self.per_second_max.map(Rate::new), state: Mutex::default() });
        known.insert(origin.clone(), Arc::clone(&new));
        new
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Origin, Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Whether the call shows how the destination is.
    pub(super) fn is_probe(&self) -> bool {
        self.admission == Admission::Probe
    }

    /// Whether it is made to see whether a destination that failed is well again.
    pub(super) fn is_free(&self) -> bool {
        self.is_free
    }

    /// How long the destination's rate has it wait; nothing when it may be made now, and then it counts.
    pub(super) fn wait_for_rate(&self) -> Option<Duration> {
        self.of.rate.as_ref().and_then(|rate| rate.take(1).err())
    }

    /// The call has ended. Returns how long the destination is left alone, if it is.
    pub(super) fn ended(mut self, health: Health) -> Option<Duration> {
        self.is_told = true;
        let mut state = self.of.state();
        match health {
            Health::Well => {
                state.breaker.succeeded();
                None
            }
            Health::Failing | Health::Absent => state.breaker.failed(self.admission, Instant::now()),
            Health::Unknown => {
                state.breaker.gave_up(self.admission);
                None
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.of.state();
        state.calls = state.calls.saturating_sub(1);
        if !self.is_told {
            state.breaker.gave_up(self.admission);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(host: &str) -> Origin {
        Origin { is_secure: false, host: host.to_owned(), port: 80 }
    }

    #[tokio::test(start_paused = true)]
    async fn one_destination_does_not_hold_up_another() {
        let (room, destinations) = (Room::new(), Destinations::new(2, None));
        let first = destinations.pass(&origin("a"), &room).expect("a probe");
        assert!(first.is_probe() && first.lane == Lane::Probation);
        assert!(matches!(destinations.pass(&origin("a"), &room), Err(NoPass::Open(_))));
        let other = destinations.pass(&origin("b"), &room).expect("a probe");
        assert_eq!(first.ended(Health::Well), None);
        let both = [(); 2].map(|()| destinations.pass(&origin("a"), &room).expect("a call"));
        assert!(both.iter().all(|pass| !pass.is_probe() && pass.lane == Lane::Proven));
        assert!(matches!(destinations.pass(&origin("a"), &room), Err(NoPass::Full(_))));
        drop(both);
        assert!(destinations.pass(&origin("a"), &room).is_ok());
        assert!(other.ended(Health::Absent).is_some());
        assert_eq!((destinations.open(), destinations.open_until(&origin("b")).is_some()), (1, true));
        assert!(matches!(destinations.pass(&origin("b"), &room), Err(NoPass::Open(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn destinations_that_hang_leave_a_topic_to_the_others() {
        let (room, destinations) = (Room::new(), Destinations::new(2, None));
        destinations.pass(&origin("live"), &room).expect("a probe").ended(Health::Well);
        let hanging = |nth: usize| destinations.pass(&origin(&format!("dead{nth}")), &room);
        let held: Vec<Pass> = (0..UNPROVEN_MAX).map(|nth| hanging(nth).expect("a probe")).collect();
        assert!(matches!(hanging(UNPROVEN_MAX), Err(NoPass::Full(UNPROVEN_PAUSE))));
        assert!(destinations.pass(&origin("live"), &room).is_ok());
        assert!(Destinations::new(2, None).pass(&origin("another topic's"), &room).is_ok());
        drop(held);
        assert!(hanging(UNPROVEN_MAX).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_was_not_made_is_made_by_the_next() {
        let (room, destinations) = (Room::new(), Destinations::new(2, None));
        drop(destinations.pass(&origin("a"), &room).expect("a probe"));
        assert_eq!(destinations.pass(&origin("a"), &room).expect("a probe").ended(Health::Unknown), None);
        assert!(destinations.pass(&origin("a"), &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_each_destination() {
        let (room, destinations) = (Room::new(), Destinations::new(16, Some(2)));
        let waits = |host| {
            let pass = destinations.pass(&origin(host), &room).expect("a pass");
            let wait = pass.wait_for_rate();
            pass.ended(Health::Well);
            wait.is_some()
        };
        assert_eq!([waits("a"), waits("a"), waits("a"), waits("b")], [false, false, true, false]);
    }
}
