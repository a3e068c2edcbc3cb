//! Checks what a client's token allows.
//!
//! Each request is checked once, when it is taken up: the right that it needs, by the table of requests, is compared with
//! the token's grants. For a job named by its id, the topic is looked up. If the client may not even read that topic, the
//! request continues as if the job did not exist: ids reveal nothing about topics that the client may not see.
//!
//! The audit log records denied requests, and requests that change more than single jobs.

use std::collections::BTreeMap;

use super::audited::{about, changes_much};
use super::group::Group;
use super::group::state::State;
use super::io::{Audited, ConnectionId, Output};
use super::leader::token_limits::TokenLimits;
use super::node::Node;
use crate::protocol::{Bulk, Change, ErrorCode, ErrorReply, JobRef, Push, Request, TopicSet};
use crate::types::{Access, CallBack, IfExists, JobId, Lease, Right, TopicId, TopicName};

/// Looking up this many leases is one unit of work.
const LEASES_PER_UNIT: u64 = 8;

/// An id that no job has.
const NO_JOB: JobId = JobId(0);

/// The result of a check that allows a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    All,
    /// This job, and perhaps others, was removed from the request: the client may not see it.
    But(JobId),
}

/// What a request is about.
enum Subject<'a> {
    /// Nothing that needs a right to a topic.
    Nothing,
    /// Whatever the client may see.
    WhatItMay,
    /// The cluster: for clients that may read any topic, or administer the server.
    Cluster,
    /// The server as a whole.
    Server,
    /// All topics, and these topics by another right.
    All(Vec<(Right, &'a TopicName)>),
    Topics(&'a [TopicName]),
    /// Topics, each with the right that it needs.
    TopicsBy(Vec<(Right, &'a TopicName)>),
    Job(&'a mut JobId),
    Leases(&'a mut [Lease]),
}

/// Checks a client's right to a request, and removes jobs from it that the client may not see.
pub(super) fn check_rights(
    node: &mut Node,
    group: &mut Group,
    limits: Option<&mut TokenLimits>,
    connection: ConnectionId,
    request: &mut Request,
) -> Result<(), ErrorReply> {
    let Some(access) = node.connections.access(connection) else { return Ok(()) };
    let Some(right) = request.opcode().right() else { return Ok(()) };
    let checked = match subject(right, request) {
        Subject::Nothing => Ok(Seen::All),
        Subject::WhatItMay | Subject::Cluster if access.has_somewhere(right) => Ok(Seen::All),
        Subject::Cluster | Subject::Server if access.has_everywhere(Right::Admin) => Ok(Seen::All),
        Subject::Job(_) | Subject::Leases(_) if access.has_everywhere(right) => Ok(Seen::All),
        Subject::WhatItMay | Subject::Cluster => Err(denied(&access, right, "any topic")),
        Subject::Server => Err(denied(&access, right, "the server")),
        Subject::All(more) if access.has_everywhere(right) => check_topics(&access, more),
        Subject::All(_) => Err(denied(&access, right, "all topics, which this needs: name a topic")),
        Subject::Topics(topics) => check_topics(&access, topics.iter().map(|topic| (right, topic))),
        Subject::TopicsBy(topics) => check_topics(&access, topics),
        Subject::Job(job) => group.state.check_job(&access, right, job),
        Subject::Leases(leases) => check_leases(group, &access, leases),
    };
    let checked =
        checked.and_then(|seen| check_new_topics(node, group, limits, &access, request).map(|()| seen));
    let (about, denied) = match &checked {
        Ok(Seen::All) => return Ok(()),
        Ok(Seen::But(job)) => (format!("job {job}"), "the token may not see it".to_owned()),
        Err(reply) => (about(request), reply.message.clone()),
    };
    node.tell_auditor(connection, &access, request, about, Some(denied));
    checked.map(|_| ())
}

/// Hides leases on jobs whose topics the client may not consume: they count as stale. Leased jobs are in memory, so nothing
/// is read, and a hidden job takes no longer than one that does not exist.
fn check_leases(group: &mut Group, access: &Access, leases: &mut [Lease]) -> Result<Seen, ErrorReply> {
    if !access.has_somewhere(Right::Consume) {
        return Err(denied(access, Right::Consume, "any topic"));
    }
    group.work.count(leases.len() as u64 / LEASES_PER_UNIT);
    let stamp = group.state.clock.stamp();
    let mut seen = Seen::All;
    let mut allowed = BTreeMap::new();
    for lease in leases {
        let topic = group.state.engine.topic_of_leased(lease.job, stamp);
        let may = topic.is_some_and(|topic| {
            *allowed.entry(topic).or_insert_with(|| group.state.has_right(access, Right::Consume, topic))
        });
        if !may {
            let hidden = std::mem::replace(&mut lease.job, NO_JOB);
            seen = topic.map_or(seen, |_| Seen::But(hidden));
        }
    }
    Ok(seen)
}

/// Checks that the token may create the topics that a request would create.
fn check_new_topics(
    node: &Node,
    group: &mut Group,
    limits: Option<&mut TokenLimits>,
    access: &Access,
    request: &Request,
) -> Result<(), ErrorReply> {
    let names = match request {
        Request::Push(push) => vec![&push.topic],
        Request::TopicSet(TopicSet { topic, change }) => {
            std::iter::once(topic).chain(&change.set.dead_letters).collect()
        }
        Request::Bulk(Bulk { change: Change::Move { to }, .. }) => vec![to],
        _ => return Ok(()),
    };
    let Some(limits) = limits else { return Ok(()) };
    let made = limits.make(access, &names, node.now_us, &group.state.engine);
    group.work.count(made.looks);
    if made.is_allowed {
        return Ok(());
    }
    let many = format!(
        "the token {} makes no topic while there are {} that it may push to or manage, or that its dead letters will make: delete one",
        access.token, access.topics_max
    );
    Err(ErrorReply::new(ErrorCode::Quota, many))
}

impl State {
    /// True if a client has a right to an existing topic.
    pub(super) fn may(&self, node: &Node, connection: ConnectionId, right: Right, topic: TopicId) -> bool {
        let Some(access) = node.connections.access(connection) else { return true };
        access.has_everywhere(right) || self.has_right(&access, right, topic)
    }

    fn has_right(&self, access: &Access, right: Right, topic: TopicId) -> bool {
        self.engine.topic(topic).is_some_and(|view| access.has(right, view.name.as_str()))
    }

    fn check_job(&mut self, access: &Access, right: Right, job: &mut JobId) -> Result<Seen, ErrorReply> {
        match self.topic_of(*job) {
            Some(topic) if access.has(right, topic.as_str()) => Ok(Seen::All),
            Some(topic) if access.has(Right::Read, topic.as_str()) => {
                Err(denied(access, right, topic.as_str()))
            }
            found => {
                let hidden = std::mem::replace(job, NO_JOB);
                Ok(found.map_or(Seen::All, |_| Seen::But(hidden)))
            }
        }
    }

    /// The topic of a job that exists or is remembered.
    fn topic_of(&mut self, job: JobId) -> Option<TopicName> {
        let topic = match self.engine.topic_of(job, &mut self.records) {
            Ok(Some(topic)) => Some(topic),
            // A client that may see the job gets the error when the job is read; others learn nothing.
            Err(_) => None,
            Ok(None) => self.engine.finished_job(job, self.clock.stamp()).map(|finished| finished.topic),
        };
        topic.and_then(|topic| self.known_name(topic))
    }
}

impl Node {
    /// Records a request that changes more than single jobs, when it is allowed and about to be tried.
    pub(super) fn tell_of_change(&mut self, connection: ConnectionId, request: &Request) {
        if request.opcode().right().is_some_and(|right| changes_much(right, request))
            && let Some(access) = self.connections.access(connection)
        {
            self.tell_auditor(connection, &access, request, about(request), None);
        }
    }

    fn tell_auditor(
        &mut self,
        connection: ConnectionId,
        access: &Access,
        request: &Request,
        about: String,
        denied: Option<String>,
    ) {
        let address = self.connections.one(connection).map(|one| one.address.to_string()).unwrap_or_default();
        let token = access.token.clone();
        let audited = Audited { token, address, request: request.opcode(), about, denied };
        self.due.push(Output::Audited(Box::new(audited)));
    }
}

/// The subject of a request. Every request is listed: a new one must be added here.
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
        Request::Leases { .. } | Request::Topics | Request::Stats => Subject::WhatItMay,
        Request::ClusterStatus => Subject::Cluster,
        Request::Connections { .. }
        | Request::Disconnect { .. }
        | Request::BackupBegin
        | Request::ClusterAdd { .. }
        | Request::ClusterRemove { .. }
        | Request::ClusterTransfer { .. } => Subject::Server,
        Request::Push(push) => of_push(right, push),
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
        Request::TopicSet(set) => of_settings(right, set),
        Request::List(list) => match &list.filter.topic {
            Some(topic) => Subject::Topics(std::slice::from_ref(topic)),
            None => Subject::WhatItMay,
        },
        Request::Count(filter) => {
            let all = Subject::All(Vec::new());
            filter.topic.as_ref().map_or(all, |topic| Subject::Topics(std::slice::from_ref(topic)))
        }
        Request::Bulk(Bulk { filter, change, .. }) => match (&filter.topic, change) {
            (None, Change::Move { to }) => Subject::All(vec![(Right::Push, to)]),
            (None, _) => Subject::All(Vec::new()),
            (Some(from), Change::Move { to }) => Subject::TopicsBy(vec![(right, from), (Right::Push, to)]),
            (Some(topic), _) => Subject::Topics(std::slice::from_ref(topic)),
        },
    }
}

/// A push that may take a job from its holder needs the right to manage as well.
fn of_push(right: Right, push: &Push) -> Subject<'_> {
    if push.jobs.iter().any(|job| job.if_exists == IfExists::ReplaceReserved) {
        Subject::TopicsBy(vec![(right, &push.topic), (Right::Manage, &push.topic)])
    } else {
        Subject::Topics(std::slice::from_ref(&push.topic))
    }
}

/// Dead letters need the right to push to their topic. Call-backs show jobs, so they need the rights to read and to
/// consume.
fn of_settings(right: Right, TopicSet { topic, change }: &TopicSet) -> Subject<'_> {
    let dead_letters = change.set.dead_letters.iter().map(|topic| (Right::Push, topic));
    let shows = change.set.call_back.as_ref().is_some_and(|set| **set != CallBack::pause());
    let takes = [Right::Read, Right::Consume].into_iter().filter(|_| shows);
    let here = std::iter::once(right).chain(takes).map(|right| (right, topic));
    Subject::TopicsBy(here.chain(dead_letters).collect())
}

fn check_topics<'a>(
    access: &Access,
    topics: impl IntoIterator<Item = (Right, &'a TopicName)>,
) -> Result<Seen, ErrorReply> {
    let missing = topics.into_iter().find(|(right, topic)| !access.has(*right, topic.as_str()));
    missing.map_or(Ok(Seen::All), |(right, topic)| Err(denied(access, right, topic.as_str())))
}

fn denied(access: &Access, right: Right, what: &str) -> ErrorReply {
    let message = format!("the token {} has no right to {} on {what}", access.token, right.name());
    ErrorReply::new(ErrorCode::Unauthorised, message)
}
