//! Call-backs: the topics that are called, their destinations, the last failures, and the check of a URL.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::Answer;
use super::topics::at;
use crate::form::Posted;
use crate::said::Said;
use crate::settings;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_call_backs::{Attempt, Checked, DestinationState, DestinationsSeen};
use adjourn_http::Problem;
use adjourn_protocol::{ErrorCode, ErrorReply, Request, TopicReport, TopicSet, TopicSettings};
use adjourn_types::{Access, CallBack, Millis, Right, TopicName};

const HERE: &str = "/console/call-backs";
/// Topics on a page.
const PAGE: usize = 50;
/// The settings of at most this many topics that are not called are looked at, in search of paused calls.
const LOOKED_AT_MAX: usize = 200;
/// Destinations of a topic that are shown: those that fail first.
const DESTINATIONS_MAX: usize = 5;
/// Failed attempts that are shown.
const FAILED_MAX: usize = 20;

/// What becomes of jobs, each with a label.
const OUTCOMES: [(&str, &str); 6] = [
    ("finished", text("finished")),
    ("kept", text("left to the receiver")),
    ("retried", text("to be tried again")),
    ("buried", text("buried")),
    ("paused", text("calls paused")),
    ("not_tried", text("not called")),
];

/// The call-backs by topic.
type CallBacksByTopic = BTreeMap<TopicName, Arc<CallBack>>;

#[derive(Template)]
#[template(path = "call_backs.html")]
struct CallBacksPage {
    view: View,
    /// The address of this list.
    here: String,
    rows: Vec<Row>,
    /// How many there are with this filter.
    matched: usize,
    /// True if there are topics that were not looked at.
    is_part: bool,
    find: String,
    /// Where the pages before and behind begin.
    before: Option<usize>,
    behind: Option<usize>,
    node: u64,
    leads: bool,
    counts: Vec<(&'static str, u64)>,
    under_way: usize,
    failed: Vec<Failed>,
    /// Why the log of attempts cannot be read.
    unreadable: Option<String>,
    asked: Asked,
    /// True if the person may ask whether a URL may be called.
    may_check: bool,
}

/// A topic.
struct Row {
    topic: TopicName,
    call_back: Arc<CallBack>,
    /// `None` if its calls are paused, or this node does not know yet of them.
    destinations: Option<DestinationsSeen>,
}

/// An attempt that failed.
struct Failed {
    at: Option<Millis>,
    attempt: Attempt,
}

/// The question whether a URL may be called.
#[derive(Default)]
struct Asked {
    url: String,
    answer: Option<Checked>,
}

impl Row {
    fn method(&self) -> &'static str {
        self.call_back.method.map_or("POST", adjourn_types::Method::name)
    }

    /// How many of the destinations are not shown.
    fn hidden(&self) -> usize {
        self.destinations.as_ref().map_or(0, |seen| seen.known - seen.worst.len())
    }
}

impl CallBacksPage {
    fn at(&self, from: &usize) -> String {
        address(&self.find, *from)
    }

    fn outcome(&self, name: &str) -> &str {
        let known = OUTCOMES.into_iter().find(|(outcome, _)| *outcome == name);
        known.map_or("?", |(_, label)| self.view.say(label))
    }

    /// The state of a destination: its class, and what it is.
    fn state(&self, state: &DestinationState) -> (&'static str, String) {
        let view = &self.view;
        match state {
            DestinationState::Closed => ("ready", view.say("called").to_owned()),
            DestinationState::Open(left) => {
                let left = view.span(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
                ("buried", view.fill("no calls for {0}", &[&left]))
            }
            DestinationState::Probing => ("warn", view.say("a probe is under way").to_owned()),
            DestinationState::Unproven => ("warn", view.say("the next call is a probe").to_owned()),
        }
    }
}

/// The call-backs.
pub(super) async fn show(visitor: Visitor) -> Answer {
    list(&visitor, Asked::default()).await
}

/// Answers a form of the page: whether a URL may be called, or to pause or resume the calls of a topic.
pub(super) async fn check(posted: Posted) -> Answer {
    let (fields, visitor) = (&posted.fields, &posted.visitor);
    let (is_paused, said) = match fields.first("action") {
        "pause" => ("true", Said::Paused),
        "resume" => ("", Said::Resumed),
        "check" => {
            visitor.caller.with_right(Right::Manage, "to check a destination needs")?;
            let url = fields.first("url").trim().to_owned();
            let answer = Some(visitor.console.http.call_backs().check(&url).await);
            return list(visitor, Asked { url, answer }).await;
        }
        _ => return Err(Problem::malformed("there is no such action: load the page again")),
    };
    let topic: TopicName = fields.first("topic").parse().map_err(|error| at("topic", &error))?;
    let change = Box::new(settings::change("call_back_paused", is_paused)?);
    visitor.ask::<()>(Request::TopicSet(TopicSet { topic, change })).await?;
    Ok(posted.done(posted.back_or(HERE), said, 0))
}

async fn list(visitor: &Visitor, asked: Asked) -> Answer {
    let access = visitor.caller.with_right(Right::Read, "the console needs")?;
    let view = visitor.view("call-backs");
    let find = visitor.query.first("find").to_owned();
    let from: usize = visitor.query.first("from").parse().unwrap_or(0);
    let (called, is_part) = called(visitor, &access, &find).await?;
    let matched = called.len();
    let call_backs = visitor.console.http.call_backs();
    let rows = called.into_iter().skip(from).take(PAGE).map(|(topic, call_back)| {
        let destinations = call_backs.destinations(&topic, DESTINATIONS_MAX);
        Row { topic, call_back, destinations }
    });
    let seen = call_backs.seen();
    let (failed, unreadable) = match call_backs.last_failed(FAILED_MAX, access).await {
        Ok(failed) => (failed, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    page(&CallBacksPage {
        here: address(&find, from),
        rows: rows.collect(),
        matched,
        is_part,
        find,
        before: (from > 0).then(|| from.saturating_sub(PAGE)),
        behind: Some(from.saturating_add(PAGE)).filter(|behind| *behind < matched),
        node: call_backs.node(),
        leads: leads(visitor).await,
        counts: seen.counted.outcomes().collect(),
        under_way: seen.under_way,
        failed: failed.into_iter().map(|attempt| Failed { at: millis(&attempt.at), attempt }).collect(),
        unreadable,
        asked,
        may_check: view.may_manage_some(),
        view,
    })
}

/// The topics with call-backs that have a text in their name, and whether some were not looked at: the node
/// lists those that are called, and one whose calls are paused is known only by its settings.
async fn called(visitor: &Visitor, access: &Access, find: &str) -> Result<(CallBacksByTopic, bool), Problem> {
    let is_wanted =
        |topic: &TopicName| topic.as_str().contains(find) && access.has(Right::Read, topic.as_str());
    let calling = visitor.console.http.local().called_back().await.ok_or_else(|| {
        let message = "the node does not answer: it is overloaded, or its disk hangs";
        Problem::from(ErrorReply::new(ErrorCode::Busy, message))
    })?;
    let calling = calling.into_iter().filter(|of| is_wanted(&of.topic));
    let mut found: CallBacksByTopic = calling.map(|of| (of.topic, of.call_back)).collect();
    let topics: Vec<TopicReport> = visitor.ask(Request::Topics).await?;
    let others = topics.into_iter().map(|report| report.topic);
    let mut others =
        others.filter(|topic| is_wanted(topic) && !found.contains_key(topic)).collect::<Vec<_>>();
    let is_part = others.len() > LOOKED_AT_MAX;
    others.truncate(LOOKED_AT_MAX);
    let mut asking = JoinSet::new();
    for topic in others {
        let visitor = visitor.clone();
        asking.spawn(async move {
            let settings = visitor.ask::<TopicSettings>(Request::TopicShow { topic: topic.clone() }).await;
            (topic, settings)
        });
    }
    while let Some(answered) = asking.join_next().await {
        // A topic may be gone by now.
        if let Ok((topic, Ok(settings))) = answered
            && let Some(call_back) = settings.policy.call_back
            && (call_back.url.is_some() || call_back.of_job)
        {
            found.insert(topic, call_back);
        }
    }
    Ok((found, is_part))
}

/// True if this node leads: only the leader calls.
async fn leads(visitor: &Visitor) -> bool {
    let nothing = Access { grants: Vec::new(), ..Access::open() };
    let observed = visitor.console.http.local().observe(Arc::new(nothing)).await;
    observed.is_some_and(|observed| {
        let cluster = &observed.observation.cluster;
        cluster.leader == Some(cluster.node)
    })
}

fn millis(text: &str) -> Option<Millis> {
    let at: Timestamp = text.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().map(Millis)
}

fn address(find: &str, from: usize) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("find", find).append_pair("from", &from.to_string());
    format!("{HERE}?{}", query.finish())
}
