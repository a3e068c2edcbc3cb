//! How the queue's values are written for people and scripts: durations and times as text, answers as JSON.
//!
//! The command line and HTTP share it, so that both print a job alike. Scripts rely on the JSON: fields may be added, but
//! their meaning never changes. It knows no connection and no clock.

mod cluster;
mod connection;
mod exported;
mod groups;
mod job;
mod policy;
mod schedule;
mod stats;
pub mod values;

pub use cluster::{ClusterJson, MemberJson, compared, id_text, lag, matched, role_text};
pub use connection::ConnectionJson;
pub use exported::ExportedJson;
pub use groups::{GroupJson, ReasonJson};
pub use job::{
    BodyJson, BodyValue, ChangedJson, DeliveredJson, DetailsJson, FinishedJson, HeaderJson, JobJson,
    ReportJson, media_type, state_text,
};
pub use policy::{
    NONE, SettingError, SettingsJson, TopicSettingsJson, defaults_text, setting_change, setting_of_json,
    settings_text,
};
pub use schedule::{
    FiringJson, ScheduleJobJson, ScheduleJson, ScheduleRulesJson, dst_name, missed_name, overlap_name,
};
pub use stats::{PausableJson, StageJson, StatsJson, TopicJson, TotalsJson};
