//! The log: to standard error, as text or JSON. Standard output is only for answers.
//!
//! A thread of its own writes the lines, and nothing else waits for standard error. If it blocks, because its reader has
//! gone or reads nothing, or because the disk behind it is full, lines are lost and the node goes on. Lost lines are
//! counted, and the log reports their number as soon as it can be written again.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::{error, warn};
use tracing_subscriber::filter::LevelFilter;

use crate::exit::{Exit, Failure};
use adjourn_server::config::{LogFormat, LogLevel};

/// Most bytes of lines that wait to be written; further lines are lost.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// At the end of the process, the last lines have this long to be written.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// A handle of the thread that writes the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<LogState>);

#[derive(Debug, Default)]
struct LogState {
    lines: Mutex<Lines>,
    /// Signalled when a line waits, or was written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// Lost lines since the start.
    lost: u64,
    /// True while the thread writes a line.
    is_writing: bool,
}

/// Starts logging for this process. A panic is logged, too.
pub(crate) fn start(level: LogLevel, format: LogFormat) -> Result<Log, Failure> {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let log = Log::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_writer(move || lines.clone())
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().flatten_event(true).init(),
    }
    let shared = Arc::clone(&log.0);
    thread::Builder::new()
        .name("adjourn-log".to_owned())
        .spawn(move || shared.write_to(io::stderr()))
        .map_err(|error| Failure::new(Exit::Refused, format_args!("cannot start a thread: {error}")))?;
    // The default hook writes to standard error itself: a thread that panics would wait for its reader.
    panic::set_hook(Box::new(log_panic));
    Ok(log)
}

fn log_panic(panic: &panic::PanicHookInfo<'_>) {
    let thread = thread::current();
    let thread = thread.name().unwrap_or_default();
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        error!(thread, %backtrace, "{panic}");
    } else {
        error!(thread, "{panic}");
    }
}

impl Log {
    /// Waits until every line is written, for one second at most.
    pub(crate) fn finish(&self) {
        let has_more = |lines: &mut Lines| lines.is_writing || !lines.waiting.is_empty();
        drop(self.0.changed.wait_timeout_while(self.0.lines(), FLUSH_MAX, has_more));
    }
}

/// Takes one line per call. It never fails, and never waits for standard error.
impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lines().add(line);
        self.0.changed.notify_all();
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn add(&mut self, line: &[u8]) {
        if self.waiting_bytes + line.len() > WAITING_BYTES_MAX {
            self.lost += 1;
        } else {
            self.waiting_bytes += line.len();
            self.waiting.push_back(line.to_owned());
        }
    }
}

impl LogState {
    /// Writes the lines to `out` until the process ends.
    fn write_to(&self, out: impl Write) {
        let mut out = LineWriter { out, is_cut: false };
        let mut told = 0;
        loop {
            let is_written = out.write(&self.next()).is_ok();
            let lost = self.after_line(is_written);
            if is_written && lost > told {
                told = lost;
                warn!(
                    lines_lost = lost,
                    "lines of the log were lost: they could not be written. The number counts from the start"
                );
            }
        }
    }

    /// Waits for the next line.
    fn next(&self) -> Vec<u8> {
        let waits = |lines: &mut Lines| lines.waiting.is_empty();
        let woken = self.changed.wait_while(self.lines(), waits);
        let mut lines = woken.unwrap_or_else(PoisonError::into_inner);
        let line = lines.waiting.pop_front().unwrap_or_default();
        lines.waiting_bytes -= line.len();
        lines.is_writing = true;
        line
    }

    /// Notes that a line was written or lost. Returns how many lost lines can be reported now: none while other lines wait,
    /// so that there is room for the report.
    fn after_line(&self, is_written: bool) -> u64 {
        let mut lines = self.lines();
        lines.is_writing = false;
        lines.lost += u64::from(!is_written);
        self.changed.notify_all();
        if lines.waiting.is_empty() { lines.lost } else { 0 }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts each line on a new line, even if the one before was written in part.
struct LineWriter<W> {
    out: W,
    is_cut: bool,
}

impl<W: Write> LineWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_cut {
            self.out.write_all(b"\n")?;
            self.is_cut = false;
        }
        let mut rest = line;
        while !rest.is_empty() {
            match self.out.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            self.is_cut = !rest.is_empty();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// Accepts as much as the test allows, and fails when the test wants it to.
    struct Valve {
        turns: Receiver<io::Result<usize>>,
        taken: SyncSender<Vec<u8>>,
    }

    impl Write for Valve {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let turn = self.turns.recv().unwrap_or(Ok(usize::MAX))?;
            let bytes = bytes.get(..turn).unwrap_or(bytes);
            // The test has ended.
            let _ = self.taken.send(bytes.to_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log_to_valve() -> (Log, SyncSender<io::Result<usize>>, Receiver<Vec<u8>>) {
        let ((turn, turns), (taken, seen)) = (sync_channel(16), sync_channel(16));
        let log = Log::default();
        let shared = Arc::clone(&log.0);
        thread::spawn(move || shared.write_to(Valve { turns, taken }));
        (log, turn, seen)
    }

    #[test]
    fn lines_beyond_the_limit_are_lost_and_the_writer_of_a_line_never_waits() {
        let (mut log, turn, seen) = log_to_valve();
        let line = vec![b'x'; WAITING_BYTES_MAX / 4];
        // The first is being written, four wait, and the others are lost.
        log.write_all(b"first\n").expect("taken");
        while !log.0.lines().is_writing {
            thread::yield_now();
        }
        for _ in 0..7 {
            log.write_all(&line).expect("taken");
        }
        assert_eq!(log.0.lines().lost, 3);
        for length in [6, line.len(), line.len(), line.len(), line.len()] {
            turn.send(Ok(usize::MAX)).expect("it writes");
            assert_eq!(seen.recv().expect("written").len(), length);
        }
        log.finish();
        assert_eq!(log.0.lines().waiting_bytes, 0);
    }

    #[test]
    fn a_line_that_was_cut_does_not_run_into_the_next() {
        let (mut log, turn, seen) = log_to_valve();
        for line in ["one\n", "two\n", "three\n"] {
            log.write_all(line.as_bytes()).expect("taken");
        }
        let full = || Err(ErrorKind::StorageFull.into());
        for outcome in [Ok(2), full(), full(), Ok(1), Ok(usize::MAX)] {
            turn.send(outcome).expect("it writes");
        }
        let written: Vec<u8> = (0..3).flat_map(|_| seen.recv().expect("written")).collect();
        assert_eq!(String::from_utf8_lossy(&written), "on\nthree\n", "the second found no room at all");
        log.finish();
        assert_eq!(log.0.lines().lost, 2);
    }
}
