//! `numbers.py`: limits, constants, choices, sets of states, error codes.

use super::naming;
use super::page::Page;
use super::shape::table_of_choice;
use crate::names::{capitals, grouped, pascal, sentence};
use crate::schema::Schema;

const HEAD: &str = "from __future__ import annotations

from enum import IntEnum, IntFlag

";

pub(super) fn file(schema: &Schema) -> String {
    let mut page = Page::new("Every number of the protocol that has a name: limits, choices, error codes.");
    constants(schema, &mut page);
    for choice in &schema.choices {
        let class = naming::class_of_choice(&choice.name);
        let members: Vec<(String, u64, &str)> = choice
            .values
            .iter()
            .map(|one| (naming::member_of_choice(&choice.name, &one.name), one.number, one.doc.as_str()))
            .collect();
        numbered(&mut page, &class, "IntEnum", &choice.doc, &members);
    }
    for bits in schema.bits.iter().filter(|bits| bits.name == "states") {
        let members: Vec<(String, u64, &str)> =
            bits.values.iter().map(|one| (capitals(&one.name), 1_u64 << one.bit, one.doc.as_str())).collect();
        numbered(&mut page, &pascal(&bits.name), "IntFlag", &bits.doc, &members);
    }
    let members: Vec<(String, u64, &str)> =
        schema.errors.iter().map(|one| (one.name.clone(), u64::from(one.number), one.doc.as_str())).collect();
    numbered(
        &mut page,
        "ErrorCode",
        "IntEnum",
        "Why the server refused a request, a job or a lease.",
        &members,
    );
    page.gap();
    page.lines("# The choices by their numbers. A number of a newer server is in none of them.");
    let with_names = schema.choices.iter().map(|one| one.name.as_str());
    for name in with_names.chain(["error"]) {
        let class = naming::class_of_choice(name);
        let is_kept = !matches!(name, "outcome" | "applied" | "backoff_kind" | "late_action");
        let values = if is_kept { format!("{class} | int") } else { class.clone() };
        page.line(
            0,
            &format!(
                "{}: dict[int, {values}] = {{one.value: one for one in {class}}}",
                table_of_choice(name)
            ),
        );
    }
    let retryable: Vec<String> = schema
        .errors
        .iter()
        .filter(|one| one.is_retryable)
        .map(|one| format!("ErrorCode.{}", one.name))
        .collect();
    page.line(0, "RETRYABLE: frozenset[int] = frozenset(");
    page.list(1, "{", &retryable, "}");
    page.line(0, ")");
    page.line(0, "\"\"\"The same request, job or lease may succeed later, as it is.\"\"\"");
    page.with_head(HEAD)
}

fn constants(schema: &Schema, page: &mut Page) {
    page.line(0, "MAGIC = b\"ADJ1\"");
    page.line(0, "\"\"\"What HELLO begins with.\"\"\"");
    page.line(0, "HEADER_BYTES = 12");
    page.line(
        0,
        "\"\"\"The length of a frame, its opcode, its request id: what stands before its payload.\"\"\"",
    );
    for one in &schema.constants {
        let value = if one.value > u64::from(u32::MAX) {
            format!("0x{:016X}", one.value)
        } else {
            grouped(one.value, '_')
        };
        page.line(0, &format!("{} = {value}", one.name));
        page.doc(0, &one.doc);
    }
    for limit in &schema.limits {
        page.line(0, &format!("{} = {}", limit.name, grouped(limit.value, '_')));
        page.doc(0, &limit.doc);
    }
    for level in &schema.levels {
        page.line(0, &format!("LEVEL_{} = {}", level.name, level.number));
        page.doc(
            0,
            &format!(
                "{} needs this feature level of all members",
                sentence(&level.doc).trim_end_matches('.')
            ),
        );
    }
}

fn numbered(page: &mut Page, class: &str, base: &str, doc: &str, members: &[(String, u64, &str)]) {
    page.gap();
    page.line(0, &format!("class {class}({base}):"));
    page.doc(1, doc);
    page.line(0, "");
    for (name, number, doc) in members {
        page.line(1, &format!("{name} = {number}"));
        page.doc(1, doc);
    }
}
