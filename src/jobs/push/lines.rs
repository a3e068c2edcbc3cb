//! A job per line of standard input, in batches, several of them in flight.
//!
//! Lines are pushed in their order and ids printed in the same order. Memory is bounded: a batch has a limit in jobs
//! and in bytes, and so has the number of batches between the input and the answers. A batch is sent as soon as no
//! further line is available, so that a slow input is not delayed.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::AsFd as _;
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;

use super::batches::{Batch, BatchLimits, BatchReader};
use crate::connection::{ServerArgs, Session, exit_of, failure, goodbye, refusal_text, runtime};
use crate::exit::{Exit, Failure};
use crate::in_flight::InFlight;
use adjourn_client::Client;
use adjourn_protocol::{ErrorCode, NewJob, PushResult};
use adjourn_types::TopicName;

/// Batches that may wait to be sent.
const BATCHES_WAITING_MAX: usize = 4;
/// Batches that may wait for their answer.
const BATCHES_IN_FLIGHT_MAX: usize = 16;
/// Most refused lines that are reported one by one.
const REFUSALS_TOLD_MAX: usize = 10;

/// Pushes every line of standard input as the body of a job with the other fields of `job`.
pub(super) fn run(server: &ServerArgs, topic: &TopicName, job: &NewJob) -> Result<(), Failure> {
    let progress = progress_bar();
    runtime()?.block_on(async {
        let client = server.connect(Session::EndsWithIt).await?;
        let limits = BatchLimits::of(&client.welcome(), job);
        let (sender, batches) = mpsc::channel(BATCHES_WAITING_MAX);
        // The command does not wait for this thread: if the server fails first, the thread may block in a read for ever.
        thread::spawn(move || read_batches(io::stdin().lock(), limits, &sender));
        let mut answers = Answers::new(io::stdout().lock(), progress);
        let pushed = push_batches(&client, topic, job, batches, &mut answers).await;
        if pushed.is_ok() {
            goodbye(&client).await;
        }
        answers.finish(pushed)
    })
}

async fn push_batches(
    client: &Client,
    topic: &TopicName,
    job: &NewJob,
    mut batches: mpsc::Receiver<io::Result<Batch>>,
    answers: &mut Answers<impl Write>,
) -> Result<(), Failure> {
    let mut in_flight = InFlight::new();
    let mut input_open = true;
    loop {
        tokio::select! {
            batch = batches.recv(), if input_open && in_flight.len() < BATCHES_IN_FLIGHT_MAX => {
                let Some(batch) = batch else {
                    input_open = false;
                    continue;
                };
                let unreadable = |error| Failure::new(Exit::Refused, format_args!("cannot read standard input: {error}"));
                let Batch { lines, input_bytes, too_long } = batch.map_err(unreadable)?;
                if !lines.is_empty() {
                    let jobs = lines.into_iter().map(|body| NewJob { body, ..job.clone() }).collect();
                    let ticket = client.push_detached(topic, jobs).map_err(|error| failure(&error))?;
                    in_flight.push(input_bytes, ticket);
                }
                if too_long {
                    while let Some((bytes, answer)) = in_flight.next().await {
                        answers.take(bytes, &answer.map_err(|error| failure(&error))?)?;
                    }
                    answers.take(0, &[PushResult::Refused(ErrorCode::TooLarge, None)])?;
                }
            }
            Some((bytes, answer)) = in_flight.next() => {
                answers.take(bytes, &answer.map_err(|error| failure(&error))?)?;
            }
            else => return Ok(()),
        }
    }
}

fn read_batches(input: impl Read, limits: BatchLimits, batches: &mpsc::Sender<io::Result<Batch>>) {
    let mut input = BatchReader::new(input, limits);
    while let Some(batch) = input.next_batch().transpose() {
        let failed = batch.is_err();
        if batches.blocking_send(batch).is_err() || failed {
            return;
        }
    }
}

/// Prints ids and keeps the refused lines.
struct Answers<W> {
    out: W,
    out_open: bool,
    lines: u64,
    refused: u64,
    refusals: Vec<(u64, ErrorCode)>,
    progress: ProgressBar,
}

impl<W: Write> Answers<W> {
    fn new(out: W, progress: ProgressBar) -> Self {
        Self { out, out_open: true, lines: 0, refused: 0, refusals: Vec::new(), progress }
    }

    /// Handles the answer to one batch of `bytes` bytes.
    fn take(&mut self, bytes: u64, results: &[PushResult]) -> Result<(), Failure> {
        let mut text = Vec::new();
        for result in results {
            self.lines += 1;
            let written = match result {
                PushResult::Pushed(id)
                | PushResult::Kept(id)
                | PushResult::Replaced(id)
                | PushResult::Postponed(id) => {
                    writeln!(text, "{}", id.0)
                }
                PushResult::Refused(code, _) => {
                    self.refused += 1;
                    if self.refusals.len() < REFUSALS_TOLD_MAX {
                        self.refusals.push((self.lines, *code));
                    }
                    writeln!(text, "-")
                }
            };
            written.map_err(|error| output_failure(&error))?;
        }
        self.progress.inc(bytes);
        self.progress.set_message(self.lines.to_string());
        if !self.out_open {
            return Ok(());
        }
        match self.out.write_all(&text).and_then(|()| self.out.flush()) {
            // The reader of the ids is gone; the lines are still pushed.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.out_open = false,
            Err(error) => return Err(output_failure(&error)),
            Ok(()) => {}
        }
        Ok(())
    }

    /// The result of the command, after the result of the pushes.
    fn finish(self, pushed: Result<(), Failure>) -> Result<(), Failure> {
        self.progress.finish_and_clear();
        let pushed_lines = self.lines - self.refused;
        if let Err(failure) = pushed {
            let message = format!(
                "{failure}\n{pushed_lines} lines were pushed before that; the outcome of the others is unknown"
            );
            return Err(Failure::new(failure.exit, message));
        }
        let Some((_, first)) = self.refusals.first() else { return Ok(()) };
        let mut message = format!("refused {} of {} lines", self.refused, self.lines);
        for (line, code) in &self.refusals {
            message.extend(["\n", &format!("line {line}: {}", refusal_text(*code))]);
        }
        Err(Failure::new(exit_of(*first), message))
    }
}

fn output_failure(error: &io::Error) -> Failure {
    Failure::new(Exit::Refused, format_args!("cannot write to standard output: {error}"))
}

/// A bar over the bytes of a file, a counter for a pipe. Hidden if ids go to a terminal, which it would garble.
fn progress_bar() -> ProgressBar {
    if io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata());
    let (bar, template) = match file {
        Ok(metadata) if metadata.is_file() => {
            (ProgressBar::new(metadata.len()), "[{wide_bar}] {percent}%, {msg} lines, {eta} left")
        }
        _ => (ProgressBar::new_spinner(), "{spinner} {msg} lines, {elapsed}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::JobId;

    #[test]
    fn a_refused_line_has_its_place_and_its_reason() {
        let mut printed = Vec::new();
        let mut answers = Answers::new(&mut printed, ProgressBar::hidden());
        let results = [
            PushResult::Pushed(JobId(5)),
            PushResult::Refused(ErrorCode::TooLarge, None),
            PushResult::Pushed(JobId(6)),
        ];
        answers.take(0, &results).expect("memory takes it");
        let failure = answers.finish(Ok(())).expect_err("one was refused");
        assert!(failure.message.starts_with("refused 1 of 3 lines\nline 2: TOO_LARGE"), "{failure}");
        assert_eq!(printed, b"5\n-\n6\n");
    }

    #[test]
    fn ids_that_nobody_reads_stop_nothing() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut answers = Answers::new(Closed, ProgressBar::hidden());
        for id in [1, 2] {
            answers.take(0, &[PushResult::Pushed(JobId(id))]).expect("no failure");
        }
        assert!(answers.finish(Ok(())).is_ok());
    }
}
