//! The sessions of people who have logged in with a token.
//!
//! A session ends when its person logs out, after [`LASTS`], when the token is changed, revoked or expires, or with the process. The
//! cookie is a random number, of which only the hash is kept. On a server without tokens there are no sessions.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use tokio::time::Instant;

use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_server::tokens::ShownToken;
use adjourn_server::{NoEntropy, Rate, entropy, network};

/// A session ends this long after the person logged in.
pub(crate) const LASTS: Duration = Duration::from_hours(12);
/// Most sessions. With one more, the oldest one of the same token ends.
const SESSIONS_MAX: usize = 1024;
/// Most sessions of one token.
const OF_TOKEN_MAX: usize = 64;
/// Logins from one address that may fail at once, and then one a second: more are refused without a look at the token.
const BURST: u32 = 10;
/// Addresses whose failures are counted apart.
const ADDRESSES_MAX: usize = 1024;
/// All others share one count.
const OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What a cookie is kept as.
type CookieHash = [u8; 32];

/// All sessions of this node.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Mutex<BTreeMap<CookieHash, Session>>,
    /// The failed logins by address.
    failures: Mutex<BTreeMap<IpAddr, Rate>>,
}

/// A person who has logged in.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    token: ShownToken,
    since: Instant,
    /// What forms of this session carry.
    form_token: Arc<str>,
}

impl Session {
    /// The token that the person has shown.
    pub(crate) fn token(&self) -> &ShownToken {
        &self.token
    }

    /// What forms of this session carry.
    pub(crate) fn form_token(&self) -> &Arc<str> {
        &self.form_token
    }

    fn has_ended(&self) -> bool {
        self.since.elapsed() >= LASTS || self.token.has_ended()
    }
}

impl Sessions {
    /// Opens a session. Returns its cookie.
    ///
    /// # Errors
    ///
    /// If the system has no random bytes, or there is no room.
    pub(crate) fn open(&self, token: ShownToken) -> Result<String, ErrorReply> {
        let no_chance = |error: NoEntropy| ErrorReply::new(ErrorCode::Busy, error.to_string());
        let (cookie, form_token) = (random().map_err(no_chance)?, random().map_err(no_chance)?);
        let name = token.name().to_owned();
        let session = Session { token, since: Instant::now(), form_token: form_token.into() };
        let mut open = self.lock();
        open.retain(|_, session| !session.has_ended());
        let is_of_token = |session: &Session| session.token.name() == name;
        let of_token = open.values().filter(|session| is_of_token(session)).count();
        if of_token >= OF_TOKEN_MAX || open.len() >= SESSIONS_MAX {
            let of_token = open.iter().filter(|(_, session)| is_of_token(session));
            let Some(oldest) = of_token.min_by_key(|(_, session)| session.since).map(|(hash, _)| *hash)
            else {
                let full = "as many people are logged in as may be: try again when one has logged out";
                return Err(ErrorReply::new(ErrorCode::Busy, full));
            };
            open.remove(&oldest);
        }
        open.insert(hash(&cookie), session);
        Ok(cookie)
    }

    /// The session with this cookie, if it has not ended.
    pub(crate) fn find(&self, cookie: &str) -> Option<Session> {
        let mut open = self.lock();
        let hash = hash(cookie);
        let session = open.get(&hash)?.clone();
        if session.has_ended() {
            open.remove(&hash);
            return None;
        }
        Some(session)
    }

    /// Ends the session with this cookie.
    pub(crate) fn close(&self, cookie: &str) {
        self.lock().remove(&hash(cookie));
    }

    /// Checks that not too many logins from this address have failed lately.
    ///
    /// # Errors
    ///
    /// How long to wait.
    pub(crate) fn may_log_in(&self, from: IpAddr) -> Result<(), Duration> {
        let failures = self.failures();
        [network(from), OTHERS].iter().filter_map(|source| failures.get(source)).try_for_each(Rate::check)
    }

    /// Counts a failed login.
    pub(crate) fn has_failed(&self, from: IpAddr) {
        let mut failures = self.failures();
        if failures.len() >= ADDRESSES_MAX {
            // Those that may fail as often as others are forgotten.
            failures.retain(|_, rate| rate.room(BURST) != Ok(BURST));
        }
        let source = if failures.len() < ADDRESSES_MAX { network(from) } else { OTHERS };
        failures.entry(source).or_insert_with(limit).charge(1);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CookieHash, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Rate>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn limit() -> Rate {
    Rate::with_burst(1, Duration::from_secs(BURST.into()))
}

/// A random text that nobody guesses: 256 bits.
pub(crate) fn random() -> Result<String, NoEntropy> {
    entropy::draw::<32>().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}

fn hash(cookie: &str) -> CookieHash {
    digest(&SHA256, cookie.as_bytes()).as_ref().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[tokio::test(start_paused = true)]
    async fn who_fails_too_often_waits() {
        let sessions = Sessions::default();
        let (bad, good) = (ip("192.0.2.1"), ip("192.0.2.2"));
        for _ in 0..BURST {
            assert!(sessions.may_log_in(bad).is_ok());
            sessions.has_failed(bad);
        }
        assert!(sessions.may_log_in(bad).is_err() && sessions.may_log_in(good).is_ok());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(sessions.may_log_in(bad).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn many_addresses_share_one_count() {
        let sessions = Sessions::default();
        for address in 0..2 * u32::try_from(ADDRESSES_MAX).expect("small") {
            sessions.has_failed(Ipv4Addr::from_bits(address + 1).into());
        }
        assert!(sessions.failures().len() <= ADDRESSES_MAX + 1);
        assert!(sessions.may_log_in(ip("192.0.2.1")).is_err(), "who was not seen before waits, too");
        tokio::time::advance(Duration::from_hours(1)).await;
        sessions.has_failed(ip("192.0.2.1"));
        assert_eq!(sessions.failures().len(), 1);
        assert!(sessions.may_log_in(ip("192.0.2.2")).is_ok());
    }
}
