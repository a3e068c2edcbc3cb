//! Durations as people write them: numbers with units, such as `90s` or `1h 30m`.

/// Why a text is not a duration. Each message states the expected form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DurationError {
    /// Not numbers with units.
    #[error("expected a number and a unit, for example 1500ms, 60s, 10m or 3d ({0})")]
    Form(#[from] humantime::DurationError),
    /// `M`, which is a month in one program and a minute in another.
    #[error("M might be minutes or months: write 15m for minutes, 30d for a month")]
    Month,
    /// The next flag of a command line.
    #[error("expected a duration before the next flag")]
    Missing,
    /// A duration with a minus.
    #[error("expected a duration that is not negative, for example 60s or 10m")]
    Negative,
}

/// A duration in milliseconds, rounded up so that nothing is ever early.
pub fn duration_ms(text: &str) -> Result<u64, DurationError> {
    if text.starts_with("--") {
        return Err(DurationError::Missing);
    }
    if text.starts_with('-') {
        return Err(DurationError::Negative);
    }
    if text.split(|unit: char| !unit.is_ascii_alphabetic()).any(|unit| unit == "M") {
        return Err(DurationError::Month);
    }
    let nanos = humantime::parse_duration(text)?.as_nanos();
    Ok(u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_round_up() {
        for (text, expected) in [("1500ms", 1500), ("1h 30m", 5_400_000), ("3d", 259_200_000), ("1us", 1)] {
            assert_eq!(duration_ms(text), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("90", "for example 1500ms"),
            ("1h 15M", "15m for minutes"),
            ("-1s", "negative"),
            ("--x", "flag"),
        ] {
            let refused = duration_ms(text).expect_err(text).to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
