//! `CLUSTER_REPORT`, the answer to `CLUSTER_STATUS`.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::response::{ClusterReport, MemberReport, Role};
use super::wire::{Fixed, Reader, put_list, shortened};

const MEMBER_FIXED_BYTES: usize = 44;
const CONNECTED: u8 = 1;
const MATCHED_KNOWN: u8 = 2;
const APPLIED_KNOWN: u8 = 4;
const CLOCK_KNOWN: u8 = 8;
const STATE_KNOWN: u8 = 16;
const STATE_SAME: u8 = 32;

pub(super) fn encode_report(report: &ClusterReport, out: &mut BytesMut) {
    Fixed::<60>::new()
        .u64(report.node)
        .array(report.cluster_id)
        .u64(report.leader.unwrap_or_default())
        .u64(report.term)
        .u64(report.last)
        .u64(report.commit)
        .u32(report.feature_level)
        .write(out);
    put_list(out, MEMBER_FIXED_BYTES, report.members.len());
    for member in &report.members {
        let peer_address = shortened(&member.peer_address, usize::from(u8::MAX));
        let client_address = shortened(&member.client_address, usize::from(u8::MAX));
        Fixed::<MEMBER_FIXED_BYTES>::new()
            .u64(member.node)
            .u8(member.role as u8)
            .u8(marks(member))
            .u64(member.matched.unwrap_or_default())
            .u64(member.applied.unwrap_or_default())
            .u64(member.ahead_ms.unwrap_or_default().cast_unsigned())
            .u64(member.audited)
            .length8(peer_address.len())
            .length8(client_address.len())
            .write(out);
        out.put_slice(peer_address.as_bytes());
        out.put_slice(client_address.as_bytes());
    }
}

fn marks(member: &MemberReport) -> u8 {
    let mark = |is: bool, mark: u8| if is { mark } else { 0 };
    mark(member.is_connected, CONNECTED)
        | mark(member.matched.is_some(), MATCHED_KNOWN)
        | mark(member.applied.is_some(), APPLIED_KNOWN)
        | mark(member.ahead_ms.is_some(), CLOCK_KNOWN)
        | mark(member.same_state.is_some(), STATE_KNOWN)
        | mark(member.same_state == Some(true), STATE_SAME)
}

pub(super) fn decode_report(reader: &mut Reader<'_>) -> Result<ClusterReport, DecodeError> {
    let node = reader.u64("node")?;
    let cluster_id = reader.array("cluster_id")?;
    let leader = Some(reader.u64("leader")?).filter(|leader| *leader != 0);
    let (term, last, commit) = (reader.u64("term")?, reader.u64("last")?, reader.u64("commit")?);
    let feature_level = reader.u32("feature_level")?;
    let listed = reader.list::<MEMBER_FIXED_BYTES>("members", usize::MAX)?;
    let members = reader.items(listed, |reader, mut fields| {
        let node = fields.u64("node")?;
        let role = fields.u8("role")?;
        let marks = fields.u8("marks")?;
        let has = |mark: u8| marks & mark != 0;
        let matched = fields.u64("matched")?;
        let applied = fields.u64("applied")?;
        let ahead_ms = fields.u64("ahead_ms")?.cast_signed();
        let audited = fields.u64("audited")?;
        let (peer_bytes, client_bytes) = (fields.u8("peer_address")?, fields.u8("client_address")?);
        Ok(MemberReport {
            node,
            // A role of a newer version: only membership is known.
            role: Role::from_u8(role).unwrap_or(Role::Learner),
            peer_address: reader.text(usize::from(peer_bytes), usize::MAX, "peer_address")?,
            client_address: reader.text(usize::from(client_bytes), usize::MAX, "client_address")?,
            is_connected: has(CONNECTED),
            matched: has(MATCHED_KNOWN).then_some(matched),
            applied: has(APPLIED_KNOWN).then_some(applied),
            ahead_ms: has(CLOCK_KNOWN).then_some(ahead_ms),
            audited,
            same_state: has(STATE_KNOWN).then_some(has(STATE_SAME)),
        })
    })?;
    Ok(ClusterReport { node, cluster_id, leader, term, last, commit, feature_level, members })
}
