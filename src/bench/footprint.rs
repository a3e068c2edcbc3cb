//! The resources of a server on the machine of the bench: resident memory, and bytes of its directory.
//!
//! Memory is read from `/proc`, not from the server, so only on Linux. Unreadable values are left out.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::output::complain;
use crate::usage::whole;

/// `st_blocks` counts blocks of this size, whatever the file system's own block size.
const BLOCK_BYTES: u64 = 512;

/// Where to look.
#[derive(Debug, Args)]
pub(super) struct FootprintArgs {
    /// The server's data directory, to show its size and the server's memory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The server's process; without it, the one that has files of --data open
    #[arg(long, value_name = "PID", value_parser = whole(1..=u32::MAX))]
    pid: Option<u32>,
}

/// The directory and the process to measure.
#[derive(Debug)]
pub(super) struct Footprints {
    data: Option<PathBuf>,
    pid: Option<u32>,
}

/// The resources of a server at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Footprint {
    /// Memory of the process that is not swapped out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resident_bytes: Option<u64>,
    /// Space of the directory's files on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_bytes: Option<u64>,
}

impl FootprintArgs {
    /// Finds the directory, which must exist, and the process.
    pub(super) fn find(&self) -> Result<Footprints, Failure> {
        let unreadable = |path: &Path, error: io::Error| {
            Failure::new(Exit::Usage, format_args!("cannot read {}: {error}", path.display()))
        };
        let data = match &self.data {
            Some(data) => Some(data.canonicalize().map_err(|error| unreadable(data, error))?),
            None => None,
        };
        let pid = self.pid.or_else(|| data.as_deref().and_then(user_of));
        if let Some(data) = &data
            && pid.is_none()
        {
            complain(format_args!(
                "No process has files of {} open: its memory is not shown.",
                data.display()
            ));
        }
        Ok(Footprints { data, pid })
    }
}

impl Footprints {
    /// Measures the server now.
    pub(super) fn take(&self) -> Footprint {
        Footprint {
            resident_bytes: self.pid.and_then(resident_bytes),
            data_bytes: self.data.as_deref().map(occupied_bytes),
        }
    }
}

/// The process that has a file of `directory` open.
fn user_of(directory: &Path) -> Option<u32> {
    let has_open =
        |process: &Path| {
            fs::read_dir(process.join("fd")).into_iter().flatten().flatten().any(|descriptor| {
                fs::read_link(descriptor.path()).is_ok_and(|file| file.starts_with(directory))
            })
        };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        has_open(&process.path()).then_some(pid)
    });
    pids.next()
}

fn resident_bytes(pid: u32) -> Option<u64> {
    resident_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The space of a directory. Files that are removed meanwhile count as nothing.
fn occupied_bytes(directory: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(found) if found.is_dir() => bytes += occupied_bytes(&entry.path()),
            Ok(found) => bytes += found.blocks() * BLOCK_BYTES,
            Err(_) => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_status_of_a_process() {
        let status = "Name:\tadjourn\nVmHWM:\t   40 kB\nVmRSS:\t   32 kB\nThreads:\t7\n";
        assert_eq!(resident_in(status), Some(32 * 1024));
        assert_eq!(resident_in("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn a_directory_counts_with_those_inside() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(occupied_bytes(directory.path()), 0);
        fs::create_dir(directory.path().join("log")).expect("made");
        fs::write(directory.path().join("log/db"), vec![7; 100_000]).expect("written");
        fs::write(directory.path().join("vote"), b"v").expect("written");
        let one = fs::metadata(directory.path().join("log/db")).expect("there").blocks() * BLOCK_BYTES;
        let other = fs::metadata(directory.path().join("vote")).expect("there").blocks() * BLOCK_BYTES;
        assert_eq!(occupied_bytes(directory.path()), one + other);
        assert_eq!(occupied_bytes(&directory.path().join("gone")), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_found_by_its_open_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().canonicalize().expect("there");
        assert_eq!(user_of(&path), None);
        let open = fs::File::create(path.join("file")).expect("made");
        assert_eq!(user_of(&path), Some(std::process::id()));
        drop(open);
        assert!(resident_bytes(std::process::id()) > Some(0));
    }
}
