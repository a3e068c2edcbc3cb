//! The order of the send queue, the size of bundles, and dropped messages.

use bytes::Bytes;

use super::super::frames::PeerDecoder;
use super::super::test_messages::{append, bundle, heartbeat};
use super::*;
use adjourn_types::limits::PEER_FRAME_BYTES_MAX;

const NOW: Duration = Duration::from_secs(9);

/// The frames that are sent, in order.
fn drain(send_queue: &SendQueue) -> Vec<PeerFrame> {
    let mut out = BytesMut::new();
    send_queue.encode(&mut out, usize::MAX, NOW);
    let mut frames = Vec::new();
    while let Some(frame) = PeerDecoder::with_bytes_max(PEER_FRAME_BYTES_MAX).next(&mut out).expect("frames")
    {
        frames.push(frame);
    }
    frames
}

fn part(offset: u64) -> PeerFrame {
    PeerFrame::Part { index: 1, offset, total: 9, data: Bytes::from_static(b"x") }
}

#[test]
fn what_is_urgent_goes_first_and_parts_of_checkpoints_last() {
    let send_queue = SendQueue::default();
    send_queue.push_part(part(0));
    send_queue.push(bundle(vec![append(1, 2, &[b"a"])]), NOW);
    send_queue.push(bundle(vec![append(1, 2, &[b"b"]), heartbeat(1, 2)]), NOW);
    send_queue.push(bundle(vec![]), NOW);
    send_queue.push_frame(PeerFrame::Fetch { index: 1, offset: 0 });
    let expected = [
        PeerFrame::Bundle(bundle(vec![heartbeat(1, 2)])),
        PeerFrame::Bundle(bundle(vec![])),
        PeerFrame::Fetch { index: 1, offset: 0 },
        PeerFrame::Bundle(bundle(vec![append(1, 2, &[b"a"])])),
        PeerFrame::Bundle(bundle(vec![append(1, 2, &[b"b"])])),
        part(0),
    ];
    assert_eq!(drain(&send_queue), expected);
}

/// It would be refused: it comes after entries that are still under way.
#[test]
fn an_append_without_entries_overtakes_none() {
    let send_queue = SendQueue::default();
    send_queue.push(bundle(vec![append(1, 2, &[b"a"])]), NOW);
    send_queue.push(bundle(vec![append(1, 2, &[])]), NOW);
    let expected = [&[&b"a"[..]][..], &[]];
    assert_eq!(
        drain(&send_queue),
        expected.map(|entries| PeerFrame::Bundle(bundle(vec![append(1, 2, entries)])))
    );
}

#[test]
fn large_bundles_are_cut_so_that_nothing_urgent_waits_for_long() {
    let send_queue = SendQueue::default();
    let data = vec![0; BUNDLE_BYTES_TARGET / 2 - 1000];
    send_queue.push(bundle((0..5).map(|_| append(1, 2, &[&data])).collect()), NOW);
    let messages = drain(&send_queue).into_iter().map(|frame| match frame {
        PeerFrame::Bundle(bundle) => bundle.messages.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(messages.collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn what_does_not_fit_is_dropped_and_counted_until_it_fits_again() {
    let send_queue = SendQueue::default();
    let data = vec![0; WAITING_BYTES_MAX / 4];
    let large = || bundle(vec![append(1, 2, &[&data])]);
    for _ in 0..3 {
        assert_eq!(send_queue.push(large(), NOW), None);
    }
    assert_eq!((send_queue.push(large(), NOW), send_queue.push(large(), NOW)), (Some(1), Some(2)));
    assert_eq!(
        send_queue.push(bundle(vec![heartbeat(1, 2)]), NOW),
        None,
        "what is urgent has a place of its own"
    );
    assert_eq!(drain(&send_queue).len(), 4);
    assert_eq!(send_queue.push(large(), NOW), None);
    send_queue.clear();
    assert_eq!(drain(&send_queue), []);
}

#[test]
fn what_is_urgent_is_bounded_too() {
    let send_queue = SendQueue::default();
    let asks = URGENT_BYTES_MAX / BUNDLE_BYTES + 9;
    (0..asks).for_each(|_| send_queue.push_frame(PeerFrame::Gone { index: 1 }));
    assert_eq!(drain(&send_queue).len(), URGENT_BYTES_MAX / BUNDLE_BYTES);
    (0..3).for_each(|offset| send_queue.push_part(part(offset)));
    assert_eq!(drain(&send_queue), [part(2)], "one part in hand");
}

#[test]
fn clocks_go_on_while_a_bundle_waits() {
    let send_queue = SendQueue::default();
    send_queue.push(bundle(vec![]), NOW.saturating_sub(Duration::from_millis(1500)));
    let [PeerFrame::Bundle(sent)] = &drain(&send_queue)[..] else { panic!("a bundle") };
    assert_eq!((sent.wall, sent.stamp_us), (Millis(2500), 3_500_000));
    send_queue
        .push(Bundle { stamp_us: 0, ..bundle(vec![]) }, NOW.saturating_sub(Duration::from_millis(1500)));
    let [PeerFrame::Bundle(sent)] = &drain(&send_queue)[..] else { panic!("a bundle") };
    assert_eq!(sent.stamp_us, 0, "it is not known");
}

#[tokio::test]
async fn a_waiting_sender_is_woken() {
    let send_queue = SendQueue::default();
    let ((), ()) = tokio::join!(send_queue.wait(), async { send_queue.push_part(part(0)) });
    assert_eq!(drain(&send_queue), [part(0)]);
}
