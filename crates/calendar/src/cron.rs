//! Cron expressions: five fields, or six with seconds first.
//!
//! An expression matches local times, without a zone. [`Cron::first_at`] finds the next match: the date by the masks of whole months,
//! the time of day by a mask for each field.

mod days;
mod error;
mod field;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;

use days::{DayRule, MonthShape};
use field::Values;

pub use error::CronError;
pub use field::Field;

/// Months that a search looks at: the longest wait is for a certain weekday on 29 February, 40 years when 2100 or its like,
/// which is no leap year, lies in between.
const MONTHS_MAX: usize = 12 * 48;

/// A parsed cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: DayRule,
    months: u64,
    is_fixed: bool,
}

impl Cron {
    /// Parses an expression. Letters may be large or small.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let text = text.to_ascii_uppercase();
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [second, minute, hour, day, month, weekday] = match *fields.as_slice() {
            [minute, hour, day, month, weekday] => ["0", minute, hour, day, month, weekday],
            [second, minute, hour, day, month, weekday] => [second, minute, hour, day, month, weekday],
            _ => return Err(CronError::FieldCount(fields.len())),
        };
        let seconds = Values::parse(Field::Second, second)?;
        let minutes = Values::parse(Field::Minute, minute)?;
        let hours = Values::parse(Field::Hour, hour)?;
        let days = DayRule::parse(day, weekday)?;
        let months = Values::parse(Field::Month, month)?.mask;
        if !(1..=12).any(|month| months >> month & 1 == 1 && days.fires_in_month(month)) {
            return Err(CronError::NeverFires);
        }
        let is_fixed = !minutes.has_wildcard && !hours.has_wildcard;
        Ok(Self { seconds: seconds.mask, minutes: minutes.mask, hours: hours.mask, days, months, is_fixed })
    }

    /// True if neither the hour nor the minute is a wildcard, or a step over one.
    pub(crate) fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The first match at a local time or after it; `None` if there is none in 48 years, or before the end of year 9999.
    pub(crate) fn first_at(&self, local: i64) -> Option<i64> {
        let at = Offset::UTC.to_datetime(Timestamp::from_second(local).ok()?);
        let today = self.date_at(at.date())?;
        if today == at.date()
            && let Some(time) = self.time_at(at.time())
        {
            return second_of(today, time);
        }
        let date = if today > at.date() { today } else { self.date_at(at.date().tomorrow().ok()?)? };
        second_of(date, self.time_at(Time::midnight())?)
    }

    fn date_at(&self, from: Date) -> Option<Date> {
        let mut month = from.first_of_month();
        let mut first_day = from.day();
        for _ in 0..MONTHS_MAX {
            if self.months >> month.month() & 1 == 1 {
                let days = self.days.in_month(MonthShape::of(month)) & (u32::MAX << first_day);
                if days != 0 {
                    return Date::new(month.year(), month.month(), days.trailing_zeros().try_into().ok()?)
                        .ok();
                }
            }
            month = next_month(month)?;
            first_day = 1;
        }
        None
    }

    fn time_at(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = (from.hour(), from.minute(), from.second());
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = value_at(self.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = value_at(self.minutes, minute + 1) {
                return Time::new(hour, minute, value_at(self.seconds, 0)?, 0).ok();
            }
        }
        let hour = value_at(self.hours, hour + 1)?;
        Time::new(hour, value_at(self.minutes, 0)?, value_at(self.seconds, 0)?, 0).ok()
    }
}

/// The smallest value of a mask from `from` on. No field has a value above 59.
fn value_at(mask: u64, from: i8) -> Option<i8> {
    let rest = mask & (u64::MAX << from);
    if rest == 0 { None } else { rest.trailing_zeros().try_into().ok() }
}

fn next_month(first: Date) -> Option<Date> {
    let (year, month) = if first.month() == 12 {
        (first.year().checked_add(1)?, 1)
    } else {
        (first.year(), first.month() + 1)
    };
    Date::new(year, month, 1).ok()
}

fn second_of(date: Date, time: Time) -> Option<i64> {
    Offset::UTC.to_timestamp(date.to_datetime(time)).ok().map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_to_write() {
        for (text, expected) in [
            ("* * * *", "a cron expression has 5 or 6 fields: this one has 4"),
            ("0 0 * * * * 2027", "this one has 7"),
            ("60 * * * *", "`60` is no minute: write 0 to 59"),
            ("* 24 * * *", "`24` is no hour: write 0 to 23"),
            ("* * 0 * *", "`0` is no day: write 1 to 31"),
            ("* * * 13 *", "`13` is no month: write 1 to 12, JAN to DEC"),
            ("* * * * 8", "`8` is no weekday: write 0 to 7"),
            ("61 * * * * *", "`61` is no second"),
            ("0 9 * MON *", "`MON` is no month"),
            ("0 9 1JAN * *", "`1JAN` is no day"),
            ("0 9 * * MONDAY", "`MONDAY` is no weekday"),
            ("0 9 * * SUNMON", "`SUNMON` is no weekday"),
            ("0 9 * * L", "`L` is no weekday"),
            ("0 9 W * *", "`W` is no day"),
            ("0 9 32W * *", "`32W` is no day"),
            ("0 9 1-5W * *", "`1-5W` is no day"),
            ("0 9 * * MON-FRIL", "`MON-FRIL` is no weekday"),
            ("1,,2 * * * *", "`` is no minute"),
            ("+5 * * * *", "`+5` is no minute"),
            ("5- * * * *", "`5-` is no minute"),
            ("1-2-3 * * * *", "`1-2-3` is no minute"),
            ("** * * * *", "`**` is no minute"),
            ("\u{661} * * * *", "is no minute"),
            ("0 22-2 * * *", "the range `22-2` of the hour goes down: write two ranges, `22-23,0-2`"),
            ("0 0 * NOV-FEB *", "`11-12,1-2`"),
            (
                "*/90 * * * *",
                "`*/90` has a step that is not 1 to 59 minutes: write a smaller one, or an interval",
            ),
            ("*/0 * * * *", "has a step that is not 1 to 59 minutes"),
            ("*/ * * * *", "has a step"),
            ("5/10 * * * *", "`5/10` has a step without a range: write `5-59/10` for the minute"),
            ("0 0 * * MON#6", "`MON#6` is no weekday of a month: write `MON#1` to `MON#5`"),
            ("0 0 * * MON#", "`MON#` is no weekday of a month"),
            ("0 0 * * MON#+2", "`MON#+2` is no weekday of a month"),
            ("0 0 * * MON#0", "`MON#0` is no weekday of a month"),
            ("0 0 31 2 *", "this never fires"),
            ("0 0 30W 2 *", "this never fires"),
            ("0 0 31 4,6,9,11 *", "this never fires"),
        ] {
            let refused = Cron::parse(text).expect_err(text).to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    #[test]
    fn texts_may_differ_and_mean_the_same() {
        for (one, other) in [
            ("0 9 * * 1-5", "0 0 9 * * mon-fri"),
            ("0 9 * * 7", "0 9 * * sun"),
            ("0 9 * * fri-sun", "0 9 * * 5,6,0"),
            ("0 9 ? * 1", "0 9 * * 1"),
            ("0 9 lw * ?", "0 9 LW * *"),
        ] {
            let [one, other] = [one, other].map(|text| Cron::parse(text).expect(text));
            assert_eq!(one, other);
        }
    }

    #[test]
    fn a_pattern_is_small() {
        assert!(size_of::<Cron>() <= 64, "a million schedules may be parsed at once");
    }
}
