//! The server: counts, members, connected clients.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Whole, schema_number};
use super::super::input::{JsonBody, MaybeJson, Number, Part, QueryOf};
use super::super::problem::ProblemJson;
use super::page::{Conditions, PageQuery};
use super::{Answer, done, ok};
use adjourn_json::{ClusterJson, ConnectionJson, StatsJson};
use adjourn_protocol::{ClusterReport, ConnectionList, Request, StatsReport};
use adjourn_server::config::NODE_MAX;
use adjourn_types::limits::CONNECTIONS_LISTED_MAX;

/// A node to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"address\": \"10.0.0.2:7441\"}")]
#[schema(as = NewMember)]
pub(super) struct AddJson {
    /// Where it listens for its peers: `HOST:PORT`.
    #[schema(example = "10.0.0.2:7441")]
    address: String,
}

/// The next leader.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"node\": 2}")]
#[schema(as = Transfer)]
pub(super) struct TransferJson {
    /// A member. By default the leader chooses.
    #[schema(schema_with = schema_number::<1, NODE_MAX>)]
    node: Option<Whole<1, NODE_MAX>>,
}

/// Which connections.
type ConnectionsQuery = PageQuery<{ CONNECTIONS_LISTED_MAX as u64 }, CONNECTIONS_LISTED_MAX>;

/// How a connection is closed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DisconnectQuery {
    /// Ends its session, too: its leases are given back at once.
    end_session: Option<bool>,
}

/// A page of connected clients.
#[derive(Serialize, ToSchema)]
#[schema(as = Connections)]
pub(super) struct ConnectionsJson<'a> {
    /// By number.
    connections: Vec<ConnectionJson<'a>>,
    /// For the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Show counts of the whole queue
#[utoipa::path(
    get,
    path = "/v1/stats",
    operation_id = "stats",
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
    operation_id = "show_cluster",
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
    operation_id = "add_member",
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

/// Remove a member from the cluster permanently
#[utoipa::path(
    delete,
    path = "/v1/cluster/members/{node}",
    operation_id = "remove_member",
    tag = "server",
    params(("node" = u64, Path, description = "The member's number")),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn remove_member(caller: Caller, Part(Number(node)): Part<Number>) -> Answer {
    done(&caller, Request::ClusterRemove { node }).await
}

/// Hand leadership to another member
#[utoipa::path(
    post,
    path = "/v1/cluster/transfer",
    operation_id = "transfer_leadership",
    tag = "server",
    request_body = Option<TransferJson>,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn transfer(
    caller: Caller,
    MaybeJson(TransferJson { node }): MaybeJson<TransferJson>,
) -> Answer {
    done(&caller, Request::ClusterTransfer { node: node.map_or(0, |node| node.0) }).await
}

/// List connected clients
#[utoipa::path(
    get,
    path = "/v1/connections",
    operation_id = "list_connections",
    tag = "server",
    params(ConnectionsQuery),
    responses(
        (status = 200, description = "Clients of the leader", body = ConnectionsJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn connections(caller: Caller, QueryOf(asked): QueryOf<ConnectionsQuery>) -> Answer {
    let conditions = Conditions::of(b"connections");
    let connections_max = asked.limit();
    let after = asked.after(&conditions)?;
    let after = after.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
    let page: ConnectionList = caller.ask(Request::Connections { after, connections_max }).await?;
    let last = page.connections.last().filter(|_| page.has_more).map(|last| last.connection.to_be_bytes());
    let cursor = last.and_then(|last| conditions.cursor(&last));
    ok(&ConnectionsJson { connections: page.connections.iter().map(ConnectionJson::of).collect(), cursor })
}

/// Close a client's connection
#[utoipa::path(
    delete,
    path = "/v1/connections/{connection}",
    operation_id = "close_connection",
    tag = "server",
    params(("connection" = u64, Path, description = "The connection's number"), DisconnectQuery),
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn disconnect(
    caller: Caller,
    Part(Number(connection)): Part<Number>,
    QueryOf(how): QueryOf<DisconnectQuery>,
) -> Answer {
    let ends_session = how.end_session.unwrap_or_default();
    done(&caller, Request::Disconnect { connection, ends_session }).await
}
