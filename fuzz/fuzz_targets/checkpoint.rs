//! The decoders of a checkpoint over arbitrary bytes: nothing panics, and what is accepted survives being encoded and
//! decoded again. The first byte says which: the metadata of a state, a saved job, or the payload of a manifest, whose
//! frame and checksums are made right; a start then reads that manifest's checkpoint, and so does whoever looks at all of it.
#![no_main]

use adjourn_engine::{SavedJob, StateMetadata};
use adjourn_storage::Depth;
use adjourn_storage::audit::audit;
use adjourn_storage::checkpoint;
use adjourn_storage::chunks::{MANIFEST, Manifest};
use adjourn_storage::folder::{Folder, FolderFile, FolderWriter, SimulatedFolder};
use libfuzzer_sys::fuzz_target;

/// Bytes of the header with which a manifest begins.
const HEADER_BYTES: usize = 20;

fuzz_target!(|input: &[u8]| match input.split_first() {
    Some((b'i', bytes)) => metadata(bytes),
    Some((b'j', bytes)) => job(bytes),
    Some((b'm', bytes)) => manifest(bytes),
    _ => {}
});

fn metadata(bytes: &[u8]) {
    if let Ok(metadata) = StateMetadata::decode(bytes) {
        assert_eq!(
            StateMetadata::decode(&metadata.encode()).map(|again| again.encode()),
            Ok(metadata.encode())
        );
    }
}

fn job(bytes: &[u8]) {
    if let Ok((saved, _)) = SavedJob::decode(bytes) {
        let mut encoded = Vec::new();
        saved.encode(&mut encoded);
        assert_eq!(SavedJob::decode(&encoded), Ok((saved, &[][..])));
    }
}

fn manifest(payload: &[u8]) {
    let folder = SimulatedFolder::new(0);
    Manifest::default().write(&folder).expect("written");
    let mut header = [0; HEADER_BYTES];
    folder.open(MANIFEST).expect("opened").expect("there").read_at(0, &mut header).expect("read");
    let mut bytes = header.to_vec();
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    let mut file = folder.create(MANIFEST).expect("created");
    file.append(&bytes).expect("written");
    if let Ok(Some(manifest)) = Manifest::read(&folder) {
        let _ = checkpoint::restore(&folder);
        let _ = audit(&folder, &manifest, Depth::Whole, |_| {});
    }
}
