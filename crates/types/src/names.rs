//! Names that users choose: topics, keys and groups.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::limits::{GROUP_BYTES_MAX, KEY_BYTES_MAX, TOPIC_BYTES_MAX};

/// A topic's name: 1 to 200 bytes of `A-Z a-z 0-9 . _ : / - + ; $ ( )`, not starting with `-`.
///
/// It shares the buffer that it was read from, so cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Bytes);

/// The user's own id of a job, unique in its topic while the job lives: 1 to 256 bytes of UTF-8
/// without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Bytes);

/// The group of a job in its topic, such as a tenant or a customer: 1 to 255 bytes of UTF-8 without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(Bytes);

/// Why a text is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a topic name.
    #[error(
        "a topic name has 1 to 200 characters of A-Z a-z 0-9 . _ : / - + ; $ ( ) and does not start with -"
    )]
    Topic,
    /// Not a key.
    #[error("a key has 1 to 256 bytes of UTF-8 without control characters")]
    Key,
    /// Not the name of a group.
    #[error("a group has 1 to 255 bytes of UTF-8 without control characters")]
    Group,
}

/// True if a text has the form of an address: a host name or an IP address, a colon and a port.
pub fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        !host.is_empty() && (bracketed || !host.contains(':')) && port.parse::<u16>().is_ok()
    })
}

/// The name that stands for all topics.
const ANY: &[u8] = b":any";
/// A key that begins with this can be found without its topic.
const ID: &str = "id:";

impl TopicName {
    /// The name that stands for all topics, where a job is looked up by its [id](Key::of_id).
    pub fn any() -> Self {
        Self(Bytes::from_static(ANY))
    }

    /// True for the name that stands for all topics.
    pub fn is_any(&self) -> bool {
        self.0 == ANY
    }

    /// Validates `bytes` as a topic name.
    pub fn new(bytes: Bytes) -> Result<Self, NameError> {
        let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:/-+;$()".contains(byte);
        let good = !bytes.is_empty()
            && bytes.len() <= TOPIC_BYTES_MAX
            && bytes.first() != Some(&b'-')
            && bytes.iter().all(valid);
        if good { Ok(Self(bytes)) } else { Err(NameError::Topic) }
    }
}

impl Key {
    /// Validates `bytes` as a key.
    pub fn new(bytes: Bytes) -> Result<Self, NameError> {
        if is_line(&bytes, KEY_BYTES_MAX) { Ok(Self(bytes)) } else { Err(NameError::Key) }
    }

    /// The key for an id, under which a job can be found without its topic.
    pub fn of_id(id: &str) -> Result<Self, NameError> {
        Self::new([ID, id].concat().into())
    }

    /// The id that this key stands for; `None` if it stands for none.
    pub fn id(&self) -> Option<&str> {
        self.as_str().strip_prefix(ID)
    }

    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl GroupName {
    /// Validates `bytes` as the name of a group.
    pub fn new(bytes: Bytes) -> Result<Self, NameError> {
        if Self::is_valid(&bytes) { Ok(Self(bytes)) } else { Err(NameError::Group) }
    }

    /// True if these bytes are the name of a group.
    pub(super) fn is_valid(bytes: &[u8]) -> bool {
        is_line(bytes, GROUP_BYTES_MAX)
    }
}

/// True if these are 1 to `bytes_max` bytes of UTF-8 without control characters.
fn is_line(bytes: &[u8], bytes_max: usize) -> bool {
    let text = std::str::from_utf8(bytes);
    text.is_ok_and(|text| (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control))
}

macro_rules! as_text {
    ($name:ident) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                std::str::from_utf8(&self.0).unwrap_or_default()
            }

            /// A copy that owns its bytes, so that the buffer it was read from can be freed.
            #[must_use]
            pub fn detached(&self) -> Self {
                Self(Bytes::copy_from_slice(&self.0))
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(Bytes::copy_from_slice(text.as_bytes()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    };
}

as_text!(TopicName);
as_text!(Key);
as_text!(GroupName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names() {
        for good in ["a", "orders", "orders/close.v2:eu_west-1", &"+;$()-".repeat(33)] {
            assert_eq!(good.parse::<TopicName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "-a", "a b", "ü", "a\n", "a*", &"x".repeat(201)] {
            assert_eq!(bad.parse::<TopicName>(), Err(NameError::Topic), "{bad:?}");
        }
    }

    #[test]
    fn ids_are_keys() {
        let key = Key::of_id("7").expect("a key");
        assert_eq!((key.as_str(), key.id()), ("id:7", Some("7")));
        assert_eq!("7".parse::<Key>().map(|key| key.id().map(str::to_owned)), Ok(None));
        assert!(Key::of_id(&"x".repeat(253)).is_ok() && Key::of_id(&"x".repeat(254)).is_err());
        assert_eq!(":any".parse(), Ok(TopicName::any()));
        assert!(TopicName::any().is_any());
    }

    #[test]
    fn groups() {
        for good in ["tenant 7", "ü", &"x".repeat(255)] {
            assert_eq!(good.parse::<GroupName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "a\n", &"x".repeat(256)] {
            assert_eq!(bad.parse::<GroupName>(), Err(NameError::Group), "{bad:?}");
        }
    }

    #[test]
    fn keys() {
        for good in ["order 17", "ключ", &"x".repeat(256)] {
            assert_eq!(good.parse::<Key>().map(|key| key.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "a\u{7}", "a\nb", &"x".repeat(257)] {
            assert_eq!(bad.parse::<Key>(), Err(NameError::Key), "{bad:?}");
        }
        assert_eq!(Key::new(Bytes::from_static(b"\xff")), Err(NameError::Key));
    }
}
