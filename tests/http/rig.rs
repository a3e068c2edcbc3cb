//! A client of HTTP that knows nothing but bytes, and a node that it talks to.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use adjourn_server::config::Config;
use serde_json::Value;
use tempfile::TempDir;

use crate::server_rig::Node;

/// A node with HTTP.
pub(crate) struct Site {
    folder: TempDir,
    pub(crate) node: Node,
}

/// One connection.
pub(crate) struct Web {
    stream: BufReader<TcpStream>,
    token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer that does not come within this time is none.
const PATIENCE: Duration = Duration::from_secs(30);

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let node = Node::start(&folder.path().join("data"), |config| {
            config.http_listen = Some("127.0.0.1:0".to_owned());
            change(config);
        });
        Self { folder, node }
    }

    /// The same data after a restart.
    pub(crate) fn restarted(self) -> Self {
        self.restarted_with(|_| {})
    }

    /// The same, with a configuration that differs in more.
    pub(crate) fn restarted_with(self, change: impl FnOnce(&mut Config)) -> Self {
        self.node.stop();
        let node = Node::start(&self.folder.path().join("data"), |config| {
            config.http_listen = Some("127.0.0.1:0".to_owned());
            change(config);
        });
        Self { node, ..self }
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn web(&self) -> Web {
        Web::connect(self.node.http_address())
    }
}

impl Web {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).expect("connected")
    }

    /// The same with a node that may not be there yet.
    pub(crate) fn try_connect(address: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream.set_nodelay(true).expect("set");
        Some(Self { stream: BufReader::new(stream), token: None })
    }

    pub(crate) fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// Asks for something with JSON, or without a body.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let text = body.map(ToString::to_string).unwrap_or_default();
        let kind = if body.is_some() { "Content-Type: application/json\r\n" } else { "" };
        self.ask_with(method, path, kind, text.as_bytes())
    }

    /// The same with these headers, each with its end of line.
    pub(crate) fn ask_with(&mut self, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{}{headers}Content-Length: {}\r\n\r\n",
            token.unwrap_or_default(),
            body.len()
        );
        self.send(&[head.as_bytes(), body].concat());
        self.reply().expect("an answer")
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, None)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, Some(body))
    }

    /// What a route answers to HEAD: everything but its body.
    pub(crate) fn head(&mut self, path: &str) -> Reply {
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let token = token.unwrap_or_default();
        self.send(format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").as_bytes());
        self.reply_head().expect("an answer")
    }

    /// Closes this side: nothing more is sent, and answers are still read.
    pub(crate) fn close_sending(&mut self) {
        self.stream.get_ref().shutdown(Shutdown::Write).expect("it is open");
    }

    /// Sends bytes as they are. Whether the server still listens is not looked at.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// The next answer; `None` if the connection has ended.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        let mut reply = self.reply_head()?;
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().expect("a length")];
            self.stream.read_exact(&mut reply.body).ok()?;
        }
        Some(reply)
    }

    /// The same without its body.
    pub(crate) fn reply_head(&mut self) -> Option<Reply> {
        let status = self.line()?.split(' ').nth(1).expect("a status").parse().expect("a number");
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").expect("a header");
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Some(Reply { status, headers, body: Vec::new() })
    }

    /// The next line, without its end; `None` if the connection has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(1..) => Some(line.trim_end_matches("\r\n").to_owned()),
            Ok(0) => None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("nothing came: {error}"),
        }
    }

    /// Whether the server has closed the connection, without another word.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.line().is_none()
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// What a good answer says.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!((200..300).contains(&self.status), "{self}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self}");
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// What is wrong with a request.
    #[track_caller]
    pub(crate) fn problem(&self) -> Value {
        self.refusal();
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// Why a request was refused: the status, and the error's name.
    #[track_caller]
    pub(crate) fn refusal(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self}");
        let problem: Value = serde_json::from_slice(&self.body).expect("JSON");
        assert_eq!(problem["status"], self.status, "{self}");
        assert!(!problem["detail"].as_str().unwrap_or_default().is_empty(), "{self}");
        (self.status, problem["code"].as_str().expect("a code").to_owned())
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {}", self.status, self.headers, String::from_utf8_lossy(&self.body))
    }
}
