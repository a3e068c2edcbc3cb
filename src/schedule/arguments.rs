//! A schedule as options say it. A file of `adjourn schedule apply` has the same words as keys: see [`super::apply`].

use std::num::{NonZeroU32, NonZeroU64};

use bytes::Bytes;
use clap::Args;

use super::choices::{DstArg, MissedArg, OverlapArg};
use crate::jobs::push::SettingsArgs;
use crate::usage::whole;
use adjourn_json::values::{delay_ms, duration_within, time_of_people, ttr_ms};
use adjourn_protocol::{IfVersion, JobTemplate, ScheduleSet};
use adjourn_types::limits::{
    DELAY_MS_MAX, PRIORITY_UNSAID, SCHEDULE_JITTER_MS_MAX, SCHEDULE_MISSED_MAX, SCHEDULE_NAME_BYTES_MAX,
    SCHEDULE_NOTE_BYTES_MAX, SCHEDULE_WHEN_BYTES_MAX,
};
use adjourn_types::{Key, Millis, Missed, ScheduleRules, TopicName};

/// A schedule.
#[derive(Debug, Args)]
pub(super) struct ScheduleArgs {
    /// The topic of its jobs
    pub(super) topic: TopicName,
    /// Its name, unique in the topic
    #[arg(value_name = "NAME", value_parser = name)]
    pub(super) name: String,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    pub(super) job: JobArgs,
}

/// When it fires, and what it does then.
#[derive(Debug, Args)]
struct RulesArgs {
    /// A cron expression of five or six fields, @daily and the like, @every with a duration, or @at with times
    #[arg(value_name = "WHEN", value_parser = at_most(SCHEDULE_WHEN_BYTES_MAX))]
    when: String,
    /// The time zone of a cron expression; UTC if not given
    #[arg(long, value_name = "ZONE", help_heading = "Times")]
    zone: Option<String>,
    /// What happens to times that a change of the clocks skips or repeats
    #[arg(long, value_name = "MODE", value_enum, default_value = "vixie", help_heading = "Times")]
    dst: DstArg,
    /// An interval counts from this time; if not given, from --start, or from when the schedule is first set
    #[arg(long, value_name = "TIME", value_parser = time_of_people, help_heading = "Times")]
    from: Option<Millis>,
    /// Do not fire before this time, for example 2030-12-24T18:00:00Z or '2030-12-24 18:00 Europe/Berlin'
    #[arg(long, value_name = "TIME", value_parser = time_of_people, help_heading = "Times")]
    start: Option<Millis>,
    /// Do not fire after this time
    #[arg(long, value_name = "TIME", value_parser = time_of_people, help_heading = "Times")]
    end: Option<Millis>,
    /// End when it has pushed a job at this many times
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX), help_heading = "Times")]
    count: Option<u64>,
    /// Let each job be due up to this long after its time, always the same for one time
    #[arg(long, value_name = "DURATION", value_parser = jitter_ms, help_heading = "Times")]
    jitter: Option<u32>,
    /// Which of the times are fired late that passed while no server ran, or while the schedule was paused
    #[arg(
        long,
        value_name = "RULE",
        value_enum,
        default_value = "last",
        help_heading = "Missed times and overlaps"
    )]
    missed: MissedArg,
    /// Fire no time late that passed longer ago than this
    #[arg(long, value_name = "DURATION", value_parser = window_ms, help_heading = "Missed times and overlaps")]
    missed_window: Option<u64>,
    /// With --missed all: fire at most this many late, the last ones; 100 if not given
    #[arg(long, value_name = "N", value_parser = whole(1..=SCHEDULE_MISSED_MAX), help_heading = "Missed times and overlaps")]
    missed_max: Option<u32>,
    /// What happens at a time when an earlier job of the schedule is not finished
    #[arg(
        long,
        value_name = "RULE",
        value_enum,
        default_value = "skip",
        help_heading = "Missed times and overlaps"
    )]
    overlap: OverlapArg,
    /// Pause the schedule after this many failed jobs in a row; if not given, never
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX), help_heading = "Missed times and overlaps")]
    pause_after_failures: Option<u32>,
    /// A note for people
    #[arg(long, value_name = "TEXT", value_parser = at_most(SCHEDULE_NOTE_BYTES_MAX))]
    note: Option<String>,
}

/// What its jobs have in common.
#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// The body of its jobs, or - to read it from standard input; empty if not given
    #[arg(long, value_name = "BODY")]
    pub(super) body: Option<String>,
    /// The key of its jobs; if not given, each has its own: the name of the schedule and the time
    #[arg(long, value_name = "KEY")]
    key: Option<Key>,
    /// How long a consumer may hold a job, for example 30s; the topic's default, or 60s, if not given
    #[arg(long, value_name = "DURATION", value_parser = ttr_ms)]
    ttr: Option<u32>,
    /// Priority; lower numbers are reserved first; if not given, the topic's default, or 1024
    #[arg(long, value_name = "N", value_parser = whole(0..=PRIORITY_UNSAID - 1))]
    priority: Option<u32>,
    /// Drop a job if it is not finished this long after it was pushed, for example 10m
    #[arg(long, value_name = "DURATION", value_parser = delay_ms)]
    expires_after: Option<u64>,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Parses the name of a schedule.
pub(super) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > SCHEDULE_NAME_BYTES_MAX {
        return Err(format!("the name of a schedule has 1 to {SCHEDULE_NAME_BYTES_MAX} bytes"));
    }
    Ok(text.to_owned())
}

fn at_most(bytes_max: usize) -> impl Fn(&str) -> Result<String, String> + Clone {
    move |text| {
        let bytes = text.len();
        if bytes > bytes_max {
            return Err(format!("expected a text of at most {bytes_max} bytes: this one has {bytes}"));
        }
        Ok(text.to_owned())
    }
}

fn jitter_ms(text: &str) -> Result<u32, adjourn_json::values::ValueError> {
    let jitter_ms = duration_within(text, 0..=SCHEDULE_JITTER_MS_MAX.into())?;
    Ok(u32::try_from(jitter_ms).unwrap_or(SCHEDULE_JITTER_MS_MAX))
}

fn window_ms(text: &str) -> Result<u64, adjourn_json::values::ValueError> {
    duration_within(text, 1..=DELAY_MS_MAX)
}

impl ScheduleArgs {
    /// The schedule, with this body for its jobs.
    pub(super) fn schedule(&self, body: Bytes) -> Result<ScheduleSet, String> {
        let job = &self.job;
        let attributes = job.settings.attributes(job.expires_after);
        Ok(ScheduleSet {
            topic: self.topic.clone(),
            name: self.name.clone(),
            rules: Box::new(ScheduleRules { key: job.key.clone(), ..self.rules.rules()? }),
            template: JobTemplate {
                priority: job.priority.unwrap_or(PRIORITY_UNSAID),
                ttr_ms: job.ttr.unwrap_or(0),
                attributes: attributes.build().map_err(|error| error.to_string())?,
                body,
            },
            if_version: IfVersion::Any,
        })
    }
}

impl RulesArgs {
    fn rules(&self) -> Result<ScheduleRules, String> {
        let missed = self.missed.into();
        if self.missed_max.is_some() && missed != Missed::All {
            return Err(
                "missed-max goes with missed all: the other rules fire at most one time late".to_owned()
            );
        }
        if self.missed_window.is_some() && missed == Missed::None {
            return Err(
                "missed-window goes with missed last or all: with none, no time is fired late".to_owned()
            );
        }
        Ok(ScheduleRules {
            when: self.when.clone(),
            zone: self.zone.clone().unwrap_or_default(),
            dst: self.dst.into(),
            origin: self.from,
            start: self.start,
            end: self.end,
            count: self.count.and_then(NonZeroU64::new),
            jitter_ms: self.jitter.unwrap_or(0),
            missed,
            window_ms: self.missed_window.and_then(NonZeroU64::new),
            missed_max: self.missed_max.and_then(NonZeroU32::new),
            overlap: self.overlap.into(),
            failures_max: self.pause_after_failures.unwrap_or(0),
            key: None,
            note: self.note.clone().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use adjourn_types::{Dst, Overlap, When};

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct CommandLine {
        #[command(flatten)]
        schedule: ScheduleArgs,
    }

    fn schedule(options: &str) -> Result<ScheduleSet, String> {
        let named = ["reports", "daily", "0 9 * * 1-5"].into_iter();
        let line = CommandLine::try_parse_from(named.chain(options.split_whitespace()))
            .map_err(|error| error.to_string())?;
        line.schedule.schedule("x".into())
    }

    #[test]
    fn every_option_reaches_the_schedule() {
        let set = schedule(
            "--zone Europe/Berlin --dst literal --from 1970-01-01T00:00:01Z --start 1970-01-01T00:00:02Z \
             --end 1970-01-01T00:00:03Z --count 4 --jitter 5s --missed all --missed-window 6s --missed-max 7 \
             --overlap queue-one --pause-after-failures 8 --key k --note n --ttr 9s --priority 10 \
             --expires-after 11s --header a=b --attempts-max 12 --backoff 13s --remember 14s",
        );
        let set = set.expect("valid");
        assert_eq!((set.topic.as_str(), set.name.as_str()), ("reports", "daily"));
        let rules = ScheduleRules {
            when: "0 9 * * 1-5".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            dst: Dst::Literal,
            origin: Some(Millis(1000)),
            start: Some(Millis(2000)),
            end: Some(Millis(3000)),
            count: NonZeroU64::new(4),
            jitter_ms: 5000,
            missed: Missed::All,
            window_ms: NonZeroU64::new(6000),
            missed_max: NonZeroU32::new(7),
            overlap: Overlap::QueueOne,
            failures_max: 8,
            key: Some("k".parse().expect("a key")),
            note: "n".to_owned(),
        };
        assert_eq!(*set.rules, rules);
        let JobTemplate { priority, ttr_ms, attributes, body } = set.template;
        assert_eq!((priority, ttr_ms, &body[..]), (10, 9000, &b"x"[..]));
        let policy = attributes.policy();
        assert_eq!((policy.expires, policy.attempts_max), (Some(When::After(11_000)), Some(12)));
        assert!(policy.backoff.is_some() && attributes.headers().eq([("a", "b")]));
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let set = schedule("").expect("valid");
        let rules = ScheduleRules { when: "0 9 * * 1-5".to_owned(), ..ScheduleRules::default() };
        assert_eq!(*set.rules, rules);
        let template = JobTemplate {
            priority: PRIORITY_UNSAID,
            body: Bytes::from_static(b"x"),
            ..JobTemplate::default()
        };
        assert_eq!((set.template, set.if_version), (template, IfVersion::Any));
    }

    #[test]
    fn contradictions_and_values_out_of_range_are_refused() {
        for (options, reason) in [
            ("--missed-max 3", "missed-max goes with missed all"),
            ("--missed none --missed-window 1h", "missed-window goes with missed last or all"),
            ("--missed some", "possible values: none, last, all"),
            ("--overlap queue_one", "possible values: allow, skip, queue-one, replace"),
            ("--jitter 25h", "expected a duration between 0s and 1d"),
            ("--missed all --missed-max 1001", "expected a whole number from 1 to 1000"),
            ("--count 0", "expected a whole number from 1"),
            (&format!("--note {}", "n".repeat(257)), "at most 256 bytes: this one has 257"),
        ] {
            let told = schedule(options).expect_err(options);
            assert!(told.contains(reason), "{options}: {told}");
        }
        assert!(name("").is_err() && name(&"n".repeat(256)).is_err() && name("monthly report").is_ok());
    }
}
