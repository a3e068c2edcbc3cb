//! Why a disk after a power cut is not right.

use adjourn_storage::{Damage, StorageError};

/// Why a disk after a power cut is not right.
#[derive(Debug)]
pub(super) enum Fault {
    /// The start is refused.
    Refused(StorageError),
    /// A panic came out.
    Panicked,
    /// Something acknowledged is gone, or there is data that was never written.
    Wrong(String),
}

impl Fault {
    /// The same for faults that have the same cause.
    pub(super) fn kind(&self) -> String {
        let kind = match self {
            Self::Refused(StorageError::Damaged { damage, .. }) => match damage {
                Damage::Chunk { damage, .. } => format!("refused: a chunk {damage}"),
                Damage::Pages { damage, .. } => format!("refused: a page file {damage}"),
                _ => format!("refused: {damage}"),
            },
            Self::Refused(StorageError::ShortLog { .. }) => "refused: a short log".to_owned(),
            Self::Refused(error) => format!("refused: {error}"),
            Self::Panicked => "a panic".to_owned(),
            Self::Wrong(what) => what.clone(),
        };
        kind.chars().filter(|letter| !letter.is_ascii_digit()).collect()
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::Refused(error)
    }
}
