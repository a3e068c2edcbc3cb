//! What a client's token lets it do.
//!
//! Every request comes by here once, when it is taken up: what the table of requests says that it needs is compared with what
//! the token grants. A job that is named by its id is looked up. If the client may not even see its topic, the request goes on
//! as one for a job that never was: ids tell nothing of topics that are none of the client's business.
//!
//! An auditor is told what was denied, and each request that changes more than single jobs.

use super::Replica;
use super::io::{Audited, ConnectionId, Output};
use crate::engine::JobSelect;
use crate::protocol::{Bulk, Change, ErrorCode, ErrorReply, JobRef, Request};
use crate::types::{Access, JobId, Lease, Right, TopicId, TopicName};

/// The id of no job.
const NO_JOB: JobId = JobId(0);

/// What a request is about.
enum Subject<'a> {
    /// Nothing that belongs to anybody.
    Nothing,
    /// What the client may see of the queue.
    WhatItMay,
    /// All topics, or the whole server.
    All,
    Topics(&'a [TopicName]),
    /// Topics, each with the right that is needed there.
    TopicsBy(Vec<(Right, &'a TopicName)>),
    Job(&'a mut JobId),
    Leases(&'a mut [Lease]),
}

impl Replica {
    /// Whether a client may ask for this. Takes out of the request what the client may not know of.
    pub(super) fn check_rights(
        &mut self,
        connection: ConnectionId,
        request: &mut Request,
    ) -> Result<(), ErrorReply> {
        let Some(access) = self.connections.access(connection) else { return Ok(()) };
        let Some(right) = request.opcode().right() else { return Ok(()) };
        let checked = match subject(right, request) {
            Subject::Nothing => Ok(()),
            Subject::WhatItMay if access.has_somewhere(right) => Ok(()),
            Subject::All | Subject::Job(_) | Subject::Leases(_) if access.has_everywhere(right) => Ok(()),
            Subject::WhatItMay => Err(denied(&access, right, "any topic")),
            Subject::All => Err(denied(&access, right, "all topics, which this needs: name a topic")),
            Subject::Topics(topics) => check_topics(&access, topics.iter().map(|topic| (right, topic))),
            Subject::TopicsBy(topics) => check_topics(&access, topics),
            Subject::Job(job) => self.check_job(&access, right, job),
            Subject::Leases(leases) => self.check_leases(&access, leases),
        };
        match checked {
            Ok(()) => {
                if changes_much(right, request) {
                    self.tell_auditor(connection, &access, request, None);
                }
                Ok(())
            }
            Err(reply) => {
                self.tell_auditor(connection, &access, request, Some(reply.message.clone()));
                Err(reply)
            }
        }
    }

    /// Whether a client may see the jobs of a topic.
    pub(super) fn may_see(&self, connection: ConnectionId, topic: TopicId) -> bool {
        let Some(access) = self.connections.access(connection) else { return true };
        access.has_everywhere(Right::Read)
            || self.engine.topic(topic).is_some_and(|view| access.has(Right::Read, view.name.as_str()))
    }

    fn check_job(&mut self, access: &Access, right: Right, job: &mut JobId) -> Result<(), ErrorReply> {
        match self.topic_of(*job) {
            Some(topic) if access.has(right, topic.as_str()) => Ok(()),
            Some(topic) if access.has(Right::Read, topic.as_str()) => {
                Err(denied(access, right, topic.as_str()))
            }
            _ => {
                *job = NO_JOB;
                Ok(())
            }
        }
    }

    /// The leases of others are stale, for whoever may not consume from their topics.
    fn check_leases(&mut self, access: &Access, leases: &mut [Lease]) -> Result<(), ErrorReply> {
        if !access.has_somewhere(Right::Consume) {
            return Err(denied(access, Right::Consume, "any topic"));
        }
        for lease in leases {
            let topic = self.topic_of(lease.job);
            if !topic.is_some_and(|topic| access.has(Right::Consume, topic.as_str())) {
                lease.job = NO_JOB;
            }
        }
        Ok(())
    }

    /// The topic of a job that is there, or is remembered.
    fn topic_of(&mut self, job: JobId) -> Option<TopicName> {
        let found = self.engine.job(&JobSelect::Id(job), &mut self.records);
        let topic = match found {
            Ok(Some(view)) => Some(view.topic),
            // Whoever may see it is told when it is read. Nobody else is.
            Err(_) => None,
            Ok(None) => self.engine.finished_job(job, self.clock.stamp()).map(|finished| finished.topic),
        };
        topic.and_then(|topic| self.engine.topic(topic)).map(|view| view.name.clone())
    }

    fn tell_auditor(
        &mut self,
        connection: ConnectionId,
        access: &Access,
        request: &Request,
        denied: Option<String>,
    ) {
        let address = self.connections.one(connection).map(|one| one.address.clone()).unwrap_or_default();
        let token = access.token.clone();
        let audited = Audited { token, address, request: request.opcode(), about: about(request), denied };
        self.due.push(Output::Audited(Box::new(audited)));
    }
}

/// What a request is about. Every request stands here: a new one is given its place.
fn subject(right: Right, request: &mut Request) -> Subject<'_> {
    match request {
        Request::Hello(_)
        | Request::Ping
        | Request::Goodbye
        | Request::Credit { .. }
        | Request::Unsubscribe { .. }
        | Request::Cancel { .. }
        | Request::BackupRead { .. }
        | Request::BackupEnd => Subject::Nothing,
        Request::Leases { .. } | Request::Topics | Request::Stats | Request::ClusterStatus => {
            Subject::WhatItMay
        }
        Request::Connections { .. }
        | Request::Disconnect { .. }
        | Request::BackupBegin
        | Request::ClusterAdd { .. }
        | Request::ClusterRemove { .. }
        | Request::ClusterTransfer { .. } => Subject::All,
        Request::Push(push) => Subject::Topics(std::slice::from_ref(&push.topic)),
        Request::Reserve(reserve) => Subject::Topics(&reserve.topics),
        Request::Subscribe(subscribe) => Subject::Topics(&subscribe.topics),
        Request::Finish { leases }
        | Request::Release { leases, .. }
        | Request::Touch { leases, .. }
        | Request::Bury { leases, .. } => Subject::Leases(leases),
        Request::Get(job)
        | Request::Delete(job)
        | Request::RunNow(job)
        | Request::Kick(job)
        | Request::Reschedule { job, .. } => match job {
            JobRef::Id(id) => Subject::Job(id),
            JobRef::Key { topic, .. } => Subject::Topics(std::slice::from_ref(topic)),
        },
        Request::Peek { topic }
        | Request::KickMany { topic, .. }
        | Request::Pause { topic }
        | Request::Resume { topic }
        | Request::TopicDelete { topic }
        | Request::TopicShow { topic } => Subject::Topics(std::slice::from_ref(topic)),
        // Its dead letters go to another topic, as if the client pushed them there.
        Request::TopicSet(set) => {
            let dead_letters = set.change.set.dead_letters.iter().map(|topic| (Right::Push, topic));
            Subject::TopicsBy(std::iter::once((right, &set.topic)).chain(dead_letters).collect())
        }
        Request::List(list) => match &list.filter.topic {
            Some(topic) => Subject::Topics(std::slice::from_ref(topic)),
            None => Subject::WhatItMay,
        },
        Request::Count(filter) => {
            filter.topic.as_ref().map_or(Subject::All, |topic| Subject::Topics(std::slice::from_ref(topic)))
        }
        Request::Bulk(Bulk { filter, change, .. }) => match (&filter.topic, change) {
            (None, _) => Subject::All,
            (Some(from), Change::Move { to }) => Subject::TopicsBy(vec![(right, from), (Right::Push, to)]),
            (Some(topic), _) => Subject::Topics(std::slice::from_ref(topic)),
        },
    }
}

/// Whether a request changes more than single jobs.
fn changes_much(right: Right, request: &Request) -> bool {
    match request {
        Request::Delete(_) | Request::RunNow(_) | Request::Kick(_) | Request::Reschedule { .. } => false,
        _ => matches!(right, Right::Manage | Right::Admin),
    }
}

/// On what a request is, for an auditor to read.
fn about(request: &Request) -> String {
    let of_job = |job: &JobRef| match job {
        JobRef::Id(id) => format!("job {id}"),
        JobRef::Key { topic, key } => format!("topic {} key {}", topic.as_str(), key.as_str()),
    };
    let of_filter = |topic: &Option<TopicName>| {
        topic.as_ref().map_or_else(|| "all topics".to_owned(), |topic| format!("topic {}", topic.as_str()))
    };
    let of_topics = |topics: &[TopicName]| {
        let names: Vec<&str> = topics.iter().map(TopicName::as_str).collect();
        format!("topics {}", names.join(" "))
    };
    match request {
        Request::Push(push) => format!("topic {}", push.topic.as_str()),
        Request::Reserve(reserve) => of_topics(&reserve.topics),
        Request::Subscribe(subscribe) => of_topics(&subscribe.topics),
        Request::Get(job)
        | Request::Delete(job)
        | Request::RunNow(job)
        | Request::Kick(job)
        | Request::Reschedule { job, .. } => of_job(job),
        Request::Peek { topic }
        | Request::KickMany { topic, .. }
        | Request::Pause { topic }
        | Request::Resume { topic }
        | Request::TopicDelete { topic }
        | Request::TopicShow { topic } => format!("topic {}", topic.as_str()),
        Request::TopicSet(set) => format!("topic {}", set.topic.as_str()),
        Request::List(list) => of_filter(&list.filter.topic),
        Request::Count(filter) => of_filter(&filter.topic),
        Request::Bulk(bulk) => match &bulk.change {
            Change::Move { to } => format!("{} move to {}", of_filter(&bulk.filter.topic), to.as_str()),
            change => format!("{} {}", of_filter(&bulk.filter.topic), verb(change)),
        },
        Request::Disconnect { connection, .. } => format!("connection {connection}"),
        Request::ClusterAdd { address } => address.clone(),
        Request::ClusterRemove { node } | Request::ClusterTransfer { node } => format!("node {node}"),
        _ => String::new(),
    }
}

fn verb(change: &Change) -> &'static str {
    match change {
        Change::Delete => "delete",
        Change::Kick => "kick",
        Change::RunNow => "run now",
        Change::Reschedule { .. } => "reschedule",
        Change::Move { .. } => "move",
    }
}

fn check_topics<'a>(
    access: &Access,
    topics: impl IntoIterator<Item = (Right, &'a TopicName)>,
) -> Result<(), ErrorReply> {
    let missing = topics.into_iter().find(|(right, topic)| !access.has(*right, topic.as_str()));
    missing.map_or(Ok(()), |(right, topic)| Err(denied(access, right, topic.as_str())))
}

fn denied(access: &Access, right: Right, what: &str) -> ErrorReply {
    let message = format!("the token {} has no right to {} on {what}", access.token, right.name());
    ErrorReply::new(ErrorCode::Unauthorised, message)
}
