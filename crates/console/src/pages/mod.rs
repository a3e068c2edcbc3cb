//! The pages, one module for each kind of thing. A function `show` makes a page; the others act on a posted form.

mod alerts;
mod audit;
mod call_backs;
mod cluster;
mod consumers;
mod groups;
mod jobs;
mod login;
mod overview;
mod schedules;
mod topics;

use askama::Template;
use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get, post};

use super::Console;
use super::view::{View, html};
use super::visitor::{page_before, stranger};
use adjourn_http::Problem;
use adjourn_protocol::ErrorCode;

/// What a page, or an action, comes to. A problem becomes a page, too.
type Answer = Result<Response, Problem>;

/// All routes.
pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/console", get(overview::show))
        .route("/console/login", get(login::show).post(login::log_in))
        .route("/console/logout", post(login::log_out))
        .route("/console/language", post(login::choose_language))
        .route("/console/topics", get(topics::list).post(topics::create))
        .route("/console/topics/{topic}", get(topics::show))
        .route("/console/topics/{topic}/settings", post(topics::set))
        .route("/console/topics/{topic}/{action}", post(topics::act))
        .route("/console/topics/{topic}/groups", get(groups::list))
        .route("/console/topics/{topic}/groups/{group}", get(groups::show).post(groups::act))
        .route("/console/schedules", get(schedules::list))
        .route("/console/schedules/new", get(schedules::new).post(schedules::create))
        .route("/console/topics/{topic}/schedules", post(schedules::set))
        .route("/console/topics/{topic}/schedules/{name}", get(schedules::show))
        .route("/console/topics/{topic}/schedules/{name}/edit", get(schedules::edit))
        .route("/console/topics/{topic}/schedules/{name}/{action}", post(schedules::act))
        .route("/console/call-backs", get(call_backs::show).post(call_backs::check))
        .route("/console/consumers", get(consumers::list))
        .route("/console/consumers/{connection}", post(consumers::disconnect))
        .route("/console/cluster", get(cluster::show).post(cluster::act))
        .route("/console/alerts", get(alerts::show))
        .route("/console/audit", get(audit::show))
        .merge(jobs::routes())
        .route("/console/{*rest}", any(none))
        .method_not_allowed_fallback(not_so)
        .layer(middleware::from_fn(with_pages_of_problems))
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    view: View,
    status: StatusCode,
    detail: String,
    /// The page that the person comes from.
    back: String,
}

/// There is no such page.
async fn none(uri: Uri) -> Problem {
    let message = format!("there is no page at {}", uri.path());
    Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
}

/// What only takes a form has no page.
async fn not_so(method: Method, uri: Uri) -> Problem {
    let message = format!("{} is no page for {method}: go to the page that leads there", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::Invalid, message)
}

/// Shows problems as pages.
async fn with_pages_of_problems(request: Request, next: Next) -> Response {
    // Its page leads on to the others.
    let back = page_before(request.headers()).to_owned();
    let view = View { section: "problem", ..stranger(request.method(), request.headers(), request.uri()) };
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Problem>() else { return response };
    let status = problem.status();
    let page = ProblemPage { view, status, detail: problem.detail(), back };
    page.render().map_or(response, |text| html(status, text))
}
