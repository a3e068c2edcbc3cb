//! What the original shows as YAML, with its keys in its order.

use std::fmt::Write as _;

use rustix::process::getpid;
use rustix::system::uname;

use super::tubes::{TubeUse, Tubes};
use adjourn_protocol::{JobReport, TopicReport, Totals};
use adjourn_server::wall;
use adjourn_types::{JobState, Millis, TopicName};

/// The version whose protocol this is.
const VERSION: &str = "1.13";

/// A list of tubes.
pub(super) fn list(tubes: &[TopicName]) -> String {
    tubes.iter().fold("---\n".to_owned(), |list, tube| list + "- " + tube.as_str() + "\n")
}

/// The numbers of a job. The queue counts no releases, kicks and timeouts of its own.
pub(super) fn of_job(job: &JobReport) -> String {
    let now = wall();
    let age_s = seconds(job.history.pushed, now);
    // Since the push, or since the lease that a release has ended: when that was is not known.
    let since = job.history.reserved_last.or(job.history.pushed);
    let delayed_for = since.map_or(0, |since| (job.due.0.saturating_sub(since.0) + 500) / 1000);
    let (state, left_ms) = match job.state {
        Some(JobState::Delayed) => ("delayed", job.due.0.saturating_sub(now.0)),
        Some(JobState::Reserved) => ("reserved", job.ttr_left_ms.into()),
        Some(JobState::Buried) => ("buried", 0),
        _ => ("ready", 0),
    };
    let buries = u8::from(job.state == Some(JobState::Buried));
    Yaml::default()
        .field("id", job.id.0)
        .text("tube", job.topic.as_str())
        .field("state", state)
        .field("pri", job.priority)
        .field("age", age_s)
        .field("delay", if state == "delayed" { delayed_for } else { 0 })
        .field("ttr", job.ttr_ms / 1000)
        // Rounded down, and a moment has passed.
        .field("time-left", left_ms.saturating_sub(1) / 1000)
        .field("file", 0)
        .field("reserves", job.attempts)
        .field("timeouts", 0)
        .field("releases", 0)
        .field("buries", buries)
        .field("kicks", 0)
        .finish()
}

/// The numbers of a tube: what the queue counts, if it has the topic, and what the connections of this port do.
/// `pause_left_ms` is 0 if it is not paused, or without an end.
pub(super) fn of_tube(
    tube: &TopicName,
    report: Option<&TopicReport>,
    used: TubeUse,
    pause_left_ms: u64,
) -> String {
    // How long a pause of another way in was to last is not known.
    let pause_s = u64::from(used.pause_s).max(pause_left_ms.div_ceil(1000));
    let totals = report.map(|report| report.totals).unwrap_or_default();
    states(Yaml::default().text("name", tube.as_str()), &totals)
        .field("total-jobs", totals.pushed)
        .field("current-using", used.using)
        .field("current-watching", used.watching)
        .field("current-waiting", used.waiting)
        .field("cmd-delete", totals.finished + totals.deleted)
        .field("cmd-pause-tube", used.pauses)
        .field("pause", if pause_left_ms > 0 { pause_s } else { 0 })
        .field("pause-time-left", pause_left_ms.saturating_sub(1) / 1000)
        .finish()
}

/// The numbers of the server: the jobs are those of the whole queue, the rest is of this node and this port.
pub(super) fn of_server(
    reports: &[TopicReport],
    pushed: u64,
    tubes: &Tubes,
    body_bytes_max: usize,
    is_draining: bool,
) -> String {
    let sum = |part: fn(&Totals) -> u64| reports.iter().map(|report| part(&report.totals)).sum();
    let totals = Totals {
        delayed: sum(|totals| totals.delayed),
        ready: sum(|totals| totals.ready),
        reserved: sum(|totals| totals.reserved),
        buried: sum(|totals| totals.buried),
        ..Totals::default()
    };
    let (connections, system, uptime) = (tubes.connections(), uname(), tubes.started.elapsed());
    let counted = |yaml: Yaml, (name, count): (&str, u64)| yaml.field(&format!("cmd-{name}"), count);
    tubes
        .counts()
        .fold(states(Yaml::default(), &totals), counted)
        .field("job-timeouts", 0)
        .field("total-jobs", pushed)
        .field("max-job-size", body_bytes_max)
        .field("current-tubes", reports.len())
        .field("current-connections", connections.open)
        .field("current-producers", connections.producers)
        .field("current-workers", connections.workers)
        .field("current-waiting", connections.waiting)
        .field("total-connections", connections.total)
        .field("pid", getpid().as_raw_nonzero())
        .text("version", VERSION)
        .field("rusage-utime", "0.000000")
        .field("rusage-stime", "0.000000")
        .field("uptime", uptime.as_secs())
        .field("binlog-oldest-index", 0)
        .field("binlog-current-index", 0)
        .field("binlog-records-migrated", 0)
        .field("binlog-records-written", 0)
        .field("binlog-max-size", 0)
        .field("draining", is_draining)
        .field("id", &tubes.id)
        .text("hostname", &system.nodename().to_string_lossy())
        .text("os", &system.version().to_string_lossy())
        .text("platform", &system.machine().to_string_lossy())
        .finish()
}

/// The numbers of jobs in each state.
fn states(yaml: Yaml, totals: &Totals) -> Yaml {
    yaml.field("current-jobs-urgent", 0)
        .field("current-jobs-ready", totals.ready)
        .field("current-jobs-reserved", totals.reserved)
        .field("current-jobs-delayed", totals.delayed)
        .field("current-jobs-buried", totals.buried)
}

fn seconds(since: Option<Millis>, now: Millis) -> u64 {
    since.map_or(0, |since| now.0.saturating_sub(since.0) / 1000)
}

/// A mapping, as the original writes it.
struct Yaml(String);

impl Default for Yaml {
    fn default() -> Self {
        Self("---\n".to_owned())
    }
}

impl Yaml {
    fn field(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{name}: {value}");
        self
    }

    fn text(self, name: &str, value: &str) -> Self {
        self.field(name, format_args!("\"{value}\""))
    }

    fn finish(self) -> String {
        self.0
    }
}
