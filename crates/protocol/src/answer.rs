//! What an answer carries, as a type of its own: whoever knows what was asked takes it out of a [`Response`] with `try_into`.
//! The table of [requests](super::request) says which response answers which request.

use bytes::Bytes;

use super::connections::ConnectionList;
use super::groups::{GroupPage, Reason};
use super::response::{
    BackupReady, ClusterReport, Delivered, DueBar, JobReport, Leased, PushResult, Response, SettleResult,
    StatsReport, TopicReport, TopicSettings, Welcome,
};
use super::schedule::{ScheduleFilled, ScheduleInstants, SchedulePage, ScheduleReport};
use adjourn_types::{JobId, JobState, Millis};

/// One job that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The job's id.
    pub job: JobId,
    /// The state it is in now; for `delete`, the one it was in. `None`: one that only a newer server knows.
    pub state: Option<JobState>,
    /// When it is due.
    pub due: Millis,
    /// As in [`JobReport::version`]: after the change, and of a deleted job before it.
    pub version: u64,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The jobs, in the order of the list. There may be none, and more on the next page.
    pub jobs: Vec<JobReport>,
    /// The [cursor](super::List::cursor) of the next page; empty if this is the last one.
    pub cursor: Bytes,
}

/// What a step of a bulk change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// How many jobs it changed.
    pub jobs: u32,
    /// How many jobs met the conditions and were left as they are: their state does not allow the change, or the topic to which
    /// they were to [move](super::Change::Move) has their key.
    pub skipped: u32,
    /// The [cursor](super::Bulk::cursor) of the next step; empty if this was the last one.
    pub cursor: Bytes,
}

/// How many buried jobs are ready now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kicked(pub u32);

/// How many jobs match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How many jobs match.
    pub jobs: u64,
    /// With [`Count::bars`](super::Count::bars): the jobs that are due before them, each bar, and the jobs that are due
    /// after them. Else empty.
    pub by_due: Vec<DueBar>,
}

/// A schedule that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// Its id.
    pub schedule: JobId,
    /// How often it was set.
    pub version: u32,
    /// Its next instant; `None` if there is none.
    pub next: Option<Millis>,
}

/// The job that a schedule pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleRan(pub JobId);

/// Each type with the response that carries it. Any other response is the error.
macro_rules! carried {
    ($($response:pat => $type:ty = $carried:expr;)+) => {
        $(impl TryFrom<Response> for $type {
            type Error = Response;

            fn try_from(response: Response) -> Result<Self, Response> {
                match response {
                    $response => Ok($carried),
                    other => Err(other),
                }
            }
        })+
    };
}

carried! {
    Response::Welcome(welcome) => Welcome = *welcome;
    Response::Pong { now, .. } => Millis = now;
    Response::Done | Response::Subscribed => () = ();
    Response::Pushed(results) => Vec<PushResult> = results;
    Response::Reserved(jobs) => Vec<Delivered> = jobs;
    Response::Leased(leased) => Leased = leased;
    Response::Settled(results) => Vec<SettleResult> = results;
    Response::Job(job) => JobReport = *job;
    Response::Changed { job, state, due, version } => Changed = Changed { job, state, due, version };
    Response::Kicked { jobs } => Kicked = Kicked(jobs);
    Response::Jobs { jobs, cursor } => Page = Page { jobs, cursor };
    Response::Counted { jobs, by_due } => Counted = Counted { jobs, by_due };
    Response::Bulked { jobs, skipped, cursor } => Step = Step { jobs, skipped, cursor };
    Response::Topics(topics) => Vec<TopicReport> = topics;
    Response::Stats(stats) => StatsReport = *stats;
    Response::Connections(list) => ConnectionList = list;
    Response::TopicSettings(settings) => TopicSettings = *settings;
    Response::BackupReady(ready) => BackupReady = ready;
    Response::BackupData(data) => Bytes = data;
    Response::Cluster(report) => ClusterReport = *report;
    Response::Groups(page) => GroupPage = page;
    Response::Reasons(reasons) => Vec<Reason> = reasons;
    Response::Scheduled { schedule, version, next } => Scheduled = Scheduled { schedule, version, next };
    Response::Schedule(report) => ScheduleReport = *report;
    Response::Schedules(page) => SchedulePage = page;
    Response::ScheduleRan { job } => ScheduleRan = ScheduleRan(job);
    Response::ScheduleFilled(filled) => ScheduleFilled = filled;
    Response::Instants(shown) => ScheduleInstants = shown;
}
