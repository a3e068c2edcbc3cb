//! A log file that is rotated when it is large. The newest rotated files are kept.
//!
//! It always ends with a whole line: one that was written in part is taken back. Other programs, such as logrotate, may
//! rotate the file at any time: the next line begins a new one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tracing::warn;

/// Files that are kept beside the one that is written: `audit.log.1` is the newest of them.
const KEPT_FILES: u32 = 5;
/// An incomplete last line is removed if its beginning is in this many bytes.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// The file.
#[derive(Debug)]
pub(super) struct RotatedFile {
    path: PathBuf,
    bytes_max: u64,
    file: File,
    /// The file ends with an incomplete line that cannot be removed.
    is_torn: bool,
    /// The last reported reason why the file cannot be rotated.
    complaint: Option<String>,
}

impl RotatedFile {
    /// Opens the file, and appends to it if it exists.
    pub(super) fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let (path, file) = (path.to_owned(), append(path)?);
        let mut opened = Self { path, bytes_max, file, is_torn: false, complaint: None };
        opened.is_torn = !opened.cut_back()?;
        Ok(opened)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line; `line` includes the line break.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self.put_aside(line.len() as u64) {
            Ok(()) => self.complaint = None,
            // The file grows beyond its maximum size, which is better than losing lines.
            Err(error) => self.complain(&error),
        }
        let whole_bytes = self.file.metadata()?.len();
        let written = if self.is_torn { self.file.write_all(b"\n") } else { Ok(()) };
        let written = written.and_then(|()| self.file.write_all(line));
        self.is_torn = written.is_err() && self.file.set_len(whole_bytes).is_err();
        written
    }

    /// Makes room for a line: begins a new file when this one is full, or when another program has rotated it.
    fn put_aside(&mut self, line_bytes: u64) -> io::Result<()> {
        let own = self.file.metadata()?;
        let is_own = match std::fs::metadata(&self.path) {
            Ok(named) => (named.dev(), named.ino()) == (own.dev(), own.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if is_own {
            if own.len() == 0 || own.len() + line_bytes <= self.bytes_max {
                return Ok(());
            }
            for number in (1..KEPT_FILES).rev() {
                match std::fs::rename(self.kept(number), self.kept(number + 1)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            std::fs::rename(&self.path, self.kept(1))?;
        }
        self.file = append(&self.path)?;
        self.is_torn = !self.cut_back()?;
        Ok(())
    }

    /// Removes an incomplete last line. True if the file then ends with a whole one.
    fn cut_back(&self) -> io::Result<bool> {
        let found = self.file.metadata()?;
        if !found.is_file() || found.len() == 0 {
            return Ok(true);
        }
        let mut end = vec![0; usize::try_from(found.len().min(LINE_BYTES_MAX)).unwrap_or(usize::MAX)];
        let begins = found.len() - end.len() as u64;
        self.file.read_exact_at(&mut end, begins)?;
        let Some(last) = end.iter().rposition(|byte| *byte == b'\n') else { return Ok(false) };
        let whole_bytes = begins + last as u64 + 1;
        if whole_bytes < found.len() {
            self.file.set_len(whole_bytes)?;
        }
        Ok(true)
    }

    fn kept(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }

    /// Warns, once for each reason.
    fn complain(&mut self, error: &io::Error) {
        let complaint = error.to_string();
        if self.complaint.as_ref() != Some(&complaint) {
            warn!(%error, path = %self.path.display(), "the audit log cannot be rotated: it continues in the same file");
            self.complaint = Some(complaint);
        }
    }
}

/// Opens a file to append and, if it is a regular one, to read its end. A pipe is opened for writing alone: with both,
/// this process would be its reader, too.
fn append(path: &Path) -> io::Result<File> {
    let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
    OpenOptions::new().append(true).create(true).read(!is_special).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn folder() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        (folder, path)
    }

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn a_line_that_was_written_in_part_is_taken_back() {
        let (_folder, path) = folder();
        std::fs::write(&path, "one\ntwo\nthr").expect("written");
        let mut file = RotatedFile::open(&path, 1000).expect("opened");
        file.write(b"four\n").expect("written");
        assert_eq!(text(&path), "one\ntwo\nfour\n");
        // As after a full disk.
        file.file.write_all(b"fi").expect("written");
        assert!(file.cut_back().expect("cut back"));
        file.write(b"six\n").expect("written");
        assert_eq!(text(&path), "one\ntwo\nfour\nsix\n");
        // A file without a line break belongs to another program, and stays.
        std::fs::write(&path, "no line").expect("written");
        let mut file = RotatedFile::open(&path, 1000).expect("opened");
        file.write(b"one\n").expect("written");
        assert_eq!(text(&path), "no line\none\n");
    }

    #[test]
    fn a_failed_write_leaves_whole_lines() {
        let mut full = RotatedFile::open(Path::new("/dev/full"), 1000).expect("opened");
        assert!(full.write(b"one\n").is_err());
        assert!(full.is_torn, "nothing can be taken back from a device: the next line begins a new one");
    }

    #[test]
    fn others_may_put_the_file_aside() {
        let (folder, path) = folder();
        let mut file = RotatedFile::open(&path, 8).expect("opened");
        file.write(b"one\n").expect("written");
        std::fs::rename(&path, folder.path().join("moved")).expect("renamed");
        for line in ["two\n", "three\n", "four\n"] {
            file.write(line.as_bytes()).expect("written");
        }
        assert_eq!(text(&folder.path().join("moved")), "one\n");
        assert_eq!([text(&path), text(&file.kept(1)), text(&file.kept(2))], ["four\n", "three\n", "two\n"]);
        // As logrotate does with `create`.
        std::fs::rename(&path, folder.path().join("moved")).expect("renamed");
        std::fs::write(&path, "").expect("created");
        file.write(b"five\n").expect("written");
        assert_eq!([text(&path), text(&file.kept(1))], ["five\n", "three\n"]);
        // And with `copytruncate`.
        std::fs::write(&path, "").expect("truncated");
        file.write(b"six\n").expect("written");
        assert_eq!([text(&path), text(&file.kept(1))], ["six\n", "three\n"]);
    }

    #[test]
    fn a_file_that_cannot_be_put_aside_goes_on() {
        let (_folder, path) = folder();
        let mut file = RotatedFile::open(&path, 8).expect("opened");
        for number in [4, 5] {
            std::fs::create_dir_all(file.kept(number).join("in the way")).expect("a folder");
        }
        for _ in 0..3 {
            file.write(b"line\n").expect("written");
        }
        assert_eq!(text(&path), "line\n".repeat(3));
        assert!(file.complaint.is_some());
        std::fs::remove_dir_all(file.kept(5)).expect("removed");
        file.write(b"last\n").expect("written");
        assert_eq!((text(&path).as_str(), file.complaint), ("last\n", None));
    }
}
