//! The settings of a topic as a form: each with what it means.

use super::texts::text;
use adjourn_http::{Pairs, Place, Problem};
use adjourn_json::{NONE, defaults_text, setting_change, settings_text};
use adjourn_protocol::TopicSettings;
use adjourn_types::{PolicyChange, Setting, SettingForm};

/// The prefix of a field with a setting, and of the hidden field with the value that the page showed.
const NEW: &str = "set.";
const OLD: &str = "was.";

/// Settings that belong together.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) fields: Vec<SettingField>,
}

/// A setting.
pub(crate) struct SettingField {
    pub(crate) name: &'static str,
    /// Empty if it is not set.
    pub(crate) value: String,
    /// What counts then.
    pub(crate) default: String,
    pub(crate) meaning: &'static str,
    pub(crate) is_flag: bool,
    pub(crate) is_long: bool,
}

/// All settings of a topic.
pub(crate) fn groups(settings: &TopicSettings) -> Vec<Group> {
    let set: Vec<(&str, String)> = settings_text(&settings.policy).collect();
    let defaults: Vec<(&str, String)> = defaults_text(settings).collect();
    let value = |of: &[(&str, String)], name: &str| {
        of.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let mut groups: Vec<Group> = Vec::new();
    for setting in Setting::ALL {
        let (title, meaning) = explained(setting);
        let name = setting.name();
        let field = SettingField {
            name,
            value: value(&set, name),
            default: value(&defaults, name),
            meaning,
            is_flag: setting.form() == SettingForm::Flag,
            is_long: matches!(setting, Setting::CallBackHeaders | Setting::CallBackBody),
        };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.fields.push(field),
            None => groups.push(Group { title, fields: vec![field] }),
        }
    }
    groups
}

/// The change of one setting. An empty value takes it away.
///
/// # Errors
///
/// If there is no such setting, or the value is not one of it.
pub(crate) fn change(name: &str, value: &str) -> Result<PolicyChange, Problem> {
    let setting = Setting::ALL.into_iter().find(|setting| setting.name() == name);
    let setting = setting.ok_or_else(|| wrong(name, "there is no such setting: load the page again"))?;
    let value = value.replace("\r\n", "\n");
    let value = if value.is_empty() { NONE } else { &value };
    setting_change(setting, value).map_err(|error| wrong(name, &error.to_string()))
}

/// The changes of a form: the fields that differ from what the page showed.
///
/// # Errors
///
/// If there are none, or one is not valid.
pub(crate) fn changes(fields: &Pairs) -> Result<PolicyChange, Problem> {
    let mut all = PolicyChange::default();
    let mut changed = false;
    for setting in Setting::ALL {
        let name = setting.name();
        // A box that is not ticked is not sent.
        let (new, old) = (fields.first(&format!("{NEW}{name}")), fields.first(&format!("{OLD}{name}")));
        if fields.has(&format!("{OLD}{name}")) && new.replace("\r\n", "\n") != old.replace("\r\n", "\n") {
            all.add(&change(name, new)?);
            changed = true;
        }
    }
    if changed {
        Ok(all)
    } else {
        Err(Problem::malformed("nothing differs from what is set: change a setting first"))
    }
}

fn wrong(name: &str, detail: &str) -> Problem {
    Problem::at(Place::Parameter(name.to_owned()), detail)
}

/// The part of the form that a setting belongs to, and what it means.
fn explained(setting: Setting) -> (&'static str, &'static str) {
    const DEFAULTS: &str = text("Defaults for new jobs");
    const LIMITS: &str = text("Limits");
    const ENDS: &str = text("Late, failed and finished jobs");
    const CALL_BACKS: &str = text("Call-backs");
    const GROUPS: &str = text("Groups");
    match setting {
        Setting::Ttr => (DEFAULTS, text("How long a consumer may hold a job, for example 30s")),
        Setting::Priority => (DEFAULTS, text("A lower number is delivered first")),
        Setting::AttemptsMax => (DEFAULTS, text("A job is buried after this many failed attempts")),
        Setting::Backoff => (DEFAULTS, text("Waits between attempts: 10s,1m,5m or 1s..10m")),
        Setting::ExpiresAfter => (DEFAULTS, text("Drop a job this long after it was due")),
        Setting::JobsMax => (LIMITS, text("Refuse pushes while the topic has this many jobs")),
        Setting::BytesMax => (LIMITS, text("Refuse pushes while the bodies have this many bytes")),
        Setting::BodyMax => (LIMITS, text("Refuse larger bodies, in bytes")),
        Setting::LeasesMax => (LIMITS, text("Jobs that consumers may hold at the same time")),
        Setting::Rate => (LIMITS, text("Jobs to deliver in a second")),
        Setting::Late => (
            ENDS,
            text("What happens to jobs that are too late: 1h:drop, 1h:bury, 1h:spread=2h or 1h:rate=50"),
        ),
        Setting::DeadLetters => (ENDS, text("Move jobs to this topic instead of burying them")),
        Setting::Remember => (ENDS, text("How long finished jobs and their keys are remembered")),
        Setting::CallBackUrl => {
            (CALL_BACKS, text("URL to call when a job is due. {id}, {key} and {body.form} are filled in"))
        }
        Setting::CallBackMethod => (CALL_BACKS, text("GET, POST, PUT, PATCH or DELETE; POST if not set")),
        Setting::CallBackHeaders => (CALL_BACKS, text("Headers to send, a line for each")),
        Setting::CallBackBody => (CALL_BACKS, text("Body to send instead of the job's")),
        Setting::CallBackTimeout => (CALL_BACKS, text("How long a call may take; 10s if not set")),
        Setting::CallBackConcurrency => (CALL_BACKS, text("Calls at the same time; 16 if not set")),
        Setting::CallBackRate => (CALL_BACKS, text("Calls in a second")),
        Setting::CallBackSecrets => {
            (CALL_BACKS, text("Sign calls with the secrets that the servers have under this name"))
        }
        Setting::CallBackRefused => {
            (CALL_BACKS, text("What a status of 4xx does to the job: bury (if not set) or retry"))
        }
        Setting::CallBackRetryIf => {
            (CALL_BACKS, text("Try again if this is true for the reply, for example {res.code} != 200"))
        }
        Setting::CallBackSuccess => (CALL_BACKS, text("When a call succeeded: status (if not set) or reply")),
        Setting::CallBackOfJob => (CALL_BACKS, text("Let a job name the URL in its header call-back")),
        Setting::CallBackLog => (CALL_BACKS, text("How long attempts can be looked up; 7d if not set")),
        Setting::CallBackPaused => (CALL_BACKS, text("Make no calls")),
        Setting::CallBackDelay => (CALL_BACKS, text("Delay of jobs from php-delayqueue without a time")),
        Setting::Fair => (GROUPS, text("Let the groups of its jobs take turns")),
        Setting::GroupLeasesMax => {
            (GROUPS, text("Jobs of one group that consumers may hold at the same time"))
        }
        Setting::GroupRate => (GROUPS, text("Jobs of one group to deliver in a second")),
        Setting::GroupBurst => (GROUPS, text("How many of them at once; a tenth of the rate if not set")),
        Setting::GroupOrder => (GROUPS, text("fifo: one job of a group at a time, in order")),
        Setting::GroupOnBury => (
            GROUPS,
            text("With fifo, whether a buried job stops those behind it: block (if not set) or continue"),
        ),
    }
}
