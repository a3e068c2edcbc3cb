//! A time zone, as periods: between two changes of its clocks the offset from UTC is constant.
//!
//! An *instant* here is a second of Unix time. A *local time* is what the clocks show, as a number: the second of Unix time at which
//! clocks in UTC show the same.

use adjourn_types::Millis;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// No clock is further from UTC than this, in seconds.
pub(crate) const OFFSET_SECONDS_MAX: i64 = 26 * 3600;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// Instants with one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    /// The instant of the next change.
    pub(crate) end: i64,
    /// Local time minus Unix time, in seconds.
    pub(crate) offset: i64,
}

impl Zone {
    /// Coordinated Universal Time, whose clocks are never changed.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    pub(crate) fn new(rules: TimeZone) -> Self {
        Self(rules)
    }

    /// Its IANA name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Date, time, offset and abbreviation at an instant; the last instant of year 9999 for later ones.
    pub fn local_text(&self, at: Millis) -> String {
        let at = i64::try_from(at.0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
        let local = at.unwrap_or(Timestamp::MAX).to_zoned(self.0.clone());
        local.strftime("%Y-%m-%d %H:%M:%S%.f %:z %Z").to_string()
    }

    /// The rest of the period that holds an instant.
    pub(crate) fn period(&self, at: i64) -> Period {
        let at = timestamp(at);
        let end = self.0.following(at).next().map_or(i64::MAX, |change| change.timestamp().as_second());
        Period { end, offset: i64::from(self.0.to_offset(at).seconds()) }
    }

    /// The latest time that the clocks have shown, at an instant or before. Later than their time if they were set back lately.
    pub(crate) fn latest_local(&self, at: i64) -> i64 {
        let mut period = self.period(at - 2 * OFFSET_SECONDS_MAX);
        let mut latest = i64::MIN;
        while period.end <= at {
            latest = latest.max(period.end - 1 + period.offset);
            period = self.period(period.end);
        }
        latest.max(at + period.offset)
    }

    /// The instant at which the clocks first show a local time or a later one.
    pub(crate) fn reaches(&self, local: i64) -> i64 {
        let mut at = local - OFFSET_SECONDS_MAX;
        let mut period = self.period(at);
        while period.end <= local - period.offset {
            at = period.end;
            period = self.period(at);
        }
        at.max(local - period.offset)
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::utc()
    }
}

fn timestamp(second: i64) -> Timestamp {
    let nearest = if second < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(second).unwrap_or(nearest)
}
