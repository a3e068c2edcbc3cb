//! Topic policies with every setting, as strategies.

use std::sync::Arc;

use adjourn_types::limits::{
    BACKOFF_LIST_MAX, CALL_BACK_LOG_MS_MAX, DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, RATE_PER_SECOND_MAX,
    TTR_MS_MAX, TTR_MS_MIN,
};
use adjourn_types::{
    Backoff, BackoffCurve, CallBack, Late, LateAction, Method, PolicyChange, Refused, Setting, Success,
    Template, TopicPolicy,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub(super) fn settings() -> impl Strategy<Value = TopicPolicy> {
    use proptest::option::of;
    let curve = prop_oneof![
        any::<u32>().prop_map(BackoffCurve::Fixed),
        vec(any::<u32>(), 1..=BACKOFF_LIST_MAX).prop_map(BackoffCurve::List),
    ];
    let backoff = (curve, 0..=100_u8).prop_map(|(curve, jitter_percent)| Backoff { curve, jitter_percent });
    let then = prop_oneof![
        (1..=RATE_PER_SECOND_MAX).prop_map(LateAction::PerSecond),
        (1..=DELAY_MS_MAX).prop_map(|over_ms| LateAction::Spread { over_ms }),
        Just(LateAction::Bury),
        Just(LateAction::Drop),
    ];
    let late = (0..=DELAY_MS_MAX, then).prop_map(|(after_ms, then)| Late { after_ms, then });
    let defaults =
        (of(TTR_MS_MIN..=TTR_MS_MAX), of(0..u32::MAX), of(1..u32::MAX), of(backoff), of(1..=DELAY_MS_MAX));
    let limits =
        (of(1..u64::MAX), of(1..u64::MAX), of(1..u32::MAX), of(1..u32::MAX), of(1..=RATE_PER_SECOND_MAX));
    // A topic is not its own dead-letter topic.
    let ends = (
        of("dead[a-z]{1,20}".prop_map(|name| name.parse().expect("a name"))),
        of(1..=DEDUPE_RETENTION_MS_MAX),
        option::of(call_back()),
    );
    (defaults, limits, of(late), ends).prop_map(|(defaults, limits, late, ends)| {
        let (dead_letters, retention_ms, call_back) = ends;
        let (ttr_ms, priority, attempts_max, backoff, expires_after_ms) = defaults;
        let (jobs_max, bytes_max, body_bytes_max, leases_max, per_second_max) = limits;
        TopicPolicy {
            ttr_ms,
            priority,
            attempts_max,
            backoff,
            expires_after_ms,
            jobs_max,
            bytes_max,
            body_bytes_max,
            leases_max,
            per_second_max,
            late,
            dead_letters,
            retention_ms,
            call_back: call_back.filter(|call_back| *call_back != CallBack::default()).map(Arc::new),
        }
    })
}

fn call_back() -> impl Strategy<Value = CallBack> {
    let texts = (
        option::of(
            "https?://[a-z]{1,20}(:[1-9][0-9]{0,3})?(/[a-z{}?&=]{0,20})?"
                .prop_filter("a template", |text| is_template(text)),
        ),
        option::of("X-[A-Z]{1,9}:[ a-z]{0,20}(\\nX-[A-Z]{1,9}: \\{key\\})?"),
        option::of("[ -~]{1,40}".prop_filter("a template", |text| is_template(text))),
        option::of("[A-Za-z0-9._-]{1,64}"),
        option::of("\\{res\\.[a-z]{1,9}\\} (==|!=|<) [0-9]{1,5}( && \\{status\\} == 200)?"),
    );
    let numbers = (
        option::of(100_u32..=300_000),
        option::of(1_u32..=1024),
        option::of(1..=RATE_PER_SECOND_MAX),
        option::of(1..=CALL_BACK_LOG_MS_MAX),
        option::of(1..=DELAY_MS_MAX),
    );
    let words = (
        option::of(prop_oneof![
            Just(Method::Get),
            Just(Method::Post),
            Just(Method::Put),
            Just(Method::Patch),
            Just(Method::Delete)
        ]),
        option::of(prop_oneof![Just(Refused::Bury), Just(Refused::Retry)]),
        option::of(prop_oneof![Just(Success::Status), Just(Success::Reply)]),
        any::<(bool, bool)>(),
    );
    (texts, numbers, words).prop_map(|((url, headers, body, secrets, retry_if), numbers, words)| {
        let (timeout_ms, concurrency, per_second_max, log_ms, delay_ms) = numbers;
        let (method, refused, success, (of_job, paused)) = words;
        CallBack {
            url,
            method,
            headers,
            body,
            timeout_ms,
            concurrency,
            per_second_max,
            secrets,
            refused,
            retry_if,
            success,
            of_job,
            log_ms,
            paused,
            delay_ms,
        }
    })
}

fn is_template(text: &str) -> bool {
    Template::read(text).is_ok()
}

/// Whether a setting has a value.
pub(super) fn has(policy: &TopicPolicy, setting: Setting) -> bool {
    let unset = PolicyChange { set: TopicPolicy::default(), unset: [setting].into() };
    policy.changed(&unset) != *policy
}
