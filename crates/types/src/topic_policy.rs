//! A topic's policy: defaults for its jobs, limits, rates, and where failed jobs go.
//!
//! Encoded like [attributes](super::Attributes): a list of (number u16, length u16, value), by ascending number,
//! little-endian. In a change, an empty value removes a setting; a setting that is not listed is unchanged.

pub(crate) mod groups;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use groups::GroupPolicy;

use super::attributes::{BACKOFF_KINDS, Elements, backoff_value, read_backoff, read_u32};
use super::limits::{
    CALL_BACK_CALLS_MAX, CALL_BACK_LOG_MS_MAX, CALL_BACK_TIMEOUT_MS_MAX, CALL_BACK_TIMEOUT_MS_MIN,
    DEDUPE_RETENTION_MS_MAX, DELAY_MS_MAX, RATE_PER_SECOND_MAX, TTR_MS_MAX, TTR_MS_MIN,
};
use super::{AttributeError, Backoff, CallBack, ConditionError, HttpUrlError, TemplateError, TopicName};

/// The settings of one topic. `None` leaves the choice to the job, or sets no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicPolicy {
    /// Default time to run.
    pub ttr_ms: Option<u32>,
    /// Default priority.
    pub priority: Option<u32>,
    /// Default number of attempts.
    pub attempts_max: Option<u32>,
    /// Default wait between attempts.
    pub backoff: Option<Backoff>,
    /// Jobs without an expiry of their own expire this many milliseconds after they were due.
    pub expires_after_ms: Option<u64>,
    /// Pushes that would exceed this number of jobs are refused.
    pub jobs_max: Option<u64>,
    /// Pushes that would bring the bodies of all jobs above this size are refused.
    pub bytes_max: Option<u64>,
    /// Pushes with a larger body are refused.
    pub body_bytes_max: Option<u32>,
    /// Most jobs that are reserved at the same time.
    pub leases_max: Option<u32>,
    /// Most jobs delivered per second, evenly spread: at most a tenth of them at once.
    pub per_second_max: Option<u32>,
    /// What happens to jobs that are late.
    pub late: Option<Late>,
    /// The topic that receives jobs that would otherwise be buried here.
    pub dead_letters: Option<TopicName>,
    /// How long finished jobs and their keys are remembered, unless the job sets it.
    pub retention_ms: Option<u64>,
    /// What the queue calls when a job is due.
    pub call_back: Option<Arc<CallBack>>,
    /// What the groups of its jobs mean.
    pub groups: GroupPolicy,
}

/// What happens to a job that comes due late, because the queue was down, or that waited long for its first delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// A job is late if it was due longer ago than this.
    pub after_ms: u64,
    /// What happens then.
    pub then: LateAction,
}

/// What happens to a late job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateAction {
    /// Its due time is moved, so that at most this many late jobs come due per second.
    PerSecond(u32),
    /// Its due time is moved to a point within `over_ms` that is derived from its id.
    Spread {
        /// The time over which late jobs are spread.
        over_ms: u64,
    },
    /// It is buried, or moved to the topic's dead letters.
    Bury,
    /// It is dropped like an expired job.
    Drop,
}

/// The number of a setting in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Setting {
    /// [`TopicPolicy::ttr_ms`], u32.
    Ttr = 1,
    /// [`TopicPolicy::priority`], u32.
    Priority = 2,
    /// [`TopicPolicy::attempts_max`], u32.
    AttemptsMax = 3,
    /// [`TopicPolicy::backoff`], as in a job's attributes.
    Backoff = 4,
    /// [`TopicPolicy::expires_after_ms`], u64.
    ExpiresAfter = 5,
    /// [`TopicPolicy::jobs_max`], u64.
    JobsMax = 6,
    /// [`TopicPolicy::bytes_max`], u64.
    BytesMax = 7,
    /// [`TopicPolicy::body_bytes_max`], u32.
    BodyMax = 8,
    /// [`TopicPolicy::leases_max`], u32.
    LeasesMax = 9,
    /// [`TopicPolicy::per_second_max`], u32.
    Rate = 10,
    /// [`TopicPolicy::late`]: after u64, action u8, value u64.
    Late = 11,
    /// [`TopicPolicy::dead_letters`], text.
    DeadLetters = 12,
    /// [`TopicPolicy::retention_ms`], u64.
    Remember = 13,
    /// [`CallBack::url`], text.
    CallBackUrl = 14,
    /// [`CallBack::method`], text.
    CallBackMethod = 15,
    /// [`CallBack::headers`], text.
    CallBackHeaders = 16,
    /// [`CallBack::body`], text.
    CallBackBody = 17,
    /// [`CallBack::timeout_ms`], u32.
    CallBackTimeout = 18,
    /// [`CallBack::concurrency`], u32.
    CallBackConcurrency = 19,
    /// [`CallBack::per_second_max`], u32.
    CallBackRate = 20,
    /// [`CallBack::secrets`], text.
    CallBackSecrets = 21,
    /// [`CallBack::refused`], text.
    CallBackRefused = 22,
    /// [`CallBack::retry_if`], text.
    CallBackRetryIf = 23,
    /// [`CallBack::success`], text.
    CallBackSuccess = 24,
    /// [`CallBack::of_job`], u8 1.
    CallBackOfJob = 25,
    /// [`CallBack::log_ms`], u64.
    CallBackLog = 26,
    /// [`CallBack::paused`], u8 1.
    CallBackPaused = 27,
    /// [`CallBack::delay_ms`], u64.
    CallBackDelay = 28,
    /// [`GroupPolicy::fair`], u8 1.
    Fair = 29,
    /// [`GroupPolicy::leases_max`], u32.
    GroupLeasesMax = 30,
    /// [`GroupPolicy::per_second_max`], u32.
    GroupRate = 31,
    /// [`GroupPolicy::burst`], u32.
    GroupBurst = 32,
    /// [`GroupPolicy::fifo`], text.
    GroupOrder = 33,
    /// [`GroupPolicy::on_bury`], text.
    GroupOnBury = 34,
}

/// How the value of a setting is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingForm {
    /// A duration, between these bounds in milliseconds.
    Duration(RangeInclusive<u64>),
    /// A number between these bounds.
    Number(RangeInclusive<u64>),
    /// True, or not set.
    Flag,
    /// A text of the setting's own form.
    Text,
}

/// A change to a topic's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyChange {
    /// The new values.
    pub set: TopicPolicy,
    /// The settings to remove.
    pub unset: BTreeSet<Setting>,
}

/// Why bytes are not valid settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The list is truncated or out of order.
    #[error("the settings of the topic are truncated or not in ascending order at {0}")]
    Malformed(u16),
    /// A setting, or a variant of one, that this version does not know.
    #[error("this server does not know setting {0} of a topic: use a newer server")]
    Unsupported(u16),
    /// A value outside the setting's bounds.
    #[error("{setting} of a topic must be {}", .setting.bounds())]
    OutOfRange {
        /// The setting with that value.
        setting: Setting,
    },
    /// A call-back's URL that cannot be called.
    #[error("call_back is {0}")]
    Url(#[from] HttpUrlError),
    /// A call-back's condition that cannot be parsed.
    #[error("call_back_retry_if is {0}")]
    Condition(#[from] ConditionError),
    /// A call-back's template with an unknown placeholder.
    #[error("the call-back cannot be filled in: {0}")]
    Template(#[from] TemplateError),
}

const LATE_PER_SECOND: u8 = 0;
const LATE_SPREAD: u8 = 1;
const LATE_BURY: u8 = 2;
const LATE_DROP: u8 = 3;

impl Setting {
    /// Every setting, by number.
    pub const ALL: [Self; 34] = [
        Self::Ttr,
        Self::Priority,
        Self::AttemptsMax,
        Self::Backoff,
        Self::ExpiresAfter,
        Self::JobsMax,
        Self::BytesMax,
        Self::BodyMax,
        Self::LeasesMax,
        Self::Rate,
        Self::Late,
        Self::DeadLetters,
        Self::Remember,
        Self::CallBackUrl,
        Self::CallBackMethod,
        Self::CallBackHeaders,
        Self::CallBackBody,
        Self::CallBackTimeout,
        Self::CallBackConcurrency,
        Self::CallBackRate,
        Self::CallBackSecrets,
        Self::CallBackRefused,
        Self::CallBackRetryIf,
        Self::CallBackSuccess,
        Self::CallBackOfJob,
        Self::CallBackLog,
        Self::CallBackPaused,
        Self::CallBackDelay,
        Self::Fair,
        Self::GroupLeasesMax,
        Self::GroupRate,
        Self::GroupBurst,
        Self::GroupOrder,
        Self::GroupOnBury,
    ];

    /// The setting with this number.
    pub fn from_u16(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| *setting as u16 == number)
    }

    /// Its name in JSON; on the command line with `-` for `_`. A duration in milliseconds has `_ms` behind it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttr => "ttr",
            Self::Priority => "priority",
            Self::AttemptsMax => "attempts_max",
            Self::Backoff => "backoff",
            Self::ExpiresAfter => "expires_after",
            Self::JobsMax => "jobs_max",
            Self::BytesMax => "bytes_max",
            Self::BodyMax => "body_max",
            Self::LeasesMax => "leases_max",
            Self::Rate => "rate",
            Self::Late => "late",
            Self::DeadLetters => "dead_letters",
            Self::Remember => "remember",
            Self::CallBackUrl => "call_back",
            Self::CallBackMethod => "call_back_method",
            Self::CallBackHeaders => "call_back_headers",
            Self::CallBackBody => "call_back_body",
            Self::CallBackTimeout => "call_back_timeout",
            Self::CallBackConcurrency => "call_back_concurrency",
            Self::CallBackRate => "call_back_rate",
            Self::CallBackSecrets => "call_back_secrets",
            Self::CallBackRefused => "call_back_refused",
            Self::CallBackRetryIf => "call_back_retry_if",
            Self::CallBackSuccess => "call_back_success",
            Self::CallBackOfJob => "call_back_of_job",
            Self::CallBackLog => "call_back_log",
            Self::CallBackPaused => "call_back_paused",
            Self::CallBackDelay => "call_back_delay",
            Self::Fair => "fair",
            Self::GroupLeasesMax => "group_leases_max",
            Self::GroupRate => "group_rate",
            Self::GroupBurst => "group_burst",
            Self::GroupOrder => "group_order",
            Self::GroupOnBury => "group_on_bury",
        }
    }

    /// How its value is written, and the bounds of a number.
    pub fn form(self) -> SettingForm {
        let narrow = |min: u32, max: u32| u64::from(min)..=u64::from(max);
        match self {
            Self::Ttr => SettingForm::Duration(narrow(TTR_MS_MIN, TTR_MS_MAX)),
            Self::Priority => SettingForm::Number(narrow(0, u32::MAX - 1)),
            Self::AttemptsMax | Self::BodyMax | Self::LeasesMax | Self::GroupLeasesMax => {
                SettingForm::Number(narrow(1, u32::MAX))
            }
            Self::JobsMax | Self::BytesMax => SettingForm::Number(1..=u64::MAX),
            Self::Rate | Self::CallBackRate | Self::GroupRate | Self::GroupBurst => {
                SettingForm::Number(narrow(1, RATE_PER_SECOND_MAX))
            }
            Self::CallBackConcurrency => SettingForm::Number(narrow(1, CALL_BACK_CALLS_MAX)),
            Self::ExpiresAfter | Self::CallBackDelay => SettingForm::Duration(1..=DELAY_MS_MAX),
            Self::Remember => SettingForm::Duration(1..=DEDUPE_RETENTION_MS_MAX),
            Self::CallBackTimeout => {
                SettingForm::Duration(narrow(CALL_BACK_TIMEOUT_MS_MIN, CALL_BACK_TIMEOUT_MS_MAX))
            }
            Self::CallBackLog => SettingForm::Duration(1..=CALL_BACK_LOG_MS_MAX),
            Self::CallBackOfJob | Self::CallBackPaused | Self::Fair => SettingForm::Flag,
            Self::Backoff
            | Self::Late
            | Self::DeadLetters
            | Self::CallBackUrl
            | Self::CallBackMethod
            | Self::CallBackHeaders
            | Self::CallBackBody
            | Self::CallBackSecrets
            | Self::CallBackRefused
            | Self::CallBackRetryIf
            | Self::CallBackSuccess
            | Self::GroupOrder
            | Self::GroupOnBury => SettingForm::Text,
        }
    }

    /// True for the settings in [`TopicPolicy::groups`].
    fn is_of_groups(self) -> bool {
        self >= Self::Fair
    }

    /// The value, if it is within the bounds of this setting.
    pub(super) fn bounded<T: Copy + Into<u64>>(self, value: Option<T>) -> Result<T, PolicyError> {
        let (SettingForm::Duration(range) | SettingForm::Number(range)) = self.form() else {
            return Err(PolicyError::OutOfRange { setting: self });
        };
        let value = value.filter(|value| range.contains(&(*value).into()));
        value.ok_or(PolicyError::OutOfRange { setting: self })
    }

    fn bounds(self) -> &'static str {
        match self {
            Self::Ttr => "100 ms to 7 days",
            Self::Priority => "0 to 4294967294",
            Self::AttemptsMax | Self::JobsMax | Self::BytesMax | Self::BodyMax => {
                "at least 1; without the setting there is no limit"
            }
            Self::LeasesMax => {
                "at least 1; without the setting there is no limit, and pausing the topic stops its deliveries"
            }
            Self::Backoff => "1 to 32 waits, and a jitter of at most 100 percent",
            Self::ExpiresAfter | Self::CallBackDelay => "1 ms to 10 years",
            Self::Rate => {
                "1 to 1000000; without the setting there is no limit, and pausing the topic stops its deliveries"
            }
            Self::CallBackRate => {
                "1 to 1000000; without the setting there is no limit, and call_back_paused stops the calls"
            }
            Self::Late => "up to 10 years, and an action: with a value from 1 on; with 0 for bury and drop",
            Self::DeadLetters => "the name of another topic",
            Self::Remember => "1 ms to 30 days",
            Self::CallBackUrl => "a URL of at most 1024 bytes",
            Self::CallBackMethod => "GET, POST, PUT, PATCH or DELETE",
            Self::CallBackHeaders => {
                "lines of Name: value, at most 1024 bytes, without those that frame a request, as Host and Content-Length, and without Adjourn-* and Webhook-*"
            }
            Self::CallBackBody => "a text of at most 2048 bytes",
            Self::CallBackTimeout => "100 ms to 5 minutes",
            Self::CallBackConcurrency => "1 to 1024",
            Self::CallBackSecrets => "a name of at most 64 characters of A-Z a-z 0-9 . _ -",
            Self::CallBackRefused => "bury or retry",
            Self::CallBackRetryIf => "a condition of at most 512 bytes",
            Self::CallBackSuccess => "status or reply",
            Self::CallBackOfJob | Self::CallBackPaused | Self::Fair => "true or none",
            Self::GroupLeasesMax => {
                "at least 1; without the setting there is no limit, and pausing a group stops its deliveries"
            }
            Self::GroupRate => {
                "1 to 1000000; without the setting there is no limit, and pausing a group stops its deliveries"
            }
            Self::GroupBurst => "1 to 1000000; without the setting a tenth of the rate, at least 1",
            Self::GroupOrder => "fifo or none",
            Self::GroupOnBury => "block or continue",
            Self::CallBackLog => "1 ms to 90 days",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TopicPolicy {
    /// True if nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The settings that have a value, by number.
    pub fn settings(&self) -> impl Iterator<Item = Setting> {
        Setting::ALL.into_iter().filter(|setting| self.value(*setting).is_some())
    }

    /// Encodes the settings.
    pub fn encode(&self) -> Vec<u8> {
        PolicyChange { set: self.clone(), unset: BTreeSet::new() }.encode()
    }

    /// The settings after `change` is applied.
    #[must_use]
    pub fn changed(&self, change: &PolicyChange) -> Self {
        let mut changed = self.clone();
        for setting in Setting::ALL {
            if let Some(value) = change.set.value(setting) {
                let put = changed.put(setting, &value);
                debug_assert_eq!(put, Ok(()), "a value of a setting is always one");
            } else if change.unset.contains(&setting) {
                changed.take(setting);
            }
        }
        changed
    }

    /// The encoded value of a setting.
    pub fn value(&self, setting: Setting) -> Option<Vec<u8>> {
        let narrow = |value: Option<u32>| value.map(|value| value.to_le_bytes().to_vec());
        let wide = |value: Option<u64>| value.map(|value| value.to_le_bytes().to_vec());
        match setting {
            Setting::Ttr => narrow(self.ttr_ms),
            Setting::Priority => narrow(self.priority),
            Setting::AttemptsMax => narrow(self.attempts_max),
            Setting::Backoff => self.backoff.as_ref().map(backoff_value),
            Setting::ExpiresAfter => wide(self.expires_after_ms),
            Setting::JobsMax => wide(self.jobs_max),
            Setting::BytesMax => wide(self.bytes_max),
            Setting::BodyMax => narrow(self.body_bytes_max),
            Setting::LeasesMax => narrow(self.leases_max),
            Setting::Rate => narrow(self.per_second_max),
            Setting::Late => self.late.map(Late::value),
            Setting::DeadLetters => self.dead_letters.as_ref().map(|name| name.as_str().as_bytes().to_vec()),
            Setting::Remember => wide(self.retention_ms),
            _ if setting.is_of_groups() => self.groups.value(setting),
            _ => self.call_back.as_ref()?.value(setting),
        }
    }

    // Logs and checkpoints contain policies: a bound may only be widened, or existing data is refused.
    /// Sets a setting from its encoded value.
    pub fn put(&mut self, setting: Setting, value: &[u8]) -> Result<(), PolicyError> {
        let wrong = PolicyError::OutOfRange { setting };
        let narrow = || setting.bounded(read_u32(value));
        let wide = || setting.bounded(read_u64(value));
        match setting {
            Setting::Ttr => self.ttr_ms = Some(narrow()?),
            Setting::Priority => self.priority = Some(narrow()?),
            Setting::AttemptsMax => self.attempts_max = Some(narrow()?),
            Setting::Backoff => {
                let unknown = value.first().is_some_and(|kind| *kind >= BACKOFF_KINDS);
                let wrong = if unknown { PolicyError::Unsupported(setting as u16) } else { wrong };
                self.backoff = Some(read_backoff(value).ok_or(wrong)?);
            }
            Setting::ExpiresAfter => self.expires_after_ms = Some(wide()?),
            Setting::JobsMax => self.jobs_max = Some(wide()?),
            Setting::BytesMax => self.bytes_max = Some(wide()?),
            Setting::BodyMax => self.body_bytes_max = Some(narrow()?),
            Setting::LeasesMax => self.leases_max = Some(narrow()?),
            Setting::Rate => self.per_second_max = Some(narrow()?),
            Setting::Late => self.late = Some(Late::read(value)?),
            Setting::DeadLetters => {
                let name = std::str::from_utf8(value).ok().and_then(|name| name.parse().ok());
                self.dead_letters = Some(name.ok_or(wrong)?);
            }
            Setting::Remember => self.retention_ms = Some(wide()?),
            _ if setting.is_of_groups() => self.groups.put(setting, value)?,
            _ => {
                let mut changed = self.call_back.as_deref().cloned().unwrap_or_default();
                changed.put(setting, value)?;
                self.call_back = Some(Arc::new(changed));
            }
        }
        Ok(())
    }

    fn take(&mut self, setting: Setting) {
        match setting {
            Setting::Ttr => self.ttr_ms = None,
            Setting::Priority => self.priority = None,
            Setting::AttemptsMax => self.attempts_max = None,
            Setting::Backoff => self.backoff = None,
            Setting::ExpiresAfter => self.expires_after_ms = None,
            Setting::JobsMax => self.jobs_max = None,
            Setting::BytesMax => self.bytes_max = None,
            Setting::BodyMax => self.body_bytes_max = None,
            Setting::LeasesMax => self.leases_max = None,
            Setting::Rate => self.per_second_max = None,
            Setting::Late => self.late = None,
            Setting::DeadLetters => self.dead_letters = None,
            Setting::Remember => self.retention_ms = None,
            _ if setting.is_of_groups() => self.groups.take(setting),
            _ => {
                let mut changed = self.call_back.as_deref().cloned().unwrap_or_default();
                changed.take(setting);
                self.call_back = (changed != CallBack::default()).then(|| Arc::new(changed));
            }
        }
    }
}

impl PolicyChange {
    /// Merges `next` into this change, as if it were applied after it.
    pub fn add(&mut self, next: &Self) {
        self.set = self.set.changed(next);
        self.unset.retain(|setting| next.set.value(*setting).is_none());
        self.unset.extend(&next.unset);
    }

    /// Encodes the change.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for setting in Setting::ALL {
            let value = match self.set.value(setting) {
                Some(value) => value,
                None if self.unset.contains(&setting) => Vec::new(),
                None => continue,
            };
            bytes.extend((setting as u16).to_le_bytes());
            bytes.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
            bytes.extend(value);
        }
        bytes
    }

    /// Decodes a change.
    pub fn decode(bytes: &[u8]) -> Result<Self, PolicyError> {
        let (mut change, mut last) = (Self::default(), 0);
        for element in Elements(bytes) {
            let (number, value) = element.map_err(|error| match error {
                AttributeError::Order(number) => PolicyError::Malformed(number),
                _ => PolicyError::Malformed(last),
            })?;
            if number <= last {
                return Err(PolicyError::Malformed(number));
            }
            last = number;
            let setting = Setting::from_u16(number).ok_or(PolicyError::Unsupported(number))?;
            if value.is_empty() {
                change.unset.insert(setting);
            } else {
                change.set.put(setting, value)?;
            }
        }
        Ok(change)
    }
}

impl Late {
    fn value(self) -> Vec<u8> {
        let (action, value) = match self.then {
            LateAction::PerSecond(jobs) => (LATE_PER_SECOND, u64::from(jobs)),
            LateAction::Spread { over_ms } => (LATE_SPREAD, over_ms),
            LateAction::Bury => (LATE_BURY, 0),
            LateAction::Drop => (LATE_DROP, 0),
        };
        let mut bytes = self.after_ms.to_le_bytes().to_vec();
        bytes.push(action);
        bytes.extend(value.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Self, PolicyError> {
        let wrong = PolicyError::OutOfRange { setting: Setting::Late };
        let (after, rest) = bytes.split_first_chunk::<8>().ok_or(wrong)?;
        let (action, value) = rest.split_first().ok_or(wrong)?;
        let (after_ms, value) = (u64::from_le_bytes(*after), read_u64(value).ok_or(wrong)?);
        let then = match *action {
            LATE_PER_SECOND => {
                let jobs = u32::try_from(value).ok().filter(|jobs| (1..=RATE_PER_SECOND_MAX).contains(jobs));
                LateAction::PerSecond(jobs.ok_or(wrong)?)
            }
            LATE_SPREAD if (1..=DELAY_MS_MAX).contains(&value) => LateAction::Spread { over_ms: value },
            LATE_BURY if value == 0 => LateAction::Bury,
            LATE_DROP if value == 0 => LateAction::Drop,
            LATE_SPREAD | LATE_BURY | LATE_DROP => return Err(wrong),
            _ => return Err(PolicyError::Unsupported(Setting::Late as u16)),
        };
        if after_ms <= DELAY_MS_MAX { Ok(Self { after_ms, then }) } else { Err(wrong) }
    }
}

pub(super) fn read_u64(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests;
