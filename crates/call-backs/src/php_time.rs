//! Times and fields of jobs of php-delayqueue, which its producers and the receivers of its calls see.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use adjourn_types::Millis;

/// The field for the number of failed attempts.
pub const FAILED_FIELD: &str = "exp_notify_nums";
/// The field that a retry renews: when the job is due.
pub const TIME_FIELD: &str = "notify_time";
/// The format of PHP's `date` and `strtotime`.
pub const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// A time as the clocks of this zone show it.
pub fn text(time: Millis, zone: &TimeZone) -> String {
    let time = i64::try_from(time.0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.unwrap_or(Timestamp::MAX).to_zoned(zone.clone()).strftime(TIME_FORMAT).to_string()
}
