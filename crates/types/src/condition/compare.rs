//! How a condition compares two values: by its own rules, or as PHP 7 does.
//!
//! PHP's `==` converts: `null`, `false`, `0` and an empty text are equal, and a text that is no number equals 0. The code
//! follows PHP 5 and 7, which php-delayqueue needs; PHP 8 compares a number with a text that is no number as two texts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Value;

/// The rules of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Values of different kinds differ, except a number and a text that spells a number.
    Plain,
    /// Those of PHP 5 and 7.
    Php,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// A number as PHP reads it from a text.
struct Scanned {
    value: Value<'static>,
    /// Its length in bytes, with leading space.
    end: usize,
    /// Set for a whole number that is too large: its sign.
    overflow: Option<Ordering>,
}

impl Relation {
    pub(super) fn holds(self, rules: Rules, left: &Value<'_>, right: &Value<'_>) -> bool {
        let order = |left, right| match rules {
            Rules::Plain => plain(left, right),
            Rules::Php => Some(php(left, right)),
        };
        match self {
            Self::Equal => order(left, right) == Some(Ordering::Equal),
            Self::Unequal => order(left, right) != Some(Ordering::Equal),
            Self::Less => order(left, right) == Some(Ordering::Less),
            Self::LessOrEqual => order(left, right).is_some_and(Ordering::is_le),
            // PHP swaps the two sides, which matters for lists that have no order.
            Self::More => order(right, left) == Some(Ordering::Less),
            Self::MoreOrEqual => order(right, left).is_some_and(Ordering::is_le),
        }
    }
}

/// Compares two values; `None` if they differ and have no order.
fn plain(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Truth(left), Value::Truth(right)) => (left == right).then_some(Ordering::Equal),
        (Value::Whole(left), Value::Whole(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Items(left), Value::Items(right)) => (left == right).then_some(Ordering::Equal),
        _ => plain_number(left)?.partial_cmp(&plain_number(right)?),
    }
}

fn plain_number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(float(*number)),
        Value::Number(number) => Some(*number),
        Value::Text(text) => text.trim().parse().ok(),
        Value::Null | Value::Truth(_) | Value::Items(_) => None,
    }
}

/// Compares as PHP's `<=>`.
fn php(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => texts(left, right),
        (Value::Items(left), Value::Items(right)) => items(left, right),
        (Value::Null, Value::Text(text)) => false.cmp(&!text.is_empty()),
        (Value::Text(text), Value::Null) => (!text.is_empty()).cmp(&false),
        (Value::Null | Value::Truth(_), _) | (_, Value::Null | Value::Truth(_)) => {
            is_true(left).cmp(&is_true(right))
        }
        (Value::Items(_), _) => Ordering::Greater,
        (_, Value::Items(_)) => Ordering::Less,
        _ => numbers(&number(left), &number(right)),
    }
}

fn is_true(value: &Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Truth(is_true) => *is_true,
        Value::Whole(number) => *number != 0,
        Value::Number(number) => *number != 0.0,
        Value::Text(text) => !["", "0"].contains(&&**text),
        Value::Items(items) => !items.is_empty(),
    }
}

/// The number that a value stands for. A text stands for the number that it begins with, or 0.
fn number(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Number(number) => Value::Number(*number),
        Value::Whole(number) => Value::Whole(*number),
        Value::Text(text) => scan(text).map_or(Value::Whole(0), |scanned| scanned.value),
        Value::Null | Value::Truth(_) | Value::Items(_) => Value::Whole(is_true(value).into()),
    }
}

fn numbers(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    let wide = |value: &Value<'_>| match value {
        Value::Number(number) => *number,
        Value::Whole(number) => float(*number),
        _ => 0.0,
    };
    match (left, right) {
        (Value::Whole(left), Value::Whole(right)) => left.cmp(right),
        _ => wide(left).partial_cmp(&wide(right)).unwrap_or(Ordering::Equal),
    }
}

/// Two texts that both are numbers are compared as numbers, unless that would be inexact.
fn texts(left: &str, right: &str) -> Ordering {
    let whole = |text: &str| scan(text).filter(|scanned| scanned.end == text.len());
    let (Some(one), Some(other)) = (whole(left), whole(right)) else { return left.cmp(right) };
    let is_same_side = one.overflow.is_some() && one.overflow == other.overflow;
    let is_infinite =
        |scanned: &Scanned| matches!(scanned.value, Value::Number(number) if number.is_infinite());
    let order = match (&one.value, one.overflow, &other.value, other.overflow) {
        (Value::Whole(_), _, _, Some(sign)) => sign.reverse(),
        (_, Some(sign), Value::Whole(_), _) => sign,
        (one, _, other, _) => numbers(one, other),
    };
    if order.is_eq() && (is_same_side || is_infinite(&one)) { left.cmp(right) } else { order }
}

/// Lists and objects: first by length, then value by value. Two with different keys have no order: PHP calls the left one
/// greater.
fn items(left: &[(String, Value<'_>)], right: &[(String, Value<'_>)]) -> Ordering {
    let by_key: BTreeMap<&str, &Value<'_>> = right.iter().map(|(key, value)| (&**key, value)).collect();
    let values = left.iter().map(|(key, value)| match by_key.get(&**key) {
        Some(other) => php(value, other),
        None => Ordering::Greater,
    });
    left.len().cmp(&right.len()).then_with(|| values.fold(Ordering::Equal, Ordering::then))
}

/// The number with which a text begins, after space.
fn scan(text: &str) -> Option<Scanned> {
    let begin = text.len() - text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']).len();
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is_at = |at: usize, of: &[u8]| bytes.get(at).is_some_and(|byte| of.contains(byte));
    let whole_from = begin + usize::from(is_at(begin, b"+-"));
    let mut end = whole_from + digits(whole_from);
    let mut is_whole = true;
    let has_whole = end > whole_from;
    if is_at(end, b".") && (has_whole || digits(end + 1) > 0) {
        is_whole = false;
        end += 1 + digits(end + 1);
    }
    if end == whole_from {
        return None;
    }
    if is_at(end, b"eE") {
        let from = end + 1 + usize::from(is_at(end + 1, b"+-"));
        if digits(from) > 0 {
            is_whole = false;
            end = from + digits(from);
        }
    }
    let spelled = text.get(begin..end)?;
    let (value, overflow) = match spelled.parse() {
        Ok(number) if is_whole => (Value::Whole(number), None),
        _ => {
            let sign = if spelled.starts_with('-') { Ordering::Less } else { Ordering::Greater };
            (Value::Number(spelled.parse().ok()?), is_whole.then_some(sign))
        }
    };
    Some(Scanned { value, end, overflow })
}

#[expect(clippy::cast_precision_loss, reason = "PHP rounds, too")]
fn float(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn php_of(left: &str, right: &str) -> Ordering {
        php(&Value::Text(left.into()), &Value::Text(right.into()))
    }

    #[test]
    fn texts_that_are_numbers_are_compared_as_numbers() {
        for (left, right) in
            [("1e3", "1000"), (" 1", "1"), ("0x1A", "0x1A"), ("1.", "+1.0"), (".5", "0.50"), ("-0", "0")]
        {
            assert_eq!(php_of(left, right), Ordering::Equal, "{left} {right}");
        }
        for (left, right) in [("1 ", "1"), ("0x1A", "26"), ("abc", "ABC"), ("", "0"), (".", "0"), ("1e", "1")]
        {
            assert_ne!(php_of(left, right), Ordering::Equal, "{left} {right}");
        }
        assert_eq!(php_of("10", "9"), Ordering::Greater);
        assert_eq!(php_of("10", "9a"), Ordering::Less);
    }

    #[test]
    fn large_numbers_stay_exact() {
        assert_eq!(php_of("9223372036854775808", "9223372036854775809"), Ordering::Less);
        assert_eq!(php_of("-9223372036854775808", "-9223372036854775809"), Ordering::Greater);
        assert_eq!(php_of("9223372036854775807", "9223372036854775808"), Ordering::Less);
        let wholes = |one, other| php(&Value::Whole(one), &Value::Whole(other));
        assert_eq!(wholes(9_007_199_254_740_993, 9_007_199_254_740_992), Ordering::Greater);
        assert_eq!(php_of("1e999", "2e999"), Ordering::Less, "two texts");
    }

    #[test]
    fn a_list_is_greater_than_any_number_or_text() {
        let list = |values: &[i64]| {
            let items = (0..).zip(values);
            Value::Items(
                items.map(|(place, value): (usize, _)| (place.to_string(), Value::Whole(*value))).collect(),
            )
        };
        let holds =
            |relation: Relation, left: &Value<'_>, right: &Value<'_>| relation.holds(Rules::Php, left, right);
        assert!(holds(Relation::More, &list(&[]), &Value::Text("z".into())));
        assert!(holds(Relation::Less, &Value::Whole(7), &list(&[])));
        assert!(holds(Relation::Equal, &list(&[]), &Value::Null));
        assert!(holds(Relation::Equal, &list(&[0]), &Value::Truth(true)));
        assert!(holds(Relation::Less, &list(&[9]), &list(&[1, 2])));
        assert!(holds(Relation::More, &list(&[2]), &list(&[1])));
        let named = Value::Items(vec![("a".to_owned(), Value::Whole(2))]);
        assert!(!holds(Relation::Less, &named, &list(&[2])) && !holds(Relation::More, &named, &list(&[2])));
    }
}
