//! EDIT: reads the job's record, and proposes a command with the new one.
//!
//! The command names the record that the leader read. If another edit comes between, applying it changes nothing, and the
//! client is told so.

use std::num::NonZeroU64;

use super::Leader;
use super::proposals::Reply;
use crate::group::Group;
use crate::group::state::no_job;
use crate::node::Node;
use crate::node::connections::Asker;
use crate::refusals::not_every_member;
use crate::selects::{at_least, select_job};
use adjourn_engine::{Command, EditedRecord, JobEdit, Record};
use adjourn_protocol::{Edit, ErrorCode, ErrorReply, RequestOpcode};
use adjourn_storage::StorageError;
use adjourn_types::Attributes;

impl Leader {
    /// # Errors
    ///
    /// If the disk cannot be read.
    pub(super) fn edit(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        edit: &Edit,
    ) -> Result<(), StorageError> {
        if group.state.engine.feature_level() < RequestOpcode::Edit.level() {
            node.connections.refuse(asker, not_every_member());
            return Ok(());
        }
        if let Some(refusal) = self.no_room_for_edit(node, edit) {
            node.connections.refuse(asker, refusal);
            return Ok(());
        }
        let view = group.state.engine.job(&select_job(&edit.job), &mut group.state.records)?;
        let Some(view) = view else {
            node.connections.send(asker, no_job());
            return Ok(());
        };
        let stored = if edit.changes_record() { Some(group.state.records.record(view.body)?) } else { None };
        let attributes = stored.as_ref().map(|stored| {
            let old = Attributes::shown(stored.attributes.clone()).unwrap_or_default();
            old.edited(edit.replaces(), &edit.attributes)
        });
        let attributes = match attributes.transpose() {
            Ok(attributes) => attributes.unwrap_or_default(),
            Err(error) => {
                node.connections.refuse(asker, ErrorReply::new(ErrorCode::TooLarge, error.to_string()));
                return Ok(());
            }
        };
        let record = stored.as_ref().map(|stored| EditedRecord {
            before: view.body.checksum,
            replaced: edit.replaces(),
            record: Record {
                key: stored.key.as_deref(),
                attributes: attributes.as_bytes(),
                body: edit.body.as_ref().unwrap_or(&stored.body),
            },
        });
        let due = edit.due.map(|due| at_least(due, node.stamp_lag_ms()));
        let edited = JobEdit { due, priority: edit.priority, ttr_ms: edit.ttr_ms, record };
        let version = edit.if_version.map(NonZeroU64::get);
        let command = Command::Edit { job: view.id, edit: edited, version };
        self.proposals.add_command(node, group, &command, Reply::Request(asker));
        Ok(())
    }

    /// The error if the edit cannot be accepted now. A new record takes room as a push does.
    fn no_room_for_edit(&self, node: &Node, edit: &Edit) -> Option<ErrorReply> {
        let no_room =
            || if edit.changes_record() { self.no_room_for_jobs(node) } else { self.proposals.refusal(node) };
        node.stopping().or_else(no_room)
    }
}
