//! A replica, and a disk and clients that do what the test says.

use std::collections::VecDeque;

use adjourn_protocol::{
    ErrorCode, Hello, NewJob, Push, PushResult, Request, RequestId, Response, Subscribe, VERSION, VERSION_MIN,
};
use adjourn_replica::{
    Arrival, Audited, CheckpointOrder, ConnectionId, HeldMemory, Input, MemoryAccount, Now, Output, Permit,
    Replica, ReplicaConfig,
};
use adjourn_storage::folder::SimulatedFolder;
use adjourn_storage::{CheckpointWriter, LogBase, Recovered, SealedCheckpoint};
use adjourn_types::{FEATURE_LEVEL, JobId, Millis, RetryDefaults, SessionSecret, TopicName};

pub(crate) const LARGE_BYTES: usize = 65 << 10;
pub(crate) const UNCOMMITTED_BYTES_MAX: usize = 1 << 20;
/// How long the leases of a lost connection are kept.
pub(crate) const GRACE_MS: u64 = 3_000;
/// What a connection may have unwritten.
pub(crate) const OUTPUT_BYTES_MAX: usize = 256 << 10;

pub(crate) fn hello() -> Hello {
    Hello { version_min: VERSION_MIN, version_max: VERSION, ..Hello::default() }
}

pub(crate) fn jobs() -> Vec<TopicName> {
    vec!["jobs".parse().expect("a name")]
}

/// A replica and a disk that is told when to be done.
pub(crate) struct Rig {
    pub(crate) replica: Replica,
    pub(crate) at: Now,
    pub(crate) orders: VecDeque<u64>,
    /// Those of all orders that may be lost.
    pub(crate) volatile: Vec<u64>,
    pub(crate) answers: Vec<(ConnectionId, RequestId, Response)>,
    /// How many of them the replica says answer a request.
    pub(crate) answered: usize,
    /// What an auditor was told.
    pub(crate) audited: Vec<Audited>,
    /// How many checkpoints were begun.
    pub(crate) checkpoints: usize,
    /// The memory of answers that no socket takes; `None` if sockets take all.
    pub(crate) unwritten: Option<Vec<(ConnectionId, HeldMemory)>>,
    /// What clients make the node take.
    pub(crate) account: MemoryAccount,
    /// Where they are written, if they are.
    pub(crate) folder: SimulatedFolder,
    writer: Option<(CheckpointWriter<SimulatedFolder>, LogBase)>,
    /// What of them is to be written.
    checkpoint_orders: VecDeque<CheckpointOrder>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with_checkpoints(64 << 20)
    }

    /// Checkpoints are due when the log has grown by this number of bytes. [`Self::write_checkpoints`] writes them.
    pub(crate) fn with_checkpoints(checkpoint_log_bytes: u64) -> Self {
        let account = MemoryAccount::default();
        let config = ReplicaConfig {
            node: 1,
            cluster_id: [1; 16],
            storage_id: [3; 16],
            founder: true,
            peer_address: String::new(),
            feature_level_max: FEATURE_LEVEL,
            entropy: [2; 32],
            server_name: "crowded".to_owned(),
            client_address: "here".to_owned(),
            body_bytes_max: 1 << 20,
            heartbeat_ms: 10_000,
            retry_defaults: RetryDefaults::NONE,
            session_grace_ms: GRACE_MS,
            zones: adjourn_calendar::ZoneData::bundled(),
            output_bytes_max: OUTPUT_BYTES_MAX,
            uncommitted_bytes_max: UNCOMMITTED_BYTES_MAX,
            memory_max_bytes: 0,
            memory_account: account.clone(),
            checkpoint_log_bytes,
        };
        let at = Now { elapsed_us: 0, wall: Millis(1_790_000_000_000) };
        let replica =
            Replica::recover(config, Recovered { first_index: 1, ..Recovered::default() }, None).start(at);
        let mut rig = Self {
            replica,
            at,
            orders: VecDeque::new(),
            volatile: Vec::new(),
            answers: Vec::new(),
            answered: 0,
            audited: Vec::new(),
            checkpoints: 0,
            unwritten: None,
            account,
            folder: SimulatedFolder::new(0),
            writer: None,
            checkpoint_orders: VecDeque::new(),
        };
        rig.poll();
        rig.settle();
        rig
    }

    /// Writes what is to be written of checkpoints, until one is there and nothing is left to do for it.
    pub(crate) fn write_checkpoints(&mut self) {
        while let Some(order) = self.checkpoint_orders.pop_front() {
            let done = match order {
                CheckpointOrder::Begin(begin) => {
                    let base = LogBase { index: begin.index, term: begin.term, crc: 0 };
                    let writer = CheckpointWriter::begin(self.folder.clone(), *begin).expect("begun");
                    self.writer = Some((writer, base));
                    None
                }
                CheckpointOrder::Sessions(sessions) => {
                    self.writer().add_sessions(&sessions);
                    Some(Input::CheckpointTook)
                }
                CheckpointOrder::Jobs(jobs) => {
                    self.writer().add(&jobs).expect("written");
                    Some(Input::CheckpointTook)
                }
                CheckpointOrder::End => {
                    let (writer, base) = self.writer.take().expect("one has begun");
                    let checkpoint = writer.seal(base).and_then(SealedCheckpoint::publish).expect("there");
                    Some(Input::CheckpointDone(Box::new(checkpoint)))
                }
                CheckpointOrder::Abandon => panic!("nothing is in its way"),
            };
            if let Some(done) = done {
                self.replica.handle(self.at, done);
            }
            (0..20).for_each(|_| self.poll());
            self.settle();
        }
    }

    fn writer(&mut self) -> &mut CheckpointWriter<SimulatedFolder> {
        &mut self.writer.as_mut().expect("one has begun").0
    }

    pub(crate) fn poll(&mut self) {
        self.at = Now { elapsed_us: self.at.elapsed_us + 1000, wall: self.at.wall.after(1) };
        let mut outputs = Vec::new();
        self.replica.poll(self.at, &mut outputs);
        for output in outputs {
            match output {
                Output::Persist(order) => {
                    self.orders.push_back(order.number);
                    self.volatile.extend(order.is_volatile.then_some(order.number));
                }
                Output::Checkpoint(order) => {
                    self.checkpoints += usize::from(matches!(order, CheckpointOrder::Begin(_)));
                    self.checkpoint_orders.push_back(order);
                }
                Output::Send { connection, responses, answers, memory } => {
                    self.answered += answers as usize;
                    if let Some(unwritten) = &mut self.unwritten {
                        unwritten.push((connection, memory));
                    }
                    self.answers
                        .extend(responses.into_iter().map(|(id, response)| (connection, id, response)));
                }
                Output::Audited(audited) => self.audited.push(*audited),
                _ => {}
            }
        }
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.at = Now { elapsed_us: self.at.elapsed_us + ms * 1000, wall: self.at.wall.after(ms) };
        self.poll();
    }

    /// Asks the replica again when it wants to be, as the driver does if nothing happens; the disk is fast. How long that
    /// is, in microseconds.
    pub(crate) fn wake(&mut self) -> u64 {
        let sleep_us = self.replica.next_wake_us().saturating_sub(self.at.elapsed_us);
        self.at.elapsed_us += sleep_us;
        self.at.wall = self.at.wall.after(sleep_us / 1000);
        self.poll();
        self.settle();
        sleep_us
    }

    /// The oldest order is durable.
    pub(crate) fn written(&mut self) {
        let number = self.orders.pop_front().expect("something is being written");
        self.replica.handle(self.at, Input::Persisted { number });
        self.poll();
    }

    pub(crate) fn settle(&mut self) {
        while !self.orders.is_empty() {
            self.written();
        }
    }

    /// Connects and says nothing.
    pub(crate) fn open(&mut self, number: u64) -> ConnectionId {
        self.open_as(number, Arrival::open(SessionSecret([3; 16]), "10.0.0.9:1"))
    }

    /// The same, for one who may do this.
    pub(crate) fn open_as(&mut self, number: u64, arrival: Arrival) -> ConnectionId {
        let connection = ConnectionId(number);
        self.replica.handle(self.at, Input::Connected { connection, arrival });
        connection
    }

    pub(crate) fn connect(&mut self, number: u64) -> ConnectionId {
        let connection = self.open(number);
        self.ask(connection, 0, Request::Hello(hello()));
        self.settle();
        connection
    }

    /// A client is gone.
    pub(crate) fn disconnect(&mut self, connection: ConnectionId) {
        self.replica.handle(self.at, Input::Disconnected { connection });
        self.poll();
        self.settle();
    }

    pub(crate) fn ask(&mut self, connection: ConnectionId, id: u32, request: Request) {
        self.replica.handle(
            self.at,
            Input::Requests {
                connection,
                from: None,
                requests: vec![(RequestId(id), request)],
                permit: Permit::default(),
            },
        );
        self.poll();
    }

    pub(crate) fn is_answered(&self, connection: ConnectionId, id: u32) -> bool {
        self.answers.iter().any(|(to, of, _)| (*to, *of) == (connection, RequestId(id)))
    }

    #[track_caller]
    pub(crate) fn answer(&self, connection: ConnectionId, id: u32) -> &Response {
        let found = self.answers.iter().find(|(to, of, _)| (*to, *of) == (connection, RequestId(id)));
        &found.expect("it was answered").2
    }

    pub(crate) fn push(&mut self, connection: ConnectionId, id: u32, topic: &str, bytes: usize) {
        let jobs = vec![NewJob::new(vec![b'x'; bytes])];
        let topic = topic.parse().expect("a name");
        self.ask(connection, id, Request::Push(Push { topic, sequence: 0, jobs, idempotency: None }));
    }

    /// The socket took `bytes` of the output.
    pub(crate) fn take(&mut self, connection: ConnectionId, bytes: usize) {
        self.replica.handle(self.at, Input::Written { connection, bytes });
        self.poll();
        self.settle();
    }

    /// Takes everything that is sent to a connection, piece by piece; the attempts of the jobs in it.
    pub(crate) fn take_all(&mut self, connection: ConnectionId) -> Vec<u32> {
        let mut taken = 0;
        loop {
            let sent: usize = self.sent(connection).map(Response::weight_bytes).sum();
            if sent == taken {
                break;
            }
            assert!(sent - taken < OUTPUT_BYTES_MAX + LARGE_BYTES + 1024, "{} unwritten", sent - taken);
            self.take(connection, sent - taken);
            taken = sent;
        }
        let attempts = |answer: &Response| match answer {
            Response::Deliver(jobs) => jobs.iter().map(|job| job.attempts).collect(),
            Response::Job(job) => vec![job.attempts],
            _ => Vec::new(),
        };
        self.sent(connection).flat_map(attempts).collect()
    }

    pub(crate) fn sent(&self, connection: ConnectionId) -> impl Iterator<Item = &Response> {
        self.answers.iter().filter(move |(to, ..)| *to == connection).map(|(.., answer)| answer)
    }

    pub(crate) fn subscribe(&mut self, connection: ConnectionId, id: u32, credit_jobs: u32) {
        let topics = jobs();
        self.ask(
            connection,
            id,
            Request::Subscribe(Subscribe { topics, credit_jobs, credit_bytes: 1 << 28, weights: Vec::new() }),
        );
    }

    /// How many jobs anybody could have.
    pub(crate) fn ready(&mut self, connection: ConnectionId) -> u64 {
        self.ask(connection, 999, Request::Stats);
        match self.answers.pop() {
            Some((_, RequestId(999), Response::Stats(stats))) => stats.totals.ready,
            other => panic!("{other:?}"),
        }
    }

    /// Why a request was refused, if it was answered at all.
    pub(crate) fn refusal(&self, connection: ConnectionId, id: u32) -> Option<ErrorCode> {
        let found = self.answers.iter().find(|(to, of, _)| (*to, *of) == (connection, RequestId(id)));
        found.and_then(
            |(.., answer)| if let Response::Error(error) = answer { Some(error.code) } else { None },
        )
    }

    #[track_caller]
    pub(crate) fn pushed(&self, connection: ConnectionId, id: u32) -> JobId {
        match self.answer(connection, id) {
            Response::Pushed(results) => match results[..] {
                [PushResult::Pushed(job)] => job,
                _ => panic!("{results:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}
