//! The document of the API is that of its routes, and so is the table in `docs/http.md`.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeSet;

use serde_json::Value;

use super::rig::Site;

const PAGE: &str = include_str!("../../docs/http.md");

/// Each route of the document, with its parts filled in.
fn routes(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    let methods = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods").keys();
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    methods.collect()
}

#[test]
fn every_route_of_the_document_is_there() {
    let site = Site::new();
    let shown: Value = site.web().get("/v1/openapi.json").json();
    assert_eq!(shown["openapi"], "3.1.0");
    let routes = routes(&shown);
    assert!(routes.len() > 30, "{routes:?}");
    for (method, path) in &routes {
        let parts = [
            ("{topic}", "t"),
            ("{id}", "1"),
            ("{key}", "k"),
            ("{lease}", "1-1"),
            ("{node}", "9"),
            ("{connection}", "9"),
        ];
        let path = parts.iter().fold(path.clone(), |path, (part, value)| path.replace(part, value));
        assert!(!path.contains('{'), "{path}");
        // A connection for each: events have no end.
        let reply = site.web().ask(method, &path, None);
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(reply.status != 405 && !said.contains("there is nothing at"), "{method} {path}: {said}");
    }
}

#[test]
fn the_page_lists_every_route() {
    let document: Value = serde_json::from_str(&adjourn_http::openapi()).expect("JSON");
    let there: BTreeSet<String> =
        routes(&document).into_iter().map(|(method, path)| format!("{method} {path}")).collect();
    let rows = PAGE.lines().skip_while(|line| *line != "| route | purpose |").skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
    let listed = cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let listed: Vec<String> = listed.map(str::to_owned).collect();
    assert_eq!(listed.len(), there.len(), "a route stands there twice, or is missing");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), there);
}

#[test]
fn what_the_document_names_it_describes() {
    let document: Value = serde_json::from_str(&adjourn_http::openapi()).expect("JSON");
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(schemas.contains_key(name), "{name} is named and not described");
    }
    for (method, path) in routes(&document) {
        let route = &document["paths"][&path][method.to_lowercase()];
        assert!(route["summary"].is_string(), "{method} {path} says what it does");
        // What needs no token refuses nobody.
        let is_open = route["security"].is_array();
        assert!(is_open || route["responses"]["default"].is_object(), "{method} {path} says how it refuses");
    }
}
