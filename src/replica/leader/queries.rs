//! Answers from the applied state: get, peek, leases, connections, topics and stats; and PING, which asks whether
//! that state is the newest.

use super::Leader;
use super::requests::select_job;
use crate::protocol::{Request, Response};
use crate::replica::group::Group;
use crate::replica::io::ConnectionId;
use crate::replica::node::Node;
use crate::replica::node::connections::Asker;
use crate::storage::StorageError;

impl Leader {
    /// # Errors
    ///
    /// When the disk cannot be read.
    pub(crate) fn read(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        request: &Request,
    ) -> Result<(), StorageError> {
        let response =
            match request {
                Request::Get(job) => {
                    let view = group.engine.job(&select_job(job), &mut group.records)?;
                    match (view, group.finished_job(job)) {
                        (None, Some(finished)) => finished,
                        (view, _) => group.job_response(view)?,
                    }
                }
                Request::Peek { topic } => match group.engine.topic_id(topic.as_str()) {
                    Some(topic) => {
                        self.peek(node, group, asker, topic);
                        return Ok(());
                    }
                    None => group.job_response(None)?,
                },
                Request::List(list) => {
                    self.list(node, group, asker, list);
                    return Ok(());
                }
                Request::Bulk(bulk) => {
                    self.bulk(node, group, asker, bulk);
                    return Ok(());
                }
                Request::Count(filter) => {
                    self.count(node, group, asker, filter);
                    return Ok(());
                }
                Request::Ping => node.pong(),
                Request::Leases { after, jobs_max } => {
                    self.leased(node, group, asker.connection, *after, *jobs_max)?
                }
                Request::Connections { after, connections_max } => Response::Connections(
                    self.connection_list(node, group, ConnectionId(*after), *connections_max),
                ),
                Request::Topics | Request::Stats => {
                    self.report_topics(node, group, asker, request.clone());
                    return Ok(());
                }
                Request::TopicShow { topic } => group.topic_settings(topic),
                other => unreachable!("{other:?} is no read"),
            };
        node.connections.send(asker, response);
        Ok(())
    }
}
