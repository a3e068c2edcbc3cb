//! What a start finds after a process ended in the middle of a checkpoint.

use super::*;
use crate::storage::Fault;
use crate::storage::folder::FaultyFolder;

fn begin(number: u32, engine: &Engine) -> CheckpointBegin {
    CheckpointBegin {
        number,
        index: number.into(),
        term: 1,
        voters: vec![1],
        learners: Vec::new(),
        state_hash: engine.state_hash(),
        jobs: 0,
        image: engine.image().encode(),
        chunks: Vec::new(),
        rewrite: Vec::new(),
        next_chunk: 1,
        pin: false,
    }
}

fn write(folder: &FaultyFolder, number: u32) -> Result<Checkpoint, StorageError> {
    let base = LogBase { index: number.into(), term: 1, crc: number };
    CheckpointWriter::begin(folder.clone(), begin(number, &Engine::new(GroupId(0))))?.finish(base)
}

/// A manifest that was renamed and not synced is what a start finds while the power stays. What it does not list may only
/// go when it is durable.
#[test]
fn what_a_start_goes_by_is_durable_before_it_removes_anything() {
    for seed in 0..20 {
        let folder = FaultyFolder::new(seed);
        write(&folder, 1).expect("written");
        let steps = folder.steps();
        let whole = FaultyFolder::new(seed);
        write(&whole, 1).and_then(|_| write(&whole, 2)).expect("written");
        for failure in 0..whole.steps() - steps {
            for power_cut in 0..4 {
                let folder = FaultyFolder::new(seed);
                write(&folder, 1).expect("written");
                folder.arm(failure, Fault::Failure);
                assert!(write(&folder, 2).is_err());
                let folder = folder.kill();
                folder.arm(power_cut, Fault::PowerCut);
                // It may come to its end or not.
                let _ = restore(&folder);
                let restored = restore(&folder.crash()).expect("whole").expect("one was durable");
                assert!(restored.number == 1 || restored.number == 2);
            }
        }
    }
}
