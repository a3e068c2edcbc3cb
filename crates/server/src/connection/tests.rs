//! Single connections, served without a listener; the core is the test itself.

use std::net::IpAddr;
use std::path::Path;

use tokio::net::TcpListener;

use super::super::clock::Clock;
use super::super::config::ClockChoice;
use super::super::core::CoreRunner;
use super::super::mailbox;
use super::super::tokens::SecretHash;
use super::super::unauthenticated::UnauthenticatedLimits;
use super::*;
use adjourn_protocol::{Hello, Request, VERSION};
use adjourn_types::Access;

/// Anything that takes longer has failed. Tests do not wait for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than any test.
const LONG: Duration = Duration::from_hours(1);

/// The server's side, with one slot for an unauthenticated connection, which is not lost.
struct Rig {
    config: Arc<ConnectionConfig>,
    core: CoreRunner,
    unauthenticated: Arc<UnauthenticatedLimits>,
    listener: TcpListener,
}

impl Rig {
    async fn new(tokens: Option<&Path>) -> Self {
        let (core, runner) = mailbox::mailbox(Clock::start());
        let config = ConnectionConfig {
            core,
            numbers: ConnectionNumbers::new(),
            clock: NodeClock::new(Clock::start(), ClockChoice::Real),
            tls: None,
            members: None,
            handshakes: Rate::new(1000),
            tokens: Tokens::read(tokens).expect("tokens"),
            room: Arc::new(Semaphore::new(8)),
            addresses: Addresses::new(0),
            unauthenticated_max: 8,
            audit: Audit::new(None, 1).expect("no file").0,
            body_bytes_max: 1 << 20,
            memory: MemoryAccount::default(),
            input: Arc::new(InputRoom::new(0, 1 << 20)),
            in_flight_max: 8,
            output_bytes_max: 1 << 30,
            frame_deadline: LONG,
            heartbeat_ms: 600_000,
            stopping: CancellationToken::new(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self {
            config: Arc::new(config),
            core: runner,
            unauthenticated: UnauthenticatedLimits::new(1, LONG),
            listener,
        }
    }

    /// A client, and the future that serves its connection.
    async fn connect(&self, hello_by: Instant) -> (TcpStream, impl Future<Output = ()> + use<>) {
        let address = self.listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("connected");
        let (stream, address) = self.listener.accept().await.expect("accepted");
        let place = self.unauthenticated.enter(address.ip()).expect("a place");
        let counted = self.config.addresses.count(address.ip()).expect("no limit");
        let entry = Entry { address, place, counted, hello_by };
        (client, serve(stream, ConnectionId(7), SessionSecret([0; 16]), entry, Arc::clone(&self.config)))
    }

    fn is_full(&self) -> bool {
        self.unauthenticated.enter(IpAddr::from([127, 0, 0, 1])).is_none()
    }
}

/// Writes a file with a token for the secret "shop" and this grant.
fn put_token(path: &Path, grant: &str) {
    let hash = SecretHash::of(b"shop");
    let text = format!("[[token]]\nname = \"shop\"\nsha256 = \"{hash}\"\nallow = [\"{grant}\"]\n");
    std::fs::write(path, text).expect("written");
}

async fn greet(client: &mut TcpStream, token: &'static str) {
    let mut bytes = BytesMut::new();
    let hello = Hello { version_min: VERSION, version_max: VERSION, token: token.into(), ..Hello::default() };
    Request::Hello(hello).encode(RequestId(1), &mut bytes);
    client.write_all(&bytes).await.expect("sent");
}

#[tokio::test]
async fn the_core_hears_of_a_connection_whose_task_ends_before_its_time() {
    let rig = Rig::new(None).await;
    let (_client, serving) = rig.connect(Instant::now() + LONG).await;
    // As when it panics: the future is dropped in the middle.
    tokio::select! {
        biased;
        () = serving => panic!("the client says nothing"),
        () = std::future::ready(()) => {}
    }
    let told = rig.core.try_recv();
    assert!(
        matches!(told, Some(ToCore::Input(Input::Disconnected { connection: ConnectionId(7) }))),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_refused_client_keeps_its_place_while_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    put_token(&file, "push");
    let rig = Rig::new(Some(&file)).await;
    let (mut client, serving) = rig.connect(Instant::now() + LONG).await;
    greet(&mut client, "wrong").await;
    let mut serving = std::pin::pin!(serving);
    let mut said = Vec::new();
    // It reads to the end of the server's output, and closes nothing itself.
    tokio::select! {
        biased;
        read = client.read_to_end(&mut said) => assert!(read.is_ok_and(|bytes| bytes > 0)),
        () = &mut serving => panic!("the server reads on for a while"),
    }
    assert!(rig.is_full(), "it takes a descriptor as long as it lingers");
    drop(client);
    serving.await;
    assert!(!rig.is_full());
}

#[tokio::test]
async fn a_client_that_was_let_in_leaves_the_door() {
    let rig = Rig::new(None).await;
    let (mut client, serving) = rig.connect(Instant::now() + LONG).await;
    greet(&mut client, "").await;
    let serving = tokio::spawn(serving);
    while !matches!(rig.core.try_recv(), Some(ToCore::Connected { .. })) {
        tokio::task::yield_now().await;
    }
    assert!(!rig.is_full());
    drop(client);
    serving.abort();
}

#[tokio::test]
async fn one_deadline_holds_for_all_that_comes_before_a_client_is_known() {
    let rig = Rig::new(None).await;
    // As after a TLS handshake that took all the time.
    let (mut client, serving) = rig.connect(Instant::now()).await;
    let serving = tokio::spawn(serving);
    let mut said = Vec::new();
    let read = timeout(PATIENCE, client.read_to_end(&mut said)).await;
    assert!(read.is_ok() && String::from_utf8_lossy(&said).contains("HELLO"), "{said:?}");
    drop(client);
    serving.await.expect("it ends");
}

#[tokio::test]
async fn a_client_whose_token_ends_is_gone_for_the_core_at_once_however_slowly_it_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.toml");
    put_token(&file, "consume");
    let rig = Rig::new(Some(&file)).await;
    let (mut client, serving) = rig.connect(Instant::now() + LONG).await;
    let mut serving = std::pin::pin!(serving);
    greet(&mut client, "shop").await;
    let mut told = async || loop {
        tokio::select! {
            biased;
            () = &mut serving => panic!("it is told before the connection ends"),
            () = tokio::task::yield_now() => {}
        }
        match rig.core.try_recv() {
            Some(ToCore::Connected { outbox, .. }) => break Some(outbox),
            Some(ToCore::Input(Input::Disconnected { .. })) => break None,
            _ => {}
        }
    };
    let outbox = told().await.expect("it is announced");
    // It is answered, then gets more than a socket takes, and reads nothing.
    let much = || Response::Error(ErrorReply::new(ErrorCode::Busy, "x".repeat(1 << 20)));
    let memory = || rig.config.memory.share(&Access::open(), "a:1").nothing();
    outbox.send(vec![(RequestId(1), Response::Done)], 1, memory()).expect("connected");
    for _ in 0..64 {
        outbox.send(vec![(RequestId(0), much())], 0, memory()).expect("connected");
    }
    put_token(&file, "push");
    rig.config.tokens.reload();
    assert!(told().await.is_none());
    timeout(PATIENCE, serving).await.expect("it is cut off");
    drop(client);
}
