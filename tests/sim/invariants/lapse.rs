//! A session without a connection lapses soon after its grace, so that its jobs come back.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_engine::{Command, Entry};
use adjourn_protocol::Response;
use adjourn_replica::Notice;
use adjourn_types::SessionId;

use super::super::node::GRACE_MS;
use super::super::seen::{Seen, When};
use super::super::time::{MS, SECOND, Us};
use super::{Invariant, Leading, has_commands};

/// The disk may be slow, twice in a row.
const SLACK: Us = 4 * SECOND;

/// A write that takes longer than this is one of a disk that hangs.
const HANGS: Us = SECOND;

#[derive(Debug, Default)]
pub(super) struct Lapse {
    attached: BTreeSet<SessionId>,
    /// Sessions without a connection, and when they must have lapsed.
    alone: BTreeMap<SessionId, Us>,
    /// What the leader has ordered to be written and is not, and since when: on a disk that hangs no session can lapse.
    unwritten: BTreeMap<u64, Us>,
    leading: Leading,
}

impl Invariant for Lapse {
    fn name(&self) -> &'static str {
        "lapse"
    }

    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String> {
        let deadline = when.at + GRACE_MS * MS + SLACK;
        let leader = self.leading.node;
        self.leading.see(seen);
        if self.leading.node != leader {
            self.unwritten.clear();
        }
        match seen {
            Seen::Persisted { node, number } if leader == Some(*node) => {
                self.unwritten.retain(|ordered, _| ordered > number);
            }
            Seen::Said { response: Response::Welcome(welcome), .. } if welcome.resume().is_some() => {
                self.alone.remove(&welcome.session);
                self.attached.insert(welcome.session);
            }
            Seen::Gone { node, session: Some(session), .. }
                if leader == Some(*node) && self.attached.remove(session) =>
            {
                self.alone.insert(*session, deadline);
            }
            Seen::Ended { node, .. } | Seen::Noticed { node, notice: Notice::Following { .. } }
                if leader == Some(*node) =>
            {
                let attached = std::mem::take(&mut self.attached);
                self.alone.extend(attached.into_iter().map(|session| (session, Us::MAX)));
            }
            Seen::Noticed { notice: Notice::Leading { .. }, .. } => {
                let attached = std::mem::take(&mut self.attached);
                self.alone.extend(attached.into_iter().map(|session| (session, deadline)));
                self.alone.values_mut().for_each(|at| *at = deadline);
            }
            Seen::Ordered { node, order } => {
                if leader == Some(*node) {
                    self.unwritten.insert(order.number, when.at);
                }
                for entry in order.batch.entries.iter().filter(|entry| has_commands(entry)) {
                    let decoded = Entry::decode(&entry.data).map_err(|error| error.to_string())?;
                    for command in decoded.commands {
                        if let Command::SessionLapse { session } | Command::SessionClose { session } = command
                        {
                            self.alone.remove(&session);
                            self.attached.remove(&session);
                        }
                    }
                }
            }
            Seen::Turned { node, .. } if leader == Some(*node) => {
                if self.unwritten.values().any(|since| *since + HANGS < when.at) {
                    self.alone.values_mut().for_each(|at| *at = (*at).max(when.at + SLACK));
                }
                if let Some((session, _)) = self.alone.iter().find(|(_, at)| **at < when.at) {
                    return Err(format!("nobody speaks for session {}, and it has not lapsed", session.0));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
