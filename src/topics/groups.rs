//! `adjourn groups` and `group`: the groups of a topic's jobs.

use clap::{Args, Subcommand};

use crate::connection::{ServerArgs, Session};
use crate::exit::Failure;
use crate::output::table::aligned;
use crate::output::{print, write_json};
use crate::usage::whole;
use adjourn_json::GroupJson;
use adjourn_json::values::{spelled, time_text};
use adjourn_protocol::GroupReport;
use adjourn_types::limits::GROUP_WEIGHT_MAX;
use adjourn_types::{GroupName, TopicName, Why};

const GROUPS_EXAMPLE: &str = "\
Lists the groups that have a job that is ready or reserved, or settings, by name. HOLD says what holds a group back.

Example:
  adjourn groups imports
  adjourn groups imports --prefix tenant-
  adjourn groups imports --json | jq -r 'select(.ready > 1000) | .group'";

/// What `adjourn groups` is told.
#[derive(Debug, Args)]
#[command(after_help = GROUPS_EXAMPLE)]
pub(crate) struct GroupsArgs {
    /// The topic
    topic: TopicName,
    /// Only groups whose names begin with this
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Print a JSON object per group
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

const GROUP_EXAMPLES: &str = "\
The topic must have a setting of groups, such as `adjourn topic set TOPIC --fair true`.

Examples:
  adjourn group set imports tenant-7 --weight 5
  adjourn group pause imports tenant-7
  adjourn group resume imports tenant-7";

/// `adjourn group`.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum GroupCommand {
    /// Change the weight of a group
    Set(SetArgs),
    /// Stop delivery of a group's jobs
    Pause(PauseArgs),
    /// Restart delivery of a group's jobs
    Resume(ResumeArgs),
}

const SET_EXAMPLE: &str = "\
A group with weight 5 gets five turns where another one gets one, also of jobs that wait already. The default is 1.

Example:
  adjourn group set imports tenant-7 --weight 5
  adjourn group set imports tenant-7 --weight 1";

/// What `adjourn group set` is told.
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLE)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    group: GroupArgs,
    /// How many jobs it gives at a turn, up to 1000
    #[arg(long, value_name = "N", value_parser = whole(1..=GROUP_WEIGHT_MAX))]
    weight: u32,
}

const PAUSE_EXAMPLE: &str = "\
Jobs of the group can still be pushed and become ready; they are not delivered until `adjourn group resume`.

Example:
  adjourn group pause imports tenant-7";

/// What `adjourn group pause` is told.
#[derive(Debug, Args)]
#[command(after_help = PAUSE_EXAMPLE)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    group: GroupArgs,
}

const RESUME_EXAMPLE: &str = "\
Example:
  adjourn group resume imports tenant-7";

/// What `adjourn group resume` is told.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLE)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    group: GroupArgs,
}

#[derive(Debug, Args)]
struct GroupArgs {
    /// The topic
    topic: TopicName,
    /// The group
    group: GroupName,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn groups`.
pub(crate) fn list(args: &GroupsArgs) -> Result<(), Failure> {
    let GroupsArgs { topic, prefix, json, server } = args;
    let groups = server.with_client(Session::None, async |client| client.groups(topic, prefix).await)?;
    print(|out| {
        if !json {
            return out.write_all(table(&groups).as_bytes());
        }
        groups.iter().try_for_each(|group| write_json(out, &GroupJson::of(group)))
    })
}

/// Runs a subcommand of `adjourn group`.
pub(crate) fn run(command: GroupCommand) -> Result<(), Failure> {
    match command {
        GroupCommand::Set(args) => args.group.set(Some(args.weight), None),
        GroupCommand::Pause(args) => args.group.set(None, Some(true)),
        GroupCommand::Resume(args) => args.group.set(None, Some(false)),
    }
}

impl GroupArgs {
    fn set(self, weight: Option<u32>, paused: Option<bool>) -> Result<(), Failure> {
        let Self { topic, group, server } = self;
        server
            .with_client(Session::None, async |client| client.set_group(&topic, &group, weight, paused).await)
    }
}

fn table(groups: &[GroupReport]) -> String {
    let head = ["GROUP", "READY", "RESERVED", "OLDEST", "WEIGHT", "HOLD"].map(str::to_owned);
    let row = |group: &GroupReport| {
        let oldest = if group.ready > 0 { spelled(group.oldest_ms) } else { "-".to_owned() };
        let hold = match (group.hold, group.until) {
            (Why::Next, _) => "-".to_owned(),
            (hold, None) => hold.name().to_owned(),
            (hold, Some(until)) => format!("{} until {}", hold.name(), time_text(until)),
        };
        let (ready, reserved) = (group.ready.to_string(), group.reserved.to_string());
        [group.name.clone(), ready, reserved, oldest, group.weight.to_string(), hold]
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(groups.iter().map(row)).collect();
    aligned(&rows)
}
