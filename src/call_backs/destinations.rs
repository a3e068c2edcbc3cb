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
/// Places of one topic for calls to destinations that did not answer last, and the bytes of a body that one place is for. Together they
/// are half of the jobs, and of the bytes, that a topic may hold: those that hang do not keep it from its other jobs.
const UNPROVEN_MAX: u32 = 1024;
const UNPROVEN_BYTES: usize = 8 << 10;
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
    /// Until when there may be no place for a call.
    full_until: Option<Instant>,
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
        let unproven = Arc::new(Semaphore::new(UNPROVEN_MAX as usize));
        Self { concurrency, per_second_max, unproven, known: Mutex::default() }
    }

    /// Whether this destination may be called, with a body of so many bytes.
    pub(super) fn pass(&self, origin: &Origin, body_bytes: usize, room: &Room) -> Result<Pass, NoPass> {
        let of = self.of(origin);
        let mut state = of.state();
        let is_proven = state.breaker.is_proven();
        if is_proven && state.calls >= self.concurrency {
            return Err(state.full(NO_PLACE_PAUSE));
        }
        // One that failed a moment ago may hang from now on.
        let is_steady = state.breaker.is_steady();
        let lane = if is_steady { Lane::Proven } else { Lane::Probation };
        let is_free = state.breaker.has_opened();
        let is_first = state.calls == 0 && !is_free;
        let admission = match state.breaker.admit(Instant::now()) {
            Admission::Wait(pause) => return Err(NoPass::Open(pause)),
            admission => admission,
        };
        let of_topic = if is_steady { None } else { self.unproven_place(body_bytes, is_first) };
        let place = room.take(lane, is_first).filter(|_| is_steady || of_topic.is_some());
        let Some(place) = place else {
            state.breaker.gave_up(admission);
            return Err(state.full(if is_proven { NO_PLACE_PAUSE } else { UNPROVEN_PAUSE }));
        };
        state.calls += 1;
        drop(state);
        Ok(Pass { of, lane, admission, is_free, is_told: false, _places: (place, of_topic) })
    }

    /// Half of these places, too, are for the first call of a destination.
    fn unproven_place(&self, body_bytes: usize, is_first: bool) -> Option<OwnedSemaphorePermit> {
        let half = UNPROVEN_MAX / 2;
        if !is_first && self.unproven.available_permits() < half as usize {
            return None;
        }
        let places = u32::try_from(body_bytes.div_ceil(UNPROVEN_BYTES)).unwrap_or(half).clamp(1, half);
        Arc::clone(&self.unproven).try_acquire_many_owned(places).ok()
    }

    /// Whether calls to it succeed.
    pub(super) fn is_proven(&self, origin: &Origin) -> bool {
        self.of(origin).state().breaker.is_proven()
    }

    /// Until when it is left alone, or has no place.
    pub(super) fn rests_until(&self, origin: &Origin) -> Option<Instant> {
        let of = self.of(origin);
        let state = of.state();
        state.breaker.open_until().max(state.full_until.filter(|until| *until > Instant::now()))
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

impl State {
    fn full(&mut self, pause: Duration) -> NoPass {
        self.full_until = Some(Instant::now() + pause);
        NoPass::Full(pause)
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
        let (room, destinations) = (Room::new(2048), Destinations::new(2, None));
        let first = destinations.pass(&origin("a"), 0, &room).expect("a probe");
        assert!(first.is_probe() && first.lane == Lane::Probation);
        assert!(matches!(destinations.pass(&origin("a"), 0, &room), Err(NoPass::Open(_))));
        let other = destinations.pass(&origin("b"), 0, &room).expect("a probe");
        assert_eq!(first.ended(Health::Well), None);
        let both = [(); 2].map(|()| destinations.pass(&origin("a"), 0, &room).expect("a call"));
        assert!(both.iter().all(|pass| !pass.is_probe() && pass.lane == Lane::Proven));
        assert!(matches!(destinations.pass(&origin("a"), 0, &room), Err(NoPass::Full(_))));
        drop(both);
        assert!(destinations.pass(&origin("a"), 0, &room).is_ok());
        assert!(other.ended(Health::Absent).is_some());
        assert_eq!((destinations.open(), destinations.rests_until(&origin("b")).is_some()), (1, true));
        assert!(matches!(destinations.pass(&origin("b"), 0, &room), Err(NoPass::Open(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn destinations_that_hang_leave_a_topic_to_the_others() {
        let (room, destinations) = (Room::new(2048), Destinations::new(2, None));
        destinations.pass(&origin("live"), 0, &room).expect("a probe").ended(Health::Well);
        let hanging = |nth: u32| destinations.pass(&origin(&format!("dead{nth}")), 0, &room);
        let held: Vec<Pass> = (0..UNPROVEN_MAX).map(|nth| hanging(nth).expect("a probe")).collect();
        assert!(matches!(hanging(UNPROVEN_MAX), Err(NoPass::Full(UNPROVEN_PAUSE))));
        assert!(destinations.pass(&origin("live"), 0, &room).is_ok());
        assert!(Destinations::new(2, None).pass(&origin("another topic's"), 0, &room).is_ok());
        drop(held);
        assert!(hanging(UNPROVEN_MAX).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_that_hang_leave_a_topic_to_the_others() {
        let (room, destinations) = (Room::new(2048), Destinations::new(2, None));
        destinations.pass(&origin("live"), 0, &room).expect("a probe").ended(Health::Well);
        let hanging = |nth: usize| destinations.pass(&origin(&format!("dead{nth}")), 1 << 20, &room);
        let held: Vec<Pass> = (0..8).map(|nth| hanging(nth).expect("a probe")).collect();
        assert!(matches!(hanging(8), Err(NoPass::Full(UNPROVEN_PAUSE))));
        assert!(destinations.rests_until(&origin("dead8")).is_some());
        assert!(destinations.pass(&origin("live"), 1 << 20, &room).is_ok());
        drop(held);
        assert!(destinations.pass(&origin("dead8"), usize::MAX, &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn destinations_that_failed_leave_places_to_those_that_were_never_called() {
        let (room, destinations) = (Room::new(2048), Destinations::new(2, None));
        let half = UNPROVEN_MAX / 2;
        let call = |nth: u32| destinations.pass(&origin(&format!("dead{nth}")), 0, &room);
        for nth in 0..=half + 1 {
            assert!(call(nth).expect("a probe").ended(Health::Absent).is_some());
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let _held: Vec<Pass> = (0..=half).map(|nth| call(nth).expect("a probe")).collect();
        assert!(matches!(call(half + 1), Err(NoPass::Full(UNPROVEN_PAUSE))));
        assert!(destinations.pass(&origin("new"), 0, &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_failed_a_moment_ago_takes_no_place_of_those_that_answer() {
        let (room, destinations) = (Room::new(2048), Destinations::new(2, None));
        let call = || destinations.pass(&origin("a"), 0, &room).expect("a call");
        call().ended(Health::Well);
        let other = call();
        call().ended(Health::Absent);
        assert_eq!((other.lane, call().lane), (Lane::Proven, Lane::Probation));
        other.ended(Health::Well);
        assert_eq!(call().lane, Lane::Proven);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_was_not_made_is_made_by_the_next() {
        let (room, destinations) = (Room::new(2048), Destinations::new(2, None));
        drop(destinations.pass(&origin("a"), 0, &room).expect("a probe"));
        assert_eq!(destinations.pass(&origin("a"), 0, &room).expect("a probe").ended(Health::Unknown), None);
        assert!(destinations.pass(&origin("a"), 0, &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_each_destination() {
        let (room, destinations) = (Room::new(2048), Destinations::new(16, Some(2)));
        let waits = |host| {
            let pass = destinations.pass(&origin(host), 0, &room).expect("a pass");
            let wait = pass.wait_for_rate();
            pass.ended(Health::Well);
            wait.is_some()
        };
        assert_eq!([waits("a"), waits("a"), waits("a"), waits("b")], [false, false, true, false]);
    }
}
