//! The encoding of a policy, and what is refused.

use super::super::{BackoffCurve, Method, Refused, Success};
use super::groups::OnBury;
use super::*;

fn all() -> TopicPolicy {
    let backoff = Backoff { curve: BackoffCurve::List(vec![10_000, 30_000]), jitter_percent: 10 };
    TopicPolicy {
        ttr_ms: Some(30_000),
        priority: Some(0),
        attempts_max: Some(5),
        backoff: Some(backoff),
        expires_after_ms: Some(86_400_000),
        jobs_max: Some(1_000_000),
        bytes_max: Some(1 << 30),
        body_bytes_max: Some(4096),
        leases_max: Some(16),
        per_second_max: Some(100),
        late: Some(Late { after_ms: 60_000, then: LateAction::Spread { over_ms: 3_600_000 } }),
        dead_letters: Some("failed".parse().expect("a name")),
        retention_ms: Some(1),
        call_back: Some(Arc::new(call_back())),
        groups: GroupPolicy {
            fair: true,
            leases_max: Some(3),
            per_second_max: Some(10),
            burst: Some(5),
            fifo: true,
            on_bury: Some(OnBury::Continue),
        },
    }
}

fn call_back() -> CallBack {
    CallBack {
        url: Some("https://shop.example/due/{id}".to_owned()),
        method: Some(Method::Put),
        headers: Some("X-Key: {key}\nX-Attempt: {attempt}".to_owned()),
        body: Some("{body.form}".to_owned()),
        timeout_ms: Some(3000),
        concurrency: Some(16),
        per_second_max: Some(50),
        secrets: Some("shop".to_owned()),
        refused: Some(Refused::Retry),
        retry_if: Some("{res.code} != 200".to_owned()),
        success: Some(Success::Reply),
        of_job: true,
        log_ms: Some(86_400_000),
        paused: true,
        delay_ms: Some(60_000),
    }
}

#[test]
fn what_is_set_reads_back_and_can_be_taken_away() {
    let change = PolicyChange::decode(&all().encode()).expect("it is valid");
    assert_eq!((&change.set, change.unset.len()), (&all(), 0));
    for late in [LateAction::PerSecond(7), LateAction::Bury, LateAction::Drop] {
        let policy = TopicPolicy { late: Some(Late { after_ms: 0, then: late }), ..all() };
        assert_eq!(PolicyChange::decode(&policy.encode()).map(|change| change.set), Ok(policy));
    }
    for setting in Setting::ALL {
        let unset = BTreeSet::from([setting]);
        let change = PolicyChange { set: TopicPolicy::default(), unset };
        assert_eq!(PolicyChange::decode(&change.encode()).as_ref(), Ok(&change));
        let left = all().changed(&change);
        assert_eq!((left.value(setting), left == all()), (None, false), "{setting}");
        let one = TopicPolicy::default().changed(&PolicyChange { set: all(), unset: BTreeSet::new() });
        assert_eq!(one.value(setting), all().value(setting), "{setting}");
        assert_eq!(Setting::from_u16(setting as u16), Some(setting));
    }
}

#[test]
fn bad_settings_are_refused() {
    let decode = |number: u16, value: &[u8]| {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend(u16::try_from(value.len()).expect("it is short").to_le_bytes());
        bytes.extend(value);
        PolicyChange::decode(&bytes).map(drop)
    };
    for setting in Setting::ALL {
        let wrong = Err(PolicyError::OutOfRange { setting });
        if matches!(setting, Setting::CallBackUrl) {
            assert!(matches!(decode(setting as u16, b"?"), Err(PolicyError::Url(_))));
            continue;
        }
        if matches!(setting, Setting::CallBackRetryIf) {
            assert!(matches!(decode(setting as u16, b"?"), Err(PolicyError::Condition(_))));
            continue;
        }
        if matches!(setting, Setting::CallBackBody) {
            assert!(matches!(decode(setting as u16, b"{no}"), Err(PolicyError::Template(_))));
            continue;
        }
        assert_eq!(decode(setting as u16, &[0]), wrong, "{setting}");
        if !matches!(setting, Setting::Priority) {
            assert_eq!(decode(setting as u16, &[0; 4]), wrong, "{setting}");
            assert_eq!(decode(setting as u16, &[0; 8]), wrong, "{setting}");
            assert_eq!(decode(setting as u16, &[0; 17]), wrong, "{setting}");
        }
    }
    assert_eq!(decode(35, b"?"), Err(PolicyError::Unsupported(35)));
    let kind = [[0; 8].as_slice(), &[4], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(decode(Setting::Late as u16, &kind), Err(PolicyError::Unsupported(11)));
    for (action, value, is_good) in [(LATE_BURY, 0, true), (LATE_BURY, 1, false), (LATE_DROP, 1, false)] {
        let late = [[0; 8].as_slice(), &[action], &[value, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(decode(Setting::Late as u16, &late).is_ok(), is_good, "{action} {value}");
    }
    assert_eq!(decode(Setting::Backoff as u16, &[4, 0, 1, 0, 0, 0]), Err(PolicyError::Unsupported(4)));
    let twice = [all().encode(), all().encode()].concat();
    assert_eq!(PolicyChange::decode(&twice), Err(PolicyError::Malformed(1)));
    let whole = all().encode();
    for cut in 1..whole.len() {
        let cut = whole.get(..cut).expect("shorter");
        let read = PolicyChange::decode(cut);
        assert!(read.is_err() || read.is_ok_and(|change| change.encode() == cut), "{cut:?}");
    }
    let text = PolicyError::OutOfRange { setting: Setting::Ttr }.to_string();
    assert_eq!(text, "ttr of a topic must be 100 ms to 7 days");
}
