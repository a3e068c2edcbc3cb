//! What the rig of the cluster stands on: a node as a process, and a client that speaks frames.

#[path = "../server_rig/process.rs"]
mod process;
#[path = "../server_rig/raw.rs"]
mod raw;

use adjourn_types::TopicName;

pub(crate) use process::{Process, adjourn};
pub(crate) use raw::{Raw, hello};

pub(crate) fn topic(name: &str) -> TopicName {
    name.parse().expect("a name")
}
