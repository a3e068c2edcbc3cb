//! The durable content of the simulated device, and the content that is only in the system's memory.

use super::super::durable::SmallFile;
use super::super::slot_file::{self, FileSlot, SLOT_BYTES};
use super::logs::{Change, Logs};
use super::{Rng, magic, place};

/// Logs and small files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) logs: Logs,
    pub(super) files: [[FileSlot; 2]; 2],
}

/// One write.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Log(Change),
    Slot(SmallFile, usize, FileSlot),
}

/// Written data that is not durable, in order. Readers see it until the power is cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Cached {
    /// What a sync that failed did not write. No later sync does.
    lost: Vec<Write>,
    /// What the next sync writes.
    dirty: Vec<Write>,
}

impl Contents {
    /// Those of a directory that was just founded.
    pub(super) fn founded() -> Self {
        let files = [SmallFile::Vote, SmallFile::Watermark]
            .map(|file| [slot_file::encode(magic(file), 1, [0, 0, 0]), [0; SLOT_BYTES]]);
        Self { logs: Logs::new(), files }
    }

    pub(super) fn carry_out(&mut self, write: Write) {
        match write {
            Write::Log(change) => self.logs.carry_out(change),
            Write::Slot(file, slot, bytes) => self.files[place(file)][slot] = bytes,
        }
    }

    /// Carries out a random part of the writes. Returns those that are missing or incomplete.
    fn carry_out_some(&mut self, writes: Vec<Write>, rng: &mut Rng) -> Vec<Write> {
        let in_log = writes.iter().filter(|write| matches!(write, Write::Log(_))).count();
        let mut kept_of_log = rng.below(in_log + 1);
        let mut left = Vec::new();
        for write in writes {
            match write {
                Write::Slot(file, slot, bytes) => {
                    let written = match rng.below(3) {
                        0 => 0,
                        1 => SLOT_BYTES,
                        _ => rng.below(SLOT_BYTES),
                    };
                    let place = &mut self.files[place(file)][slot];
                    place[..written].copy_from_slice(&bytes[..written]);
                    if written < SLOT_BYTES {
                        left.push(write);
                    }
                }
                Write::Log(_) if kept_of_log > 0 => {
                    kept_of_log -= 1;
                    self.carry_out(write);
                }
                Write::Log(_) => left.push(write),
            }
        }
        left
    }
}

impl Cached {
    pub(super) fn write(&mut self, write: Write) {
        self.dirty.push(write);
    }

    /// The system drops the data that no sync writes: reads then return the durable data.
    pub(super) fn drop_lost(&mut self) {
        self.lost.clear();
    }

    /// A sync goes well.
    pub(super) fn sync(&mut self, durable: &mut Contents) {
        for write in self.dirty.drain(..) {
            durable.carry_out(write);
        }
    }

    /// A sync fails.
    pub(super) fn fail(&mut self, durable: &mut Contents, rng: &mut Rng) {
        self.lost.extend(durable.carry_out_some(std::mem::take(&mut self.dirty), rng));
    }

    /// The power goes.
    pub(super) fn crash(&mut self, durable: &mut Contents, rng: &mut Rng) {
        durable.carry_out_some(std::mem::take(&mut self.dirty), rng);
        self.lost.clear();
    }

    /// The content that a reader sees.
    pub(super) fn over(&self, durable: &Contents) -> Contents {
        let mut read = durable.clone();
        self.lost.iter().chain(&self.dirty).for_each(|write| read.carry_out(write.clone()));
        read
    }
}
