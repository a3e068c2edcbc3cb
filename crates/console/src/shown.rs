//! Numbers, spans and times as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::texts::{Language, text};
use adjourn_types::Millis;

/// The units of spans, the largest first, with their lengths in milliseconds.
const UNITS: [(&str, u64); 4] = [
    (text("{0} d"), 86_400_000),
    (text("{0} h"), 3_600_000),
    (text("{0} min"), 60_000),
    (text("{0} s"), 1_000),
];

/// A span of time in milliseconds.
pub(crate) struct Span(pub(crate) u64);

impl Span {
    /// About how long it is, in its largest unit: with one decimal below ten.
    pub(crate) fn text(&self, language: Language) -> String {
        let Some((unit, length)) = UNITS.into_iter().find(|(_, length)| self.0 >= *length) else {
            return language.fill("{0} ms", &[&self.0.to_string()]);
        };
        let (whole, tenth) = (self.0 / length, self.0 % length * 10 / length);
        let amount = if whole < 10 && tenth > 0 { format!("{whole}.{tenth}") } else { number(whole) };
        language.fill(unit, &[&amount])
    }
}

/// A value of this type, which a template may have behind any number of references.
pub(crate) trait Plain<T> {
    fn plain(&self) -> T;
}

impl<T, P: Plain<T>> Plain<T> for &P {
    fn plain(&self) -> T {
        (**self).plain()
    }
}

impl Plain<Millis> for Millis {
    fn plain(&self) -> Millis {
        *self
    }
}

impl Plain<f64> for f64 {
    fn plain(&self) -> f64 {
        *self
    }
}

impl Plain<u64> for u64 {
    fn plain(&self) -> u64 {
        *self
    }
}

impl Plain<u64> for u32 {
    fn plain(&self) -> u64 {
        (*self).into()
    }
}

impl Plain<u64> for usize {
    fn plain(&self) -> u64 {
        *self as u64
    }
}

/// A number with commas.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let first = (digits.len() - 1) % 3 + 1;
    let (mut text, rest) = digits.split_at(first);
    let mut grouped = text.to_owned();
    let mut rest = rest;
    while !rest.is_empty() {
        (text, rest) = rest.split_at(3);
        grouped.push(',');
        grouped.push_str(text);
    }
    grouped
}

/// A size in binary units.
pub(crate) fn size(bytes: u64) -> String {
    const NAMES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut place = 0;
    let mut unit = 1_u64;
    while bytes / unit >= 1024 && place + 1 < NAMES.len() {
        unit *= 1024;
        place += 1;
    }
    let (whole, tenth) = (bytes / unit, u128::from(bytes % unit) * 10 / u128::from(unit));
    let name = NAMES.get(place).copied().unwrap_or_default();
    if place > 0 && whole < 10 {
        format!("{whole}.{tenth} {name}")
    } else {
        format!("{} {name}", number(whole))
    }
}

/// A rate: with decimals while it is small.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second <= 0.0 {
        "0".to_owned()
    } else if per_second < 10.0 {
        format!("{per_second:.2}")
    } else {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is positive, and need not be exact"
        )]
        number(per_second.round() as u64)
    }
}

fn timestamp(at: Millis) -> Timestamp {
    i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX)
}

/// A time for programs.
pub(crate) fn iso(at: Millis) -> String {
    format!("{:.3}", timestamp(at))
}

/// A time for people, in UTC.
pub(crate) fn long_time(at: Millis) -> String {
    timestamp(at).to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S%.3f UTC").to_string()
}

/// Headers as the field of a form takes them: a line for each.
pub(crate) fn header_lines<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    headers.fold(String::new(), |mut lines, (name, value)| {
        lines.extend([name, ": ", value, "\n"]);
        lines
    })
}

/// A name as one part of a path.
pub(crate) fn segment(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        let span = |ms| Span(ms).text(Language::English);
        assert_eq!([span(0), span(999), span(1500), span(61_000)], ["0 ms", "999 ms", "1.5 s", "1 min"]);
        assert_eq!([span(3_600_000 * 36), span(86_400_000 * 4000)], ["1.5 d", "4,000 d"]);
        assert_eq!(
            [number(0), number(999), number(1000), number(12_345_678)],
            ["0", "999", "1,000", "12,345,678"]
        );
        assert_eq!(
            [size(0), size(1023), size(1536), size(5 << 30)],
            ["0 B", "1,023 B", "1.5 KiB", "5.0 GiB"]
        );
        assert_eq!(size(u64::MAX), "16,777,215 TiB");
        assert_eq!([rate(0.0), rate(0.25), rate(1234.5)], ["0", "0.25", "1,235"]);
        assert_eq!(iso(Millis(1_767_225_600_005)), "2026-01-01T00:00:00.005Z");
        assert_eq!(long_time(Millis(1_767_225_600_005)), "2026-01-01 00:00:00.005 UTC");
        assert!(iso(Millis(u64::MAX)).starts_with("9999-12-30"));
    }
}
