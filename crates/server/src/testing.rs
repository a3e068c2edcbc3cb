//! A server inside a test: in memory, on a port of its own, with a clock that only the test moves.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//!
//! let server = adjourn_server::testing::TestServer::start().await?;
//! // ... connect a client to server.address(), push a job that is due in 15 minutes ...
//! server.advance(Duration::from_mins(15)).await?;
//! // ... now it is there ...
//! # Ok(())
//! # }
//! ```

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::config::{ClockChoice, Config};
use super::{Local, Running, Server, ServerError};
use adjourn_protocol::{Advance, ErrorReply, Request, Response};
use adjourn_types::{Access, Millis, whole_ms};

/// A server for one test, or for one part of one. Dropping it ends it, and its data is gone.
#[derive(Debug)]
pub struct TestServer {
    running: Running,
    local: Local,
    access: Arc<Access>,
}

impl TestServer {
    /// Starts a server on a free port of this machine. It serves when this returns. Needs a tokio runtime, which serves the
    /// clients.
    ///
    /// # Errors
    ///
    /// If no port or thread is left.
    pub async fn start() -> Result<Self, ServerError> {
        Self::start_with(|_| {}).await
    }

    /// The same with another configuration: `change` gets the one of [`Self::start`].
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Result<Self, ServerError> {
        let (listen, clock) = ("127.0.0.1:0".to_owned(), ClockChoice::Manual);
        let mut config = Config { listen, clock, memory: true, ..Config::default() };
        change(&mut config);
        let running = Server::start(config).await?;
        let (local, access) = (running.local(), Arc::new(Access::open()));
        Ok(Self { running, local, access })
    }

    /// The address for clients.
    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// The server itself, for what is started beside it.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// What the queue's clock shows.
    ///
    /// # Errors
    ///
    /// If the server has ended.
    pub async fn now(&self) -> Result<Millis, ErrorReply> {
        self.ask(Request::Ping).await
    }

    /// Moves the clock. When this returns, everything that is due by the new time is carried out. Returns the new time.
    ///
    /// # Errors
    ///
    /// If that is longer than a job may be delayed, or the server has ended.
    pub async fn advance(&self, by: Duration) -> Result<Millis, ErrorReply> {
        let advance = Request::Advance(Advance::By(whole_ms(by)));
        // Requests of this process are not read from a frame, which checks them.
        advance.validate(usize::MAX)?;
        self.ask(advance).await
    }

    /// Moves the clock to the time at which the next delayed job is due. Returns that time.
    ///
    /// # Errors
    ///
    /// [`NotFound`](adjourn_protocol::ErrorCode::NotFound) if no job is delayed.
    pub async fn advance_to_next(&self) -> Result<Millis, ErrorReply> {
        self.ask(Request::Advance(Advance::ToNext)).await
    }

    async fn ask(&self, request: Request) -> Result<Millis, ErrorReply> {
        let session = self.local.session(&self.access).await?;
        match session.ask(None, request).await? {
            Response::Pong { now, .. } => Ok(now),
            other => unreachable!("the request table answers with PONG, not with {other:?}"),
        }
    }
}
