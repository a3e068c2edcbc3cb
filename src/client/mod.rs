//! The async client: one connection, many requests under way at once, and a session that outlives the connection.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use adjourn::client::{Client, ClientConfig};
//! use adjourn::protocol::{NewJob, Reserve};
//!
//! let client = Client::connect(ClientConfig::new("127.0.0.1:7440")).await?;
//! let topic = "orders".parse()?;
//! client.push_one(&topic, NewJob::new("close order 17").after(15 * 60_000)).await?;
//!
//! let reserve = Reserve { topics: vec![topic], jobs_max: 10, wait_ms: 5_000, weights: Vec::new() };
//! for job in client.reserve(reserve).await? {
//!     println!("{:?}", job.body);
//!     client.finish(vec![job.lease]).await?;
//! }
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Client`] has a call for every request of the protocol. On top of it, a [`Producer`] gathers jobs into batches, a
//! [`Subscription`] yields jobs as they become ready, and a [`Worker`] runs a handler for each.
//!
//! # What happens when the connection is lost
//!
//! The client connects again, with growing and randomised waits, and resumes its session. Calls notice only the
//! time it takes:
//!
//! - **Pushes** carry sequence numbers. Those without an answer are sent again under the same numbers, in the old order: the
//!   queue takes each once. If the session could not be resumed, they end with [`ClientError::OutcomeUnknown`]: they are never
//!   pushed a second time under new numbers.
//! - **Reads**, `finish`, `release`, `touch`, `bury`, `delete` by id, `pause` and `resume` are sent again: doing them twice does what
//!   once does, unless another client resumes a topic between two pauses. But the second answer may tell of the first: `STALE_LEASE` or
//!   `NOT_FOUND` after a reconnect can mean that it was done.
//! - **`delete` by key, `reschedule`, `run_now` and `kick`**, and changes of the cluster, that were sent end with [`ClientError::OutcomeUnknown`]:
//!   look with `get` and `cluster_status`.
//! - **`reserve`** is sent again for the rest of its wait.
//! - **Jobs that never came**, as the connection broke before, are found when the session is resumed, and given back at once without
//!   an attempt. If it is not resumed, or the server does not know LEASES, they come again when their leases end.
//! - **Subscriptions** are made anew. Jobs that wait in a subscription's memory are dropped from it when the session's leases
//!   were not kept: the queue delivers them again.
//! - **Leases** are presumed lost when no answer has proved for as long as the server's grace that it keeps them: somebody else may
//!   get the jobs. A [`Worker`] then cancels its handlers; a [`Subscription`] hands out none of the jobs that it has. Leases that
//!   [outlive](ClientConfig::leases_outlive) their session run to their deadline.
//!
//! A call that is not answered within [`ClientConfig::request_timeout_ms`] ends with [`ClientError::Timeout`], a push that was sent
//! with [`ClientError::OutcomeUnknown`].
//!
//! # Which server it talks to
//!
//! Requests go to the node that leads. One address of any member is enough while that one hears of the leader: a node that does not
//! lead says who does, and the leader names all members, for the day on which it is gone. [`ClientConfig::server`] takes several addresses, for a client that
//! starts while some nodes are down. When leadership moves, the client goes after it with its session, and all that was said
//! above holds: what the old leader had not begun is asked again, and so is what may be done twice. While nobody leads, calls wait.
//!
//! # Dropping a call
//!
//! A call's future may be dropped at any time. The request, once sent, is carried out all the same, but for a `reserve` that
//! waits: the server is told that nobody does any more. Jobs that come for a dropped `reserve` or [`Subscription`] are released
//! at once.
//!
//! # What it must not know
//!
//! The queue's rules: it knows the types and the protocol, nothing of engine, storage or server.

mod answers;
mod backoff;
mod backup;
mod calls;
mod cancellation;
mod cluster;
mod config;
mod connection;
mod dial;
mod error;
mod feed;
mod leases;
mod list;
mod operator;
mod producer;
mod pulse;
mod reader;
mod repeat;
mod requests;
mod search;
mod shared;
mod slots;
mod subscription;
mod ticket;
mod unseen;
mod worker;

pub use backup::{Backup, BackupTicket};
pub use calls::{Changed, Client};
pub use cancellation::{Cancellation, Cancelled};
pub use config::ClientConfig;
pub use error::{ClientError, Excess, ProtocolFault};
pub use list::{Page, Step};
pub use producer::{Producer, ProducerConfig, SendTicket};
pub use subscription::Subscription;
pub use ticket::{PushTicket, SettleTicket, Ticket};
pub use worker::{Worker, WorkerConfig};
