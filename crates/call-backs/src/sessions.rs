//! The sessions of topics: each carries some hundred subscriptions.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::CallBacksState;
use adjourn_protocol::ErrorReply;
use adjourn_server::LocalSession;
use adjourn_types::limits::SUBSCRIPTIONS_MAX;

/// Most handles of one session: each subscription has two.
const HANDLES_MAX: usize = SUBSCRIPTIONS_MAX;
/// After a refusal no topic asks for this time: otherwise all topics would ask on a node that does not lead.
const REFUSED_FOR: Duration = Duration::from_millis(400);

/// The sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    sessions: Vec<Weak<LocalSession>>,
    /// The time until which no topic asks, and why.
    refused: Option<(Instant, ErrorReply)>,
}

impl Sessions {
    /// A session with room for one more subscription.
    ///
    /// # Errors
    ///
    /// If this node does not lead.
    pub(super) async fn take(&self, shared: &CallBacksState) -> Result<Arc<LocalSession>, ErrorReply> {
        let mut open = self.0.lock().await;
        if let Some((_, why)) = open.refused.as_ref().filter(|(until, _)| Instant::now() < *until) {
            return Err(why.clone());
        }
        open.sessions.retain(|session| session.upgrade().is_some_and(|session| !session.has_ended()));
        let roomy = open.sessions.iter().find(|session| session.strong_count() + 2 <= HANDLES_MAX);
        if let Some(session) = roomy.and_then(Weak::upgrade) {
            return Ok(session);
        }
        match shared.local.own_session(Arc::clone(&shared.access), "call-backs").await {
            Ok(session) => {
                open.sessions.push(Arc::downgrade(&session));
                Ok(session)
            }
            Err(why) => {
                open.refused = Some((Instant::now() + REFUSED_FOR, why.clone()));
                Err(why)
            }
        }
    }
}
