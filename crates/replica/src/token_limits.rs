//! Limits on the sessions and topics of each token, so that no token uses up all of them.
//!
//! They are not part of the state: a leader counts the sessions that it has opened itself, and the topics that exist. It
//! counts only for tokens with a limit.
//!
//! A token's topics are all to which it may push, or that it may manage, and those that policies of such topics will create
//! for dead letters. They are counted when the token first creates one; from then on the count follows creations and
//! removals. A count can become too high, when a policy changes or a request fails. It is corrected when it matters, at
//! most once per second.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_engine::Engine;
use adjourn_types::{Access, Grant, Right, SessionId, TopicId, TopicName};

/// The shortest time between two recounts of a token's live sessions, or of its topics.
const LOOK_EVERY_US: u64 = 1_000_000;
/// A topic that does not exist this long after its request will not be created by it.
const MAKING_US_MAX: u64 = 10_000_000;

/// The counts of each token with a limit, by the token's name.
#[derive(Debug, Default)]
pub(crate) struct TokenLimits(BTreeMap<String, OfToken>);

#[derive(Debug, Default)]
struct OfToken {
    /// Sessions in flight through the log.
    opening: usize,
    open: BTreeSet<SessionId>,
    looked_us: u64,
    topics: Topics,
}

/// The topics that count for a token.
#[derive(Debug, Default)]
struct Topics {
    /// The grants with which they were counted.
    grants: Vec<Grant>,
    counted_us: Option<u64>,
    /// Topics with this number or a greater one were created after the count.
    counted_to: u32,
    /// The number of existing topics.
    there: usize,
    /// The targets of dead letters, and how many of them do not exist yet.
    dead_letters: BTreeSet<TopicName>,
    absent: usize,
    /// Topics in flight through the log, and when they were requested.
    making: BTreeMap<TopicName, u64>,
}

/// The result of a request for topics.
pub(crate) struct Made {
    pub(crate) is_allowed: bool,
    /// The number of topics that were looked at.
    pub(crate) looks: u64,
}

impl TokenLimits {
    /// Counts one more session for the token, if it may have one. [`Self::opened`] must follow.
    pub(crate) fn open(&mut self, access: &Access, now_us: u64, is_live: impl Fn(SessionId) -> bool) -> bool {
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

    /// Notes the outcome of opening a session: `None` if it failed.
    pub(crate) fn opened(&mut self, token: &str, opened: Option<SessionId>) {
        if let Some(of_token) = self.0.get_mut(token) {
            of_token.opening = of_token.opening.saturating_sub(1);
            of_token.open.extend(opened);
        }
    }

    /// Counts a resumed session. It is never refused, because it was counted when it was opened.
    pub(crate) fn resumed(&mut self, access: &Access, session: SessionId) {
        if access.sessions_max != usize::MAX {
            self.0.entry(access.token.clone()).or_default().open.insert(session);
        }
    }

    /// Decides whether the token may name these topics, which are created if they are new.
    pub(crate) fn make(
        &mut self,
        access: &Access,
        names: &[&TopicName],
        now_us: u64,
        engine: &Engine,
    ) -> Made {
        let is_new = |name: &TopicName| engine.topic_id(name.as_str()).is_none();
        let mut made = Made { is_allowed: true, looks: 0 };
        if access.topics_max == usize::MAX || !names.iter().any(|name| is_new(name)) {
            return made;
        }
        let topics = &mut self.0.entry(access.token.clone()).or_default().topics;
        let mut count = |topics: &mut Topics| {
            topics.count(access, now_us, engine);
            made.looks += engine.topic_count() as u64;
        };
        if topics.counted_us.is_none() || topics.grants != access.grants {
            count(topics);
        }
        let is_full = |topics: &Topics| {
            let more = names.iter().filter(|name| is_new(name) && !topics.expects(name));
            topics.there + topics.absent + topics.making.len() + more.count() > access.topics_max
        };
        if is_full(topics) && topics.counted_us.is_some_and(|at_us| now_us >= at_us + LOOK_EVERY_US) {
            count(topics);
        }
        made.is_allowed = !is_full(topics);
        if made.is_allowed {
            let more: Vec<&TopicName> =
                names.iter().copied().filter(|name| is_new(name) && !topics.expects(name)).collect();
            topics.making.extend(more.into_iter().map(|name| (name.detached(), now_us)));
        }
        made
    }

    /// Counts a created topic.
    pub(crate) fn topic_made(&mut self, id: TopicId, name: &TopicName) {
        for topics in self.counted().filter(|topics| id.0 >= topics.counted_to) {
            topics.making.remove(name);
            topics.there += usize::from(topics.has(name.as_str()));
            topics.absent -= usize::from(topics.dead_letters.contains(name));
        }
    }

    /// Counts a removed topic. Topics from `made_to` on were removed before [`Self::topic_made`] was called for them.
    pub(crate) fn topic_gone(&mut self, id: TopicId, name: &TopicName, made_to: TopicId) {
        for topics in self.counted().filter(|topics| id.0 < topics.counted_to.max(made_to.0)) {
            topics.there -= usize::from(topics.has(name.as_str()));
            topics.absent += usize::from(topics.dead_letters.contains(name));
        }
    }

    /// Counts a topic that may be created for the dead letters of another one.
    pub(crate) fn dead_letters_set(&mut self, topic: &str, to: &TopicName, engine: &Engine) {
        for topics in self.counted().filter(|topics| topics.has(topic) && topics.has(to.as_str())) {
            topics.making.remove(to);
            if topics.dead_letters.insert(to.detached()) {
                topics.absent += usize::from(engine.topic_id(to.as_str()).is_none());
            }
        }
    }

    fn counted(&mut self) -> impl Iterator<Item = &mut Topics> {
        let all = self.0.values_mut().map(|of_token| &mut of_token.topics);
        all.filter(|topics| topics.counted_us.is_some())
    }
}

impl Topics {
    /// Recounts the topics. Drops requested ones that were not created in time.
    fn count(&mut self, access: &Access, now_us: u64, engine: &Engine) {
        (self.grants, self.counted_us) = (access.grants.clone(), Some(now_us));
        (self.there, self.counted_to) = (0, engine.next_topic().0);
        self.dead_letters.clear();
        for view in engine.topics() {
            if self.has(view.name.as_str()) {
                self.there += 1;
                let to = engine.topic_policy(view.id).and_then(|policy| policy.dead_letters.as_ref());
                let own = to.filter(|to| self.has(to.as_str()));
                self.dead_letters.extend(own.map(TopicName::detached));
            }
        }
        let is_there = |name: &TopicName| engine.topic_id(name.as_str()).is_some();
        self.absent = self.dead_letters.iter().filter(|name| !is_there(name)).count();
        let dead_letters = &self.dead_letters;
        self.making.retain(|name, asked_us| {
            let may_come = now_us.saturating_sub(*asked_us) < MAKING_US_MAX;
            may_come && !is_there(name) && !dead_letters.contains(name)
        });
    }

    fn has(&self, name: &str) -> bool {
        let counts = |grant: &Grant| grant.rights.has(Right::Push) || grant.rights.has(Right::Manage);
        self.grants.iter().any(|grant| grant.topics.has(name) && counts(grant))
    }

    /// True if a topic that does not exist is already counted.
    fn expects(&self, name: &TopicName) -> bool {
        self.making.contains_key(name) || self.dead_letters.contains(name)
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
