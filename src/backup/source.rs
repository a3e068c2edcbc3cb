//! The source of a backup to read: a file, a pipe, or standard input.
//!
//! A backup is read several times. A pipe is copied to a file without a name, which disappears with the process, however
//! that ends.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::super::exit::{Exit, Failure};
use super::storage_failure;
use adjourn_storage::Backup;
use adjourn_storage::folder::DiskFile;

/// The name that stands for standard input and standard output.
const STREAM: &str = "-";

/// True if this name stands for standard input or output.
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

/// A backup, and its name.
pub(in super::super) struct Source {
    pub(in super::super) backup: Backup,
    /// For messages.
    pub(in super::super) name: PathBuf,
}

impl Source {
    /// Opens a file, or copies a pipe or standard input to a file without a name on the disk of this folder.
    pub(in super::super) fn open(file: &Path, folder: &Path) -> Result<Self, Failure> {
        if is_stream(file) {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                let text = "a backup is no text from a terminal: name a file, or pipe it into this command";
                return Err(Failure::new(Exit::Usage, text));
            }
            return Self::of(keep(stdin.lock(), "standard input", folder)?, "standard input".into());
        }
        let unopened = |error: io::Error| {
            Failure::new(Exit::DataUnusable, format_args!("cannot open {}: {error}", file.display()))
        };
        let name = file.to_owned();
        match std::fs::metadata(file) {
            Ok(found) if found.is_file() => Self::of(File::open(file).map_err(unopened)?, name),
            Ok(found) if found.is_dir() => {
                let text = format_args!("{} is a folder: name the file of a backup", file.display());
                Err(Failure::new(Exit::DataUnusable, text))
            }
            Ok(_) => {
                let pipe = File::open(file).map_err(unopened)?;
                Self::of(keep(pipe, &file.to_string_lossy(), folder)?, name)
            }
            Err(_) => Ok(Self { backup: Backup::open(file).map_err(|error| storage_failure(&error))?, name }),
        }
    }

    fn of(file: File, name: PathBuf) -> Result<Self, Failure> {
        if let Some((what, remedy)) = packing(&file) {
            let text = format_args!("{} is {what}, not a plain backup: {remedy} it first", name.display());
            return Err(Failure::new(Exit::DataUnusable, text));
        }
        let backup = Backup::of(DiskFile::of(file, &name), &name).map_err(|error| storage_failure(&error))?;
        Ok(Self { backup, name })
    }
}

/// Copies everything from `from` to a file without a name.
fn keep(mut from: impl Read, name: &str, folder: &Path) -> Result<File, Failure> {
    let mut keep = || {
        std::fs::create_dir_all(folder)?;
        let mut kept = tempfile::tempfile_in(folder)?;
        io::copy(&mut from, &mut kept)?;
        Ok::<_, io::Error>(kept)
    };
    keep().map_err(|error| {
        let text = format_args!("cannot keep the backup from {name} in {}: {error}", folder.display());
        Failure::new(Exit::Refused, text)
    })
}

/// The first bytes of packed files: the kind of file, and the remedy.
const PACKINGS: [(&[u8], &str, &str); 11] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "decompress"),
    (&[0x1f, 0x8b], "compressed by gzip", "decompress"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "compressed by xz", "decompress"),
    (&[0x04, 0x22, 0x4d, 0x18], "compressed by lz4", "decompress"),
    (b"BZh", "compressed by bzip2", "decompress"),
    (b"PK\x03\x04", "a zip archive", "unpack"),
    (b"age-encryption.org/", "encrypted by age", "decrypt"),
    (b"-----BEGIN AGE ENCRYPTED FILE", "encrypted by age", "decrypt"),
    (b"-----BEGIN PGP MESSAGE", "encrypted by gpg", "decrypt"),
    (b"Salted__", "encrypted by openssl", "decrypt"),
    (b"U2FsdGVkX1", "encrypted by openssl", "decrypt"),
];
/// The maximum length of these beginnings.
const PACKING_BYTES_MAX: usize = 32;

fn packing(file: &File) -> Option<(&'static str, &'static str)> {
    let mut begin = [0; PACKING_BYTES_MAX];
    // A read error is reported when the backup is read.
    let read = file.read_at(&mut begin, 0).unwrap_or(0);
    let begin = begin.get(..read)?;
    PACKINGS.iter().find(|(magic, ..)| begin.starts_with(magic)).map(|(_, what, remedy)| (*what, *remedy))
}
