//! The JSON API, `/v1`. Each route is one function, which states its input, asks the queue, and writes the answer; the
//! `OpenAPI` document is generated from the same functions.

mod bulk;
mod call_backs;
mod change;
mod events;
mod filter;
mod leases;
mod list;
mod new_job;
mod push;
mod server;
mod topics;
mod version;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::HttpState;
use super::problem::Problem;
use crate::protocol;

/// All routes.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(push::push))
        .routes(routes!(change::get, change::delete))
        .routes(routes!(change::get_by_key, change::delete_by_key))
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

/// The answer to a request that succeeded without a result: no content.
fn done(_: protocol::Response) -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The error for an answer of the wrong kind, which the queue never gives.
fn unexpected(response: &protocol::Response) -> Problem {
    debug_assert!(false, "an answer of another kind: {response:?}");
    let message =
        "the queue gave an answer of another kind: this is an error in the program, please report it";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, protocol::ErrorCode::Unknown, message)
}
