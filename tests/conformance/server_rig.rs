//! What the rig of the cluster stands on: a node as a process, and a client that speaks frames.

#[path = "../server_rig/process.rs"]
mod process;
#[path = "../server_rig/raw.rs"]
mod raw;

pub(crate) use process::{Process, adjourn};
pub(crate) use raw::{Raw, hello};
