//! Groups, and why nothing is delivered, as JSON.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::values::time_text;
use adjourn_protocol::{GroupReport, Reason};
use adjourn_types::Why;

/// A group of a topic's jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Group)]
pub struct GroupJson<'a> {
    /// Its name.
    pub group: &'a str,
    /// Its jobs that wait for a consumer.
    pub ready: u64,
    /// Its jobs that a consumer has.
    pub reserved: u64,
    /// For how long the next of them has been ready, in milliseconds; 0 if none is.
    pub oldest_ready_ms: u64,
    /// How many jobs it gives at a turn.
    pub weight: u32,
    /// Whether an operator paused it.
    pub paused: bool,
    /// What holds it back; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = why_names)]
    pub hold: Option<&'static str>,
    /// When that ends, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// One reason why a job, a topic or a group gives nothing now.
#[derive(Serialize, ToSchema)]
#[schema(as = Reason)]
pub struct ReasonJson<'a> {
    /// The reason.
    #[schema(schema_with = why_names)]
    pub why: &'static str,
    /// When it began, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// When it ends, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// How many jobs come first, or how many leases there are, where the reason is about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// One sentence for a person. It may change between versions: decide by `why`.
    pub detail: &'a str,
}

impl<'a> GroupJson<'a> {
    /// A group as `adjourn groups --json` prints it.
    pub fn of(group: &'a GroupReport) -> Self {
        Self {
            group: &group.name,
            ready: group.ready,
            reserved: group.reserved,
            oldest_ready_ms: group.oldest_ms,
            weight: group.weight,
            paused: group.paused,
            hold: (group.hold != Why::Next).then(|| group.hold.name()),
            until: group.until.map(time_text),
        }
    }
}

impl<'a> ReasonJson<'a> {
    /// A reason as `adjourn why --json` prints it.
    pub fn of(reason: &'a Reason) -> Self {
        Self {
            why: reason.why.name(),
            since: reason.since.map(time_text),
            until: reason.until.map(time_text),
            count: Some(reason.jobs).filter(|jobs| *jobs > 0),
            detail: &reason.text,
        }
    }
}

fn why_names() -> RefOr<Schema> {
    let names = Why::ALL.into_iter().map(|(_, name)| name).chain(["other"]);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
}
