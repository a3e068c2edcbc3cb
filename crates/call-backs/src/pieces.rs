//! The files of the log of attempts, and an index of their lines.
//!
//! When there is no room for another piece, the oldest one is removed. Lines of topics that use no more than their share
//! move to the new piece: a topic that makes many calls does not displace the lines of others. Half of the log is shared,
//! so half of what is removed becomes free on average.
//!
//! The index takes 16 bytes of memory per line, about a twentieth of the log's size on the disk.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::attempt::Attempt;
use adjourn_types::{JobId, Millis};

/// Most files at the same time.
pub(super) const PIECES: u64 = 9;
const NAME_BEGINS: &str = "attempts-";
const NAME_ENDS: &str = ".jsonl";
/// The log contains URLs and replies: only the user of the node may read it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The pieces.
pub(super) struct Pieces {
    folder: PathBuf,
    /// The maximum size of a piece.
    bytes_max: u64,
    clock: fn() -> Millis,
    /// The number of the next piece.
    next: u64,
    /// The oldest one first; the last one may be open.
    kept: VecDeque<Piece>,
    /// The writer of the last piece.
    open: Option<BufWriter<File>>,
    /// The size of each topic's lines, in bytes.
    held: BTreeMap<String, u64>,
}

struct Piece {
    number: u64,
    path: PathBuf,
    /// For reading, also after the file was removed.
    file: Arc<File>,
    bytes: u64,
    /// Sorted by job, once the piece is complete.
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    job: u64,
    /// Its offset.
    at: u32,
    bytes: u32,
}

/// A line that was found.
#[derive(Debug)]
pub(super) struct Found {
    file: Arc<File>,
    line: Line,
}

/// The end of a piece.
#[derive(Debug)]
pub(super) struct PieceEnd {
    file: Arc<File>,
    at: u64,
    bytes: u64,
}

/// The fields of a line that decide whether it is kept.
#[derive(Deserialize)]
struct Told {
    job: u64,
    topic: String,
    until_ms: u64,
}

impl Found {
    /// The line; `None` if it is incomplete.
    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; self.line.bytes as usize];
        match self.file.read_exact_at(&mut bytes, self.line.at.into()) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl PieceEnd {
    /// Its bytes. They may begin in the middle of a line.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.bytes).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, self.at)?;
        Ok(bytes)
    }
}

impl Pieces {
    /// The pieces in a folder, which is created if it is missing. Together they take at most `bytes_max`.
    pub(super) fn in_folder(folder: &Path, bytes_max: u64, clock: fn() -> Millis) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))?;
        Ok(Self {
            folder: folder.to_owned(),
            bytes_max: bytes_max / PIECES,
            clock,
            next: 1,
            kept: VecDeque::new(),
            open: None,
            held: BTreeMap::new(),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the existing pieces, and continues the last one if it ends with a whole line.
    pub(super) fn recover(&mut self) -> io::Result<()> {
        let mut there = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let number = name.strip_prefix(NAME_BEGINS).and_then(|rest| rest.strip_suffix(NAME_ENDS));
            if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
                there.push((number, path));
            }
        }
        there.sort_unstable();
        self.next = there.last().map_or(1, |(last, _)| last + 1);
        let mut is_whole = false;
        for (number, path) in there {
            let mut piece = Piece::open(number, path)?;
            let held = &mut self.held;
            is_whole = piece.each_line(|line, told, _| {
                if let Some(told) = told {
                    *held.entry(told.topic).or_default() += u64::from(line.bytes);
                }
                Ok(())
            })?;
            self.kept.push_back(piece);
        }
        if let Some(last) = self.kept.back().filter(|last| is_whole && last.bytes < self.bytes_max) {
            self.open = Some(BufWriter::new(File::options().append(true).open(&last.path)?));
        }
        Ok(())
    }

    /// The places of a job's lines.
    pub(super) fn find(&mut self, job: JobId) -> io::Result<Vec<Found>> {
        self.flush()?;
        let mut found = Vec::new();
        let open = self.open.as_ref().and_then(|_| self.kept.back());
        for piece in &self.kept {
            let lines = if open.is_some_and(|open| open.number == piece.number) {
                piece.lines.as_slice()
            } else {
                let before = piece.lines.partition_point(|line| line.job < job.0);
                let behind = piece.lines.partition_point(|line| line.job <= job.0);
                piece.lines.get(before..behind).unwrap_or_default()
            };
            let lines = lines.iter().filter(|line| line.job == job.0);
            found.extend(lines.map(|line| Found { file: Arc::clone(&piece.file), line: *line }));
        }
        Ok(found)
    }

    /// The last bytes of the log, at most this many.
    pub(super) fn last(&mut self, bytes_max: u64) -> io::Result<Vec<PieceEnd>> {
        self.flush()?;
        let mut left = bytes_max;
        let ends = self.kept.iter().rev().map(|piece| {
            let bytes = piece.bytes.min(left);
            left -= bytes;
            PieceEnd { file: Arc::clone(&piece.file), at: piece.bytes - bytes, bytes }
        });
        Ok(ends.filter(|end| end.bytes > 0).collect())
    }

    pub(super) fn write(&mut self, attempt: &Attempt) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(attempt)?;
        bytes.push(b'\n');
        while !self.has_room(bytes.len() as u64) {
            self.begin()?;
        }
        self.append(attempt.job, &attempt.topic, &bytes)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.open.as_mut().map_or(Ok(()), BufWriter::flush)
    }

    /// Makes the next line begin another piece: the last one may end in the middle of a line.
    pub(super) fn give_up(&mut self) {
        self.seal();
    }

    /// True if the open piece has room for a line. An empty piece has room for any line.
    fn has_room(&self, bytes: u64) -> bool {
        let last = self.open.as_ref().and_then(|_| self.kept.back());
        last.is_some_and(|last| last.bytes == 0 || last.bytes + bytes <= self.bytes_max)
    }

    fn append(&mut self, job: u64, topic: &str, line: &[u8]) -> io::Result<()> {
        let (Some(open), Some(piece)) = (&mut self.open, self.kept.back_mut()) else { return Ok(()) };
        let bytes = u32::try_from(line.len()).map_err(io::Error::other)?;
        let at = u32::try_from(piece.bytes).map_err(io::Error::other)?;
        open.write_all(line)?;
        piece.lines.push(Line { job, at, bytes });
        piece.bytes += u64::from(bytes);
        match self.held.get_mut(topic) {
            Some(held) => *held += u64::from(bytes),
            None => drop(self.held.insert(topic.to_owned(), bytes.into())),
        }
        Ok(())
    }

    /// Begins another piece, and removes the oldest one at the maximum number of pieces.
    fn begin(&mut self) -> io::Result<()> {
        self.flush()?;
        self.seal();
        let oldest = if self.kept.len() as u64 >= PIECES - 1 { self.kept.pop_front() } else { None };
        let number = self.next;
        let path = self.folder.join(format!("{NAME_BEGINS}{number:08}{NAME_ENDS}"));
        let file = File::options().append(true).create_new(true).mode(FILE_MODE).open(&path)?;
        self.next += 1;
        self.kept.push_back(Piece::open(number, path)?);
        self.open = Some(BufWriter::new(file));
        oldest.map_or(Ok(()), |oldest| self.make_room(oldest))
    }

    /// Removes a piece. Lines still kept, of topics that use no more than their share, move to the open one.
    fn make_room(&mut self, mut oldest: Piece) -> io::Result<()> {
        let now = (self.clock)();
        let share = share(self.held.values().copied().collect(), self.bytes_max * (PIECES - 1) / 2);
        oldest.lines.clear();
        oldest.each_line(|line, told, text| {
            let Some(told) = told else { return Ok(()) };
            let held = self.held.get(&told.topic).copied().unwrap_or_default();
            match held.saturating_sub(line.bytes.into()) {
                0 => drop(self.held.remove(&told.topic)),
                left => drop(self.held.insert(told.topic.clone(), left)),
            }
            let is_kept = held <= share && told.until_ms > now.0;
            if is_kept { self.append(told.job, &told.topic, text) } else { Ok(()) }
        })?;
        self.flush()?;
        fs::remove_file(oldest.path)
    }

    fn seal(&mut self) {
        self.open = None;
        if let Some(last) = self.kept.back_mut() {
            last.lines.sort_unstable();
        }
    }
}

/// The share of each when they divide this many bytes: what some do not need is left to the others.
fn share(mut held: Vec<u64>, bytes: u64) -> u64 {
    held.sort_unstable();
    let (mut left, mut sharers) = (bytes, held.len() as u64);
    for held in held {
        if held > left / sharers {
            break;
        }
        (left, sharers) = (left - held, sharers - 1);
    }
    left / sharers.max(1)
}

impl Piece {
    fn open(number: u64, path: PathBuf) -> io::Result<Self> {
        let file = Arc::new(File::open(&path)?);
        Ok(Self { number, path, file, bytes: 0, lines: Vec::new() })
    }

    /// Reads its lines into the index, and calls `show` with each. True if the last one is whole.
    fn each_line(
        &mut self,
        mut show: impl FnMut(Line, Option<Told>, &[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        (&*self.file).rewind()?;
        let (mut reader, mut text, mut is_whole) = (BufReader::new(&*self.file), Vec::new(), true);
        self.bytes = 0;
        while reader.read_until(b'\n', &mut text)? > 0 {
            is_whole = text.ends_with(b"\n");
            // The last line may be incomplete.
            let told: Option<Told> = serde_json::from_slice(&text).ok().filter(|_| is_whole);
            let bytes = u32::try_from(text.len()).map_err(io::Error::other)?;
            let at = u32::try_from(self.bytes).map_err(io::Error::other)?;
            let line = Line { job: told.as_ref().map_or(0, |told| told.job), at, bytes };
            self.bytes += u64::from(bytes);
            if told.is_some() {
                self.lines.push(line);
            }
            show(line, told, &text)?;
            text.clear();
        }
        self.lines.sort_unstable();
        Ok(is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_needs_less_than_a_share_leaves_the_rest() {
        for (held, share_of_each) in [
            (vec![], 90),
            (vec![10], 80),
            (vec![1000], 90),
            (vec![1000, 1000, 1000], 30),
            (vec![1000, 10, 1000], 40),
            (vec![45, 1000], 45),
            (vec![46, 1000], 45),
        ] {
            assert_eq!(share(held.clone(), 90), share_of_each, "{held:?}");
        }
    }
}
