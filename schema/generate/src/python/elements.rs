//! `elements.py`: what a job can carry, what a filter can ask for, what a topic can decide.

use super::composites;
use super::naming::{attribute_of_element, class_of_choice};
use super::page::Page;
use super::shape::table_of_choice;
use crate::schema::{Element, ElementKind, Elements, Schema};

const HEAD: &str = "from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from .numbers import BACKOFF_KINDS, LATE_ACTIONS, BuriedReason, States
from .values import BACKOFF_NAMES, UNSET, Backoff, Expiry, Late, Unset
from .wire import (
    ELEMENT_U8,
    ELEMENT_U32,
    ELEMENT_U64,
    TAG,
    U8,
    U32,
    U64,
    MalformedFrame,
    cut_off,
    element,
    exactly,
    in_order,
    rest_of_numbers,
    text,
    text_at,
)

";

/// What one kind of elements is in Python.
struct Kind {
    elements: Elements,
    class: &'static str,
    doc: &'static str,
    /// What a value is besides its type.
    absent: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        elements: Elements::Attributes,
        class: "Attributes",
        doc: "What a push says of a job beside its key, due time and body.",
        absent: " | None",
    },
    Kind {
        elements: Elements::Filter,
        class: "Filter",
        doc: "A job matches if it meets every condition that is given.",
        absent: " | None",
    },
    Kind {
        elements: Elements::Settings,
        class: "TopicPolicy",
        doc: "The settings of a topic. `None` leaves a setting as it is, `UNSET` takes it away, as `False` does.",
        absent: " | Unset | None",
    },
];

pub(super) fn file(schema: &Schema) -> String {
    let mut page = Page::new(
        "Tagged elements: the attributes of a job, the conditions of a filter, the settings of a topic.",
    );
    for composite in &schema.composites {
        page.lines(composites::definition(composite).trim_end());
    }
    for kind in &KINDS {
        class(&mut page, schema, kind);
    }
    page.gap();
    page.line(0, "NO_ATTRIBUTES = Attributes()");
    for composite in &schema.composites {
        composites::encoder(&mut page, composite);
        composites::decoder(&mut page, schema, composite);
    }
    page.with_head(HEAD)
}

/// The type of the value of an element.
fn hint(element: &Element) -> String {
    if element.bits.is_some() {
        return "States".to_owned();
    }
    if let Some(choice) = &element.choice {
        return format!("{} | int", class_of_choice(choice));
    }
    match &element.kind {
        ElementKind::Number(_) => "int".to_owned(),
        ElementKind::Text => "str".to_owned(),
        ElementKind::Bytes => "bytes".to_owned(),
        ElementKind::Flag => "bool".to_owned(),
        ElementKind::Composite(name) => composites::hint(name),
    }
}

fn class(page: &mut Page, schema: &Schema, kind: &Kind) {
    let elements = schema.elements(kind.elements);
    let is_attributes = kind.elements == Elements::Attributes;
    page.gap();
    page.line(0, "@dataclass(frozen=True, slots=True)");
    page.line(0, &format!("class {}:", kind.class));
    page.doc(1, kind.doc);
    page.line(0, "");
    for one in elements {
        let name = attribute_of_element(&one.name);
        if one.repeats {
            page.line(1, &format!("{name}: tuple[{}, ...] = ()", hint(one)));
        } else {
            page.line(1, &format!("{name}: {}{} = None", hint(one), kind.absent));
        }
        page.doc(1, one.doc.trim_end_matches(": see below"));
    }
    if is_attributes {
        page.line(1, "others: tuple[tuple[int, bytes], ...] = ()");
        page.doc(1, "Attributes that this client does not know, as tag and value");
    }
    page.line(0, "");
    encoder(page, kind, elements);
    if kind.elements == Elements::Filter {
        return;
    }
    page.line(0, "");
    page.line(1, "@classmethod");
    page.line(1, &format!("def decode(cls, data: bytes) -> {}:", kind.class));
    decoder(page, schema, kind, 2, "cls");
}

/// Writes the function that reads a filter, which only servers do.
pub(super) fn filter_decoder(page: &mut Page, schema: &Schema) {
    for kind in KINDS.iter().filter(|kind| kind.elements == Elements::Filter) {
        page.gap();
        page.line(0, "def decode_filter(data: bytes) -> Filter:");
        decoder(page, schema, kind, 1, kind.class);
    }
}

fn encoder(page: &mut Page, kind: &Kind, elements: &[Element]) {
    page.line(1, "def encode(self) -> bytes:");
    page.doc(2, "The elements, in the order of their tags");
    page.line(2, "parts: list[bytes] = []");
    for one in elements {
        let name = format!("self.{}", attribute_of_element(&one.name));
        if one.repeats {
            page.line(2, &format!("for value in {name}:"));
            page.line(3, &format!("parts.append({})", written(one, "value")));
            continue;
        }
        page.line(2, &format!("if {name} is not None:"));
        if kind.elements != Elements::Settings {
            page.line(3, &format!("parts.append({})", written(one, &name)));
            continue;
        }
        let gone = if one.kind == ElementKind::Flag { format!("not {name} or ") } else { String::new() };
        page.line(3, &format!("if {gone}isinstance({name}, Unset):"));
        page.line(4, &format!("parts.append(TAG.pack({}, 0))", tag(one)));
        page.line(3, "else:");
        page.line(4, &format!("parts.append({})", written(one, &name)));
    }
    if kind.elements == Elements::Attributes {
        page.line(2, "if self.others:");
        page.line(3, "parts = in_order([*parts, *(element(tag, value) for tag, value in self.others)])");
    }
    page.line(2, "return b\"\".join(parts)");
}

fn tag(element: &Element) -> String {
    if element.tag < 0x8000 { element.tag.to_string() } else { format!("0x{:04X}", element.tag) }
}

/// The bytes of an element.
fn written(element: &Element, value: &str) -> String {
    let tag = tag(element);
    match &element.kind {
        ElementKind::Number(width) => format!("ELEMENT_U{}.pack({tag}, {width}, {value})", 8 * width),
        ElementKind::Text => format!("element({tag}, text({value}))"),
        ElementKind::Bytes => format!("element({tag}, {value})"),
        ElementKind::Flag => format!("element({tag}, b\"\\x01\")"),
        ElementKind::Composite(name) => format!("element({tag}, _encode_{name}({value}))"),
    }
}

/// Writes the body of the function that reads elements; `class` is what it makes.
fn decoder(page: &mut Page, schema: &Schema, kind: &Kind, depth: usize, class: &str) {
    let elements = schema.elements(kind.elements);
    let is_attributes = kind.elements == Elements::Attributes;
    let unknown = match kind.elements {
        Elements::Attributes => "What this client does not know is kept in `others`",
        Elements::Filter => "As a server does it: a condition that is not known is refused",
        Elements::Settings => "Settings that this client does not know are skipped",
    };
    page.doc(depth, unknown);
    page.line(depth, "found: dict[str, Any] = {}");
    for one in elements.iter().filter(|one| one.repeats) {
        page.line(depth, &format!("{}: list[{}] = []", one.name, hint(one)));
    }
    if is_attributes {
        page.line(depth, "others: list[tuple[int, bytes]] = []");
    } else {
        page.line(depth, "before = 0");
    }
    page.line(depth, "at = 0");
    page.line(depth, "while at < len(data):");
    page.line(depth + 1, "tag, length = TAG.unpack_from(data, at)");
    page.line(depth + 1, "at += TAG.size + length");
    page.line(depth + 1, "if at > len(data):");
    page.line(depth + 2, &format!("raise cut_off(\"a {}\")", noun(kind.elements)));
    page.line(depth + 1, "value = data[at - length : at]");
    if !is_attributes {
        page.line(depth + 1, "if tag <= before:");
        page.line(depth + 2, &format!("raise MalformedFrame(\"a {} is out of order\")", noun(kind.elements)));
        page.line(depth + 1, "before = tag");
    }
    for (place, one) in elements.iter().enumerate() {
        let word = if place == 0 { "if" } else { "elif" };
        page.line(depth + 1, &format!("{word} tag == {}:", tag(one)));
        arm(page, schema, one, kind, depth + 2);
    }
    match kind.elements {
        Elements::Attributes => {
            page.line(depth + 1, "else:");
            page.line(depth + 2, "others.append((tag, value))");
            let repeated: Vec<String> = elements
                .iter()
                .filter(|one| one.repeats)
                .map(|one| format!("{0}=tuple({0})", one.name))
                .collect();
            page.line(
                depth,
                &format!("return {class}({}, others=tuple(others), **found)", repeated.join(", ")),
            );
        }
        Elements::Filter => {
            page.line(depth + 1, "else:");
            page.line(depth + 2, "raise MalformedFrame(f\"a filter has the unknown condition {tag}\")");
            page.line(depth, &format!("return {class}(**found)"));
        }
        Elements::Settings => page.line(depth, &format!("return {class}(**found)")),
    }
}

fn noun(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "tagged attribute",
        Elements::Filter => "condition of a filter",
        Elements::Settings => "setting of a topic",
    }
}

/// What is done with the value of one element.
fn arm(page: &mut Page, schema: &Schema, one: &Element, kind: &Kind, depth: usize) {
    let is_settings = kind.elements == Elements::Settings;
    let name = attribute_of_element(&one.name);
    if let ElementKind::Composite(composite) = &one.kind
        && composites::may_be_skipped(schema, composite)
    {
        let empty = if is_settings { "UNSET if not value else " } else { "" };
        page.line(depth, &format!("known_{composite} = {empty}_decode_{composite}(value)"));
        page.line(depth, &format!("if known_{composite} is not None:"));
        page.line(depth + 1, &format!("found[\"{name}\"] = known_{composite}"));
        if kind.elements == Elements::Attributes {
            page.line(depth, "else:");
            page.line(depth + 1, "others.append((tag, value))");
        }
        return;
    }
    let read = match &one.kind {
        ElementKind::Number(width) => format!("exactly(U{}, value)", 8 * width),
        ElementKind::Text => "value.decode()".to_owned(),
        ElementKind::Bytes => "value".to_owned(),
        ElementKind::Flag => "exactly(U8, value) != 0".to_owned(),
        ElementKind::Composite(composite) => format!("_decode_{composite}(value)"),
    };
    let read = match (&one.choice, &one.bits) {
        (Some(choice), _) => format!("{}[{read}]", table_of_choice(choice)),
        (None, Some(_)) => format!("States({read})"),
        (None, None) => read,
    };
    if one.repeats {
        page.line(depth, &format!("{name}.append({read})"));
    } else if is_settings {
        page.line(depth, &format!("found[\"{name}\"] = {read} if value else UNSET"));
    } else {
        page.line(depth, &format!("found[\"{name}\"] = {read}"));
    }
}
