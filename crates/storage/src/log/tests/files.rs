//! The number of journal files over time, and the watermark, which outlives the file that has it.

use super::*;

/// The newest watermark in the files.
fn watermark(folder: &SimulatedFolder) -> Option<Watermark> {
    let salt = crc32c::crc32c(&[3; 16]);
    let blocks = journals(folder).into_iter().filter_map(|name| {
        let bytes = folder.contents(&name).expect("there");
        Watermark::decode(salt, &bytes[BLOCK_BYTES..2 * BLOCK_BYTES])
    });
    blocks.max_by_key(Watermark::order)
}

/// Fills files while a chore is under way, so that there are more than usual.
fn overgrown(seed: u64) -> (SimulatedFolder, TestLog, Chore) {
    let (folder, mut log) = created(seed);
    let late = log.chore().expect("a file is to be made");
    write(&mut log, 1..=60, 1).expect("written");
    log.write_watermark().expect("written");
    assert!(journals(&folder).len() > SIZE.files_max);
    (folder, log, late)
}

#[test]
fn the_watermark_outlives_its_file() {
    let (folder, mut log, late) = overgrown(1);
    let written = watermark(&folder).expect("it was written");
    assert_eq!(written.index, 60);
    log.cut(60).expect("cut");
    assert!(journals(&folder).len() <= SIZE.files_max, "{:?}", journals(&folder));
    assert_eq!(watermark(&folder), Some(written));
    log.chore_done(late.run()).expect("done");
    do_chores(&mut log);
    assert_eq!(watermark(&folder), Some(written));
}

#[test]
fn the_power_may_go_at_every_step_of_a_cut() {
    for seed in 0..6 {
        let (folder, mut log, _) = overgrown(seed);
        let before = folder.steps();
        log.cut(60).expect("cut");
        for step in 0..folder.steps() - before {
            let (folder, mut log, _) = overgrown(seed);
            let (written, base) = (watermark(&folder), log.end());
            folder.arm(step, Fault::PowerCut);
            log.cut(60).expect_err("the power is gone");
            let left = folder.crash();
            assert_eq!(watermark(&left), written, "step {step} of seed {seed}");
            let mut log = open_after(&left, base).expect("it opens");
            assert_eq!(scanned(&mut log, 61).expect("empty"), []);
        }
    }
}

/// Data of an earlier process may be only in the system's cache, after a failed sync.
#[test]
fn a_start_writes_the_watermark() {
    for seed in 0..8 {
        let (folder, mut log) = created(seed);
        do_chores(&mut log);
        write(&mut log, 1..=4, 1).expect("written");
        assert_eq!(watermark(&folder).map(|found| found.index), Some(1), "the others are younger");
        let folder = folder.kill();
        let mut log = open(&folder).expect("it opens");
        assert_eq!(watermark(&folder).map(|found| found.index), Some(4));
        write(&mut log, 5..=6, 1).expect("written");
        folder.arm(1, Fault::Failure);
        log.write_watermark().expect_err("its sync fails");
        let folder = folder.kill();
        drop(open(&folder).expect("it opens"));
        assert_eq!(watermark(&folder.crash()).map(|found| found.index), Some(6));
    }
}

#[test]
fn the_number_of_files_is_bounded_while_a_chore_takes_long() {
    let (folder, mut log, late) = overgrown(1);
    let mut most = 0;
    for index in 61..=400 {
        write(&mut log, index..=index, 1).expect("written");
        most = most.max(journals(&folder).len());
    }
    assert!(most <= 2 * SIZE.files_max, "{most} files");
    assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, 400, 1)]));
    log.chore_done(late.run()).expect("done");
    do_chores(&mut log);
    assert!(journals(&folder).len() <= 2 * SIZE.files_max);
    drop(log);
    let mut log = open(&folder).expect("it opens");
    assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, 400, 1)]));
    log.cut(400).expect("cut");
    do_chores(&mut log);
    assert_eq!((journals(&folder).len(), archived_in(&folder)), (SIZE.files_max, 0));
}

/// The stretch that a chore is archiving stays where it is while commits archive others.
#[test]
fn a_chore_that_archives_may_take_long() {
    let (folder, mut log) = created(1);
    let (number, late) = loop {
        let next = log.end().index + 1;
        write(&mut log, next..=next, 1).expect("written");
        let chore = log.chore();
        match (log.under_way, chore) {
            (Some(UnderWay::Archive(number)), Some(late)) => break (number, late),
            (_, Some(chore)) => log.chore_done(chore.run()).expect("done"),
            (_, None) => {}
        }
    };
    let last = log.end().index + 200;
    write(&mut log, last - 199..=last, 1).expect("written");
    assert!(journals(&folder).len() <= 2 * SIZE.files_max);
    let stretch = log.stretches.iter().find(|stretch| stretch.head.number == number);
    assert!(matches!(stretch.map(|stretch| stretch.home), Some(Home::File(_))));
    log.chore_done(late.run()).expect("done");
    do_chores(&mut log);
    drop(log);
    let mut log = open(&folder).expect("it opens");
    assert_eq!(scanned(&mut log, 1).expect("whole"), terms(&[(1, last, 1)]));
}

/// A start uses only members whose change is known to be committed.
#[test]
fn a_commit_index_that_comes_alone_is_durable() {
    for seed in 0..8 {
        let (folder, mut log) = created(seed);
        write(&mut log, 1..=7, 1).expect("written");
        log.commit(None, &[], 7).expect("written");
        assert_eq!(open(&folder.crash()).expect("it opens").commit_index(), 7);
    }
}
