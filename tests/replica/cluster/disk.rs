//! A node's disk: the simulated disks of the log and of the folder of checkpoints, and what the server's threads do with them,
//! at once.

use adjourn_raft::Wanted;
use adjourn_replica::{CheckpointOrder, Input};
use adjourn_storage::folder::{Folder as _, SimulatedFolder};
use adjourn_storage::{
    CheckpointWriter, Fault, LogEntry, PersistBatch, Recovered, Restored, SimulatedDisk, SimulatedStorage,
    Storage as _, checkpoint,
};

/// A disk.
pub(crate) struct Disk {
    log: Device,
    pub(crate) chunks: SimulatedFolder,
    /// A checkpoint that is being written, and the entry it stands for.
    writing: Option<(u64, CheckpointWriter<SimulatedFolder>)>,
    /// Written chunks cannot be read again.
    pub(crate) spoils: bool,
    /// The power goes at this step of the next install, counted in the folders.
    pub(crate) install_cut_at: Option<u64>,
}

enum Device {
    AtRest(Box<SimulatedDisk>),
    InUse(Box<SimulatedStorage>),
}

impl Disk {
    /// One that begins with this, and is at rest.
    pub(crate) fn new(first: &PersistBatch) -> Self {
        let chunks = SimulatedFolder::new(1);
        chunks.complete_install().expect("it is new");
        let mut storage = SimulatedDisk::new(1).open_beside(&chunks, None).expect("it is new");
        storage.persist(first).expect("nothing fails");
        Self {
            log: Device::AtRest(Box::new(storage.kill())),
            chunks,
            writing: None,
            spoils: false,
            install_cut_at: None,
        }
    }

    /// A process opens it.
    pub(crate) fn open(&mut self) -> (Recovered, Option<Restored>) {
        self.chunks.complete_install().expect("nothing fails");
        let restored = checkpoint::restore_own(&self.chunks).expect("it can be read");
        let base = restored.as_ref().map(|restored| restored.base);
        let at_rest = Device::AtRest(Box::new(SimulatedDisk::new(1)));
        let Device::AtRest(disk) = std::mem::replace(&mut self.log, at_rest) else {
            panic!("two processes use one disk")
        };
        let storage = disk.open_beside(&self.chunks, base).expect("it is whole");
        let recovered = storage.recovered();
        self.log = Device::InUse(Box::new(storage));
        (recovered, restored)
    }

    /// The process that uses it is gone.
    pub(crate) fn close(&mut self) {
        self.end(SimulatedStorage::kill);
        self.chunks = self.chunks.kill();
    }

    /// The power of the node that uses it is gone.
    pub(crate) fn cut_power(&mut self) {
        self.end(SimulatedStorage::crash);
        self.chunks = self.chunks.crash();
    }

    fn end(&mut self, left: impl FnOnce(SimulatedStorage) -> SimulatedDisk) {
        self.writing = None;
        let at_rest = Device::AtRest(Box::new(SimulatedDisk::new(1)));
        self.log = match std::mem::replace(&mut self.log, at_rest) {
            Device::InUse(storage) => Device::AtRest(Box::new(left(*storage))),
            at_rest @ Device::AtRest(_) => at_rest,
        };
    }

    /// The log from an entry on.
    pub(crate) fn log(&mut self, first: u64) -> Vec<LogEntry> {
        let mut log = Vec::new();
        let read = self.in_use().replay(first, &mut |entry| {
            log.push(entry);
            Ok(())
        });
        read.expect("it is whole");
        log
    }

    /// Makes a batch durable. False if the power goes meanwhile.
    pub(crate) fn persist(&mut self, batch: &PersistBatch) -> bool {
        if batch.install.is_some()
            && let Some(step) = self.install_cut_at.take()
        {
            self.chunks.arm(step, Fault::PowerCut);
            self.in_use().persist(batch).expect_err("the power is gone");
            return false;
        }
        self.in_use().persist(batch).expect("nothing fails");
        self.in_use().write_watermark().expect("nothing fails");
        true
    }

    pub(crate) fn read(&mut self, wanted: Wanted) -> Vec<LogEntry> {
        let Wanted { first, last, bytes_max } = wanted;
        self.in_use().read(first, last, bytes_max).expect("nothing fails")
    }

    pub(crate) fn cut(&mut self, through: u64) {
        self.in_use().cut(through).expect("nothing fails");
        self.in_use().do_chores().expect("nothing fails");
    }

    /// Does what the checkpoint thread does, and says what there is to say of it.
    pub(crate) fn checkpoint(&mut self, order: CheckpointOrder) -> Option<Input> {
        match order {
            CheckpointOrder::Begin(begin) => {
                let (index, folder) = (begin.index, self.chunks.clone());
                let writer = CheckpointWriter::begin(folder, *begin).expect("nothing fails");
                self.writing = Some((index, writer));
                None
            }
            CheckpointOrder::Sessions(sessions) => {
                let (_, writer) = self.writing.as_mut().expect("it was begun");
                writer.add_sessions(&sessions);
                Some(Input::CheckpointTook)
            }
            CheckpointOrder::Jobs(jobs) => {
                let (_, writer) = self.writing.as_mut().expect("it was begun");
                writer.add(&jobs).expect("nothing fails");
                Some(Input::CheckpointTook)
            }
            CheckpointOrder::End => {
                let (index, writer) = self.writing.take().expect("it was begun");
                let base = self.in_use().base_at(index).expect("it is in the log");
                let sealed = writer.seal(base).expect("nothing fails");
                let done = sealed.publish().expect("nothing fails");
                if self.spoils {
                    self.spoil(&(200..1 << 20).step_by(1024).collect::<Vec<_>>());
                }
                Some(Input::CheckpointDone(Box::new(done)))
            }
            CheckpointOrder::Abandon => self.writing.take().map(|_| Input::CheckpointAbandoned),
        }
    }

    /// Flips a bit in each of these bytes of each chunk that is so long.
    pub(crate) fn spoil(&self, places: &[u64]) {
        let names = self.chunks.list().expect("it can be listed");
        let chunks = names.iter().filter(|name| name.starts_with("chunk-"));
        let flip =
            |name: &&String| places.iter().filter(|at| self.chunks.flip_bit(name, *at * 8)).count() > 0;
        assert!(chunks.filter(flip).count() > 0, "{names:?}");
    }

    fn in_use(&mut self) -> &mut SimulatedStorage {
        match &mut self.log {
            Device::InUse(storage) => storage,
            Device::AtRest(_) => panic!("nobody uses the disk"),
        }
    }
}
