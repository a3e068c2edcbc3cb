//! The table of the requests, with the types that the server and the client use for their fields.

use std::fmt::Write as _;

use super::DO_NOT_EDIT;
use crate::names::{grouped, pascal, sentence};
use crate::schema::{Field, Frame, Kind, Repeat, RequestKind, Schema};

/// Requests whose fields are one type of their own: the name of the value, and the type.
const MESSAGES: [(&str, &str, &str); 22] = [
    ("HELLO", "hello", "Hello"),
    ("PUSH", "push", "Push"),
    ("RESERVE", "reserve", "Reserve"),
    ("SUBSCRIBE", "subscribe", "Subscribe"),
    ("RESERVE_JOB", "job", "JobRef"),
    ("GET", "job", "JobRef"),
    ("DELETE", "job", "JobRef"),
    ("RUN_NOW", "job", "JobRef"),
    ("KICK", "job", "JobRef"),
    ("LIST", "list", "List"),
    ("COUNT", "count", "Count"),
    ("BULK", "bulk", "Bulk"),
    ("EDIT", "edit", "Edit"),
    ("TOPIC_SET", "set", "TopicSet"),
    ("ADVANCE", "advance", "Advance"),
    ("GROUP_SET", "set", "GroupSet"),
    ("GROUP_LIST", "list", "GroupList"),
    ("WHY", "job", "JobRef"),
    ("SCHEDULE_SET", "set", "ScheduleSet"),
    ("SCHEDULE_LIST", "list", "ScheduleList"),
    ("SCHEDULE_FILL", "fill", "ScheduleFill"),
    ("SCHEDULE_PREVIEW", "preview", "SchedulePreview"),
];

pub(super) fn file(schema: &Schema) -> String {
    let mut out = format!(
        "//! Every request, and what the server and the client know of each.\n{DO_NOT_EDIT}\
         use std::num::NonZeroU64;\n\nuse bytes::BytesMut;\n\nuse crate::codes::{{ErrorCode, ResponseOpcode}};\n\
         use crate::advance::Advance;\nuse crate::browse::{{Bulk, Count, List}};\nuse crate::decode_error::DecodeError;\nuse crate::edit::Edit;\n\
         use crate::field::{{self, Field, JobRef, Subject}};\nuse crate::groups::{{GroupList, GroupSet}};\nuse crate::opcode::opcodes;\nuse crate::policy::TopicSet;\n\
         use crate::push::Push;\nuse crate::request::{{Kind, Repeat}};\nuse crate::reserve::{{Reserve, Subscribe}};\n\
         use crate::schedule::{{ScheduleFill, ScheduleList, SchedulePreview, ScheduleSet}};\n\
         use crate::session::Hello;\nuse crate::settle::ReleaseKind;\nuse crate::wire::{{Reader, in_range}};\n\
         use adjourn_types::{{JobId, Lease, Right, TopicName, When}};\n\nrequests! {{\n",
    );
    for frame in &schema.requests {
        request(frame, &mut out);
    }
    out.push_str("}\n");
    out
}

fn request(frame: &Frame, out: &mut String) {
    let codes: Vec<String> = frame.errors.iter().map(|code| pascal(code)).collect();
    let kind = match frame.kind {
        RequestKind::Change => "Change",
        RequestKind::Read => "Read",
        RequestKind::Own => "Own",
    };
    let repeat = match frame.repeat {
        Repeat::Safe => "Safe",
        Repeat::SafeById => "SafeById",
        Repeat::Unsafe => "Unsafe",
    };
    let _ = write!(
        out,
        "    /// {}\n    {} = 0x{:02x}, \"{}\" -> {}, {kind}, {repeat}, [{}], [{}]",
        sentence(&frame.doc),
        pascal(&frame.name),
        frame.opcode,
        frame.name,
        pascal(frame.answer.as_deref().unwrap_or_default()),
        frame.right.as_deref().map(pascal).unwrap_or_default(),
        codes.join(", "),
    );
    if frame.level > 0 {
        let _ = write!(out, " @ {}", frame.level);
    }
    if let Some((_, name, kind)) = MESSAGES.iter().find(|(of, ..)| *of == frame.name) {
        let _ = writeln!(out, " ({name}: {kind})");
    } else if frame.fields.is_empty() {
        out.push('\n');
    } else {
        out.push_str(" {\n");
        for field in &frame.fields {
            write_field(frame, field, out);
        }
        out.push_str("    }\n");
    }
}

fn write_field(frame: &Frame, field: &Field, out: &mut String) {
    let (name, kind) = match (frame.name.as_str(), field.name.as_str()) {
        // The due point has both.
        (_, "due_kind") => return,
        (_, "due_ms") => ("due", "When"),
        ("RELEASE", "delay_ms") => ("kind", "ReleaseKind"),
        ("TOUCH", "ttr_ms") => ("ttr_ms", "Option<u32>"),
        ("LEASES", "after") => ("after", "JobId"),
        ("DISCONNECT", "options") => ("ends_session", "bool"),
        (_, "ref") => ("job", "JobRef"),
        (_, "leases") => ("leases", "Vec<Lease>"),
        (_, "if_version") => ("if_version", "Option<NonZeroU64>"),
        (_, "for_ms") => ("for_ms", "Option<NonZeroU64>"),
        (_, "topic") => ("topic", "TopicName"),
        (_, name) => (
            name,
            match field.kind {
                Kind::Number(4) => "u32",
                Kind::Number(8) => "u64",
                Kind::Text(1) => "String",
                // It may be absent.
                Kind::Text(2) => "Option<String>",
                _ => panic!("{}.{name}: say which type Rust has for it", frame.name),
            },
        ),
    };
    let range = if matches!(kind, "u32" | "u64") { range(field) } else { String::new() };
    let _ = writeln!(out, "        /// {}\n        {name}: {kind}{range},", sentence(&field.doc));
}

fn range(field: &Field) -> String {
    match (field.min, field.max) {
        (None, None) => String::new(),
        (min, Some(max)) => format!(" = {}..={}", min.unwrap_or(0), grouped(max, '_')),
        (Some(min), None) => format!(" = {min}..=u64::MAX"),
    }
}
