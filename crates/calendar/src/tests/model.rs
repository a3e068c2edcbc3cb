//! Cron expressions as lists of items, written independently of the parser: what they match is asked of jiff, one date at a time.

use std::fmt::{self, Display};

use jiff::civil::{Date, DateTime, Weekday};
use proptest::prelude::*;

const MONTHS: [&str; 12] =
    ["jan", "Feb", "MAR", "apr", "May", "JUN", "jul", "Aug", "SEP", "oct", "Nov", "DEC"];
const WEEKDAYS: [&str; 8] = ["SUN", "mon", "Tue", "WED", "thu", "Fri", "SAT", "7"];

/// An item of a field.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Any,
    EveryNth(i8),
    One(i8),
    Range(i8, i8),
    RangeNth(i8, i8, i8),
    /// `L` of days.
    Last,
    /// `LW`
    LastWeekday,
    /// `15W`
    Nearest(i8),
    /// `5L` of weekdays.
    LastOf(i8),
    /// `5#2`
    Numbered(i8, i8),
    /// `FRI`, `JAN-MAR`
    Name(i8, &'static str),
    Names((i8, &'static str), (i8, &'static str)),
}

#[derive(Clone, Debug)]
pub(super) struct Field(Vec<Item>);

/// An expression. Without seconds it has five fields.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) second: Option<Field>,
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

impl Pattern {
    /// Every day, at some minutes of some hours.
    pub(super) fn daily(minutes: Vec<Item>, hours: Vec<Item>) -> Self {
        let any = || Field(vec![Item::Any]);
        Self {
            second: None,
            minute: Field(minutes),
            hour: Field(hours),
            day: any(),
            month: any(),
            weekday: any(),
        }
    }

    /// At midnight of some days.
    pub(super) fn on(day: Item, weekday: Item) -> Self {
        let [day, weekday] = [day, weekday].map(|item| Field(vec![item]));
        Self { day, weekday, ..Self::daily(vec![Item::One(0)], vec![Item::One(0)]) }
    }

    /// True if it has neither a wildcard minute nor a wildcard hour.
    pub(super) fn is_fixed(&self) -> bool {
        !self.minute.has_wildcard() && !self.hour.has_wildcard()
    }

    pub(super) fn matches(&self, at: DateTime) -> bool {
        self.matches_time(at) && self.matches_date(at.date())
    }

    pub(super) fn matches_time(&self, at: DateTime) -> bool {
        let second = self.second.as_ref().map_or(at.second() == 0, |field| field.has(at.second(), 0));
        second && self.minute.has(at.minute(), 0) && self.hour.has(at.hour(), 0)
    }

    pub(super) fn matches_date(&self, date: Date) -> bool {
        let day = self.day.0.iter().any(|item| is_day(item, date));
        let weekday = self.weekday.0.iter().any(|item| is_weekday(item, date));
        let both = self.day.has_wildcard() || self.weekday.has_wildcard();
        self.month.has(date.month(), 1) && if both { day && weekday } else { day || weekday }
    }
}

fn is_day(item: &Item, date: Date) -> bool {
    let is_working = |date: Date| !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday);
    let in_month = |day: i8| Date::new(date.year(), date.month(), day).ok();
    match *item {
        Item::Last => date == date.last_of_month(),
        Item::LastWeekday => {
            let from_the_end = (1..=date.days_in_month()).rev().filter_map(in_month);
            Some(date) == from_the_end.into_iter().find(|date| is_working(*date))
        }
        Item::Nearest(day) => {
            let by_distance = [day, day - 1, day + 1, day - 2, day + 2].into_iter().filter_map(in_month);
            in_month(day).is_some() && Some(date) == by_distance.into_iter().find(|date| is_working(*date))
        }
        ref plain => plain.has(date.day(), 1),
    }
}

fn is_weekday(item: &Item, date: Date) -> bool {
    let number = date.weekday().to_sunday_zero_offset();
    let is = |nth: i8, weekday: i8| {
        let weekday = Weekday::from_sunday_zero_offset(weekday % 7).expect("a weekday");
        date.nth_weekday_of_month(nth, weekday).is_ok_and(|found| found == date)
    };
    match *item {
        Item::LastOf(weekday) => is(-1, weekday),
        Item::Numbered(weekday, nth) => is(nth, weekday),
        ref plain => plain.has(number, 0) || number == 0 && !plain.is_wildcard() && plain.has(7, 0),
    }
}

impl Item {
    fn is_wildcard(&self) -> bool {
        matches!(self, Self::Any | Self::EveryNth(_))
    }

    fn has(&self, value: i8, min: i8) -> bool {
        match *self {
            Self::Any => true,
            Self::EveryNth(step) => (value - min) % step == 0,
            Self::One(one) | Self::Name(one, _) => value == one,
            Self::Range(from, to) | Self::Names((from, _), (to, _)) => (from..=to).contains(&value),
            Self::RangeNth(from, to, step) => (from..=to).contains(&value) && (value - from) % step == 0,
            _ => false,
        }
    }
}

impl Field {
    fn has_wildcard(&self) -> bool {
        self.0.iter().any(Item::is_wildcard)
    }

    fn has(&self, value: i8, min: i8) -> bool {
        self.0.iter().any(|item| item.has(value, min))
    }
}

impl Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => write!(out, "*"),
            Self::EveryNth(step) => write!(out, "*/{step}"),
            Self::One(one) => write!(out, "{one}"),
            Self::Range(from, to) => write!(out, "{from}-{to}"),
            Self::RangeNth(from, to, step) => write!(out, "{from}-{to}/{step}"),
            Self::Last => write!(out, "L"),
            Self::LastWeekday => write!(out, "LW"),
            Self::Nearest(day) => write!(out, "{day}W"),
            Self::LastOf(weekday) => write!(out, "{weekday}L"),
            Self::Numbered(weekday, nth) => write!(out, "{weekday}#{nth}"),
            Self::Name(_, name) => write!(out, "{name}"),
            Self::Names((_, from), (_, to)) => write!(out, "{from}-{to}"),
        }
    }
}

impl Display for Field {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> = self.0.iter().map(Item::to_string).collect();
        out.write_str(&items.join(","))
    }
}

impl Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(second) = &self.second {
            write!(out, "{second} ")?;
        }
        write!(out, "{} {} {} {} {}", self.minute, self.hour, self.day, self.month, self.weekday)
    }
}

fn plain(min: i8, max: i8) -> impl Strategy<Value = Item> {
    let range = (min..=max, min..=max).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        3 => Just(Item::Any),
        2 => (1..=max).prop_map(Item::EveryNth),
        5 => (min..=max).prop_map(Item::One),
        2 => range.clone().prop_map(|(from, to)| Item::Range(from, to)),
        1 => (range, 1..=max).prop_map(|((from, to), step)| Item::RangeNth(from, to, step)),
    ]
}

fn list(item: impl Strategy<Value = Item>) -> impl Strategy<Value = Field> {
    prop::collection::vec(item, 1..3).prop_map(Field)
}

fn days() -> impl Strategy<Value = Field> {
    list(prop_oneof![
        6 => plain(1, 31),
        1 => Just(Item::Last),
        1 => Just(Item::LastWeekday),
        1 => (1..=31_i8).prop_map(Item::Nearest),
    ])
}

fn named(names: Vec<(i8, &'static str)>) -> impl Strategy<Value = Item> {
    let name = prop::sample::select(names);
    prop_oneof![
        name.clone().prop_map(|(value, name)| Item::Name(value, name)),
        (name.clone(), name).prop_map(|(a, b)| if a.0 <= b.0 {
            Item::Names(a, b)
        } else {
            Item::Names(b, a)
        }),
    ]
}

fn months() -> impl Strategy<Value = Field> {
    list(prop_oneof![3 => plain(1, 12), 1 => named((1..).zip(MONTHS).collect())])
}

fn weekdays() -> impl Strategy<Value = Field> {
    list(prop_oneof![
        4 => plain(0, 7),
        1 => named((0..).zip(WEEKDAYS).collect()),
        1 => (0..=7_i8).prop_map(Item::LastOf),
        1 => (0..=7_i8, 1..=5_i8).prop_map(|(weekday, nth)| Item::Numbered(weekday, nth)),
    ])
}

/// Any expression, with seconds in one of five.
pub(super) fn patterns() -> impl Strategy<Value = Pattern> {
    let second = prop::option::weighted(0.2, list(plain(0, 59)));
    let times = (second, list(plain(0, 59)), list(plain(0, 23)));
    (times, days(), months(), weekdays()).prop_map(|((second, minute, hour), day, month, weekday)| Pattern {
        second,
        minute,
        hour,
        day,
        month,
        weekday,
    })
}
