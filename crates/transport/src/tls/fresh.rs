//! A value that is made from files, and made again when they change.
//!
//! There is no watcher: a caller that takes the value checks the files, once a second at most and outside the threads
//! that serve connections. If the value cannot be made, the old one stays in place; the log has the reason.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::{info, warn};

use super::TlsError;

/// The shortest time between two checks of the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A value made from files.
pub(super) struct Fresh<T> {
    files: Vec<PathBuf>,
    make: Make<T>,
    held: Mutex<Loaded<T>>,
}

/// Makes the value from the files; gets the present value, if there is one.
type Make<T> = Box<dyn Fn(Option<&T>) -> Result<T, TlsError> + Send + Sync>;

struct Loaded<T> {
    value: Arc<T>,
    marks: Vec<Mark>,
    looked: Instant,
}

/// The version of a file: its modification time, its size and its inode. `None` without a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(Option<(SystemTime, u64, u64)>);

impl Mark {
    /// The mark of the file as it is now.
    pub fn of(file: &Path) -> Self {
        let mark = |metadata: Metadata| Some((metadata.modified().ok()?, metadata.len(), metadata.ino()));
        Self(std::fs::metadata(file).ok().and_then(mark))
    }
}

impl<T: Send + Sync + 'static> Fresh<T> {
    /// Makes the value for the first time.
    pub(super) fn new(
        files: Vec<PathBuf>,
        make: impl Fn(Option<&T>) -> Result<T, TlsError> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, TlsError> {
        // Before the files are read: changes during the read are seen at the next check.
        let marks = marks(&files);
        let held = Loaded { value: Arc::new(make(None)?), marks, looked: Instant::now() };
        Ok(Arc::new(Self { files, make: Box::new(make), held: Mutex::new(held) }))
    }

    /// The value of the present files.
    pub(super) async fn take(self: &Arc<Self>) -> Arc<T> {
        if self.may_look() {
            let fresh = Arc::clone(self);
            // A runtime that ends checks no files.
            let _ = spawn_blocking(move || fresh.look()).await;
        }
        self.present()
    }

    /// The value of the files that were read last.
    pub(super) fn present(&self) -> Arc<T> {
        Arc::clone(&self.held().value)
    }

    /// True if this caller must check the files. Other callers take the present value.
    fn may_look(&self) -> bool {
        let mut held = self.held();
        let may = held.looked.elapsed() >= LOOK_EVERY;
        if may {
            held.looked = Instant::now();
        }
        may
    }

    /// Checks the files, and reads them if they have changed.
    pub(super) fn look(&self) {
        let marks = marks(&self.files);
        if self.held().marks == marks {
            return;
        }
        let before = self.present();
        let made = (self.make)(Some(&before));
        let mut held = self.held();
        held.marks = marks;
        match made {
            Ok(value) => {
                held.value = Arc::new(value);
                info!(files = ?self.files, "read changed certificates and keys");
            }
            Err(error) => {
                warn!(%error, "the changed certificates and keys cannot be used: the previous ones stay in use");
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Loaded<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn marks(files: &[PathBuf]) -> Vec<Mark> {
    files.iter().map(|file| Mark::of(file)).collect()
}

impl<T> std::fmt::Debug for Fresh<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fresh").field("files", &self.files).finish_non_exhaustive()
    }
}
