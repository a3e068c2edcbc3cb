//! The server: counts, members, connected clients.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Field, Flag, Number};
use super::super::input::{JsonBody, Part, QueryOf};
use super::super::problem::{Problem, ProblemJson};
use super::{Answer, done, ok};
use adjourn_json::{ClusterJson, ConnectionJson, StatsJson};
use adjourn_protocol::{ClusterReport, ConnectionList, Request, StatsReport};
use adjourn_types::limits::CONNECTIONS_LISTED_MAX;

/// A node to be added.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddJson {
    /// Where it listens for its peers: `HOST:PORT`.
    #[schema(example = "10.0.0.2:7441")]
    address: String,
}

/// Who is to lead.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TransferJson {
    /// A member; without it the leader chooses.
    node: Option<u64>,
}

/// Which connections.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ConnectionsQuery {
    /// Those with a greater number.
    #[param(value_type = Option<u64>)]
    after: Option<String>,
    /// At most this many: 1 to 256; 256 without it.
    #[param(value_type = Option<u32>)]
    limit: Option<Field<Number>>,
}

/// How a connection is closed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DisconnectQuery {
    /// Ends its session, too: its leases are given back at once.
    #[param(value_type = Option<bool>)]
    end_session: Option<Field<Flag>>,
}

/// Connected clients.
#[derive(Serialize, ToSchema)]
pub(super) struct ConnectionsJson<'a> {
    /// By number.
    connections: Vec<ConnectionJson<'a>>,
}

/// Count everything
#[utoipa::path(
    get,
    path = "/v1/stats",
    tag = "server",
    responses(
        (status = 200, description = "Counts, and where the time of the leader goes", body = StatsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn stats(caller: Caller) -> Answer {
    let stats: StatsReport = caller.ask(Request::Stats).await?;
    ok(&StatsJson::of(&stats))
}

/// Show the members of the cluster
#[utoipa::path(
    get,
    path = "/v1/cluster",
    tag = "server",
    responses(
        (status = 200, description = "The members, and how far each is", body = ClusterJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn cluster(caller: Caller) -> Answer {
    let report: ClusterReport = caller.ask(Request::ClusterStatus).await?;
    ok(&ClusterJson::of(&report))
}

/// Add a node to the cluster
#[utoipa::path(
    post,
    path = "/v1/cluster/members",
    tag = "server",
    request_body = AddJson,
    responses(
        (status = 204, description = "It is a learner, and votes when it has caught up"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn add_member(caller: Caller, JsonBody(AddJson { address }): JsonBody<AddJson>) -> Answer {
    done(&caller, Request::ClusterAdd { address }).await
}

/// Remove a member from the cluster, for ever
#[utoipa::path(
    delete,
    path = "/v1/cluster/members/{node}",
    tag = "server",
    params(("node" = u64, Path, description = "The member's number")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn remove_member(caller: Caller, Part(node): Part<u64>) -> Answer {
    done(&caller, Request::ClusterRemove { node }).await
}

/// Hand leadership to another member
#[utoipa::path(
    post,
    path = "/v1/cluster/transfer",
    tag = "server",
    request_body = TransferJson,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn transfer(
    caller: Caller,
    JsonBody(TransferJson { node }): JsonBody<TransferJson>,
) -> Answer {
    done(&caller, Request::ClusterTransfer { node: node.unwrap_or(0) }).await
}

/// List connected clients
#[utoipa::path(
    get,
    path = "/v1/connections",
    tag = "server",
    params(ConnectionsQuery),
    responses(
        (status = 200, description = "Clients of the leader", body = ConnectionsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn connections(caller: Caller, QueryOf(asked): QueryOf<ConnectionsQuery>) -> Answer {
    let after = asked.after.as_deref().unwrap_or("0").parse();
    let after = after.map_err(|_| Problem::malformed("after is the number of a connection"))?;
    let connections_max = asked.limit.map_or(CONNECTIONS_LISTED_MAX, |limit| limit.0);
    let list: ConnectionList = caller.ask(Request::Connections { after, connections_max }).await?;
    ok(&ConnectionsJson { connections: list.connections.iter().map(ConnectionJson::of).collect() })
}

/// Close a client's connection
#[utoipa::path(
    delete,
    path = "/v1/connections/{connection}",
    tag = "server",
    params(("connection" = u64, Path, description = "The connection's number"), DisconnectQuery),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn disconnect(
    caller: Caller,
    Part(connection): Part<u64>,
    QueryOf(how): QueryOf<DisconnectQuery>,
) -> Answer {
    let ends_session = how.end_session.is_some_and(|ends| ends.0);
    done(&caller, Request::Disconnect { connection, ends_session }).await
}
