//! Disks that a power cut may leave: the durable data, and a part of the data written since.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::RngExt as _;
use proptest::test_runner::TestRng;

use super::device::{Device, is_summary};
use super::disk::{BLOCK_BYTES, Block, Content, FileId, Name, Node, StateMetadata, blocks_in};

/// Blocks in a segment of sled's.
const SEGMENT_BLOCKS: usize = (8 << 20) / BLOCK_BYTES;

/// Something that was written and not synced, and gets to the disk or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Names that change together: one that appears, one that goes, or both for a renaming.
    Names(Vec<(Name, Option<Node>)>),
    /// The file's length.
    Length(FileId),
    /// One block of a file.
    Block(FileId, usize),
}

/// Which of the changes get to the disk.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// The first `changes` of them, in the order of names, lengths and places in the file; all the others if not `kept`.
    Prefix { changes: usize, kept: bool },
    /// One change; all the others if not `kept`.
    One { change: usize, kept: bool },
    /// One segment of the log and everything outside the log; the other way round if not `kept`.
    Segment { segment: usize, kept: bool },
    /// The first `changes` of them, and a part of the block after them, which is torn.
    Torn { changes: usize },
    /// Those that the bits say.
    Any(Vec<bool>),
    /// All that is read: the process dies, and the power stays.
    Read,
}

/// The differences between durable and written data, in a fixed order. Lost blocks never get to the disk.
pub(super) fn changes(device: &Device) -> Vec<Change> {
    let Device { durable, written, lost } = device;
    let mut changes = names(durable, written);
    for (id, content) in &written.contents {
        let empty = Arc::new(Content::default());
        let old = durable.contents.get(id).unwrap_or(&empty);
        if Arc::ptr_eq(old, content) {
            continue;
        }
        if old.bytes != content.bytes {
            changes.push(Change::Length(*id));
        }
        let differs = |at: &usize| match (old.blocks.get(*at), content.blocks.get(*at)) {
            (Some(old), Some(new)) => !Arc::ptr_eq(old, new) && old != new,
            (None, Some(new)) => new.iter().any(|byte| *byte != 0),
            _ => false,
        };
        let blocks = (0..content.blocks.len()).filter(differs).filter(|at| !lost.contains(&(*id, *at)));
        changes.extend(blocks.map(|at| Change::Block(*id, at)));
    }
    changes
}

/// The changed names: a renaming is one change.
fn names(durable: &StateMetadata, written: &StateMetadata) -> Vec<Change> {
    let gone = durable.names.iter().filter(|(name, _)| !written.names.contains_key(*name));
    let mut gone: Vec<_> = gone.map(|(name, node)| (name.clone(), *node)).collect();
    let mut changes = Vec::new();
    for (name, node) in &written.names {
        if durable.names.get(name) == Some(node) {
            continue;
        }
        let mut together = vec![(name.clone(), Some(*node))];
        let renamed = |(old, was): &(Name, Node)| was == node && old.0 == name.0;
        if let Some(at) = gone.iter().position(renamed) {
            together.push((gone.remove(at).0, None));
        }
        // sled removes its old summary when the new one has its name. File systems that keep a journal keep the order of
        // what changes in one folder: there is no moment without a summary.
        let replaced = |(old, _): &(Name, Node)| is_summary(name) && is_summary(old) && old.0 == name.0;
        if let Some(at) = gone.iter().position(replaced) {
            together.push((gone.remove(at).0, None));
        }
        changes.push(Change::Names(together));
    }
    changes.extend(gone.into_iter().map(|(name, _)| Change::Names(vec![(name, None)])));
    changes
}

/// Nothing gets to the disk, and everything does.
pub(super) fn extremes(changes: &[Change]) -> [Choice; 2] {
    [0, changes.len()].map(|changes| Choice::Prefix { changes, kept: true })
}

/// One random choice of any kind.
pub(super) fn random(changes: &[Change], rng: &mut TestRng) -> Choice {
    let kept = rng.random();
    let segments: Vec<usize> = segments(changes).into_iter().collect();
    match rng.random_range(0..7) {
        0 => Choice::Prefix { changes: rng.random_range(0..=changes.len()), kept },
        1 if !changes.is_empty() => Choice::One { change: rng.random_range(0..changes.len()), kept },
        2 if segments.len() > 1 => {
            Choice::Segment { segment: segments[rng.random_range(0..segments.len())], kept }
        }
        3 if !changes.is_empty() => Choice::Torn { changes: rng.random_range(0..changes.len()) },
        _ => {
            let share = [0.03, 0.2, 0.5, 0.8, 0.97][rng.random_range(0..5)];
            Choice::Any(changes.iter().map(|_| rng.random_bool(share)).collect())
        }
    }
}

/// The disk after the cut. A summary of sled's that did not get its name may be there half under its first name.
pub(super) fn compose(
    device: &Device,
    changes: &[Change],
    choice: &Choice,
    rng: &mut TestRng,
) -> StateMetadata {
    let Device { durable, written, .. } = device;
    if matches!(choice, Choice::Read) {
        return written.clone();
    }
    let mut image = durable.clone();
    for (at, change) in changes.iter().enumerate() {
        let kept = choice.keeps(changes, at);
        match change {
            Change::Names(names) => {
                for (name, node) in names {
                    match node {
                        Some(node) if kept => drop(image.names.insert(name.clone(), *node)),
                        Some(node) if is_summary(name) && rng.random() => {
                            half_written(&mut image, written, name, *node, rng);
                        }
                        None if kept => drop(image.names.remove(name)),
                        _ => {}
                    }
                }
            }
            Change::Length(id) if kept => {
                let content = &written.contents[id];
                let file = Arc::make_mut(image.contents.entry(*id).or_default());
                file.bytes = content.bytes;
                let zeros = Arc::new([0; BLOCK_BYTES]);
                file.blocks.resize(blocks_in(content.bytes), zeros);
            }
            Change::Block(id, place) if kept => {
                let block = &written.contents[id].blocks[*place];
                let file = Arc::make_mut(image.contents.entry(*id).or_default());
                // Beyond the end: the length did not get there.
                let Some(there) = file.blocks.get_mut(*place) else { continue };
                match choice {
                    Choice::Torn { changes } if at == *changes => *there = torn(there, block, rng),
                    _ => *there = Arc::clone(block),
                }
            }
            Change::Length(_) | Change::Block(..) => {}
        }
    }
    image
}

/// Up to a place between their first and their last difference, or from there on, the new block; else the old one.
fn torn(old: &Block, new: &Block, rng: &mut TestRng) -> Block {
    let differing = |at: &usize| old[*at] != new[*at];
    let first = (0..BLOCK_BYTES).find(differing).unwrap_or(0);
    let last = (0..BLOCK_BYTES).rfind(differing).unwrap_or(0);
    let at = rng.random_range(first..=last);
    let (head, tail) = if rng.random() { (new, old) } else { (old, new) };
    let mut block = *Arc::clone(head);
    block[at..].copy_from_slice(&tail[at..]);
    Arc::new(block)
}

fn half_written(
    image: &mut StateMetadata,
    written: &StateMetadata,
    name: &Name,
    node: Node,
    rng: &mut TestRng,
) {
    let Node::File(id) = node else { return };
    let mut first_name = name.clone();
    first_name.1.push(".generating");
    image.names.insert(first_name, node);
    let content = &written.contents[&id];
    let bytes = rng.random_range(0..=content.bytes);
    let blocks = content.blocks[..blocks_in(bytes)].to_vec();
    image.contents.insert(id, Arc::new(Content { bytes, blocks }));
}

fn segments(changes: &[Change]) -> BTreeSet<usize> {
    changes.iter().filter_map(segment).collect()
}

fn segment(change: &Change) -> Option<usize> {
    match change {
        Change::Block(_, place) => Some(place / SEGMENT_BLOCKS),
        _ => None,
    }
}

impl Choice {
    fn keeps(&self, changes: &[Change], at: usize) -> bool {
        match self {
            Self::Prefix { changes, kept } => (at < *changes) == *kept,
            Self::One { change, kept } => (at == *change) == *kept,
            Self::Segment { segment: wanted, kept } => {
                segment(&changes[at]).is_none_or(|segment| (segment == *wanted) == *kept)
            }
            Self::Torn { changes } => at <= *changes,
            Self::Any(bits) => bits[at],
            Self::Read => true,
        }
    }
}
