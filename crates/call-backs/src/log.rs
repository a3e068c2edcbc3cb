//! The log of attempts: a line for each call, kept as long as its topic says and as there is room.
//!
//! A thread of its own writes it. Calls never wait for it: when it cannot keep up, lines are dropped and counted. Its files
//! are [pieces](super::pieces) of the same size; nothing is synced, so the last lines may be missing after a crash.
//!
//! To read the attempts of a job, a caller asks that thread for the places of their lines, and reads only these. To see
//! what failed last, it reads the end of the log.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use tracing::warn;

use super::attempt::Attempt;
use super::pieces::{Found, PieceEnd, Pieces};
use adjourn_types::{JobId, Millis};

/// Lines that may wait to be written.
const WAITING_MAX: usize = 8192;
/// Most attempts that are returned for one job: the last ones.
const SHOWN_MAX: usize = 1000;
/// The last failed attempts are searched in this many bytes at the end of the log.
const END_BYTES_MAX: u64 = 1 << 20;

/// A handle of the log.
#[derive(Debug)]
pub(super) struct Log {
    /// The thread that writes; `None` if no attempts are kept.
    writer: Option<SyncSender<Order>>,
    left_out: AtomicU64,
    clock: fn() -> Millis,
}

enum Order {
    Write(Box<Attempt>),
    /// Find the lines of a job.
    Find(JobId, SyncSender<io::Result<Vec<Found>>>),
    /// Find the end of the log.
    Last(SyncSender<io::Result<Vec<PieceEnd>>>),
}

impl Log {
    /// Opens the log, and keeps the lines in the folder.
    pub(super) fn open(folder: &Path, bytes_max: u64, clock: fn() -> Millis) -> io::Result<Self> {
        let pieces = Pieces::in_folder(folder, bytes_max, clock)?;
        let (writer, orders) = sync_channel(WAITING_MAX);
        thread::Builder::new().name("attempts".to_owned()).spawn(move || run(pieces, &orders))?;
        Ok(Self { writer: Some(writer), left_out: AtomicU64::new(0), clock })
    }

    /// The log of a server that writes no files: it keeps nothing.
    pub(super) fn none(clock: fn() -> Millis) -> Self {
        Self { writer: None, left_out: AtomicU64::new(0), clock }
    }

    pub(super) fn write(&self, attempt: Attempt) {
        let Some(writer) = &self.writer else { return };
        if let Err(TrySendError::Full(_)) = writer.try_send(Order::Write(Box::new(attempt))) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of lines that were dropped because the writer could not keep up.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// The kept attempts of a job, the first one first. Blocks on the disk: do not call it on a thread that serves.
    pub(super) fn attempts(&self, job: JobId) -> io::Result<Vec<Attempt>> {
        let now = (self.clock)();
        let mut attempts = Vec::new();
        for found in self.find(job)? {
            // A crash may have truncated the last line.
            if let Some(attempt) =
                found.read()?.and_then(|line| serde_json::from_slice::<Attempt>(&line).ok())
                && attempt.job == job.0
                && attempt.until_ms > now.0
            {
                attempts.push(attempt);
            }
        }
        // Lines that were moved to make room are after later ones, and there twice if the disk failed meanwhile.
        attempts.sort_by(|one, other| (&one.at, one.attempt).cmp(&(&other.at, other.attempt)));
        attempts.dedup();
        attempts.drain(..attempts.len().saturating_sub(SHOWN_MAX));
        Ok(attempts)
    }

    /// The last attempts that failed, of topics that may be shown, the newest first: at most `most` of those at the end of
    /// the log. Blocks on the disk.
    pub(super) fn last_failed(
        &self,
        most: usize,
        may_show: impl Fn(&str) -> bool,
    ) -> io::Result<Vec<Attempt>> {
        let now = (self.clock)();
        let is_shown = |one: &Attempt| one.has_failed() && one.until_ms > now.0 && may_show(&one.topic);
        let mut failed = Vec::new();
        for end in self.ask(Order::Last)? {
            let text = end.read()?;
            let lines = text.split(|byte| *byte == b'\n');
            failed.extend(lines.filter_map(|line| serde_json::from_slice(line).ok()).filter(is_shown));
        }
        failed.sort_by(|one, other| (&other.at, other.attempt).cmp(&(&one.at, one.attempt)));
        failed.dedup();
        failed.truncate(most);
        Ok(failed)
    }

    /// The places of a job's lines.
    fn find(&self, job: JobId) -> io::Result<Vec<Found>> {
        self.ask(|asker| Order::Find(job, asker))
    }

    fn ask<T>(&self, order: impl FnOnce(SyncSender<io::Result<Vec<T>>>) -> Order) -> io::Result<Vec<T>> {
        let Some(writer) = &self.writer else { return Ok(Vec::new()) };
        let (asker, answer) = sync_channel(1);
        // The writer may be gone.
        let gone = || io::Error::other("the log of attempts is closed");
        writer.send(order(asker)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

fn run(mut pieces: Pieces, orders: &Receiver<Order>) {
    let mut has_failed = false;
    let mut told = |done: io::Result<()>, pieces: &mut Pieces| match done {
        Ok(()) => has_failed = false,
        Err(error) => {
            pieces.give_up();
            if !std::mem::replace(&mut has_failed, true) {
                warn!(%error, folder = %pieces.folder().display(), "attempts of call-backs are not logged");
            }
        }
    };
    let recovered = pieces.recover();
    told(recovered, &mut pieces);
    while let Ok(order) = orders.recv() {
        let mut next = Some(order);
        while let Some(order) = next {
            match order {
                Order::Write(attempt) => {
                    let written = pieces.write(&attempt);
                    told(written, &mut pieces);
                }
                // An asker that has given up needs no answer.
                Order::Find(job, asker) => drop(asker.send(pieces.find(job))),
                Order::Last(asker) => drop(asker.send(pieces.last(END_BYTES_MAX))),
            }
            next = orders.try_recv().ok();
        }
        let flushed = pieces.flush();
        told(flushed, &mut pieces);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::pieces::PIECES;
    use super::*;

    pub(crate) fn attempt(topic: &str, job: u64, attempt: u32) -> Attempt {
        Attempt {
            job,
            topic: topic.to_owned(),
            attempt,
            at: format!("2026-01-01T00:00:{:02}.{:03}Z", attempt / 1000, attempt % 1000),
            method: "POST".to_owned(),
            url: "http://shop.example/".to_owned(),
            status: Some(500),
            outcome: "retried".to_owned(),
            reason: Some("500 Internal Server Error".to_owned()),
            took_ms: 3,
            until_ms: 1000 + u64::from(attempt),
        }
    }

    fn open(folder: &Path, bytes_max: u64) -> Log {
        Log::open(folder, bytes_max, || Millis(0)).expect("opened")
    }

    fn numbers(log: &Log, job: u64) -> Vec<u32> {
        let found = log.attempts(JobId(job)).expect("read");
        found.iter().map(|attempt| attempt.attempt).collect()
    }

    fn files(folder: &Path) -> Vec<std::path::PathBuf> {
        let mut files: Vec<_> =
            fs::read_dir(folder).expect("read").map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    }

    #[test]
    fn attempts_are_found_by_job_while_they_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Log::open(folder.path(), 1 << 20, || Millis(1001)).expect("opened");
        for number in 1..=3 {
            log.write(attempt("orders", 7, number));
            log.write(attempt("orders", 77, number));
        }
        assert_eq!((numbers(&log, 7), numbers(&log, 8)), (vec![2, 3], vec![]));
        drop(log);
        // A line that a crash cut off hides no other.
        let path = files(folder.path()).pop().expect("a piece");
        let text = fs::read(&path).expect("read");
        fs::write(&path, text.get(..text.len() - 5).expect("longer")).expect("written");
        let log = open(folder.path(), 1 << 20);
        log.write(attempt("orders", 77, 4));
        assert_eq!((numbers(&log, 7), numbers(&log, 77)), (vec![1, 2, 3], vec![1, 2, 4]));
    }

    #[test]
    fn a_look_reads_the_lines_of_its_job_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        for round in 0..2 {
            let log = open(folder.path(), 1 << 20);
            for number in 1..=300 {
                log.write(attempt("orders", u64::from(number % 100), round * 300 + number));
            }
            let expected: Vec<u32> = (0..=round * 3 + 2).map(|nth| nth * 100 + 42).collect();
            assert_eq!(numbers(&log, 42), expected);
            assert_eq!(log.find(JobId(42)).expect("found").len(), expected.len(), "it reads no others");
        }
        assert!(files(folder.path()).len() > 1);
    }

    #[test]
    fn the_last_failures_are_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = open(folder.path(), 64 << 20);
        for number in 1..=9_000 {
            log.write(attempt(if number % 2 == 0 { "orders" } else { "mails" }, 7, number));
            if number % 100 == 0 {
                let outcome = "finished".to_owned();
                log.write(Attempt { outcome, ..attempt("orders", 7, number + 1) });
                // It waits for the writer.
                assert!(numbers(&log, 8).is_empty());
            }
        }
        let failed = |most: usize| {
            let failed = log.last_failed(most, |topic| topic == "orders").expect("read");
            failed.iter().map(|attempt| attempt.attempt).collect::<Vec<u32>>()
        };
        assert_eq!(failed(3), [9_000, 8_998, 8_996]);
        let all = failed(usize::MAX).len() as u64;
        assert!((1_000..4_000).contains(&all), "{all}");
        assert!(Log::none(|| Millis(0)).last_failed(9, |_| true).expect("nothing").is_empty());
    }

    #[test]
    fn it_is_for_the_nodes_user_alone() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("call-backs");
        let log = open(&folder, 1 << 20);
        log.write(attempt("orders", 7, 1));
        assert_eq!(numbers(&log, 7), [1]);
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(files(&folder).iter().map(|file| mode(file)).collect::<Vec<_>>(), [0o600]);
    }

    #[test]
    fn starts_take_no_room_from_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 1..=20 {
            let log = open(folder.path(), 1 << 20);
            log.write(attempt("orders", 7, number));
            assert_eq!(numbers(&log, 7).len(), number as usize);
        }
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = open(folder.path(), 32 << 10);
        let mut last = Vec::new();
        for number in 1..=1000 {
            log.write(attempt("orders", 7, number));
            if number % 100 == 0 {
                last = numbers(&log, 7);
            }
        }
        let bytes: u64 =
            files(folder.path()).iter().map(|path| fs::metadata(path).expect("a file").len()).sum();
        assert!(bytes <= 32 << 10, "{bytes}");
        assert_eq!((last.last(), log.left_out()), (Some(&1000), 0));
        assert!(last.len() > 60 && last.iter().zip(last.iter().skip(1)).all(|(one, next)| one + 1 == *next));
        assert!(files(folder.path()).len() as u64 <= PIECES);
    }

    #[test]
    fn a_topic_that_calls_much_takes_no_lines_of_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = open(folder.path(), 64 << 10);
        for number in 1..=20 {
            log.write(attempt("quiet", 1, number));
            log.write(attempt(&format!("single{number}"), 100 + u64::from(number), 1));
        }
        let flood = |log: &Log| {
            for number in 1..=2000 {
                log.write(attempt("loud", 7, number));
                if number % 100 == 0 {
                    assert!(!numbers(log, 7).is_empty());
                }
            }
        };
        flood(&log);
        drop(log);
        let log = open(folder.path(), 64 << 10);
        flood(&log);
        assert_eq!(numbers(&log, 1), (1..=20).collect::<Vec<_>>());
        assert!((101..=120).all(|job| numbers(&log, job) == [1]));
        assert_eq!(numbers(&log, 7).last(), Some(&2000));
        let bytes: u64 =
            files(folder.path()).iter().map(|path| fs::metadata(path).expect("a file").len()).sum();
        assert!(bytes <= 64 << 10, "{bytes}");
    }

    #[test]
    fn many_topics_leave_each_its_share() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = open(folder.path(), 64 << 10);
        for number in 1..=100 {
            for topic in 1..=50 {
                log.write(attempt(&format!("t{topic}"), topic, number));
            }
            assert!(!numbers(&log, 1).is_empty());
        }
        for topic in 1..=50 {
            assert_eq!(numbers(&log, topic).last(), Some(&100), "{topic}");
        }
    }
}
