//! The state of each of a topic's destinations, and the decision whether one may be called now.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::breaker::{Admission, Breaker};
use super::call_slots::{Bodies, CallSlot, CallSlots, Reputation};
use super::destination::Origin;
use super::outcome::Health;
use adjourn_server::Rate;

/// Most remembered destinations. For another one, the one that was called, or wanted, the longest ago is forgotten.
const KEPT_MAX: usize = 20_000;
/// Destinations with calls under way are not forgotten: one without is searched among this many.
const LOOKED_AT_MAX: usize = 256;
/// A job that finds no slot for its call comes back after this time.
const NO_PLACE_PAUSE: Duration = Duration::from_millis(500);
/// Slots of one topic for calls to destinations that did not answer last, and the bytes of a body that one slot is for.
/// Together they are half of the jobs, and of the bytes, that a topic may hold: destinations that hang do not keep it from
/// its other jobs.
const UNPROVEN_MAX: u32 = 1024;
const UNPROVEN_BYTES: usize = 8 << 10;
/// A job for such a destination that finds no slot comes back after this time: there may be very many.
const UNPROVEN_PAUSE: Duration = Duration::from_secs(5);

/// After a pause a destination gets the calls of this time at once, and at least one. Timers need such a burst: they are
/// not finer than a millisecond.
const RATE_BURST: Duration = Duration::from_millis(50);

/// The destinations of one topic.
#[derive(Debug)]
pub(super) struct Destinations {
    /// Most concurrent calls to one destination.
    concurrency: u32,
    per_second_max: Option<u32>,
    unproven: Arc<Semaphore>,
    /// Memory for the bodies of its calls.
    bodies: Bodies,
    remembered: Mutex<Remembered>,
}

/// The known destinations, at most [`KEPT_MAX`].
#[derive(Debug, Default)]
struct Remembered {
    by_origin: BTreeMap<Origin, Entry>,
    /// The destinations by the turn in which they were last wanted.
    by_turn: BTreeMap<u64, Origin>,
    /// The last turn.
    turn: u64,
}

#[derive(Debug)]
struct Entry {
    known: Arc<Known>,
    turn: u64,
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
    /// The time until which there may be no slot for a call.
    full_until: Option<Instant>,
    /// True if the last call found no slot.
    is_cramped: bool,
}

/// Permission for one call.
#[derive(Debug)]
pub(super) struct CallPermit {
    of: Arc<Known>,
    pub(super) reputation: Reputation,
    admission: Admission,
    /// True if the call before it found no slot.
    was_cramped: bool,
    /// True once the end of the call was reported.
    is_told: bool,
    _slots: HeldSlots,
}

/// The slots of a call, until this is dropped.
#[derive(Debug)]
struct HeldSlots {
    _of_node: CallSlot,
    _share: OwnedSemaphorePermit,
    _unproven: Option<OwnedSemaphorePermit>,
}

/// Why a call may not be made now, and after what time it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotPermitted {
    /// The breaker of the destination is open.
    Open(Duration),
    /// The destination has its maximum of calls.
    Full(Duration),
}

/// The destinations of a topic, as this node knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationsSeen {
    /// How many it remembers.
    pub known: usize,
    /// Some of them, those with the most failures first.
    pub worst: Vec<DestinationSeen>,
}

/// A destination of a topic, as this node knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationSeen {
    /// Scheme, host and port.
    pub origin: String,
    /// Whether it is called.
    pub state: DestinationState,
    /// Calls that have failed since the last success.
    pub failures: u32,
    /// Calls under way.
    pub calls: u32,
}

/// Whether a destination is called now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationState {
    /// Its breaker is closed: calls succeed.
    Closed,
    /// Its breaker is open for this time: there are no calls.
    Open(Duration),
    /// A probe is under way.
    Probing,
    /// The next call will be a probe.
    Unproven,
}

impl Destinations {
    pub(super) fn new(concurrency: u32, per_second_max: Option<u32>, bodies: Bodies) -> Self {
        let unproven = Arc::new(Semaphore::new(UNPROVEN_MAX as usize));
        Self { concurrency, per_second_max, unproven, bodies, remembered: Mutex::default() }
    }

    /// Permits a call to this destination with bodies of this many bytes, if it may be made now.
    pub(super) fn pass(
        &self,
        origin: &Origin,
        body_bytes: usize,
        room: &CallSlots,
    ) -> Result<CallPermit, NotPermitted> {
        let Some(of) = self.wanted(origin) else { return Err(NotPermitted::Full(UNPROVEN_PAUSE)) };
        let mut state = of.state();
        let is_proven = state.breaker.is_proven();
        if is_proven && state.calls >= self.concurrency {
            return Err(state.full(NO_PLACE_PAUSE));
        }
        // A destination that failed a moment ago may hang from now on.
        let is_steady = state.breaker.is_steady();
        let reputation = if is_steady { Reputation::Proven } else { Reputation::Probation };
        let is_first = state.calls == 0 && !state.breaker.has_opened();
        let admission = match state.breaker.admit(Instant::now()) {
            Admission::Wait(pause) => return Err(NotPermitted::Open(pause)),
            admission => admission,
        };
        let slots = || {
            let unproven = if is_steady { None } else { Some(self.unproven_place(body_bytes, is_first)?) };
            let (share, of_node) =
                (self.bodies.take(body_bytes)?, room.take(reputation, is_first, body_bytes)?);
            Some(HeldSlots { _of_node: of_node, _share: share, _unproven: unproven })
        };
        let Some(slots) = slots() else {
            state.breaker.gave_up(admission);
            return Err(state.full(if is_proven { NO_PLACE_PAUSE } else { UNPROVEN_PAUSE }));
        };
        state.calls += 1;
        let was_cramped = std::mem::take(&mut state.is_cramped);
        drop(state);
        Ok(CallPermit { of, reputation, admission, was_cramped, is_told: false, _slots: slots })
    }

    /// A slot for an unproven destination. Half of these slots, too, are reserved for first calls.
    fn unproven_place(&self, body_bytes: usize, is_first: bool) -> Option<OwnedSemaphorePermit> {
        let half = UNPROVEN_MAX / 2;
        if !is_first && self.unproven.available_permits() < half as usize {
            return None;
        }
        let places = u32::try_from(body_bytes.div_ceil(UNPROVEN_BYTES)).unwrap_or(half).clamp(1, half);
        Arc::clone(&self.unproven).try_acquire_many_owned(places).ok()
    }

    /// True if calls to it succeed, and find a slot.
    pub(super) fn takes_more(&self, origin: &Origin) -> bool {
        let Some(of) = self.remembered().get(origin) else { return false };
        let state = of.state();
        state.breaker.is_proven() && !state.is_cramped
    }

    /// The maximum of bodies in its concurrent calls, in bytes.
    pub(super) fn bodies_bytes_max(&self) -> u64 {
        self.bodies.bytes_max()
    }

    /// The time until which its breaker is open, or it has no slot.
    pub(super) fn rests_until(&self, origin: &Origin) -> Option<Instant> {
        let of = self.remembered().get(origin)?;
        let state = of.state();
        state.breaker.open_until().max(state.full_until.filter(|until| *until > Instant::now()))
    }

    /// How much longer its breaker is open.
    pub(super) fn suspended_for(&self, origin: &Origin) -> Option<Duration> {
        self.remembered().get(origin)?.state().breaker.open_for(Instant::now())
    }

    /// How many destinations have an open breaker now.
    pub(super) fn open(&self) -> usize {
        let now = Instant::now();
        let is_open = |known: &Arc<Known>| known.state().breaker.open_for(now).is_some();
        self.remembered().by_origin.values().filter(|entry| is_open(&entry.known)).count()
    }

    /// Its destinations, at most this many of them.
    pub(super) fn seen(&self, most: usize) -> DestinationsSeen {
        let (now, remembered) = (Instant::now(), self.remembered());
        let known = remembered.by_origin.iter();
        let mut all: Vec<_> =
            known.map(|(origin, entry)| (entry.known.state().breaker.failures(), origin, entry)).collect();
        all.sort_by_key(|(failures, ..)| Reverse(*failures));
        let worst = all.iter().take(most).map(|(failures, origin, entry)| {
            let state = entry.known.state();
            DestinationSeen {
                origin: origin.to_string(),
                state: state.seen(now),
                failures: *failures,
                calls: state.calls,
            }
        });
        DestinationsSeen { known: all.len(), worst: worst.collect() }
    }

    /// The destination, remembered from now on. `None` if there is no room for one more.
    fn wanted(&self, origin: &Origin) -> Option<Arc<Known>> {
        let mut remembered = self.remembered();
        if let Some(found) = remembered.renew(origin) {
            return Some(found);
        }
        if remembered.by_origin.len() >= KEPT_MAX && !remembered.forget_one() {
            return None;
        }
        let rate = self.per_second_max.map(|per_second| {
            Rate::with_burst(per_second, RATE_BURST.max(Duration::from_secs(1) / per_second.max(1)))
        });
        let new = Arc::new(Known { rate, state: Mutex::default() });
        remembered.add(origin.clone(), Arc::clone(&new));
        Some(new)
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn get(&self, origin: &Origin) -> Option<Arc<Known>> {
        self.by_origin.get(origin).map(|entry| Arc::clone(&entry.known))
    }

    /// A remembered destination, which becomes the most recently wanted one.
    fn renew(&mut self, origin: &Origin) -> Option<Arc<Known>> {
        let entry = self.by_origin.get_mut(origin)?;
        self.turn += 1;
        let before = std::mem::replace(&mut entry.turn, self.turn);
        let origin = self.by_turn.remove(&before)?;
        self.by_turn.insert(self.turn, origin);
        Some(Arc::clone(&entry.known))
    }

    fn add(&mut self, origin: Origin, known: Arc<Known>) {
        self.turn += 1;
        self.by_turn.insert(self.turn, origin.clone());
        self.by_origin.insert(origin, Entry { known, turn: self.turn });
    }

    /// Forgets the destination without calls that was wanted the longest ago. `false` if none was found among those
    /// checked.
    fn forget_one(&mut self) -> bool {
        for _ in 0..LOOKED_AT_MAX {
            let Some((_, origin)) = self.by_turn.pop_first() else { return false };
            // A call holds the destination, also before it begins.
            let is_free =
                self.by_origin.get(&origin).is_none_or(|entry| Arc::strong_count(&entry.known) == 1);
            if is_free {
                self.by_origin.remove(&origin);
                return true;
            }
            self.turn += 1;
            if let Some(entry) = self.by_origin.get_mut(&origin) {
                entry.turn = self.turn;
            }
            self.by_turn.insert(self.turn, origin);
        }
        false
    }
}

impl Known {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn seen(&self, now: Instant) -> DestinationState {
        match self.breaker.open_for(now) {
            _ if self.breaker.is_proven() => DestinationState::Closed,
            Some(left) => DestinationState::Open(left),
            None if self.breaker.is_probed() => DestinationState::Probing,
            None => DestinationState::Unproven,
        }
    }

    fn full(&mut self, pause: Duration) -> NotPermitted {
        self.full_until = Some(Instant::now() + pause);
        self.is_cramped = true;
        NotPermitted::Full(pause)
    }
}

impl CallPermit {
    /// True if the call is a probe of the destination.
    pub(super) fn is_probe(&self) -> bool {
        self.admission == Admission::Probe
    }

    /// True if this call found a slot after the one before did not.
    pub(super) fn was_cramped(&self) -> bool {
        self.was_cramped
    }

    /// How long the destination's rate delays the call; `None` if it may be made now, and then it is counted.
    pub(super) fn wait_for_rate(&self) -> Option<Duration> {
        self.of.rate.as_ref().and_then(|rate| rate.take(1).err())
    }

    /// Reports the end of the call, and the pause that the destination asked for, if any. Returns the pause if its breaker
    /// is open.
    pub(super) fn ended(mut self, health: Health, asked: Option<Duration>) -> Option<Duration> {
        self.is_told = true;
        let mut state = self.of.state();
        match health {
            Health::Well => {
                state.breaker.succeeded();
                None
            }
            Health::Failing | Health::Absent => state.breaker.failed(self.admission, asked, Instant::now()),
            Health::Unknown => {
                state.breaker.gave_up(self.admission);
                None
            }
        }
    }
}

impl Drop for CallPermit {
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

    fn new(concurrency: u32, per_second_max: Option<u32>) -> (CallSlots, Destinations) {
        let room = CallSlots::new(2048, 0);
        let bodies = room.share_of_topic();
        (room, Destinations::new(concurrency, per_second_max, bodies))
    }

    fn origin(host: &str) -> Origin {
        Origin { is_secure: false, host: host.to_owned(), port: 80 }
    }

    #[tokio::test(start_paused = true)]
    async fn one_destination_does_not_hold_up_another() {
        let (room, destinations) = new(2, None);
        let first = destinations.pass(&origin("a"), 0, &room).expect("a probe");
        assert!(first.is_probe() && first.reputation == Reputation::Probation);
        assert!(matches!(destinations.pass(&origin("a"), 0, &room), Err(NotPermitted::Open(_))));
        let other = destinations.pass(&origin("b"), 0, &room).expect("a probe");
        assert_eq!(first.ended(Health::Well, None), None);
        let both = [(); 2].map(|()| destinations.pass(&origin("a"), 0, &room).expect("a call"));
        assert!(both.iter().all(|pass| !pass.is_probe() && pass.reputation == Reputation::Proven));
        assert!(matches!(destinations.pass(&origin("a"), 0, &room), Err(NotPermitted::Full(_))));
        drop(both);
        assert!(destinations.pass(&origin("a"), 0, &room).is_ok());
        assert!(other.ended(Health::Absent, None).is_some());
        assert_eq!((destinations.open(), destinations.rests_until(&origin("b")).is_some()), (1, true));
        assert!(matches!(destinations.pass(&origin("b"), 0, &room), Err(NotPermitted::Open(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_fail_are_seen_first() {
        let (room, destinations) = new(2, None);
        let call = |host| destinations.pass(&origin(host), 0, &room).expect("a call");
        call("a").ended(Health::Well, None);
        let _under_way = [call("a"), call("b")];
        call("c").ended(Health::Absent, None);
        let seen = |host: &str, state, failures, calls| DestinationSeen {
            origin: format!("http://{host}"),
            state,
            failures,
            calls,
        };
        let open = DestinationState::Open(Duration::from_secs(1));
        let mut worst = vec![
            seen("c", open, 1, 0),
            seen("a", DestinationState::Closed, 0, 1),
            seen("b", DestinationState::Probing, 0, 1),
        ];
        assert_eq!(destinations.seen(9), DestinationsSeen { known: 3, worst: worst.clone() });
        tokio::time::advance(Duration::from_secs(1)).await;
        worst.truncate(1);
        for one in &mut worst {
            one.state = DestinationState::Unproven;
        }
        assert_eq!(destinations.seen(1), DestinationsSeen { known: 3, worst });
    }

    #[tokio::test(start_paused = true)]
    async fn destinations_that_hang_leave_a_topic_to_the_others() {
        let (room, destinations) = new(2, None);
        destinations.pass(&origin("live"), 0, &room).expect("a probe").ended(Health::Well, None);
        let hanging = |nth: u32| destinations.pass(&origin(&format!("dead{nth}")), 0, &room);
        let held: Vec<CallPermit> = (0..UNPROVEN_MAX).map(|nth| hanging(nth).expect("a probe")).collect();
        assert!(matches!(hanging(UNPROVEN_MAX), Err(NotPermitted::Full(UNPROVEN_PAUSE))));
        assert!(destinations.pass(&origin("live"), 0, &room).is_ok());
        assert!(new(2, None).1.pass(&origin("another topic's"), 0, &room).is_ok());
        drop(held);
        assert!(hanging(UNPROVEN_MAX).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_that_hang_leave_a_topic_to_the_others() {
        let (room, destinations) = new(2, None);
        destinations.pass(&origin("live"), 0, &room).expect("a probe").ended(Health::Well, None);
        let hanging = |nth: usize| destinations.pass(&origin(&format!("dead{nth}")), 1 << 20, &room);
        let held: Vec<CallPermit> = (0..8).map(|nth| hanging(nth).expect("a probe")).collect();
        assert!(matches!(hanging(8), Err(NotPermitted::Full(UNPROVEN_PAUSE))));
        assert!(destinations.rests_until(&origin("dead8")).is_some());
        assert!(destinations.pass(&origin("live"), 1 << 20, &room).is_ok());
        drop(held);
        assert!(destinations.pass(&origin("dead8"), usize::MAX, &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn destinations_that_failed_leave_places_to_those_that_were_never_called() {
        let (room, destinations) = new(2, None);
        let half = UNPROVEN_MAX / 2;
        let call = |nth: u32| destinations.pass(&origin(&format!("dead{nth}")), 0, &room);
        for nth in 0..=half + 1 {
            assert!(call(nth).expect("a probe").ended(Health::Absent, None).is_some());
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let _held: Vec<CallPermit> = (0..=half).map(|nth| call(nth).expect("a probe")).collect();
        assert!(matches!(call(half + 1), Err(NotPermitted::Full(UNPROVEN_PAUSE))));
        assert!(destinations.pass(&origin("new"), 0, &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_failed_a_moment_ago_takes_no_place_of_those_that_answer() {
        let (room, destinations) = new(2, None);
        let call = || destinations.pass(&origin("a"), 0, &room).expect("a call");
        call().ended(Health::Well, None);
        let other = call();
        call().ended(Health::Absent, None);
        assert_eq!((other.reputation, call().reputation), (Reputation::Proven, Reputation::Probation));
        other.ended(Health::Well, None);
        assert_eq!(call().reputation, Reputation::Proven);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_was_not_made_is_made_by_the_next() {
        let (room, destinations) = new(2, None);
        drop(destinations.pass(&origin("a"), 0, &room).expect("a probe"));
        assert_eq!(
            destinations.pass(&origin("a"), 0, &room).expect("a probe").ended(Health::Unknown, None),
            None
        );
        assert!(destinations.pass(&origin("a"), 0, &room).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_each_destination_and_holds_from_the_first_second() {
        for (per_second, most) in [(2, 2), (100, 105)] {
            let (room, destinations) = new(16, Some(per_second));
            let begun = Instant::now();
            let mut calls = 0;
            while begun.elapsed() < Duration::from_secs(1) {
                let pass = destinations.pass(&origin("a"), 0, &room).expect("a pass");
                match pass.wait_for_rate() {
                    None => calls += 1,
                    Some(wait) => tokio::time::advance(wait).await,
                }
                pass.ended(Health::Well, None);
            }
            assert!((per_second..=most).contains(&calls), "{calls} of {per_second} a second");
            let other = destinations.pass(&origin("b"), 0, &room).expect("a pass");
            assert_eq!(other.wait_for_rate(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_destinations_are_remembered_than_there_is_room_for() {
        let (room, destinations) = new(2, None);
        let hour = Some(Duration::from_hours(1));
        let fail = |name: &str| {
            let pass = destinations.pass(&origin(name), 0, &room).expect("a probe");
            assert_eq!(pass.ended(Health::Absent, hour), hour);
        };
        fail("first");
        let hanging = destinations.pass(&origin("hanging"), 0, &room).expect("a probe");
        for nth in 2..KEPT_MAX {
            fail(&nth.to_string());
        }
        let wanted = destinations.pass(&origin("first"), 0, &room);
        assert!(matches!(wanted, Err(NotPermitted::Open(_))), "it is wanted again");
        fail("one more");
        fail("and another");
        assert_eq!(destinations.remembered().by_origin.len(), KEPT_MAX);
        for (name, is_left_alone) in
            [("first", true), ("2", false), ("3", false), ("4", true), ("one more", true)]
        {
            assert_eq!(destinations.rests_until(&origin(name)).is_some(), is_left_alone, "{name}");
        }
        assert_eq!(destinations.remembered().by_origin.len(), KEPT_MAX, "a question is no call");
        assert!(matches!(destinations.pass(&origin("hanging"), 0, &room), Err(NotPermitted::Open(_))));
        drop(hanging);
    }

    #[tokio::test(start_paused = true)]
    async fn where_all_destinations_have_calls_a_new_one_finds_no_place() {
        let room = CallSlots::new(2 * KEPT_MAX, 0);
        let destinations = Destinations::new(1, None, room.share_of_topic());
        let call = |nth: usize| destinations.pass(&origin(&nth.to_string()), 0, &room);
        let well = |nth: usize| {
            call(nth).expect("a probe").ended(Health::Well, None);
            call(nth).expect("a call")
        };
        let mut held: Vec<CallPermit> = (0..KEPT_MAX).map(well).collect();
        assert!(matches!(call(KEPT_MAX), Err(NotPermitted::Full(UNPROVEN_PAUSE))));
        held.clear();
        assert!(call(KEPT_MAX).is_ok());
        assert_eq!(destinations.remembered().by_origin.len(), KEPT_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_topic_takes_a_share_of_the_memory_for_bodies() {
        const BODY: usize = 1 << 20;
        let room = CallSlots::new(2048, 384 << 20);
        let topics = [(); 2].map(|()| Destinations::new(16, None, room.share_of_topic()));
        let calls = topics.iter().map(|topic| {
            topic.pass(&origin("a"), 0, &room).expect("a probe").ended(Health::Well, None);
            let passes: Vec<CallPermit> =
                (0..16).map_while(|_| topic.pass(&origin("a"), BODY, &room).ok()).collect();
            assert!(matches!(topic.pass(&origin("a"), BODY, &room), Err(NotPermitted::Full(NO_PLACE_PAUSE))));
            assert!(!topic.takes_more(&origin("a")));
            passes
        });
        let mut calls: Vec<Vec<CallPermit>> = calls.collect();
        assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [6, 6]);
        calls.clear();
        let [one, _] = &topics;
        assert!(
            one.pass(&origin("a"), BODY, &room).expect("a call").was_cramped()
                && one.takes_more(&origin("a"))
        );
    }
}
