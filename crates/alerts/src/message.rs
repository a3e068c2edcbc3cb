//! Messages: one text for people, and the same as JSON for programs.

use std::fmt::Write as _;

use bytes::Bytes;
use serde::Serialize;
use url::Host;

use super::watch::{Finding, Told};
use adjourn_json::values::{inside_quotes, spelled, time_text};
use adjourn_server::entropy;
use adjourn_types::Millis;

/// Most subjects that one message names; of further ones it has the number.
const NAMED_MAX: usize = 20;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Unique, and the same whenever this message is sent again: a receiver can tell that it has it already.
    id: u128,
    rule: String,
    state: &'static str,
    text: String,
    json: Bytes,
}

#[derive(Serialize)]
struct MessageJson<'a> {
    /// The rule's name.
    rule: &'a str,
    /// `firing`, `recovered` or `test`.
    state: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u64>,
    at: String,
    firing: Vec<FindingJson<'a>>,
    recovered: &'a [String],
}

#[derive(Serialize)]
struct FindingJson<'a> {
    subject: &'a str,
    finding: &'a str,
    lasted_ms: u64,
}

impl Message {
    /// The message of a rule on a node.
    pub(super) fn new(rule: &str, node: u64, server: &str, at: Millis, mut told: Told) -> Self {
        let state = if told.wrong.is_empty() { "recovered" } else { "firing" };
        let mut text = format!("{rule}: {state}\n");
        for Finding { subject, text: finding, lasted_ms } in told.wrong.iter().take(NAMED_MAX) {
            let since = spelled(lasted_ms / 1000 * 1000);
            let _ = writeln!(text, "{subject}: {finding} (for {since})");
        }
        more(&mut text, told.wrong.len());
        for subject in told.recovered.iter().take(NAMED_MAX) {
            let _ = writeln!(text, "{subject}: recovered");
        }
        more(&mut text, told.recovered.len());
        let _ = write!(text, "{server}, node {node}, {}", time_text(at));
        told.wrong.truncate(NAMED_MAX);
        told.recovered.truncate(NAMED_MAX);
        let firing = told.wrong.iter().map(|Finding { subject, text: finding, lasted_ms }| FindingJson {
            subject,
            finding,
            lasted_ms: *lasted_ms,
        });
        let json = MessageJson {
            rule,
            state,
            text: &text,
            server: Some(server),
            node: Some(node),
            at: time_text(at),
            firing: firing.collect(),
            recovered: &told.recovered,
        };
        let json = serde_json::to_vec(&json).unwrap_or_default().into();
        Self { id: fresh_id(at), rule: rule.to_owned(), state, text, json }
    }

    /// A test message.
    pub(super) fn test(at: Millis) -> Self {
        let (rule, state) = ("test", "test");
        let id = fresh_id(at);
        let at = time_text(at);
        let text = format!("A test of Adjourn's alerts, sent by `adjourn alerts test`, {at}");
        let (firing, recovered) = (Vec::new(), &[][..]);
        let json = MessageJson { rule, state, text: &text, server: None, node: None, at, firing, recovered };
        let json = serde_json::to_vec(&json).unwrap_or_default().into();
        Self { id, rule: rule.to_owned(), state, text, json }
    }

    pub(super) fn state(&self) -> &'static str {
        self.state
    }

    /// The subject of a mail, in one line.
    pub(super) fn subject(&self) -> String {
        format!("[adjourn] {}: {}", self.rule, self.state)
    }

    /// The Message-ID of a mail from an address of this domain.
    pub(super) fn mail_id(&self, domain: &str) -> String {
        // An id of a mail is ASCII; the domain only makes it unique.
        let host = Host::parse(domain).map_or_else(|_| domain.to_owned(), |host| host.to_string());
        let domain = if host.is_ascii() { &host } else { "localhost" };
        format!("<{:032x}@{domain}>", self.id)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// As JSON: the template with `{text}`, `{rule}` and `{state}` filled in, or without one all fields.
    pub(super) fn json(&self, template: Option<&str>) -> Bytes {
        let Some(template) = template else { return self.json.clone() };
        let mut filled = String::with_capacity(template.len() + self.text.len());
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            filled.push_str(before);
            let places = [("{text}", self.text.as_str()), ("{rule}", &self.rule), ("{state}", self.state)];
            let found = places.into_iter().find(|(place, _)| from.starts_with(place));
            let (place, value) = found.unwrap_or(("{", "{"));
            filled.push_str(&inside_quotes(value));
            rest = from.get(place.len()..).unwrap_or_default();
        }
        filled.push_str(rest);
        filled.into()
    }
}

/// Random; of a system without random bytes, the time.
fn fresh_id(at: Millis) -> u128 {
    entropy::draw().map_or(at.0.into(), u128::from_be_bytes)
}

fn more(text: &mut String, count: usize) {
    if count > NAMED_MAX {
        let _ = writeln!(text, "and {} more", count - NAMED_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        let wrong =
            Finding { subject: "orders".to_owned(), text: "3 \"buried\" jobs".to_owned(), lasted_ms: 61_500 };
        let told = Told { wrong: vec![wrong], recovered: vec!["mail".to_owned()] };
        Message::new("lost jobs", 2, "shop", Millis(1_700_000_000_000), told)
    }

    #[test]
    fn a_message_is_for_people_and_programs() {
        let message = message();
        assert_eq!(message.subject(), "[adjourn] lost jobs: firing");
        assert_eq!(
            message.text(),
            "lost jobs: firing\norders: 3 \"buried\" jobs (for 1m 1s)\nmail: recovered\nshop, node 2, 2023-11-14T22:13:20.000Z"
        );
        let json: serde_json::Value = serde_json::from_slice(&message.json(None)).expect("JSON");
        assert_eq!(json.pointer("/firing/0/lasted_ms"), Some(&61_500.into()));
        assert_eq!((json.pointer("/recovered/0"), json.get("node")), (Some(&"mail".into()), Some(&2.into())));
    }

    #[test]
    fn each_message_has_an_id_of_its_own_for_mails() {
        let (one, other) = (message(), message());
        let id = one.mail_id("shop.example");
        assert_eq!(one.clone().mail_id("shop.example"), id, "a message that is sent again");
        assert_ne!(other.mail_id("shop.example"), id);
        assert!(id.starts_with('<') && id.ends_with("@shop.example>") && id.len() == 47, "{id}");
        assert!(one.mail_id("bücher.example").is_ascii());
        assert!(one.mail_id("[10.0.0.1]").ends_with("@[10.0.0.1]>"));
    }

    #[test]
    fn a_template_is_filled_in_as_json() {
        let template = r#"{"msgtype":"text","text":{"content":"{state}: {text}"},"x":{}}"#;
        let json: serde_json::Value = serde_json::from_slice(&message().json(Some(template))).expect("JSON");
        let content = json.pointer("/text/content").and_then(|text| text.as_str()).expect("a text");
        assert!(content.starts_with("firing: lost jobs: firing\norders: 3 \"buried\" jobs"), "{content}");
    }

    #[test]
    fn of_many_subjects_the_first_are_named() {
        let wrong =
            (0..30).map(|n| Finding { subject: format!("t{n}"), text: "late".to_owned(), lasted_ms: 0 });
        let told = Told { wrong: wrong.collect(), recovered: Vec::new() };
        let message = Message::new("late", 1, "x", Millis(0), told);
        assert!(message.text().contains("t19: late") && !message.text().contains("t20: late"));
        assert!(message.text().contains("and 10 more"));
    }
}
