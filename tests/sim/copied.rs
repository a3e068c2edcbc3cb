//! What a fetch of a checkpoint copies: the files of one node's newest, and how another one unpacks them.

use adjourn_storage::chunks::{MANIFEST, Manifest, chunk_name, pages_name};
use adjourn_storage::folder::{Folder as _, FolderWriter as _, SimulatedFolder};
use adjourn_storage::{Restored, StorageError, checkpoint};

/// Names and contents.
pub(super) type Files = Vec<(String, Vec<u8>)>;

/// The files of a node's newest checkpoint, if it is the one at this index.
pub(super) fn files(owner: &SimulatedFolder, index: u64) -> Option<Files> {
    let manifest = Manifest::read(owner).ok()?.filter(|manifest| manifest.index == index)?;
    let chunks = manifest.chunks.iter().map(|chunk| chunk_name(chunk.summary.number));
    let pages = manifest.pages.iter().map(|pages| pages_name(pages.id));
    let names = chunks.chain(pages).chain([MANIFEST.to_owned()]);
    names.map(|name| Some((name.clone(), owner.contents(&name)?))).collect()
}

/// Writes them beside what a node has, and reads them.
pub(super) fn unpack(folder: &SimulatedFolder, files: &Files) -> Result<Restored, StorageError> {
    let incoming = folder.incoming();
    for name in incoming.list()? {
        incoming.remove(&name)?;
    }
    for (name, bytes) in files {
        let mut writer = incoming.create(name)?;
        writer.append(bytes)?;
        writer.sync()?;
    }
    incoming.sync()?;
    let restored = checkpoint::restore(&incoming)?;
    Ok(restored.expect("its manifest came with it"))
}
