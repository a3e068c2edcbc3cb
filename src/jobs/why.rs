//! `adjourn why`: why a job is not running, or a topic or a group gives no job.

use clap::Args;

use super::job::NamedArgs;
use crate::connection::Session;
use crate::exit::{Exit, Failure};
use crate::output::{plain_line, print, write_json};
use adjourn_json::ReasonJson;
use adjourn_json::values::time_text;
use adjourn_types::{GroupName, TopicName};

const EXAMPLE: &str = "\
Prints the reasons, the most important one first. With `next` nothing holds the job back: the next consumer gets it.

Example:
  adjourn why 42
  adjourn why orders order-17
  adjourn why --topic orders
  adjourn why --topic orders --group tenant-7";

/// What `adjourn why` is told.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    job: NamedArgs,
    /// Say why this topic gives no job
    #[arg(long)]
    topic: Option<TopicName>,
    /// Say why this group of it gives no job
    #[arg(long, requires = "topic")]
    group: Option<GroupName>,
    /// Print a JSON object per reason
    #[arg(long)]
    json: bool,
}

/// Runs `adjourn why`.
pub(crate) fn run(args: WhyArgs) -> Result<(), Failure> {
    let WhyArgs { job, topic, group, json } = args;
    let (server, job) = job.split()?;
    let reasons = match (job, topic) {
        (Some(job), None) => server.with_client(Session::None, async |client| client.why(job).await)?,
        (None, Some(topic)) => server
            .with_client(Session::None, async |client| client.why_topic(&topic, group.as_ref()).await)?,
        _ => {
            let one = "name a job, for example 42 or orders order-17, or a topic: --topic orders";
            return Err(Failure::new(Exit::Usage, one));
        }
    };
    print(|out| {
        reasons.iter().try_for_each(|reason| {
            if json {
                return write_json(out, &ReasonJson::of(reason));
            }
            let times = [("since", reason.since), ("until", reason.until)];
            let times =
                times.into_iter().filter_map(|(word, time)| Some(format!("{word} {}", time_text(time?))));
            let times = times.collect::<Vec<_>>().join(", ");
            let times = if times.is_empty() { times } else { format!(" ({times})") };
            writeln!(out, "{}: {}{times}", reason.why.name(), plain_line(&reason.text))
        })
    })
}
