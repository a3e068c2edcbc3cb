//! A node as a process of its own: the real binary.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A server that neither listens nor ends within this time has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node as a process of its own: the real binary.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

/// The real binary with these arguments, and nothing of this process's configuration.
pub(crate) fn adjourn(arguments: &[&str]) -> Command {
    let mut command = unconfigured(env!("CARGO_BIN_EXE_adjourn"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A program that gets nothing of this process's configuration.
pub(crate) fn unconfigured(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ADJOURN_") {
            command.env_remove(name);
        }
    }
    command
}

impl Process {
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

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
