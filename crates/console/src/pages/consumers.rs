//! Consumers: the clients that are connected to the leader.

use askama::Template;

use super::Answer;
use crate::form::Posted;
use crate::said::Said;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Number, Part};
use adjourn_protocol::{ConnectionList, ConnectionReport, Request};

/// Connections on a page.
const PAGE: u32 = 100;

#[derive(Template)]
#[template(path = "consumers.html")]
struct ConsumersPage {
    view: View,
    connections: Vec<ConnectionReport>,
    /// True if this is not the first page.
    is_behind: bool,
    /// The number of the last connection on this page, if there are more.
    last: Option<u64>,
}

/// A page of the connections.
pub(super) async fn list(visitor: Visitor) -> Answer {
    visitor.check_sees_server()?;
    let after: u64 = visitor.query.first("after").parse().unwrap_or(0);
    let asked = Request::Connections { after, connections_max: PAGE };
    let ConnectionList { has_more, connections } = visitor.ask(asked).await?;
    page(&ConsumersPage {
        view: visitor.view("consumers"),
        is_behind: after > 0,
        last: connections.last().filter(|_| has_more).map(|last| last.connection),
        connections,
    })
}

/// Closes a connection, and its session if the form says so.
pub(super) async fn disconnect(Part(Number(connection)): Part<Number>, posted: Posted) -> Answer {
    let ends_session = posted.fields.first("ends_session") == "true";
    posted.visitor.ask::<()>(Request::Disconnect { connection, ends_session }).await?;
    Ok(posted.done(posted.back_or("/console/consumers"), Said::Disconnected, 0))
}
