//! The sessions of each token, so that no token takes them all.
//!
//! Not state: a leader counts what it opened itself, from when it began to lead. Counts are kept for tokens that have a limit.

use std::collections::{BTreeMap, BTreeSet};

use crate::types::{Access, SessionId};

/// The shortest time between two looks at which of a token's sessions are still known.
const LOOK_EVERY_US: u64 = 1_000_000;

/// The sessions of each token, by its name.
#[derive(Debug, Default)]
pub(super) struct TokenSessions(BTreeMap<String, OfToken>);

#[derive(Debug, Default)]
struct OfToken {
    /// Those on their way through the log.
    opening: usize,
    open: BTreeSet<SessionId>,
    looked_us: u64,
}

impl TokenSessions {
    /// Whether the token may have one more, which [`Self::end`] follows.
    pub(super) fn begin(
        &mut self,
        access: &Access,
        now_us: u64,
        is_known: impl Fn(SessionId) -> bool,
    ) -> bool {
        if access.sessions_max == usize::MAX {
            return true;
        }
        let of_token = self.0.entry(access.token.clone()).or_default();
        let is_full = |of_token: &OfToken| of_token.opening + of_token.open.len() >= access.sessions_max;
        if is_full(of_token) && now_us.saturating_sub(of_token.looked_us) >= LOOK_EVERY_US {
            of_token.looked_us = now_us;
            of_token.open.retain(|session| is_known(*session));
        }
        let may = !is_full(of_token);
        of_token.opening += usize::from(may);
        may
    }

    /// What became of a session that the token was to have.
    pub(super) fn end(&mut self, token: &str, opened: Option<SessionId>) {
        if let Some(of_token) = self.0.get_mut(token) {
            of_token.opening = of_token.opening.saturating_sub(1);
            of_token.open.extend(opened);
        }
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
        let mut sessions = TokenSessions::default();
        let all_known = |_| true;
        assert!(sessions.begin(&access, 0, all_known) && sessions.begin(&access, 0, all_known));
        assert!(!sessions.begin(&access, LOOK_EVERY_US, all_known), "two are on their way");
        sessions.end("shop", Some(SessionId(1)));
        sessions.end("shop", None);
        assert!(sessions.begin(&access, LOOK_EVERY_US, all_known), "one was refused");
        sessions.end("shop", Some(SessionId(2)));
        assert!(!sessions.begin(&access, 2 * LOOK_EVERY_US, all_known));
        let first_gone = |session| session != SessionId(1);
        assert!(!sessions.begin(&access, 2 * LOOK_EVERY_US + 1, first_gone), "it was looked at a moment ago");
        assert!(sessions.begin(&access, 3 * LOOK_EVERY_US, first_gone));
        let other = Access { token: "mail".to_owned(), ..access };
        assert!(sessions.begin(&other, 0, all_known));
    }
}
