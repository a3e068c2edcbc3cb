//! Changes of many jobs: of those that were selected on a page, or of all that meet conditions.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::time::Instant;

use super::super::Answer;
use super::super::topics::at;
use super::filter::Conditions;
use crate::form::Posted;
use crate::said::Said;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Pairs, Problem, Selected, excludes_some, select};
use adjourn_json::values::{delay_ms, time};
use adjourn_protocol::{Bulk, Change, Changed, ErrorCode, JobRef, Request, Step};
use adjourn_types::limits::BULK_JOBS_MAX;
use adjourn_types::{JobId, Millis};

/// A step ends after this time.
const STEP: Duration = Duration::from_millis(500);

/// The changes of many jobs, with their labels.
const CHANGES: [(&str, &str); 5] = [
    ("kick", text("Make them ready, if they are buried")),
    ("run-now", text("Make them ready, if they are delayed")),
    ("reschedule", text("Give them another due time, if they are delayed or ready")),
    ("move", text("Move them to another topic, unless they are reserved")),
    ("delete", text("Delete them")),
];

/// Most jobs that can be selected; a search shows fewer.
const SELECTED_MAX: usize = 1000;

/// Does something to each job that was selected on a page.
pub(super) async fn selected(posted: Posted) -> Answer {
    let jobs = posted.fields.all("job");
    if jobs.len() > SELECTED_MAX {
        return Err(at(
            "job",
            &format!(
                "at most {SELECTED_MAX} jobs can be selected: change all that meet the conditions instead"
            ),
        ));
    }
    let mut changed = 0;
    for id in jobs {
        let id = id.parse().map_err(|_| at("job", &"expected the number of a job"))?;
        let job = JobRef::Id(JobId(id));
        let request = match posted.fields.first("change") {
            "kick" => Request::Kick(job),
            "run-now" => Request::RunNow(job),
            "delete" => Request::Delete(job),
            _ => return Err(Problem::malformed("there is no such change: load the page again")),
        };
        match posted.visitor.ask::<Changed>(request).await {
            Ok(_) => changed += 1,
            // It has gone on since the page was shown, or cannot be changed so: the others are.
            Err(problem) if problem.is(ErrorCode::NotFound) || problem.is(ErrorCode::WrongState) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(posted.done(posted.back_or("/console/jobs"), Said::Changed, changed))
}

#[derive(Template)]
#[template(path = "change.html")]
struct ChangePage {
    view: View,
    conditions: Conditions,
    change: String,
    delay: String,
    due: String,
    to: String,
    /// What the change would do; `None` before one is chosen.
    selected: Option<Selected>,
    /// True if the conditions select all jobs of the queue.
    is_all: bool,
    run: Option<Run>,
}

/// A change that has begun.
#[derive(Clone, Debug, Default)]
struct Run {
    changed: u64,
    skipped: u64,
    of: u64,
    /// Where the next step begins; empty after the last one.
    cursor: String,
    /// The due time that was counted from the first step.
    due_ms: u64,
}

impl ChangePage {
    fn changes(&self) -> [(&'static str, &'static str); 5] {
        CHANGES
    }

    fn of(visitor: &Visitor, fields: &Pairs) -> Result<Self, Problem> {
        let conditions = Conditions::of(fields)?;
        let given = |name: &str| fields.first(name).to_owned();
        Ok(Self {
            view: visitor.view("jobs"),
            is_all: !excludes_some(&conditions.filter),
            change: given("change"),
            delay: given("delay"),
            due: given("due"),
            to: given("to"),
            conditions,
            selected: None,
            run: None,
        })
    }

    /// The change. A delay counts from `now`.
    fn read(&self, now: Millis) -> Result<Change, Problem> {
        Ok(match self.change.as_str() {
            "kick" => Change::Kick,
            "run-now" => Change::RunNow,
            "delete" => Change::Delete,
            "reschedule" => Change::Reschedule { due: self.read_due(now)? },
            "move" => Change::Move { to: self.to.parse().map_err(|error| at("to", &error))? },
            _ => return Err(Problem::malformed("choose what to do with the jobs")),
        })
    }

    fn read_due(&self, now: Millis) -> Result<Millis, Problem> {
        match (self.delay.as_str(), self.due.as_str()) {
            ("", "") => Err(at("delay", &"give a delay or a due time")),
            (delay, "") => Ok(now.after(delay_ms(delay).map_err(|error| at("delay", &error))?)),
            ("", due) => time(due).map_err(|error| at("due", &error)),
            _ => Err(at("due", &"give a delay or a due time, not both")),
        }
    }
}

/// What can be done to the jobs that meet these conditions, and what that would be.
pub(super) async fn show(visitor: Visitor) -> Answer {
    let mut shown = ChangePage::of(&visitor, &visitor.query)?;
    if !shown.change.is_empty() {
        let change = shown.read(shown.view.now)?;
        shown.selected = Some(select(&visitor.caller, &change, shown.conditions.filter.clone()).await?);
    }
    page(&shown)
}

/// A step of a change. The page that it answers with goes on with the next one.
pub(super) async fn step(posted: Posted) -> Result<Response, Problem> {
    let fields = &posted.fields;
    let mut shown = ChangePage::of(&posted.visitor, fields)?;
    if shown.is_all && fields.first("all") != "true" {
        return Err(at("all", &"these are all jobs of the queue: tick the box if you mean that"));
    }
    let number = |name: &str| fields.first(name).parse().unwrap_or(0);
    let mut run = Run {
        changed: number("changed"),
        skipped: number("skipped"),
        of: number("of"),
        cursor: fields.first("cursor").to_owned(),
        due_ms: number("due_ms"),
    };
    let mut change = shown.read(posted.visitor.ask(Request::Ping).await?)?;
    if let Change::Reschedule { due } = &mut change {
        if run.due_ms > 0 {
            *due = Millis(run.due_ms);
        }
        run.due_ms = due.0;
    }
    let cursor = URL_SAFE_NO_PAD.decode(&run.cursor);
    let mut cursor =
        cursor.map_err(|_| Problem::malformed("this is no step of a change: begin again"))?.into();
    let until = Instant::now() + STEP;
    loop {
        let filter = shown.conditions.filter.clone();
        let bulk = Bulk { change: change.clone(), filter, jobs_max: BULK_JOBS_MAX, cursor };
        let step: Step = posted.visitor.ask(Request::Bulk(bulk)).await?;
        run.changed += u64::from(step.jobs);
        run.skipped += u64::from(step.skipped);
        cursor = step.cursor;
        if cursor.is_empty() || Instant::now() >= until {
            break;
        }
    }
    run.cursor = URL_SAFE_NO_PAD.encode(&cursor);
    shown.run = Some(run);
    page(&shown)
}
