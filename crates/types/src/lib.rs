//! The vocabulary of the queue: ids, names, time, attributes and every limit.
//!
//! This is the lowest layer. It knows no frame, no log record, no clock and no socket; it only defines which values
//! are valid. Every other module uses these types.

mod attributes;
mod call_back;
mod condition;
mod duration;
mod filter;
mod http_url;
mod ids;
mod job;
pub mod limits;
mod member;
mod names;
mod retry_defaults;
mod rights;
mod schedule;
mod secret;
mod template;
mod text;
mod time;
mod topic_policy;
mod why;

pub use attributes::{
    AttributeError, AttributeSet, Attributes, AttributesBuilder, Backoff, BackoffCurve, CONTENT_TYPE, Policy,
    tag,
};
pub use call_back::{CallBack, Method, Refused, Success};
pub use condition::{Condition, ConditionError, Part, Rules, Value};
pub use duration::{DurationError, duration_ms};
pub use filter::{DueBars, Filter, ListOrder, Position, States};
pub use http_url::{HttpUrl, HttpUrlError};
pub use ids::{Fence, GroupId, JobId, Lease, LeaseParseError, SessionId, SessionSecret, TopicId};
pub use job::{BuryReason, IfExists, JobHistory, JobState};
pub use member::{FEATURE_KICK_MANY, FEATURE_LEVEL, Member};
pub use names::{GroupName, Key, NameError, TopicName, is_host_and_port};
pub use retry_defaults::RetryDefaults;
pub use rights::{Access, Grant, GrantError, Right, Rights, TopicPattern};
pub use schedule::{
    Dst, Fired, Firing, JobEnd, Missed, Overlap, PausedBy, SCHEDULE_HISTORY_MAX, SCHEDULE_MISSED_DEFAULT,
    SCHEDULE_NAME_IN_KEY_BYTES_MAX, ScheduleBefore, ScheduleRules, SkipReason,
};
pub use secret::Secret;
pub use template::{Piece, Placeholder, Template, TemplateError};
pub use text::first_bytes;
pub use time::{Millis, When, whole_ms};
pub use topic_policy::groups::{GroupPolicy, OnBury};
pub use topic_policy::{Late, LateAction, PolicyChange, PolicyError, Setting, SettingForm, TopicPolicy};
pub use why::Why;
