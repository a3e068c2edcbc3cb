//! Generated replica messages for tests.

use bincode::Options as _;

use adjourn_raft::Message;
use adjourn_replica::{Bundle, PeerInfo};
use adjourn_types::{Member, Millis};

/// A heartbeat.
pub(super) fn heartbeat(from: u64, to: u64) -> Message {
    message(6, from, to, &[])
}

/// An append of entries with this data; without any it only reports how far the log is committed.
pub(super) fn append(from: u64, to: u64, entries: &[&[u8]]) -> Message {
    message(1, from, to, entries)
}

/// Each entry follows the one before, from index 8 in term 3.
fn message(kind: u8, from: u64, to: u64, entries: &[&[u8]]) -> Message {
    let entries: Vec<(u8, u64, u64, Vec<u8>)> =
        (8..).zip(entries).map(|(index, data)| (0, index, 3, data.to_vec())).collect();
    let (term, log_term, index, commit) = (3_u64, 3_u64, 7_u64, 5_u64);
    let rest = (0_u64, 0_u64, false, 0_u64, 0_i64, Vec::<u8>::new(), None::<u8>, entries);
    let bytes = bincode::DefaultOptions::new()
        .with_varint_encoding()
        .serialize(&(kind, to, from, term, log_term, index, commit, rest))
        .expect("it encodes");
    Message::decode(&bytes.into()).expect("a message")
}

/// A bundle of these messages.
pub(super) fn bundle(messages: Vec<Message>) -> Bundle {
    Bundle { wall: Millis(1000), stamp_us: 2_000_000, applied: 4, audited: (64, u128::MAX - 1), messages }
}

/// A node that describes itself with these addresses.
pub(super) fn about(node: u64, storage: u8, peer_address: &str) -> PeerInfo {
    let (peer_address, client_address) = (peer_address.to_owned(), "clients.example:7440".to_owned());
    let member = Member { node, storage_id: [storage; 16], peer_address, client_address };
    PeerInfo { member, feature_level_max: 1 }
}
