//! Answers from the applied state: get, peek, leases, connections, topics and stats; and PING, which asks whether
//! that state is the newest.

use bytes::Bytes;

use super::Replica;
use super::io::{ConnectionId, Notice};
use super::requests::select_job;
use crate::engine::{JobView, TopicTotals, TopicView};
use crate::protocol::{
    ErrorCode, ErrorReply, JobRef, JobReport, Request, RequestId, Response, TopicReport, TopicSettings,
    Totals,
};
use crate::storage::StorageError;
use crate::types::{Attributes, JobHistory, JobState, Key, Millis, RetryDefaults, TopicId, TopicName};

impl Replica {
    /// # Errors
    ///
    /// When the disk cannot be read.
    pub(super) fn read(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        request: &Request,
    ) -> Result<(), StorageError> {
        let response = match request {
            Request::Get(job) => {
                let view = self.engine.job(&select_job(job), &mut self.records)?;
                match (view, self.finished_job(job)) {
                    (None, Some(finished)) => finished,
                    (view, _) => self.job_response(view)?,
                }
            }
            Request::Peek { topic } => match self.engine.topic_id(topic.as_str()) {
                Some(topic) => {
                    self.peek(connection, id, topic);
                    return Ok(());
                }
                None => self.job_response(None)?,
            },
            Request::List(list) => {
                self.list(connection, id, list);
                return Ok(());
            }
            Request::Bulk(bulk) => {
                self.bulk(connection, id, bulk);
                return Ok(());
            }
            Request::Count(filter) => {
                self.count(connection, id, filter);
                return Ok(());
            }
            Request::Ping => self.pong(),
            Request::Leases { after, jobs_max } => self.leased(connection, *after, *jobs_max)?,
            Request::Connections { after, connections_max } => {
                Response::Connections(self.connection_list(ConnectionId(*after), *connections_max))
            }
            Request::Topics | Request::Stats => {
                self.report_topics(connection, id, request.clone());
                return Ok(());
            }
            Request::TopicShow { topic } => self.topic_settings(topic),
            other => unreachable!("{other:?} is no read"),
        };
        self.connections.send(connection, id, response);
        Ok(())
    }

    /// Both clocks. To a client that speaks for a session it says that this node still led when it was asked, as any read does.
    pub(super) fn pong(&self) -> Response {
        Response::Pong { now: self.wall, clock_ms: self.clock_ms() }
    }

    /// The monotonic clock as clients are shown it, in milliseconds, and not behind: no lease lasts longer by it.
    pub(super) fn clock_ms(&self) -> u64 {
        self.now_us.div_ceil(1000)
    }

    /// Something that was only to be shown cannot be read from the disk. No state depends on it, so a node alone goes on; a member
    /// gets it from another one.
    pub(super) fn unreadable(&mut self, connection: ConnectionId, id: RequestId, error: &StorageError) {
        let what = error.to_string();
        let text = format!("what was asked for cannot be read: {what}");
        self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::Unreadable, text));
        self.notices.push(Notice::Unreadable { what });
        self.goes_on_without(error);
    }

    /// A topic's name; every topic that the state names has one.
    pub(super) fn topic_name(&self, topic: TopicId) -> TopicName {
        let view = self.engine.topic(topic);
        view.map_or_else(|| unreachable!("a job's topic exists"), |view| view.name.clone())
    }

    pub(super) fn job_response(&mut self, job: Option<JobView>) -> Result<Response, StorageError> {
        let Some(job) = job else {
            let gone = "there is no such job: it was finished, deleted, expired, or never there";
            return Ok(Response::Error(ErrorReply::new(ErrorCode::NotFound, gone)));
        };
        Ok(Response::Job(Box::new(self.job_report(&job)?)))
    }

    /// A job as clients see it, with its record.
    pub(super) fn job_report(&mut self, job: &JobView) -> Result<JobReport, StorageError> {
        let record = self.records.record(job.body)?;
        let attributes = Attributes::new(record.attributes).unwrap_or_default();
        let left_ms = job.lease.map_or(0, |(_, deadline)| deadline.since(self.clock.stamp()));
        Ok(JobReport {
            id: job.id,
            state: Some(job.state),
            topic: self.topic_name(job.topic),
            key: record.key.and_then(|key| Key::new(key).ok()),
            priority: job.priority,
            attempts: job.attempts,
            due: job.due,
            ttr_ms: job.ttr_ms,
            ttr_left_ms: u32::try_from(left_ms).unwrap_or(u32::MAX),
            buried: job.buried,
            attributes: attributes.with_retries(job.attempts_max, job.backoff.as_ref()),
            body_bytes: job.body.body_bytes,
            body: record.body,
            history: job.history.clone(),
            version: job.version,
        })
    }

    /// The remembered data of a job that was finished a short time ago.
    fn finished_job(&self, job: &JobRef) -> Option<Response> {
        let JobRef::Id(id) = *job else { return None };
        let finished = self.engine.finished_job(id, self.clock.stamp())?;
        Some(Response::Job(Box::new(JobReport {
            id,
            state: Some(JobState::Finished),
            topic: self.topic_name(finished.topic),
            key: None,
            priority: 0,
            attempts: finished.attempts,
            due: Millis(0),
            ttr_ms: 0,
            ttr_left_ms: 0,
            buried: None,
            attributes: Attributes::default(),
            body_bytes: 0,
            body: Bytes::new(),
            history: JobHistory { finished: Some(finished.at), ..JobHistory::default() },
            version: 0,
        })))
    }

    pub(super) fn topic_report(&self, topic: &TopicView<'_>) -> TopicReport {
        TopicReport { topic: topic.name.clone(), paused: topic.paused, totals: self.totals_of(topic) }
    }

    pub(super) fn totals_of(&self, topic: &TopicView<'_>) -> Totals {
        let stamp = self.clock.stamp();
        Totals {
            delayed: topic.delayed,
            ready: topic.ready,
            reserved: topic.reserved,
            buried: topic.buried,
            pushed: topic.pushed,
            finished: topic.finished,
            deleted: topic.deleted,
            expired: topic.expired,
            oldest_ready_ms: topic.ready_since.map_or(0, |since| stamp.since(since)),
        }
    }

    /// What happened in topics that are gone.
    pub(super) fn forgotten(&self) -> Totals {
        let TopicTotals { pushed, finished, deleted, expired } = self.engine.forgotten_topics();
        Totals { pushed, finished, deleted, expired, ..Totals::default() }
    }

    fn topic_settings(&self, name: &TopicName) -> Response {
        let found = self.engine.topic_id(name.as_str()).and_then(|id| self.engine.topic(id));
        let Some(view) = found else {
            let none = "there is no such topic: it has neither a job nor a policy";
            return Response::Error(ErrorReply::new(ErrorCode::NotFound, none));
        };
        let policy = self.engine.topic_policy(view.id).cloned().unwrap_or_default();
        let RetryDefaults { attempts_max, backoff } = self.engine.retry_defaults().clone();
        let defaults = RetryDefaults {
            attempts_max: attempts_max.filter(|_| policy.attempts_max.is_none()),
            backoff: backoff.filter(|_| policy.backoff.is_none()),
        };
        let jobs = view.delayed + view.ready + view.reserved + view.buried;
        let bytes = self.engine.topic_bytes(view.id);
        Response::TopicSettings(Box::new(TopicSettings {
            policy,
            defaults,
            paused: view.paused,
            jobs,
            bytes,
        }))
    }
}

pub(super) fn add(sum: Totals, one: &Totals) -> Totals {
    Totals {
        delayed: sum.delayed + one.delayed,
        ready: sum.ready + one.ready,
        reserved: sum.reserved + one.reserved,
        buried: sum.buried + one.buried,
        pushed: sum.pushed + one.pushed,
        finished: sum.finished + one.finished,
        deleted: sum.deleted + one.deleted,
        expired: sum.expired + one.expired,
        oldest_ready_ms: sum.oldest_ready_ms.max(one.oldest_ready_ms),
    }
}
