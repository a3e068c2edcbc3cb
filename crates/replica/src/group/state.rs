//! The state, and how it is shown to clients: jobs, topics and members.

use std::sync::Arc;

use bytes::Bytes;

use super::clock::LeaderClock;
use crate::node::Node;
use crate::observe::{CalledBack, OBSERVED_TOPICS_MAX};
use crate::selects::{NO_JOB, is_in_any, select_job};
use adjourn_engine::{Engine, Grant, JobSelect, JobView, TopicTotals, TopicView};
use adjourn_protocol::{
    Delivered, ErrorCode, ErrorReply, JobRef, JobReport, Member, Response, TopicReport, TopicSettings, Totals,
};
use adjourn_storage::{Records, StorageError};
use adjourn_types::{
    Access, Attributes, Filter, JobHistory, JobState, Key, Millis, RetryDefaults, Right, TopicId, TopicName,
};

/// The engine with its records, and the clock by which they are shown.
pub(crate) struct State {
    pub(crate) engine: Engine,
    pub(crate) records: Records,
    pub(crate) clock: LeaderClock,
}

/// The answer where there is no job.
pub(crate) fn no_job() -> Response {
    let gone = "there is no such job: it was finished, deleted, expired, or never there";
    Response::Error(ErrorReply::new(ErrorCode::NotFound, gone))
}

impl State {
    /// The name of a topic that must exist.
    pub(crate) fn topic_name(&self, topic: TopicId) -> TopicName {
        self.known_name(topic).unwrap_or_else(|| unreachable!("a job's topic exists"))
    }

    /// A job with its record. Only an operator learns who held it.
    ///
    /// # Errors
    ///
    /// If its record cannot be read.
    pub(crate) fn job_report(&mut self, job: &JobView, is_operator: bool) -> Result<JobReport, StorageError> {
        let mut history = job.history.clone();
        history.held_by = history.held_by.filter(|_| is_operator);
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
            attributes: attributes.in_force(job.expires, job.attempts_max, job.backoff.as_ref()),
            body_bytes: job.body.body_bytes,
            body: record.body,
            history,
            version: job.version,
        })
    }

    /// The job that a read names. Of the jobs with an id that is named alone, it is the oldest one that the client may see.
    pub(crate) fn select<'a>(&self, access: Option<&Access>, job: &'a JobRef) -> JobSelect<'a> {
        match job {
            JobRef::Key { topic, key } if is_in_any(topic, key) => {
                let is_seen = |topic: &TopicView<'_>| {
                    access.is_none_or(|access| access.has(Right::Read, topic.name.as_str()))
                };
                JobSelect::Id(self.engine.oldest_with_key(key.as_bytes(), is_seen).unwrap_or(NO_JOB))
            }
            job => select_job(job),
        }
    }

    /// A recently finished job, as far as it is remembered.
    pub(crate) fn finished_job(&self, job: &JobRef) -> Option<Response> {
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

    /// The report of a topic, with how many consumers want its jobs and how late these were.
    pub(crate) fn topic_report(
        &self,
        topic: &TopicView<'_>,
        (consumers, late_ms): (u32, u64),
    ) -> TopicReport {
        TopicReport {
            topic: topic.name.clone(),
            paused: self.is_paused(topic),
            consumers,
            late_ms,
            totals: self.totals_of(topic),
        }
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

    /// The totals of topics that no longer exist.
    pub(crate) fn forgotten(&self) -> Totals {
        let TopicTotals { pushed, finished, deleted, expired } = self.engine.forgotten_topics();
        Totals { pushed, finished, deleted, expired, ..Totals::default() }
    }

    /// The topic with this name.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is none.
    pub(crate) fn known_topic(&self, name: &TopicName) -> Result<TopicView<'_>, ErrorReply> {
        let unknown = "there is no such topic: it has neither a job nor a policy";
        let found = self.engine.topic_id(name.as_str()).and_then(|id| self.engine.topic(id));
        found.ok_or_else(|| ErrorReply::new(ErrorCode::NotFound, unknown))
    }

    pub(crate) fn topic_settings(&self, name: &TopicName) -> Response {
        let view = match self.known_topic(name) {
            Ok(view) => view,
            Err(unknown) => return Response::Error(unknown),
        };
        let policy = self.engine.topic_policy(view.id).cloned().unwrap_or_default();
        let RetryDefaults { attempts_max, backoff } = self.engine.retry_defaults().clone();
        let defaults = RetryDefaults {
            attempts_max: attempts_max.filter(|_| policy.attempts_max.is_none()),
            backoff: backoff.filter(|_| policy.backoff.is_none()),
        };
        let jobs = view.delayed + view.ready + view.reserved + view.buried;
        let bytes = self.engine.topic_bytes(view.id);
        let ends = view.paused.and_then(|paused| paused.until);
        let pause_left_ms = ends.map_or(0, |until| until.since(self.clock.stamp()));
        Response::TopicSettings(Box::new(TopicSettings {
            policy,
            defaults,
            paused: self.is_paused(&view),
            pause_left_ms,
            jobs,
            bytes,
        }))
    }

    pub(crate) fn delivered(&mut self, node: &Node, grant: &Grant) -> Result<Delivered, StorageError> {
        let record = self.records.record(grant.body)?;
        let deadline_ms = self.clock.elapsed_at(grant.deadline) / 1000;
        let left_ms = deadline_ms.saturating_sub(node.clock_ms());
        Ok(Delivered {
            lease: grant.lease,
            topic: self.topic_name(grant.topic),
            key: record.key.and_then(|key| Key::new(key).ok()),
            priority: grant.priority,
            attempts: grant.attempts,
            due: grant.due,
            ttr_left_ms: u32::try_from(left_ms).unwrap_or(u32::MAX),
            deadline_ms,
            attributes: Attributes::new(record.attributes).unwrap_or_default(),
            body: record.body,
        })
    }

    /// The number of jobs of a filter's topic, or of the queue.
    pub(crate) fn jobs_of_topic(&self, filter: &Filter) -> u64 {
        let of_topic = Filter { topic: filter.topic.clone(), ..Filter::default() };
        if filter.topic.is_none() {
            self.engine.jobs()
        } else {
            self.engine.count_by_state(&of_topic).unwrap_or(0)
        }
    }

    /// The name of a topic, if it exists.
    pub(crate) fn known_name(&self, topic: TopicId) -> Option<TopicName> {
        self.engine.topic(topic).map(|topic| topic.name.clone())
    }

    pub(crate) fn are_paused(&self, topics: &[TopicName]) -> bool {
        topics.iter().all(|name| {
            let topic = self.engine.topic_id(name.as_str()).and_then(|id| self.engine.topic(id));
            topic.is_some_and(|topic| self.is_paused(&topic))
        })
    }

    /// True if a topic is paused now: a pause that has ended is forgotten with the next entry.
    fn is_paused(&self, topic: &TopicView<'_>) -> bool {
        topic.paused.is_some_and(|paused| paused.lasts(self.clock.stamp()))
    }

    pub(crate) fn called_back(&self) -> Vec<CalledBack> {
        let wanted = self.engine.topics().filter_map(|topic| {
            let policy = self.engine.topic_policy(topic.id)?;
            let call_back = policy.call_back.as_ref().filter(|call_back| call_back.is_wanted())?;
            let (topic, call_back) = (topic.name.clone(), Arc::clone(call_back));
            let backoff = policy.backoff.clone().or_else(|| self.engine.retry_defaults().backoff.clone());
            Some(CalledBack { topic, call_back, backoff })
        });
        wanted.collect()
    }

    /// The first topics that an observer may see. `consumption` says for each how many consumers want its jobs and how late these were.
    pub(crate) fn seen_by(
        &self,
        access: &Access,
        consumption: impl Fn(TopicId) -> (u32, u64),
    ) -> Vec<TopicReport> {
        let seen = self.engine.topics().filter(|topic| access.has(Right::Read, topic.name.as_str()));
        seen.take(OBSERVED_TOPICS_MAX).map(|topic| self.topic_report(&topic, consumption(topic.id))).collect()
    }

    pub(crate) fn all_totals(&self) -> Totals {
        self.engine.topics().fold(self.forgotten(), |sum, topic| add(sum, &self.totals_of(&topic)))
    }

    /// The members and their addresses, for clients. This node leads.
    pub(crate) fn members_for_clients(&self, node: &Node) -> Vec<Member> {
        let own = (node.config.node, node.config.client_address.clone());
        let others = self.engine.members().values().filter(|member| member.node != node.config.node);
        let others = others.map(|member| (member.node, member.client_address.clone()));
        let all = std::iter::once(own).chain(others);
        all.map(|(member, address)| Member { node: member, address, leader: member == node.config.node })
            .collect()
    }
}

pub(crate) fn add(sum: Totals, one: &Totals) -> Totals {
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
