//! When jobs are due: bars for the next hour, day or month.

use askama::Template;
use axum::response::{IntoResponse as _, Redirect};

use super::super::Answer;
use super::filter::Conditions;
use crate::chart::percent;
use crate::shown::iso;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::Part;
use adjourn_protocol::{Count, Counted, DueBar, Request};
use adjourn_types::{DueBars, Filter, JobState, Millis, Right, States, TopicName};

/// The spans that can be shown: name, label, bars, and the width of a bar in milliseconds.
const SPANS: [(&str, &str, u32, u64); 3] = [
    ("hour", text("Next hour"), 12, 5 * 60_000),
    ("day", text("Next day"), 24, 3_600_000),
    ("month", text("Next 30 days"), 30, 86_400_000),
];

#[derive(Template)]
#[template(path = "when.html")]
struct WhenPage {
    view: View,
    conditions: Conditions,
    span: &'static str,
    bars: Vec<Bar>,
    /// Jobs that are due already.
    overdue: u64,
    /// Jobs that are due after the last bar.
    later: u64,
}

struct Bar {
    from: Millis,
    before: Millis,
    jobs: u64,
    percent: u64,
}

impl WhenPage {
    fn spans(&self) -> [(&'static str, &'static str, u32, u64); 3] {
        SPANS
    }

    /// The jobs of a bar.
    fn address(&self, from: &Millis, before: &Millis) -> String {
        let Filter { due_from, due_before, .. } = self.conditions.filter;
        let from = due_from.map_or(*from, |asked| asked.max(*from));
        let before = due_before.map_or(*before, |asked| asked.min(*before));
        self.jobs_address(&[("due_from", iso(from)), ("due_before", iso(before))])
    }

    fn after(&self, bars: &[Bar]) -> String {
        let end = bars.last().map(|bar| bar.before).max(self.conditions.filter.due_from);
        self.jobs_address(&[("due_from", iso(end.unwrap_or_default()))])
    }

    /// The delayed jobs that meet the conditions, with these in place of those of the page.
    fn jobs_address(&self, due: &[(&'static str, String)]) -> String {
        let others = [&[("state", "delayed".to_owned())], due].concat();
        format!("/console/jobs?{}", self.conditions.query_with(&others))
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
    let (span, _, count, width_ms) =
        SPANS.into_iter().find(|one| one.0 == asked).unwrap_or(("day", "", 24, 3_600_000));
    let now: Millis = visitor.ask(Request::Ping).await?;
    let filter = Filter { states: States::of([JobState::Delayed]), ..conditions.filter.clone() };
    let bars = DueBars { from: Millis(now.0 / width_ms * width_ms), width_ms, count };
    let Counted { by_due, .. } = visitor.ask(Request::Count(Count { filter, bars: Some(bars) })).await?;
    let (overdue, bars, later) = match &by_due[..] {
        [overdue, bars @ .., later] => (overdue.jobs, bars, later.jobs),
        _ => (0, &[][..], 0),
    };
    let top = bars.iter().map(|bar| bar.jobs).max().unwrap_or(0);
    let bar = |bar: &DueBar| Bar {
        from: bar.from,
        before: bar.from.after(width_ms),
        jobs: bar.jobs,
        percent: percent(bar.jobs, top),
    };
    let bars = bars.iter().map(bar).collect();
    page(&WhenPage { view, conditions, span, bars, overdue, later })
}
