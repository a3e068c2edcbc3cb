//! Schedules: a list of them; one with its rules and what it did; the form that sets one.

mod form;
mod list;
mod one;
mod words;

use adjourn_calendar::{Calendar, Firing as Upcoming, RulesError, ZoneData};
use adjourn_types::{Fired, Firing, JobEnd, Millis, ScheduleRules, SkipReason, TopicName};

pub(super) use self::form::{create, edit, new, set};
pub(super) use self::list::list;
pub(super) use self::one::{act, show};
use super::topics;
use crate::shown::segment;
use crate::texts::text;

/// The next instants that are shown.
const UPCOMING: u64 = 5;

/// An entry of a history, for people.
struct Outcome {
    /// The instant; the first of several.
    instant: Millis,
    /// The last of several instants.
    last: Option<Millis>,
    /// How many they are.
    instants: u64,
    /// When it was fired or skipped.
    at: Millis,
    /// The job that was pushed.
    job: Option<u64>,
    /// The class that gives it its colour.
    class: &'static str,
    /// A sign that tells it from others without the colour.
    sign: &'static str,
    /// What became of the job, or why there is none.
    told: &'static str,
}

impl Outcome {
    fn of(firing: &Firing) -> Self {
        let (job, (class, sign, told)) = match firing.what {
            Fired::Pushed { job, end } => (Some(job.0), ended(end)),
            Fired::Skipped { reason, .. } => (None, skipped(reason)),
        };
        let (last, instants) = match firing.what {
            Fired::Skipped { last, instants, .. } if instants > 1 => (Some(last), instants),
            _ => (None, 1),
        };
        Self { instant: firing.instant, last, instants, at: firing.at, job, class, sign, told }
    }
}

/// How a job ended: its class, its sign, and its name.
fn ended(end: Option<JobEnd>) -> (&'static str, &'static str, &'static str) {
    match end {
        None => ("reserved", "…", text("the job has not ended")),
        Some(JobEnd::Finished) => ("finished", "✓", text("finished")),
        Some(JobEnd::Failed) => ("buried", "✗", text("failed: buried, or moved to the dead letters")),
        Some(JobEnd::Deleted) => ("warn", "×", text("deleted or replaced")),
        Some(JobEnd::Expired) => ("warn", "⊘", text("expired")),
    }
}

/// Why there is no job: its class, its sign, and its name.
fn skipped(reason: SkipReason) -> (&'static str, &'static str, &'static str) {
    match reason {
        SkipReason::Missed => ("warn", "–", text("skipped: the instant was missed")),
        SkipReason::Overlap => ("skipped", "–", text("skipped: an earlier job had not ended")),
        SkipReason::Refused => {
            ("buried", "!", text("skipped: the policy of the topic, or a limit, did not allow the job"))
        }
        SkipReason::KeyTaken => ("warn", "–", text("skipped: the topic had a job with its key")),
    }
}

/// The next instants of these rules, after `from`. `fired` is at how many it pushed a job so far.
fn upcoming(
    rules: &ScheduleRules,
    from: Millis,
    fired: u64,
    zones: &ZoneData,
) -> Result<Vec<Upcoming>, RulesError> {
    // As the queue does it when an interval is set without an origin.
    let calendar = Calendar::of_rules(rules, rules.start.unwrap_or(from), zones)?;
    let left = rules.count.map_or(UPCOMING, |count| count.get().saturating_sub(fired).min(UPCOMING));
    Ok(calendar.preview(from, usize::try_from(left).unwrap_or_default()).collect())
}

/// The page of a schedule.
fn address(topic: &TopicName, name: &str) -> String {
    format!("{}/schedules/{}", topics::address(topic), segment(name))
}

/// The list of the schedules of a topic.
fn list_of(topic: &TopicName) -> String {
    format!("/console/schedules?topic={}", segment(topic.as_str()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use adjourn_types::JobId;

    #[test]
    fn a_history_says_what_became_of_it() {
        let of = |what| Outcome::of(&Firing { instant: Millis(1000), at: Millis(2000), what });
        let pushed = of(Fired::Pushed { job: JobId(8), end: Some(JobEnd::Failed) });
        assert_eq!((pushed.job, pushed.class, pushed.instants, pushed.last), (Some(8), "buried", 1, None));
        let skipped = of(Fired::Skipped { last: Millis(1500), instants: 3, reason: SkipReason::Missed });
        assert_eq!((skipped.job, skipped.last, skipped.instants), (None, Some(Millis(1500)), 3));
        let one = of(Fired::Skipped { last: Millis(1000), instants: 1, reason: SkipReason::Overlap });
        assert_eq!((one.last, one.instants), (None, 1));
    }

    #[test]
    fn a_count_ends_the_instants() {
        let zones = ZoneData::bundled();
        let rules = ScheduleRules {
            when: "@hourly".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            count: NonZeroU64::new(4),
            ..ScheduleRules::default()
        };
        let locals = |fired| {
            let all = upcoming(&rules, Millis(0), fired, &zones).expect("valid rules");
            all.into_iter().map(|one| one.local).collect::<Vec<_>>()
        };
        assert_eq!(locals(2), ["1970-01-01 02:00:00 +01:00 CET", "1970-01-01 03:00:00 +01:00 CET"]);
        assert!(locals(9).is_empty());
        let rules = ScheduleRules { zone: "Nowhere".to_owned(), ..rules };
        assert!(upcoming(&rules, Millis(0), 0, &zones).is_err());
    }
}
