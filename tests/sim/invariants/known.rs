//! No node is given what its version does not know: neither a command, nor a feature level.

use std::collections::BTreeMap;

use adjourn_engine::{Command, Entry};
use adjourn_storage::LogEntry;
use adjourn_types::FEATURE_KICK_MANY;

use super::super::seen::{NodeId, Seen, When};
use super::{Invariant, has_commands};

#[derive(Debug, Default)]
pub(super) struct Known {
    /// What the version of each node can do.
    levels: BTreeMap<NodeId, u32>,
}

impl Invariant for Known {
    fn name(&self) -> &'static str {
        "known"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Started { node, feature_level_max, .. } => {
                self.levels.insert(*node, *feature_level_max);
            }
            Seen::Ordered { node, order } => {
                let can = self.levels.get(node).copied().unwrap_or(0);
                for entry in order.batch.entries.iter().filter(|entry| has_commands(entry)) {
                    let needs = needs(entry)?;
                    if needs > can {
                        return Err(format!("node {node} of level {can} writes what needs {needs}: {seen}"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The feature level that a version must know to read an entry.
fn needs(entry: &LogEntry) -> Result<u32, String> {
    let decoded = Entry::decode(&entry.data).map_err(|error| error.to_string())?;
    let needs = decoded.commands.iter().map(|command| match command {
        Command::KickMany { .. } => FEATURE_KICK_MANY,
        Command::FeatureLevel { level } => *level,
        _ => 0,
    });
    Ok(needs.max().unwrap_or(0))
}
