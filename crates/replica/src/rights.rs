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
use super::node::Node;
use super::selects::{NO_JOB, is_in_any};
use super::token_limits::TokenLimits;
use adjourn_protocol::{
    Bulk, Change, Count, ErrorCode, ErrorReply, JobRef, Push, Request, RequestOpcode, Subject, TopicSet,
};
use adjourn_types::{Access, CallBack, Filter, IfExists, JobId, Lease, Right, TopicId, TopicName};

/// Looking up this many leases is one unit of work.
const LEASES_PER_UNIT: u64 = 8;

/// The result of a check that allows a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    All,
    /// This job, and perhaps others, was removed from the request: the client may not see it.
    But(JobId),
}

/// Where a client needs the right to a request.
enum Scope<'a> {
    /// To some topic: it is shown what it may see.
    SomeTopic,
    /// To some topic, or to the server: the members are no secret.
    Cluster,
    /// To the server.
    Server,
    /// To all topics, and to these by another right.
    All(Vec<(Right, &'a TopicName)>),
    Topics(&'a [TopicName]),
    /// To topics, each with the right that is needed there.
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
    let checked = match scope(right, request) {
        Scope::SomeTopic | Scope::Cluster if access.has_somewhere(right) => Ok(Seen::All),
        Scope::Cluster | Scope::Server if access.has_everywhere(Right::Admin) => Ok(Seen::All),
        Scope::Job(_) | Scope::Leases(_) if access.has_everywhere(right) => Ok(Seen::All),
        Scope::SomeTopic | Scope::Cluster => Err(denied(&access, right, "any topic")),
        Scope::Server => Err(denied(&access, right, "the server")),
        Scope::All(more) if access.has_everywhere(right) => check_topics(&access, more),
        Scope::All(_) => Err(denied(&access, right, "all topics, which this needs: name a topic")),
        Scope::Topics(topics) => check_topics(&access, topics.iter().map(|topic| (right, topic))),
        Scope::TopicsBy(topics) => check_topics(&access, topics),
        Scope::Job(job) => group.state.check_job(&access, right, job),
        Scope::Leases(leases) => check_leases(group, &access, leases),
    };
    let checked =
        checked.and_then(|seen| check_new_topics(node, group, limits, &access, request).map(|()| seen));
    let (about, denied) = match &checked {
        Ok(Seen::All) => return Ok(()),
        Ok(Seen::But(job)) => (format!("job {job}"), "the token may not see it".to_owned()),
        Err(reply) => (about(request), reply.message.clone()),
    };
    node.tell_auditor(connection, &access, request.opcode(), about, Some(denied));
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
        Request::ScheduleSet(set) => vec![&set.topic],
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
    /// Tells an auditor of a request that changes more than single jobs, when it is allowed and will be tried.
    pub(super) fn tell_of_change(&mut self, connection: ConnectionId, request: &mut Request) {
        if request.opcode().right().is_some_and(|right| changes_much(right, request))
            && let Some(access) = self.connections.access(connection)
        {
            self.tell_auditor(connection, &access, request.opcode(), about(request), None);
        }
    }

    fn tell_auditor(
        &mut self,
        connection: ConnectionId,
        access: &Access,
        request: RequestOpcode,
        about: String,
        denied: Option<String>,
    ) {
        let address = self.connections.one(connection).map(|one| one.address.to_string()).unwrap_or_default();
        let token = access.token.clone();
        let audited = Audited { token, address, request, about, denied };
        self.due.push(Output::Audited(Box::new(audited)));
    }
}

/// Where the client needs this right. What a request names decides it, except for requests that need more than one right, and
/// those that show no more than the client may see.
fn scope(right: Right, request: &mut Request) -> Scope<'_> {
    match request {
        Request::ClusterStatus => Scope::Cluster,
        Request::Push(push) => of_push(right, push),
        Request::TopicSet(set) => of_settings(right, set),
        // Its jobs are pushed, as if the client did it.
        Request::ScheduleSet(set) => Scope::TopicsBy(vec![(right, &set.topic), (Right::Push, &set.topic)]),
        // It shows the schedule, and pushes its jobs as if the client did it.
        Request::ScheduleFill(fill) => {
            let pushes = Some((right, &fill.topic)).filter(|_| !fill.is_dry_run);
            Scope::TopicsBy(pushes.into_iter().chain([(Right::Read, &fill.topic)]).collect())
        }
        Request::Bulk(Bulk { filter, change: Change::Move { to }, .. }) => match &filter.topic {
            None => Scope::All(vec![(Right::Push, to)]),
            Some(from) => Scope::TopicsBy(vec![(right, from), (Right::Push, to)]),
        },
        Request::Count(Count { filter: Filter { topic: None, .. }, .. }) => Scope::All(Vec::new()),
        request => match request.subject() {
            Subject::Topic(topic) => Scope::Topics(std::slice::from_ref(topic)),
            Subject::Topics(topics) => Scope::Topics(topics),
            Subject::Job(JobRef::Id(id)) => Scope::Job(id),
            Subject::Job(JobRef::Key { topic, key }) if right == Right::Read && is_in_any(topic, key) => {
                Scope::SomeTopic
            }
            Subject::Job(JobRef::Key { topic, .. }) => Scope::Topics(std::slice::from_ref(topic)),
            Subject::Leases(leases) => Scope::Leases(leases),
            Subject::Nothing => match right {
                Right::Read | Right::Consume => Scope::SomeTopic,
                Right::Push | Right::Manage => Scope::All(Vec::new()),
                Right::Admin => Scope::Server,
            },
        },
    }
}

/// A push that takes a job from its holder does more than push.
fn of_push(right: Right, push: &Push) -> Scope<'_> {
    if push.jobs.iter().any(|job| job.if_exists == IfExists::ReplaceReserved) {
        Scope::TopicsBy(vec![(right, &push.topic), (Right::Manage, &push.topic)])
    } else {
        Scope::Topics(std::slice::from_ref(&push.topic))
    }
}

/// Dead letters go to another topic, as if the client pushed them there; call-backs show jobs, as if the client took them.
fn of_settings(right: Right, TopicSet { topic, change }: &TopicSet) -> Scope<'_> {
    let dead_letters = change.set.dead_letters.iter().map(|topic| (Right::Push, topic));
    let shows = change.set.call_back.as_ref().is_some_and(|set| **set != CallBack::pause());
    let takes = [Right::Read, Right::Consume].into_iter().filter(|_| shows);
    let here = std::iter::once(right).chain(takes).map(|right| (right, topic));
    Scope::TopicsBy(here.chain(dead_letters).collect())
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
    ErrorReply::new(ErrorCode::Forbidden, message)
}
