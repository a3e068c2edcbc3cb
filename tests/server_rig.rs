//! What the server's tests stand on: a node in this process, a node as a process of its own, and a client that
//! knows nothing but frames, so that it can also send what no client should.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use adjourn::protocol::{
    ErrorReply, FrameDecoder, Hello, NewJob, Push, Request, RequestId, Response, VERSION, Welcome,
};
use adjourn::server::config::Config;
use adjourn::server::{Running, Server, ServerError};
use adjourn::types::TopicName;
use bytes::{Bytes, BytesMut};
use rustix::process::{Pid, Signal};
use tokio::runtime::Runtime;

/// A read that takes longer than this has failed. Nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node in this process.
pub(crate) struct Node {
    runtime: Runtime,
    running: Option<Running>,
    pub(crate) address: SocketAddr,
}

impl Node {
    /// Starts a node on `data`, any free port, and the defaults as `change` leaves them.
    pub(crate) fn start(data: &Path, change: impl FnOnce(&mut Config)) -> Self {
        Self::try_start(data, change).expect("a node")
    }

    pub(crate) fn try_start(data: &Path, change: impl FnOnce(&mut Config)) -> Result<Self, ServerError> {
        let mut config =
            Config { data: data.to_owned(), listen: "127.0.0.1:0".to_owned(), ..Config::default() };
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.worker_threads)
            .enable_all()
            .build()
            .expect("a runtime");
        let running = runtime.block_on(Server::start(config))?;
        Ok(Self { runtime, address: running.address(), running: Some(running) })
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

/// A node as a process of its own: the real binary.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// The real binary with these arguments, and nothing of this process's configuration.
pub(crate) fn adjourn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjourn"));
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ADJOURN_") {
            command.env_remove(name);
        }
    }
    command
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

    /// Starts a server and waits until it listens or has ended.
    pub(crate) fn spawn(mut command: Command) -> Result<Self, (Option<i32>, String)> {
        let mut child =
            command.args(["--log-format", "json"]).stderr(Stdio::piped()).spawn().expect("the binary");
        let stderr = child.stderr.take().expect("piped");
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that the process never waits for its log to be read.
        std::thread::spawn(move || {
            let mut log = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                if event["message"] == "listening" {
                    let _ = sender.send(Ok(event["address"].as_str().unwrap_or_default().to_owned()));
                }
                log.push_str(&line);
                log.push('\n');
            }
            let _ = sender.send(Err(log));
        });
        match receiver.recv_timeout(PATIENCE).expect("it listens or ends") {
            Ok(address) => Ok(Self { child, address: address.parse().expect("an address") }),
            Err(log) => Err((child.wait().expect("ended").code(), log)),
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
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

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that speaks frames, one read or write at a time.
pub(crate) struct Raw {
    stream: TcpStream,
    decoder: FrameDecoder,
    buffer: BytesMut,
    next_id: u32,
}

impl Raw {
    /// Connects and says nothing.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.set_write_timeout(Some(PATIENCE)).expect("set");
        stream.set_nodelay(true).expect("set");
        Self { stream, decoder: FrameDecoder::new(u32::MAX), buffer: BytesMut::new(), next_id: 1 }
    }

    /// As [`Self::connect`], if somebody listens there.
    pub(crate) fn try_connect(address: SocketAddr) -> Option<Self> {
        TcpStream::connect(address).ok()?;
        Some(Self::connect(address))
    }

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

    /// Sends requests in one write and returns the id of the first; the others follow. False when the server
    /// no longer takes anything.
    pub(crate) fn send(&mut self, requests: &[Request]) -> Option<RequestId> {
        let first = RequestId(self.next_id);
        let mut bytes = BytesMut::new();
        for request in requests {
            request.encode(RequestId(self.next_id), &mut bytes);
            self.next_id += 1;
        }
        self.stream.write_all(&bytes).ok().map(|()| first)
    }

    /// The next frame; `None` when the server has closed.
    pub(crate) fn receive(&mut self) -> Option<(RequestId, Response)> {
        loop {
            if let Some(frame) = self.decoder.next(&mut self.buffer).expect("frames") {
                return Some((frame.header.id, Response::decode(&frame).expect("a response")));
            }
            let mut bytes = [0; 16 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => self.buffer.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing came for too long"),
                Err(_) => return None,
            }
        }
    }

    /// Sends one request and waits for its answer.
    pub(crate) fn ask(&mut self, request: Request) -> Response {
        let id = self.send(&[request]).expect("a server");
        let (answered, response) = self.receive().expect("an answer");
        assert_eq!(answered, id, "{response:?}");
        response
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.ask(Request::Ping), Response::Pong { .. })
    }

    /// The error that comes next, and the end of the connection after it.
    pub(crate) fn refusal(&mut self) -> ErrorReply {
        let Some((_, Response::Error(error))) = self.receive() else { panic!("no error") };
        assert_eq!(self.receive(), None, "closed after {error}");
        error
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish_sending(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("connected");
    }
}

/// A HELLO that any server without tokens accepts.
pub(crate) fn hello() -> Hello {
    Hello { version_min: VERSION, version_max: VERSION, client_name: "test".to_owned(), ..Hello::default() }
}

pub(crate) fn topic(name: &str) -> TopicName {
    name.parse().expect("a name")
}

/// A PUSH of one job that is due after `delay_ms`.
pub(crate) fn push(name: &str, body: impl Into<Bytes>, delay_ms: u64) -> Request {
    Request::Push(Push { topic: topic(name), sequence: 0, jobs: vec![NewJob::new(body).after(delay_ms)] })
}
