//! An instant of a schedule is fired once, or skipped for a reason, and not before it has come. None is left out, and when all
//! has healed none waits for long.
//!
//! Schedules here fire at regular intervals. A set may let a schedule fire instants again that it fired while the clock was
//! ahead, so only firings of one version are compared.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_protocol::{Request, Response, ScheduleReport};
use adjourn_types::{Fired, Firing, JobId, Millis, SCHEDULE_HISTORY_MAX, When as DueWhen};

use super::super::clients::CAUGHT_UP_WITHIN;
use super::super::seen::{Seen, When};
use super::super::time::{MS, SECOND, Us};
use super::Invariant;
use super::due::{Clocks, Due};

/// How late an instant may be fired when nothing goes wrong.
const LATE_MAX: Us = 5 * SECOND;

/// What is skipped together is counted up to here.
const INSTANTS_COUNTED_MAX: u64 = 10_000;

#[derive(Debug)]
pub(super) struct Firings {
    clocks: Clocks,
    healed: Option<Us>,
    schedules: BTreeMap<JobId, Book>,
}

/// What is known of a schedule.
#[derive(Debug, Default)]
struct Book {
    /// All its jobs.
    jobs: BTreeSet<JobId>,
    /// The last job of each instant, and the version that was seen last before it was pushed.
    last_jobs: BTreeMap<Millis, (JobId, u32)>,
    /// The version that was seen last.
    version: u32,
    /// The last instant that was fired or skipped.
    last: Option<Millis>,
    fired: u64,
}

impl Firings {
    pub(super) fn new(among_others: bool) -> Self {
        Self { clocks: Clocks::new(among_others), healed: None, schedules: BTreeMap::new() }
    }

    fn shown(&mut self, now: When, name: &str, report: &ScheduleReport) -> Result<(), String> {
        let every_ms = every_ms(report)?;
        let id = report.state.id;
        let book = self.schedules.entry(id).or_default();
        if report.state.fired < book.fired {
            return Err(format!("{name} had fired {} times, and now {}", book.fired, report.state.fired));
        }
        book.fired = report.state.fired;
        for (place, firing) in report.history.iter().enumerate() {
            if let Fired::Pushed { job, .. } = firing.what {
                let due = Due { when: DueWhen::At(firing.instant), asked: 0, said: None };
                if !self.clocks.has_come(now, &due) {
                    return Err(format!("{name} was fired at {} before its time", firing.instant));
                }
                let is_new = book.jobs.insert(job);
                let before =
                    is_new.then(|| book.last_jobs.insert(firing.instant, (job, book.version))).flatten();
                if let Some((other, _)) = before.filter(|(_, version)| *version == report.state.version) {
                    return Err(format!("{name} has two jobs at {}: {other} and {job}", firing.instant));
                }
            }
            // A full history has forgotten old ones: before the first, or behind that of a job which has not ended.
            let leaves_out = report.history.len() == SCHEDULE_HISTORY_MAX && place < 2;
            book.goes_on(name, firing, every_ms, leaves_out)?;
        }
        book.version = report.state.version;
        let is_calm = self.healed.is_some_and(|healed| now.at >= healed + CAUGHT_UP_WITHIN);
        let waits = report.state.paused.is_none() && !report.state.is_held;
        let next = report.state.next.filter(|_| waits && is_calm);
        if next.is_some_and(|next| next.after(LATE_MAX / MS) < now.wall) {
            return Err(format!("{name} still waits for {next:?} at {}", now.wall));
        }
        Ok(())
    }
}

impl Book {
    /// Notes a firing, which must be that of the next instant, unless the history leaves out old ones.
    fn goes_on(
        &mut self,
        name: &str,
        firing: &Firing,
        every_ms: u64,
        leaves_out: bool,
    ) -> Result<(), String> {
        let end = match firing.what {
            Fired::Pushed { .. } => firing.instant,
            Fired::Skipped { last, instants, .. } => {
                let all = last.0.saturating_sub(firing.instant.0) / every_ms + 1;
                if all.min(INSTANTS_COUNTED_MAX) != instants {
                    return Err(format!("{name} says that {instants} instants are those of {firing:?}"));
                }
                last
            }
        };
        match self.last {
            Some(before) if end <= before => return Ok(()),
            Some(before) if !leaves_out && firing.instant > before.after(every_ms) => {
                return Err(format!("{name} left out what is between {before} and {firing:?}"));
            }
            _ => {}
        }
        self.last = Some(end);
        Ok(())
    }
}

/// The interval of a schedule, in milliseconds.
fn every_ms(report: &ScheduleReport) -> Result<u64, String> {
    let when = &report.rules.when;
    let seconds = when.strip_prefix("@every ").and_then(|rest| rest.strip_suffix('s')?.parse::<u64>().ok());
    seconds.map(|seconds| seconds * 1000).ok_or_else(|| format!("the rules are others: {when}"))
}

impl Invariant for Firings {
    fn name(&self) -> &'static str {
        "firings"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        self.clocks.see(when, seen);
        match seen {
            Seen::Healed => self.healed = Some(when.at),
            Seen::Said { request, response: Response::Schedule(report), .. } => {
                let name = match request {
                    Some(Request::ScheduleShow { name, .. }) => name,
                    _ => "a schedule",
                };
                return self.shown(when, name, report);
            }
            _ => {}
        }
        Ok(())
    }
}
