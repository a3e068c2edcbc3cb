//! The conditions that select many jobs, in a query or in JSON.

use bytes::Bytes;
use serde::Deserialize;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use super::super::fields::{
    Attempts, Field, Group, JobKey, Text, Time, TimeMs, Topic, either_time, schema, schema_number,
    schema_time_ms,
};
use super::super::problem::Problem;
use adjourn_types::{BuryReason, Filter, JobState, States};

/// Conditions on jobs; a job has to meet all of them.
#[derive(Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields, expecting = "conditions such as {\"topic\": \"orders\"}")]
#[into_params(parameter_in = Query)]
#[schema(as = Filter)]
pub struct FilterJson {
    /// Jobs of this topic.
    #[schema(schema_with = schema::<Topic>)]
    #[param(schema_with = schema::<Topic>, required = false)]
    topic: Option<Field<Topic>>,
    /// Jobs in one of these states. Finished jobs are shown only if they are asked for.
    #[schema(schema_with = schema_states)]
    #[param(schema_with = schema_states, required = false)]
    state: Option<Vec<Field<State>>>,
    /// Jobs that are due at this time or later.
    #[schema(schema_with = schema::<Time>)]
    #[param(schema_with = schema::<Time>, required = false)]
    due_from: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    #[param(schema_with = schema_time_ms, required = false)]
    due_from_ms: Option<TimeMs>,
    /// Jobs that are due before this time.
    #[schema(schema_with = schema::<Time>)]
    #[param(schema_with = schema::<Time>, required = false)]
    due_before: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[schema(schema_with = schema_time_ms)]
    #[param(schema_with = schema_time_ms, required = false)]
    due_before_ms: Option<TimeMs>,
    /// Jobs whose key begins with this text.
    #[schema(schema_with = schema::<JobKey>)]
    #[param(schema_with = schema::<JobKey>, required = false)]
    key_prefix: Option<Field<JobKey>>,
    /// Jobs that were reserved at least this often.
    #[schema(schema_with = schema_number::<0, ATTEMPTS_MAX>)]
    #[param(schema_with = schema_number::<0, ATTEMPTS_MAX>, required = false)]
    attempts_min: Option<Attempts>,
    /// Jobs that were reserved at most this often.
    #[schema(schema_with = schema_number::<0, ATTEMPTS_MAX>)]
    #[param(schema_with = schema_number::<0, ATTEMPTS_MAX>, required = false)]
    attempts_max: Option<Attempts>,
    /// Jobs that are buried for this reason.
    #[schema(inline)]
    #[param(inline)]
    buried: Option<BuriedJson>,
    /// Jobs whose last reason contains this text.
    reason: Option<String>,
    /// Jobs of this group.
    #[schema(schema_with = schema::<Group>)]
    #[param(schema_with = schema::<Group>, required = false)]
    group: Option<Field<Group>>,
}

const ATTEMPTS_MAX: u64 = u32::MAX as u64;

/// Why a job is buried.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Buried)]
pub(super) enum BuriedJson {
    /// A consumer buried it.
    Consumer,
    /// Its attempts are used up.
    Attempts,
    /// It was later than its topic allows.
    Late,
}

/// A state of jobs.
pub(super) enum State {}

/// A text that is not the name of a state.
#[derive(Debug, thiserror::Error)]
#[error("expected delayed, ready, reserved, buried or finished, found {0:?}")]
pub(super) struct StateError(String);

impl Text for State {
    type Value = JobState;
    type Error = StateError;
    const EXPECTED: &'static str = "a state such as \"buried\"";
    const EXAMPLE: &'static str = "delayed";

    fn of_text(text: &str) -> Result<JobState, StateError> {
        let found = States::WITH_FINISHED.iter().find(|state| state.to_string() == text);
        found.ok_or_else(|| StateError(text.to_owned()))
    }
}

fn schema_states() -> RefOr<Schema> {
    let names = States::WITH_FINISHED.iter().map(|state| state.to_string());
    let state = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
    ArrayBuilder::new().items(state).min_items(Some(1)).into()
}

impl FilterJson {
    /// The filter with these conditions.
    ///
    /// # Errors
    ///
    /// If two conditions exclude each other by their form.
    pub fn filter(self) -> Result<Filter, Problem> {
        let states = self.state.map(|states| States::of(states.into_iter().map(|state| state.0)));
        if states.is_some_and(|states| states.iter().next().is_none()) {
            return Err(Problem::at_pointer("/state", "give at least one state, or leave it out for all"));
        }
        Ok(Filter {
            topic: self.topic.map(|topic| topic.0),
            states: states.unwrap_or(States::ALL),
            // What excludes nothing is no condition.
            due_from: either_time("due_from", self.due_from.as_ref(), self.due_from_ms)?
                .filter(|from| from.0 > 0),
            due_before: either_time("due_before", self.due_before.as_ref(), self.due_before_ms)?,
            key_prefix: self.key_prefix.map(|prefix| Bytes::copy_from_slice(prefix.0.as_bytes())),
            attempts_min: self.attempts_min.map(Attempts::narrow).filter(|min| *min > 0),
            attempts_max: self.attempts_max.map(Attempts::narrow).filter(|max| *max < u32::MAX),
            buried: self.buried.map(|why| match why {
                BuriedJson::Consumer => BuryReason::Consumer,
                BuriedJson::Attempts => BuryReason::AttemptsUsedUp,
                BuriedJson::Late => BuryReason::TooLate,
            }),
            reason: self.reason.filter(|reason| !reason.is_empty()),
            group: self.group.map(|group| group.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Millis;

    #[test]
    fn every_condition_reaches_the_filter() {
        let query = concat!(
            r#"{"topic":"orders","state":["buried","finished"],"due_from":"1970-01-01T00:00:01Z","due_before_ms":2000,"#,
            r#""key_prefix":"o-","attempts_min":1,"attempts_max":2,"buried":"attempts","reason":"x","group":"ann"}"#
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
            group: Some("ann".parse().expect("a group")),
        };
        assert_eq!(json.filter().expect("a filter"), expected);
        let none: FilterJson = serde_json::from_str("{}").expect("a filter");
        assert_eq!(none.filter().expect("a filter"), Filter::default());
        let no_state: FilterJson = serde_json::from_str(r#"{"state":[]}"#).expect("a filter");
        assert!(no_state.filter().is_err());
        assert!(State::of_text("asleep").is_err());
    }
}
