//! Requests about schedules.
//!
//! A schedule is set from what the leader sees of it: the command names that, and is refused if a firing or another set came
//! between. What is asked for by name becomes a command for the schedule's id.

use bytes::Bytes;

use super::Leader;
use super::backfill::preview;
use super::proposals::Reply;
use crate::group::Group;
use crate::group::work::{SCHEDULES_LOOKED_AT_MAX, UNIT_BYTES};
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_calendar::{Calendar, ZoneData};
use adjourn_engine::{Command, NewSchedule, ScheduleView};
use adjourn_protocol::schedule::{decode_rules, encode_rules};
use adjourn_protocol::{
    ErrorCode, ErrorReply, IfVersion, JobTemplate, ListedSchedule, Request, Response, ScheduleList,
    SchedulePage, SchedulePosition, ScheduleReport, ScheduleSet, ScheduleState,
};
use adjourn_storage::{StorageError, StoredRecord};
use adjourn_types::{
    Attributes, AttributesBuilder, JobId, Millis, Right, SCHEDULE_NAME_IN_KEY_BYTES_MAX, ScheduleBefore,
    ScheduleRules, TopicId, TopicName, tag,
};

/// A page of a list ends when this many bytes of records were read for it.
const LIST_READ_BYTES: usize = 1 << 20;
/// Most topics that the client may not see and that are passed for a page.
const HIDDEN_TOPICS_MAX: u32 = 4096;
/// At most this many bytes of a page are a schedule's, without its template.
const LISTED_BYTES: usize = 4 << 10;

/// The record of a schedule: its rules, and the attributes and the body of its jobs.
pub(super) struct Template {
    /// `None` if this version cannot read them.
    pub(super) rules: Option<ScheduleRules>,
    pub(super) name: String,
    pub(super) attributes: Attributes,
    pub(super) stored: StoredRecord,
}

impl Leader {
    /// Handles a request about schedules. Each is answered from the applied state, or becomes a command.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    pub(super) fn schedule_request(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        request: &Request,
    ) -> Result<(), StorageError> {
        let answer = match request {
            Request::ScheduleSet(set) => self.set_schedule(node, group, asker, set)?,
            Request::ScheduleList(list) => Some(schedules(node, group, asker, list)?),
            Request::ScheduleFill(fill) => self.fill_schedule(node, group, asker, fill)?,
            Request::SchedulePreview(rules) => Some(preview(node, group, rules)),
            Request::ScheduleShow { topic, name } => Some(match find(group, topic, name) {
                Ok(view) => report(group, &view)?,
                Err(error) => Response::Error(error),
            }),
            Request::ScheduleRun { topic, name } => match find(group, topic, name) {
                Ok(view) => self.run_schedule(node, group, asker, &view)?,
                Err(error) => Some(Response::Error(error)),
            },
            Request::ScheduleDelete { topic, name } => {
                let delete = |schedule| Command::ScheduleDelete { schedule };
                self.change_schedule(node, group, asker, (topic, name), delete)
            }
            Request::SchedulePause { topic, name, note: text } => {
                let text = text.as_deref().unwrap_or_default();
                let pause = |schedule| Command::SchedulePause { schedule, paused: true, note: text };
                self.change_schedule(node, group, asker, (topic, name), pause)
            }
            Request::ScheduleResume { topic, name } => {
                let resume = |schedule| Command::SchedulePause { schedule, paused: false, note: "" };
                self.change_schedule(node, group, asker, (topic, name), resume)
            }
            other => unreachable!("{other:?} is not about a schedule"),
        };
        if let Some(answer) = answer {
            node.connections.send(asker, answer);
        }
        Ok(())
    }

    /// Proposes a change of a schedule. Returns the answer if there is none to propose.
    fn change_schedule<'a>(
        &mut self,
        node: &Node,
        group: &Group,
        asker: Asker,
        (topic, name): (&TopicName, &str),
        command: impl FnOnce(JobId) -> Command<'a>,
    ) -> Option<Response> {
        let refusal = node.stopping().or_else(|| self.proposals.refusal(node));
        match refusal.map_or_else(|| find(group, topic, name), Err) {
            Ok(view) => self.proposals.add_command(node, group, &command(view.id), Reply::Request(asker)),
            Err(error) => return Some(Response::Error(error)),
        }
        None
    }

    /// Proposes what a schedule is to be. Returns the answer if there is nothing to propose.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    pub(super) fn set_schedule(
        &mut self,
        node: &Node,
        group: &mut Group,
        asker: Asker,
        set: &ScheduleSet,
    ) -> Result<Option<Response>, StorageError> {
        let refusal = node.stopping().or_else(|| self.no_room_for_jobs(node));
        let old = find(group, &set.topic, &set.name).ok();
        let before =
            old.as_ref().map(|old| ScheduleBefore { schedule: old.id, version: old.version, next: old.next });
        if let Some(refusal) = refusal.or_else(|| refuse_version(set.if_version, old.as_ref())) {
            return Ok(Some(Response::Error(refusal)));
        }
        let old = match old {
            Some(view) => {
                let rules = template(group, &view)?.rules;
                Some((view, rules))
            }
            None => None,
        };
        let now = group.state.clock.wall();
        let rules = with_origin(&set.rules, old.as_ref().and_then(|(_, rules)| rules.as_ref()), now);
        let next = match next_instant(&rules, &node.config.zones, old.as_ref(), now) {
            Ok(next) => next,
            Err(why) => return Ok(Some(Response::Error(ErrorReply::new(ErrorCode::Invalid, why)))),
        };
        let attributes = match (key_fits(&rules, &set.name), with_rules(&set.template.attributes, &rules)) {
            (Ok(()), Ok(attributes)) => attributes,
            (Err(refusal), _) | (_, Err(refusal)) => return Ok(Some(Response::Error(refusal))),
        };
        let schedule = NewSchedule {
            name: set.name.as_bytes(),
            priority: set.template.priority,
            ttr_ms: set.template.ttr_ms,
            overlap: rules.overlap,
            failures_max: rules.failures_max,
            next,
            attributes: attributes.as_bytes(),
            body: &set.template.body,
        };
        let command = Command::ScheduleSet { topic: set.topic.as_str(), schedule, before };
        let reply = Reply::SetSchedule(asker, Box::new(set.clone()), before.map(|before| before.schedule));
        self.proposals.add_command(node, group, &command, reply);
        self.firings.look_again();
        Ok(None)
    }

    /// Tries once more to set a schedule that was fired or set meanwhile. One that was deleted stays so.
    pub(super) fn set_schedule_again(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        set: &ScheduleSet,
        before: Option<JobId>,
    ) {
        let now = group.state.engine.schedule_id(set.topic.as_str(), set.name.as_bytes());
        if before.is_some() && before != now {
            let text = "the schedule was deleted meanwhile: set it again if you still want it";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Changed, text));
        }
        match self.set_schedule(node, group, asker, set) {
            Ok(None) => {}
            Ok(Some(answer)) => node.connections.send(asker, answer),
            Err(error) => group.unreadable(node, asker, &error),
        }
    }
}

/// The schedule of this name.
pub(super) fn find(group: &Group, topic: &TopicName, name: &str) -> Result<ScheduleView, ErrorReply> {
    let engine = &group.state.engine;
    let view = engine.schedule_id(topic.as_str(), name.as_bytes()).and_then(|id| engine.schedule(id));
    view.ok_or_else(|| {
        ErrorReply::new(ErrorCode::NotFound, format!("the topic {topic} has no schedule of this name"))
    })
}

fn refuse_version(if_version: IfVersion, old: Option<&ScheduleView>) -> Option<ErrorReply> {
    let text = match (if_version, old) {
        (IfVersion::New, Some(old)) => {
            format!("there is a schedule of this name, which was set {} times", old.version)
        }
        (IfVersion::Is(_), None) => "there is no schedule of this name".to_owned(),
        (IfVersion::Is(expected), Some(old)) if expected.get() != old.version => {
            format!("the schedule has version {}, and {expected} was expected: look at it again", old.version)
        }
        _ => return None,
    };
    Some(ErrorReply::new(ErrorCode::Changed, text))
}

/// The rules with the origin that counts, so that an interval is not moved when its schedule is set again.
fn with_origin(rules: &ScheduleRules, old: Option<&ScheduleRules>, now: Millis) -> ScheduleRules {
    let kept = old.filter(|old| old.when == rules.when).and_then(|old| old.origin);
    let origin = rules.origin.or(kept).or(rules.start).unwrap_or(now);
    ScheduleRules { origin: Some(origin), ..rules.clone() }
}

/// The next instant of a schedule that is set: the one that it waits for, if the new rules have it, too; or the first one from
/// now on, if that is earlier.
fn next_instant(
    rules: &ScheduleRules,
    zones: &ZoneData,
    old: Option<&(ScheduleView, Option<ScheduleRules>)>,
    now: Millis,
) -> Result<Option<Millis>, String> {
    let calendar = Calendar::of_rules(rules, now, zones).map_err(|error| error.to_string())?;
    let timing = |rules: &ScheduleRules| (rules.when.clone(), rules.zone.clone(), rules.dst, rules.origin);
    let same = old.filter(|(_, old)| old.as_ref().is_some_and(|old| timing(old) == timing(rules)));
    let fired = old.map_or(0, |(view, _)| view.fired);
    if rules.count.is_some_and(|count| count.get() <= fired) {
        return Ok(None);
    }
    let is_within = |instant: &Millis| {
        rules.start.is_none_or(|start| *instant >= start) && rules.end.is_none_or(|end| *instant <= end)
    };
    let waited_for = same.and_then(|(view, _)| view.next).filter(is_within);
    let next = waited_for.into_iter().chain(calendar.next_after(now)).min();
    if next.is_none() && same.is_none() {
        return Err(format!("with these rules the schedule never fires after now: {}", rules.when));
    }
    Ok(next)
}

fn key_fits(rules: &ScheduleRules, name: &str) -> Result<(), ErrorReply> {
    if rules.has_room_for_keys(name) {
        return Ok(());
    }
    let text = format!(
        "a schedule with a name of more than {SCHEDULE_NAME_IN_KEY_BYTES_MAX} bytes needs a key for its jobs: the name with the \
         instant does not fit into one"
    );
    Err(ErrorReply::new(ErrorCode::Invalid, text))
}

/// The attributes of the jobs, with the rules as one more.
fn with_rules(attributes: &Attributes, rules: &ScheduleRules) -> Result<Attributes, ErrorReply> {
    let of_jobs = attributes.without(tag::SCHEDULE_RULES);
    let builder = of_jobs
        .iter()
        .fold(AttributesBuilder::default(), |builder, (found, value)| builder.raw(found, value.to_vec()));
    builder
        .raw(tag::SCHEDULE_RULES, encode_rules(rules).to_vec())
        .build()
        .map_err(|error| ErrorReply::new(ErrorCode::TooLarge, error.to_string()))
}

/// Reads the record of a schedule.
///
/// # Errors
///
/// If the disk cannot be read.
pub(super) fn template(group: &mut Group, view: &ScheduleView) -> Result<Template, StorageError> {
    let stored = group.state.records.record(view.body)?;
    let attributes = Attributes::shown(stored.attributes.clone()).unwrap_or_default();
    let rules = attributes.iter().find(|(found, _)| *found == tag::SCHEDULE_RULES);
    let rules = rules.and_then(|(_, value)| decode_rules(&value.to_vec().into()).ok());
    Ok(Template {
        rules,
        name: stored
            .key
            .as_deref()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .unwrap_or_default(),
        attributes: attributes.without(tag::SCHEDULE_RULES),
        stored,
    })
}

fn report(group: &mut Group, view: &ScheduleView) -> Result<Response, StorageError> {
    let Template { rules, attributes, stored, .. } = template(group, view)?;
    let Some(rules) = rules else { return Ok(Response::Error(unreadable_rules())) };
    let template =
        JobTemplate { priority: view.priority, ttr_ms: view.ttr_ms, attributes, body: stored.body };
    let (state, pause_note, history) = (state(view), view.pause_note.clone(), view.history.clone());
    Ok(Response::Schedule(Box::new(ScheduleReport { state, pause_note, rules, template, history })))
}

/// The error about a schedule whose rules this version cannot read.
pub(super) fn unreadable_rules() -> ErrorReply {
    let text = "the rules of this schedule cannot be read: set it again, or delete it";
    ErrorReply::new(ErrorCode::Unreadable, text)
}

fn state(view: &ScheduleView) -> ScheduleState {
    ScheduleState {
        id: view.id,
        version: view.version,
        next: view.next,
        has_come: view.is_to_fire,
        is_held: view.is_held,
        paused: view.paused,
        fired: view.fired,
        running: view.running,
        failures: view.failures,
    }
}

/// A page of schedules. Names and rules are on disk: a page ends at a limit of what is read for it.
fn schedules(
    node: &Node,
    group: &mut Group,
    asker: Asker,
    list: &ScheduleList,
) -> Result<Response, StorageError> {
    let mut page = SchedulePage { schedules: Vec::new(), cursor: Bytes::new() };
    let mut after = match begin(group, list) {
        Ok(Some(begin)) => begin,
        Ok(None) => return Ok(Response::Schedules(page)),
        Err(error) => return Ok(Response::Error(error)),
    };
    let conditions = &list.conditions;
    let (mut looked, mut hidden, mut read_bytes) = (0, 0, 0);
    loop {
        let next = group.state.engine.schedules_after(after.0, after.1).next();
        let Some(view) = next.filter(|view| list.topic.is_none() || view.topic == after.0) else { break };
        group.work.count(1);
        // A topic that the client may not see is passed. The cursor tells nothing of it, unless there are very many.
        let is_hidden = !group.state.may(node, asker.connection, Right::Read, view.topic);
        if is_hidden && hidden < HIDDEN_TOPICS_MAX {
            hidden += 1;
            after = (view.topic, JobId(u64::MAX));
            continue;
        }
        let is_full = page.schedules.len() >= list.schedules_max as usize;
        if is_hidden || is_full || looked >= SCHEDULES_LOOKED_AT_MAX || read_bytes >= LIST_READ_BYTES {
            let topic = list.topic.is_none().then_some(after.0);
            page.cursor = SchedulePosition { topic, schedule: after.1 }.to_cursor();
            break;
        }
        looked += 1;
        after = (view.topic, view.id);
        let is_paused = view.paused.is_some();
        let is_soon = conditions.next_before.is_none_or(|before| view.next.is_some_and(|next| next < before));
        if !is_soon || conditions.paused.is_some_and(|paused| paused != is_paused) {
            continue;
        }
        let Template { rules, name, stored, attributes } = template(group, &view)?;
        let record_bytes = stored.body.len() + attributes.as_bytes().len();
        read_bytes += LISTED_BYTES + record_bytes;
        group.work.count(record_bytes as u64 / UNIT_BYTES);
        if name.starts_with(&conditions.prefix)
            && let Some(topic) = group.state.known_name(view.topic)
        {
            let (rules, state) = (rules.unwrap_or_default(), state(&view));
            let pause_note = view.pause_note;
            page.schedules.push(ListedSchedule { state, pause_note, rules, topic, name });
        }
    }
    Ok(Response::Schedules(page))
}

/// After which schedule of which topic a page begins; `None` if there is no such topic.
fn begin(group: &Group, list: &ScheduleList) -> Result<Option<(TopicId, JobId)>, ErrorReply> {
    let place = if list.cursor.is_empty() { None } else { SchedulePosition::from_cursor(&list.cursor) };
    if place.map_or(!list.cursor.is_empty(), |place| place.topic.is_none() != list.topic.is_some()) {
        let text = "this is no cursor of such a list of schedules: send the one of the page before, or none to begin";
        return Err(ErrorReply::new(ErrorCode::Invalid, text));
    }
    let topic = match &list.topic {
        Some(name) => group.state.engine.topic_id(name.as_str()),
        None => Some(place.and_then(|place| place.topic).unwrap_or(TopicId(0))),
    };
    Ok(topic.map(|topic| (topic, place.map_or(JobId(0), |place| place.schedule))))
}
