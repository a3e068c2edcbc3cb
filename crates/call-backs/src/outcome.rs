//! Decides what happens to a job after its call.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::Value as Json;

use super::call_request::Plan;
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::{Millis, Part, Refused, Success, Value};

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
        let json: Json = serde_json::from_slice(&reply.body).unwrap_or_default();
        if condition.holds(&|part: &Part| reply.look(&json, part)) {
            return retry();
        }
    }
    if plan.success == Success::Reply {
        let said = reply.body.trim_ascii();
        return if said.is_empty() || said == b"0" { retry() } else { Verdict::Finish };
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

    fn look<'a>(&'a self, json: &'a Json, part: &Part) -> Value<'a> {
        match part {
            Part::Status => Value::Number(self.status.as_u16().into()),
            Part::Body => Value::Text(String::from_utf8_lossy(&self.body)),
            Part::Field(names) => {
                let found = names.iter().try_fold(json, |json, name| match json {
                    Json::Array(items) => items.get(name.parse::<usize>().ok()?),
                    _ => json.get(name),
                });
                match found {
                    Some(Json::Bool(is_true)) => Value::Truth(*is_true),
                    Some(Json::Number(number)) => number.as_f64().map_or(Value::Null, Value::Number),
                    Some(Json::String(text)) => Value::Text(Cow::Borrowed(text)),
                    // Objects and lists are not comparable, but they are not null either.
                    Some(other @ (Json::Array(_) | Json::Object(_))) => {
                        Value::Text(Cow::Owned(other.to_string()))
                    }
                    Some(Json::Null) | None => Value::Null,
                }
            }
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
        assert_eq!(verdict(&said, reply(200, " 0\n")), retry("200 OK: 0"));
        assert_eq!(verdict(&said, reply(200, "")), retry("200 OK"));
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
