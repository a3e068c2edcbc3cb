//! A topic's policy as text: each setting as `adjourn topic set` takes it, and as JSON shows it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::values::{ValueError, backoff, backoff_text, delay_ms, spelled, ttr_ms};
use adjourn_protocol::TopicSettings;
use adjourn_types::limits::RATE_PER_SECOND_MAX;
use adjourn_types::{
    CallBack, Late, LateAction, NameError, PolicyChange, PolicyError, RetryDefaults, Setting, SettingForm,
    TopicName, TopicPolicy,
};

/// A topic: its counts and its settings.
#[derive(Serialize, ToSchema)]
#[schema(as = TopicSettings)]
pub struct TopicSettingsJson<'a> {
    /// The topic.
    pub topic: &'a str,
    /// Whether its jobs are not delivered.
    pub paused: bool,
    /// How long that lasts, in milliseconds, if it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_left_ms: Option<u64>,
    /// How many jobs it has that are not finished.
    pub count: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// What is set.
    pub settings: SettingsJson,
    /// The server's defaults for what is not set.
    pub defaults: SettingsJson,
}

/// Settings of a topic by name: durations in milliseconds, under names that end in `_ms`, numbers, `true`, and texts. In a
/// change, `null` takes a setting away, and a duration may be a text under the name without `_ms`.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct SettingsJson(BTreeMap<String, Value>);

/// Why something is not a value of a setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// Not the name of a setting.
    #[error("there is no such setting: GET /v1/openapi.json lists them")]
    Unknown,
    /// JSON of another type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// What the setting has.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Not a number.
    #[error("expected none, or a whole number without a unit, from {} to {}", .0.start(), .0.end())]
    Number(RangeInclusive<u64>),
    /// Not a rule for late jobs.
    #[error(
        "expected a time and what happens to jobs that are later: 1h:drop, 1h:bury, 1h:spread=2h or 1h:rate=50"
    )]
    Late,
    /// Not a value that this setting can have.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Not a duration or a backoff.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Not a topic.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// The text that removes a setting.
pub const NONE: &str = "none";

impl<'a> TopicSettingsJson<'a> {
    /// Settings as `adjourn topic show --json` prints them.
    pub fn of(topic: &'a str, settings: &TopicSettings) -> Self {
        let TopicSettings { policy, paused, pause_left_ms, jobs, bytes, .. } = settings;
        let pause_left_ms = Some(*pause_left_ms).filter(|left_ms| *left_ms > 0);
        let (of_topic, defaults) = (SettingsJson::of(policy), SettingsJson::of(&default_policy(settings)));
        Self {
            topic,
            paused: *paused,
            pause_left_ms,
            count: *jobs,
            bytes: *bytes,
            settings: of_topic,
            defaults,
        }
    }
}

impl SettingsJson {
    /// The settings of a policy.
    pub fn of(policy: &TopicPolicy) -> Self {
        let settings = policy.settings();
        Self(settings.filter_map(|setting| Some((json_name(setting), value(setting, policy)?))).collect())
    }
}

/// The name of a setting in JSON, with the unit of a duration.
fn json_name(setting: Setting) -> String {
    match setting.form() {
        SettingForm::Duration(_) => format!("{}_ms", setting.name()),
        SettingForm::Number(_) | SettingForm::Flag | SettingForm::Text => setting.name().to_owned(),
    }
}

fn value(setting: Setting, policy: &TopicPolicy) -> Option<Value> {
    match setting.form() {
        SettingForm::Flag => Some(Value::Bool(true)),
        SettingForm::Text => setting_text(setting, policy).map(Value::String),
        SettingForm::Duration(_) | SettingForm::Number(_) => {
            let bytes = policy.value(setting)?.into_iter().rev();
            Some(bytes.fold(0_u64, |number, byte| number << 8 | u64::from(byte)).into())
        }
    }
}

/// The change that gives a setting this value in JSON; `null` removes it.
pub fn setting_of_json(name: &str, value: &Value) -> Result<PolicyChange, SettingError> {
    let named = |setting: &Setting| setting.name() == name || json_name(*setting) == name;
    let setting = Setting::ALL.into_iter().find(named).ok_or(SettingError::Unknown)?;
    let text = match (setting.form(), value) {
        (_, Value::Null) | (SettingForm::Flag, Value::Bool(false)) => NONE.to_owned(),
        (SettingForm::Duration(_), Value::Number(millis)) if name.ends_with("_ms") && millis.is_u64() => {
            format!("{millis}ms")
        }
        (SettingForm::Duration(_), Value::String(text)) if !name.ends_with("_ms") => text.clone(),
        (SettingForm::Number(_), Value::Number(number)) if number.is_u64() => number.to_string(),
        (SettingForm::Flag, Value::Bool(true)) => "true".to_owned(),
        (SettingForm::Text, Value::String(text)) => text.clone(),
        (form, found) => return Err(wrong_type(setting, &form, name, found)),
    };
    setting_change(setting, &text)
}

fn wrong_type(setting: Setting, form: &SettingForm, name: &str, found: &Value) -> SettingError {
    let expected = match form {
        SettingForm::Duration(_) if name.ends_with("_ms") => "a whole number of milliseconds".to_owned(),
        SettingForm::Duration(_) => format!("a text such as \"30s\", or {}_ms with a number", setting.name()),
        SettingForm::Number(range) => format!("a whole number from {} to {}", range.start(), range.end()),
        SettingForm::Flag => "true, false or null".to_owned(),
        SettingForm::Text => "a text".to_owned(),
    };
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    SettingError::Type { expected, found }
}

impl PartialSchema for SettingsJson {
    fn schema() -> RefOr<Schema> {
        let mut object = ObjectBuilder::new().description(Some(
            "Settings of a topic. In a change, `null` takes a setting away, and what is not named stays as it is.",
        ));
        for setting in Setting::ALL {
            let typed = |of: Type| ObjectBuilder::new().schema_type(SchemaType::from_iter([of, Type::Null]));
            let schema = match setting.form() {
                SettingForm::Duration(range) | SettingForm::Number(range) => {
                    let number = typed(Type::Integer).minimum(Some(*range.start()));
                    // JSON's integers are exact up to 2^53.
                    if *range.end() < 1 << 53 { number.maximum(Some(*range.end())) } else { number }
                }
                SettingForm::Flag => typed(Type::Boolean),
                SettingForm::Text => typed(Type::String),
            };
            object = object.property(json_name(setting), schema);
            if let SettingForm::Duration(_) = setting.form() {
                let text =
                    typed(Type::String).description(Some("The same as a text, for example 30s; never shown"));
                object = object.property(setting.name(), text);
            }
        }
        object.into()
    }
}

impl ToSchema for SettingsJson {
    fn name() -> Cow<'static, str> {
        "Settings".into()
    }
}

/// The queue's defaults for what a topic does not set, each by its setting's name.
pub fn defaults_text(settings: &TopicSettings) -> impl Iterator<Item = (&'static str, String)> {
    settings_text(&default_policy(settings)).collect::<Vec<_>>().into_iter()
}

fn default_policy(settings: &TopicSettings) -> TopicPolicy {
    let RetryDefaults { attempts_max, backoff } = settings.defaults.clone();
    TopicPolicy { attempts_max, backoff, ..TopicPolicy::default() }
}

/// The settings of a policy, each by its name.
pub fn settings_text(policy: &TopicPolicy) -> impl Iterator<Item = (&'static str, String)> {
    policy.settings().filter_map(|setting| Some((setting.name(), setting_text(setting, policy)?)))
}

/// The change that gives a setting this value; `none` removes it.
pub fn setting_change(setting: Setting, text: &str) -> Result<PolicyChange, SettingError> {
    let mut change = PolicyChange::default();
    if text == NONE {
        change.unset.insert(setting);
        return Ok(change);
    }
    let set = &mut change.set;
    match setting {
        Setting::Ttr => set.ttr_ms = Some(ttr_ms(text)?),
        Setting::Priority => set.priority = Some(number(setting, text)?),
        Setting::AttemptsMax => set.attempts_max = Some(number(setting, text)?),
        Setting::Backoff => set.backoff = Some(backoff(text)?),
        Setting::ExpiresAfter => set.expires_after_ms = Some(delay_ms(text)?),
        Setting::JobsMax => set.jobs_max = Some(number(setting, text)?),
        Setting::BytesMax => set.bytes_max = Some(number(setting, text)?),
        Setting::BodyMax => set.body_bytes_max = Some(number(setting, text)?),
        Setting::LeasesMax => set.leases_max = Some(number(setting, text)?),
        Setting::Rate => set.per_second_max = Some(number(setting, text)?),
        Setting::Late => set.late = Some(late(text)?),
        Setting::DeadLetters => set.dead_letters = Some(text.parse::<TopicName>()?),
        Setting::Remember => set.retention_ms = Some(delay_ms(text)?),
        Setting::GroupLeasesMax => set.groups.leases_max = Some(number(setting, text)?),
        Setting::GroupRate => set.groups.per_second_max = Some(number(setting, text)?),
        Setting::GroupBurst => set.groups.burst = Some(number(setting, text)?),
        _ => set.put(setting, &encoded(setting, text)?)?,
    }
    if let Some(value) = set.value(setting) {
        // The bounds are those of the queue.
        set.put(setting, &value)?;
    }
    Ok(change)
}

/// Encodes a setting of call-backs, a flag or a text.
fn encoded(setting: Setting, text: &str) -> Result<Vec<u8>, SettingError> {
    Ok(match setting {
        // The bounds are checked later, as those of all settings.
        Setting::CallBackTimeout => u32::try_from(delay_ms(text)?).unwrap_or(u32::MAX).to_le_bytes().to_vec(),
        Setting::CallBackConcurrency | Setting::CallBackRate => {
            number::<u32>(setting, text)?.to_le_bytes().to_vec()
        }
        Setting::CallBackLog | Setting::CallBackDelay => delay_ms(text)?.to_le_bytes().to_vec(),
        Setting::CallBackOfJob | Setting::CallBackPaused | Setting::Fair if text == "true" => vec![1],
        _ => text.as_bytes().to_vec(),
    })
}

/// A setting of call-backs in the form that [`setting_change`] accepts.
fn call_back_text(setting: Setting, call_back: &CallBack) -> Option<String> {
    let duration = |millis: u64| spelled(millis).replace(' ', "");
    match setting {
        Setting::CallBackUrl => call_back.url.clone(),
        Setting::CallBackMethod => call_back.method.map(|method| method.name().to_owned()),
        Setting::CallBackHeaders => call_back.headers.clone(),
        Setting::CallBackBody => call_back.body.clone(),
        Setting::CallBackTimeout => call_back.timeout_ms.map(|timeout_ms| duration(timeout_ms.into())),
        Setting::CallBackConcurrency => call_back.concurrency.map(|calls| calls.to_string()),
        Setting::CallBackRate => call_back.per_second_max.map(|calls| calls.to_string()),
        Setting::CallBackSecrets => call_back.secrets.clone(),
        Setting::CallBackRefused => call_back.refused.map(|refused| refused.name().to_owned()),
        Setting::CallBackRetryIf => call_back.retry_if.clone(),
        Setting::CallBackSuccess => call_back.success.map(|success| success.name().to_owned()),
        Setting::CallBackOfJob => call_back.of_job.then(|| "true".to_owned()),
        Setting::CallBackLog => call_back.log_ms.map(duration),
        Setting::CallBackPaused => call_back.paused.then(|| "true".to_owned()),
        Setting::CallBackDelay => call_back.delay_ms.map(duration),
        _ => None,
    }
}

fn number<T: TryFrom<u64>>(setting: Setting, text: &str) -> Result<T, SettingError> {
    let out_of_range = PolicyError::OutOfRange { setting };
    let SettingForm::Number(range) = setting.form() else { return Err(out_of_range.into()) };
    let number: u64 = text.parse().map_err(|_| SettingError::Number(range))?;
    T::try_from(number).map_err(|_| out_of_range.into())
}

fn late(text: &str) -> Result<Late, SettingError> {
    let (after, action) = text.split_once(':').ok_or(SettingError::Late)?;
    let after_ms = delay_ms(after).map_err(|_| SettingError::Late)?;
    let then = match action.split_once('=') {
        None if action == "drop" => LateAction::Drop,
        None if action == "bury" => LateAction::Bury,
        Some(("spread", over)) => {
            let over_ms = delay_ms(over).ok().filter(|over_ms| *over_ms > 0);
            LateAction::Spread { over_ms: over_ms.ok_or(SettingError::Late)? }
        }
        Some(("rate", jobs)) => {
            let jobs = jobs.parse().ok().filter(|jobs| (1..=RATE_PER_SECOND_MAX).contains(jobs));
            LateAction::PerSecond(jobs.ok_or(SettingError::Late)?)
        }
        _ => return Err(SettingError::Late),
    };
    Ok(Late { after_ms, then })
}

/// A setting in the form that [`setting_change`] accepts.
fn setting_text(setting: Setting, policy: &TopicPolicy) -> Option<String> {
    let duration = |millis: u64| spelled(millis).replace(' ', "");
    match setting {
        Setting::Ttr => policy.ttr_ms.map(|ttr_ms| duration(ttr_ms.into())),
        Setting::Priority => policy.priority.map(|priority| priority.to_string()),
        Setting::AttemptsMax => policy.attempts_max.map(|attempts| attempts.to_string()),
        Setting::Backoff => policy.backoff.as_ref().map(backoff_text),
        Setting::ExpiresAfter => policy.expires_after_ms.map(duration),
        Setting::JobsMax => policy.jobs_max.map(|jobs| jobs.to_string()),
        Setting::BytesMax => policy.bytes_max.map(|bytes| bytes.to_string()),
        Setting::BodyMax => policy.body_bytes_max.map(|bytes| bytes.to_string()),
        Setting::LeasesMax => policy.leases_max.map(|leases| leases.to_string()),
        Setting::Rate => policy.per_second_max.map(|jobs| jobs.to_string()),
        Setting::Late => policy.late.map(|late| {
            let then = match late.then {
                LateAction::Drop => "drop".to_owned(),
                LateAction::Bury => "bury".to_owned(),
                LateAction::Spread { over_ms } => format!("spread={}", duration(over_ms)),
                LateAction::PerSecond(jobs) => format!("rate={jobs}"),
            };
            format!("{}:{then}", duration(late.after_ms))
        }),
        Setting::DeadLetters => policy.dead_letters.as_ref().map(ToString::to_string),
        Setting::Remember => policy.retention_ms.map(duration),
        Setting::Fair => policy.groups.fair.then(|| "true".to_owned()),
        Setting::GroupLeasesMax => policy.groups.leases_max.map(|leases| leases.to_string()),
        Setting::GroupRate => policy.groups.per_second_max.map(|jobs| jobs.to_string()),
        Setting::GroupBurst => policy.groups.burst.map(|jobs| jobs.to_string()),
        Setting::GroupOrder | Setting::GroupOnBury => {
            policy.value(setting).and_then(|value| String::from_utf8(value).ok())
        }
        _ => call_back_text(setting, policy.call_back.as_deref()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shown_as_it_is_taken(setting: Setting, text: &str) {
        let change = setting_change(setting, text).expect(text);
        assert_eq!(setting_text(setting, &change.set).as_deref(), Some(text));
        let json = value(setting, &change.set).expect("a value");
        assert_eq!(setting_of_json(&json_name(setting), &json).expect("JSON"), change, "{json}");
        let none = setting_change(setting, NONE).expect("none");
        assert!(none.set.is_empty() && none.unset.contains(&setting));
    }

    #[test]
    fn a_setting_of_groups_is_shown_as_it_is_taken() {
        for (setting, text) in [
            (Setting::Fair, "true"),
            (Setting::GroupLeasesMax, "2"),
            (Setting::GroupRate, "10"),
            (Setting::GroupBurst, "5"),
            (Setting::GroupOrder, "fifo"),
            (Setting::GroupOnBury, "continue"),
        ] {
            is_shown_as_it_is_taken(setting, text);
        }
        for (setting, wrong) in
            [(Setting::GroupOrder, "lifo"), (Setting::GroupOnBury, "skip"), (Setting::Fair, "no")]
        {
            assert!(setting_change(setting, wrong).is_err(), "{setting} {wrong}");
        }
    }

    #[test]
    fn a_setting_is_shown_as_it_is_taken() {
        for (setting, text) in [
            (Setting::Ttr, "30s"),
            (Setting::Priority, "7"),
            (Setting::AttemptsMax, "5"),
            (Setting::Backoff, "10s,30s,1m"),
            (Setting::ExpiresAfter, "1d"),
            (Setting::JobsMax, "1000000"),
            (Setting::BytesMax, "1073741824"),
            (Setting::BodyMax, "4096"),
            (Setting::LeasesMax, "16"),
            (Setting::Rate, "100"),
            (Setting::Late, "1h:drop"),
            (Setting::Late, "1m30s:bury"),
            (Setting::Late, "0s:spread=2h"),
            (Setting::Late, "10m:rate=50"),
            (Setting::DeadLetters, "failed"),
            (Setting::Remember, "7d"),
            (Setting::CallBackUrl, "https://shop.example/due/{id}"),
            (Setting::CallBackMethod, "PUT"),
            (Setting::CallBackHeaders, "X-Key: {key}\nX-Attempt: {attempt}"),
            (Setting::CallBackBody, "{body.form}"),
            (Setting::CallBackTimeout, "3s"),
            (Setting::CallBackConcurrency, "16"),
            (Setting::CallBackRate, "50"),
            (Setting::CallBackSecrets, "shop"),
            (Setting::CallBackRefused, "retry"),
            (Setting::CallBackRetryIf, "{res.code} != 200"),
            (Setting::CallBackSuccess, "reply"),
            (Setting::CallBackOfJob, "true"),
            (Setting::CallBackLog, "1d"),
            (Setting::CallBackPaused, "true"),
            (Setting::CallBackDelay, "5m"),
        ] {
            is_shown_as_it_is_taken(setting, text);
        }
        for text in ["", "1h", "drop", "1h:", "1h:burn", "1h:spread", "1h:spread=0s", "1h:rate=0", "x:drop"] {
            assert!(setting_change(Setting::Late, text).is_err(), "{text}");
        }
        assert!(setting_change(Setting::Rate, "-1").is_err());
        for (name, value, told) in [
            ("rate", Value::from(-1), "expected a whole number from 1 to 1000000, found the number -1"),
            ("rate", Value::from(1.0), "expected a whole number from 1 to 1000000, found the number 1.0"),
            ("rate", Value::from("none"), "expected a whole number from 1 to 1000000, found a text"),
            ("call_back_timeout", Value::from("0s"), "must be 100 ms to 5 minutes"),
            ("call_back_timeout_ms", Value::from(400_000), "must be 100 ms to 5 minutes"),
        ] {
            let error = setting_of_json(name, &value).expect_err(name).to_string();
            assert!(error.ends_with(told), "{error}");
        }
        for (text, told) in [
            ("-1", "expected none, or a whole number without a unit, from 1 to 1000000"),
            ("10k", "expected none, or a whole number without a unit, from 1 to 1000000"),
            ("0", "rate of a topic must be 1 to 1000000"),
            ("5000000000", "rate of a topic must be 1 to 1000000"),
        ] {
            let error = setting_change(Setting::Rate, text).expect_err(text).to_string();
            assert!(error.starts_with(told), "{text}: {error}");
        }
    }
}
