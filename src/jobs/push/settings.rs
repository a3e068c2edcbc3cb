//! The settings of a job that are attributes, as options of `push`, `edit` and `schedule set`.

use clap::Args;

use crate::usage::whole;
use adjourn_json::values::{backoff, header, retention_ms};
use adjourn_types::{AttributesBuilder, Backoff, GroupName, When};

/// Headers, retries and retention.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// How long to remember the job and its key after it was finished, for example 1d; up to 30d
    #[arg(long, value_name = "DURATION", value_parser = retention_ms)]
    pub(crate) remember: Option<u64>,
    /// A header of the job; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Bury the job after this many failed attempts; the default is that of its topic or of the server
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
    pub(crate) attempts_max: Option<u32>,
    /// The wait between attempts, for example 1s..10m, or 0s for none; the default is that of its topic or of the server
    #[arg(long, value_name = "WAITS", value_parser = backoff)]
    pub(crate) backoff: Option<Backoff>,
    /// The group that the job belongs to, such as a tenant; the topic's settings say what it means
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<GroupName>,
}

impl SettingsArgs {
    /// The settings that were given, and when the job expires.
    pub(crate) fn attributes(&self, expires_after_ms: Option<u64>) -> AttributesBuilder {
        let mut attributes = AttributesBuilder::default();
        for (name, value) in &self.headers {
            attributes = attributes.header(name, value);
        }
        if let Some(delay_ms) = expires_after_ms {
            attributes = attributes.expires(When::After(delay_ms));
        }
        if let Some(attempts) = self.attempts_max {
            attributes = attributes.attempts_max(attempts);
        }
        if let Some(backoff) = &self.backoff {
            attributes = attributes.backoff(backoff);
        }
        if let Some(retention_ms) = self.remember {
            attributes = attributes.dedupe_retention(retention_ms);
        }
        if let Some(group) = &self.group {
            attributes = attributes.group(group.as_str());
        }
        attributes
    }
}
