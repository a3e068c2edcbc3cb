//! What the schema does not say, and so stands here by hand: the grammar of some texts, and what the fields of one record
//! must say together. protocol.md says both in words, for people.
//!
//! A field without such a rule needs nothing here.

use adjourn_types::Template;
use adjourn_types::limits::{DELAY_MS_MAX, RATE_PER_SECOND_MAX, TTR_MS_MIN};
use proptest::prelude::*;

use super::payload::{Record, Value};

const RELEASE_BY_BACKOFF: u128 = 0xffff_ffff_ffff_ffff;
const RELEASE_NOT_STARTED: u128 = 0xffff_ffff_ffff_fffe;
const RELEASE_PARKED: u128 = 0x8000_0000_0000_0000;

/// The texts of this name, if not every text is one.
pub(super) fn text(name: &str) -> Option<BoxedStrategy<String>> {
    let url = "https?://[a-z]{1,20}(:[1-9][0-9]{0,3})?(/[a-z{}?&=]{0,20})?";
    Some(match name {
        "topic" | "topics" | "to" | "dead_letters" => "[a-z0-9._:/+;$()][a-zA-Z0-9._:/+;$()-]{0,199}".boxed(),
        "key" => "[a-zA-Z0-9 üж]{0,100}".boxed(),
        "some_key" | "group" => "[a-zA-Z0-9 üж]{1,100}".boxed(),
        "call_back" => url.prop_filter("a template", |text| is_template(text)).boxed(),
        "call_back_method" => "GET|POST|PUT|PATCH|DELETE".boxed(),
        "call_back_headers" => "X-[A-Z]{1,9}:[ a-z]{0,20}(\\nX-[A-Z]{1,9}: \\{key\\})?".boxed(),
        "call_back_body" => "[ -~]{1,40}".prop_filter("a template", |text| is_template(text)).boxed(),
        "call_back_secrets" => "[A-Za-z0-9._-]{1,64}".boxed(),
        "call_back_refused" => "bury|retry".boxed(),
        "call_back_retry_if" => {
            "\\{res\\.[a-z]{1,9}\\} (==|!=|<) [1-9][0-9]{0,4}( && \\{status\\} == 200)?".boxed()
        }
        "call_back_success" => "status|reply".boxed(),
        "group_order" => "fifo".boxed(),
        "group_on_bury" => "block|continue".boxed(),
        _ => return None,
    })
}

fn is_template(text: &str) -> bool {
    Template::read(text).is_ok()
}

/// The record with such changes that its fields fit together. One that fits is not changed.
pub(super) fn fitted(mut record: Record) -> Record {
    let it = &mut record;
    match it.name {
        "new_job" => {
            delay(it, "due_kind", "due_ms");
            time_to_run(it);
        }
        "EDIT" => {
            delay(it, "due_kind", "due_ms");
            time_to_run(it);
            parts(it);
        }
        "firing" => firing(it),
        "RESCHEDULE" => delay(it, "due_kind", "due_ms"),
        "expiry" => delay(it, "kind", "ms"),
        "TOUCH" => time_to_run(it),
        "job_template" => {
            time_to_run(it);
            it.without_element("attributes", "buried");
        }
        "RELEASE" => release(it),
        "PUSH" => known_by(it),
        "RESERVE" | "SUBSCRIBE" => weights(it),
        "backoff" => waits(it),
        "late" => late(it),
        "filter" => filter(it),
        "TOPIC_SET" => dead_letters(it),
        "TOPIC_SETTINGS" => defaults(it),
        "push_result" => push_result(it),
        "node" => node(it),
        // A session has a secret.
        "HELLO" => clear_unless(it.number("session") != 0, it, "secret"),
        // What other choices do not look at is 0.
        "ADVANCE" => clear_unless(it.number("step") == 0, it, "by_ms"),
        "COUNT" => bars(it),
        "BULK" => {
            clear_unless(it.number("change") == 3, it, "due_ms");
            clear_unless(it.number("change") == 4, it, "to");
        }
        "ERROR" => {
            it.set("code", it.number("code").max(1));
            if it.number("retry_after_ms") > 0 {
                it.set("marks", it.number("marks") | 1);
            }
        }
        _ => {}
    }
    record
}

fn clear_unless(is_said: bool, it: &mut Record, name: &str) {
    if !is_said {
        it.clear(name);
    }
}

/// Bars have a width; what they are is not looked at without any.
fn bars(it: &mut Record) {
    if it.number("bars") > 0 {
        it.set("bar_ms", it.number("bar_ms").max(1));
    } else {
        it.clear("bars_from_ms");
        it.clear("bar_ms");
    }
}

/// An instant with a job is one instant; one that was skipped has no job.
fn firing(it: &mut Record) {
    const SKIPPED: u128 = 5;
    if it.number("fired") < SKIPPED {
        it.set("last_ms", it.number("instant_ms"));
        it.set("instants", 1);
    } else {
        it.clear("job");
    }
}

/// A delay has a limit, a point in time has none.
fn delay(it: &mut Record, kind: &str, ms: &str) {
    if it.number(kind) == 0 {
        it.set(ms, it.number(ms) % u128::from(DELAY_MS_MAX + 1));
    }
}

/// 0 stands for the default.
fn time_to_run(it: &mut Record) {
    if it.number("ttr_ms") > 0 {
        it.set("ttr_ms", it.number("ttr_ms").max(TTR_MS_MIN.into()));
    }
}

/// At least one part changes; the fields of the others are 0.
fn parts(it: &mut Record) {
    it.set("edited", it.number("edited").max(1));
    let parts = it.number("edited");
    for (bit, name) in [(0, "due_ms"), (0, "due_kind"), (1, "priority"), (2, "ttr_ms"), (3, "body")] {
        clear_unless(parts & 1 << bit != 0, it, name);
    }
}

/// Some values of a delay say something else than a delay.
fn release(it: &mut Record) {
    const ANOTHER_BIT: u128 = RELEASE_PARKED >> 1;
    let delay = |number: u128| number % (u128::from(DELAY_MS_MAX) + 1);
    let delay_ms = match it.number("delay_ms") {
        number @ (RELEASE_BY_BACKOFF | RELEASE_NOT_STARTED) => number,
        number if number & RELEASE_PARKED == 0 => delay(number),
        number if number & ANOTHER_BIT != 0 => RELEASE_NOT_STARTED,
        number => RELEASE_PARKED | delay(number & !RELEASE_PARKED),
    };
    it.set("delay_ms", delay_ms);
}

/// A push is known by a sequence or by a key, and only the latter belongs to a list: one that is longer than the push.
fn known_by(it: &mut Record) {
    let jobs = it.items("jobs").len() as u128;
    if it.number("idempotency").is_multiple_of(2) {
        it.clear("idempotency");
        // The other jobs have the numbers that follow.
        it.set("sequence", it.number("sequence").min(u128::from(u64::MAX) + 1 - jobs.max(1)));
    } else {
        it.clear("sequence");
    }
    if it.number("idempotency") == 0 || it.number("list_jobs") <= jobs {
        it.clear("list_jobs");
    }
}

/// A weight for each topic, each at least 1, or none at all.
fn weights(it: &mut Record) {
    let topics = it.items("topics").len();
    let weights = it.items("weights");
    if let Some(first) = weights.first().cloned() {
        weights.resize(topics, first);
    }
    for weight in weights {
        weight.set("item", weight.number("item").max(1));
    }
}

/// A backoff that is no list has one wait, or two.
fn waits(it: &mut Record) {
    const WAIT_BYTES: usize = 4;
    let waits = match it.number("kind") {
        0 => 1,
        1 | 2 => 2,
        _ => return,
    };
    if let Some(Value::Piece { bytes, .. }) = it.value_mut("waits_ms") {
        bytes.resize(waits * WAIT_BYTES, 0);
    }
}

/// The value belongs to the action: a rate, a time, or nothing.
fn late(it: &mut Record) {
    let most = match it.number("action") {
        0 => u128::from(RATE_PER_SECOND_MAX),
        1 => u128::from(DELAY_MS_MAX),
        2 | 3 => return it.clear("value"),
        _ => return,
    };
    let value = it.number("value");
    if !(1..=most).contains(&value) {
        it.set("value", value % most + 1);
    }
}

/// A filter asks for some states, and for a reason of burying if for any. The states that it means without that condition
/// are left out.
fn filter(it: &mut Record) {
    const USUAL_STATES: u128 = 0b1111;
    it.fields.retain(|element| match (&element.value, element.name) {
        (Value::Number { number, .. }, "states") => ![0, USUAL_STATES].contains(number),
        (Value::Number { number, .. }, "buried") => *number != 0,
        _ => true,
    });
}

/// A topic is not its own dead-letter topic.
fn dead_letters(it: &mut Record) {
    let Some(Value::Piece { bytes: topic, .. }) = it.value("topic").cloned() else { return };
    let is_own = |value: &Value| matches!(value, Value::Piece { bytes, .. } if *bytes == topic);
    let settings = it.elements("settings");
    settings.fields.retain(|element| element.name != "dead_letters" || !is_own(&element.value));
}

/// Only a setting that is shown can be the server's.
fn defaults(it: &mut Record) {
    let settings = it.elements("settings");
    let [attempts, backoff] = ["attempts_max", "backoff"].map(|name| settings.value(name).is_some());
    let shown = 1 | u128::from(attempts) << 1 | u128::from(backoff) << 2;
    it.set("marks", it.number("marks") & shown);
}

/// Only what was refused has a code.
fn push_result(it: &mut Record) {
    if it.number("outcome") == 3 {
        it.set("code", it.number("code").max(1));
    } else {
        it.clear("code");
    }
}

/// Marks say which numbers are known; the others are 0.
fn node(it: &mut Record) {
    let marks = it.number("marks");
    for (bit, name) in [(1, "matched"), (2, "applied"), (3, "ahead_ms")] {
        clear_unless(marks & 1 << bit != 0, it, name);
    }
    if marks & 1 << 4 == 0 {
        it.set("marks", marks & !(1 << 5));
    }
}
