//! Atomic replacement of files that commands write: tokens, keys and certificates.
//!
//! A server may be reading the file, as another user. So the new file replaces the old one in one step, and keeps its
//! owner, its group and its permissions; a command that cannot keep them changes nothing. A link stays a link: its
//! target is replaced. Commands that change files of one folder wait for each other.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid, XattrFlags, fchown, fsetxattr, getxattr};
use rustix::io::Errno;

use super::backup::folder_of;

/// The attribute with permissions beyond those of owner, group and others.
const ACL: &str = "system.posix_acl_access";
/// The maximum length of such a list in the kernel, in bytes.
const ACL_BYTES_MAX: usize = 64 << 10;
/// Most links that are followed: as many as the kernel follows.
const LINKS_MAX: usize = 40;
/// The permission bits of a file's mode.
const MODE_BITS: u32 = 0o7777;

/// Why a file was not replaced.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplaceError {
    /// The system refused an operation.
    #[error(transparent)]
    System(#[from] io::Error),
    /// It is not a regular file, but a pipe or a device, for example.
    #[error("it is no file")]
    NoFile,
    /// The new file would belong to another user.
    #[error(
        "it belongs to user {user}, group {group}. A file of your own in its place could not be read by its server: run this as \
         that user, or as root"
    )]
    Owner {
        /// The owner of the file.
        user: u32,
        /// Its group.
        group: u32,
    },
}

/// While this is held, other commands wait before they change files of the same folder.
#[derive(Debug)]
pub(super) struct FolderLock(#[expect(dead_code, reason = "held, not read")] Option<File>);

/// Waits for other commands that change files of this folder, and locks it.
pub(super) fn lock(folder: &Path) -> io::Result<FolderLock> {
    let file = File::open(folder)?;
    let Err(error) = file.lock() else { return Ok(FolderLock(Some(file))) };
    match Errno::from_io_error(&error) {
        // Some file systems cannot lock folders. Then concurrent commands are not kept apart.
        Some(Errno::BADF | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK) => Ok(FolderLock(None)),
        _ => Err(error),
    }
}

/// The file to replace: the final target if the path is a link.
pub(super) fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match std::fs::read_link(&path) {
            Ok(leads_to) => path = folder_of(&path).join(leads_to),
            // Not a link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    Err(Errno::LOOP.into())
}

/// Replaces a file with this text, in one step. `mode` is for a file that did not exist.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), ReplaceError> {
    let path = target(path)?;
    let before = match std::fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => return Err(ReplaceError::NoFile),
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let folder = folder_of(&path);
    // Only this user can read it until it has its owner and its mode.
    let mut fresh = tempfile::Builder::new().prefix(".adjourn-").tempfile_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    match before {
        Some(before) => take_after(fresh.as_file(), &before, &path)?,
        None => fresh.as_file().set_permissions(Permissions::from_mode(mode))?,
    }
    fresh.as_file().sync_all()?;
    fresh.persist(&path).map_err(|error| error.error)?;
    Ok(File::open(folder)?.sync_all()?)
}

/// Gives a file the owner and the permissions of the file that it replaces.
fn take_after(fresh: &File, before: &Metadata, path: &Path) -> Result<(), ReplaceError> {
    let own = fresh.metadata()?;
    let (user, group) = (before.uid(), before.gid());
    if (own.uid(), own.gid()) != (user, group) {
        let kept = fchown(fresh, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        kept.map_err(|error| match error {
            Errno::PERM | Errno::INVAL => ReplaceError::Owner { user, group },
            other => ReplaceError::System(other.into()),
        })?;
    }
    fresh.set_permissions(Permissions::from_mode(before.mode() & MODE_BITS))?;
    let mut acl = vec![0; ACL_BYTES_MAX];
    match getxattr(path, ACL, acl.as_mut_slice()) {
        Ok(bytes) => {
            acl.truncate(bytes);
            Ok(fsetxattr(fresh, ACL, &acl, XattrFlags::empty()).map_err(io::Error::from)?)
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(ReplaceError::System(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::mpsc;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("there").mode() & MODE_BITS
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_new_file_has_its_mode_and_an_old_one_keeps_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens.toml");
        replace(&path, "one", 0o600).expect("made");
        assert_eq!(mode(&path), 0o600);
        for kept in [0o640, 0o400, 0o644] {
            std::fs::set_permissions(&path, Permissions::from_mode(kept)).expect("set");
            replace(&path, "two", 0o600).expect("replaced");
            assert_eq!((mode(&path), std::fs::read_to_string(&path).expect("read").as_str()), (kept, "two"));
        }
        assert_eq!(names(folder.path()), ["tokens.toml"]);
    }

    #[test]
    fn rights_of_single_users_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens.toml");
        replace(&path, "one", 0o600).expect("made");
        // Version 2: the owner, user 65534 with the right to read, the group, the mask, others.
        let entry = |tag: u16, rights: u16, id: u32| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let none = u32::MAX;
        let entries = [
            entry(1, 6, none),
            entry(2, 4, 65534),
            entry(4, 0, none),
            entry(16, 4, none),
            entry(32, 0, none),
        ];
        let acl = [&2_u32.to_le_bytes()[..], &entries.concat()].concat();
        let file = File::open(&path).expect("opened");
        match fsetxattr(&file, ACL, &acl, XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP) => return,
            set => set.expect("set"),
        }
        replace(&path, "two", 0o600).expect("replaced");
        let mut found = vec![0; acl.len()];
        assert_eq!(getxattr(&path, ACL, found.as_mut_slice()).expect("kept"), acl.len());
        assert_eq!(found, acl);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (near, far) = (folder.path().join("near"), folder.path().join("far"));
        std::fs::create_dir(&near).expect("made");
        std::fs::create_dir(&far).expect("made");
        symlink("../far/second", near.join("tokens.toml")).expect("linked");
        symlink("tokens.toml", far.join("second")).expect("linked");
        for text in ["made", "replaced"] {
            replace(&near.join("tokens.toml"), text, 0o600).expect(text);
            assert_eq!(std::fs::read_to_string(far.join("tokens.toml")).expect("read"), text);
        }
        assert!(near.join("tokens.toml").is_symlink() && far.join("second").is_symlink());
        assert_eq!(names(&far), ["second", "tokens.toml"]);
        symlink("round", far.join("round")).expect("linked");
        assert!(replace(&far.join("round"), "", 0o600).is_err());
    }

    #[test]
    fn what_is_no_file_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = replace(folder.path(), "text", 0o600).expect_err("a folder");
        assert!(matches!(refused, ReplaceError::NoFile), "{refused}");
        assert!(matches!(replace(Path::new("/dev/null"), "text", 0o600), Err(ReplaceError::NoFile)));
    }

    #[test]
    fn a_second_command_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = lock(folder.path()).expect("locked");
        let again = File::open(folder.path()).expect("opened");
        let is_free = || again.try_lock().is_ok();
        assert!(!is_free());
        let (sender, receiver) = mpsc::channel();
        let path = folder.path().to_owned();
        let second = std::thread::spawn(move || {
            let _lock = lock(&path).expect("locked");
            sender.send("the second").expect("heard");
        });
        assert!(receiver.try_recv().is_err());
        drop(first);
        assert_eq!(receiver.recv(), Ok("the second"));
        second.join().expect("done");
        assert!(is_free());
    }
}
