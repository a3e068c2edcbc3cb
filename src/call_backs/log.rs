//! The log of attempts: a line for each call, kept as long as its topic says and as there is room.
//!
//! A thread of its own writes it. Calls never wait for it: when it cannot keep up, lines are left out and counted. Its files are
//! pieces of the same size, of which the oldest is removed when a new one begins; nothing is synced, so the last lines may be
//! missing after a crash.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use serde::{Deserialize, Serialize};
use tracing::warn;
use utoipa::ToSchema;

use crate::types::{JobId, Millis};

/// Files at the same time.
const PIECES: u64 = 8;
/// Lines that wait to be written.
const WAITING_MAX: usize = 8192;
/// Attempts that are shown of one job: the last ones.
const SHOWN_MAX: usize = 1000;
const NAME_BEGINS: &str = "attempts-";
const NAME_ENDS: &str = ".jsonl";

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AttemptJson)]
pub struct Attempt {
    /// The job.
    pub job: u64,
    /// Its topic.
    pub topic: String,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// When it began, RFC 3339.
    pub at: String,
    /// How the destination was called.
    pub method: String,
    /// Where: scheme, host, port and path, without the query.
    pub url: String,
    /// The status of the reply, if there was one.
    pub status: Option<u16>,
    /// What became of the job: `finished`, `kept`, `retried`, `buried`, `paused`, `not_tried`.
    pub outcome: String,
    /// Why, and the beginning of the reply.
    pub reason: Option<String>,
    /// How long the call took, in milliseconds.
    pub took_ms: u64,
    /// The line is shown until then, in milliseconds since 1970.
    pub until_ms: u64,
}

/// The way to the log.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    writer: SyncSender<Order>,
    left_out: AtomicU64,
}

enum Order {
    Write(Box<Attempt>),
    /// Make all before it visible.
    Flush(SyncSender<()>),
}

impl Log {
    /// Goes on with what is in the folder.
    pub(super) fn open(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let (writer, orders) = sync_channel(WAITING_MAX);
        let pieces = Pieces { folder: folder.to_owned(), bytes_max: bytes_max / PIECES, open: None };
        thread::Builder::new().name("attempts".to_owned()).spawn(move || run(pieces, &orders))?;
        Ok(Self { folder: folder.to_owned(), writer, left_out: AtomicU64::new(0) })
    }

    pub(super) fn write(&self, attempt: Attempt) {
        if let Err(TrySendError::Full(_)) = self.writer.try_send(Order::Write(Box::new(attempt))) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines that were left out for want of time.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// The attempts of a job that are still kept, the first one first. It reads all pieces: not for a thread that serves.
    pub(super) fn attempts(&self, job: JobId, now: Millis) -> io::Result<Vec<Attempt>> {
        let (done, flushed) = sync_channel(1);
        if self.writer.send(Order::Flush(done)).is_ok() {
            // A writer that is gone writes nothing more.
            let _ = flushed.recv();
        }
        let begins = format!("{{\"job\":{},", job.0);
        let mut found = Vec::new();
        for (_, path) in pieces(&self.folder)? {
            let file = match File::open(&path) {
                Ok(file) => file,
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for line in BufReader::new(file).split(b'\n') {
                let line = line?;
                // The last line of a piece may be cut off.
                if line.starts_with(begins.as_bytes())
                    && let Ok(attempt) = serde_json::from_slice::<Attempt>(&line)
                    && attempt.until_ms > now.0
                {
                    found.push(attempt);
                }
            }
        }
        found.drain(..found.len().saturating_sub(SHOWN_MAX));
        Ok(found)
    }
}

/// The files, by number.
fn pieces(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix(NAME_BEGINS).and_then(|rest| rest.strip_suffix(NAME_ENDS));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The writer's side.
struct Pieces {
    folder: PathBuf,
    /// Of one.
    bytes_max: u64,
    open: Option<Piece>,
}

struct Piece {
    file: BufWriter<File>,
    bytes: u64,
}

fn run(mut pieces: Pieces, orders: &Receiver<Order>) {
    let mut has_failed = false;
    let mut told = |written: io::Result<()>, pieces: &mut Pieces| match written {
        Ok(()) => has_failed = false,
        Err(error) => {
            // It begins anew with the next line: this piece may end in the middle of one.
            pieces.open = None;
            if !std::mem::replace(&mut has_failed, true) {
                warn!(%error, folder = %pieces.folder.display(), "attempts of call-backs are not logged");
            }
        }
    };
    while let Ok(order) = orders.recv() {
        let mut next = Some(order);
        while let Some(order) = next {
            match order {
                Order::Write(attempt) => {
                    let written = pieces.write(&attempt);
                    told(written, &mut pieces);
                }
                Order::Flush(done) => {
                    let flushed = pieces.flush();
                    told(flushed, &mut pieces);
                    // Who has not waited needs no answer.
                    let _ = done.send(());
                }
            }
            next = orders.try_recv().ok();
        }
        let flushed = pieces.flush();
        told(flushed, &mut pieces);
    }
}

impl Pieces {
    fn write(&mut self, attempt: &Attempt) -> io::Result<()> {
        let mut line = serde_json::to_vec(attempt)?;
        line.push(b'\n');
        let bytes = line.len() as u64;
        let piece = match &mut self.open {
            Some(piece) if piece.bytes + bytes <= self.bytes_max => piece,
            _ => self.begin()?,
        };
        piece.bytes += bytes;
        piece.file.write_all(&line)
    }

    /// Goes on with the last piece after a start, or begins a new one and removes those for which there is no room.
    fn begin(&mut self) -> io::Result<&mut Piece> {
        let is_full = self.open.is_some();
        self.flush()?;
        let there = pieces(&self.folder)?;
        if let Some((_, last)) = there.last().filter(|_| !is_full)
            && let Some(piece) = self.whole(last)?
        {
            return Ok(self.open.insert(piece));
        }
        let number = there.last().map_or(1, |(last, _)| last + 1);
        for (_, path) in there.iter().rev().skip(usize::try_from(PIECES - 1).unwrap_or(usize::MAX)) {
            fs::remove_file(path)?;
        }
        let path = self.folder.join(format!("{NAME_BEGINS}{number:08}{NAME_ENDS}"));
        let file = BufWriter::new(File::create_new(path)?);
        Ok(self.open.insert(Piece { file, bytes: 0 }))
    }

    /// A piece that has room and ends with a whole line.
    fn whole(&self, path: &Path) -> io::Result<Option<Piece>> {
        let mut file = File::options().read(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        let mut last = [0];
        if bytes > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let is_whole = last == *b"\n" && bytes < self.bytes_max;
        Ok(is_whole.then(|| Piece { file: BufWriter::new(file), bytes }))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open.as_mut().map_or(Ok(()), |piece| piece.file.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(job: u64, attempt: u32) -> Attempt {
        Attempt {
            job,
            topic: "orders".to_owned(),
            attempt,
            at: "2026-01-01T00:00:00Z".to_owned(),
            method: "POST".to_owned(),
            url: "http://shop.example/".to_owned(),
            status: Some(500),
            outcome: "retried".to_owned(),
            reason: Some("500 Internal Server Error".to_owned()),
            took_ms: 3,
            until_ms: 1000 + u64::from(attempt),
        }
    }

    fn numbers(log: &Log, job: u64, now: u64) -> Vec<u32> {
        let found = log.attempts(JobId(job), Millis(now)).expect("read");
        found.iter().map(|attempt| attempt.attempt).collect()
    }

    #[test]
    fn attempts_are_found_by_job_while_they_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Log::open(folder.path(), 1 << 20).expect("opened");
        for number in 1..=3 {
            log.write(attempt(7, number));
            log.write(attempt(77, number));
        }
        assert_eq!((numbers(&log, 7, 0), numbers(&log, 8, 0)), (vec![1, 2, 3], vec![]));
        assert_eq!(numbers(&log, 77, 1001), [2, 3]);
        drop(log);
        // A line that a crash cut off hides no other.
        let (_, path) = pieces(folder.path()).expect("read").pop().expect("a piece");
        let text = fs::read(&path).expect("read");
        fs::write(&path, text.get(..text.len() - 5).expect("longer")).expect("written");
        let log = Log::open(folder.path(), 1 << 20).expect("opened");
        log.write(attempt(77, 4));
        assert_eq!(numbers(&log, 77, 0), [1, 2, 4]);
    }

    #[test]
    fn starts_take_no_room_from_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 1..=20 {
            let log = Log::open(folder.path(), 1 << 20).expect("opened");
            log.write(attempt(7, number));
            assert_eq!(numbers(&log, 7, 0).len(), number as usize);
        }
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Log::open(folder.path(), 16 << 10).expect("opened");
        let mut last = Vec::new();
        for number in 1..=1000 {
            log.write(attempt(7, number));
            if number % 100 == 0 {
                last = numbers(&log, 7, 0);
            }
        }
        let bytes: u64 = pieces(folder.path())
            .expect("read")
            .iter()
            .map(|(_, path)| fs::metadata(path).expect("a file").len())
            .sum();
        assert!(bytes <= 16 << 10, "{bytes}");
        assert_eq!((last.last(), log.left_out()), (Some(&1000), 0));
        assert!(last.len() > 40 && last.iter().zip(last.iter().skip(1)).all(|(one, next)| one + 1 == *next));
    }
}
