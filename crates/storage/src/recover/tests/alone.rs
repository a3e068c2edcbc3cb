//! A survivor of a lost majority goes on as a cluster of its own.

use super::*;

const CLUSTER_ID: [u8; 16] = [5; 16];
/// Bytes of a membership change: no code here reads them.
const CHANGE: &[u8] = b"alone from here on";

fn change(index: u64) -> LogEntry {
    LogEntry { index, term: 4, kind: EntryKind::ConfChange, data: Bytes::from_static(b"another member") }
}

/// A member's directory: its last entries change the members, and are not known to be committed.
fn survivor() -> TempDir {
    let directory = written();
    let mut storage = open(directory.path()).expect("it opens");
    let entries = vec![change(ENTRIES + 1), change(ENTRIES + 2)];
    storage.persist(&PersistBatch { entries, ..PersistBatch::default() }).expect("written");
    storage.write_watermark().expect("written");
    directory
}

fn alone() -> Alone {
    Alone { cluster_id: CLUSTER_ID, storage_id: NEW_ID, change: CHANGE.to_vec() }
}

/// Checks that a node opens the directory as the only member of a new cluster, with all entries after `base`.
fn assert_alone(directory: &Path, base: Option<LogBase>) {
    let mut storage = match base {
        Some(base) => open_beside(directory, base).expect("it opens"),
        None => open(directory).expect("it opens"),
    };
    assert_eq!(
        (storage.cluster_id(), storage.storage_id(), storage.is_founder()),
        (CLUSTER_ID, NEW_ID, true)
    );
    let recovered = storage.recovered();
    assert_eq!((recovered.last_index, recovered.last_term, recovered.commit), (ENTRIES + 4, 4, ENTRIES + 4));
    assert_eq!(recovered.vote, Vote { term: 4 + TERMS_SKIPPED, vote: 0 });
    let mut found = Vec::new();
    let mut visit = |entry| {
        found.push(entry);
        Ok(())
    };
    let first = base.map_or(0, |base| base.index) + 1;
    storage.replay(first, &mut visit).expect("it verifies");
    let last = found.pop().expect("the change");
    assert_eq!((last.kind, last.term, &last.data[..]), (EntryKind::ConfChange, 4, CHANGE));
    let skip = found.pop().expect("the skip");
    assert_eq!(
        Entry::decode(&skip.data).expect("an entry").commands,
        [Command::SkipIds { floor: ids_floor(NOW) }]
    );
    let kept = (first..=ENTRIES).map(entry).chain([change(ENTRIES + 1), change(ENTRIES + 2)]);
    assert_eq!(found, kept.collect::<Vec<_>>());
}

#[test]
fn all_of_the_log_counts_and_the_members_are_new() {
    let directory = survivor();
    let salvage = Salvage::examine(directory.path()).expect("a directory");
    assert!(!salvage.is_needed(), "nothing is damaged");
    assert_eq!((salvage.kept(), salvage.kept_term(), salvage.node()), (ENTRIES + 2, 4, 1));
    assert_eq!(salvage.changes(), [change(ENTRIES + 1), change(ENTRIES + 2)]);
    assert!(salvage.committed() < ENTRIES);
    salvage.go_on_alone(alone(), NOW).expect("it goes on");
    assert_alone(directory.path(), None);
}

#[test]
fn a_damaged_end_goes_on_the_way() {
    let directory = survivor();
    flip(directory.path(), 12);
    Salvage::examine(directory.path()).expect("a directory").go_on_alone(alone(), NOW).expect("it goes on");
    let storage = open(directory.path()).expect("it opens");
    assert_eq!((storage.cluster_id(), storage.recovered().last_index), (CLUSTER_ID, 13));
}

#[test]
fn it_can_be_cut_short_anywhere() {
    for base in [None, Some(10)] {
        let directory = survivor();
        let base = base.map(|index| {
            let mut storage = open(directory.path()).expect("it opens");
            let base = storage.base_at(index).expect("it is there");
            let LogBase { index, term, crc: log_crc } = base;
            Manifest { index, term, log_crc, ..Manifest::default() }
                .write(storage.chunks())
                .expect("written");
            storage.cut(index).expect("cut");
            base
        });
        let examined = || Salvage::examine(directory.path()).expect("a directory");
        let images =
            images_of(directory.path(), || drop(examined().go_on_alone(alone(), NOW).expect("it goes on")));
        assert!(images.len() > 6, "{} syncs", images.len());
        let mut decided = 0;
        for image in &images {
            let cut_short = Salvage::examine(image.path()).expect("a directory");
            if cut_short.cluster_id() == CLUSTER_ID {
                decided += 1;
                drop(cut_short);
            } else {
                cut_short.go_on_alone(alone(), NOW).expect("begun again");
            }
            assert_alone(image.path(), base);
        }
        assert!(decided > 3 && decided < images.len(), "{decided} of {}", images.len());
    }
}
