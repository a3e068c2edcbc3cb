//! The options that select many jobs.

use bytes::Bytes;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use crate::usage::whole;
use adjourn_json::values::time_of_people;
use adjourn_types::{BuryReason, Filter, GroupName, JobState, Millis, States, TopicName};

/// The conditions that a job has to meet.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which jobs")]
pub(crate) struct FilterArgs {
    /// Jobs of this topic
    #[arg(long)]
    topic: Option<TopicName>,
    /// Jobs in one of these states
    #[arg(long, value_name = "STATE", value_enum, value_delimiter = ',')]
    state: Vec<State>,
    /// Jobs that are due at this time (RFC 3339) or later
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    due_from: Option<Millis>,
    /// Jobs that are due before this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = time_of_people)]
    due_before: Option<Millis>,
    /// Jobs whose key starts with this text
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    key_prefix: Option<String>,
    /// Jobs that were reserved at least this often
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX))]
    attempts_min: Option<u32>,
    /// Jobs that were reserved at most this often
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX))]
    attempts_max: Option<u32>,
    /// Jobs that are buried for this reason
    #[arg(long, value_name = "WHY", value_enum)]
    buried: Option<Buried>,
    /// Jobs whose last reason contains this text
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Jobs of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<GroupName>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Delayed,
    Ready,
    Reserved,
    Buried,
    /// Finished, and remembered; only if asked for
    Finished,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Buried {
    /// A consumer buried them
    Consumer,
    /// Their attempts are used up
    Attempts,
    /// They were later than their topic allows
    Late,
}

impl FilterArgs {
    /// The filter with these conditions.
    pub(crate) fn filter(&self) -> Filter {
        let states = self.state.iter().map(|state| match state {
            State::Delayed => JobState::Delayed,
            State::Ready => JobState::Ready,
            State::Reserved => JobState::Reserved,
            State::Buried => JobState::Buried,
            State::Finished => JobState::Finished,
        });
        Filter {
            topic: self.topic.clone(),
            states: if self.state.is_empty() { States::ALL } else { States::of(states) },
            due_from: self.due_from,
            due_before: self.due_before,
            key_prefix: self.key_prefix.clone().map(Bytes::from),
            attempts_min: self.attempts_min,
            attempts_max: self.attempts_max,
            buried: self.buried.map(|why| match why {
                Buried::Consumer => BuryReason::Consumer,
                Buried::Attempts => BuryReason::AttemptsUsedUp,
                Buried::Late => BuryReason::TooLate,
            }),
            reason: self.reason.clone(),
            group: self.group.clone(),
        }
    }
}
