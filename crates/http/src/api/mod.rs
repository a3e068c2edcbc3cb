//! The JSON API, `/v1`. Each route is one function, which states its input, asks the queue, and writes the answer; the
//! `OpenAPI` document is generated from the same functions.

mod backfill;
mod bulk;
mod call_backs;
mod change;
mod edit;
mod events;
mod exported;
mod filter;
mod forms;
mod groups;
mod leases;
mod list;
mod new_job;
mod page;
mod preview;
mod push;
mod raw_job;
mod schedule_bulk;
mod schedule_rules;
mod schedules;
mod server;
mod test_clock;
mod topics;
mod version;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::bulk::{Selected, excludes_some, select};
pub use self::exported::{ExportedJob, exported_job};
pub use self::filter::FilterJson;
pub use self::forms::{backfill, edit, new_job, push, schedule};
use super::caller::{Caller, HttpState};
use super::problem::Problem;
use adjourn_protocol::Request;

/// All routes.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(push::push))
        .routes(routes!(change::get, change::delete, edit::edit))
        .routes(routes!(change::get_by_key, change::delete_by_key, edit::edit_by_key))
        .routes(routes!(change::reschedule))
        .routes(routes!(change::reschedule_by_key))
        .routes(routes!(change::run_now))
        .routes(routes!(change::run_now_by_key))
        .routes(routes!(change::kick))
        .routes(routes!(change::kick_by_key))
        .routes(routes!(list::list))
        .routes(routes!(list::count))
        .routes(routes!(bulk::bulk))
        .routes(routes!(leases::reserve))
        .routes(routes!(leases::finish))
        .routes(routes!(leases::release))
        .routes(routes!(leases::touch))
        .routes(routes!(leases::bury))
        .routes(routes!(leases::settle))
        .routes(routes!(topics::topics))
        .routes(routes!(topics::show, topics::set, topics::delete))
        .routes(routes!(topics::pause))
        .routes(routes!(topics::resume))
        .routes(routes!(topics::kick))
        .routes(routes!(topics::peek))
        .routes(routes!(groups::list))
        .routes(routes!(groups::set))
        .routes(routes!(groups::why))
        .routes(routes!(groups::why_by_key))
        .routes(routes!(groups::why_topic))
        .routes(routes!(groups::why_group))
        .routes(routes!(schedules::list))
        .routes(routes!(schedules::show, schedules::set, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::run))
        .routes(routes!(backfill::backfill))
        .routes(routes!(schedules::list_all))
        .routes(routes!(schedule_bulk::bulk))
        .routes(routes!(preview::preview))
        .routes(routes!(call_backs::attempts))
        .routes(routes!(call_backs::check))
        .routes(routes!(events::events))
        .routes(routes!(server::stats))
        .routes(routes!(server::cluster))
        .routes(routes!(server::add_member))
        .routes(routes!(server::remove_member))
        .routes(routes!(server::transfer))
        .routes(routes!(server::connections))
        .routes(routes!(server::disconnect))
        .routes(routes!(test_clock::show, test_clock::advance))
}

/// The answer of a route.
type Answer = Result<Response, Problem>;

fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value).map_err(|error| Problem::malformed(error.to_string()))?;
    let mut response = (status, text).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn ok(value: &impl Serialize) -> Answer {
    json(StatusCode::OK, value)
}

/// Asks for what is answered with nothing but that it is done.
async fn done(caller: &Caller, request: Request) -> Answer {
    caller.ask::<()>(request).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
