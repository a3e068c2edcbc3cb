//! Decides what happens to a job after its call.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::Value as Json;

use super::call_request::Plan;
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{Condition, Millis, Part, Refused, Rules, Success, Value};

/// Most bytes of a reply's body that are read.
pub(super) const REPLY_BYTES_MAX: usize = 16 << 10;

/// The longest pause that a reply may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);
/// The maximum of a reply in a reason, in bytes.
const REPLY_IN_REASON_MAX: usize = 256;

/// What a destination answered.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// The header `Retry-After`, as it was received.
    pub(super) retry_after: Option<String>,
    /// The header `Location`, as it was received.
    pub(super) location: Option<String>,
    /// The part of the body that was read.
    pub(super) body: Bytes,
    /// True if that is the whole body.
    pub(super) is_whole: bool,
}

/// Why there is no reply. Only a call that timed out or broke off may have sent something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The rules of this node forbid the call.
    #[error("{0}")]
    Refused(#[from] super::egress::Refusal),
    /// This node cannot make it now.
    #[error("{0}")]
    NotReady(String),
    #[error("no connection: {0}")]
    Connect(String),
    #[error("no reply: {0}")]
    Broken(String),
    #[error("no reply within {} ms", .0.as_millis())]
    TimedOut(Duration),
}

/// What happens to the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is done.
    Finish,
    /// The receiver finishes it later, under the same lease.
    Keep,
    /// It is tried again: after this time, or when its backoff says.
    Retry {
        after: Option<Duration>,
        reason: String,
    },
    Bury {
        reason: String,
    },
    /// The destination wants no more calls: they are paused.
    Gone {
        reason: String,
    },
    /// Nothing was sent: this counts as no attempt.
    Park {
        pause: Duration,
        reason: String,
    },
}

/// What a call shows about its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Well,
    /// It answered that it cannot handle this job now.
    Failing,
    /// It did not answer, or only a proxy before it did.
    Absent,
    /// Unknown: this node did not call.
    Unknown,
}

/// A forbidden call is tried again after this time: rules and addresses change.
const REFUSED_PAUSE: Duration = Duration::from_mins(1);
const NOT_READY_PAUSE: Duration = Duration::from_secs(10);
/// A call without a connection is tried again after this time, or when the breaker closes.
const NO_CONNECTION_PAUSE: Duration = Duration::from_millis(500);

/// Decides what happens to a job.
pub(super) fn judge(plan: &Plan, called: &Result<Reply, Fault>, now: Millis) -> Verdict {
    let reply = match called {
        Ok(reply) => reply,
        Err(fault) => {
            let reason = bounded(&fault.to_string());
            return match fault {
                Fault::Refused(_) => Verdict::Park { pause: REFUSED_PAUSE, reason },
                Fault::NotReady(_) => Verdict::Park { pause: NOT_READY_PAUSE, reason },
                Fault::Connect(_) => Verdict::Park { pause: NO_CONNECTION_PAUSE, reason },
                Fault::Broken(_) | Fault::TimedOut(_) => Verdict::Retry { after: None, reason },
            };
        }
    };
    let retry = || Verdict::Retry { after: reply.pause(now), reason: reply.reason() };
    if let Some(condition) = &plan.retry_if {
        if !reply.is_whole && condition.reads_reply() {
            let status = reply.status;
            let reason = format!(
                "{status}: the reply is longer than {REPLY_BYTES_MAX} bytes: call-back-retry-if cannot judge it"
            );
            return Verdict::Retry { after: reply.pause(now), reason };
        }
        if reply.meets(condition, plan.success) {
            return retry();
        }
    }
    if plan.success == Success::Reply {
        // As PHP decides.
        return if reply.body.is_empty() || reply.body == "0" { retry() } else { Verdict::Finish };
    }
    match reply.status.as_u16() {
        202 => Verdict::Keep,
        200..=299 => Verdict::Finish,
        410 => Verdict::Gone { reason: reply.reason() },
        408 | 425 | 429 => retry(),
        400..=499 if plan.refused == Refused::Bury => Verdict::Bury { reason: reply.reason() },
        _ => retry(),
    }
}

/// What a call shows about its destination.
pub(super) fn health(called: &Result<Reply, Fault>) -> Health {
    match called {
        Ok(reply) => match reply.status.as_u16() {
            429 | 502..=504 => Health::Absent,
            408 | 500..=599 => Health::Failing,
            _ => Health::Well,
        },
        Err(Fault::Refused(_) | Fault::NotReady(_)) => Health::Unknown,
        Err(_) => Health::Absent,
    }
}

impl Reply {
    /// The pause that the reply asks for.
    pub(super) fn pause(&self, now: Millis) -> Option<Duration> {
        let asked = self.retry_after.as_deref()?.trim();
        let pause = if let Ok(seconds) = asked.parse() {
            Duration::from_secs(seconds)
        } else {
            let at = jiff::fmt::rfc2822::parse(asked).ok()?.timestamp().as_millisecond();
            Duration::from_millis(u64::try_from(at).ok()?.saturating_sub(now.0))
        };
        Some(pause.min(RETRY_AFTER_MAX))
    }

    /// The status and the beginning of the reply, on one line.
    fn reason(&self) -> String {
        let mut reason = self.status.to_string();
        if let Some(location) = self.location.as_ref().filter(|_| self.status.is_redirection()) {
            reason.push_str(" to ");
            reason.push_str(location);
            reason.push_str(", which is not followed");
        }
        let begins = self.body.get(..REPLY_IN_REASON_MAX).unwrap_or(&self.body);
        let said = String::from_utf8_lossy(begins);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if !said.is_empty() {
            reason.push_str(": ");
            reason.push_str(&said);
        }
        bounded(&reason)
    }

    /// True if the condition holds for the reply. Where the reply itself tells success, as in php-delayqueue, a condition
    /// about fields is asked only about an object or a list, and compares as PHP does.
    fn meets(&self, condition: &Condition, success: Success) -> bool {
        let json: Json = serde_json::from_slice(&self.body).unwrap_or_default();
        let rules = match success {
            Success::Status => Rules::Plain,
            Success::Reply if condition.is_about_fields() && !json.is_array() && !json.is_object() => {
                return false;
            }
            Success::Reply => Rules::Php,
        };
        condition.holds(rules, &|part| match part {
            Part::Status => Value::Whole(self.status.as_u16().into()),
            Part::Body => Value::Text(String::from_utf8_lossy(&self.body)),
            Part::Field(names) => field(&json, names, rules),
        })
    }
}

/// The value of a field.
fn field<'a>(json: &'a Json, names: &[String], rules: Rules) -> Value<'a> {
    let Some((name, names)) = names.split_first() else { return value_of(json) };
    let is_index = name == "0" || !name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit());
    let found = match json {
        Json::Array(items) => name.parse().ok().filter(|_| is_index).and_then(|at: usize| items.get(at)),
        Json::Object(fields) => fields.get(name),
        Json::String(text) if rules == Rules::Php => return Value::Text(byte_of(text, name, names)),
        _ => None,
    };
    found.map_or(Value::Null, |found| field(found, names, rules))
}

/// In PHP 7 a field of a text is one of its bytes: the name as a number is its place, counted from the end if it is
/// negative. A name that is no number counts as 0.
fn byte_of(text: &str, name: &str, names: &[String]) -> Cow<'static, str> {
    let digits = name.trim_start().trim_start_matches(['+', '-']);
    let digits = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let at = digits.parse::<usize>().unwrap_or(0);
    let is_from_end = at > 0 && name.trim_start().starts_with('-');
    let place = if is_from_end { text.len().checked_sub(at) } else { Some(at) };
    let byte = place.and_then(|place| text.as_bytes().get(place)).map(std::slice::from_ref);
    let found = String::from_utf8_lossy(byte.unwrap_or_default()).into_owned();
    match names.split_first() {
        Some((name, names)) => byte_of(&found, name, names),
        None => found.into(),
    }
}

fn value_of(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(is_true) => Value::Truth(*is_true),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Whole(whole),
            None => number.as_f64().map_or(Value::Null, Value::Number),
        },
        Json::String(text) => Value::Text(Cow::Borrowed(text)),
        Json::Array(items) => {
            let items = items.iter().enumerate();
            Value::Items(items.map(|(place, item)| (place.to_string(), value_of(item))).collect())
        }
        Json::Object(fields) => {
            Value::Items(fields.iter().map(|(name, value)| (name.clone(), value_of(value))).collect())
        }
    }
}

/// A valid reason for a job: printable, and not too long.
fn bounded(reason: &str) -> String {
    let mut bounded = String::new();
    for c in reason.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if bounded.len() + c.len_utf8() > REASON_BYTES_MAX {
            break;
        }
        bounded.push(c);
    }
    bounded
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::CallBack;

    /// Conditions, replies, and what php-delayqueue makes of them, one case a line, with tabs between the fields.
    const PHP_CASES: &str = include_str!("../../../tests/call_backs/php_conditions.txt");

    fn reply(status: u16, body: &'static str) -> Reply {
        Reply {
            status: StatusCode::from_u16(status).expect("a status"),
            retry_after: None,
            location: None,
            body: Bytes::from_static(body.as_bytes()),
            is_whole: true,
        }
    }

    fn verdict(call_back: &CallBack, reply: Reply) -> Verdict {
        judge(&Plan::new(call_back), &Ok(reply), Millis(1_700_000_000_000))
    }

    fn retry(reason: &str) -> Verdict {
        Verdict::Retry { after: None, reason: reason.to_owned() }
    }

    #[test]
    fn the_status_decides() {
        let plain = CallBack::default();
        for status in [200, 201, 204, 299] {
            assert_eq!(verdict(&plain, reply(status, "")), Verdict::Finish);
        }
        assert_eq!(verdict(&plain, reply(202, "")), Verdict::Keep);
        for status in [408, 425, 429, 500, 503, 599] {
            assert!(matches!(verdict(&plain, reply(status, "")), Verdict::Retry { .. }), "{status}");
        }
        let bad = Verdict::Bury { reason: "404 Not Found: no such order".to_owned() };
        assert_eq!(verdict(&plain, reply(404, " no such\n order")), bad);
        let moved = Reply { location: Some("http://169.254.169.254/".to_owned()), ..reply(302, "") };
        assert_eq!(
            verdict(&plain, moved),
            retry("302 Found to http://169.254.169.254/, which is not followed")
        );
        assert_eq!(verdict(&plain, reply(410, "")), Verdict::Gone { reason: "410 Gone".to_owned() });
        let lenient = CallBack { refused: Some(Refused::Retry), ..CallBack::default() };
        assert_eq!(verdict(&lenient, reply(404, "")), retry("404 Not Found"));
    }

    #[test]
    fn a_pause_is_heeded_up_to_a_cap() {
        let after = |asked: &str| {
            let busy = Reply { retry_after: Some(asked.to_owned()), ..reply(503, "") };
            match verdict(&CallBack::default(), busy) {
                Verdict::Retry { after, .. } => after,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(after("7"), Some(Duration::from_secs(7)));
        assert_eq!(after("86400"), Some(RETRY_AFTER_MAX));
        assert_eq!(after("Tue, 14 Nov 2023 22:14:20 GMT"), Some(Duration::from_mins(1)));
        assert_eq!(after("Tue, 14 Nov 2023 22:12:20 GMT"), Some(Duration::ZERO));
        assert_eq!((after("soon"), after("-1")), (None, None));
    }

    #[test]
    fn a_condition_on_the_reply_means_failure() {
        let condition = "{res.code} != 200 && {res.data.ok} == 'no' || {res.list.1} > 5";
        let said = CallBack { retry_if: Some(condition.to_owned()), ..CallBack::default() };
        assert_eq!(verdict(&said, reply(200, r#"{"code":200,"data":{"ok":"no"}}"#)), Verdict::Finish);
        assert!(matches!(
            verdict(&said, reply(200, r#"{"code":"500","data":{"ok":"no"}}"#)),
            Verdict::Retry { .. }
        ));
        assert!(matches!(verdict(&said, reply(200, r#"{"code":200,"list":[1,6]}"#)), Verdict::Retry { .. }));
        assert!(
            matches!(verdict(&said, reply(500, "no JSON")), Verdict::Retry { .. }),
            "the status counts as well"
        );
    }

    #[test]
    fn a_reply_that_is_neither_empty_nor_0_may_mean_success() {
        let said = CallBack { success: Some(Success::Reply), ..CallBack::default() };
        assert_eq!(verdict(&said, reply(500, "ok")), Verdict::Finish);
        assert_eq!(verdict(&said, reply(200, "0")), retry("200 OK: 0"));
        assert_eq!(verdict(&said, reply(200, "")), retry("200 OK"));
        for said_yes in [" ", "\n", " 0\n", "00", "0.0", "null"] {
            assert_eq!(verdict(&said, reply(200, said_yes)), Verdict::Finish, "{said_yes:?}");
        }
    }

    #[test]
    fn replies_are_judged_as_php_7_does() {
        let mut cases = 0;
        for line in PHP_CASES.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&'static str> = line.split('\t').collect();
            let [condition, body, expected] = fields[..] else { panic!("three fields: {line}") };
            let said = CallBack {
                retry_if: Some(condition.to_owned()),
                success: Some(Success::Reply),
                ..CallBack::default()
            };
            let judged = match verdict(&said, reply(200, body)) {
                Verdict::Finish => "done",
                Verdict::Retry { .. } => "retry",
                other => panic!("{other:?}: {line}"),
            };
            assert_eq!(judged, expected, "{line}");
            cases += 1;
        }
        assert!(cases >= 1000, "{cases} cases");
    }

    #[test]
    fn a_condition_about_the_status_is_asked_about_any_reply() {
        let judged = |condition: &str, status, body| {
            let said = CallBack {
                retry_if: Some(condition.to_owned()),
                success: Some(Success::Reply),
                ..CallBack::default()
            };
            matches!(verdict(&said, reply(status, body)), Verdict::Retry { .. })
        };
        assert!(judged("{status} >= 500", 500, "Internal Server Error"));
        assert!(judged("{status} >= 500 || {res.code} == 1", 500, "oops"));
        assert!(!judged("{res.code} != 200", 500, "oops"), "it is neither an object nor a list");
        assert!(judged("{res.code} != 200", 500, "[]"));
    }

    #[test]
    fn a_condition_does_not_judge_a_part_of_a_reply() {
        let judged = |condition: &str, status| {
            let said = CallBack { retry_if: Some(condition.to_owned()), ..CallBack::default() };
            verdict(&said, Reply { is_whole: false, ..reply(status, "{\"code\":") })
        };
        for condition in ["{res.code} == 1", "{status} == 200 && {body} == ''"] {
            let Verdict::Retry { reason, .. } = judged(condition, 200) else { panic!("{condition}") };
            assert!(reason.starts_with("200 OK: the reply is longer than 16384 bytes"), "{reason}");
        }
        assert_eq!(judged("{status} == 201", 200), Verdict::Finish);
    }

    #[test]
    fn without_a_reply_it_is_tried_again() {
        let plan = Plan::new(&CallBack::default());
        let broken = Err(Fault::TimedOut(Duration::from_secs(1)));
        assert_eq!(judge(&plan, &broken, Millis(0)), retry("no reply within 1000 ms"));
        assert_eq!((health(&broken), health(&Ok(reply(404, "")))), (Health::Absent, Health::Well));
        assert_eq!(
            (health(&Ok(reply(500, ""))), health(&Ok(reply(503, "")))),
            (Health::Failing, Health::Absent)
        );
        let refused = Fault::Refused(super::super::egress::Refusal::Port(22));
        for (fault, health_then) in [
            (refused, Health::Unknown),
            (Fault::NotReady("no port".to_owned()), Health::Unknown),
            (Fault::Connect("refused".to_owned()), Health::Absent),
        ] {
            let unsent = Err(fault);
            assert!(matches!(judge(&plan, &unsent, Millis(0)), Verdict::Park { .. }), "{unsent:?}");
            assert_eq!(health(&unsent), health_then);
        }
    }

    #[test]
    fn reasons_are_short_and_printable() {
        let long = bounded(&format!("a\u{7}b{}", "ü".repeat(2000)));
        assert!(long.len() <= REASON_BYTES_MAX && long.starts_with("a büü"));
    }
}
