//! What the server's tests stand on: a node in this process, a node as a process of its own, and a client that
//! knows nothing but frames, so that it can also send what no client should.

mod process;
mod raw;

use std::io::Write as _;
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::process::ExitStatus;

use adjourn_console::PagesConfig;
use adjourn_http::Http;
use adjourn_protocol::{
    ConnectionReport, ErrorReply, GoingAway, Hello, NewJob, Push, Request, Response, Welcome,
};
use adjourn_server::config::Config;
use adjourn_server::{Running, Server, ServerError};
use adjourn_types::{RetryDefaults, TopicName};
use bytes::Bytes;
use rustix::process::{Pid, Signal};
use tokio::runtime::Runtime;

pub(crate) use process::{Process, adjourn, unconfigured};
pub(crate) use raw::{Raw, hello};

/// A node in this process.
pub(crate) struct Node {
    runtime: Runtime,
    running: Option<Running>,
    pub(crate) address: SocketAddr,
    http: Option<SocketAddr>,
    /// Of ouqiang, of Youzan, of php-delayqueue and of beanstalkd.
    dialects: [Option<SocketAddr>; 4],
}

impl Node {
    /// Starts a node on `data`, any free port, and the defaults as `change` leaves them.
    pub(crate) fn start(data: &Path, change: impl FnOnce(&mut Config)) -> Self {
        Self::try_start(data, change).expect("a node")
    }

    pub(crate) fn try_start(data: &Path, change: impl FnOnce(&mut Config)) -> Result<Self, ServerError> {
        // A test's client may say nothing for longer than a usual one.
        let heartbeat_ms = 10_000;
        let listen = "127.0.0.1:0".to_owned();
        // What failed is there again at once: no test waits for it.
        let retry_defaults = RetryDefaults::NONE;
        let data = data.to_owned();
        let mut config = Config { data, listen, heartbeat_ms, retry_defaults, ..Config::default() };
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.worker_threads)
            .enable_all()
            .build()
            .expect("a runtime");
        let (running, http, dialects) = runtime.block_on(async {
            let call_backs = adjourn_call_backs::Prepared::read(&config).expect("what call-backs need");
            let alerts = adjourn_alerts::Prepared::read(&config).expect("what alerts need");
            let http = Http::reserve(&config).await?;
            let (address, dialects) = (
                http.address(),
                [
                    http.ouqiang_address(),
                    http.youzan_address(),
                    http.php_delayqueue_address(),
                    http.beanstalkd_address(),
                ],
            );
            let console = PagesConfig::of(&config);
            let running = Server::start(config).await?;
            let call_backs = call_backs.start(&running, &http.addresses()).expect("call-backs");
            let alerts = alerts.start(&running, call_backs.clone());
            http.serve(&running, call_backs, alerts, |state| adjourn_console::router(console, state))?;
            Ok::<_, ServerError>((running, address, dialects))
        })?;
        Ok(Self { runtime, address: running.address(), running: Some(running), http, dialects })
    }

    /// Where HTTP is spoken.
    pub(crate) fn http_address(&self) -> SocketAddr {
        self.http.expect("it listens for HTTP")
    }

    /// Where callers of ouqiang's queue are heard.
    pub(crate) fn ouqiang_address(&self) -> SocketAddr {
        self.dialects[0].expect("it listens for them")
    }

    /// Where callers of Youzan's queue are heard.
    pub(crate) fn youzan_address(&self) -> SocketAddr {
        self.dialects[1].expect("it listens for them")
    }

    /// Where producers of php-delayqueue are heard.
    pub(crate) fn php_delayqueue_address(&self) -> SocketAddr {
        self.dialects[2].expect("it listens for them")
    }

    /// Where callers of beanstalkd are heard.
    pub(crate) fn beanstalkd_address(&self) -> SocketAddr {
        self.dialects[3].expect("it listens for them")
    }

    /// Where other nodes connect.
    pub(crate) fn peer_address(&self) -> SocketAddr {
        self.running.as_ref().and_then(Running::peer_address).expect("it has a port for them")
    }

    /// Stops it in order.
    pub(crate) fn stop(mut self) {
        let running = self.running.take().expect("it runs");
        self.runtime.block_on(running.stop()).expect("an orderly stop");
    }
}

impl Process {
    /// Starts `adjourn serve` on `data` and any free port, unless `arguments` say otherwise.
    pub(crate) fn start(data: &Path, arguments: &[&str]) -> Self {
        Self::try_start(data, arguments).expect("it listens")
    }

    /// As [`Self::start`]; a server that does not start leaves its exit code and its log.
    pub(crate) fn try_start(data: &Path, arguments: &[&str]) -> Result<Self, (Option<i32>, String)> {
        let mut command = adjourn(&["serve", "--data", data.to_str().expect("a path")]);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(arguments);
        Self::spawn(command)
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn terminate(self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("signalled");
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().expect("ended")
    }
}

impl Raw {
    /// Connects and greets.
    pub(crate) fn greeted(address: SocketAddr) -> Self {
        let mut raw = Self::connect(address);
        raw.greet(hello());
        raw
    }

    pub(crate) fn greet(&mut self, hello: Hello) -> Welcome {
        match self.ask(Request::Hello(hello)) {
            Response::Welcome(welcome) => *welcome,
            other => panic!("{other:?}"),
        }
    }

    /// Sends bytes as they are. Whether the server still listens is not looked at.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends one request and waits for its answer.
    pub(crate) fn ask(&mut self, request: Request) -> Response {
        let opcode = request.opcode();
        let id = self.send(&[request]).expect("a server");
        let (answered, response) = self.receive().expect("an answer");
        assert_eq!(answered, id, "{response:?}");
        assert!(opcode.may_be_answered_with(&response), "{opcode:?} is told {response:?}");
        response
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.ask(Request::Ping), Response::Pong { .. })
    }

    /// Who is connected.
    pub(crate) fn connections(&mut self) -> Vec<ConnectionReport> {
        match self.ask(Request::Connections { after: 0, connections_max: 256 }) {
            Response::Connections(list) => list.connections,
            other => panic!("{other:?}"),
        }
    }

    /// The error that comes next, and the end of the connection after it.
    pub(crate) fn refusal(&mut self) -> ErrorReply {
        let Some((_, Response::Error(error))) = self.receive() else { panic!("no error") };
        assert_eq!(self.receive(), None, "closed after {error}");
        error
    }

    /// What `GOING_AWAY` says, which comes next, for no reason that has a number; and the end of the connection after it.
    pub(crate) fn farewell(&mut self) -> String {
        let (id, response) = self.receive().expect("a farewell");
        let Response::GoingAway { message, reason: GoingAway::Unknown } = response else {
            panic!("{response:?}")
        };
        assert_eq!((id.0, self.receive()), (0, None), "closed after {message}");
        message
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish_sending(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("connected");
    }
}

pub(crate) fn topic(name: &str) -> TopicName {
    name.parse().expect("a name")
}

/// A PUSH of one job that is due after `delay_ms`.
pub(crate) fn push(name: &str, body: impl Into<Bytes>, delay_ms: u64) -> Request {
    Request::Push(Push {
        topic: topic(name),
        sequence: 0,
        jobs: vec![NewJob::new(body).after(delay_ms)],
        idempotency: None,
    })
}
