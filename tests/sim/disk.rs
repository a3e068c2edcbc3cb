//! A node's disk: the simulated disks of the log and of the folder of checkpoints, through the lives of the processes that
//! use them. They share their power.

use std::collections::VecDeque;

use adjourn_storage::Fault;
use adjourn_storage::folder::Folder as _;
use adjourn_storage::simulated::{SimulatedDisk, SimulatedStorage};
use adjourn_storage::{
    Chore, LogBase, LogEntry, PersistBatch, Recovered, Restored, Storage, StorageError, checkpoint,
};

use super::chunks::Chunks;
use super::mutants::Mutant;
use super::seen::End;

/// A disk.
pub(super) struct Disk {
    device: Device,
    pub(super) chunks: Chunks,
    log_faults: Faults,
    chunks_faults: Faults,
    /// A read of the folder is to fail.
    read_fault: bool,
}

/// A part of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Log,
    Chunks,
}

/// What goes wrong in one part.
#[derive(Default)]
struct Faults {
    /// Writes, syncs and so on of the processes before this one.
    steps_before: u64,
    /// What goes wrong next, at which step since the first.
    armed: Option<(u64, Fault)>,
    /// What goes wrong after that.
    later: VecDeque<(u64, Fault)>,
}

enum Device {
    AtRest(Box<SimulatedDisk>),
    InUse(Box<SimulatedStorage>),
}

/// What a process finds that starts.
pub(super) struct Found {
    pub(super) restored: Option<Restored>,
    pub(super) recovered: Recovered,
    /// The log behind the checkpoint.
    pub(super) log: Vec<LogEntry>,
}

/// Why a process does not come to run.
pub(super) enum NoStart {
    /// It ends like this while it starts.
    Ends(End),
    /// It refuses what it finds.
    Refused(StorageError),
}

impl Disk {
    /// A new one. If its syncs lie, they do nothing and say that they did.
    pub(super) fn new(seed: u64, mutant: Mutant) -> Self {
        let mut disk = SimulatedDisk::new(seed);
        let chunks = Chunks::new(seed ^ 0x4348_554e_4b53, mutant);
        if mutant == Mutant::SyncsLie {
            disk.lie_about_syncs();
            chunks.folder.lie_about_syncs();
        }
        Self {
            device: Device::AtRest(Box::new(disk)),
            chunks,
            log_faults: Faults::default(),
            chunks_faults: Faults::default(),
            read_fault: false,
        }
    }

    /// A process opens it, takes the newest checkpoint and reads the log behind it.
    pub(super) fn open(&mut self) -> Result<Found, NoStart> {
        self.chunks.folder.complete_install().map_err(|error| self.no_start(error))?;
        // What cannot be read without a fault that was armed is a fault of the code.
        let restored = if self.read_fault {
            checkpoint::restore_own(&self.chunks)
        } else {
            checkpoint::restore(&self.chunks)
        };
        let restored = restored.map_err(|error| self.no_start(error))?;
        let Device::AtRest(disk) =
            std::mem::replace(&mut self.device, Device::AtRest(Box::new(SimulatedDisk::new(0))))
        else {
            panic!("two processes use one disk");
        };
        let base = restored.as_ref().map(|restored| restored.base);
        let mut storage = disk.open_beside(&self.chunks.folder, base).map_err(NoStart::Refused)?;
        let recovered = storage.recovered();
        let mut log = Vec::new();
        let first = base.map_or(0, |base| base.index) + 1;
        let read = storage.replay(first, &mut |entry| {
            log.push(entry);
            Ok(())
        });
        read.map_err(NoStart::Refused)?;
        self.device = Device::InUse(Box::new(storage));
        self.rearm();
        checkpoint::sweep(&self.chunks).map_err(|error| self.no_start(error))?;
        Ok(Found { restored, recovered, log })
    }

    /// Index and term of the last entry in the log.
    pub(super) fn log_end(&mut self) -> (u64, u64) {
        let Recovered { last_index, last_term, .. } = self.in_use().recovered();
        (last_index, last_term)
    }

    /// Writes, syncs and so on so far.
    pub(super) fn steps(&self, part: Part) -> u64 {
        let now = match (part, &self.device) {
            (Part::Chunks, _) => self.chunks.folder.steps(),
            (Part::Log, Device::InUse(storage)) => storage.steps(),
            (Part::Log, Device::AtRest(_)) => 0,
        };
        self.faults(part).steps_before + now
    }

    /// Arms another fault after the armed one has struck.
    pub(super) fn arm_later(&mut self, part: Part, step: u64, fault: Fault) {
        if self.faults(part).armed.is_none() {
            self.arm(part, step, fault);
        } else {
            self.faults_mut(part).later.push_back((step, fault));
        }
    }

    /// Something goes wrong at this step, counted from the very first; in a later process if this one does not get there.
    pub(super) fn arm(&mut self, part: Part, step: u64, fault: Fault) {
        self.faults_mut(part).armed = Some((step, fault));
        self.rearm();
    }

    /// A read of the folder fails, this many from now, unless the process ends before.
    pub(super) fn arm_read(&mut self, reads: u64) {
        self.read_fault = true;
        self.chunks.folder.arm_read(reads);
    }

    /// Whether a read of the folder is to fail.
    pub(super) fn may_fail_to_read(&self) -> bool {
        self.read_fault
    }

    /// Nothing goes wrong any more.
    pub(super) fn disarm(&mut self) {
        (self.log_faults.armed, self.chunks_faults.armed) = (None, None);
        if let Device::InUse(storage) = &mut self.device {
            storage.arm(u64::MAX - storage.steps(), Fault::Failure);
        }
        self.chunks.folder.arm(u64::MAX - self.chunks.folder.steps(), Fault::Failure);
        self.chunks.folder.arm_read(u64::MAX >> 1);
        self.read_fault = false;
    }

    /// As [`Storage::persist`]; on a failure says how the process ends.
    pub(super) fn persist(&mut self, batch: &PersistBatch) -> Result<(), End> {
        self.do_or_die(|storage| storage.persist(batch))
    }

    /// As [`Storage::persist_later`].
    pub(super) fn persist_later(&mut self, batch: &PersistBatch) -> Result<(), End> {
        self.do_or_die(|storage| storage.persist_later(batch.clone()))
    }

    /// As [`Storage::write_watermark`].
    pub(super) fn write_watermark(&mut self) -> Result<(), End> {
        self.do_or_die(Storage::write_watermark)
    }

    /// As [`Storage::base_at`].
    pub(super) fn base_at(&mut self, index: u64) -> Result<LogBase, End> {
        self.do_or_die(|storage| storage.base_at(index))
    }

    /// As [`Storage::cut`].
    pub(super) fn cut(&mut self, through: u64) -> Result<(), End> {
        self.do_or_die(|storage| storage.cut(through))
    }

    /// As [`Storage::chore`].
    pub(super) fn chore(&mut self) -> Option<Chore> {
        self.in_use().chore()
    }

    /// As [`Storage::chore_done`].
    pub(super) fn chore_done(&mut self, done: Result<(), StorageError>) -> Result<(), End> {
        self.do_or_die(|storage| storage.chore_done(done))
    }

    /// How many stretches of the log are in the archive.
    pub(super) fn archived(&mut self) -> usize {
        let names = self.in_use().folder().list().unwrap_or_default();
        names
            .iter()
            .filter(|name| name.starts_with("stretch-") && name.strip_suffix(".new").is_none())
            .count()
    }

    /// As [`Storage::read`].
    pub(super) fn read(&mut self, first: u64, last: u64, bytes_max: u64) -> Result<Vec<LogEntry>, End> {
        self.do_or_die(|storage| storage.read(first, last, bytes_max))
    }

    /// How a process ends that could not go on writing there.
    pub(super) fn why(&self, part: Part) -> End {
        match self.faults(part).armed {
            Some((step, Fault::PowerCut)) if step < self.steps(part) => End::PowerCut,
            _ => End::DiskFailed,
        }
    }

    /// The process that uses it is gone; and the power, if that is why.
    pub(super) fn close(&mut self, why: End) {
        for part in [Part::Log, Part::Chunks] {
            let steps = self.steps(part);
            let faults = self.faults_mut(part);
            faults.steps_before = steps;
            // A fault that has struck is over.
            faults.armed =
                faults.armed.filter(|(step, _)| *step >= steps).or_else(|| faults.later.pop_front());
        }
        let device = std::mem::replace(&mut self.device, Device::AtRest(Box::new(SimulatedDisk::new(0))));
        self.device = match device {
            Device::InUse(storage) if why == End::PowerCut => Device::AtRest(Box::new(storage.crash())),
            Device::InUse(storage) => Device::AtRest(Box::new(storage.kill())),
            at_rest @ Device::AtRest(_) => at_rest,
        };
        self.chunks = self.chunks.after(why == End::PowerCut);
        self.read_fault = false;
        self.rearm();
    }

    fn no_start(&self, error: StorageError) -> NoStart {
        match self.chunks_faults.armed {
            Some((step, _)) if step < self.steps(Part::Chunks) => NoStart::Ends(self.why(Part::Chunks)),
            _ if self.read_fault => NoStart::Ends(End::DiskFailed),
            _ => NoStart::Refused(error),
        }
    }

    fn do_or_die<T>(
        &mut self,
        action: impl FnOnce(&mut SimulatedStorage) -> Result<T, StorageError>,
    ) -> Result<T, End> {
        let chunks_before = self.chunks.folder.steps();
        action(self.in_use()).map_err(|_| {
            // An install is done in the folders.
            let in_chunks = self.chunks.folder.steps() > chunks_before;
            self.why(if in_chunks { Part::Chunks } else { Part::Log })
        })
    }

    fn in_use(&mut self) -> &mut SimulatedStorage {
        let Device::InUse(storage) = &mut self.device else { panic!("nobody uses the disk") };
        storage
    }

    fn rearm(&mut self) {
        let left = |faults: &Faults, steps: u64| {
            faults.armed.map(|(step, fault)| (step.saturating_sub(faults.steps_before + steps), fault))
        };
        if let Some((steps, fault)) = left(&self.chunks_faults, self.chunks.folder.steps()) {
            self.chunks.folder.arm(steps, fault);
        }
        if let Device::InUse(storage) = &mut self.device
            && let Some((steps, fault)) = left(&self.log_faults, storage.steps())
        {
            storage.arm(steps, fault);
        }
    }

    fn faults(&self, part: Part) -> &Faults {
        match part {
            Part::Log => &self.log_faults,
            Part::Chunks => &self.chunks_faults,
        }
    }

    fn faults_mut(&mut self, part: Part) -> &mut Faults {
        match part {
            Part::Log => &mut self.log_faults,
            Part::Chunks => &mut self.chunks_faults,
        }
    }
}
