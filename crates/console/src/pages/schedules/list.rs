//! The list of schedules: those of one topic, or of all that the person may read.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use form_urlencoded::Serializer;

use super::super::Answer;
use super::super::topics::at;
use super::{Outcome, address, words};
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::Problem;
use adjourn_protocol::{
    ListedSchedule, Request, ScheduleConditions, ScheduleList, SchedulePage, ScheduleReport,
};
use adjourn_types::{PausedBy, TopicName};

/// Schedules on a page.
const PAGE: usize = 50;
/// How often the queue is asked for one page: it looks at some hundred schedules each time.
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
    may_set: bool,
}

struct Row {
    schedule: ListedSchedule,
    address: String,
    /// When it fires, in plain words.
    words: Option<String>,
    last: Option<Outcome>,
}

impl SchedulesPage {
    /// The address of the first page.
    fn first(&self) -> String {
        list_address(&self.topic, &self.prefix, self.paused, &[])
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.prefix.is_empty() && self.paused.is_empty() && !self.is_later
    }
}

/// The address of the page at this cursor.
fn list_address(topic: &str, prefix: &str, paused: &str, cursor: &[u8]) -> String {
    let mut query = Serializer::new(String::new());
    let cursor = URL_SAFE_NO_PAD.encode(cursor);
    for (name, value) in [("topic", topic), ("prefix", prefix), ("paused", paused), ("cursor", &cursor)] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
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
    let name =
        if topic.is_empty() { None } else { Some(topic.parse().map_err(|error| at("topic", &error))?) };
    let start = URL_SAFE_NO_PAD.decode(query.first("cursor")).unwrap_or_default();
    let is_later = !start.is_empty();
    let found = gather(&visitor, name, &conditions, start.into()).await?;
    let mut rows = Vec::with_capacity(found.schedules.len());
    for schedule in found.schedules {
        rows.push(row(&visitor, &view, schedule).await);
    }
    let more = !found.cursor.is_empty();
    page(&SchedulesPage {
        is_later,
        behind: more.then(|| list_address(&topic, &prefix, paused, &found.cursor)),
        may_set: if topic.is_empty() { view.may_manage_some() } else { view.may_manage(&topic) },
        rows,
        topic,
        prefix,
        paused,
        view,
    })
}

/// Looks for schedules from a cursor on until a page is full.
async fn gather(
    visitor: &Visitor,
    topic: Option<TopicName>,
    conditions: &ScheduleConditions,
    cursor: Bytes,
) -> Result<SchedulePage, Problem> {
    let mut found = SchedulePage { schedules: Vec::new(), cursor };
    for _ in 0..ASKED_MAX {
        let room = PAGE.saturating_sub(found.schedules.len());
        let list = ScheduleList {
            topic: topic.clone(),
            conditions: conditions.clone(),
            schedules_max: u32::try_from(room).unwrap_or(u32::MAX),
            cursor: found.cursor,
        };
        let page: SchedulePage = visitor.ask(Request::ScheduleList(list)).await?;
        found.schedules.extend(page.schedules);
        found.cursor = page.cursor;
        if found.cursor.is_empty() || found.schedules.len() >= PAGE {
            break;
        }
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
