//! Threads that end early.

use super::config::ClockChoice;
use super::disk::ToDisk;
use super::*;
use adjourn_engine::Engine;
use adjourn_replica::CheckpointOrder;
use adjourn_storage::CheckpointBegin;
use adjourn_types::GroupId;

/// How a node ends whose core does this. All its threads end.
async fn end_of(
    core: impl FnOnce(CoreRunner, DiskHandle, Sender<ToCheckpoint>) + Send + 'static,
) -> Result<(), ServerError> {
    let directory = tempfile::tempdir().expect("a directory");
    let config = Config { data: directory.path().join("data"), ..Config::default() };
    let opened = Opened::on_disk(&config, Origin::Founds).expect("founded");
    let clock = Clock::start();
    let channels = Channels::new(clock);
    let to_core = channels.to_core.clone();
    let threads = start_threads(&config, opened, clock, channels, core).expect("started");
    running(&to_core, threads).ended().await
}

fn running(core: &CoreMailbox, threads: Threads) -> Running {
    let gate = Gate { clients: None, members: None, tokens: Tokens::read(None).expect("none") };
    let (audit, _) = Audit::new(None, 1).expect("no file");
    let connections = connection_config(
        &Config::default(),
        core,
        gate,
        audit,
        MemoryAccount::default(),
        NodeClock::new(Clock::start(), ClockChoice::Real),
    );
    Running {
        address: SocketAddr::from(([127, 0, 0, 1], 1)),
        peer_address: None,
        talking: CancellationToken::new(),
        connections_max: 1,
        threads,
        connections: Arc::new(connections),
        passage: None,
        data: None,
    }
}

fn wait_for_abort(runner: &CoreRunner) {
    while !matches!(runner.recv_timeout(Duration::MAX), Some(ToCore::Abort)) {}
}

#[tokio::test]
async fn a_panic_in_the_core_ends_the_node() {
    let end = end_of(|_runner, _disk, _checkpoint| panic!("the core was told to panic")).await;
    assert!(matches!(end, Err(ServerError::Panicked("core"))), "{end:?}");
}

#[tokio::test]
async fn a_panic_in_the_disk_thread_ends_the_node() {
    let end = end_of(|runner, disk, _checkpoint| {
        // The entry does not exist, so it cannot be cut.
        disk.send(ToDisk::Cut { through: 9 });
        wait_for_abort(&runner);
    });
    let end = end.await;
    assert!(matches!(end, Err(ServerError::Panicked("disk"))), "{end:?}");
}

#[tokio::test]
async fn a_panic_in_the_checkpoint_thread_ends_the_node() {
    let end = end_of(|runner, _disk, checkpoint| {
        // No entry has that term.
        let begin = CheckpointBegin {
            number: 1,
            index: 0,
            term: 7,
            voters: vec![1],
            learners: Vec::new(),
            state_hash: 0,
            jobs: 0,
            metadata: Engine::new(GroupId(0)).metadata().into(),
            chunks: Vec::new(),
            rewrite: Vec::new(),
            pages: Vec::new(),
            next_chunk: 1,
            chunk_bytes: 4096,
            records: 0,
            pin: false,
        };
        for order in [CheckpointOrder::Begin(Box::new(begin)), CheckpointOrder::End] {
            checkpoint.send(ToCheckpoint::Order(order)).expect("sent");
        }
        wait_for_abort(&runner);
    });
    let end = end.await;
    assert!(matches!(end, Err(ServerError::Panicked("checkpoint"))), "{end:?}");
}

#[tokio::test]
async fn a_core_that_is_done_ends_the_node_well() {
    let end = end_of(|_runner, disk, _checkpoint| disk.send(ToDisk::Finish)).await;
    assert!(end.is_ok(), "{end:?}");
}
