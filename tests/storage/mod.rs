//! What is on disk: its formats, checkpoints, failures of files, and power cuts.

pub(crate) mod checkpoint_formats;
pub(crate) mod checkpoints;
pub(crate) mod faults;
pub(crate) mod formats;
pub(crate) mod power_cut;
