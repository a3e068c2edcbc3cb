//! Requests about groups, and about what holds jobs back.

use super::Leader;
use crate::group::Group;
use crate::group::state::no_job;
use crate::io::ConnectionId;
use crate::node::Node;
use adjourn_engine::{GroupHold, GroupView, Hold, JobView};
use adjourn_protocol::{ErrorReply, GroupList, GroupPage, GroupReport, JobRef, Reason, Request, Response};
use adjourn_storage::StorageError;
use adjourn_types::{BuryReason, Millis, TopicId, TopicName, Why};

/// This many groups are one unit of work.
const GROUPS_PER_WORK: usize = 16;

impl Leader {
    /// Answers a request about groups, or about what holds jobs back.
    pub(super) fn about_groups(
        &self,
        node: &mut Node,
        group: &mut Group,
        asker: ConnectionId,
        request: &Request,
    ) -> Result<Response, StorageError> {
        let reasons = match request {
            Request::GroupList(list) => {
                return Ok(
                    known(group, &list.topic).map_or_else(Response::Error, |topic| page(group, topic, list))
                );
            }
            Request::TopicWhy { topic: name, group: of } => match known(group, name) {
                Err(unknown) => return Ok(Response::Error(unknown)),
                Ok(topic) => {
                    let engine = &group.state.engine;
                    let of_group = || engine.holds_of_group(topic, of);
                    let holds = if of.is_empty() { engine.holds_of_topic(topic) } else { of_group() };
                    self.reasons(node, group, asker, topic, holds, None)
                }
            },
            Request::Why(job) => match job_view(node, group, asker, job)? {
                None if group.state.finished_job(job).is_some() => {
                    vec![reason(node, group, asker, Hold::Finished, None)]
                }
                None => return Ok(no_job()),
                Some(view) => {
                    let holds = group.state.engine.holds_of_job(&view);
                    self.reasons(node, group, asker, view.topic, holds, Some(&view))
                }
            },
            other => unreachable!("{other:?} is about no group"),
        };
        Ok(Response::Reasons(reasons))
    }

    /// Notes that the calls of a topic are suspended for this long.
    pub(crate) fn calls_suspended(&mut self, node: &Node, topic: TopicName, for_ms: u64) {
        let until_us = node.queue_us.saturating_add(for_ms.saturating_mul(1000));
        self.suspended.note(topic, until_us, node.queue_us);
    }

    /// The reasons in words, with what only the leader knows: whether a consumer waits.
    fn reasons(
        &self,
        node: &Node,
        group: &Group,
        asker: ConnectionId,
        topic: TopicId,
        holds: Vec<Hold>,
        job: Option<&JobView>,
    ) -> Vec<Reason> {
        let waits = |hold: &Hold| {
            !matches!(hold, Hold::Delayed(_) | Hold::Reserved(_) | Hold::Buried(_) | Hold::Finished)
        };
        let is_ready = holds.iter().all(waits);
        let mut reasons: Vec<Reason> =
            holds.into_iter().map(|hold| reason(node, group, asker, hold, job)).collect();
        if is_ready {
            reasons.extend(self.no_consumer(node, group, topic));
        }
        if reasons.is_empty() {
            let text = "nothing holds it back: the next consumer that asks gets it".to_owned();
            reasons.push(plain(Why::Next, text));
        }
        reasons
    }

    fn no_consumer(&self, node: &Node, group: &Group, topic: TopicId) -> Option<Reason> {
        let policy = group.state.engine.topic_policy(topic);
        let call_back = policy.and_then(|policy| policy.call_back.as_ref());
        if call_back.is_some_and(|call_back| call_back.url.is_some() && call_back.paused) {
            let text = "the calls of the topic are paused: take call_back_paused away".to_owned();
            return Some(plain(Why::CallBackPaused, text));
        }
        if self.waiters.in_line(topic) {
            return None;
        }
        let name = group.state.topic_name(topic);
        if let Some(left_ms) = self.suspended.left_ms(&name, node.queue_us) {
            let text = "the destination of the topic's calls failed: calls are suspended".to_owned();
            let until = Some(group.state.clock.wall().after(left_ms));
            return Some(Reason { until, ..plain(Why::CallBackSuspended, text) });
        }
        let text = match self.waiters.of_topic(topic) {
            0 => "no consumer waits on the topic, and none is subscribed to it".to_owned(),
            busy => format!("no consumer waits on the topic: {busy} have no credit, or wait for an answer"),
        };
        Some(plain(Why::NoConsumer, text))
    }
}

fn job_view(
    node: &Node,
    group: &mut Group,
    asker: ConnectionId,
    job: &JobRef,
) -> Result<Option<JobView>, StorageError> {
    let access = node.connections.access(asker);
    group.work.count(group.state.topics_of(job));
    let selected = group.state.select(access.as_deref(), job);
    group.state.engine.job(&selected, &mut group.state.records)
}

fn known(group: &Group, topic: &TopicName) -> Result<TopicId, ErrorReply> {
    group.state.known_topic(topic).map(|view| view.id)
}

/// A page of groups, by name.
fn page(group: &mut Group, topic: TopicId, list: &GroupList) -> Response {
    let mut views = group.state.engine.groups_after(topic, &list.prefix, &list.after);
    let groups_max = list.groups_max as usize;
    let groups: Vec<GroupReport> = views.by_ref().take(groups_max).map(|view| report(group, &view)).collect();
    let shown_last = groups.last().map(|group| group.name.clone());
    let page = GroupPage { after: shown_last.filter(|_| views.next().is_some()), groups };
    group.work.count((page.groups.len() / GROUPS_PER_WORK) as u64);
    Response::Groups(page)
}

fn report(group: &Group, view: &GroupView<'_>) -> GroupReport {
    let stamp = group.state.clock.stamp();
    let (hold, until) = view.hold.map_or((Why::Next, None), |hold| why_group(group, hold));
    GroupReport {
        name: view.name.to_owned(),
        ready: view.ready,
        reserved: view.reserved,
        oldest_ms: view.ready_since.map_or(0, |since| stamp.since(since)),
        weight: view.weight,
        paused: view.paused,
        hold,
        until,
    }
}

/// The reason, and when it ends.
fn why_group(group: &Group, hold: GroupHold) -> (Why, Option<Millis>) {
    match hold {
        GroupHold::Paused => (Why::GroupPaused, None),
        GroupHold::Reserved => (Why::GroupReserved, None),
        GroupHold::Retry => (Why::GroupRetry, None),
        GroupHold::Buried => (Why::GroupBuried, None),
        GroupHold::Leases => (Why::GroupLeases, None),
        GroupHold::Rate(until) => (Why::GroupRate, Some(group.state.engine.wall(until))),
    }
}

/// A reason without times.
fn plain(why: Why, text: String) -> Reason {
    Reason { why, since: None, until: None, jobs: 0, text }
}

fn reason(node: &Node, group: &Group, asker: ConnectionId, hold: Hold, job: Option<&JobView>) -> Reason {
    let wall = |stamp| Some(group.state.engine.wall(stamp));
    let is_operator = node.connections.is_operator(asker);
    let mut since = None;
    let (why, until, jobs, text) = match hold {
        Hold::Delayed(due) => (Why::Delayed, Some(due), 0, delayed(job)),
        Hold::TopicPaused(paused) => {
            since = wall(paused.since);
            let until = paused.until.and_then(wall);
            let text = topic_paused(if is_operator { &paused.by } else { "" }, until.is_some());
            (Why::TopicPaused, until, 0, text)
        }
        Hold::TopicLeases(leases) => {
            (Why::TopicLeases, None, leases, format!("the topic has as many leases as it may: {leases}"))
        }
        Hold::TopicRate(until) => {
            (Why::TopicRate, wall(until), 0, "the topic has used up its rate".to_owned())
        }
        Hold::Group(hold, leases) => {
            let (why, until) = why_group(group, hold);
            let jobs = if why == Why::GroupLeases { leases } else { 0 };
            (why, until, jobs, of_group(hold, leases))
        }
        Hold::Behind { jobs, groups } => (Why::Behind, None, jobs, behind(jobs, groups)),
        Hold::Reserved(until) => {
            since = job.and_then(|job| job.history.reserved_last);
            (Why::Reserved, wall(until), 0, reserved(job.filter(|_| is_operator)))
        }
        Hold::Buried(why) => (Why::Buried, None, 0, buried(why, job)),
        Hold::Finished => (Why::Finished, None, 0, "it is finished, and remembered for a while".to_owned()),
        Hold::Empty => (Why::Empty, None, 0, "no job is ready".to_owned()),
    };
    Reason { why, since, until, jobs, text }
}

fn with_last_reason(text: &str, job: Option<&JobView>) -> String {
    match job.and_then(|job| job.history.reason.as_deref()) {
        Some(last) => format!("{text}; the last reason: {last}"),
        None => text.to_owned(),
    }
}

fn delayed(job: Option<&JobView>) -> String {
    let was_held = job.is_some_and(|job| job.history.reserved_last.is_some());
    let text = if was_held { "it waits for its next attempt" } else { "its due time has not come" };
    with_last_reason(text, job)
}

fn buried(why: BuryReason, job: Option<&JobView>) -> String {
    let text = match why {
        BuryReason::Consumer => "a consumer buried it: kick it, or delete it",
        BuryReason::AttemptsUsedUp => "its attempts are used up: kick it, or delete it",
        BuryReason::TooLate => "it came later than its topic allows: kick it, or delete it",
    };
    with_last_reason(text, job)
}

fn of_group(hold: GroupHold, leases: u64) -> String {
    match hold {
        GroupHold::Paused => "its group is paused: resume it".to_owned(),
        GroupHold::Reserved => "a job of its group is reserved, and they go one at a time".to_owned(),
        GroupHold::Retry => {
            "a job of its group waits for its next attempt, and they go one at a time".to_owned()
        }
        GroupHold::Buried => {
            "a job of its group is buried, and they go one at a time: kick it, or delete it".to_owned()
        }
        GroupHold::Leases => format!("its group has as many leases as it may: {leases}"),
        GroupHold::Rate(_) => "its group has used up its rate".to_owned(),
    }
}

fn behind(jobs: u64, groups: u64) -> String {
    match (jobs, groups) {
        (jobs, 0) => format!("{jobs} jobs come first"),
        (0, groups) => format!("{groups} groups have their turn first"),
        (jobs, groups) => format!("{jobs} jobs come first, and {groups} groups have their turn before"),
    }
}

fn topic_paused(by: &str, ends: bool) -> String {
    let what =
        if by.is_empty() { "the topic is paused".to_owned() } else { format!("{by} paused the topic") };
    let then = if ends { "wait until the pause ends, or resume it" } else { "resume it" };
    format!("{what}: {then}")
}

/// Who has the job, if the asker may know.
fn reserved(job: Option<&JobView>) -> String {
    let held_by = job.and_then(|job| job.history.held_by.as_deref());
    format!("{} has it", held_by.unwrap_or("a client"))
}
