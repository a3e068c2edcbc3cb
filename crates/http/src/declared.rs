//! What each route takes, as the `OpenAPI` document declares it. A parameter of the query that a route does not declare is refused, and so
//! is a body: nothing that a caller sends is dropped in silence.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};

use super::input::{self, Pairs};
use super::problem::{Place, Problem};
use super::wording;

/// What the routes take, by path and method.
pub(super) struct Declared(BTreeMap<String, BTreeMap<&'static str, Inputs>>);

/// What one route takes.
struct Inputs {
    parameters: Vec<String>,
    has_body: bool,
}

impl Declared {
    /// What a document declares.
    pub(super) fn of(document: &OpenApi) -> Self {
        let routes = document.paths.paths.iter().map(|(path, item)| {
            let methods = [
                ("GET", &item.get),
                ("POST", &item.post),
                ("PUT", &item.put),
                ("PATCH", &item.patch),
                ("DELETE", &item.delete),
            ];
            let declared = methods
                .into_iter()
                .filter_map(|(method, operation)| Some((method, Inputs::of(operation.as_ref()?))));
            (path.clone(), declared.collect())
        });
        Self(routes.collect())
    }

    fn inputs(&self, request: &Request) -> Option<&Inputs> {
        let path = request.extensions().get::<MatchedPath>()?;
        let method = if request.method() == Method::HEAD { "GET" } else { request.method().as_str() };
        self.0.get(path.as_str())?.get(method)
    }
}

impl Inputs {
    fn of(operation: &Operation) -> Self {
        let parameters = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => {
                Some(parameter.name.clone())
            }
            _ => None,
        });
        Self { parameters: parameters.collect(), has_body: operation.request_body.is_some() }
    }

    /// Refuses the first parameter that is not declared.
    fn check_query(&self, query: &str) -> Result<(), Problem> {
        let known = || self.parameters.iter().map(String::as_str);
        let given = Pairs::of_query(query);
        let Some(name) = given.names().find(|name| known().all(|known| known != *name)) else {
            return Ok(());
        };
        let detail = if !self.parameters.is_empty() {
            wording::no_such("parameter", name, &known().collect::<Vec<_>>())
        } else if self.has_body {
            "this request has no parameters: its options are fields of the JSON body".to_owned()
        } else {
            "this request has no parameters: leave it out".to_owned()
        };
        Err(Problem::at(Place::Parameter(name.to_owned()), detail))
    }
}

/// Lets a request pass if its route declares what it sends.
///
/// # Errors
///
/// If it has another parameter, or a body where none is declared.
pub(super) async fn check(
    State(declared): State<Arc<Declared>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some(inputs) = declared.inputs(&request) {
        inputs.check_query(request.uri().query().unwrap_or_default())?;
        if !inputs.has_body {
            input::no_body(std::mem::take(request.body_mut())).await?;
        }
    }
    Ok(next.run(request).await)
}
