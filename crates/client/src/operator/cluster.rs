//! The members of the cluster: showing, adding and removing them, and transferring leadership.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::calls::Client;
use crate::config::ClientConfig;
use crate::connection::Loss;
use crate::connection::dial::{Attempt, Link, cut_off, decoder, greet, hello, open, unreachable, ways};
use crate::connection::reader::Reader;
use crate::error::ClientError;
use adjourn_protocol::{ClusterReport, ErrorCode, Request, RequestId, Response};
use adjourn_transport::tls::Connector;

const STATUS_ID: RequestId = RequestId(1);
const GOODBYE_ID: RequestId = RequestId(2);
/// The time limit for ending a session that was opened only for a question. Without GOODBYE it ends by itself.
const GOODBYE_MAX: Duration = Duration::from_millis(200);
/// A node that gives up the lead closes its connections, and can be asked at once over a new one.
const ROUNDS_MAX: usize = 2;

impl Client {
    /// The leader's view of the cluster: the members and their progress.
    pub async fn cluster_status(&self) -> Result<ClusterReport, ClientError> {
        self.ask(Request::ClusterStatus).await
    }

    /// The cluster as seen by the first node of [`ClientConfig::server`] that answers, whether or not there is a leader.
    /// It is asked over a connection of its own, which ends with this call.
    ///
    /// [`ClientError::CannotConnect`] if none answers within [`ClientConfig::connect_timeout_ms`].
    pub async fn cluster_status_of(config: &ClientConfig) -> Result<ClusterReport, ClientError> {
        let limit = Duration::from_millis(config.connect_timeout_ms);
        let (mut search, tls) = ways(config)?;
        let mut failure = unreachable(&config.server, io::ErrorKind::AddrNotAvailable.into());
        for _ in 0..ROUNDS_MAX {
            search.begin(None, &[]);
            let mut was_cut_off = false;
            while let Some(address) = search.next() {
                match timeout(search.patience(limit), report_of(&address, tls.as_ref(), config)).await {
                    Ok(Ok(report)) => return Ok(report),
                    Ok(Err(error)) => failure = error,
                    Err(_) => failure = unreachable(&address, io::ErrorKind::TimedOut.into()),
                }
                was_cut_off |= is_cut_off(&failure);
            }
            if !was_cut_off {
                break;
            }
        }
        Err(failure)
    }

    /// Adds the node whose address for other members is `address` (`HOST:PORT`). The node was started to join this
    /// cluster. It votes as soon as it has caught up, which [`cluster_status`](Self::cluster_status) shows.
    ///
    /// [`ErrorCode::Invalid`] with the reason if it cannot be added; [`ErrorCode::Busy`] while another change is under
    /// way.
    pub async fn cluster_add(&self, address: &str) -> Result<(), ClientError> {
        self.ask(Request::ClusterAdd { address: address.to_owned() }).await
    }

    /// Removes a member. Its number cannot be used again. [`ErrorCode::Invalid`] if it is the leader or not a member, or
    /// the others could not go on without it.
    pub async fn cluster_remove(&self, node: u64) -> Result<(), ClientError> {
        self.ask(Request::ClusterRemove { node }).await
    }

    /// Transfers leadership to a member; with `None` the leader chooses. [`ErrorCode::Busy`] if the member did not take
    /// over: then the leader stays.
    pub async fn cluster_transfer(&self, node: Option<u64>) -> Result<(), ClientError> {
        self.ask(Request::ClusterTransfer { node: node.unwrap_or(0) }).await
    }
}

/// Asks one node.
async fn report_of(
    address: &str,
    tls: Option<&Connector>,
    config: &ClientConfig,
) -> Result<ClusterReport, ClientError> {
    let stream = open(address, tls).await.map_err(Attempt::error)?;
    let (link, answer) = greet(address, stream, hello(config, None)).await.map_err(Attempt::error)?;
    let has_session = match answer {
        Response::Welcome(_) => true,
        Response::Error(reply) if matches!(reply.code, ErrorCode::NotLeader | ErrorCode::NoLeader) => false,
        Response::Error(reply) => return Err(ClientError::Refused(reply)),
        Response::GoingAway { .. } => return Err(cut_off(address)),
        other => return Err(ClientError::unexpected(other)),
    };
    let Link { mut stream, buffer, .. } = link;
    let mut out = BytesMut::new();
    Request::ClusterStatus.encode(STATUS_ID, &mut out);
    if has_session {
        Request::Goodbye.encode(GOODBYE_ID, &mut out);
    }
    stream.write_all(&out).await.map_err(|_| cut_off(address))?;
    stream.flush().await.map_err(|_| cut_off(address))?;
    let mut reader = Reader::new(&mut stream, decoder(), buffer);
    let report = match answer_to(&mut reader, STATUS_ID, address).await? {
        Response::Error(reply) => return Err(ClientError::Refused(reply)),
        answer => answer.try_into().map_err(ClientError::unexpected)?,
    };
    if has_session {
        // The report has arrived. A node that cannot end the session now forgets it later.
        let _ = timeout(GOODBYE_MAX, answer_to(&mut reader, GOODBYE_ID, address)).await;
    }
    Ok(report)
}

/// The answer to one request; other frames are skipped.
async fn answer_to<R: tokio::io::AsyncRead + Unpin>(
    reader: &mut Reader<R>,
    id: RequestId,
    address: &str,
) -> Result<Response, ClientError> {
    loop {
        match reader.frame().await {
            Ok(Some((answered, response))) if answered == id => {
                return response.map_err(|error| ClientError::Protocol(error.into()));
            }
            Ok(Some(_)) => {}
            Err(Loss::Fault(fault)) => return Err(ClientError::Protocol(fault)),
            Ok(None) | Err(_) => return Err(cut_off(address)),
        }
    }
}

fn is_cut_off(error: &ClientError) -> bool {
    matches!(error, ClientError::CannotConnect { source, .. } if source.kind() == io::ErrorKind::ConnectionReset)
}
