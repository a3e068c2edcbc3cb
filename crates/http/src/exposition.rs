//! The text formats of metrics, and the choice between them: that of [Prometheus](https://prometheus.io/docs/instrumenting/exposition_formats/)
//! and [`OpenMetrics`](https://prometheus.io/docs/specs/om/open_metrics_spec/).

use std::borrow::Cow;
use std::fmt;

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::{Registry, Unit};

/// A text format of metrics. Both name the same series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// That of Prometheus, 0.0.4, which every tool reads.
    Prometheus,
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
}

/// A part of `Accept`.
struct MediaRange<'a> {
    kind: &'a str,
    version: Option<&'a str>,
    weight: f64,
}

impl Format {
    /// `OpenMetrics` if the caller names it, and prefers nothing to it.
    pub(super) fn asked_by(headers: &HeaderMap) -> Self {
        let said = headers.get_all(ACCEPT).iter().filter_map(|said| said.to_str().ok());
        let ranges: Vec<MediaRange<'_>> =
            said.flat_map(|said| said.split(',')).map(MediaRange::read).collect();
        let weight = |kind: &str, version: &str| {
            let ranges = ranges.iter().filter(|range| range.kind.eq_ignore_ascii_case(kind));
            let ranges = ranges.filter(|range| range.version.is_none_or(|said| said == version));
            ranges.map(|range| range.weight).max_by(f64::total_cmp)
        };
        // The most exact one counts.
        let of_text = ["text/plain", "text/*", "*/*"].iter().find_map(|kind| weight(kind, "0.0.4"));
        match weight("application/openmetrics-text", "1.0.0") {
            Some(weight) if weight > 0.0 && weight >= of_text.unwrap_or(0.0) => Self::OpenMetrics,
            _ => Self::Prometheus,
        }
    }

    /// Its content type.
    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        })
    }

    /// All metrics as text.
    pub(super) fn write(self, registry: &Registry) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, registry)?;
        if self == Self::OpenMetrics {
            encode_eof(&mut text)?;
        }
        Ok(text)
    }

    /// The name and the unit of a metric, as its description has them: only `OpenMetrics` describes units.
    pub(super) fn named<'a>(self, name: &'a str, unit: Option<&'a Unit>) -> (Cow<'a, str>, Option<&'a Unit>) {
        match (self, unit) {
            (Self::Prometheus, Some(unit)) => (format!("{name}_{}", unit.as_str()).into(), None),
            _ => (name.into(), unit),
        }
    }
}

impl<'a> MediaRange<'a> {
    /// Without a weight, or with one that is no number, it is 1.
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let (mut version, mut weight) = (None, 1.0);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "version" => version = Some(value.trim().trim_matches('"')),
                "q" => weight = value.trim().parse().unwrap_or(1.0),
                _ => {}
            }
        }
        Self { kind, version, weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(accept: &str) -> Format {
        let accept = (!accept.is_empty()).then(|| (ACCEPT, accept.parse().expect("a value")));
        Format::asked_by(&accept.into_iter().collect())
    }

    #[test]
    fn openmetrics_is_for_those_that_ask_for_it() {
        for accept in [
            "application/openmetrics-text",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "text/plain, application/openmetrics-text",
            "text/plain;q=0.2, */*;q=0.9, Application/OpenMetrics-Text;version=\"1.0.0\";q=0.2",
            // Prometheus 2 and 3.
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
        ] {
            assert_eq!(asked(accept), Format::OpenMetrics, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/plain",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/json",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0.5, text/plain;q=0.6",
            "application/openmetrics-text;q=0.5, */*",
        ] {
            assert_eq!(asked(accept), Format::Prometheus, "{accept}");
        }
    }
}
