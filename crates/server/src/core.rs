//! The core: it owns the replica, passes events to it, and carries out its outputs. It is the [actor](Actor) of the server:
//! a thread of its own and a task of the runtime run it in turns.
//!
//! It passes all waiting inputs before it asks for outputs, so its batches grow with the load. The replica bounds
//! the work of clients in one turn; messages of members come in between. The core never waits for a connection. The disk
//! thread writes and syncs, unless nothing waits for the core meanwhile. The core itself reads a job that is only on
//! disk, mostly from the system's cache. With nothing to do it rests until an input or the next deadline.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::sync::{broadcast, oneshot};
use tracing::{error, info, warn};

use super::audit::Audit;
use super::checkpoint::ToCheckpoint;
use super::clock::NodeClock;
use super::disk::{DiskHandle, Persisted, ToDisk};
use super::mailbox::{Actor, Mailbox, Runner};
use super::outbox::{Gone, Outbox, ToBackup};
use super::peers::Peers;
use super::stages::{Buckets, Stages};
use adjourn_engine::JobEvent;
use adjourn_protocol::{RequestId, Response};
use adjourn_replica::{
    Arrival, CalledBack, ConnectionId, HeldMemory, Input, Notice, Observation, Output, ProbeError, Replica,
    WriteBatch,
};
use adjourn_storage::StorageError;
use adjourn_types::Access;

/// Inputs of the core.
#[derive(Debug)]
pub(super) enum ToCore {
    /// A client has said a valid HELLO.
    Connected {
        /// The new connection.
        connection: ConnectionId,
        /// The address, the access and the session secret of the client.
        arrival: Arrival,
        /// The queue of its output.
        outbox: Outbox,
    },
    /// This batch, and all before it, are durable.
    Persisted(Persisted),
    /// Any other input of the replica.
    Input(Input),
    /// The result of a fetch. Only the result of the last fetch is valid: the files of an earlier one may be gone.
    SnapshotFetch {
        /// The number of the fetch.
        number: u64,
        /// The input for the replica.
        input: Input,
    },
    /// Report the state of the node, and of the queue as far as this access may see it.
    Observe(Option<Arc<Access>>, oneshot::Sender<Box<Observed>>),
    /// Send events of jobs from here on.
    WatchJobs(oneshot::Sender<broadcast::Receiver<JobEvent>>),
    /// List the topics with call-backs.
    CalledBack(oneshot::Sender<Vec<CalledBack>>),
    /// End now. What is not durable yet is lost.
    Abort,
    /// The same, for this reason.
    Failed(StorageError),
}

/// The state of a node, as it shows it.
#[derive(Debug)]
pub struct Observed {
    /// The state of its replica.
    pub observation: Observation,
    /// The time spent in each stage since the start, as in STATS.
    pub stages: [(&'static str, Buckets); 4],
}

/// The core's own state.
pub(super) struct Core {
    replica: Replica,
    outboxes: BTreeMap<ConnectionId, Outbox>,
    disk: DiskHandle,
    checkpoint: Sender<ToCheckpoint>,
    /// The number of the last batch given to the disk thread, and of the last durable one.
    ordered: u64,
    durable: u64,
    /// The connections to other nodes, if it may have any.
    peers: Option<Peers>,
    /// The number of checkpoint fetches ordered so far.
    fetches: u64,
    clock: NodeClock,
    audit: Audit,
    stages: Stages,
    /// The wall clock by which jobs are due, when the last turn that applied entries had ended.
    wall: Duration,
    /// Unreadable data is not logged again before this time: clients may ask for it as often as they like.
    next_unreadable: Duration,
    /// Signalled once, when the node serves.
    readiness: Option<oneshot::Sender<()>>,
    /// Events for those that watch jobs.
    events: broadcast::Sender<JobEvent>,
    turn: CoreTurn,
}

/// The turn under way, or the last one.
#[derive(Debug)]
struct CoreTurn {
    outputs: Vec<Output>,
    /// True if it has taken at most one input, and waited for no disk.
    is_lone: bool,
    /// How it ended.
    next: Next,
}

/// How the core's loop continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Stopped,
    Aborted,
}

/// The result of carrying out outputs.
#[derive(Default)]
struct Done {
    stopped: bool,
    failed: Option<StorageError>,
    /// Inputs for the replica that follow from it.
    inputs: Vec<Input>,
}

/// Inputs handled before outputs are asked for: a bound on how long the first of them waits.
const INPUTS_PER_POLL_MAX: usize = 1024;

/// Inputs with at most this many bytes in them are brief work.
pub(super) const BRIEF_BYTES_MAX: usize = 16 << 10;

/// Events of jobs that are kept for watchers; a watcher that is further behind misses some.
const EVENTS_KEPT_MAX: usize = 16_384;

/// The shortest interval between two log lines about unreadable data.
const UNREADABLE_LINE_EVERY: Duration = Duration::from_secs(10);

/// The handle that sends inputs to the core.
pub(super) type CoreMailbox = Mailbox<Box<Core>>;
/// Runs the core on its thread.
pub(super) type CoreRunner = Runner<Box<Core>>;

impl Actor for Box<Core> {
    type Input = ToCore;

    fn turn(&mut self, inputs: &mut VecDeque<ToCore>, more_wait: &dyn Fn() -> bool) -> bool {
        self.turn.next = self.take_in(inputs);
        if self.turn.next == Next::GoOn {
            self.turn.next = self.act(more_wait);
        }
        self.turn.next == Next::GoOn
    }

    fn wakes_at(&mut self) -> Duration {
        Duration::from_micros(self.replica.next_wake_us())
    }

    fn end(mut self, unhandled: VecDeque<ToCore>) {
        // Clients that connected in the meantime are told of the end like the others.
        for late in unhandled {
            if let ToCore::Connected { connection, outbox, .. } = late {
                self.outboxes.insert(connection, outbox);
            }
        }
        let farewell: fn(&Outbox) = if self.turn.next == Next::Stopped { Outbox::close } else { Outbox::cut };
        self.outboxes.values().for_each(farewell);
        self.disk.send(ToDisk::Finish);
        // A checkpoint thread that is gone has failed, and reports that itself.
        let _ = self.checkpoint.send(ToCheckpoint::Finish);
    }
}

impl Core {
    /// A core with a started replica.
    pub(super) fn new(
        replica: Replica,
        disk: DiskHandle,
        checkpoint: Sender<ToCheckpoint>,
        peers: Option<Peers>,
        clock: NodeClock,
        audit: Audit,
        readiness: oneshot::Sender<()>,
    ) -> Self {
        Self {
            replica,
            outboxes: BTreeMap::new(),
            disk,
            checkpoint,
            ordered: 0,
            durable: 0,
            peers,
            fetches: 0,
            audit,
            stages: Stages::new(clock.elapsed()),
            clock,
            wall: Duration::ZERO,
            next_unreadable: Duration::ZERO,
            readiness: Some(readiness),
            events: broadcast::Sender::new(EVENTS_KEPT_MAX),
            turn: CoreTurn { outputs: Vec::new(), is_lone: false, next: Next::GoOn },
        }
    }

    /// Handles waiting inputs, as many as one turn takes.
    fn take_in(&mut self, inputs: &mut VecDeque<ToCore>) -> Next {
        let mut now = self.clock.now();
        let taken = inputs.len().min(INPUTS_PER_POLL_MAX);
        self.turn.is_lone = taken <= 1;
        for input in inputs.drain(..taken) {
            match input {
                ToCore::Abort => return Next::Aborted,
                // The asker has given up.
                ToCore::Observe(_, asker) if asker.is_closed() => {}
                ToCore::Observe(access, asker) => {
                    let observation = self.replica.observe(access.as_deref());
                    let stages = self.stages.since_start();
                    // An asker that has given up misses it.
                    let _ = asker.send(Box::new(Observed { observation, stages }));
                }
                ToCore::CalledBack(asker) => {
                    // As above.
                    let _ = asker.send(self.replica.called_back());
                }
                ToCore::WatchJobs(asker) => {
                    // As above.
                    let _ = asker.send(self.events.subscribe());
                }
                ToCore::Failed(error) => return self.fail(error),
                ToCore::Connected { connection, arrival, outbox } => {
                    self.outboxes.insert(connection, outbox);
                    self.replica.handle(now, Input::Connected { connection, arrival });
                }
                // Reported once for each connection: one that was found gone has been reported already.
                ToCore::Input(Input::Disconnected { connection })
                    if self.outboxes.remove(&connection).is_none() => {}
                ToCore::Input(Input::Requests { connection, .. })
                    if !self.outboxes.contains_key(&connection) => {}
                ToCore::SnapshotFetch { number, .. } if number != self.fetches => {}
                ToCore::Persisted(persisted) => {
                    let input = self.persisted(persisted);
                    self.replica.handle(now, input);
                }
                ToCore::Input(input @ Input::Peer { .. }) => {
                    // It carries the sender's stamp of a moment ago, which may be later than when this turn began.
                    now = self.clock.now();
                    self.replica.handle(now, input);
                }
                ToCore::Input(Input::Stop) => {
                    self.disk.wait_for_room_no_longer();
                    self.replica.handle(now, Input::Stop);
                }
                ToCore::Input(input) | ToCore::SnapshotFetch { input, .. } => self.replica.handle(now, input),
            }
        }
        Next::GoOn
    }

    /// Asks for outputs and carries them out, until there are none.
    fn act(&mut self, more_wait: &dyn Fn() -> bool) -> Next {
        loop {
            let mut outputs = mem::take(&mut self.turn.outputs);
            self.poll(&mut outputs);
            let mut done = Done::default();
            if let Some(persisted) = self.commit(&outputs, more_wait) {
                outputs.clear();
                match persisted {
                    Ok(persisted) => done.inputs.push(self.persisted(persisted)),
                    Err(error) => done.failed = Some(error),
                }
            }
            for output in outputs.drain(..) {
                self.carry_out(output, &mut done);
            }
            self.turn.outputs = outputs;
            let Done { stopped, failed, inputs } = done;
            if let Some(error) = failed {
                return self.fail(error);
            }
            if stopped {
                return Next::Stopped;
            }
            if inputs.is_empty() {
                return Next::GoOn;
            }
            let now = self.clock.now();
            for input in inputs {
                self.replica.handle(now, input);
            }
        }
    }

    /// Makes a batch durable at once if nothing waits for this thread: the batch is small and the only output of one
    /// input, and no other input has come. Handing it to the disk thread and waiting for its report takes longer than most
    /// turns. Never on a node with other members: they must hear from it even while the disk hangs. A volatile batch needs
    /// no sync: it is handed over whatever else waits.
    fn commit(
        &mut self,
        outputs: &[Output],
        more_wait: &dyn Fn() -> bool,
    ) -> Option<Result<Persisted, StorageError>> {
        let write = brief_write(outputs)?;
        if self.durable < self.ordered || !self.replica.is_alone() {
            return None;
        }
        if !write.is_volatile && (!self.turn.is_lone || more_wait()) {
            return None;
        }
        self.turn.is_lone &= write.is_volatile;
        self.disk.persist(write)
    }

    /// Notes that a batch is durable.
    fn persisted(&mut self, persisted: Persisted) -> Input {
        let Persisted { number, times } = persisted;
        if let Some(times) = times {
            self.stages.committed(times);
        }
        self.durable = number;
        Input::Persisted { number }
    }

    /// One turn of the replica. It is timed if it applied entries; only such a turn grants jobs.
    fn poll(&mut self, outputs: &mut Vec<Output>) {
        let (now, applied) = (self.clock.now(), self.replica.applied_index());
        let is_watched = self.events.receiver_count() > 0;
        self.replica.watch_jobs(is_watched);
        self.replica.poll(now, outputs);
        self.clock.show_queue(self.replica.clock_us());
        if is_watched {
            for event in self.replica.take_job_events() {
                // The last watcher may have gone meanwhile.
                let _ = self.events.send(event);
            }
        }
        if self.replica.applied_index() == applied {
            return;
        }
        let ended = self.clock.elapsed();
        let took = ended.saturating_sub(Duration::from_micros(now.elapsed_us));
        self.stages.advance(ended);
        self.stages.apply.record(took);
        self.wall = Duration::from_micros(self.replica.wall_us()) + took;
    }

    /// Records how late first deliveries are, charges a client for what it pushed, and adds the times of stages to answers to STATS.
    fn measure(&mut self, connection: ConnectionId, responses: &mut [(RequestId, Response)]) {
        for (_, response) in responses {
            match response {
                Response::Reserved(jobs) | Response::Deliver(jobs) => {
                    for job in jobs.iter().filter(|job| job.attempts == 1) {
                        self.stages
                            .lateness
                            .record(self.wall.saturating_sub(Duration::from_millis(job.due.0)));
                    }
                }
                Response::ScheduleFilled(_) => {
                    if let Some(outbox) = self.outboxes.get(&connection) {
                        outbox.charge(response);
                    }
                }
                Response::Stats(stats) => {
                    self.stages.advance(self.clock.elapsed());
                    stats.stages = self.stages.report();
                }
                _ => {}
            }
        }
    }

    fn carry_out(&mut self, output: Output, done: &mut Done) {
        match output {
            Output::Send { connection, mut responses, answers, memory } => {
                self.measure(connection, &mut responses);
                if self.send(connection, responses, answers, memory).is_err() {
                    self.outboxes.remove(&connection);
                    done.inputs.push(Input::Disconnected { connection });
                }
            }
            Output::Persist(write) => {
                self.ordered = write.number;
                self.disk.send(ToDisk::Persist(write));
            }
            Output::Close { connection } => {
                if let Some(outbox) = self.outboxes.get(&connection) {
                    outbox.close();
                }
            }
            Output::Checkpoint(order) => {
                // A checkpoint thread that is gone has failed, and reports that itself.
                let _ = self.checkpoint.send(ToCheckpoint::Order(order));
            }
            Output::Backup { connection, request, backup } => {
                if let Some(outbox) = self.outboxes.get(&connection) {
                    outbox.backup(ToBackup::Ready(request, backup));
                }
            }
            Output::Cut { through } => self.disk.send(ToDisk::Cut { through }),
            Output::Fetch(wanted) => self.disk.send(ToDisk::Fetch(wanted)),
            Output::Peer { .. }
            | Output::Members { .. }
            | Output::Probe { .. }
            | Output::FetchSnapshot { .. } => self.reach_out(output, done),
            Output::Failed(error) => done.failed = Some(error),
            Output::Notice(notice) => self.notice(&notice),
            Output::Audited(audited) => self.audit.request(*audited),
            Output::Stopped => done.stopped = true,
        }
    }

    fn reach_out(&mut self, output: Output, done: &mut Done) {
        let Some(peers) = &self.peers else {
            if let Output::Probe { address } = output {
                let why = "this node has no peer_listen: other nodes could not reach it".to_owned();
                let found = Err(ProbeError::Refused { address: address.clone(), why });
                done.inputs.push(Input::Probed { address, found });
            }
            return;
        };
        match output {
            Output::Peer { to, bundle } => peers.send(to, bundle),
            Output::Members { members, removed, feature_level } => {
                peers.members(members, removed, feature_level);
            }
            Output::Probe { address } => peers.probe(address),
            Output::FetchSnapshot { from, index } => {
                self.fetches += 1;
                peers.fetch_snapshot(self.fetches, from, index);
            }
            _ => {}
        }
    }

    /// Ends the node with this error, and the disk thread with it.
    fn fail(&self, error: StorageError) -> Next {
        self.disk.send(ToDisk::Fail(error));
        Next::Aborted
    }

    fn send(
        &self,
        connection: ConnectionId,
        responses: Vec<(RequestId, Response)>,
        answers: u32,
        memory: HeldMemory,
    ) -> Result<(), Gone> {
        self.outboxes.get(&connection).map_or(Ok(()), |outbox| outbox.send(responses, answers, memory))
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Leading { term } => {
                info!(term, "leading");
                if let Some(readiness) = self.readiness.take() {
                    // A start that was given up does not wait for this.
                    let _ = readiness.send(());
                }
            }
            Notice::Following { term } => info!(term, "no longer leading"),
            Notice::Follows { leader } => info!(leader, "following"),
            Notice::Removed => {
                warn!("this node was removed from the cluster: stop it; its data is no longer needed");
            }
            Notice::StateDiffers { node, index } => {
                error!(
                    node,
                    index,
                    "the state of a member is not what it is here: this is an error in the program or in a machine. \
                     `adjourn cluster status` shows who differs; cluster/README.md says what to do"
                );
            }
            Notice::StateOutvoted { index } => {
                error!(
                    index,
                    "the state of this node is not that of most members: this is an error in the program or in this \
                     machine. It serves nobody from here on. Keep its data directory, remove it from the cluster, and add a \
                     node under another number"
                );
                if let Some(peers) = &self.peers {
                    peers.stop_sending_snapshots();
                }
            }
            Notice::StateLost { what } => {
                error!("a part of the state cannot be read, and is fetched from another member: {what}");
            }
            Notice::ClockOutside { by_ms } => {
                warn!(
                    by_ms,
                    "the wall clock differs from those of most members: set it; this node does not lead meanwhile"
                );
            }
            Notice::Unreadable { what } => {
                let now = self.clock.elapsed();
                if now >= self.next_unreadable {
                    error!("a client was told UNREADABLE: {what}");
                    self.next_unreadable = now + UNREADABLE_LINE_EVERY;
                }
            }
            Notice::ScheduleUnreadable { schedule, why } => {
                warn!(%schedule, %why, "a schedule is not fired: its rules cannot be read on this node");
            }
            Notice::ClockStepped { by_ms } => {
                warn!(
                    by_ms,
                    "the wall clock was set: absolute due times follow it, delays and leases do not"
                );
            }
        }
    }
}

/// The batch to write, if it is the only output and small enough to take little time on a quick disk.
fn brief_write(outputs: &[Output]) -> Option<&WriteBatch> {
    let [Output::Persist(write)] = outputs else { return None };
    (write.batch.install.is_none() && write.batch.data_bytes() <= BRIEF_BYTES_MAX).then_some(write)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use adjourn_storage::{EntryKind, LogEntry, PersistBatch};

    fn persist(batch: PersistBatch) -> Output {
        Output::Persist(WriteBatch { number: 1, since_us: 0, batch, is_volatile: false })
    }

    fn entry(bytes: usize) -> PersistBatch {
        let data = Bytes::from(vec![0; bytes]);
        let entries = vec![LogEntry { index: 1, term: 1, kind: EntryKind::Normal, data }];
        PersistBatch { entries, ..PersistBatch::default() }
    }

    #[test]
    fn only_one_small_batch_is_written_by_the_core() {
        assert!(brief_write(&[persist(entry(BRIEF_BYTES_MAX))]).is_some());
        assert!(brief_write(&[persist(entry(BRIEF_BYTES_MAX + 1))]).is_none(), "a large one");
        let install = PersistBatch { install: Some(9), ..entry(1) };
        assert!(brief_write(&[persist(install)]).is_none(), "a whole checkpoint");
        let other = Output::Close { connection: ConnectionId(1) };
        assert!(brief_write(&[persist(entry(1)), other]).is_none(), "somebody waits for the other output");
        assert!(brief_write(&[]).is_none());
    }
}
