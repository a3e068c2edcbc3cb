//! The imports of files that need the classes of frames.

use super::naming;
use super::page::Page;
use super::shape::table_of_choice;
use crate::names::pascal;
use crate::schema::{Record, Schema, Side};

/// The lines that import what a file needs of `numbers.py`.
pub(super) fn of_numbers(schema: &Schema, module: &str, page: &Page) -> String {
    let mut numbers = ["MAGIC", "PRIORITY_UNSAID", "States"].map(str::to_owned).to_vec();
    for name in schema.choices.iter().map(|choice| choice.name.as_str()).chain(["error"]) {
        numbers.extend([naming::class_of_choice(name), table_of_choice(name)]);
    }
    lines(module, numbers, page)
}

/// The lines that import the classes of `requests.py` that stand in responses, too.
pub(super) fn of_shared(schema: &Schema, page: &Page) -> String {
    let records = schema.records_of(Side::Request);
    lines(".requests", records.map(|record| naming::class_of_record(&record.name)).collect(), page)
}

/// The lines that import what a file needs of `numbers.py`, `requests.py` and `responses.py`.
pub(super) fn of_classes(schema: &Schema, page: &Page) -> String {
    let classes = |side: Side, own: &str, is_own: &dyn Fn(&Record) -> bool| -> Vec<String> {
        let frames = schema.frames(side).iter().map(|frame| pascal(&frame.name));
        let records = schema.records.iter().filter(|record| is_own(record));
        let records = records.map(|record| naming::class_of_record(&record.name));
        frames.chain(records).chain([own.to_owned()]).collect()
    };
    let is_of_requests = |record: &Record| schema.has_record(Side::Request, &record.name);
    let requests = classes(Side::Request, "Request", &is_of_requests);
    let responses = classes(Side::Response, "Response", &|record| {
        !is_of_requests(record) && !matches!(record.name.as_str(), "settle_result" | "past")
    });
    let mut out = of_numbers(schema, "adjourn.protocol.numbers", page);
    out.push_str(&lines("adjourn.protocol.requests", requests, page));
    out.push_str(&lines("adjourn.protocol.responses", responses, page));
    out
}

/// The statement that imports those of these names that stand in the page, constants first.
fn lines(module: &str, mut names: Vec<String>, page: &Page) -> String {
    names.retain(|name| page.has(name));
    names.sort_by_key(|name| (!is_constant(name), name.clone()));
    names.dedup();
    let mut out = Page::default();
    let head = format!("from {module} import ");
    let flat = format!("{head}{}", names.join(", "));
    if flat.len() <= 120 {
        out.line(0, &flat);
    } else {
        out.line(0, &format!("{head}("));
        for name in &names {
            out.line(1, &format!("{name},"));
        }
        out.line(0, ")");
    }
    out.with_head("")
}

fn is_constant(name: &str) -> bool {
    !name.chars().any(|letter| letter.is_ascii_lowercase())
}
