//! The conditions that select many jobs, in a query or in JSON.

use bytes::Bytes;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::super::fields::{Field, Number, Time, Topic, schema};
use adjourn_types::{BuryReason, Filter, JobState, States};

/// Conditions on jobs; a job has to meet all of them.
#[derive(Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FilterJson {
    /// Jobs of this topic.
    #[schema(schema_with = schema::<Topic>)]
    #[param(schema_with = schema::<Topic>)]
    topic: Option<Field<Topic>>,
    /// Jobs in one of these states, with commas between: delayed, ready, reserved, buried, finished. Finished ones are shown only if
    /// they are asked for.
    #[param(example = "delayed,ready")]
    state: Option<String>,
    /// Jobs that are due at this time or later.
    #[schema(schema_with = schema::<Time>)]
    #[param(schema_with = schema::<Time>)]
    due_from: Option<Field<Time>>,
    /// Jobs that are due before this time.
    #[schema(schema_with = schema::<Time>)]
    #[param(schema_with = schema::<Time>)]
    due_before: Option<Field<Time>>,
    /// Jobs whose key begins with this text.
    key_prefix: Option<String>,
    /// Jobs that were reserved at least this often.
    #[schema(value_type = Option<u32>)]
    #[param(value_type = Option<u32>)]
    attempts_min: Option<Field<Number>>,
    /// Jobs that were reserved at most this often.
    #[schema(value_type = Option<u32>)]
    #[param(value_type = Option<u32>)]
    attempts_max: Option<Field<Number>>,
    /// Jobs that are buried for this reason.
    #[schema(inline)]
    #[param(inline)]
    buried: Option<BuriedJson>,
    /// Jobs whose last reason contains this text.
    reason: Option<String>,
}

/// Why a job is buried.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum BuriedJson {
    /// A consumer buried it.
    Consumer,
    /// Its attempts are used up.
    Attempts,
    /// It was later than its topic allows.
    Late,
}

/// A text that is not the name of a state.
#[derive(Debug, thiserror::Error)]
#[error("state: expected delayed, ready, reserved, buried or finished, with commas between, found {0:?}")]
pub(super) struct StateError(String);

impl FilterJson {
    /// The filter with these conditions.
    pub(super) fn filter(self) -> Result<Filter, StateError> {
        let states = self.state.as_deref().map(states).transpose()?;
        Ok(Filter {
            topic: self.topic.map(|topic| topic.0),
            states: states.unwrap_or(States::ALL),
            due_from: self.due_from.map(|at| at.0),
            due_before: self.due_before.map(|at| at.0),
            key_prefix: self.key_prefix.map(Bytes::from),
            attempts_min: self.attempts_min.map(|attempts| attempts.0),
            attempts_max: self.attempts_max.map(|attempts| attempts.0),
            buried: self.buried.map(|why| match why {
                BuriedJson::Consumer => BuryReason::Consumer,
                BuriedJson::Attempts => BuryReason::AttemptsUsedUp,
                BuriedJson::Late => BuryReason::TooLate,
            }),
            reason: self.reason,
        })
    }
}

fn states(text: &str) -> Result<States, StateError> {
    let state = |name: &str| {
        let found = States::WITH_FINISHED.iter().find(|state| state.to_string() == name);
        found.ok_or_else(|| StateError(name.to_owned()))
    };
    text.split(',').map(|name| state(name.trim())).collect::<Result<Vec<JobState>, _>>().map(States::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Millis;

    #[test]
    fn every_condition_reaches_the_filter() {
        let query = concat!(
            r#"{"topic":"orders","state":"buried, finished","due_from":"1970-01-01T00:00:01Z","due_before":"1970-01-01T00:00:02Z","#,
            r#""key_prefix":"o-","attempts_min":1,"attempts_max":2,"buried":"attempts","reason":"x"}"#
        );
        let json: FilterJson = serde_json::from_str(query).expect("a filter");
        let expected = Filter {
            topic: Some("orders".parse().expect("a name")),
            states: States::of([JobState::Buried, JobState::Finished]),
            due_from: Some(Millis(1000)),
            due_before: Some(Millis(2000)),
            key_prefix: Some("o-".into()),
            attempts_min: Some(1),
            attempts_max: Some(2),
            buried: Some(BuryReason::AttemptsUsedUp),
            reason: Some("x".to_owned()),
        };
        assert_eq!(json.filter().expect("a filter"), expected);
        let none: FilterJson = serde_json::from_str("{}").expect("a filter");
        assert_eq!(none.filter().expect("a filter"), Filter::default());
        assert!(states("asleep").is_err());
    }
}
