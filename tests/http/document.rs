//! The document of the API is that of its routes, and so is the table in `docs/http.md`.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeSet;

use serde_json::Value;

use super::rig::Site;

const PAGE: &str = include_str!("../../docs/http.md");

/// A path with its variable parts filled in.
fn filled(path: &str) -> String {
    let parts = [
        ("{topic}", "t"),
        ("{id}", "1"),
        ("{key}", "k"),
        ("{name}", "n"),
        ("{group}", "g"),
        ("{lease}", "1-1"),
        ("{node}", "9"),
        ("{connection}", "9"),
    ];
    let path = parts.iter().fold(path.to_owned(), |path, (part, value)| path.replace(part, value));
    assert!(!path.contains('{'), "{path}");
    path
}

/// Each route of the document.
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
        let path = filled(path);
        // A connection for each: events have no end.
        let reply = site.web().ask(method, &path, None);
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(reply.status != 405 && !said.contains("there is nothing at"), "{method} {path}: {said}");
    }
}

#[test]
fn what_a_route_does_not_declare_is_refused() {
    let site = Site::new();
    let document: Value = site.web().get("/v1/openapi.json").json();
    for (method, path) in routes(&document) {
        let declared = &document["paths"][&path][method.to_lowercase()];
        let path = filled(&path);
        let json = "Content-Type: application/json\r\n";
        let refused = |query: &str, body: &str| {
            let kind = if body.is_empty() { "" } else { json };
            let reply = site.web().ask_with(&method, &format!("{path}{query}"), kind, body.as_bytes());
            assert_eq!(
                reply.refusal(),
                (400, "MALFORMED".to_owned()),
                "{method} {path}{query} {body}: {reply}"
            );
            reply.problem()
        };
        assert_eq!(refused("?nonsense=1", "")["errors"][0]["parameter"], "nonsense", "{method} {path}");
        assert_eq!(refused("?nonsense=1", "{}")["errors"][0]["parameter"], "nonsense", "{method} {path}");
        if declared["requestBody"].is_null() {
            assert_eq!(
                refused("", "{}")["detail"],
                "this request has no body: leave it out",
                "{method} {path}"
            );
        } else if !path.ends_with("/jobs") {
            let list = refused("", "[null, null]")["detail"].to_string();
            assert!(list.contains("found a list"), "{method} {path}: {list}");
        }
    }
    // A chunked body that is empty is none.
    let mut web = site.web();
    web.send(
        b"POST /v1/topics/t/pause HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    assert_eq!(web.reply().expect("an answer").refusal().0, 404);
}

#[test]
fn generated_clients_know_the_options_of_a_raw_push_and_the_forms_of_values() {
    let document: Value = serde_json::from_str(&adjourn_http::openapi()).expect("JSON");
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    assert!(schemas.keys().all(|name| !name.contains("Json")), "{:?}", schemas.keys());
    let parameters = document["paths"]["/v1/topics/{topic}/jobs"]["post"]["parameters"].as_array();
    let parameters = parameters.expect("parameters");
    let of = |place: &str| -> BTreeSet<&str> {
        let named = parameters.iter().filter(|parameter| parameter["in"] == place);
        named.filter_map(|parameter| parameter["name"].as_str()).collect()
    };
    let fields = schemas["NewJob"]["properties"].as_object().expect("fields");
    let mut of_job: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
    for in_the_request in ["body", "body_base64", "headers"] {
        assert!(of_job.remove(in_the_request));
    }
    assert_eq!(of("query"), of_job);
    let topic = parameters.iter().find(|parameter| parameter["name"] == "topic").expect("the topic");
    assert_eq!((&topic["schema"]["minLength"], &topic["schema"]["maxLength"]), (&1.into(), &200.into()));
    let weight = &schemas["Reserve"]["properties"]["weights"]["items"];
    assert_eq!((&weight["minimum"], &weight["maximum"]), (&1.into(), &65_535.into()));
    assert_eq!(schemas["NewJob"]["properties"]["due_ms"]["maximum"], i64::MAX);
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
