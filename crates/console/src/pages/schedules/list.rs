//! The list of schedules: those of one topic, or of all that the person may read.

use askama::Template;
use form_urlencoded::Serializer;

use super::super::Answer;
use super::super::topics::at;
use super::{Outcome, address, words};
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::Problem;
use adjourn_protocol::{
    ListedSchedule, Request, ScheduleConditions, ScheduleList, SchedulePage, ScheduleReport, TopicReport,
};
use adjourn_types::{JobId, PausedBy, TopicName};

/// Schedules on a page.
const PAGE: usize = 50;
/// How often the queue is asked for one page. A topic is asked at least once.
const ASKED_MAX: usize = 200;

#[derive(Template)]
#[template(path = "schedules.html")]
struct SchedulesPage {
    view: View,
    rows: Vec<Row>,
    /// Empty for all topics.
    topic: String,
    prefix: String,
    /// `yes` for those that are paused, `no` for the others, empty for all.
    paused: &'static str,
    /// True if this is not the first page.
    is_later: bool,
    /// The address of the next page.
    behind: Option<String>,
    /// How many topics were looked at so far, if there are several.
    looked: Option<u64>,
    topics: u64,
    may_set: bool,
}

struct Row {
    schedule: ListedSchedule,
    address: String,
    /// When it fires, in plain words.
    words: Option<String>,
    last: Option<Outcome>,
}

/// What was found for a page.
#[derive(Default)]
struct Found {
    schedules: Vec<ListedSchedule>,
    /// Topics that were looked through.
    topics: usize,
    /// Where the next page begins: in which topic, and behind which schedule of it.
    next: Option<(TopicName, JobId)>,
}

impl SchedulesPage {
    /// The address of the first page.
    fn first(&self) -> String {
        list_address(&self.topic, &self.prefix, self.paused, None)
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.prefix.is_empty() && self.paused.is_empty() && !self.is_later
    }
}

/// The address of the page that begins there.
fn list_address(topic: &str, prefix: &str, paused: &str, from: Option<&(TopicName, JobId)>) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in [("topic", topic), ("prefix", prefix), ("paused", paused)] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    if let Some((at, after)) = from {
        query.append_pair("at", at.as_str()).append_pair("after", &after.0.to_string());
    }
    format!("/console/schedules?{}", query.finish())
}

/// The list of schedules.
pub(crate) async fn list(visitor: Visitor) -> Answer {
    let view = visitor.view("schedules");
    let query = &visitor.query;
    let topic = query.first("topic").trim().to_owned();
    let prefix = query.first("prefix").to_owned();
    let paused = ["yes", "no"].into_iter().find(|known| *known == query.first("paused")).unwrap_or_default();
    let conditions = ScheduleConditions {
        prefix: prefix.clone(),
        paused: (!paused.is_empty()).then_some(paused == "yes"),
        next_before: None,
    };
    let topics: Vec<TopicName> = if topic.is_empty() {
        let topics: Vec<TopicReport> = visitor.ask(Request::Topics).await?;
        topics.into_iter().map(|topic| topic.topic).collect()
    } else {
        vec![topic.parse().map_err(|error| at("topic", &error))?]
    };
    // The topic where the page begins may be gone: then the next one is where it begins.
    let start = query.first("at");
    let after = JobId(query.first("after").parse().unwrap_or(0));
    let before = topics.iter().take_while(|topic| topic.as_str() < start).count();
    let here = topics.get(before..).unwrap_or_default();
    let after = if here.first().is_some_and(|topic| topic.as_str() == start) { after } else { JobId(0) };
    let found = gather(&visitor, here, &conditions, after).await?;
    let mut rows = Vec::with_capacity(found.schedules.len());
    for schedule in found.schedules {
        rows.push(row(&visitor, &view, schedule).await);
    }
    page(&SchedulesPage {
        is_later: !start.is_empty(),
        behind: found.next.map(|next| list_address(&topic, &prefix, paused, Some(&next))),
        looked: topic.is_empty().then_some((before + found.topics) as u64),
        topics: topics.len() as u64,
        may_set: if topic.is_empty() { view.may_manage_some() } else { view.may_manage(&topic) },
        rows,
        topic,
        prefix,
        paused,
        view,
    })
}

/// Looks for schedules in these topics until a page is full. `after` is behind which one of the first topic.
async fn gather(
    visitor: &Visitor,
    topics: &[TopicName],
    conditions: &ScheduleConditions,
    mut after: JobId,
) -> Result<Found, Problem> {
    let mut found = Found::default();
    let mut asked = 0;
    for topic in topics {
        loop {
            let room = PAGE.saturating_sub(found.schedules.len());
            if room == 0 || asked == ASKED_MAX {
                found.next = Some((topic.clone(), after));
                return Ok(found);
            }
            asked += 1;
            let list = ScheduleList {
                topic: topic.clone(),
                conditions: conditions.clone(),
                after,
                schedules_max: u32::try_from(room).unwrap_or(u32::MAX),
            };
            let page: SchedulePage = visitor.ask(Request::ScheduleList(list)).await?;
            found.schedules.extend(page.schedules);
            let Some(next) = page.after else { break };
            after = next;
        }
        after = JobId(0);
        found.topics += 1;
    }
    Ok(found)
}

async fn row(visitor: &Visitor, view: &View, schedule: ListedSchedule) -> Row {
    let (topic, name) = (schedule.topic.clone(), schedule.name.clone());
    let address = address(&topic, &name);
    // A list has no history. A schedule that is gone by now has none, either.
    let report: Option<ScheduleReport> = visitor.ask(Request::ScheduleShow { topic, name }).await.ok();
    Row {
        last: report.and_then(|report| report.history.last().map(Outcome::of)),
        words: words::of(&schedule.rules.when, view.language),
        address,
        schedule,
    }
}
