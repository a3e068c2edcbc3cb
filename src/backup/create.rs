//! `adjourn backup create`: reads a backup from a server and writes it to a file, or to standard output.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tokio::time::{Instant, sleep_until};
use xxhash_rust::xxh3::Xxh3;

use super::super::connection::{Session, failure, goodbye, runtime};
use super::super::exit::{Exit, Failure};
use super::super::output::print;
use super::source::{folder_of, is_stream};
use super::{CreateArgs, progress, storage_failure};
use crate::inspect::contents::jobs_text;
use adjourn_client::{Client, ClientError};
use adjourn_protocol::{BackupReady, ErrorCode};
use adjourn_storage::backup::Backup;
use adjourn_storage::backup_file::{FOOTER_BYTES, footer};
use adjourn_types::limits::BACKUP_READ_BYTES_MAX;

/// Most reads under way: one on the server's disk, one on its way here, and one between them.
const READS_MAX: usize = 3;

/// Bytes read, written and synced at a time. On a server's disk, each of its commits may wait for one such write:
/// with four times as much, its deliveries were late twice as long.
const READ_BYTES: u32 = BACKUP_READ_BYTES_MAX / 4;

/// Runs `adjourn backup create`.
pub(super) fn run(args: &CreateArgs) -> Result<(), Failure> {
    let mut part = Part::create(args)?;
    let ready = runtime()?.block_on(async {
        let client = args.server.connect(Session::None).await?;
        let ready = receive(&client, &mut part, args.bytes_per_second).await?;
        goodbye(&client).await;
        Ok(ready)
    })?;
    let streams = is_stream(&args.file);
    let bytes = part.finish(ready.bytes + FOOTER_BYTES, &args.file)?;
    if streams {
        return Ok(());
    }
    print(|out| {
        let (file, BackupReady { index, jobs, state_hash, .. }) = (args.file.display(), ready);
        let jobs = jobs_text(jobs);
        writeln!(out, "{file}: {jobs} at entry {index}, {bytes} bytes, state hash {state_hash:032x}")
    })
}

async fn receive(client: &Client, part: &mut Part, bytes_per_second: u64) -> Result<BackupReady, Failure> {
    let backup = client.backup().await.map_err(|error| lost(&error))?;
    let ready = backup.ready();
    let bar = progress("backup", ready.bytes);
    // The time before was the server's: the pace does not make up for it.
    let mut pace = Pace::new(bytes_per_second);
    let mut under_way = VecDeque::new();
    let mut asked = 0;
    while part.bytes < ready.bytes {
        while asked < ready.bytes && under_way.len() < READS_MAX {
            let bytes = u32::try_from(ready.bytes - asked).unwrap_or(u32::MAX).min(READ_BYTES);
            sleep_until(pace.turn(Instant::now(), bytes)).await;
            let read = backup.read(asked, bytes).map_err(|error| lost(&error))?;
            under_way.push_back((bytes, read));
            asked += u64::from(bytes);
        }
        let Some((bytes, read)) = under_way.pop_front() else { break };
        let data = read.await.map_err(|error| lost(&error))?;
        if data.len() != bytes as usize {
            let text = "the server sends fewer bytes than it said: its files were cut meanwhile";
            return Err(Failure::new(Exit::Refused, text));
        }
        part.put(&data)?;
        bar.set_position(part.bytes);
    }
    bar.finish_and_clear();
    // The connection ends it at the latest.
    let _ = backup.end().await;
    Ok(ready)
}

/// Spreads reads evenly over time. Does not catch up after a stall.
#[derive(Debug)]
struct Pace {
    next: Instant,
    bytes_per_second: u64,
}

impl Pace {
    /// Begins now; 0 means no limit.
    fn new(bytes_per_second: u64) -> Self {
        Self { next: Instant::now(), bytes_per_second }
    }

    /// The time at which this many bytes may be requested.
    fn turn(&mut self, now: Instant, bytes: u32) -> Instant {
        let turn = self.next.max(now);
        let takes_us = (u64::from(bytes) * 1_000_000).checked_div(self.bytes_per_second).unwrap_or(0);
        self.next = turn + Duration::from_micros(takes_us);
        turn
    }
}

/// The failure of a backup that did not arrive completely.
fn lost(error: &ClientError) -> Failure {
    let gone = match error {
        ClientError::OutcomeUnknown | ClientError::Closed => true,
        ClientError::Refused(reply) => reply.code == ErrorCode::NotFound,
        _ => false,
    };
    if !gone {
        return failure(error);
    }
    Failure::new(Exit::Unreachable, "the connection was lost, and the file is incomplete: start again")
}

/// A backup that is not complete yet.
struct Part {
    goes_to: Target,
    hasher: Xxh3,
    bytes: u64,
}

/// Where the backup is written.
enum Target {
    File(PartFile),
    /// The reader has to check it: the hash of the whole comes last.
    Stdout(Stdout),
}

/// A file under a temporary name; the complete file is renamed.
struct PartFile {
    file: File,
    path: PathBuf,
}

impl Part {
    fn create(args: &CreateArgs) -> Result<Self, Failure> {
        let goes_to = if is_stream(&args.file) {
            let stdout = io::stdout();
            if stdout.is_terminal() {
                let text = "a backup is no text for a terminal: name a file, or pipe it into a program";
                return Err(Failure::new(Exit::Usage, text));
            }
            if is_closed(&stdout) {
                return Err(Failure::new(Exit::Usage, "standard output is closed: the backup would be lost"));
            }
            Target::Stdout(stdout)
        } else if std::fs::metadata(&args.file).is_ok_and(|found| !found.is_file()) {
            let text = format_args!(
                "{} is not a file: use - to write the backup to standard output",
                args.file.display()
            );
            return Err(Failure::new(Exit::Usage, text));
        } else if args.file.exists() && !args.force {
            let text =
                format_args!("{} exists: name another file, or replace it with --force", args.file.display());
            return Err(Failure::new(Exit::Refused, text));
        } else {
            Target::File(PartFile::create(&args.file)?)
        };
        Ok(Self { goes_to, hasher: Xxh3::new(), bytes: 0 })
    }

    /// Appends data.
    fn put(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.hasher.update(data);
        self.bytes += data.len() as u64;
        match &mut self.goes_to {
            Target::File(part) => part.put(data),
            Target::Stdout(stdout) => {
                let written = stdout.write_all(data).and_then(|()| stdout.flush());
                written.map_err(|error| stream_failure(&error))
            }
        }
    }

    /// Completes it, verifies a file and renames it. Returns its length.
    fn finish(mut self, bytes: u64, target: &Path) -> Result<u64, Failure> {
        let hash = self.hasher.digest128();
        self.put(&footer(hash, bytes))?;
        if let Target::File(part) = self.goes_to {
            part.finish(self.bytes, target)?;
        }
        Ok(bytes)
    }
}

impl PartFile {
    fn create(target: &Path) -> Result<Self, Failure> {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let path = target.with_file_name(name);
        let made = match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Held until the new file is locked: another process finds one of the two locked.
                let _leftover = Leftover::open(&path)?.remove(&path)?;
                make(&path).and_then(|file| Self::lock(file, &path))
            }
            made => made.and_then(|file| Self::lock(file, &path)),
        };
        let file = made.map_err(|error| disk_failure("create", &path, &error))?;
        Ok(Self { file, path })
    }

    fn lock(file: File, path: &Path) -> io::Result<File> {
        file.try_lock()?;
        if is_at(&file, path)? { Ok(file) } else { Err(io::ErrorKind::ResourceBusy.into()) }
    }

    /// Appends data, durably.
    fn put(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.file.write_all(data).map_err(|error| disk_failure("write", &self.path, &error))?;
        // Without this sync, other processes on the disk, perhaps a server, would later wait for all the data at
        // once.
        self.file.sync_data().map_err(|error| disk_failure("sync", &self.path, &error))
    }

    /// Verifies the file: the server's disk may have changed data since the checkpoint was written. A damaged backup
    /// must not replace a good one.
    fn check(&self, bytes: u64) -> Result<(), Failure> {
        let backup = Backup::open(&self.path).map_err(|error| storage_failure(&error))?;
        let bar = progress("checking", bytes);
        let checked = backup.verify_files(|done| bar.set_position(done));
        bar.finish_and_clear();
        checked.map_err(|error| storage_failure(&error))
    }

    /// Verifies the file and renames it.
    fn finish(self, bytes: u64, target: &Path) -> Result<(), Failure> {
        self.check(bytes)?;
        std::fs::rename(&self.path, target).map_err(|error| disk_failure("rename to", target, &error))?;
        let folder = folder_of(target);
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| disk_failure("sync", folder, &error))
    }
}

/// Creates a file that did not exist, without following links. Only its owner may read the pushed jobs.
fn make(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// A file that an ended process left under the temporary name of a backup. It is never written to: another user may have
/// put it there to read what is written.
struct Leftover(File);

impl Leftover {
    fn open(path: &Path) -> Result<Self, Failure> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let is_own = |file: &File| {
            let found = file.metadata()?;
            Ok::<_, io::Error>(found.is_file() && found.uid() == geteuid().as_raw())
        };
        let own = opened.and_then(|file| Ok(is_own(&file)?.then_some(file)));
        let Ok(Some(file)) = own else {
            let text = format_args!(
                "{} exists and is not an incomplete backup: remove it, or name another file",
                path.display()
            );
            return Err(Failure::new(Exit::Refused, text));
        };
        Ok(Self(file))
    }

    /// Removes it, unless another process has locked it, or has finished and renamed it. The lock lasts as long as the
    /// result.
    fn remove(self, path: &Path) -> Result<Self, Failure> {
        let locked = self.0.try_lock().is_ok();
        if !locked || !is_at(&self.0, path).map_err(|error| disk_failure("read", path, &error))? {
            let text = format_args!("another process writes {}: wait, or name another file", path.display());
            return Err(Failure::new(Exit::Refused, text));
        }
        std::fs::remove_file(path).map_err(|error| disk_failure("remove", path, &error))?;
        Ok(self)
    }
}

/// True if the file still has this name.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok((own.dev(), own.ino()) == (found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// True if the process was started without a standard output. The runtime then opens the null device in its place, for
/// reading and writing; a shell that redirects output there opens it for writing alone.
fn is_closed(stdout: &Stdout) -> bool {
    let null = std::fs::metadata("/dev/null").map(|null| null.rdev());
    let is_null = matches!((rustix::fs::fstat(stdout), null), (Ok(found), Ok(null)) if found.st_rdev == null);
    let flags = rustix::fs::fcntl_getfl(stdout);
    is_null && flags.is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDWR)
}

/// The failure of a write to standard output: the reading program may have ended before the backup did.
fn stream_failure(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        let text =
            "standard output was closed before the backup was whole: did the program that reads it fail?";
        return Failure::new(Exit::Refused, text);
    }
    disk_failure("write to", Path::new("standard output"), error)
}

fn disk_failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    let exit = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => {
            Exit::Refused
        }
        _ => Exit::DiskFailed,
    };
    Failure::new(exit, format_args!("cannot {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_asked_for_is_spread_over_time() {
        let mut free = Pace::new(0);
        let begun = free.next;
        assert_eq!([1, u32::MAX, 1].map(|bytes| free.turn(begun, bytes)), [begun; 3]);
        let mut pace = Pace { next: begun, bytes_per_second: 1000 };
        let at = |ms| begun + Duration::from_millis(ms);
        assert_eq!([500, 1500, 10].map(|bytes| pace.turn(begun, bytes)), [0, 500, 2000].map(at));
        assert_eq!(
            [500, 1].map(|bytes| pace.turn(at(9000), bytes)),
            [9000, 9500].map(at),
            "after a stall, too"
        );
    }

    #[test]
    fn what_another_process_has_finished_is_not_touched() {
        let directory = tempfile::tempdir().expect("a directory");
        let [target, path] = ["queue.backup", "queue.backup.part"].map(|name| directory.path().join(name));
        std::fs::write(&path, b"all of it").expect("written");
        let leftover = || Leftover::open(&path).expect("opened");
        let found = leftover();
        std::fs::rename(&path, &target).expect("renamed");
        assert!(found.remove(&path).is_err(), "nothing has the name");
        std::fs::write(&path, b"another").expect("written");
        let found = leftover();
        std::fs::rename(&path, &target).expect("renamed");
        std::fs::write(&path, b"a third one").expect("written");
        assert!(found.remove(&path).is_err(), "another file has the name");
        assert_eq!(std::fs::read(&target).expect("there"), b"another");
        let first = PartFile::create(&target).expect("a new file in the place of what was left");
        assert!(PartFile::create(&target).is_err(), "one process at a time");
        drop(first);
        PartFile::create(&target).expect("it ended");
    }

    #[test]
    fn a_backup_goes_into_no_file_that_somebody_else_made() {
        let directory = tempfile::tempdir().expect("a directory");
        let [target, path, other] =
            ["queue.backup", "queue.backup.part", "other"].map(|name| directory.path().join(name));
        std::fs::write(&other, b"precious").expect("written");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        let refused = PartFile::create(&target).err().expect("a link is in the way");
        assert!(refused.message.contains("is not an incomplete backup"), "{refused}");
        assert_eq!(std::fs::read(&other).expect("there"), b"precious");
        std::fs::remove_file(&path).expect("removed");
        // A process that has it open for reading sees nothing of the backup.
        std::fs::write(&path, b"").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).expect("set");
        let spy = File::open(&path).expect("opened");
        let mut part = PartFile::create(&target).expect("a new file");
        part.put(b"jobs").expect("written");
        assert_eq!(spy.metadata().expect("open").len(), 0);
        assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
    }
}
