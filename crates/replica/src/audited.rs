//! What the audit log records of requests.

use adjourn_protocol::{Advance, Bulk, Change, GroupSet, JobRef, Request, ScheduleFill, Subject, TopicSet};
use adjourn_types::{Filter, PolicyChange, Right, Setting, States, TopicName, TopicPolicy};

/// Whether a request changes more than single jobs.
pub(super) fn changes_much(right: Right, request: &mut Request) -> bool {
    matches!(right, Right::Manage | Right::Admin) && !matches!(request.subject(), Subject::Job(_))
}

/// On what a request is, for an auditor to read.
pub(super) fn about(request: &mut Request) -> String {
    match request {
        Request::TopicSet(set) => of_settings(set),
        Request::List(list) => of_filter(&list.filter),
        Request::Count(count) => of_filter(&count.filter),
        Request::Bulk(bulk) => of_bulk(bulk),
        Request::Advance(Advance::By(by_ms)) => format!("clock by {by_ms} ms"),
        Request::Advance(Advance::ToNext) => "clock to the next job".to_owned(),
        Request::Disconnect { connection, .. } => format!("connection {connection}"),
        Request::ClusterAdd { address } => address.clone(),
        Request::ClusterRemove { node } | Request::ClusterTransfer { node } => format!("node {node}"),
        Request::GroupSet(set) => of_group(set),
        Request::ScheduleSet(set) => of_schedule(&set.topic, &set.name),
        Request::ScheduleFill(fill) => of_fill(fill),
        Request::ScheduleShow { topic, name }
        | Request::ScheduleDelete { topic, name }
        | Request::SchedulePause { topic, name, .. }
        | Request::ScheduleResume { topic, name }
        | Request::ScheduleRun { topic, name } => of_schedule(topic, name),
        request => match request.subject() {
            Subject::Topic(topic) => of_topic(topic),
            Subject::Topics(topics) => of_topics(topics),
            Subject::Job(job) => of_job(job),
            Subject::Leases(_) | Subject::Nothing => String::new(),
        },
    }
}

fn of_topic(topic: &TopicName) -> String {
    format!("topic {topic}")
}

/// A group's name may be a customer's: it is shown as text of one line.
fn of_group(set: &GroupSet) -> String {
    let weight = set.weight.map(|weight| format!(" weight {weight}")).unwrap_or_default();
    let pause = match set.paused {
        Some(true) => " pause",
        Some(false) => " resume",
        None => "",
    };
    format!("topic {} group {}{weight}{pause}", set.topic, set.group)
}

fn of_schedule(topic: &TopicName, name: &str) -> String {
    format!("topic {topic} schedule {name}")
}

fn of_fill(fill: &ScheduleFill) -> String {
    let dry_run = if fill.is_dry_run { " dry run" } else { "" };
    format!("{} from {} to {}{dry_run}", of_schedule(&fill.topic, &fill.name), fill.from.0, fill.to.0)
}

fn of_topics(topics: &[TopicName]) -> String {
    let names: Vec<&str> = topics.iter().map(TopicName::as_str).collect();
    format!("topics {}", names.join(" "))
}

fn of_job(job: &JobRef) -> String {
    match job {
        JobRef::Id(id) => format!("job {id}"),
        JobRef::Key { topic, key } => format!("topic {topic} key {key}"),
    }
}

fn of_settings(set: &TopicSet) -> String {
    let PolicyChange { set: to, unset } = &*set.change;
    let named = |settings: Vec<String>, verb: &str| match settings.as_slice() {
        [] => String::new(),
        some => format!(" {verb} {}", some.join(",")),
    };
    let changed = to.settings().map(|setting| format!("{setting}={}", of_value(to, setting))).collect();
    let unset = unset.iter().map(ToString::to_string).collect();
    format!("topic {}{}{}", set.topic, named(changed, "set"), named(unset, "unset"))
}

/// A setting's value, without parts that may contain secrets: headers, a body, and the path of a URL.
fn of_value(policy: &TopicPolicy, setting: Setting) -> String {
    let value = policy.value(setting).unwrap_or_default();
    let text = || String::from_utf8_lossy(&value);
    match setting {
        Setting::CallBackHeaders | Setting::CallBackBody => format!("({} bytes)", value.len()),
        Setting::CallBackUrl => of_url(&text()),
        Setting::DeadLetters
        | Setting::CallBackMethod
        | Setting::CallBackSecrets
        | Setting::CallBackRefused
        | Setting::CallBackRetryIf
        | Setting::CallBackSuccess
        | Setting::GroupOrder
        | Setting::GroupOnBury => text().into_owned(),
        Setting::Backoff => policy.backoff.as_ref().map(|backoff| format!("{backoff:?}")).unwrap_or_default(),
        Setting::Late => policy.late.map(|late| format!("{late:?}")).unwrap_or_default(),
        _ => value.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)).to_string(),
    }
}

/// Scheme and host of a URL, without user information.
fn of_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}/...")
}

fn of_bulk(bulk: &Bulk) -> String {
    let filter = of_filter(&bulk.filter);
    match &bulk.change {
        Change::Delete => format!("{filter} delete"),
        Change::Kick => format!("{filter} kick"),
        Change::RunNow => format!("{filter} run now"),
        Change::Reschedule { due } => format!("{filter} reschedule to {}", due.0),
        Change::Move { to } => format!("{filter} move to {to}"),
    }
}

/// Each condition under its name on the command line.
fn of_filter(filter: &Filter) -> String {
    let topic = filter.topic.as_ref().map_or_else(|| "all topics".to_owned(), of_topic);
    let states: Vec<String> = filter.states.iter().map(|state| state.to_string()).collect();
    let key = filter.key_prefix.as_ref().map(|prefix| String::from_utf8_lossy(prefix).into_owned());
    let conditions = [
        ("state", (filter.states != States::ALL).then(|| states.join(","))),
        ("due-from", filter.due_from.map(|at| at.0.to_string())),
        ("due-before", filter.due_before.map(|at| at.0.to_string())),
        ("key-prefix", key),
        ("attempts-min", filter.attempts_min.map(|attempts| attempts.to_string())),
        ("attempts-max", filter.attempts_max.map(|attempts| attempts.to_string())),
        ("buried", filter.buried.map(|why| why.to_string())),
        ("reason", filter.reason.clone()),
    ];
    let said = conditions.into_iter().filter_map(|(name, value)| Some(format!(" {name}={}", value?)));
    topic + &said.collect::<String>()
}
