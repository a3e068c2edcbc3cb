//! A harness as a process: commands in, answers and events out.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::matching::differs;

/// What does not happen within this time does not happen.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The exit code of a harness that cannot run here.
const CANNOT_RUN: i32 = 77;
/// Lines of its log that a failure shows.
const LOG_LINES_SHOWN: usize = 15;

/// A running harness.
pub(crate) struct Harness {
    child: Child,
    stdin: Option<ChildStdin>,
    heard: Arc<Heard>,
    next_id: u64,
}

/// What came from it.
#[derive(Default)]
struct Heard {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Default)]
struct Said {
    answers: BTreeMap<u64, Value>,
    events: VecDeque<Value>,
    log: VecDeque<String>,
    /// A line that is no answer and no event.
    nonsense: Option<String>,
    has_ended: bool,
}

impl Harness {
    /// Starts one; it is a process group of its own.
    pub(crate) fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let heard = Arc::<Heard>::default();
        let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let listener = Arc::clone(&heard);
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).for_each(|line| listener.hear(&line));
            listener.said().has_ended = true;
            listener.more.notify_all();
        });
        let listener = Arc::clone(&heard);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let log = &mut listener.said().log;
                log.push_back(String::from_utf8_lossy(&line).into_owned());
                if log.len() > LOG_LINES_SHOWN {
                    log.pop_front();
                }
            }
        });
        let stdin = child.stdin.take();
        Ok(Self { child, stdin, heard, next_id: 0 })
    }

    /// Sends a command, without waiting for its answer.
    pub(crate) fn send(&mut self, command: &Value) -> Result<u64, String> {
        self.next_id += 1;
        let mut command = command.clone();
        command["id"] = json!(self.next_id);
        let stdin = self.stdin.as_mut().ok_or("the harness was told to end")?;
        let written = writeln!(stdin, "{command}").and_then(|()| stdin.flush());
        written.map_err(|error| format!("the harness takes no commands: {error}{}", self.log()))?;
        Ok(self.next_id)
    }

    /// The answer to a command.
    pub(crate) fn answer(&self, id: u64) -> Result<Value, String> {
        self.wait("no answer", |said| said.answers.remove(&id))
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn ask(&mut self, command: &Value) -> Result<Value, String> {
        let id = self.send(command)?;
        self.answer(id).map_err(|why| format!("{why} to {command}"))
    }

    /// The next event that is like this.
    pub(crate) fn event(&self, like: &Value) -> Result<Value, String> {
        self.wait("no such event", |said| {
            let at = said.events.iter().position(|event| differs(like, event).is_none())?;
            said.events.remove(at)
        })
        .map_err(|why| format!("{why}: {like}; there are {:?}", self.heard.said().events))
    }

    /// Whether such an event came that nobody has asked for yet.
    pub(crate) fn has_event(&self, like: &Value) -> bool {
        self.heard.said().events.iter().any(|event| differs(like, event).is_none())
    }

    /// Every event so far that nobody has asked for; waits for the first. Nothing once it has ended.
    pub(crate) fn events(&self, patience: Duration) -> Vec<Value> {
        let said = self.heard.said();
        let waiting = |said: &mut Said| said.events.is_empty() && !said.has_ended;
        let (mut said, _) = self.heard.more.wait_timeout_while(said, patience, waiting).expect("whole");
        said.events.drain(..).collect()
    }

    /// Every answer so far that nobody has asked for.
    pub(crate) fn answers(&self) -> BTreeMap<u64, Value> {
        std::mem::take(&mut self.heard.said().answers)
    }

    /// Ends it as `kill -9` does, with what it has started.
    pub(crate) fn kill(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    /// Asks it to end in order, and waits until it has.
    pub(crate) fn terminate(&mut self) -> Result<(), String> {
        kill_process_group(Pid::from_child(&self.child), Signal::TERM).map_err(|error| error.to_string())?;
        self.ended()
    }

    /// Ends its stdin, and waits until it has ended.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        self.stdin = None;
        self.ended()
    }

    fn ended(&mut self) -> Result<(), String> {
        self.wait("it does not end", |said| said.has_ended.then_some(()))?;
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let how = status.code().map_or_else(
            || format!("signal {}", status.signal().unwrap_or_default()),
            |code| format!("code {code}"),
        );
        if status.success() { Ok(()) } else { Err(format!("the harness ended with {how}{}", self.log())) }
    }

    /// Why it cannot run here, if it said so.
    pub(crate) fn cannot_run(&mut self) -> Option<String> {
        let status = self.child.wait().ok()?;
        let said = self.heard.said();
        (status.code() == Some(CANNOT_RUN)).then(|| said.log.back().cloned().unwrap_or_default())
    }

    fn wait<T>(&self, what: &str, mut found: impl FnMut(&mut Said) -> Option<T>) -> Result<T, String> {
        let mut result = None;
        let said = self.heard.said();
        let waiting = |said: &mut Said| {
            result = found(said);
            result.is_none() && !said.has_ended && said.nonsense.is_none()
        };
        let (mut said, _) = self.heard.more.wait_timeout_while(said, PATIENCE, waiting).expect("whole");
        let nonsense = said.nonsense.take().map(|line| format!(", but {line:?}")).unwrap_or_default();
        let end = if said.has_ended { " (it has ended)" } else { "" };
        drop(said);
        result.ok_or_else(|| format!("{what}{nonsense}{end}{}", self.log()))
    }

    /// The end of its log, for a failure.
    fn log(&self) -> String {
        let said = self.heard.said();
        said.log.iter().fold(String::new(), |all, line| format!("{all}\n    | {line}"))
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // A scenario that failed leaves nothing behind.
        self.kill();
    }
}

impl Heard {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().expect("nobody panics here")
    }

    fn hear(&self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        let mut said = self.said();
        if let Some(id) = value["id"].as_u64() {
            said.answers.insert(id, value);
        } else if value["event"].is_string() {
            said.events.push_back(value);
        } else {
            said.nonsense = Some(line.to_owned());
        }
        self.more.notify_all();
    }
}
