//! A backup to be read: a file, or standard input.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::super::exit::{Exit, Failure};
use super::storage_failure;
use crate::storage::Backup;

/// What stands for standard input and standard output.
const STREAM: &str = "-";

/// Whether this stands for standard input or output.
pub(super) fn is_stream(file: &Path) -> bool {
    file == Path::new(STREAM)
}

/// The folder that a file is in.
pub(in super::super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A backup, and the file that it is read from.
pub(in super::super) struct Source {
    pub(in super::super) backup: Backup,
    /// How it is called in texts.
    pub(in super::super) name: PathBuf,
    /// A backup is read several times: what comes over standard input is kept until this is dropped.
    _kept: Option<NamedTempFile>,
}

impl Source {
    /// Opens a file, or reads standard input to its end, into a file of this folder.
    pub(in super::super) fn open(file: &Path, folder: &Path) -> Result<Self, Failure> {
        let open = |path: &Path| Backup::open(path).map_err(|error| storage_failure(&error));
        if !is_stream(file) {
            return Ok(Self { backup: open(file)?, name: file.to_owned(), _kept: None });
        }
        let keep = || {
            std::fs::create_dir_all(folder)?;
            let mut kept = NamedTempFile::with_prefix_in("adjourn-", folder)?;
            io::copy(&mut io::stdin().lock(), kept.as_file_mut())?;
            Ok::<_, io::Error>(kept)
        };
        let kept = keep().map_err(|error| {
            let text =
                format_args!("cannot keep the backup from standard input in {}: {error}", folder.display());
            Failure::new(Exit::Refused, text)
        })?;
        Ok(Self { backup: open(kept.path())?, name: "standard input".into(), _kept: Some(kept) })
    }
}
