//! Why a text is not a cron expression, and what to write instead.

use super::field::Field;

/// Why a text is not a cron expression. An `item` is one of the parts of a field between commas.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Too few fields, or too many.
    #[error(
        "a cron expression has 5 or 6 fields: this one has {0}. Write minute, hour, day, month and weekday, with a second before them if needed"
    )]
    FieldCount(usize),
    /// A value that the field does not have.
    #[error("`{item}` is no {field}: write {}", .field.values())]
    Value {
        /// The field.
        field: Field,
        /// The item.
        item: String,
    },
    /// A range whose end is before its start.
    #[error("the range `{item}` of the {field} goes down: write two ranges, `{from}-{max},{min}-{to}`", min = .field.min(), max = .field.max())]
    RangeReversed {
        /// The field.
        field: Field,
        /// The item.
        item: String,
        /// Its first value.
        from: u32,
        /// Its last value.
        to: u32,
    },
    /// A step that is no number, is 0, or leaves the field at once.
    #[error("`{item}` has a step that is not 1 to {} {field}s: write a smaller one, or an interval such as `@every 90m`", .field.max())]
    Step {
        /// The field.
        field: Field,
        /// The item.
        item: String,
    },
    /// A step from a single value.
    #[error("`{item}` has a step without a range: write `{from}-{}/{step}` for the {field}", .field.max())]
    StepWithoutRange {
        /// The field.
        field: Field,
        /// The item.
        item: String,
        /// The value before the step.
        from: u32,
        /// The step.
        step: u32,
    },
    /// A weekday's number in the month that is not 1 to 5.
    #[error("`{item}` is no weekday of a month: write `MON#1` to `MON#5`, or `MONL` for the last one")]
    WeekdayOfMonth {
        /// The item.
        item: String,
    },
    /// Days and months of which no year has any.
    #[error("this never fires: none of its months has such a day. Write `L` for the last day of a month")]
    NeverFires,
}
