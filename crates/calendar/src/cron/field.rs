//! One field of a cron expression: numbers, names, ranges, steps and lists of them.

use std::fmt;

use super::error::CronError;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A field of a cron expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// 0 to 59.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// Of the month: 1 to 31.
    Day,
    /// 1 to 12.
    Month,
    /// 0 to 7: both 0 and 7 are Sunday.
    Weekday,
}

/// The values of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    /// One bit for each value.
    pub(super) mask: u64,
    /// True if an item is `*`, or a step over it.
    pub(super) has_wildcard: bool,
}

impl Field {
    pub(super) fn min(self) -> u32 {
        u32::from(matches!(self, Self::Day | Self::Month))
    }

    pub(super) fn max(self) -> u32 {
        match self {
            Self::Second | Self::Minute => 59,
            Self::Hour => 23,
            Self::Day => 31,
            Self::Month => 12,
            Self::Weekday => 7,
        }
    }

    /// What may stand in it.
    pub(super) fn values(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => {
                "0 to 59, a range such as 10-20, a step such as */5, or a list of these"
            }
            Self::Hour => "0 to 23, a range such as 9-17, a step such as */4, or a list of these",
            Self::Day => {
                "1 to 31, a range such as 1-7, a step such as */2, L for the last day, 15W for the weekday nearest to the 15th, \
                 LW for the last weekday, or a list of these"
            }
            Self::Month => "1 to 12, JAN to DEC, a range such as 4-9, a step such as */3, or a list of these",
            Self::Weekday => {
                "0 to 7 (0 and 7 are Sunday), SUN to SAT, a range such as 1-5, MON#2 for the second Monday, FRIL for the last \
                 Friday, or a list of these"
            }
        }
    }

    /// A number, or a name.
    pub(super) fn value(self, text: &str) -> Option<u32> {
        let named = match self {
            Self::Month => MONTHS.iter().zip(1..).find(|(name, _)| **name == text),
            Self::Weekday => WEEKDAYS.iter().zip(0..).find(|(name, _)| **name == text),
            Self::Second | Self::Minute | Self::Hour | Self::Day => None,
        };
        let value = named.map(|(_, value)| value).or_else(|| number(text))?;
        (self.min()..=self.max()).contains(&value).then_some(value)
    }

    pub(super) fn error(self, item: &str) -> CronError {
        CronError::Value { field: self, item: item.to_owned() }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Weekday => "weekday",
        })
    }
}

impl Values {
    pub(super) fn parse(field: Field, text: &str) -> Result<Self, CronError> {
        let mut values = Self::default();
        for item in text.split(',') {
            values.add(field, item)?;
        }
        Ok(values)
    }

    /// Adds one item: `*`, `7`, `1-5`, `*/2` or `1-9/2`.
    pub(super) fn add(&mut self, field: Field, item: &str) -> Result<(), CronError> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (from, to) = range_of(field, range, item)?;
        let step = step.map(|step| step_of(field, step, item)).transpose()?;
        let is_range = range == "*" || range.contains('-');
        if let (Some(step), false) = (step, is_range) {
            return Err(CronError::StepWithoutRange { field, item: item.to_owned(), from, step });
        }
        self.has_wildcard |= range == "*";
        for value in (from..=to).step_by(step.unwrap_or(1) as usize) {
            self.mask |= 1 << value;
        }
        Ok(())
    }
}

/// The first and the last value of `*`, `7` or `1-5`.
fn range_of(field: Field, range: &str, item: &str) -> Result<(u32, u32), CronError> {
    if range == "*" {
        // Of weekdays, 7 is another 0.
        return Ok((field.min(), field.max() - u32::from(field == Field::Weekday)));
    }
    let value = |text: &str| field.value(text).ok_or_else(|| field.error(item));
    let Some((from, to)) = range.split_once('-') else {
        let only = value(range)?;
        return Ok((only, only));
    };
    let (from, mut to) = (value(from)?, value(to)?);
    if field == Field::Weekday && to == 0 && from > 0 {
        to = 7; // `FRI-SUN`
    }
    if from > to {
        return Err(CronError::RangeReversed { field, item: item.to_owned(), from, to });
    }
    Ok((from, to))
}

fn step_of(field: Field, step: &str, item: &str) -> Result<u32, CronError> {
    let step = number(step).filter(|step| (1..=field.max()).contains(step));
    step.ok_or_else(|| CronError::Step { field, item: item.to_owned() })
}

/// Digits alone: no sign.
pub(super) fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}
