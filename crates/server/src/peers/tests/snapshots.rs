//! Checkpoints from one node to another, over connections that break and past nodes that send nonsense.

use std::path::Path;

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::super::snapshot_sender::PART_BYTES;
use super::*;
use adjourn_engine::{Command, Engine, Entry};
use adjourn_storage::SealedCheckpoint;
use adjourn_storage::backup_file::FOOTER_BYTES;
use adjourn_storage::folder::Folder as _;
use adjourn_storage::{
    BackupOrigin, CheckpointBegin, CheckpointWriter, LogBase, PinnedBackup, Records, Restored,
};
use adjourn_types::{GroupId, Millis, SessionSecret};

const INDEX: u64 = 12;

/// A checkpoint of some parts, and the hash of the state in it.
fn checkpoint(folder: &Path) -> (Arc<PinnedBackup>, u128) {
    let folder = DiskFolder::new(folder).expect("a folder");
    let mut engine = Engine::new(GroupId(0));
    let open = |number: u64| {
        let mut secret = [0; 16];
        let hash = xxhash_rust::xxh3::xxh3_128(&number.to_le_bytes());
        secret.copy_from_slice(&hash.to_le_bytes());
        Command::SessionOpen { secret: SessionSecret(secret), leases_outlive: false, client: "" }
    };
    let entry = Entry { stamp: Millis(1), commands: (0..20_000).map(open).collect() };
    engine.apply(&entry, &mut Records::default()).expect("applied");
    let begin = CheckpointBegin {
        number: 1,
        index: INDEX,
        term: 1,
        voters: vec![2],
        learners: vec![],
        state_hash: engine.state_hash(),
        jobs: 0,
        metadata: engine.metadata().into(),
        chunks: vec![],
        rewrite: vec![],
        pages: vec![],
        next_chunk: 1,
        chunk_bytes: 1 << 20,
        records: 0,
        pin: false,
    };
    let base = LogBase { index: INDEX, term: 1, crc: 1 };
    let sealed = CheckpointWriter::begin(folder.clone(), begin).and_then(|writer| writer.seal(base));
    sealed.and_then(SealedCheckpoint::publish).expect("written");
    let origin = BackupOrigin { cluster_id: CLUSTER, node: 2, created_at: Millis(0) };
    let pinned = PinnedBackup::open(&folder, origin, &[]).expect("pinned");
    assert!(pinned.header().bytes > 4 * PART_BYTES as u64, "{:?}", pinned.header());
    (Arc::new(pinned), engine.state_hash())
}

/// Answers a node's requests, each part as changed by `change`, until that returns that it is enough or the connection
/// ends. Returns which parts were requested.
fn send_parts(
    mut wire: Wire,
    backup: Arc<PinnedBackup>,
    mut change: impl FnMut(u64, &mut Vec<u8>) -> bool + Send + 'static,
) -> JoinHandle<Vec<u64>> {
    tokio::spawn(async move {
        let total = backup.header().bytes - FOOTER_BYTES;
        let mut asked = Vec::new();
        while let Ok(frame) = wire.read().await {
            let PeerFrame::Fetch { index, offset } = frame else { continue };
            let mut data = vec![0; PART_BYTES.min(usize::try_from(total - offset).expect("small"))];
            backup.read_at(offset, &mut data).expect("read");
            if !change(offset, &mut data) {
                break;
            }
            asked.push(offset);
            let part = PeerFrame::Part { index, offset, total, data: Bytes::from(data) };
            if wire.write(&part).await.is_err() {
                break;
            }
        }
        asked
    })
}

impl Rig {
    /// The result of the fetch of this number.
    fn fetched(&self, expected: u64) -> Option<Box<Restored>> {
        loop {
            match self.told() {
                ToCore::SnapshotFetch { number, input } => {
                    assert_eq!(number, expected);
                    return match input {
                        Input::SnapshotFetched { index: INDEX, restored } => Some(restored),
                        Input::SnapshotGone { index: INDEX } => None,
                        other => panic!("{other:?}"),
                    };
                }
                ToCore::Input(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn left_behind(&self) -> (bool, Vec<String>) {
        let incoming = DiskFolder::existing(&self.data.path().join("incoming"));
        (self.data.path().join("pulled").exists(), incoming.list().expect("names"))
    }
}

fn part(number: usize) -> u64 {
    (number * PART_BYTES) as u64
}

/// Short timing: a late part is requested again soon.
fn hasty() -> Timing {
    Timing { part: Duration::from_millis(100), ..quick() }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_fetches_the_checkpoint_of_another() {
    let folder = tempfile::tempdir().expect("a directory");
    let (backup, hash) = checkpoint(folder.path());
    let (one, mut two) = two().await;
    let asked_for = std::mem::replace(&mut two.checkpoint, std::sync::mpsc::channel().1);
    let checkpoints = std::thread::spawn(move || {
        let pins = asked_for.iter().map(|asked| match asked {
            ToCheckpoint::Pin { reply } => reply.send(Some(Arc::clone(&backup))).is_ok(),
            other => panic!("{other:?}"),
        });
        pins.filter(|sent| *sent).count()
    });
    one.peers.fetch_snapshot(1, 2, INDEX);
    let restored = one.fetched(1).expect("it is there");
    assert_eq!((restored.engine.state_hash(), restored.base.index), (hash, INDEX));
    let (file, names) = one.left_behind();
    assert!(!file && names.contains(&"manifest".to_owned()), "{names:?}");
    let progress =
        two.told_of(|input| if let Input::SnapshotPulled { node } = input { Some(node) } else { None });
    assert_eq!(progress, 1);
    // Only the newest checkpoint can be fetched.
    one.peers.fetch_snapshot(2, 2, INDEX);
    one.fetched(2).expect("again");
    let other = INDEX + 1;
    one.peers.fetch_snapshot(3, 2, other);
    let ToCore::SnapshotFetch { number: 3, input: Input::SnapshotGone { index } } = one.told() else {
        panic!("gone")
    };
    assert_eq!(index, other);
    let refused =
        two.told_of(|input| if let Input::SnapshotRefused { node } = input { Some(node) } else { None });
    assert_eq!(refused, 1);
    drop((one, two));
    assert!(checkpoints.join().expect("it ended") >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_goes_on_where_the_connection_broke() {
    let folder = tempfile::tempdir().expect("a directory");
    let (backup, hash) = checkpoint(folder.path());
    let one = Rig::start(1, hasty()).await;
    let first = send_parts(let_in(&one, 2).await, Arc::clone(&backup), |offset, _| offset < part(2));
    one.connected();
    one.peers.fetch_snapshot(1, 2, INDEX);
    assert_eq!(first.await.expect("ended"), [0, part(1)]);
    // The same fetch requests only the missing parts.
    let second = send_parts(let_in(&one, 2).await, Arc::clone(&backup), |offset, _| offset < part(3));
    assert_eq!(second.await.expect("ended"), [part(2)]);
    // Another fetch checks whether it is the same checkpoint.
    one.peers.fetch_snapshot(2, 2, INDEX);
    let third = send_parts(let_in(&one, 2).await, backup, |_, _| true);
    assert_eq!(one.fetched(2).expect("it is there").engine.state_hash(), hash);
    drop(one);
    assert!(third.await.expect("ended").starts_with(&[0, part(3)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_checkpoint_is_thrown_away_and_fetched_again() {
    let folder = tempfile::tempdir().expect("a directory");
    let (backup, hash) = checkpoint(folder.path());
    let one = Rig::start(1, quick()).await;
    let mut damages = 2;
    let sender = send_parts(let_in(&one, 2).await, Arc::clone(&backup), move |offset, data| {
        if offset == part(1) && damages > 0 {
            damages -= 1;
            data.iter_mut().take(1).for_each(|byte| *byte ^= 1);
        }
        true
    });
    one.peers.fetch_snapshot(1, 2, INDEX);
    assert_eq!(one.fetched(1).expect("the third time").engine.state_hash(), hash);
    drop(one);
    let asked = sender.await.expect("ended");
    assert_eq!(asked.iter().filter(|offset| **offset == 0).count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_stays_damaged_is_given_up_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a directory");
    let (backup, _) = checkpoint(folder.path());
    for damaged_at in [0, 3] {
        let one = Rig::start(1, quick()).await;
        send_parts(let_in(&one, 2).await, Arc::clone(&backup), move |offset, data| {
            if offset == part(damaged_at) {
                data.iter_mut().skip(100).take(1).for_each(|byte| *byte ^= 0x80);
            }
            true
        });
        one.peers.fetch_snapshot(1, 2, INDEX);
        assert!(one.fetched(1).is_none());
        assert_eq!(one.left_behind(), (false, vec![]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_log_needs_of_the_disk_is_left_alone() {
    let folder = tempfile::tempdir().expect("a directory");
    let (backup, _) = checkpoint(folder.path());
    let data = tempfile::tempdir().expect("a directory");
    let one = Rig::start_sparing(1, quick(), data, u64::MAX).await;
    let sender = send_parts(let_in(&one, 2).await, backup, |_, _| true);
    one.peers.fetch_snapshot(1, 2, INDEX);
    assert!(one.fetched(1).is_none());
    assert_eq!(one.left_behind(), (false, vec![]));
    drop(one);
    let asked = sender.await.expect("ended");
    assert!(asked.iter().all(|offset| *offset <= part(1)), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_order_takes_the_place_of_one_that_gets_no_answer() {
    let folder = tempfile::tempdir().expect("a directory");
    let (backup, hash) = checkpoint(folder.path());
    let one = Rig::start(1, quick()).await;
    let _silent = let_in(&one, 3).await;
    one.peers.fetch_snapshot(1, 3, INDEX);
    one.peers.fetch_snapshot(2, 3, INDEX + 1);
    send_parts(let_in(&one, 2).await, backup, |_, _| true);
    one.peers.fetch_snapshot(3, 2, INDEX);
    assert_eq!(one.fetched(3).expect("it is there").engine.state_hash(), hash);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_answers_has_no_checkpoint() {
    let short = Duration::from_millis(20);
    let one = Rig::start(1, Timing { part: short, fetch_silence: 3 * short, ..quick() }).await;
    one.peers.fetch_snapshot(1, 2, INDEX);
    assert!(one.fetched(1).is_none());
}
