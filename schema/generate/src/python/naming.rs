//! The names that the Python client has for what the schema names, where they are not the schema's own.

use crate::names::{capitals, pascal};

/// The class of a record. Records that are shown in two frames have one class.
pub(super) fn class_of_record(name: &str) -> String {
    match name {
        "new_job" => "PushJob",
        "push_result" => "PushedJob",
        "lease" => "LeaseRef",
        "shown" | "listed" => "JobReport",
        "topic_count" => "TopicReport",
        "stage" => "StageReport",
        "connection" => "ConnectionReport",
        "node" => "MemberReport",
        other => return pascal(other),
    }
    .to_owned()
}

/// The class of a choice.
pub(super) fn class_of_choice(name: &str) -> String {
    match name {
        "order" => "ListOrder",
        "change" => "BulkChange",
        "outcome" => "PushOutcome",
        "state" => "JobState",
        "buried" => "BuriedReason",
        "going_away" => "GoingAwayReason",
        "applied" => "Effect",
        "role" => "MemberRole",
        "paused" => "PausedReason",
        "fired" => "FiringOutcome",
        // WHY and PAUSE are requests, too.
        "why" => "HoldReason",
        "pause" => "PauseChange",
        "error" => "ErrorCode",
        other => return pascal(other),
    }
    .to_owned()
}

/// The name of one value of a choice.
pub(super) fn member_of_choice(choice: &str, value: &str) -> String {
    match (choice, value) {
        ("buried", "consumer") => "BY_CONSUMER".to_owned(),
        _ => capitals(value),
    }
}

/// The class of the exception for an error code.
pub(super) fn class_of_error(name: &str) -> String {
    match name {
        // A caller has to treat it as every other outcome that is not known.
        "OUTCOME_UNKNOWN" => "ForgottenOutcomeError".to_owned(),
        other => pascal(other) + "Error",
    }
}

/// The attribute for a field of a frame, a record or a composite.
pub(super) fn attribute_of_field(owner: &str, field: &str) -> String {
    match (owner, field) {
        ("shown" | "listed", "job") => "id",
        ("PONG" | "QUEUE_STATS", "now") => "now_ms",
        ("TOPIC_SET" | "TOPIC_SETTINGS", "settings") => "policy",
        ("backoff", "jitter") => "jitter_percent",
        ("backoff", "waits_ms") => "values_ms",
        (_, "ref" | "shown") => "job",
        (_, other) => other,
    }
    .to_owned()
}

/// The attribute for one bit.
pub(super) fn attribute_of_bit(bits: &str, flag: &str) -> String {
    match (bits, flag) {
        ("page_marks", "more") => "has_more",
        ("connection_marks", "more_topics") => "has_more_topics",
        ("hello_options", "no_session") => "without_session",
        ("list_marks", "bodies") => "with_bodies",
        ("node_marks", "connected") => "is_connected",
        // The values are attributes, too.
        ("edited", part) => return format!("edits_{part}"),
        (_, other) => other,
    }
    .to_owned()
}

/// The attribute for a setting, a condition or an attribute of a job.
pub(super) fn attribute_of_element(name: &str) -> &str {
    match name {
        "body_max" => "body_bytes_max",
        "rate" => "per_second_max",
        other => other,
    }
}

/// A bit that says whether a value is known, and the value: an attribute that is `None` if the bit is not set.
pub(super) const KNOWN_BY_BIT: [(&str, &str, &str); 4] = [
    ("node_marks", "matched", "matched"),
    ("node_marks", "applied", "applied"),
    ("node_marks", "ahead", "ahead_ms"),
    ("node_marks", "compared", "same_state"),
];

/// Fields of a record that are one attribute, which has the class of another record: the record, the attribute, the other.
pub(super) const TOGETHER: [(&str, &str, &str); 4] = [
    ("topic_count", "totals", "totals"),
    ("delivered", "lease", "lease"),
    ("listed_schedule", "state", "schedule_state"),
    ("listed_schedule", "rules", "schedule_rules"),
];

/// Attributes that are not shown with the others.
pub(super) const SECRET: [&str; 2] = ["secret", "token"];

/// Classes whose values come by the thousand: they are not frozen, which would take three times as long to make them.
pub(super) const NOT_FROZEN: [&str; 2] = ["Delivered", "PushedJob"];

/// Whether the attributes of a class have defaults.
pub(super) fn has_defaults(class: &str) -> bool {
    class != "LeaseRef"
}

/// A name that can stand for a variable.
pub(super) fn variable(name: &str) -> String {
    match name {
        "at" | "bytes" | "data" | "end" | "filter" | "found" | "text" => format!("{name}_"),
        other => other.to_owned(),
    }
}

/// One of several things with this name.
pub(super) fn singular(name: &str) -> &str {
    name.strip_suffix('s').unwrap_or(name)
}
