//! `adjourn import redis`: takes over the jobs that an older queue keeps in Redis.
//!
//! A module for each kind of queue knows its keys; [`takeover`] takes the jobs.

mod bullmq;
mod laravel;
mod ouqiang;
mod php_delayqueue;
mod place;
mod server;
mod takeover;
mod zset;

use clap::{ArgGroup, Args};

use self::bullmq::Bullmq;
use self::laravel::Laravel;
use self::ouqiang::Ouqiang;
use self::php_delayqueue::PhpDelayqueue;
use self::place::Unit;
use self::server::Redis;
use self::takeover::{Layout, Takeover};
use self::zset::Zset;
use crate::connection::{ServerArgs, Session, goodbye, runtime};
use crate::exit::{Exit, Failure};
use adjourn_types::TopicName;

pub(super) const EXAMPLES: &str = "\
Takes jobs out of Redis and pushes them, each once. First let producers push to Adjourn. As long as workers of the old queue run, the
command takes what none of them has; when they are stopped, run it with --stopped to take what they had, too. It ends when nothing more comes.

Run it again to go on after a stop: no job is lost, and none is pushed twice if that is within a day. Jobs under way stand in lists
`adjourn-import:...` of Redis. A job whose key its topic has is not pushed: the one that is there stays. How often a job was attempted is not kept.

Example:
  adjourn import redis redis://10.0.0.5/0 --zset delayed --hash bodies --topic orders --dry-run
  adjourn import redis redis://10.0.0.5/0 --laravel
  adjourn import redis redis://10.0.0.5/0 --bullmq --queue mails --stopped
  adjourn import redis redis://10.0.0.5/0 --php-delayqueue
  adjourn import redis redis://10.0.0.5/1 --ouqiang";

// `requires` would not do: it is not looked at beside what conflicts with the argument that it names.
const OTHERS_THAN_ZSET: [&str; 4] = ["laravel", "bullmq", "php_delayqueue", "ouqiang"];
const OTHERS_THAN_OUQIANG: [&str; 4] = ["zset", "laravel", "bullmq", "php_delayqueue"];
const WITHOUT_QUEUES: [&str; 3] = ["zset", "php_delayqueue", "ouqiang"];

/// What `adjourn import redis` is told.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[command(group(ArgGroup::new("layout").required(true)))]
pub(crate) struct RedisArgs {
    /// The server, such as `redis://:PASSWORD@10.0.0.5:6379/0`; `rediss://` for TLS. Prefer the variable for one with a password
    #[arg(env = "ADJOURN_REDIS_URL", hide_env_values = true)]
    url: String,
    /// A sorted set by time
    #[arg(long, value_name = "KEY", group = "layout", requires = "topic")]
    zset: Option<String>,
    /// The queues of Laravel
    #[arg(long, group = "layout")]
    laravel: bool,
    /// The queues of BullMQ or of Bull
    #[arg(long, group = "layout")]
    bullmq: bool,
    /// The jobs of php-delayqueue; import its topics before
    #[arg(long, group = "layout")]
    php_delayqueue: bool,
    /// The jobs of ouqiang/delay-queue, whose default database is 1
    #[arg(long, group = "layout")]
    ouqiang: bool,
    /// The topic that gets the jobs of the sorted set
    #[arg(long, conflicts_with_all = OTHERS_THAN_ZSET, help_heading = "With --zset")]
    topic: Option<TopicName>,
    /// The members are ids, and this hash has the bodies; an id becomes the key. Without it, the members are the bodies
    #[arg(long, value_name = "KEY", conflicts_with_all = OTHERS_THAN_ZSET, help_heading = "With --zset")]
    hash: Option<String>,
    /// The unit of the scores. The default is what all of them look like
    #[arg(long, conflicts_with_all = OTHERS_THAN_ZSET, help_heading = "With --zset")]
    unit: Option<Unit>,
    /// Only this queue, with --laravel or --bullmq; may be repeated. The default is all queues
    #[arg(long, value_name = "NAME", conflicts_with_all = WITHOUT_QUEUES, help_heading = "With the others")]
    queue: Vec<String>,
    /// What stands before each key: the default is the only one that is found (Laravel), `bull` (BullMQ), `dq_` (php-delayqueue)
    #[arg(long, conflicts_with_all = ["zset", "ouqiang"], help_heading = "With the others")]
    prefix: Option<String>,
    /// The setting `bucket_name` of ouqiang's queue
    #[arg(
        long,
        value_name = "PATTERN",
        conflicts_with_all = OTHERS_THAN_OUQIANG,
        default_value = "dq_bucket_%d",
        help_heading = "With the others"
    )]
    bucket_name: String,
    /// The setting `queue_name` of ouqiang's queue; in its version 0.1 it is %s
    #[arg(
        long,
        value_name = "PATTERN",
        conflicts_with_all = OTHERS_THAN_OUQIANG,
        default_value = "dq_queue_%s",
        help_heading = "With the others"
    )]
    queue_name: String,
    /// The workers and servers of the old queue are stopped: take also what they had
    #[arg(long, conflicts_with = "zset")]
    stopped: bool,
    /// Count the jobs, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `adjourn import redis`.
pub(super) fn run(args: &RedisArgs) -> Result<(), Failure> {
    let mut redis = Redis::connect(&args.url)?;
    let mut layout = args.layout(&mut redis)?;
    runtime()?.block_on(async {
        let client = args.server.connect(Session::EndsWithIt).await?;
        if args.dry_run {
            let counted = takeover::count(&client, &mut redis, layout.as_mut());
            goodbye(&client).await;
            return counted;
        }
        let mut takeover = Takeover::new(&client, redis);
        let taken = takeover.run(layout.as_mut()).await;
        goodbye(&client).await;
        takeover.report(taken)
    })
}

impl RedisArgs {
    fn layout(&self, redis: &mut Redis) -> Result<Box<dyn Layout>, Failure> {
        let (queues, stopped) = (self.queue.clone(), self.stopped);
        let prefix = |default: &str| self.prefix.clone().unwrap_or_else(|| default.to_owned());
        Ok(if let Some(key) = &self.zset {
            let missing = || Failure::new(Exit::Usage, "name the topic that gets the jobs with --topic");
            let topic = self.topic.clone().ok_or_else(missing)?;
            Box::new(Zset::new(redis, key, self.hash.as_deref(), topic, self.unit)?)
        } else if self.laravel {
            Box::new(Laravel::new(redis, self.prefix.as_deref(), queues, stopped)?)
        } else if self.bullmq {
            Box::new(Bullmq::new(prefix("bull"), queues, stopped))
        } else if self.php_delayqueue {
            Box::new(PhpDelayqueue::new(prefix("dq_"), stopped))
        } else {
            Box::new(Ouqiang::new(&self.bucket_name, &self.queue_name, stopped)?)
        })
    }
}
