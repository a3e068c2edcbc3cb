//! `CLUSTER_REPORT`, the answer to `CLUSTER_STATUS`.

use bytes::BytesMut;

use super::codes::bits::node_marks;
use super::decode_error::DecodeError;
use super::layout::{frames, records};
use super::response::{ClusterReport, MemberReport, Role};
use super::wire::{Reader, mark, text, text8};

pub(super) fn encode_report(report: &ClusterReport, out: &mut BytesMut) {
    let frame = frames::ClusterReport {
        node: report.node,
        cluster_id: report.cluster_id,
        leader: report.leader.unwrap_or_default(),
        term: report.term,
        last: report.last,
        commit: report.commit,
        feature_level: report.feature_level,
        members: report.members.iter().map(|member| records::Node {
            node: member.node,
            role: member.role as u8,
            marks: marks(member),
            matched: member.matched.unwrap_or_default(),
            applied: member.applied.unwrap_or_default(),
            ahead_ms: member.ahead_ms.unwrap_or_default(),
            audited: member.audited,
            peer_address: text8(&member.peer_address),
            client_address: text8(&member.client_address),
        }),
    };
    frame.put(out);
}

fn marks(member: &MemberReport) -> u8 {
    mark(member.is_connected, node_marks::CONNECTED)
        | mark(member.matched.is_some(), node_marks::MATCHED)
        | mark(member.applied.is_some(), node_marks::APPLIED)
        | mark(member.ahead_ms.is_some(), node_marks::AHEAD)
        | mark(member.same_state.is_some(), node_marks::COMPARED)
        | mark(member.same_state == Some(true), node_marks::SAME_STATE)
}

pub(super) fn decode_report(reader: &mut Reader<'_>) -> Result<ClusterReport, DecodeError> {
    let report = frames::ClusterReport::take(reader, |member| {
        let has = |mark: u8| member.marks & mark != 0;
        Ok(MemberReport {
            node: member.node,
            // A role of a newer version: only membership is known.
            role: Role::from_u8(member.role).unwrap_or(Role::Learner),
            peer_address: text(&member.peer_address, "peer_address")?,
            client_address: text(&member.client_address, "client_address")?,
            is_connected: has(node_marks::CONNECTED),
            matched: has(node_marks::MATCHED).then_some(member.matched),
            applied: has(node_marks::APPLIED).then_some(member.applied),
            ahead_ms: has(node_marks::AHEAD).then_some(member.ahead_ms),
            audited: member.audited,
            same_state: has(node_marks::COMPARED).then_some(has(node_marks::SAME_STATE)),
        })
    })?;
    Ok(ClusterReport {
        node: report.node,
        cluster_id: report.cluster_id,
        leader: Some(report.leader).filter(|leader| *leader != 0),
        term: report.term,
        last: report.last,
        commit: report.commit,
        feature_level: report.feature_level,
        members: report.members,
    })
}
