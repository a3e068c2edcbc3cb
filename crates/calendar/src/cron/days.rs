//! The days on which a cron expression fires, as a mask of the days of a month.
//!
//! They depend on nothing but the number of days of the month and the weekday of its first day.

use jiff::civil::Date;

use super::error::CronError;
use super::field::{Field, Values, number};

/// Every seventh day from the 1st on, as bits 1, 8, 15, 22 and 29.
const EVERY_SEVENTH: u32 = 1 << 1 | 1 << 8 | 1 << 15 | 1 << 22 | 1 << 29;

/// The day and the weekday of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DayRule {
    days: Days,
    weekdays: Weekdays,
    /// A day matches both fields, not only one of them. As in cron(8), one field with a wildcard is enough.
    needs_both: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Days {
    plain: u32,
    /// `15W`: the weekday, Monday to Friday, that is nearest, in the same month.
    nearest: u32,
    /// `L`
    last: bool,
    /// `LW`: the last one of Monday to Friday.
    last_weekday: bool,
}

/// Bit 0 is Sunday.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weekdays {
    plain: u8,
    /// `FRIL`
    last: u8,
    /// `FRI#1` to `FRI#5`
    numbered: [u8; 5],
}

/// What a month's days depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonthShape {
    days: u32,
    /// The weekday of the 1st: 0 is Sunday.
    first_weekday: u32,
}

impl DayRule {
    pub(super) fn parse(day: &str, weekday: &str) -> Result<Self, CronError> {
        // As Quartz writes a field that does not matter.
        let [day, weekday] = [day, weekday].map(|text| if text == "?" { "*" } else { text });
        let (days, any_day) = Days::parse(day)?;
        let (weekdays, any_weekday) = Weekdays::parse(weekday)?;
        Ok(Self { days, weekdays, needs_both: any_day || any_weekday })
    }

    /// The days of a month, one bit for each.
    pub(super) fn in_month(&self, month: MonthShape) -> u32 {
        let (days, weekdays) = (self.days.in_month(month), self.weekdays.in_month(month));
        if self.needs_both { days & weekdays } else { days | weekdays }
    }

    /// True if it fires in some year's month of this number. Every month begins with every weekday in some year.
    pub(super) fn fires_in_month(&self, month: u32) -> bool {
        let lengths = match month {
            2 => 28..=29,
            4 | 6 | 9 | 11 => 30..=30,
            _ => 31..=31,
        };
        let mut shapes =
            lengths.flat_map(|days| (0..7).map(move |first_weekday| MonthShape { days, first_weekday }));
        shapes.any(|shape| self.in_month(shape) != 0)
    }
}

impl Days {
    fn parse(text: &str) -> Result<(Self, bool), CronError> {
        let (mut days, mut values) = (Self::default(), Values::default());
        for item in text.split(',') {
            match item.strip_suffix('W') {
                _ if item == "L" => days.last = true,
                Some("L") => days.last_weekday = true,
                Some(day) => {
                    days.nearest |= 1 << Field::Day.value(day).ok_or_else(|| Field::Day.error(item))?;
                }
                None => values.add(Field::Day, item)?,
            }
        }
        days.plain = u32::try_from(values.mask).unwrap_or_default();
        Ok((days, values.has_wildcard))
    }

    fn in_month(self, month: MonthShape) -> u32 {
        let mut days = self.plain;
        if self.last {
            days |= 1 << month.days;
        }
        if self.last_weekday {
            days |= 1 << month.nearest_weekday(month.days);
        }
        let mut nearest = self.nearest & month.all();
        while nearest != 0 {
            days |= 1 << month.nearest_weekday(nearest.trailing_zeros());
            nearest &= nearest - 1;
        }
        days & month.all()
    }
}

impl Weekdays {
    fn parse(text: &str) -> Result<(Self, bool), CronError> {
        let (mut weekdays, mut values) = (Self::default(), Values::default());
        for item in text.split(',') {
            let weekday = |text: &str| {
                let weekday = Field::Weekday.value(text).ok_or_else(|| Field::Weekday.error(item))?;
                Ok(1 << (weekday % 7))
            };
            if let Some((text, count)) = item.split_once('#') {
                let at = number(count).and_then(|count| usize::try_from(count).ok()?.checked_sub(1));
                let of_number = at.and_then(|at| weekdays.numbered.get_mut(at));
                let of_number =
                    of_number.ok_or_else(|| CronError::WeekdayOfMonth { item: item.to_owned() })?;
                *of_number |= weekday(text)?;
            } else if let Some(text) = item.strip_suffix('L') {
                weekdays.last |= weekday(text)?;
            } else {
                values.add(Field::Weekday, item)?;
            }
        }
        let plain = u8::try_from(values.mask).unwrap_or_default();
        weekdays.plain = plain & 0x7f | plain >> 7;
        Ok((weekdays, values.has_wildcard))
    }

    fn in_month(self, month: MonthShape) -> u32 {
        let mut days = 0;
        for weekday in 0..7 {
            let first = month.first(weekday);
            let of_weekday = EVERY_SEVENTH << (first - 1) & month.all();
            if self.plain >> weekday & 1 == 1 {
                days |= of_weekday;
            }
            if self.last >> weekday & 1 == 1 {
                days |= 1 << of_weekday.ilog2();
            }
            for (number, weekdays) in (0..).zip(self.numbered) {
                if weekdays >> weekday & 1 == 1 {
                    days |= 1_u32.checked_shl(first + 7 * number).unwrap_or_default();
                }
            }
        }
        days & month.all()
    }
}

impl MonthShape {
    pub(super) fn of(first: Date) -> Self {
        Self {
            days: u32::from(first.days_in_month().unsigned_abs()),
            first_weekday: u32::from(first.weekday().to_sunday_zero_offset().unsigned_abs()),
        }
    }

    /// Bits 1 to the number of days.
    fn all(self) -> u32 {
        (u32::MAX << 1) & (u32::MAX >> (31 - self.days))
    }

    /// The first day with a weekday.
    fn first(self, weekday: u32) -> u32 {
        (weekday + 7 - self.first_weekday) % 7 + 1
    }

    /// The day itself, or from a Saturday or Sunday the Friday or Monday beside it; inside the month.
    fn nearest_weekday(self, day: u32) -> u32 {
        match (self.first_weekday + day - 1) % 7 {
            6 if day == 1 => 3,
            6 => day - 1,
            0 if day == self.days => day - 2,
            0 => day + 1,
            _ => day,
        }
    }
}
