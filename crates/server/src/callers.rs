//! Serves the callers that other members forward over the peers' port.

use std::sync::Arc;

use tokio::sync::mpsc::Receiver;
use tracing::warn;

use super::connection::{self, ConnectionConfig};
use super::entropy;
use super::peers::Callers;
use adjourn_types::SessionSecret;

/// Connections with such callers that may wait to be served.
pub(super) const WAITING_MAX: usize = 64;

/// Serves all of them until the server stops, each in a task of its own.
pub(super) async fn serve(mut arriving: Receiver<Callers>, config: Arc<ConnectionConfig>) {
    loop {
        let arrived = tokio::select! {
            biased;
            () = config.stopping.cancelled() => None,
            arrived = arriving.recv() => arrived,
        };
        let Some(callers) = arrived else { return };
        match entropy::draw() {
            Ok(secret) => {
                let (connection, config) = (config.numbers.next(), Arc::clone(&config));
                tokio::spawn(connection::serve_callers(callers, connection, SessionSecret(secret), config));
            }
            Err(error) => warn!(%error, "the callers of another node are not served"),
        }
    }
}
