//! The timers of all jobs: a wheel for each timeline, and one order over both. Also the jobs that go back to waiting if
//! the wall clock is set back. The timers of schedules have a wheel of their own, so that very many of one instant do not delay
//! the jobs that are due behind them; and there are the schedules that are to be fired.
//!
//! A job has at most one timer: its due time while it is delayed, its deadline while it is reserved, its expiry while it is
//! ready or buried, and the end of its retention once it is finished. The timer of a schedule is its next instant. Timers
//! are derived from the jobs and are not hashed.

pub(crate) mod moved;
pub(crate) mod wheel;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::clock::{Clock, Moment, Timeline};
use crate::job::Job;
use crate::jobs::Slot;
use crate::topics::ready::{Rank, ReadyOrder, reached_rank_of};
use adjourn_types::{JobId, JobState, Millis};
use wheel::{Nodes, Timer, Wheel};

/// Three wheels over one set of slots, and the jobs that rest on the wall clock.
#[derive(Debug)]
pub(super) struct Timers {
    nodes: Nodes,
    stamps: Wheel,
    walls: Wheel,
    /// The next instants of schedules, on the wall clock.
    instants: Wheel,
    /// The jobs whose state rests on the wall clock: see [`Job::reached_wall`].
    reached: ReadyOrder,
    /// The schedules that the leader is to fire.
    to_fire: BTreeSet<ToFire>,
}

/// A schedule that is to be fired: the instant, its id and its slot.
pub(super) type ToFire = (u64, JobId, Slot);

impl Timers {
    /// An empty set of timers.
    pub(super) fn new() -> Self {
        Self {
            nodes: Nodes::default(),
            stamps: Wheel::new(),
            walls: Wheel::new(),
            instants: Wheel::new(),
            reached: ReadyOrder::default(),
            to_fire: BTreeSet::new(),
        }
    }

    /// The wheel for a timer of this job on this timeline, and the nodes of all wheels.
    fn wheel(&mut self, job: &Job, timeline: Timeline) -> (&mut Wheel, &mut Nodes) {
        let wheel = match timeline {
            _ if job.state == JobState::Scheduled => &mut self.instants,
            Timeline::Stamp => &mut self.stamps,
            Timeline::Wall => &mut self.walls,
        };
        (wheel, &mut self.nodes)
    }

    /// Adds a job's timer after a change.
    pub(super) fn enter(&mut self, slot: Slot, job: &Job) {
        if let Some(timer) = job.timer() {
            let (wheel, nodes) = self.wheel(job, timer.timeline);
            wheel.set(nodes, slot, timer.at, job.id.0);
        }
        if let Some(rank) = reached_rank_of(job, slot) {
            self.reached.insert(rank);
        }
        self.to_fire.extend(firing_of(job, slot));
    }

    /// Removes a job's timer before a change.
    pub(super) fn leave(&mut self, slot: Slot, job: &Job) {
        if let Some(timer) = job.timer() {
            let (wheel, nodes) = self.wheel(job, timer.timeline);
            wheel.cancel(nodes, slot);
        }
        if let Some(rank) = reached_rank_of(job, slot) {
            self.reached.remove(&rank);
        }
        if let Some(firing) = firing_of(job, slot) {
            self.to_fire.remove(&firing);
        }
    }

    /// The job that rests on the latest wall-clock time, if the wall clock is now before it.
    pub(super) fn too_far(&self, clock: Clock) -> Option<Slot> {
        self.reached.last().filter(|(_, at, ..)| *at > clock.wall().0).map(|(.., slot)| *slot)
    }

    /// All jobs that rest on the wall clock, in order.
    pub(super) fn reached(&self) -> impl Iterator<Item = &Rank> {
        self.reached.iter()
    }

    /// The schedules that the leader is to fire, the earliest instant first.
    pub(super) fn to_fire(&self) -> impl Iterator<Item = &ToFire> {
        self.to_fire.iter()
    }

    /// The slot of the first schedule whose instant has come.
    pub(super) fn first_instant(&mut self, clock: Clock) -> Option<u32> {
        self.instants.first(&mut self.nodes, clock.wall().0).map(|timer| timer.2)
    }

    /// The slot of the first timer of a job in the order (time as a stamp, id), if it is due.
    pub(super) fn first(&mut self, clock: Clock) -> Option<u32> {
        let stamp = self.stamps.first(&mut self.nodes, clock.stamp.0);
        let wall = self.walls.first(&mut self.nodes, clock.wall().0);
        first_of(clock, stamp, wall)
    }

    /// The slots of the first `count` due timers of jobs, in order. They are not removed.
    pub(super) fn due(&mut self, clock: Clock, count: usize) -> impl Iterator<Item = u32> + '_ {
        self.stamps.fill(&mut self.nodes, clock.stamp.0, count);
        self.walls.fill(&mut self.nodes, clock.wall().0, count);
        let mut stamps = self.stamps.front(clock.stamp.0).peekable();
        let mut walls = self.walls.front(clock.wall().0).peekable();
        std::iter::from_fn(move || {
            let stamp_is_first = match (stamps.peek(), walls.peek()) {
                (Some(stamp), Some(wall)) => before(clock, *stamp, *wall).is_lt(),
                (stamp, _) => stamp.is_some(),
            };
            if stamp_is_first { stamps.next() } else { walls.next() }.map(|timer| timer.2)
        })
        .take(count)
    }

    /// A stamp after that of `clock` before which no timer fires; see [`Wheel::next_after`].
    pub(super) fn next_after(&mut self, clock: Clock) -> Option<Millis> {
        let stamp = self.stamps.next_after(&mut self.nodes, clock.stamp.0);
        let walls = [&mut self.walls, &mut self.instants];
        let wall =
            walls.into_iter().filter_map(|wheel| wheel.next_after(&mut self.nodes, clock.wall().0)).min();
        let wall = wall.map(|at| clock.as_stamp(Moment { timeline: Timeline::Wall, at }));
        let wall = wall.and_then(|at| u64::try_from(at).ok());
        let first = stamp.into_iter().chain(wall).min()?;
        Some(Millis(first.max(clock.stamp.0.saturating_add(1))))
    }

    /// Sorts timers up to the time of `clock`, in at most `budget` steps. Returns true when complete.
    pub(super) fn prepare(&mut self, clock: Clock, budget: usize) -> bool {
        let (stamp_end, wall_end) = (clock.stamp.0.saturating_add(1), clock.wall().0.saturating_add(1));
        for _ in 0..budget {
            let steps = self.stamps.step(&mut self.nodes, stamp_end)
                || self.walls.step(&mut self.nodes, wall_end)
                || self.instants.step(&mut self.nodes, wall_end);
            if !steps {
                return true;
            }
        }
        false
    }

    /// Frees the memory of slots that no longer exist.
    pub(super) fn shrink(&mut self, slots: usize) {
        self.nodes.shrink(slots);
    }

    /// Bytes of memory of the timers.
    pub(super) fn memory_bytes(&self) -> usize {
        let to_fire = self.to_fire.len() * size_of::<ToFire>() * 2;
        self.nodes.memory_bytes() + ReadyOrder::<Rank>::memory_bytes(self.reached.len()) + to_fire
    }

    /// When the timer of a slot fires, if it has one.
    pub(super) fn at(&self, slot: u32) -> Option<u64> {
        self.nodes.is_set(slot).then(|| self.nodes.at(slot))
    }
}

/// The place of a schedule among those that are to be fired, if it is one of them.
pub(super) fn firing_of(job: &Job, slot: Slot) -> Option<ToFire> {
    job.is_to_fire().then_some((job.due_at, job.id, slot))
}

fn first_of(clock: Clock, stamp: Option<Timer>, wall: Option<Timer>) -> Option<u32> {
    match (stamp, wall) {
        (Some(stamp), Some(wall)) => Some(if before(clock, stamp, wall).is_lt() { stamp.2 } else { wall.2 }),
        (one, other) => one.or(other).map(|timer| timer.2),
    }
}

fn before(clock: Clock, stamp: Timer, wall: Timer) -> Ordering {
    let at = clock.as_stamp(Moment { timeline: Timeline::Wall, at: wall.0 });
    (i128::from(stamp.0), stamp.1).cmp(&(at, wall.1))
}
