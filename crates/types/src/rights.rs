//! What a client may do, and with which topics.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::TopicName;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// Add jobs.
    Push,
    /// Lease jobs, and settle leased ones.
    Consume,
    /// See jobs, counts and policies.
    Read,
    /// Change or delete waiting jobs and topics.
    Manage,
    /// Operate the server: members, connections, backups.
    Admin,
}

/// A set of rights.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Rights(u8);

/// A set of topics: one name, all with a prefix (`orders.*`), or all (`*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPattern {
    text: String,
    is_prefix: bool,
}

/// Rights for a set of topics, as in `push,consume:orders.*`. Without `:` and topics, the rights hold for all topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The granted rights.
    pub rights: Rights,
    /// The topics for which they hold.
    pub topics: TopicPattern,
}

/// Why a text is not a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// Not a right.
    #[error("expected push, consume, read, manage or admin, found {0:?}")]
    Right(String),
    /// Not topics.
    #[error("expected a topic's name, a prefix and *, or *, found {0:?}")]
    Topics(String),
    /// `admin` concerns the whole server and cannot be granted for single topics.
    #[error("admin is a right to the whole server: grant it for all topics, as in admin:*")]
    AdminOfTopics,
}

impl Right {
    /// Every right.
    pub const ALL: [Self; 5] = [Self::Push, Self::Consume, Self::Read, Self::Manage, Self::Admin];

    /// The right's name in a grant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Consume => "consume",
            Self::Read => "read",
            Self::Manage => "manage",
            Self::Admin => "admin",
        }
    }
}

impl Rights {
    /// Every right.
    pub const ALL: Self = Self(0b1_1111);

    /// True if `right` is in the set.
    pub fn has(self, right: Right) -> bool {
        self.0 & 1 << right as u8 != 0
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<T: IntoIterator<Item = Right>>(rights: T) -> Self {
        Self(rights.into_iter().fold(0, |bits, right| bits | 1 << right as u8))
    }
}

impl TopicPattern {
    /// All topics.
    pub const fn all() -> Self {
        Self { text: String::new(), is_prefix: true }
    }

    /// True if `topic` matches.
    pub fn has(&self, topic: &str) -> bool {
        if self.is_prefix { topic.starts_with(&self.text) } else { topic == self.text }
    }

    /// The topics that match both patterns.
    pub fn common(&self, other: &Self) -> Option<Self> {
        let is_within =
            |inner: &Self, outer: &Self| outer.has(&inner.text) && (outer.is_prefix || !inner.is_prefix);
        if is_within(self, other) {
            Some(self.clone())
        } else {
            Some(other.clone()).filter(|other| is_within(other, self))
        }
    }

    /// True if every topic matches.
    pub fn has_all(&self) -> bool {
        self.is_prefix && self.text.is_empty()
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Right::ALL.into_iter().filter(|right| self.has(*right)).map(Right::name);
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Rights {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let right = |name: &str| {
            let found = Right::ALL.into_iter().find(|right| right.name() == name.trim());
            found.ok_or_else(|| GrantError::Right(name.trim().to_owned()))
        };
        text.split(',').map(right).collect()
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

impl FromStr for TopicPattern {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let (name, is_prefix) = text.strip_suffix('*').map_or((text, false), |name| (name, true));
        let is_name = TopicName::new(Bytes::copy_from_slice(name.as_bytes())).is_ok();
        if is_name || (is_prefix && name.is_empty()) {
            return Ok(Self { text: name.to_owned(), is_prefix });
        }
        Err(GrantError::Topics(text.to_owned()))
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.rights, self.topics)
    }
}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let (rights, topics) = text.split_once(':').unwrap_or((text, "*"));
        let grant = Self { rights: rights.parse()?, topics: topics.trim().parse()? };
        if grant.rights.has(Right::Admin) && !grant.topics.has_all() {
            return Err(GrantError::AdminOfTopics);
        }
        Ok(grant)
    }
}

/// A client's token, rights and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The name of the client's token; empty without one.
    pub token: String,
    /// The client's rights.
    pub grants: Vec<Grant>,
    /// The largest body that the client may push, in bytes.
    pub body_bytes_max: usize,
    /// Most sessions of this token.
    pub sessions_max: usize,
    /// Most topics to which the client may push, or that it may manage: from then on, it creates no topic.
    pub topics_max: usize,
}

impl Access {
    /// Access without limits, for every client of a server that has no tokens.
    pub fn open() -> Self {
        let everything = Grant { rights: Rights::ALL, topics: TopicPattern::all() };
        Self {
            token: String::new(),
            grants: vec![everything],
            body_bytes_max: usize::MAX,
            sessions_max: usize::MAX,
            topics_max: usize::MAX,
        }
    }

    /// True if the client has this right for this topic.
    pub fn has(&self, right: Right, topic: &str) -> bool {
        self.grants.iter().any(|grant| grant.rights.has(right) && grant.topics.has(topic))
    }

    /// True if the client has this right for at least one topic.
    pub fn has_somewhere(&self, right: Right) -> bool {
        self.grants.iter().any(|grant| grant.rights.has(right))
    }

    /// True if one grant gives the client this right for all topics.
    pub fn has_everywhere(&self, right: Right) -> bool {
        self.grants.iter().any(|grant| grant.rights.has(right) && grant.topics.has_all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(grants: &[&str]) -> Access {
        let grants = grants.iter().map(|grant| grant.parse().expect(grant)).collect();
        Access { grants, ..Access::open() }
    }

    #[test]
    fn a_grant_is_written_as_it_is_read() {
        for text in ["push,consume:orders.*", "read:*", "push,consume,read,manage,admin:*", "manage:a.b"] {
            assert_eq!(text.parse::<Grant>().expect(text).to_string(), text);
        }
        assert_eq!("read".parse::<Grant>().expect("all topics").to_string(), "read:*");
        assert_eq!(" read , push : a*".parse::<Grant>().expect("spaces").to_string(), "push,read:a*");
        for text in
            ["", "write:*", "push:", "push:a*b", "push:**", "push,:a", "admin:a*", "push:a b", "push:-"]
        {
            assert!(text.parse::<Grant>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn rights_are_to_the_topics_that_a_grant_names() {
        let access = access(&["push:orders.*", "read:orders.eu", "consume:*"]);
        let has =
            |right| ["orders.eu", "orders.", "orders", "order", "x"].map(|topic| access.has(right, topic));
        assert_eq!(has(Right::Push), [true, true, false, false, false]);
        assert_eq!(has(Right::Read), [true, false, false, false, false]);
        assert_eq!(has(Right::Consume), [true; 5]);
        assert_eq!(has(Right::Manage), [false; 5]);
        let somewhere = Right::ALL.map(|right| (access.has_somewhere(right), access.has_everywhere(right)));
        let [push, consume, read, manage, admin] = somewhere;
        assert_eq!((push, consume, read), ((true, false), (true, true), (true, false)));
        assert_eq!((manage, admin), ((false, false), (false, false)));
    }

    #[test]
    fn patterns_have_topics_in_common() {
        let common = |one: &str, other: &str| {
            let [one, other]: [TopicPattern; 2] = [one, other].map(|text| text.parse().expect("a pattern"));
            let [there, back] = [one.common(&other), other.common(&one)]
                .map(|common| common.map(|common| common.to_string()));
            assert_eq!(there, back);
            there
        };
        for (one, other, expected) in [
            ("*", "a", "a"),
            ("a*", "ab*", "ab*"),
            ("a*", "ab", "ab"),
            ("a", "a", "a"),
            ("*", "*", "*"),
            ("a*", "a*", "a*"),
        ] {
            assert_eq!(common(one, other).as_deref(), Some(expected), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("a*", "b*"), ("ab*", "a"), ("a", "ab")] {
            assert_eq!(common(one, other), None, "{one} {other}");
        }
    }

    #[test]
    fn without_tokens_everything_is_allowed() {
        let access = Access::open();
        assert!(Right::ALL.into_iter().all(|right| access.has(right, "x") && access.has_everywhere(right)));
        assert_eq!(Right::ALL.into_iter().collect::<Rights>(), Rights::ALL);
    }
}
