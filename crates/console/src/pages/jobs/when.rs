//! When jobs are due: bars for the next hour, day or month.

use std::time::Duration;

use askama::Template;
use axum::response::{IntoResponse as _, Redirect};
use tokio::time::Instant;

use super::super::Answer;
use super::filter::Conditions;
use crate::chart::percent;
use crate::shown::iso;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Part, Problem};
use adjourn_protocol::{Counted, Request};
use adjourn_types::{Filter, JobState, Millis, Right, States, TopicName};

/// The spans that can be shown: name, label, bars, and the width of a bar in milliseconds.
const SPANS: [(&str, &str, u64, u64); 3] = [
    ("hour", text("Next hour"), 12, 5 * 60_000),
    ("day", text("Next day"), 24, 3_600_000),
    ("month", text("Next 30 days"), 30, 86_400_000),
];
/// Counting ends after this time; the bars behind are counted when they are asked for.
const BUDGET: Duration = Duration::from_secs(2);

#[derive(Template)]
#[template(path = "when.html")]
struct WhenPage {
    view: View,
    conditions: Conditions,
    span: &'static str,
    bars: Vec<Bar>,
    /// Jobs that are due already, and those that are due after the last bar.
    overdue: Option<u64>,
    later: Option<u64>,
    /// True if the time was up before all were counted.
    is_part: bool,
}

struct Bar {
    from: Millis,
    before: Millis,
    /// `None` if it was not counted.
    jobs: Option<u64>,
    percent: u64,
}

impl WhenPage {
    fn spans(&self) -> [(&'static str, &'static str, u64, u64); 3] {
        SPANS
    }

    /// The jobs of a bar.
    fn address(&self, from: &Millis, before: &Millis) -> String {
        format!("{}&due_from={}&due_before={}", self.jobs_address(), iso(*from), iso(*before))
    }

    fn after(&self, bars: &[Bar]) -> String {
        let end = bars.last().map(|bar| bar.before).unwrap_or_default();
        format!("{}&due_from={}", self.jobs_address(), iso(end))
    }

    fn jobs_address(&self) -> String {
        format!("/console/jobs?topic={}&state=delayed", self.conditions.value("topic"))
    }
}

/// When the jobs that meet the conditions are due.
pub(super) async fn show(visitor: Visitor) -> Answer {
    let conditions = Conditions::of(&visitor.query)?;
    if conditions.filter.topic.is_none() && !visitor.access().has_everywhere(Right::Read) {
        // There they choose one.
        return Ok(Redirect::to("/console/topics").into_response());
    }
    bars(visitor, conditions).await
}

/// When the jobs of a topic are due.
pub(super) async fn of_topic(Part(topic): Part<TopicName>, visitor: Visitor) -> Answer {
    let mut query = visitor.query.clone();
    query.add("topic".to_owned(), topic.to_string());
    let conditions = Conditions::of(&query)?;
    bars(visitor, conditions).await
}

async fn bars(visitor: Visitor, conditions: Conditions) -> Answer {
    let view = visitor.view("jobs");
    let asked = visitor.query.first("span");
    let (span, _, count, width) =
        SPANS.into_iter().find(|one| one.0 == asked).unwrap_or(("day", "", 24, 3_600_000));
    let now: Millis = visitor.ask(Request::Ping).await?;
    let filter = Filter { states: States::of([JobState::Delayed]), ..conditions.filter.clone() };
    let count_of = async |from: Option<Millis>, before: Option<Millis>| -> Result<u64, Problem> {
        let filter = Filter { due_from: from, due_before: before, ..filter.clone() };
        let Counted(jobs) = visitor.ask(Request::Count(filter)).await?;
        Ok(jobs)
    };
    let until = Instant::now() + BUDGET;
    let first = Millis(now.0 / width * width);
    let (mut bars, mut is_part) = (Vec::new(), false);
    for number in 0..count {
        let from = Millis(first.0 + number * width);
        let before = from.after(width);
        is_part = Instant::now() >= until;
        let jobs = if is_part { None } else { Some(count_of(Some(from), Some(before)).await?) };
        bars.push(Bar { from, before, jobs, percent: 0 });
    }
    let top = bars.iter().filter_map(|bar| bar.jobs).max().unwrap_or(0);
    for bar in &mut bars {
        bar.percent = percent(bar.jobs.unwrap_or(0), top);
    }
    let end = bars.last().map(|bar| bar.before);
    let overdue = if is_part { None } else { Some(count_of(None, Some(first)).await?) };
    let later = if is_part { None } else { Some(count_of(end, None).await?) };
    page(&WhenPage { view, conditions, span, bars, overdue, later, is_part })
}
