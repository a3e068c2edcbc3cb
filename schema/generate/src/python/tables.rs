//! `tests/schema.py`: what the tests of the client look for in its public surface.

use super::naming;
use super::page::Page;
use crate::schema::{Element, Schema};

pub(super) fn file(schema: &Schema) -> String {
    let mut page =
        Page::new("What the schema has, for tests that look for it in the client's public surface.");
    let names = |elements: &[Element]| -> Vec<String> {
        elements.iter().map(|one| naming::attribute_of_element(&one.name).to_owned()).collect()
    };
    let requests: Vec<String> = schema.requests.iter().map(|one| one.name.clone()).collect();
    table(&mut page, "REQUESTS", "The names of all requests", &requests);
    table(&mut page, "ATTRIBUTES", "What a job can carry", &names(&schema.attributes));
    table(&mut page, "CONDITIONS", "What a filter can ask for", &names(&schema.conditions));
    table(&mut page, "SETTINGS", "What a topic can decide", &names(&schema.settings));
    page.line(0, "");
    page.line(0, "ERRORS: dict[str, tuple[int, bool]] = {");
    for code in &schema.errors {
        let retryable = if code.is_retryable { "True" } else { "False" };
        page.line(1, &format!("\"{}\": ({}, {retryable}),", code.name, code.number));
    }
    page.line(0, "}");
    page.line(0, "\"\"\"The number of each error code, and whether it is retryable.\"\"\"");
    page.line(0, "");
    page.line(0, "LIMITS: dict[str, int] = {");
    for limit in &schema.limits {
        page.line(1, &format!("\"{}\": {},", limit.name, crate::names::grouped(limit.value, '_')));
    }
    page.line(0, "}");
    page.line(0, "\"\"\"The value of each limit.\"\"\"");
    page.with_head("from __future__ import annotations\n")
}

fn table(page: &mut Page, name: &str, doc: &str, rows: &[String]) {
    page.line(0, "");
    page.line(0, &format!("{name} = ["));
    for row in rows {
        page.line(1, &format!("\"{row}\","));
    }
    page.line(0, "]");
    page.doc(0, doc);
}
