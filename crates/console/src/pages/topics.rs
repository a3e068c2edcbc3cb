//! Topics: a list of them; one with its policy, and what can be done to it.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::Path;

use super::Answer;
use crate::form::Posted;
use crate::history::Rates;
use crate::said::Said;
use crate::settings::{self, Group};
use crate::shown::segment;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Part, Problem, new_job, push};
use adjourn_protocol::{
    Counted, ErrorCode, ErrorReply, Kicked, Reason, Request, TopicReport, TopicSet, TopicSettings,
};
use adjourn_types::limits::KICK_JOBS_MAX;
use adjourn_types::{Filter, JobId, JobState, PolicyChange, States, TopicName};

/// Topics on a page.
const PAGE: usize = 50;

/// What a list of topics is sorted by: the names of the columns.
const SORTS: [&str; 9] =
    ["topic", "delayed", "ready", "reserved", "buried", "oldest", "late", "consumers", "pushed"];

#[derive(Template)]
#[template(path = "topics.html")]
struct TopicsPage {
    view: View,
    rows: Vec<Row>,
    /// How many there are with this filter.
    matched: usize,
    find: String,
    sort: &'static str,
    /// Where the pages before and behind begin.
    before: Option<usize>,
    behind: Option<usize>,
    /// The URL of the call-back and the rest of the form for a new topic, if a person may make one.
    may_create: bool,
}

struct Row {
    report: TopicReport,
    rates: Option<Rates>,
}

impl TopicsPage {
    /// The address of this list in another order.
    fn sorted(&self, sort: &str) -> String {
        self.address(sort, 0)
    }

    fn at(&self, from: &usize) -> String {
        self.address(self.sort, *from)
    }

    fn address(&self, sort: &str, from: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("find", &self.find)
            .append_pair("sort", sort)
            .append_pair("from", &from.to_string());
        format!("/console/topics?{}", query.finish())
    }
}

/// The list of topics.
pub(super) async fn list(visitor: Visitor) -> Answer {
    let view = visitor.view("topics");
    let find = visitor.query.first("find").to_owned();
    let sort = SORTS.into_iter().find(|sort| *sort == visitor.query.first("sort")).unwrap_or("topic");
    let from: usize = visitor.query.first("from").parse().unwrap_or(0);
    let mut topics: Vec<TopicReport> = visitor.ask(Request::Topics).await?;
    topics.retain(|topic| topic.topic.as_str().contains(&find));
    let key = |topic: &TopicReport| match sort {
        "delayed" => topic.totals.delayed,
        "ready" => topic.totals.ready,
        "reserved" => topic.totals.reserved,
        "buried" => topic.totals.buried,
        "oldest" => topic.totals.oldest_ready_ms,
        "late" => topic.late_ms,
        "consumers" => topic.consumers.into(),
        "pushed" => topic.totals.pushed,
        _ => 0,
    };
    // They come by name, which decides between equal ones.
    topics.sort_by_key(|topic| std::cmp::Reverse(key(topic)));
    let matched = topics.len();
    let rates: BTreeMap<String, Rates> = visitor.console.history.topic_rates();
    let rows = topics.into_iter().skip(from).take(PAGE).map(|report| {
        let rates = rates.get(report.topic.as_str()).copied();
        Row { report, rates }
    });
    page(&TopicsPage {
        rows: rows.collect(),
        matched,
        find,
        sort,
        before: (from > 0).then(|| from.saturating_sub(PAGE)),
        behind: Some(from.saturating_add(PAGE)).filter(|behind| *behind < matched),
        may_create: view.may_manage_some(),
        view,
    })
}

#[derive(Template)]
#[template(path = "topic.html")]
struct TopicPage {
    view: View,
    /// Its address.
    here: String,
    topic: String,
    depth: Depth,
    rates: Option<Rates>,
    settings: TopicSettings,
    reasons: Vec<Reason>,
    groups: Vec<Group>,
    may_manage: bool,
    may_push: bool,
}

/// How many jobs of a topic are in each state. The queue knows it without looking at them.
struct Depth {
    delayed: u64,
    ready: u64,
    reserved: u64,
    buried: u64,
}

impl Depth {
    async fn of(visitor: &Visitor, topic: &TopicName) -> Result<Self, Problem> {
        let count = async |state| {
            let filter =
                Filter { topic: Some(topic.clone()), states: States::of([state]), ..Filter::default() };
            let Counted { jobs, .. } = visitor.ask(Request::Count(filter.into())).await?;
            Ok::<_, Problem>(jobs)
        };
        Ok(Self {
            delayed: count(JobState::Delayed).await?,
            ready: count(JobState::Ready).await?,
            reserved: count(JobState::Reserved).await?,
            buried: count(JobState::Buried).await?,
        })
    }
}

/// One topic.
pub(super) async fn show(visitor: Visitor, Part(topic): Part<TopicName>) -> Answer {
    let view = visitor.view("topics");
    let settings: TopicSettings = visitor.ask(Request::TopicShow { topic: topic.clone() }).await?;
    let asked = Request::TopicWhy { topic: topic.clone(), group: String::new() };
    let reasons: Vec<Reason> = visitor.ask(asked).await?;
    let depth = Depth::of(&visitor, &topic).await?;
    let name = topic.as_str();
    page(&TopicPage {
        may_manage: view.may_manage(name),
        may_push: view.may_push(name),
        rates: visitor.console.history.topic_rates().get(name).copied(),
        groups: settings::groups(&settings),
        here: address(&topic),
        topic: name.to_owned(),
        depth,
        settings,
        reasons,
        view,
    })
}

/// Makes a topic, by its first setting.
pub(super) async fn create(posted: Posted) -> Answer {
    let name = posted.fields.first("topic");
    let topic: TopicName = name.parse().map_err(|error| at("topic", &error))?;
    match posted.visitor.ask::<TopicSettings>(Request::TopicShow { topic: topic.clone() }).await {
        Ok(_) => return Err(at("topic", &"there is such a topic: change its policy on its page")),
        Err(problem) if problem.is(ErrorCode::NotFound) => {}
        Err(problem) => return Err(problem),
    }
    let mut change = PolicyChange::default();
    let call_back = posted.fields.first("call_back");
    // A topic exists while it has jobs or settings.
    let (setting, value) =
        if call_back.is_empty() { ("attempts_max", "25") } else { ("call_back", call_back) };
    change.add(&settings::change(setting, value)?);
    saved(&posted, topic, change).await
}

/// Changes settings: those whose field differs from what the page showed.
pub(super) async fn set(Path(topic): Path<String>, posted: Posted) -> Answer {
    let topic: TopicName = topic.parse().map_err(|error| at("topic", &error))?;
    saved(&posted, topic, settings::changes(&posted.fields)?).await
}

/// Saves settings. Says so, or why no calls are made.
async fn saved(posted: &Posted, topic: TopicName, change: PolicyChange) -> Answer {
    let warnings = match &change.set.call_back {
        Some(call_back) => posted.visitor.console.http.call_backs().warnings(&topic, call_back).await,
        None => Vec::new(),
    };
    posted
        .visitor
        .ask::<()>(Request::TopicSet(TopicSet { topic: topic.clone(), change: Box::new(change) }))
        .await?;
    if warnings.is_empty() {
        return Ok(posted.done(&address(&topic), Said::Saved, 0));
    }
    let told = format!("the settings are saved, but no calls are made: {}", warnings.join("; "));
    Err(ErrorReply::new(ErrorCode::Invalid, told).into())
}

/// Does something to a topic.
pub(super) async fn act(Path((topic, action)): Path<(String, String)>, posted: Posted) -> Answer {
    let topic: TopicName = topic.parse().map_err(|error| at("topic", &error))?;
    let visitor = &posted.visitor;
    let here = address(&topic);
    match action.as_str() {
        "pause" => {
            visitor.ask::<()>(Request::Pause { topic, for_ms: None }).await?;
            Ok(posted.done(&here, Said::Paused, 0))
        }
        "resume" => {
            visitor.ask::<()>(Request::Resume { topic }).await?;
            Ok(posted.done(&here, Said::Resumed, 0))
        }
        "kick" => {
            let Kicked(jobs) = visitor.ask(Request::KickMany { jobs_max: KICK_JOBS_MAX, topic }).await?;
            Ok(posted.done(&here, Said::Kicked, jobs.into()))
        }
        "delete" => {
            visitor.ask::<()>(Request::TopicDelete { topic }).await?;
            Ok(posted.done("/console/topics", Said::Deleted, 0))
        }
        "push" => {
            let job = new_job(posted.fields.clone())?;
            let JobId(id) = push(&visitor.caller, &topic, job).await?;
            Ok(posted.done(&format!("/console/jobs/{id}"), Said::Pushed, id))
        }
        _ => Err(Problem::malformed("there is no such action: load the page again")),
    }
}

/// The page of a topic.
pub(super) fn address(topic: &TopicName) -> String {
    format!("/console/topics/{}", segment(topic.as_str()))
}

/// A field of a form that is wrong.
pub(super) fn at(field: &str, error: &impl std::fmt::Display) -> Problem {
    Problem::at(adjourn_http::Place::Parameter(field.to_owned()), error.to_string())
}
