//! A node's disk: the faulty twin, through the lives of the processes that use it.

use adjourn::storage::faulty::{Fault, FaultyDisk, FaultyStorage};
use adjourn::storage::{LogEntry, PersistBatch, Recovered, Storage, StorageError};

use super::seen::End;

/// A disk.
pub(super) struct Disk {
    device: Device,
    /// Writes and syncs of the processes before this one.
    steps_before: u64,
    /// What goes wrong next, at which step since the first.
    armed: Option<(u64, Fault)>,
}

enum Device {
    AtRest(Box<FaultyDisk>),
    InUse(Box<FaultyStorage>),
}

impl Disk {
    /// A new one. If its syncs lie, they do nothing and say that they did.
    pub(super) fn new(seed: u64, syncs_lie: bool) -> Self {
        let mut disk = FaultyDisk::new(seed);
        if syncs_lie {
            disk.lie_about_syncs();
        }
        Self { device: Device::AtRest(Box::new(disk)), steps_before: 0, armed: None }
    }

    /// A process opens it and reads the log.
    pub(super) fn open(&mut self) -> Result<(Recovered, Vec<LogEntry>), StorageError> {
        let Device::AtRest(disk) =
            std::mem::replace(&mut self.device, Device::AtRest(Box::new(FaultyDisk::new(0))))
        else {
            panic!("two processes use one disk");
        };
        let mut storage = disk.open()?;
        let recovered = storage.recovered();
        let mut log = Vec::new();
        storage.replay(recovered.first_index, &mut |entry| {
            log.push(entry);
            Ok(())
        })?;
        self.device = Device::InUse(Box::new(storage));
        self.rearm();
        Ok((recovered, log))
    }

    /// Writes and syncs so far.
    pub(super) fn steps(&self) -> u64 {
        match &self.device {
            Device::AtRest(_) => self.steps_before,
            Device::InUse(storage) => self.steps_before + storage.steps(),
        }
    }

    /// Something goes wrong at this step, counted from the very first; in a later process if this one does not get there.
    pub(super) fn arm(&mut self, step: u64, fault: Fault) {
        self.armed = Some((step, fault));
        self.rearm();
    }

    /// Nothing goes wrong any more.
    pub(super) fn disarm(&mut self) {
        self.armed = None;
        if let Device::InUse(storage) = &mut self.device {
            storage.arm(u64::MAX - storage.steps(), Fault::Failure);
        }
    }

    /// As [`Storage::persist`]; on a failure says how the process ends.
    pub(super) fn persist(&mut self, batch: &PersistBatch) -> Result<(), End> {
        self.do_or_die(|storage| storage.persist(batch))
    }

    /// As [`Storage::write_watermark`].
    pub(super) fn write_watermark(&mut self) -> Result<(), End> {
        self.do_or_die(Storage::write_watermark)
    }

    /// The process that uses it is gone; and the power, if that is why.
    pub(super) fn close(&mut self, why: End) {
        self.steps_before = self.steps();
        // A fault that has struck is over.
        self.armed = self.armed.filter(|(step, _)| *step >= self.steps_before);
        let device = std::mem::replace(&mut self.device, Device::AtRest(Box::new(FaultyDisk::new(0))));
        self.device = match device {
            Device::InUse(storage) if why == End::PowerCut => Device::AtRest(Box::new(storage.crash())),
            Device::InUse(storage) => Device::AtRest(Box::new(storage.kill())),
            at_rest @ Device::AtRest(_) => at_rest,
        };
    }

    fn do_or_die(
        &mut self,
        action: impl FnOnce(&mut FaultyStorage) -> Result<(), StorageError>,
    ) -> Result<(), End> {
        let Device::InUse(storage) = &mut self.device else { panic!("nobody uses the disk") };
        action(storage).map_err(|_| match self.armed {
            Some((_, Fault::PowerCut)) => End::PowerCut,
            _ => End::DiskFailed,
        })
    }

    fn rearm(&mut self) {
        let steps_before = self.steps_before;
        if let (Device::InUse(storage), Some((step, fault))) = (&mut self.device, self.armed) {
            storage.arm(step.saturating_sub(steps_before + storage.steps()), fault);
        }
    }
}
