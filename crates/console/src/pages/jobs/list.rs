//! A list of jobs.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;

use super::super::Answer;
use super::columns::{Cell, Columns};
use super::filter::Conditions;
use super::search;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::Problem;
use adjourn_protocol::{Counted, JobReport, List, Page, Request};
use adjourn_types::{ListOrder, Right};

/// Jobs on a page.
const PAGE: u32 = 50;
/// A search stops by itself when a page has this many rows.
const ROWS_MAX: u64 = 500;

/// The states that a person can choose.
pub(super) const STATES: [&str; 5] = ["delayed", "ready", "reserved", "buried", "finished"];

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    view: View,
    conditions: Conditions,
    columns: Columns,
    order: &'static str,
    text: String,
    rows: Vec<Row>,
    /// How many jobs meet the conditions; not counted on later pages.
    matched: Option<u64>,
    progress: Option<Progress>,
    /// True if the person may read only some topics, and has named none.
    needs_topic: bool,
    /// The address of the next page.
    next: Option<String>,
    /// The address of the first page.
    first: String,
    is_first: bool,
    may_change: bool,
}

struct Row {
    id: u64,
    cells: Vec<Cell>,
}

/// How far a search is.
struct Progress {
    looked: u64,
    of: u64,
    /// True if it goes on by itself.
    goes_on: bool,
}

impl JobsPage {
    fn states(&self) -> [&'static str; 5] {
        STATES
    }
}

/// Where a list is.
struct Place {
    cursor: Bytes,
    /// What a search has looked at and found on the pages before, and how many jobs there are.
    looked: u64,
    found: u64,
    of: Option<u64>,
}

pub(super) async fn show(visitor: Visitor) -> Answer {
    let view = visitor.view("jobs");
    let query = &visitor.query;
    let conditions = Conditions::of(query)?;
    let columns = Columns::of(query);
    let (order, list_order) = match query.first("order") {
        "id" => ("id", ListOrder::Id),
        "key" => ("key", ListOrder::Key),
        _ => ("due", ListOrder::Due),
    };
    let text = query.first("text").to_owned();
    let place = Place::of(&visitor)?;
    let is_first = place.cursor.is_empty();
    // Who may not read all topics has to name one.
    let needs_topic = conditions.filter.topic.is_none() && !view.access.has_everywhere(Right::Read);
    let found = if needs_topic {
        Found::default()
    } else {
        find(&visitor, &conditions, &columns, list_order, &text, place).await?
    };
    let next = (!found.cursor.is_empty()).then(|| address(&conditions, &columns, order, &text, &found));
    let first = address(&conditions, &columns, order, &text, &Found::default());
    // A search adds rows later: what can be done to them does not depend on the first ones.
    let may_change = match &conditions.filter.topic {
        Some(topic) => view.may_manage(topic.as_str()),
        None => view.may_manage_some(),
    };
    let row = |job: &JobReport| Row { id: job.id.0, cells: columns.cells(job) };
    page(&JobsPage {
        rows: found.jobs.iter().map(row).collect(),
        matched: (is_first && !needs_topic).then_some(found.of),
        progress: found.progress,
        needs_topic,
        next,
        first,
        is_first,
        may_change,
        view,
        conditions,
        columns,
        order,
        text,
    })
}

/// What a page of a list has.
#[derive(Default)]
struct Found {
    jobs: Vec<JobReport>,
    /// Where the next page begins; empty on the last one.
    cursor: Bytes,
    /// How many jobs meet the conditions.
    of: u64,
    progress: Option<Progress>,
    /// How many a search has found, with the pages before.
    in_all: u64,
}

async fn find(
    visitor: &Visitor,
    conditions: &Conditions,
    columns: &Columns,
    order: ListOrder,
    text: &str,
    place: Place,
) -> Result<Found, Problem> {
    let of = if let Some(of) = place.of {
        of
    } else {
        let Counted { jobs: of, .. } = visitor.ask(Request::Count(conditions.filter.clone().into())).await?;
        of
    };
    if text.is_empty() {
        let list = List {
            filter: conditions.filter.clone(),
            order,
            jobs_max: PAGE,
            with_bodies: columns.has("body"),
            cursor: place.cursor,
        };
        let Page { jobs, cursor } = visitor.ask(Request::List(list)).await?;
        return Ok(Found { jobs, cursor, of, ..Found::default() });
    }
    let step = search::step(visitor, conditions, order, text, place.cursor).await?;
    let looked = place.looked.saturating_add(step.looked);
    let in_all = place.found.saturating_add(step.found.len() as u64);
    let goes_on = !step.cursor.is_empty() && in_all < ROWS_MAX;
    let progress = Some(Progress { looked, of, goes_on });
    Ok(Found { jobs: step.found, cursor: step.cursor, of, progress, in_all })
}

impl Place {
    fn of(visitor: &Visitor) -> Result<Self, Problem> {
        let number = |name: &str| visitor.query.first(name).parse().ok();
        let cursor = URL_SAFE_NO_PAD.decode(visitor.query.first("cursor"));
        let cursor =
            cursor.map_err(|_| Problem::malformed("this is no page of a list: begin at the first one"))?;
        Ok(Self {
            cursor: cursor.into(),
            looked: number("looked").unwrap_or(0),
            found: number("found").unwrap_or(0),
            of: number("of"),
        })
    }
}

fn address(conditions: &Conditions, columns: &Columns, order: &str, text: &str, page: &Found) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(conditions.pairs()).append_pair("order", order);
    query.extend_pairs(columns.iter().map(|column| ("columns", column.name)));
    if !text.is_empty() {
        query.append_pair("text", text);
    }
    if !page.cursor.is_empty() {
        query
            .append_pair("cursor", &URL_SAFE_NO_PAD.encode(&page.cursor))
            .append_pair("of", &page.of.to_string());
    }
    if let Some(progress) = &page.progress {
        query.append_pair("looked", &progress.looked.to_string());
        // A person who goes on starts a table of their own.
        let found = if progress.goes_on { page.in_all } else { 0 };
        query.append_pair("found", &found.to_string());
    }
    format!("/console/jobs?{}", query.finish())
}
