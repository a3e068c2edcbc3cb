//! The end of a certificate: warnings before it, and what a reload does after it.
//!
//! A server starts even with an expired certificate. Clients and other nodes refuse the certificate themselves, so refusing
//! to start would make nothing safer: it would stop a member whose vote the cluster may need, and a machine whose clock is
//! wrong after a power cut could not start at all. But an expired certificate does not replace one that is still valid.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::time::{Instant, interval_at};
use tracing::warn;

use super::TlsError;
use super::der::Certificate;
use super::fresh::Fresh;

const DAY_SECONDS: u64 = 86_400;
/// A certificate that ends within this time needs a new one.
const SOON_DAYS: u64 = 14;
/// A warning is repeated after this time.
const REMIND_EVERY: Duration = Duration::from_secs(DAY_SECONDS);

/// The end of the certificate in a file. Those of the CAs behind it in the chain do not count: the other side may know a
/// newer one, or need none.
#[derive(Clone, Debug)]
pub(super) struct Expiry {
    path: PathBuf,
    at: Option<UnixTime>,
}

/// What an operator should know about the end of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It is over for this number of whole days.
    Expired { days: u64 },
    /// It comes in this number of whole days.
    Soon { days: u64 },
}

impl Expiry {
    pub(super) fn of(path: &Path, chain: &[CertificateDer<'_>]) -> Self {
        let certificate = chain.first().and_then(|der| Certificate::read(der));
        Self { path: path.to_owned(), at: certificate.map(|certificate| certificate.until) }
    }

    /// The last second in which the certificate is valid; `None` if it does not say it.
    pub(super) fn at(&self) -> Option<UnixTime> {
        self.at
    }

    /// Warns about this certificate, which was just read.
    ///
    /// # Errors
    ///
    /// If it has expired, and the one from before has not.
    pub(super) fn accept(&self, before: Option<&Self>, now: UnixTime) -> Result<(), TlsError> {
        let has_expired = |expiry: &Self| matches!(expiry.ending(now), Some(Ending::Expired { .. }));
        if has_expired(self) && before.is_some_and(|before| !has_expired(before)) {
            return Err(TlsError::Expired(self.path.clone()));
        }
        self.warn(now);
        Ok(())
    }

    /// Logs a warning if it has expired, or ends soon.
    fn warn(&self, now: UnixTime) {
        let path = self.path.display();
        match self.ending(now) {
            Some(Ending::Expired { days }) => warn!(
                %path, days,
                "the certificate has expired: clients and nodes refuse it. Renew it; no restart is needed"
            ),
            Some(Ending::Soon { days }) => {
                warn!(%path, days, "the certificate ends soon: renew it; no restart is needed");
            }
            None => {}
        }
    }

    fn ending(&self, now: UnixTime) -> Option<Ending> {
        let (end, now) = (self.at?.as_secs(), now.as_secs());
        if end < now {
            return Some(Ending::Expired { days: (now - end) / DAY_SECONDS });
        }
        let days = (end - now) / DAY_SECONDS;
        (days < SOON_DAYS).then_some(Ending::Soon { days })
    }
}

/// Repeats the warning every day, until the value is dropped. Reads the files before, if they have changed.
pub(super) fn remind<T: Send + Sync + 'static>(
    fresh: &Arc<Fresh<T>>,
    expiry: impl Fn(&T) -> &Expiry + Send + Sync + 'static,
) {
    let fresh = Arc::downgrade(fresh);
    tokio::spawn(async move {
        let mut times = interval_at(Instant::now() + REMIND_EVERY, REMIND_EVERY);
        loop {
            times.tick().await;
            let Some(fresh) = fresh.upgrade() else { return };
            let present = fresh.take().await;
            expiry(&present).warn(UnixTime::now());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn ends(seconds: u64) -> Expiry {
        Expiry { path: "server.pem".into(), at: Some(time(seconds)) }
    }

    #[test]
    fn the_last_two_weeks_are_soon() {
        let end = 100 * DAY_SECONDS;
        let ending = |now| ends(end).ending(time(now));
        assert_eq!(ending(end - 14 * DAY_SECONDS), None);
        assert_eq!(ending(end - 14 * DAY_SECONDS + 1), Some(Ending::Soon { days: 13 }));
        assert_eq!(ending(end), Some(Ending::Soon { days: 0 }));
        assert_eq!(ending(end + 1), Some(Ending::Expired { days: 0 }));
        assert_eq!(ending(end + 3 * DAY_SECONDS), Some(Ending::Expired { days: 3 }));
        assert_eq!(Expiry { path: "x".into(), at: None }.ending(time(0)), None);
    }

    #[test]
    fn an_expired_certificate_replaces_no_valid_one() {
        let now = time(1_000);
        let (expired, valid) = (ends(999), ends(1_000));
        assert!(matches!(expired.accept(Some(&valid), now), Err(TlsError::Expired(_))));
        assert!(expired.accept(None, now).is_ok(), "a start");
        assert!(expired.accept(Some(&ends(998)), now).is_ok(), "no other is better");
        assert!(valid.accept(Some(&expired), now).is_ok());
    }
}
