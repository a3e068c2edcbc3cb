//! The settings of a schedule as text, each as an option of `adjourn schedule set` takes it: to show them, and to compare two schedules.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;

use super::choices::{DstArg, MissedArg, OverlapArg, word};
use crate::output::plain_line;
use adjourn_json::values::{backoff_text, spelled, time_text};
use adjourn_protocol::JobTemplate;
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{Attributes, Key, ScheduleRules, When, tag};

/// A longer value is cut where it is shown to people.
const CHARS_MAX: usize = 60;

/// A setting and its value.
pub(super) type Setting = (Cow<'static, str>, String);

/// What is set, in the order of the options: without the body, and without what is not set.
pub(super) fn settings(rules: &ScheduleRules, template: &JobTemplate) -> Vec<Setting> {
    let given = times(rules).into_iter().chain(late(rules)).chain(jobs(rules, template));
    let named = given.filter_map(|(name, value)| Some((name.into(), value?)));
    named.chain(headers(&template.attributes)).chain(unknown(&template.attributes)).collect()
}

/// An option, and its value if it is set.
type Given = (&'static str, Option<String>);

fn times(rules: &ScheduleRules) -> [Given; 8] {
    let zone = if rules.zone.is_empty() { "UTC" } else { &rules.zone };
    [
        ("when", Some(rules.when.clone())),
        ("zone", Some(zone.to_owned())),
        ("dst", Some(word::<DstArg, _>(&rules.dst))),
        ("from", rules.origin.map(time_text)),
        ("start", rules.start.map(time_text)),
        ("end", rules.end.map(time_text)),
        ("count", rules.count.map(|count| count.to_string())),
        ("jitter", duration(rules.jitter_ms.into())),
    ]
}

fn late(rules: &ScheduleRules) -> [Given; 5] {
    let failures = (rules.failures_max > 0).then_some(rules.failures_max);
    [
        ("missed", Some(word::<MissedArg, _>(&rules.missed))),
        ("missed-window", rules.window_ms.and_then(|window_ms| duration(window_ms.get()))),
        ("missed-max", rules.missed_max.map(|max| max.to_string())),
        ("overlap", Some(word::<OverlapArg, _>(&rules.overlap))),
        ("pause-after-failures", failures.map(|failures| failures.to_string())),
    ]
}

fn jobs(rules: &ScheduleRules, template: &JobTemplate) -> [Given; 9] {
    let JobTemplate { priority, ttr_ms, attributes, .. } = template;
    let policy = attributes.policy();
    let priority = (*priority != PRIORITY_UNSAID).then_some(priority);
    [
        ("note", Some(rules.note.clone()).filter(|note| !note.is_empty())),
        ("key", rules.key.as_ref().map(|key| Key::as_str(key).to_owned())),
        ("ttr", duration((*ttr_ms).into())),
        ("priority", priority.map(u32::to_string)),
        ("expires-after", policy.expires.map(expiry)),
        ("remember", duration(Attributes::dedupe_retention_of(attributes.as_bytes()))),
        ("attempts-max", policy.attempts_max.map(|attempts| attempts.to_string())),
        ("backoff", policy.backoff.as_ref().map(backoff_text)),
        ("group", Attributes::group_of(attributes.as_bytes()).map(str::to_owned)),
    ]
}

/// When a job expires: other clients may also give a time.
fn expiry(expires: When) -> String {
    match expires {
        When::After(delay_ms) => spelled(delay_ms),
        When::At(at) => time_text(at),
    }
}

/// A duration, unless it is 0, which stands for none.
fn duration(ms: u64) -> Option<String> {
    (ms > 0).then(|| spelled(ms))
}

/// Each header by its name, in the order of the names; the values of a repeated one stay in their order.
fn headers(attributes: &Attributes) -> Vec<Setting> {
    let mut headers: Vec<(&str, &str)> = attributes.headers().collect();
    headers.sort_by_key(|(name, _)| *name);
    let settings =
        headers.into_iter().map(|(name, value)| (format!("header {name}").into(), value.to_owned()));
    settings.collect()
}

/// Attributes for which there is no option: another client may have set them.
fn unknown(attributes: &Attributes) -> Vec<Setting> {
    const KNOWN: [u16; 6] =
        [tag::HEADER, tag::EXPIRES, tag::ATTEMPTS_MAX, tag::BACKOFF, tag::DEDUPE_RETENTION, tag::GROUP];
    let unknown = attributes.iter().filter(|(found, _)| !KNOWN.contains(found));
    unknown.map(|(found, value)| (format!("attribute {found:#06x}").into(), hex(value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A text takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A body on one line.
pub(super) fn body_text(body: &Bytes) -> String {
    match std::str::from_utf8(body) {
        Ok("") => "-".to_owned(),
        Ok(text) => shortened(text),
        Err(_) => format!("{} bytes that are no text", body.len()),
    }
}

/// The beginning of a text, on one line.
pub(super) fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let begin: String = chars.by_ref().take(CHARS_MAX).collect();
    let dots = if chars.next().is_some() { "..." } else { "" };
    plain_line(&begin) + dots
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{AttributesBuilder, Millis};

    #[test]
    fn settings_stand_as_options_take_them() {
        let rules = ScheduleRules {
            when: "@every 90s".to_owned(),
            origin: Some(Millis(0)),
            jitter_ms: 90_000,
            ..ScheduleRules::default()
        };
        let builder = AttributesBuilder::default().header("b", "1").header("a", "2").header("b", "0");
        let attributes = builder.group("ann").raw(900, b"ann".to_vec()).build().expect("valid");
        let template = JobTemplate { priority: PRIORITY_UNSAID, attributes, ..JobTemplate::default() };
        let found = settings(&rules, &template);
        let found: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "when=@every 90s",
            "zone=UTC",
            "dst=vixie",
            "from=1970-01-01T00:00:00.000Z",
            "jitter=1m 30s",
            "missed=last",
            "overlap=skip",
            "group=ann",
            "header a=2",
            "header b=1",
            "header b=0",
            "attribute 0x0384=616e6e",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_body_is_shown_on_one_line() {
        assert_eq!(body_text(&Bytes::new()), "-");
        assert_eq!(body_text(&"two\nlines".into()), "two\\u000alines");
        assert_eq!(body_text(&"x".repeat(61).into()), "x".repeat(60) + "...");
        assert_eq!(body_text(&Bytes::from_static(b"\xff\x00")), "2 bytes that are no text");
    }
}
