//! One schedule: where it stands, its rules, what it did; and what can be done to it.

use askama::Template;
use axum::extract::Path;

use super::super::Answer;
use super::super::topics::{self, at};
use super::{Outcome, Upcoming, address, list_of, upcoming, words};
use crate::form::Posted;
use crate::said::Said;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Pairs, Parts2, Problem, backfill};
use adjourn_json::values::{spelled, time, time_text};
use adjourn_json::{ScheduleJobJson, ScheduleJson};
use adjourn_protocol::{
    Backfill, ErrorCode, ErrorReply, Request, ScheduleFill, ScheduleRan, ScheduleReport, ScheduleState,
};
use adjourn_types::{
    Dst, JobId, Millis, Missed, Overlap, PausedBy, SCHEDULE_MISSED_DEFAULT, ScheduleRules, TopicName,
};

/// Of a longer body only the beginning is shown, in bytes.
const BODY_SHOWN_MAX: usize = 16 << 10;

#[derive(Template)]
#[template(path = "schedule.html")]
struct OneSchedulePage {
    view: View,
    /// Its address.
    here: String,
    /// The address of its topic.
    of_topic: String,
    topic: String,
    name: String,
    state: ScheduleState,
    pause_note: String,
    when: String,
    /// When it fires, in plain words.
    words: Option<String>,
    zone: String,
    rules: Vec<Fact>,
    jobs: Vec<Fact>,
    headers: Vec<(String, String)>,
    body: ShownBody,
    upcoming: Result<Vec<Upcoming>, String>,
    /// The oldest first.
    history: Vec<Outcome>,
    fill: Fill,
    may_manage: bool,
    may_push: bool,
}

/// A rule of a schedule: its label and its value.
struct Fact {
    label: &'static str,
    value: FactValue,
}

enum FactValue {
    /// In words of the console.
    Told(String),
    /// As a client gave it.
    Given(String),
    At(Millis),
}

/// What a page shows of a body.
struct ShownBody {
    bytes: usize,
    /// Its beginning; `None` if it is not text.
    text: Option<String>,
    is_cut: bool,
}

/// Jobs for a time that has passed: what was filled in, and the outcome.
struct Fill {
    from: String,
    to: String,
    instants: Option<u64>,
    problem: Option<String>,
}

/// One schedule. With `from` and `to` it counts the instants of that time.
pub(crate) async fn show(visitor: Visitor, Parts2(topic, name): Parts2<TopicName, String>) -> Answer {
    let asked = Request::ScheduleShow { topic: topic.clone(), name: name.clone() };
    let report: ScheduleReport = visitor.ask(asked).await?;
    let view = visitor.view("schedules");
    let fill = count(&visitor, &topic, &name).await;
    let json = ScheduleJson::of(topic.as_str(), &name, &report);
    let attributes = &report.template.attributes;
    let headers = attributes.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
    page(&OneSchedulePage {
        here: address(&topic, &name),
        of_topic: topics::address(&topic),
        topic: topic.as_str().to_owned(),
        words: words::of(&report.rules.when, view.language),
        when: report.rules.when.clone(),
        zone: if report.rules.zone.is_empty() { "UTC".to_owned() } else { report.rules.zone.clone() },
        rules: rules(&view, &report.rules),
        jobs: json.job.as_ref().map(|job| jobs(&view, job)).unwrap_or_default(),
        headers: headers.collect(),
        body: ShownBody::of(&report.template.body),
        upcoming: next_instants(&visitor, &view, &report),
        history: report.history.iter().map(Outcome::of).collect(),
        fill,
        may_manage: view.may_manage(topic.as_str()),
        may_push: view.may_push(topic.as_str()),
        state: report.state,
        pause_note: report.pause_note.clone(),
        name: name.clone(),
        view,
    })
}

/// The instants from the next one on. A next one in the past is about to be fired, or waits.
fn next_instants(visitor: &Visitor, view: &View, report: &ScheduleReport) -> Result<Vec<Upcoming>, String> {
    let Some(next) = report.state.next else { return Ok(Vec::new()) };
    let from = view.now.max(Millis(next.0.saturating_sub(1)));
    let zones = visitor.console.http.zones();
    upcoming(&report.rules, from, report.state.fired, zones).map_err(|error| error.to_string())
}

fn rules(view: &View, rules: &ScheduleRules) -> Vec<Fact> {
    let mut facts = Vec::new();
    let is_interval = rules.when.trim_start().to_ascii_lowercase().starts_with("@every");
    if !rules.when.trim_start().starts_with('@') {
        facts.push(Fact::told(text("When clocks change"), view.say(dst_text(rules.dst))));
    }
    let times = [
        (text("Counts from"), rules.origin.filter(|_| is_interval)),
        (text("Not before"), rules.start),
        (text("Not after"), rules.end),
    ];
    facts.extend(times.into_iter().filter_map(|(label, at)| Some(Fact { label, value: FactValue::At(at?) })));
    if let Some(count) = rules.count {
        facts.push(Fact::told(text("Ends after"), view.count("{0} instants", "{0} instant", count.get())));
    }
    facts.push(Fact::told(text("While an earlier job has not ended"), view.say(overlap_text(rules.overlap))));
    facts.push(Fact::told(text("Missed instants"), missed(view, rules)));
    if rules.jitter_ms > 0 {
        let jitter = spelled(rules.jitter_ms.into());
        facts.push(Fact::told(text("Jitter"), view.fill("a job is due up to {0} later", &[&jitter])));
    }
    let failures = match rules.failures_max {
        0 => view.say("never").to_owned(),
        failures => view.count("after {0} failures in a row", "after {0} failure", failures),
    };
    facts.push(Fact::told(text("Pauses itself"), failures));
    if let Some(key) = &rules.key {
        facts.push(Fact::given(text("Key of its jobs"), key.as_str()));
    }
    if !rules.note.is_empty() {
        facts.push(Fact::given(text("Note"), &rules.note));
    }
    facts
}

fn dst_text(dst: Dst) -> &'static str {
    match dst {
        Dst::Vixie => text("a skipped time fires after the gap, a repeated one fires once"),
        Dst::Literal => text("a skipped time does not fire, a repeated one fires twice"),
    }
}

fn overlap_text(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Skip => text("it pushes no job"),
        Overlap::Allow => text("it pushes another job"),
        Overlap::QueueOne => text("it pushes the job as soon as the earlier one has ended"),
        Overlap::Replace => text("it deletes the earlier job and pushes another"),
    }
}

fn missed(view: &View, rules: &ScheduleRules) -> String {
    let which = match rules.missed {
        Missed::None => return view.say("none is fired late").to_owned(),
        Missed::Last => view.say("the last one is fired late").to_owned(),
        Missed::All => {
            let most = rules.missed_max.map_or(SCHEDULE_MISSED_DEFAULT, std::num::NonZeroU32::get);
            view.count("the last {0} are fired late", "the last one is fired late", most)
        }
    };
    match rules.window_ms {
        Some(window) => view.fill("{0}, if it is no longer ago than {1}", &[&which, &spelled(window.get())]),
        None => which,
    }
}

fn jobs(view: &View, job: &ScheduleJobJson<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |label, value: Option<String>| {
        facts.extend(value.map(|value| Fact { label, value: FactValue::Given(value) }));
    };
    add(text("Priority"), job.priority.map(|priority| priority.to_string()));
    add(text("Lease"), job.ttr_ms.map(|ttr| spelled(ttr.get().into())));
    add(text("Attempts"), job.attempts_max.map(|attempts| attempts.to_string()));
    add(text("Waits between attempts"), job.backoff.clone());
    add(text("Expires"), job.expires.clone());
    add(text("Remembered for"), job.remember_ms.map(|remember| spelled(remember.get())));
    add(text("Group"), job.group.map(str::to_owned));
    if facts.is_empty() {
        facts.push(Fact::told(text("Settings"), view.say("as the topic has them")));
    }
    facts
}

impl Fact {
    fn told(label: &'static str, value: impl Into<String>) -> Self {
        Self { label, value: FactValue::Told(value.into()) }
    }

    fn given(label: &'static str, value: &str) -> Self {
        Self { label, value: FactValue::Given(value.to_owned()) }
    }
}

impl ShownBody {
    fn of(body: &[u8]) -> Self {
        let whole = std::str::from_utf8(body).ok();
        let text = whole.map(|text| text.get(..text.floor_char_boundary(BODY_SHOWN_MAX)).unwrap_or(text));
        let is_cut = text.is_some_and(|text| text.len() < body.len());
        Self { bytes: body.len(), text: text.map(str::to_owned), is_cut }
    }
}

/// Counts the instants of a time, if the query names one.
async fn count(visitor: &Visitor, topic: &TopicName, name: &str) -> Fill {
    let query = &visitor.query;
    let (from, to) = (query.first("from").trim().to_owned(), query.first("to").trim().to_owned());
    let counted = async {
        if !query.has("from") {
            return Ok(None);
        }
        let counted = backfill(&visitor.caller, asked_time(topic, name, query, true)?).await?;
        Ok::<_, Problem>(Some(counted.instants))
    };
    match counted.await {
        Ok(instants) => Fill { from, to, instants, problem: None },
        Err(problem) => Fill { from, to, instants: None, problem: Some(problem.detail()) },
    }
}

/// The time that these fields name.
fn asked_time(
    topic: &TopicName,
    name: &str,
    fields: &Pairs,
    is_dry_run: bool,
) -> Result<ScheduleFill, Problem> {
    let read = |name: &str| time(fields.first(name).trim()).map_err(|error| at(name, &error));
    let (from, to) = (read("from")?, read("to")?);
    Ok(ScheduleFill { topic: topic.clone(), name: name.to_owned(), from, to, is_dry_run })
}

/// Does something to a schedule.
pub(crate) async fn act(
    Path((topic, name, action)): Path<(String, String, String)>,
    posted: Posted,
) -> Answer {
    let topic: TopicName = topic.parse().map_err(|error| at("topic", &error))?;
    let visitor = &posted.visitor;
    let here = address(&topic, &name);
    match action.as_str() {
        "run" => {
            let ScheduleRan(JobId(job)) = visitor.ask(Request::ScheduleRun { topic, name }).await?;
            Ok(posted.done(&here, Said::Fired, job))
        }
        "pause" => {
            let note = Some(posted.fields.first("note")).filter(|note| !note.is_empty()).map(str::to_owned);
            visitor.ask::<()>(Request::SchedulePause { topic, name, note }).await?;
            Ok(posted.done(&here, Said::Paused, 0))
        }
        "resume" => {
            visitor.ask::<()>(Request::ScheduleResume { topic, name }).await?;
            Ok(posted.done(&here, Said::Resumed, 0))
        }
        "delete" => {
            let list = list_of(&topic);
            visitor.ask::<()>(Request::ScheduleDelete { topic, name }).await?;
            Ok(posted.done(&list, Said::Deleted, 0))
        }
        "backfill" => {
            let time = asked_time(&topic, &name, &posted.fields, false)?;
            let filled = backfill(&visitor.caller, time).await?;
            let pushed = all_filled(&filled)?;
            Ok(posted.done(&here, Said::Filled, pushed))
        }
        _ => Err(Problem::malformed("there is no such action: load the page again")),
    }
}

/// How many jobs were pushed, unless some were not.
fn all_filled(filled: &Backfill) -> Result<u64, Problem> {
    let (pushed, refused) = (filled.pushed, filled.refused);
    let told = match filled.next() {
        Some(rest) => format!(
            "an error came after {pushed} jobs, which are in the topic: fill the rest from {} on",
            time_text(rest.from)
        ),
        None if refused > 0 => format!(
            "{pushed} jobs are pushed, {refused} are refused by the topic's policy or a limit of the queue"
        ),
        None => return Ok(pushed),
    };
    Err(ErrorReply::new(ErrorCode::Invalid, told).into())
}
