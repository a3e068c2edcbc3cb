//! Why a handler has to end early.

/// Why a handler has to end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cancelled {
    /// The server was silent for so long that it may have given the session's leases back. Another consumer may get
    /// the job.
    #[error("the connection is lost, and the lease may have ended")]
    ConnectionLost,
    /// The server reports that the lease is over. Another consumer may have the job.
    #[error("the server has taken the lease back")]
    LeaseLost,
    /// The lease has run out, because it could not be touched in time. Another consumer may get the job.
    #[error("the lease has ended")]
    TimeOver,
    /// The handler has run for its maximum time.
    #[error("the handler ran for longer than run_ms_max")]
    TooLong,
    /// The worker stops. It keeps the lease and waits for the handler to finish, within the time for its stop. If the
    /// worker was dropped, so is the handler.
    #[error("the worker stops")]
    WorkerStops,
}

impl Cancelled {
    /// True if another consumer may have the job, so that the handler must not go on.
    pub(super) fn ends_lease(self) -> bool {
        self != Self::WorkerStops
    }
}
