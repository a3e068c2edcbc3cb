//! A secret in memory. Logs and error messages never print it.

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use bytes::Bytes;

/// A token or another secret; it derefs to its bytes. `Debug` shows only whether it is empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Bytes);

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Secret()" } else { "Secret(..)" })
    }
}

impl From<Bytes> for Secret {
    fn from(secret: Bytes) -> Self {
        Self(secret)
    }
}

impl From<Vec<u8>> for Secret {
    fn from(secret: Vec<u8>) -> Self {
        Self(secret.into())
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret.into())
    }
}

impl From<&str> for Secret {
    fn from(secret: &str) -> Self {
        Self(Bytes::copy_from_slice(secret.as_bytes()))
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(secret: &str) -> Result<Self, Infallible> {
        Ok(secret.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret: Secret = "adjourn_0".into();
        assert_eq!(&*secret, b"adjourn_0");
        assert_eq!(format!("{secret:?} {:?}", Secret::default()), "Secret(..) Secret()");
        assert_eq!("adjourn_0".parse(), Ok(secret));
    }
}
