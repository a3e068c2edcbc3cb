//! The async client: one connection, many requests in flight, and a session that outlives the connection.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use adjourn_client::{Client, ClientConfig};
//! use adjourn_client::protocol::{NewJob, Reserve};
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
//! The client reconnects, with growing random waits, and resumes its session. Calls only take longer:
//!
//! - **Pushes** carry sequence numbers. Unanswered ones are resent under the same numbers, in the old order: the
//!   queue accepts each once. If the session could not be resumed, they end with [`ClientError::OutcomeUnknown`]: they are never
//!   pushed a second time under new numbers.
//! - **Reads**, `finish`, `release`, `touch`, `bury`, `delete` by id, `pause` and `resume` are resent: a repeat has no further
//!   effect, unless another client resumes a topic between two pauses. But the second answer may be the result of the first request:
//!   `STALE_LEASE` or `NOT_FOUND` after a reconnect can mean that it was applied.
//! - **`delete` by key, `reschedule`, `run_now` and `kick`**, and changes of the cluster, that were sent end with [`ClientError::OutcomeUnknown`]:
//!   check with `get` and `cluster_status`.
//! - **`reserve`** is resent with the rest of its wait; so is one whose wait the server ended early, without a job.
//! - **Jobs that never arrived**, because the connection broke before, are found when the session is resumed, and given back at once without
//!   an attempt. If it is not resumed, or the server does not know LEASES, they are delivered again when their leases end.
//! - **Subscriptions** are made anew. If the session's leases were not kept, jobs in a subscription's memory are dropped:
//!   the queue delivers them again.
//! - **Leases** are presumed lost when no answer has proved for the length of the server's grace that it keeps them: another consumer may
//!   get the jobs. A [`Worker`] then cancels its handlers; a [`Subscription`] hands out none of the jobs that it has. Leases that
//!   [outlive](ClientConfig::leases_outlive) their session run to their deadline.
//!
//! An answer that is not a valid frame ends the connection, and the same rules hold. If that happens to the answers of a
//! request three times, the request ends with [`ClientError::Protocol`].
//!
//! For a health check, [`Worker::is_consuming`] and [`Subscription::is_consuming`] say whether jobs can come now, and
//! [`Client::is_connected`] whether there is a connection to the leader.
//!
//! A call that is not answered within [`ClientConfig::request_timeout_ms`] ends with [`ClientError::Timeout`], a push that was sent
//! with [`ClientError::OutcomeUnknown`].
//!
//! # Which server it talks to
//!
//! Requests go to the leader. The address of any member is enough while that member knows the leader: a node that does not
//! lead names the leader, and the leader names all members, so that the client can find its successor. [`ClientConfig::server`] takes several
//! addresses, for a client that starts while some nodes are down. When leadership moves, the client follows with its session, and the rules
//! above hold: requests that the old leader had not begun are resent, and so are those that are safe to repeat. While there is no leader, calls wait.
//!
//! # Dropping a call
//!
//! A call's future may be dropped at any time. A request that was sent is carried out all the same, except a waiting `reserve`:
//! the client cancels it. Jobs that arrive for a dropped `reserve` or [`Subscription`] are released at once.
//!
//! # What it does not know
//!
//! The queue's rules: it knows the types and the protocol, nothing of engine, storage or server.

mod calls;
mod cancelled;
mod config;
mod connection;
mod error;
mod operator;
mod producer;
mod requests;
mod search;
mod shared;
mod subscription;
mod ticket;
mod worker;
mod workers;

/// The frames of the protocol, whose types requests and answers have.
pub use adjourn_protocol as protocol;
/// Ids, names, times and limits.
pub use adjourn_types as types;

pub use calls::Client;
pub use cancelled::Cancelled;
pub use config::ClientConfig;
pub use connection::servers::Servers;
pub use error::tls_fault::TlsFault;
pub use error::{ClientError, Excess, ProtocolFault};
pub use operator::backup::{Backup, BackupTicket};
pub use producer::{Producer, ProducerConfig, SendTicket};
pub use subscription::Subscription;
pub use ticket::{PushTicket, SettleTicket, Ticket};
pub use worker::cancellation::Cancellation;
pub use worker::{IntoJobOutcome, JobOutcome, Worker, WorkerConfig};

pub use adjourn_protocol::{Changed, Page, Step};
