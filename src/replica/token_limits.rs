//! The sessions and topics of each token, so that no token takes them all.
//!
//! Not state: a leader counts the sessions that it let in itself, from when it began to lead, and the topics that are there. Counts
//! are kept for tokens that have a limit.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Engine;
use crate::types::{Access, Right, SessionId, TopicName};

/// The shortest time between two looks at which of a token's sessions are still live.
const LOOK_EVERY_US: u64 = 1_000_000;
/// A topic that is asked for and is not there after this time will not come by that request.
const MAKING_US_MAX: u64 = 10_000_000;

/// What each token with a limit has, by its name.
#[derive(Debug, Default)]
pub(super) struct TokenLimits(BTreeMap<String, OfToken>);

#[derive(Debug, Default)]
struct OfToken {
    /// Sessions on their way through the log.
    opening: usize,
    open: BTreeSet<SessionId>,
    looked_us: u64,
    /// Topics on their way through the log, and when they were asked for.
    making: BTreeMap<TopicName, u64>,
}

impl TokenLimits {
    /// Whether the token may have one more session, which [`Self::opened`] follows.
    pub(super) fn open(&mut self, access: &Access, now_us: u64, is_live: impl Fn(SessionId) -> bool) -> bool {
        if access.sessions_max == usize::MAX {
            return true;
        }
        let of_token = self.0.entry(access.token.clone()).or_default();
        let is_full = |of_token: &OfToken| of_token.opening + of_token.open.len() >= access.sessions_max;
        if is_full(of_token) && now_us.saturating_sub(of_token.looked_us) >= LOOK_EVERY_US {
            of_token.looked_us = now_us;
            of_token.open.retain(|session| is_live(*session));
        }
        let may = !is_full(of_token);
        of_token.opening += usize::from(may);
        may
    }

    /// What became of a session that the token was to have.
    pub(super) fn opened(&mut self, token: &str, opened: Option<SessionId>) {
        if let Some(of_token) = self.0.get_mut(token) {
            of_token.opening = of_token.opening.saturating_sub(1);
            of_token.open.extend(opened);
        }
    }

    /// The token has resumed a session. It is counted, and never refused: it was counted when it was opened.
    pub(super) fn resumed(&mut self, access: &Access, session: SessionId) {
        if access.sessions_max != usize::MAX {
            self.0.entry(access.token.clone()).or_default().open.insert(session);
        }
    }

    /// Whether the token may name this topic, which is made if it is new. All topics count that the token may push to or manage.
    pub(super) fn make(&mut self, access: &Access, topic: &TopicName, now_us: u64, engine: &Engine) -> bool {
        if access.topics_max == usize::MAX || engine.topic_id(topic.as_str()).is_some() {
            return true;
        }
        let has = |name: &str| access.has(Right::Push, name) || access.has(Right::Manage, name);
        let making = &mut self.0.entry(access.token.clone()).or_default().making;
        making.retain(|name, asked_us| {
            engine.topic_id(name.as_str()).is_none() && now_us.saturating_sub(*asked_us) < MAKING_US_MAX
        });
        let is_on_its_way = making.contains_key(topic);
        let there = engine.topics().filter(|view| has(view.name.as_str())).count();
        if !is_on_its_way && there + making.len() >= access.topics_max {
            return false;
        }
        making.entry(topic.detached()).or_insert(now_us);
        true
    }

    /// Forgets all: another node leads.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_no_more_sessions_than_it_may() {
        let access = Access { token: "shop".to_owned(), sessions_max: 2, ..Access::open() };
        let mut sessions = TokenLimits::default();
        let all_live = |_| true;
        assert!(sessions.open(&access, 0, all_live) && sessions.open(&access, 0, all_live));
        assert!(!sessions.open(&access, LOOK_EVERY_US, all_live), "two are on their way");
        sessions.opened("shop", Some(SessionId(1)));
        sessions.opened("shop", None);
        assert!(sessions.open(&access, LOOK_EVERY_US, all_live), "one was refused");
        sessions.opened("shop", Some(SessionId(2)));
        assert!(!sessions.open(&access, 2 * LOOK_EVERY_US, all_live));
        let first_gone = |session| session != SessionId(1);
        assert!(!sessions.open(&access, 2 * LOOK_EVERY_US + 1, first_gone), "it was looked at a moment ago");
        assert!(sessions.open(&access, 3 * LOOK_EVERY_US, first_gone));
        let other = Access { token: "mail".to_owned(), ..access };
        assert!(sessions.open(&other, 0, all_live));
    }

    #[test]
    fn a_session_that_was_resumed_counts_once() {
        let access = Access { token: "shop".to_owned(), sessions_max: 2, ..Access::open() };
        let mut sessions = TokenLimits::default();
        for _ in 0..3 {
            sessions.resumed(&access, SessionId(7));
        }
        assert!(sessions.open(&access, 0, |_| true));
        assert!(!sessions.open(&access, 0, |_| true));
    }
}
