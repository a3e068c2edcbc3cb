//! Lists the clients connected to the leader, closes a connection, and deletes a topic.

pub(crate) mod backup;
pub(crate) mod cluster;
pub(crate) mod groups;
mod list;
mod schedules;

use crate::calls::Client;
use crate::error::ClientError;
use adjourn_protocol::{ConnectionList, ConnectionReport, Request};
use adjourn_types::TopicName;
use adjourn_types::limits::CONNECTIONS_LISTED_MAX;

impl Client {
    /// The clients that are connected to the leader, by number, including this one. Others may come and go meanwhile.
    pub async fn connections(&self) -> Result<Vec<ConnectionReport>, ClientError> {
        let (mut connections, mut after) = (Vec::<ConnectionReport>::new(), 0);
        loop {
            let request = Request::Connections { after, connections_max: CONNECTIONS_LISTED_MAX };
            let mut page: ConnectionList = self.ask(request).await?;
            connections.append(&mut page.connections);
            match connections.last().filter(|_| page.has_more) {
                Some(last) => after = last.connection,
                None => return Ok(connections),
            }
        }
    }

    /// Closes the connection of another client, which is told that an operator did so and does not reconnect at once.
    /// With `ends_session` its leases are given back now; else its session's grace begins, and it may resume it.
    ///
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such connection.
    pub async fn disconnect(&self, connection: u64, ends_session: bool) -> Result<(), ClientError> {
        self.ask(Request::Disconnect { connection, ends_session }).await
    }

    /// Deletes a topic that has no jobs, with its settings: its name is free at once. Without this call a topic is removed
    /// some time after its last job, unless it is paused.
    ///
    /// [`ErrorCode::WrongState`](adjourn_protocol::ErrorCode::WrongState) if it has jobs,
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such topic.
    pub async fn delete_topic(&self, topic: &TopicName) -> Result<(), ClientError> {
        self.ask(Request::TopicDelete { topic: topic.clone() }).await
    }
}
