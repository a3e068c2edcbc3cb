//! How far the import of a file has come: a file beside it, so that an import that was stopped goes on, and one that is done is not
//! repeated.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::num::NonZeroU128;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::numbers::Numbers;
use crate::exit::{Exit, Failure};

/// The ending of its name, behind that of the file.
const ENDING: &str = ".imported";
/// The ending of the file of the lines that the queue refused.
const REFUSED: &str = ".refused";

/// The path of this file with more behind its name.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// How far the import of a file has come.
pub(super) struct Progress {
    path: PathBuf,
    /// The lines that the queue refused.
    refused: PathBuf,
    state: State,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Those of its jobs.
    numbers: Numbers,
    /// The size of the file, to know it again.
    bytes: u64,
    /// So many lines are imported.
    lines: u64,
    /// And these bytes of the file.
    offset: u64,
    /// The lines of these that the queue refused have so many bytes.
    refused_bytes: u64,
}

impl Progress {
    /// The progress of this file, which has so many bytes.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is that of another file.
    pub(super) fn of(file: &Path, bytes: u64) -> Result<Self, Failure> {
        let (path, refused) = (beside(file, ENDING), beside(file, REFUSED));
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(Exit::Usage, format_args!("cannot read {}: {error}", path.display()))
        };
        let state = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str::<State>(&text).map_err(|error| failed(&error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let numbers = Numbers::draw().map_err(|error| failed(&error))?;
                // Lines of an earlier import of this file stay in front.
                let refused_bytes = fs::metadata(&refused).map_or(0, |metadata| metadata.len());
                let state = State { numbers, bytes, lines: 0, offset: 0, refused_bytes };
                // Before the first push: an import that is killed must not be repeated under other numbers.
                let progress = Self { path, refused, state };
                progress.write().map_err(|error| progress.unwritten(&error))?;
                return Ok(progress);
            }
            Err(error) => return Err(failed(&error)),
        };
        if state.bytes != bytes {
            return Err(failed(&"it is of another file: delete it to import this one from its beginning"));
        }
        Ok(Self { path, refused, state })
    }

    /// How many lines, and bytes, are imported.
    pub(super) fn done(&self) -> (u64, u64) {
        (self.state.lines, self.state.offset)
    }

    /// Where it stands.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the job in this line, counted from 0.
    pub(super) fn number(&self, line: u64) -> NonZeroU128 {
        self.state.numbers.nth(line)
    }

    /// Where the lines stand that the queue refused.
    pub(super) fn refused(&self) -> &Path {
        &self.refused
    }

    /// So many lines are imported, and so many bytes. Of those that are new, the queue refused these.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn advance(&mut self, lines: u64, offset: u64, refused: &[u8]) -> Result<(), Failure> {
        (self.state.lines, self.state.offset) = (lines, offset);
        self.keep(refused).and_then(|()| self.write()).map_err(|error| self.unwritten(&error))
    }

    /// Adds lines to those that the queue refused, in place of what a killed import has added without noting it.
    fn keep(&mut self, refused: &[u8]) -> io::Result<()> {
        if refused.is_empty() {
            return Ok(());
        }
        let mut file = File::options().create(true).truncate(false).write(true).open(&self.refused)?;
        file.set_len(self.state.refused_bytes)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(refused)?;
        file.sync_all()?;
        self.state.refused_bytes += refused.len() as u64;
        Ok(())
    }

    fn unwritten(&self, error: &io::Error) -> Failure {
        let (progress, refused) = (self.path.display(), self.refused.display());
        Failure::new(Exit::Refused, format_args!("cannot write {progress} or {refused}: {error}"))
    }

    /// Replaces the file as a whole: a crash leaves the old one or the new one.
    fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        serde_json::to_writer(&mut file, &self.state)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_goes_on_where_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("jobs.jsonl");
        let mut progress = Progress::of(&file, 100).expect("a new one");
        let number = progress.number(7);
        assert_eq!((progress.done(), progress.number(8).get()), ((0, 0), number.get() + 1));
        let killed = Progress::of(&file, 100).expect("read");
        assert_eq!(killed.number(7), number, "the numbers are kept before the first push");
        progress.advance(5, 50, b"a\n").expect("written");
        let mut again = Progress::of(&file, 100).expect("read");
        assert_eq!((again.done(), again.number(7)), ((5, 50), number));
        // One that was killed has added lines without noting it.
        fs::write(again.refused(), "a\nb\n").expect("written");
        again.advance(6, 60, b"c\n").expect("written");
        assert_eq!(fs::read_to_string(again.refused()).expect("read"), "a\nc\n");
        let refused = Progress::of(&file, 101).err().expect("another file");
        assert!(refused.to_string().contains("jobs.jsonl.imported: it is of another file"), "{refused}");
    }
}
