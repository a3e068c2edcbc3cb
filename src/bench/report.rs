//! The results of a bench, for people and as JSON.
//!
//! Latencies are recorded in microseconds with three significant digits and shown in milliseconds. The
//! JSON has the same keys for every bench; those that do not apply are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

use super::WindowArgs;

/// One minute; longer latencies are recorded as this.
const LATENCY_US_MAX: u64 = 60_000_000;

/// The description of the JSON in the help.
pub(super) const JSON_HELP: &str = "\
--json prints one object: bench, server, topic, jobs, connections, window, batch, body_bytes; seconds; \
per_second (jobs; pages for `list`); latency_ms with p50, p90, p99, p99_9 and max (milliseconds, from request to answer; for \
`late` from due time to delivery); phases by name with the same keys where a bench has several; errors by name \
(jobs or pages that failed); rate_per_second (`late`); early, twice and missing (deliveries that went wrong). Ends with 1 \
if there are errors, early, twice or missing jobs.";

/// The measurements, and the load.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The name of the command, `push` for example.
    pub(super) bench: &'static str,
    /// The address of the server.
    pub(super) server: String,
    /// The topic of the jobs.
    pub(super) topic: String,
    /// The number of jobs that were asked for.
    pub(super) jobs: u64,
    /// Connections that shared the load.
    pub(super) connections: u32,
    /// The window of the pushes, for benches that have one.
    #[serde(flatten)]
    pub(super) window: Option<WindowArgs>,
    /// The size of each body, for benches that create them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body_bytes: Option<usize>,
    /// The whole run.
    #[serde(flatten)]
    pub(super) whole: Phase,
    /// Its parts, in their order; empty when there is only one.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub(super) phases: Vec<(&'static str, Phase)>,
    /// Deviations from the expected deliveries, for benches that deliver.
    #[serde(flatten)]
    pub(super) deliveries: Option<Deliveries>,
    /// Jobs that failed, by error.
    pub(super) errors: Errors,
}

/// One phase of a bench.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Phase {
    /// How much succeeded in it, in units.
    #[serde(skip)]
    pub(super) done: u64,
    /// What it counts: jobs, or the pages of a list.
    #[serde(skip)]
    pub(super) unit: Unit,
    /// How long it took.
    pub(super) seconds: f64,
    /// Units per second.
    pub(super) per_second: u64,
    /// What the latency measures.
    #[serde(skip)]
    pub(super) latency_of: &'static str,
    /// The distribution of the latency.
    pub(super) latency_ms: PercentilesMs,
}

/// What a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Jobs,
    Pages,
}

/// Deviations from the expected deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Deliveries {
    /// The requested number of due jobs per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rate_per_second: Option<u32>,
    /// Delivered before their due time.
    pub(super) early: u64,
    /// Delivered again although they were finished.
    pub(super) twice: u64,
    /// Not delivered in time for the report.
    pub(super) missing: u64,
}

/// Jobs that failed, by the name of the error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Errors(BTreeMap<&'static str, u64>);

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct PercentilesMs {
    p50: f64,
    p90: f64,
    p99: f64,
    p99_9: f64,
    max: f64,
}

/// Latencies of one phase.
#[derive(Clone, Debug)]
pub(super) struct Latencies(Histogram<u64>);

impl Report {
    /// True if every job was handled as expected.
    pub(super) fn is_clean(&self) -> bool {
        let deliveries = self.deliveries.unwrap_or_default();
        self.errors.is_empty() && deliveries.early + deliveries.twice + deliveries.missing == 0
    }

    /// The report for a person.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.bench, self.whole.rate_text());
        let bodies = self.body_bytes.map(|bytes| format!("bodies of {bytes} bytes, ")).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {} connections, {bodies}topic {}", self.connections, self.topic);
        if let Some(WindowArgs { window, batch }) = self.window {
            let _ = writeln!(text, "  {window} frames in flight per connection, {batch} jobs per frame");
        }
        for (name, phase) in &self.phases {
            let _ = writeln!(text, "  {name}: {}", phase.rate_text());
            let _ = writeln!(text, "    {}", phase.latency_text());
        }
        if self.phases.is_empty() {
            let _ = writeln!(text, "  {}", self.whole.latency_text());
        }
        if let Some(Deliveries { rate_per_second, early, twice, missing }) = self.deliveries {
            let at = rate_per_second.map(|rate| format!(" at {rate} jobs per second")).unwrap_or_default();
            let _ = writeln!(text, "  deliveries{at}: {early} early, {twice} twice, {missing} missing");
        }
        let _ = writeln!(text, "  errors: {}", self.errors.text());
        text
    }
}

impl Phase {
    /// A phase in which this number of jobs took `elapsed`.
    pub(super) fn new(done: u64, elapsed: Duration, latency_of: &'static str, latencies: &Latencies) -> Self {
        let per_second = u128::from(done) * 1_000_000 / elapsed.as_micros().max(1);
        Self {
            done,
            unit: Unit::Jobs,
            seconds: rounded(elapsed.as_secs_f64()),
            per_second: u64::try_from(per_second).unwrap_or(u64::MAX),
            latency_of,
            latency_ms: latencies.percentiles(),
        }
    }

    fn rate_text(&self) -> String {
        let unit = match self.unit {
            Unit::Jobs => "jobs",
            Unit::Pages => "pages",
        };
        format!("{} {unit} in {:.3} s, {} per second", self.done, self.seconds, self.per_second)
    }

    fn latency_text(&self) -> String {
        let PercentilesMs { p50, p90, p99, p99_9, max } = self.latency_ms;
        let of = self.latency_of;
        format!("{of}: p50 {p50} ms, p90 {p90} ms, p99 {p99} ms, p99.9 {p99_9} ms, max {max} ms")
    }
}

impl Errors {
    /// Counts jobs that failed.
    pub(super) fn add(&mut self, name: &'static str, jobs: u64) {
        if jobs > 0 {
            *self.0.entry(name).or_default() += jobs;
        }
    }

    /// Adds the errors of another one.
    pub(super) fn merge(&mut self, other: &Self) {
        for (name, jobs) in &other.0 {
            self.add(name, *jobs);
        }
    }

    /// True if there are no errors.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn text(&self) -> String {
        if self.0.is_empty() {
            return "none".to_owned();
        }
        self.0.iter().map(|(name, jobs)| format!("{name} {jobs}")).collect::<Vec<_>>().join(", ")
    }
}

impl Latencies {
    /// Without latencies.
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3);
        Self(histogram.expect("the bounds are constants that hdrhistogram accepts"))
    }

    /// Adds `count` operations with this latency each.
    pub(super) fn record(&mut self, latency: Duration, count: u64) {
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record_n(latency_us, count);
    }

    /// Adds the latencies of another one.
    pub(super) fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so that no value is out of range.
        let _ = self.0.add(&other.0);
    }

    fn percentiles(&self) -> PercentilesMs {
        let at = |quantile| milliseconds(self.0.value_at_quantile(quantile));
        PercentilesMs {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: milliseconds(self.0.max()),
        }
    }
}

fn by_name<S: Serializer>(phases: &[(&'static str, Phase)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(phases.iter().map(|(name, phase)| (name, phase)))
}

fn milliseconds(micros: u64) -> f64 {
    rounded(Duration::from_micros(micros).as_secs_f64() * 1000.0)
}

/// Rounds a number to three decimal places.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut latencies = Latencies::new();
        latencies.record(Duration::from_micros(100), 990);
        latencies.record(Duration::from_micros(2500), 10);
        Report {
            bench: "push",
            server: "127.0.0.1:7440".to_owned(),
            topic: "bench/1".to_owned(),
            jobs: 1000,
            connections: 2,
            window: Some(WindowArgs { window: 4, batch: 8 }),
            body_bytes: Some(64),
            whole: Phase::new(1000, Duration::from_millis(500), "answered after", &latencies),
            phases: Vec::new(),
            deliveries: None,
            errors: Errors::default(),
        }
    }

    #[test]
    fn the_json_is_flat() {
        assert_eq!(
            serde_json::to_string(&report()).expect("JSON"),
            concat!(
                r#"{"bench":"push","server":"127.0.0.1:7440","topic":"bench/1","jobs":1000,"connections":2,"#,
                r#""window":4,"batch":8,"body_bytes":64,"seconds":0.5,"per_second":2000,"#,
                r#""latency_ms":{"p50":0.1,"p90":0.1,"p99":0.1,"p99_9":2.501,"max":2.501},"errors":{}}"#
            )
        );
    }

    #[test]
    fn the_text_says_the_same() {
        assert_eq!(
            report().text(),
            "\
push: 1000 jobs in 0.500 s, 2000 per second
  2 connections, bodies of 64 bytes, topic bench/1
  4 frames in flight per connection, 8 jobs per frame
  answered after: p50 0.1 ms, p90 0.1 ms, p99 0.1 ms, p99.9 2.501 ms, max 2.501 ms
  errors: none
"
        );
    }

    #[test]
    fn pages_are_not_called_jobs() {
        let pages = Phase { unit: Unit::Pages, ..report().whole };
        assert_eq!(pages.rate_text(), "1000 pages in 0.500 s, 2000 per second");
    }

    #[test]
    fn whatever_is_wrong_makes_it_unclean() {
        assert!(report().is_clean());
        let deliveries = |early, twice, missing| {
            let deliveries = Some(Deliveries { rate_per_second: None, early, twice, missing });
            Report { deliveries, ..report() }
        };
        assert!(deliveries(0, 0, 0).is_clean());
        for unclean in [deliveries(1, 0, 0), deliveries(0, 1, 0), deliveries(0, 0, 1)] {
            assert!(!unclean.is_clean());
        }
        let mut failed = report();
        failed.errors.add("BUSY", 3);
        failed.errors.add("BUSY", 4);
        failed.errors.add("PAUSED", 0);
        assert!(!failed.is_clean());
        assert_eq!(failed.errors.text(), "BUSY 7");
        assert!(serde_json::to_string(&failed).expect("JSON").contains(r#""errors":{"BUSY":7}"#));
    }

    #[test]
    fn latencies_merge_and_saturate() {
        let (mut one, mut other) = (Latencies::new(), Latencies::new());
        one.record(Duration::from_millis(1), 1);
        other.record(Duration::from_hours(1), 1);
        one.merge(&other);
        let percentiles = one.percentiles();
        assert!((percentiles.p50 - 1.0).abs() < 0.01, "{percentiles:?}");
        assert!((percentiles.max - 60_000.0).abs() < 100.0, "{percentiles:?}");
    }
}
