//! One node of one group: the engine joined to Raft, without sockets, files, clocks or threads.
//!
//! The driver (the server's core thread, or the simulator) hands in what happened with
//! `Replica::handle`, then asks with `Replica::poll` what is to be done about it: answers to send, a batch to
//! make durable. Time is an argument. `Replica::next_wake` says when to call again if nothing happens.

mod io;

pub use io::{
    ConnectionId, Input, LeaderHint, Notice, Now, Output, PersistOrder, ReplicaConfig, ReplicaStats,
};
