//! The `OpenAPI` 3.1 document, which is made from the routes.

use std::sync::LazyLock;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::caller::HttpState;
use super::fields::{JobKey, LeaseText, ScheduleName, Topic, text_schema};
use super::{api, watch};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Adjourn",
        description = "A persistent delay queue: push a job with a due time; when it comes, one consumer holds the job."
    ),
    tags(
        (name = "jobs", description = "Push, look at and change jobs"),
        (name = "leases", description = "Reserve jobs and settle them"),
        (name = "topics", description = "Topics and their settings"),
        (name = "groups", description = "Groups of a topic's jobs, such as tenants, that take turns"),
        (name = "schedules", description = "Jobs that are pushed again and again"),
        (name = "call-backs", description = "Calls that the server makes when jobs are due"),
        (name = "server", description = "The node and its cluster"),
    ),
    modifiers(&Security),
)]
struct Document;

/// How callers show who they are: with a token, or not at all where the server has no tokens.
struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of the server, if it has any"))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        let none: [&str; 0] = [];
        document.security =
            Some(vec![SecurityRequirement::default(), SecurityRequirement::new("token", none)]);
    }
}

/// All routes that the document describes, itself included.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    let mut routes = OpenApiRouter::with_openapi(Document::openapi())
        .merge(api::routes())
        .routes(routes!(show))
        .routes(routes!(watch::metrics))
        .routes(routes!(watch::health))
        .routes(routes!(watch::readiness));
    describe_parts(routes.get_openapi_mut());
    routes
}

/// Gives the variable parts of paths their schemas: those of the same values elsewhere.
fn describe_parts(document: &mut utoipa::openapi::OpenApi) {
    let operations = document.paths.paths.values_mut().flat_map(|item| {
        [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
            .into_iter()
            .flatten()
    });
    for parameter in operations.flat_map(|operation| operation.parameters.iter_mut().flatten()) {
        let RefOr::T(parameter) = parameter else { continue };
        if parameter.parameter_in != ParameterIn::Path {
            continue;
        }
        let schema = match parameter.name.as_str() {
            "topic" => text_schema::<Topic>().into(),
            "key" => text_schema::<JobKey>().into(),
            "name" => text_schema::<ScheduleName>().into(),
            "lease" => text_schema::<LeaseText>().into(),
            _ => continue,
        };
        parameter.schema = Some(schema);
    }
}

/// The document as JSON.
pub fn openapi() -> String {
    routes().into_openapi().to_pretty_json().unwrap_or_default()
}

/// Show this document
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    operation_id = "openapi",
    tag = "server",
    security(()),
    responses((status = 200, description = "The OpenAPI document", body = serde_json::Value, content_type = "application/json")),
)]
async fn show() -> Response {
    static DOCUMENT: LazyLock<String> = LazyLock::new(openapi);
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}
