//! Compares the guarantees given to clients with the events that clients saw.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::{Duration, Instant};

use adjourn_client::ClientError;
use adjourn_protocol::{Delivered, ErrorCode, SettleResult, Totals};
use adjourn_types::{Fence, JobId, Lease};

use super::super::rig::now;

/// Clocks of one machine, read twice, may differ by so much.
const EARLY_MS: u128 = 1;
/// A delivery may be so long on its way, and its lease seem to last so much longer than it does.
const ON_THE_WAY_MAX: Duration = Duration::from_secs(4);

/// The events that clients saw.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The id of each job whose push was acknowledged, by the number that it carries.
    pushed: BTreeMap<u64, JobId>,
    /// Pushes with an unknown outcome.
    doubtful: BTreeSet<u64>,
    /// Each job that was delivered, by its number, with the id it came under.
    delivered: BTreeMap<u64, JobId>,
    /// At which attempt each job came last, and under which fence.
    came_at: BTreeMap<JobId, (u32, Fence)>,
    /// Who holds what.
    held: BTreeMap<JobId, Holding>,
    /// Jobs whose finish was acknowledged.
    finished: BTreeSet<JobId>,
    /// Jobs for which a finish was sent whose outcome is unknown.
    perhaps_finished: BTreeSet<JobId>,
    /// Finishes that wait for their answer.
    pub(super) finishing: u64,
    /// Finishes that were refused.
    refused_finishes: BTreeMap<ErrorCode, u64>,
    /// Finishes that were asked for and acknowledged over another connection than the one that the job came over.
    carried_over: u64,
    /// Deliveries of a job that was delivered before.
    repeats: u64,
    /// Pushes that were refused because a disk was full: they were sent again.
    pub(crate) refused: u64,
    early: u64,
    held_by_two: u64,
    /// When a push was acknowledged last, and the longest time between two, since it was watched.
    watched: Option<(Instant, Duration)>,
    wrong: Vec<String>,
    /// Jobs in the queue at the end.
    left: u64,
    /// What the queue has counted at the end.
    totals: Totals,
}

/// A lease as its holder sees it.
struct Holding {
    consumer: u64,
    fence: Fence,
    until: Instant,
}

impl Ledger {
    pub(crate) fn pushes(&self) -> usize {
        self.pushed.len()
    }

    pub(crate) fn finished(&self) -> usize {
        self.finished.len()
    }

    /// How many jobs were finished over another connection than the one that they came over.
    pub(crate) fn carried_over(&self) -> u64 {
        self.carried_over
    }

    pub(super) fn watch(&mut self) {
        self.watched = Some((now(), Duration::ZERO));
    }

    pub(super) fn longest_pause(&self) -> Duration {
        self.watched.map_or(Duration::ZERO, |(last, longest)| longest.max(last.elapsed()))
    }

    pub(super) fn acknowledged(&mut self, number: u64, job: JobId) {
        if let Some((last, longest)) = &mut self.watched {
            *longest = (*longest).max(last.elapsed());
            *last = now();
        }
        let before = self.pushed.insert(number, job);
        if before.is_some() {
            self.wrong.push(format!("number {number} was acknowledged twice"));
        }
        if self.delivered.get(&number).is_some_and(|delivered| *delivered != job) {
            self.wrong.push(format!("number {number} is {job}, and was delivered as another"));
        }
    }

    /// The outcome of pushes is lost.
    pub(super) fn doubt(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.doubtful.extend(numbers);
    }

    /// A job was delivered, when clocks showed `wall_ms`.
    pub(super) fn came(&mut self, consumer: u64, job: &Delivered, wall_ms: u128) {
        let Lease { job: id, fence } = job.lease;
        let number = u64::from_le_bytes(job.body.first_chunk().copied().unwrap_or_default());
        if u128::from(job.due.0) > wall_ms + EARLY_MS {
            self.early += 1;
            self.wrong.push(format!("{id} came {} ms early", u128::from(job.due.0) - wall_ms));
        }
        if self.finished.contains(&id) {
            self.wrong.push(format!("{id} was finished and came again"));
        }
        match self.delivered.insert(number, id) {
            Some(before) if before != id => {
                self.wrong.push(format!("number {number} is two jobs: {before} and {id}"));
            }
            Some(_) => self.repeats += 1,
            None => {}
        }
        if self.pushed.get(&number).is_some_and(|pushed| *pushed != id) {
            self.wrong.push(format!("number {number} was acknowledged as another job than {id}"));
        }
        let at = (job.attempts, fence);
        match self.came_at.insert(id, at) {
            Some(before) if at.0 <= before.0 || at.1 <= before.1 => {
                self.wrong.push(format!("{id} came at {at:?} after {before:?}"));
            }
            None if at.0 == 0 => self.wrong.push(format!("{id} came without an attempt")),
            _ => {}
        }
        let came = now();
        let until = came + Duration::from_millis(u64::from(job.ttr_left_ms));
        let before = self.held.insert(id, Holding { consumer, fence, until });
        if let Some(Holding { consumer: holder, until, .. }) = before.filter(|held| held.until > came) {
            self.held_by_two += 1;
            let left = until - came;
            self.wrong.push(format!("{id} is held by {holder} for {left:?} more, and came to {consumer}"));
        }
    }

    /// A finish ended, which went over the connection that its job came over, or over a later one.
    pub(super) fn settled(
        &mut self,
        lease: Lease,
        carried_over: bool,
        outcome: Result<&[SettleResult], &ClientError>,
    ) {
        self.finishing -= 1;
        let code = match outcome {
            Ok([Ok(())]) => {
                self.held.remove(&lease.job);
                self.finished.insert(lease.job);
                self.carried_over += u64::from(carried_over);
                return;
            }
            Ok([Err(code)]) => *code,
            Err(ClientError::Refused(reply)) => reply.code,
            Err(error) if error.outcome_unknown() => {
                self.perhaps_finished.insert(lease.job);
                return;
            }
            other => {
                self.wrong.push(format!("the finish of {} ended with {other:?}", lease.job));
                return;
            }
        };
        *self.refused_finishes.entry(code).or_default() += 1;
        let held = self.held.get(&lease.job).filter(|held| held.fence == lease.fence);
        let left = held.map_or(Duration::ZERO, |held| held.until.saturating_duration_since(now()));
        let is_over = code == ErrorCode::StaleLease && left <= ON_THE_WAY_MAX;
        if !is_over && !code.retryable() {
            let text = format!(
                "the finish of {} was refused with {code}, {left:?} before its lease ends",
                lease.job
            );
            self.wrong.push(text);
        }
    }

    /// What the queue says at the end of itself.
    pub(super) fn close(&mut self, left: u64, totals: Totals) {
        self.left = left;
        self.totals = totals;
    }

    /// What there is to count: what it is, and how many.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let counts = [
            ("pushes acknowledged, each delivered and finished", count(self.pushes())),
            ("pushes refused for want of space", self.refused),
            ("pushes whose outcome is unknown", count(self.doubtful.len())),
            ("pushed, as the queue counts", self.totals.pushed),
            ("finishes acknowledged, none delivered again", count(self.finished())),
            ("finishes over a later connection than the delivery", self.carried_over()),
            ("finishes whose outcome is unknown", self.finishes_in_doubt()),
            ("finished, as the queue counts", self.totals.finished),
        ];
        let counts = counts.map(|(what, number)| (what.to_owned(), number));
        let refused = self.refused_finishes.iter();
        let refused = refused.map(|(code, times)| (format!("finishes refused with {code}"), *times));
        let wrong = [
            ("jobs left", self.left),
            ("jobs that came early", self.early),
            ("jobs held by two", self.held_by_two),
            ("deliveries repeated after a lease was over", self.repeats),
        ];
        let wrong = wrong.map(|(what, number)| (what.to_owned(), number));
        counts.into_iter().chain(refused).chain(wrong).collect()
    }

    /// Compares the events with the guarantees.
    pub(crate) fn verify(&self) {
        assert_eq!(self.wrong, Vec::<String>::new());
        assert_eq!(self.left, 0, "jobs that nobody gets");
        let asked = |number: &u64| self.pushed.contains_key(number) || self.doubtful.contains(number);
        none(
            "acknowledged and lost",
            self.pushed.keys().filter(|number| !self.delivered.contains_key(number)),
        );
        none("refused, and delivered all the same", self.delivered.keys().filter(|number| !asked(number)));
        let known = |job: &JobId| self.finished.contains(job) || self.perhaps_finished.contains(job);
        none("gone, and nobody finished them", self.delivered.values().filter(|job| !known(job)));
        let taken = self.pushed.keys().chain(self.delivered.keys()).collect::<BTreeSet<_>>();
        let (taken, taken_most) = (count(taken.len()), count(self.pushed.len() + self.doubtful.len()));
        let (finished, in_doubt) = (count(self.finished()), self.finishes_in_doubt());
        let Totals { pushed, finished: counted, buried, deleted, expired, .. } = self.totals;
        assert!((taken..=taken_most).contains(&pushed), "{taken} to {taken_most} were pushed, not {pushed}");
        let finished_most = finished + in_doubt;
        assert!(
            (finished..=finished_most).contains(&counted),
            "{finished} to {finished_most} were finished, not {counted}"
        );
        assert_eq!((pushed - counted, buried, deleted, expired), (self.left, 0, 0, 0));
    }

    fn finishes_in_doubt(&self) -> u64 {
        count(self.perhaps_finished.difference(&self.finished).count())
    }
}

fn none<T: Debug>(what: &str, found: impl Iterator<Item = T>) {
    let found: Vec<T> = found.collect();
    assert!(found.is_empty(), "{what}: {found:?}");
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
