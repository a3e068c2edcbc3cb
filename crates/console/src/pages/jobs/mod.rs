//! Jobs: lists by conditions and by a text in them, one job, and changes of one or many.

mod body;
mod changes;
mod columns;
mod filter;
mod list;
mod one;
mod search;
mod when;

use axum::Router;
use axum::routing::{get, post};

use crate::Console;

/// The routes of these pages.
pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/jobs", get(list::show))
        .route("/console/jobs/selected", post(changes::selected))
        .route("/console/jobs/change", get(changes::show).post(changes::step))
        .route("/console/jobs/{id}", get(one::show))
        .route("/console/jobs/{id}/body", get(one::body))
        .route("/console/jobs/{id}/{action}", post(one::act))
        .route("/console/when", get(when::show))
        .route("/console/topics/{topic}/when", get(when::of_topic))
}
