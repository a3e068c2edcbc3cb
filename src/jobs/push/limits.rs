//! Which limit of its topic a refused job would have exceeded.

use adjourn_client::{Client, ClientError};
use adjourn_protocol::{ErrorCode, TopicSettings};
use adjourn_types::TopicName;

/// What to tell the user instead of the general meaning of the refusal. `None` for other refusals and other limits, and for a client
/// that may not see the settings.
pub(super) async fn exceeded(
    client: &Client,
    topic: &TopicName,
    body_bytes: u64,
    error: &ClientError,
) -> Option<String> {
    let code = error.code().filter(|code| matches!(code, ErrorCode::Quota | ErrorCode::TooLarge))?;
    let told = explained(topic, &client.topic_settings(topic).await.ok()?, body_bytes, code)?;
    Some(format!("{code}: {told}"))
}

fn explained(
    topic: &TopicName,
    settings: &TopicSettings,
    body_bytes: u64,
    code: ErrorCode,
) -> Option<String> {
    let TopicSettings { policy, jobs, bytes, .. } = settings;
    match (code, policy.body_bytes_max, policy.jobs_max, policy.bytes_max) {
        (ErrorCode::TooLarge, Some(max), ..) if body_bytes > u64::from(max) => Some(format!(
            "the body has {body_bytes} bytes, and body-max of {topic} is {max}: send less, or raise it"
        )),
        (ErrorCode::Quota, _, Some(max), _) if *jobs >= max => Some(format!(
            "jobs-max of {topic} is {max}, and it has {jobs}: finish or delete jobs, or raise it"
        )),
        (ErrorCode::Quota, _, _, Some(max)) if bytes.saturating_add(body_bytes) > max => Some(format!(
            "bytes-max of {topic} is {max}; the bodies of its jobs have {bytes} bytes, and this one has {body_bytes}: finish or \
             delete jobs, or raise it"
        )),
        _ => None,
    }
}
