//! Every message with every kind of field, as strategies: what the properties of the codec are tried on.
//!
//! Generated from `schema/` by `make generate`: do not edit.

use proptest::prelude::*;

use super::kind::{self, Elements, Fields};
use super::payload::{Message, Record};

/// Every request.
pub(super) const REQUESTS: [fn() -> BoxedStrategy<Message>; 56] = [
    hello,
    ping,
    goodbye,
    push,
    reserve,
    subscribe,
    credit,
    unsubscribe,
    cancel,
    leases,
    reserve_job,
    finish,
    release,
    touch,
    bury,
    get,
    delete,
    reschedule,
    run_now,
    kick,
    peek,
    kick_many,
    list,
    count,
    bulk,
    edit,
    pause,
    resume,
    topics,
    stats,
    connections,
    disconnect,
    topic_set,
    topic_delete,
    topic_show,
    advance,
    backup_begin,
    backup_read,
    backup_end,
    schedule_preview,
    cluster_status,
    cluster_add,
    cluster_remove,
    cluster_transfer,
    group_set,
    group_list,
    why,
    topic_why,
    schedule_set,
    schedule_show,
    schedule_list,
    schedule_delete,
    schedule_pause,
    schedule_resume,
    schedule_run,
    schedule_fill,
];

/// Every response.
pub(super) const RESPONSES: [fn() -> BoxedStrategy<Message>; 32] = [
    welcome,
    pong,
    done,
    going_away,
    pushed,
    reserved,
    subscribed,
    deliver,
    leased,
    settled,
    job,
    changed,
    kicked,
    jobs,
    counted,
    bulked,
    topic_counts,
    queue_stats,
    connection_list,
    topic_settings,
    backup_ready,
    backup_data,
    instants,
    cluster_report,
    groups,
    reasons,
    scheduled,
    schedule,
    schedules,
    schedule_ran,
    schedule_filled,
    error,
];

/// Opens the conversation; the first frame on every connection.
pub(super) fn hello() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("HELLO");
    fields.add("magic", kind::magic());
    fields.add("version_min", kind::any_number(2));
    fields.add("version_max", kind::any_number(2));
    fields.add("options", kind::bits(4, 0x03));
    fields.add("heartbeat_ms", kind::any_number(4));
    fields.add("session", kind::any_number(8));
    fields.add("secret", kind::id());
    fields.add("client_name", kind::text("client_name", 1, 0..=64));
    fields.add("token", kind::bytes(2, 0..=256));
    fields.message(0x01)
}

/// Asks for a PONG.
pub(super) fn ping() -> BoxedStrategy<Message> {
    let fields = Fields::of("PING");
    fields.message(0x02)
}

/// Ends the session: its leases are given back at once (unless they outlive it).
pub(super) fn goodbye() -> BoxedStrategy<Message> {
    let fields = Fields::of("GOODBYE");
    fields.message(0x03)
}

/// Adds jobs to one topic.
pub(super) fn push() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("PUSH");
    fields.add("sequence", kind::any_number(8));
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("jobs", kind::list(26, 1..=4_096, new_job_record()));
    fields.late("idempotency", kind::any_number(16));
    fields.late("list_jobs", kind::any_number(4));
    fields.message(0x10)
}

/// Long-poll: waits for jobs of some topics.
pub(super) fn reserve() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RESERVE");
    fields.add("wait_ms", kind::number(8, 0..=3_600_000));
    fields.add("jobs_max", kind::number(4, 1..=1_024));
    fields.add("topics", kind::list(1, 1..=64, kind::one(kind::text("topics", 1, 0..=255))));
    fields.late("weights", kind::list(2, 0..=64, kind::one(kind::any_number(2))));
    fields.message(0x20)
}

/// Asks for jobs to be sent as they become ready.
pub(super) fn subscribe() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SUBSCRIBE");
    fields.add("credit_jobs", kind::number(4, 0..=65_536));
    fields.add("credit_bytes", kind::number(8, 0..=268_435_456));
    fields.add("topics", kind::list(1, 1..=64, kind::one(kind::text("topics", 1, 0..=255))));
    fields.late("weights", kind::list(2, 0..=64, kind::one(kind::any_number(2))));
    fields.message(0x21)
}

/// Adds credit to a subscription.
pub(super) fn credit() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CREDIT");
    fields.add("subscription", kind::any_number(4));
    fields.add("credit_jobs", kind::number(4, 0..=65_536));
    fields.add("credit_bytes", kind::number(8, 0..=268_435_456));
    fields.message(0x22)
}

/// Ends a subscription; jobs already sent stay leased.
pub(super) fn unsubscribe() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("UNSUBSCRIBE");
    fields.add("subscription", kind::any_number(4));
    fields.message(0x23)
}

/// Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
pub(super) fn cancel() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CANCEL");
    fields.add("request", kind::any_number(4));
    fields.message(0x24)
}

/// Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among them.
pub(super) fn leases() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("LEASES");
    fields.add("after", kind::any_number(8));
    fields.add("jobs_max", kind::number(4, 1..=1_024));
    fields.message(0x25)
}

/// Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back.
pub(super) fn reserve_job() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RESERVE_JOB");
    fields.add("ref", kind::reference());
    fields.message(0x26)
}

/// Says that jobs are done: they are removed.
pub(super) fn finish() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("FINISH");
    fields.add("leases", kind::list(16, 1..=4_096, lease_record()));
    fields.message(0x30)
}

/// Gives jobs back, to be attempted again.
pub(super) fn release() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RELEASE");
    fields.add("delay_ms", kind::any_number(8));
    fields.add("leases", kind::list(16, 1..=4_096, lease_record()));
    fields.late("reason", kind::text("reason", 2, 0..=1_024));
    fields.message(0x31)
}

/// Starts the time to run anew.
pub(super) fn touch() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOUCH");
    fields.add("ttr_ms", kind::number(4, 0..=604_800_000));
    fields.add("leases", kind::list(16, 1..=4_096, lease_record()));
    fields.message(0x32)
}

/// Sets jobs aside until somebody kicks them.
pub(super) fn bury() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("BURY");
    fields.add("leases", kind::list(16, 1..=4_096, lease_record()));
    fields.late("reason", kind::text("reason", 2, 0..=1_024));
    fields.message(0x33)
}

/// Reads one job.
pub(super) fn get() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("GET");
    fields.add("ref", kind::reference());
    fields.message(0x40)
}

/// Removes one job, whatever its state.
pub(super) fn delete() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("DELETE");
    fields.add("ref", kind::reference());
    fields.message(0x41)
}

/// Gives one delayed or ready job a new due time; a buried one is kicked first.
pub(super) fn reschedule() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RESCHEDULE");
    fields.add("due_ms", kind::any_number(8));
    fields.add("due_kind", kind::choice(1, &[0, 1]));
    fields.add("ref", kind::reference());
    fields.late("if_version", kind::any_number(8));
    fields.message(0x42)
}

/// Makes one delayed job ready at once.
pub(super) fn run_now() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RUN_NOW");
    fields.add("ref", kind::reference());
    fields.message(0x43)
}

/// Makes one buried job ready.
pub(super) fn kick() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("KICK");
    fields.add("ref", kind::reference());
    fields.message(0x44)
}

/// Reads the next job of a topic without reserving it: the first ready one, else the first delayed.
pub(super) fn peek() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("PEEK");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.message(0x45)
}

/// Makes buried jobs of a topic ready: by priority, then by when they were due, then by id.
pub(super) fn kick_many() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("KICK_MANY");
    fields.add("jobs_max", kind::number(4, 1..=4_096));
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.message(0x46)
}

/// Shows jobs, a page at a time.
pub(super) fn list() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("LIST");
    fields.add("jobs_max", kind::number(4, 1..=1_024));
    fields.add("order", kind::choice(1, &[0, 1, 2]));
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("cursor", kind::bytes(2, 0..=512));
    fields.add("filter", filter_elements().only());
    fields.message(0x47)
}

/// Counts the jobs that match, all together or by when they are due.
pub(super) fn count() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("COUNT");
    fields.add("filter", filter_elements().only());
    fields.late("bars", kind::number(4, 0..=1_024));
    fields.late("bars_from_ms", kind::any_number(8));
    fields.late("bar_ms", kind::any_number(8));
    fields.message(0x48)
}

/// Does the same to many jobs, a bounded number with each request.
pub(super) fn bulk() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("BULK");
    fields.add("jobs_max", kind::number(4, 1..=1_024));
    fields.add("change", kind::choice(1, &[0, 1, 2, 3, 4]));
    fields.add("due_ms", kind::any_number(8));
    fields.add("cursor", kind::bytes(2, 0..=512));
    fields.add("filter", filter_elements().only());
    fields.late("to", kind::text("to", 1, 0..=200));
    fields.message(0x49)
}

/// Changes parts of one delayed, ready or buried job.
pub(super) fn edit() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("EDIT");
    fields.add("due_ms", kind::any_number(8));
    fields.add("priority", kind::any_number(4));
    fields.add("ttr_ms", kind::number(4, 0..=604_800_000));
    fields.add("edited", kind::bits(2, 0x3ff));
    fields.add("due_kind", kind::choice(1, &[0, 1]));
    fields.add("ref", kind::reference());
    fields.add("attributes", attributes_elements().and_unknown());
    fields.add("body", kind::bytes(4, 0..=4_294_967_295));
    fields.late("if_version", kind::any_number(8));
    fields.message(0x4a)
}

/// Stops the reserving of a topic's jobs.
pub(super) fn pause() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("PAUSE");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.late("for_ms", kind::any_number(8));
    fields.message(0x50)
}

/// Starts it again.
pub(super) fn resume() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RESUME");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.message(0x51)
}

/// Counts by topic.
pub(super) fn topics() -> BoxedStrategy<Message> {
    let fields = Fields::of("TOPICS");
    fields.message(0x52)
}

/// Counts of the whole queue, and by topic.
pub(super) fn stats() -> BoxedStrategy<Message> {
    let fields = Fields::of("STATS");
    fields.message(0x53)
}

/// Lists the clients that are connected to this node, by number.
pub(super) fn connections() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CONNECTIONS");
    fields.add("after", kind::any_number(8));
    fields.add("connections_max", kind::number(4, 1..=256));
    fields.message(0x54)
}

/// Closes the connection of another client to this node.
pub(super) fn disconnect() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("DISCONNECT");
    fields.add("connection", kind::any_number(8));
    fields.add("options", kind::bits(1, 0x01));
    fields.message(0x55)
}

/// Changes what a topic decides for its jobs. The topic is made if it is new.
pub(super) fn topic_set() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOPIC_SET");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("settings", settings_elements().or_unset());
    fields.message(0x56)
}

/// Forgets a topic that has no jobs, with its settings.
pub(super) fn topic_delete() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOPIC_DELETE");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.message(0x57)
}

/// Reads what a topic decides for its jobs.
pub(super) fn topic_show() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOPIC_SHOW");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.message(0x58)
}

/// Moves the clock of a server for tests. Answered when everything that is due by then is carried out.
pub(super) fn advance() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("ADVANCE");
    fields.add("step", kind::choice(1, &[0, 1]));
    fields.add("by_ms", kind::number(8, 0..=315_360_000_000));
    fields.message(0x59)
}

/// Asks for a backup of the state as it is now, to be read over this connection.
pub(super) fn backup_begin() -> BoxedStrategy<Message> {
    let fields = Fields::of("BACKUP_BEGIN");
    fields.message(0x60)
}

/// Reads a part of that backup.
pub(super) fn backup_read() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("BACKUP_READ");
    fields.add("offset", kind::any_number(8));
    fields.add("bytes", kind::number(4, 1..=1_048_576));
    fields.message(0x61)
}

/// Lets go of it. The end of the connection does the same.
pub(super) fn backup_end() -> BoxedStrategy<Message> {
    let fields = Fields::of("BACKUP_END");
    fields.message(0x62)
}

/// Says when a schedule with these rules would fire, without setting it.
pub(super) fn schedule_preview() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_PREVIEW");
    fields.add("rules", kind::part(schedule_rules_record()));
    fields.add("from_ms", kind::any_number(8));
    fields.add("instants_max", kind::number(4, 1..=1_000));
    fields.message(0x6f)
}

/// Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for anything else.
pub(super) fn cluster_status() -> BoxedStrategy<Message> {
    let fields = Fields::of("CLUSTER_STATUS");
    fields.message(0x70)
}

/// Adds the node that listens for its peers at an address; it votes when it has caught up.
pub(super) fn cluster_add() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CLUSTER_ADD");
    fields.add("address", kind::text("address", 1, 0..=255));
    fields.message(0x71)
}

/// Removes a member. It cannot come back under its number.
pub(super) fn cluster_remove() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CLUSTER_REMOVE");
    fields.add("node", kind::any_number(8));
    fields.message(0x72)
}

/// Hands leadership to another member.
pub(super) fn cluster_transfer() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CLUSTER_TRANSFER");
    fields.add("node", kind::any_number(8));
    fields.message(0x73)
}

/// Changes the settings of one group. With weight 1 and not paused it has none.
pub(super) fn group_set() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("GROUP_SET");
    fields.add("weight", kind::number(4, 0..=1_000));
    fields.add("pause", kind::choice(1, &[0, 1, 2]));
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("group", kind::text("group", 1, 1..=255));
    fields.message(0x74)
}

/// Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name.
pub(super) fn group_list() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("GROUP_LIST");
    fields.add("groups_max", kind::number(4, 1..=1_000));
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("after", kind::text("after", 1, 0..=255));
    fields.add("prefix", kind::text("prefix", 1, 0..=255));
    fields.message(0x75)
}

/// Says why a job is not running.
pub(super) fn why() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("WHY");
    fields.add("ref", kind::reference());
    fields.message(0x76)
}

/// Says why a topic, or one of its groups, gives no job.
pub(super) fn topic_why() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOPIC_WHY");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("group", kind::text("group", 1, 0..=255));
    fields.message(0x77)
}

/// Creates a schedule, or gives the one of this name another content. The topic is made if it is new.
pub(super) fn schedule_set() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_SET");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 1..=255));
    fields.add("rules", kind::part(schedule_rules_record()));
    fields.add("template", kind::part(job_template_record()));
    fields.late("if_version", kind::any_number(4));
    fields.message(0x78)
}

/// Reads one schedule, and what it did of late.
pub(super) fn schedule_show() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_SHOW");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.message(0x79)
}

/// Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the order in which they were made.
pub(super) fn schedule_list() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_LIST");
    fields.add("schedules_max", kind::number(4, 1..=256));
    fields.add("next_before_ms", kind::any_number(8));
    fields.add("paused", kind::choice(1, &[0, 1, 2]));
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("prefix", kind::text("prefix", 1, 0..=255));
    fields.add("cursor", kind::bytes(2, 0..=512));
    fields.message(0x7a)
}

/// Forgets a schedule. Its jobs stay.
pub(super) fn schedule_delete() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_DELETE");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.message(0x7b)
}

/// Lets a schedule fire no more until it is resumed.
pub(super) fn schedule_pause() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_PAUSE");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.late("note", kind::text("note", 2, 0..=1_024));
    fields.message(0x7c)
}

/// Lets a paused schedule fire again. *missed* says what happens to the instants that passed.
pub(super) fn schedule_resume() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_RESUME");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.message(0x7d)
}

/// Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays.
pub(super) fn schedule_run() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_RUN");
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.message(0x7e)
}

/// Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic has a job with the key of the instant.
pub(super) fn schedule_fill() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_FILL");
    fields.add("from_ms", kind::any_number(8));
    fields.add("to_ms", kind::any_number(8));
    fields.add("dry_run", kind::number(1, 0..=1));
    fields.add("topic", kind::text("topic", 1, 0..=200));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.message(0x7f)
}

/// The answer to HELLO.
pub(super) fn welcome() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("WELCOME");
    fields.add("version", kind::any_number(2));
    fields.add("marks", kind::bits(1, 0x03));
    fields.add("cluster_id", kind::id());
    fields.add("session", kind::any_number(8));
    fields.add("secret", kind::id());
    fields.add("heartbeat_ms", kind::any_number(4));
    fields.add("session_grace_ms", kind::any_number(4));
    fields.add("frame_bytes_max", kind::any_number(4));
    fields.add("body_bytes_max", kind::any_number(4));
    fields.add("push_jobs_max", kind::any_number(4));
    fields.add("leases_max", kind::any_number(4));
    fields.add("reserve_jobs_max", kind::any_number(4));
    fields.add("in_flight_max", kind::any_number(4));
    fields.add("server_name", kind::text("server_name", 1, 0..=255));
    fields.add("members", kind::list(10, 0..=4_294_967_295, member_record()));
    fields.late("clock_ms", kind::any_number(8));
    fields.message(0x81)
}

/// The answer to PING: at some moment after it was sent this node led, and the session was connected to it.
pub(super) fn pong() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("PONG");
    fields.add("now", kind::any_number(8));
    fields.late("clock_ms", kind::any_number(8));
    fields.message(0x82)
}

/// It is done.
pub(super) fn done() -> BoxedStrategy<Message> {
    let fields = Fields::of("DONE");
    fields.message(0x83)
}

/// Unasked, under request id 0: the server is about to close the connection.
pub(super) fn going_away() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("GOING_AWAY");
    fields.add("message", kind::text("message", 2, 0..=65_535));
    fields.late("reason", kind::open_choice(1, &[0, 1, 2, 3, 4]));
    fields.message(0x84)
}

/// The outcomes of a PUSH: one per job, in order.
pub(super) fn pushed() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("PUSHED");
    fields.add("results", kind::list(11, 0..=4_294_967_295, push_result_record()));
    fields.message(0x90)
}

/// The jobs of a RESERVE; none when the wait was over first.
pub(super) fn reserved() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("RESERVED");
    fields.add("jobs", kind::list(53, 0..=4_294_967_295, delivered_record()));
    fields.message(0xa0)
}

/// The answer to SUBSCRIBE. Jobs follow as DELIVER.
pub(super) fn subscribed() -> BoxedStrategy<Message> {
    let fields = Fields::of("SUBSCRIBED");
    fields.message(0xa1)
}

/// Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session.
pub(super) fn deliver() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("DELIVER");
    fields.add("jobs", kind::list(53, 1..=4_294_967_295, delivered_record()));
    fields.message(0xa2)
}

/// A page of the leases that the session holds.
pub(super) fn leased() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("LEASED");
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("jobs", kind::list(53, 0..=4_294_967_295, delivered_record()));
    fields.message(0xa3)
}

/// The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order.
pub(super) fn settled() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SETTLED");
    fields.add("results", kind::list(2, 0..=4_294_967_295, settle_result_record()));
    fields.message(0xb0)
}

/// One job as it stands.
pub(super) fn job() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("JOB");
    fields.add("shown", kind::part(shown_record()));
    fields.late("pushed_ms", kind::any_number(8));
    fields.late("reserved_first_ms", kind::any_number(8));
    fields.late("reserved_last_ms", kind::any_number(8));
    fields.late("edited_ms", kind::any_number(8));
    fields.late("held_by", kind::text("held_by", 1, 0..=255));
    fields.late("reason", kind::text("reason", 2, 0..=65_535));
    fields.late("finished_ms", kind::any_number(8));
    fields.late("version", kind::any_number(8));
    fields.message(0xc0)
}

/// One job was changed.
pub(super) fn changed() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CHANGED");
    fields.add("job", kind::any_number(8));
    fields.add("due_ms", kind::any_number(8));
    fields.add("state", kind::open_choice(1, &[0, 1, 2, 3, 4]));
    fields.late("version", kind::any_number(8));
    fields.message(0xc1)
}

/// Jobs were kicked.
pub(super) fn kicked() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("KICKED");
    fields.add("jobs", kind::any_number(4));
    fields.message(0xc2)
}

/// A page of jobs.
pub(super) fn jobs() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("JOBS");
    fields.add("cursor", kind::bytes(2, 0..=65_535));
    fields.add("jobs", kind::list(82, 0..=4_294_967_295, listed_record()));
    fields.message(0xc3)
}

/// How many jobs match.
pub(super) fn counted() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("COUNTED");
    fields.add("jobs", kind::any_number(8));
    fields.late("by_due", kind::list(16, 0..=4_294_967_295, due_bar_record()));
    fields.message(0xc4)
}

/// How many jobs were changed.
pub(super) fn bulked() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("BULKED");
    fields.add("jobs", kind::any_number(4));
    fields.add("cursor", kind::bytes(2, 0..=65_535));
    fields.late("skipped", kind::any_number(4));
    fields.message(0xc5)
}

/// Counts by topic.
pub(super) fn topic_counts() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOPIC_COUNTS");
    fields.add("topics", kind::list(86, 0..=4_294_967_295, topic_count_record()));
    fields.message(0xd0)
}

/// Counts of the queue.
pub(super) fn queue_stats() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("QUEUE_STATS");
    fields.add("now", kind::any_number(8));
    fields.add("uptime_ms", kind::any_number(8));
    fields.add("connections", kind::any_number(4));
    fields.add("sessions", kind::any_number(4));
    fields.add("waiting", kind::any_number(4));
    fields.add("applied_index", kind::any_number(8));
    fields.add("term", kind::any_number(8));
    fields.add("state_hash", kind::any_number(16));
    fields.add("totals", kind::part(totals_record()));
    fields.add("topics", kind::list(86, 0..=4_294_967_295, topic_count_record()));
    fields.late("stages", kind::list(41, 0..=4_294_967_295, stage_record()));
    fields.message(0xd1)
}

/// Clients' connections.
pub(super) fn connection_list() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CONNECTION_LIST");
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("connections", kind::list(64, 0..=4_294_967_295, connection_record()));
    fields.message(0xd2)
}

/// A topic's policy.
pub(super) fn topic_settings() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("TOPIC_SETTINGS");
    fields.add("jobs", kind::any_number(8));
    fields.add("bytes", kind::any_number(8));
    fields.add("pause_left_ms", kind::any_number(8));
    fields.add("marks", kind::bits(1, 0x07));
    fields.add("settings", settings_elements().only());
    fields.message(0xd3)
}

/// A backup can be read.
pub(super) fn backup_ready() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("BACKUP_READY");
    fields.add("index", kind::any_number(8));
    fields.add("jobs", kind::any_number(8));
    fields.add("state_hash", kind::any_number(16));
    fields.add("bytes", kind::any_number(8));
    fields.message(0xe0)
}

/// A part of a backup.
pub(super) fn backup_data() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("BACKUP_DATA");
    fields.add("data", kind::bytes(4, 0..=4_294_967_295));
    fields.message(0xe1)
}

/// When a schedule would fire.
pub(super) fn instants() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("INSTANTS");
    fields.add("zone_data", kind::text("zone_data", 1, 0..=255));
    fields.add("instants", kind::list(9, 0..=4_294_967_295, local_instant_record()));
    fields.message(0xef)
}

/// The members of the cluster, as one node sees them.
pub(super) fn cluster_report() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("CLUSTER_REPORT");
    fields.add("node", kind::any_number(8));
    fields.add("cluster_id", kind::id());
    fields.add("leader", kind::any_number(8));
    fields.add("term", kind::any_number(8));
    fields.add("last", kind::any_number(8));
    fields.add("commit", kind::any_number(8));
    fields.add("feature_level", kind::any_number(4));
    fields.add("members", kind::list(44, 0..=4_294_967_295, node_record()));
    fields.message(0xf0)
}

/// A page of groups.
pub(super) fn groups() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("GROUPS");
    fields.add("after", kind::text("after", 1, 0..=255));
    fields.add("groups", kind::list(39, 0..=4_294_967_295, group_state_record()));
    fields.message(0xf5)
}

/// Why a job, a topic or a group gives nothing to a consumer.
pub(super) fn reasons() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("REASONS");
    fields.add("reasons", kind::list(27, 0..=4_294_967_295, reason_record()));
    fields.message(0xf6)
}

/// A schedule is set.
pub(super) fn scheduled() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULED");
    fields.add("schedule", kind::any_number(8));
    fields.add("version", kind::any_number(4));
    fields.add("next_ms", kind::any_number(8));
    fields.message(0xf8)
}

/// One schedule as it stands.
pub(super) fn schedule() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE");
    fields.add("state", kind::part(schedule_state_record()));
    fields.add("pause_note", kind::text("pause_note", 2, 0..=65_535));
    fields.add("rules", kind::part(schedule_rules_record()));
    fields.add("template", kind::part(job_template_record()));
    fields.add("history", kind::list(41, 0..=4_294_967_295, firing_record()));
    fields.message(0xf9)
}

/// A page of schedules.
pub(super) fn schedules() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULES");
    fields.add("schedules", kind::list(104, 0..=4_294_967_295, listed_schedule_record()));
    fields.add("cursor", kind::bytes(2, 0..=65_535));
    fields.message(0xfa)
}

/// A schedule pushed a job.
pub(super) fn schedule_ran() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_RAN");
    fields.add("job", kind::any_number(8));
    fields.message(0xfb)
}

/// A part of a time that has passed is filled, or counted.
pub(super) fn schedule_filled() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("SCHEDULE_FILLED");
    fields.add("next_ms", kind::any_number(8));
    fields.add("bytes", kind::any_number(8));
    fields.add("instants", kind::any_number(4));
    fields.add("pushed", kind::any_number(4));
    fields.add("kept", kind::any_number(4));
    fields.add("refused", kind::any_number(4));
    fields.message(0xfc)
}

/// The request failed as a whole.
pub(super) fn error() -> BoxedStrategy<Message> {
    let mut fields = Fields::of("ERROR");
    fields.add("code", kind::code(2));
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("applied", kind::open_choice(1, &[0, 1]));
    fields.add("retry_after_ms", kind::any_number(4));
    fields.add("leader", kind::text("leader", 1, 0..=255));
    fields.add("message", kind::text("message", 2, 0..=65_535));
    fields.message(0xff)
}

/// One job to push.
pub(super) fn new_job_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("new_job");
    fields.add("due_ms", kind::any_number(8));
    fields.add("priority", kind::any_number(4));
    fields.add("ttr_ms", kind::number(4, 0..=604_800_000));
    fields.add("due_kind", kind::choice(1, &[0, 1]));
    fields.add("if_exists", kind::choice(1, &[0, 1, 2, 3, 4]));
    fields.add("key", kind::text("key", 2, 0..=256));
    fields.add("attributes", attributes_elements().and_unknown());
    fields.add("body", kind::bytes(4, 0..=4_294_967_295));
    fields.record()
}

/// What became of one pushed job.
pub(super) fn push_result_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("push_result");
    fields.add("outcome", kind::open_choice(1, &[0, 1, 2, 3, 4]));
    fields.add("code", kind::code(2));
    fields.add("job", kind::any_number(8));
    fields.record()
}

/// A lease on a job.
pub(super) fn lease_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("lease");
    fields.add("job", kind::any_number(8));
    fields.add("fence", kind::any_number(8));
    fields.record()
}

/// What became of one lease.
pub(super) fn settle_result_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("settle_result");
    fields.add("code", kind::code(2));
    fields.record()
}

/// A job that is now leased to the session.
pub(super) fn delivered_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("delivered");
    fields.add("job", kind::any_number(8));
    fields.add("fence", kind::any_number(8));
    fields.add("due_ms", kind::any_number(8));
    fields.add("priority", kind::any_number(4));
    fields.add("attempts", kind::any_number(4));
    fields.add("ttr_left_ms", kind::any_number(4));
    fields.add("topic", kind::text("topic", 1, 0..=255));
    fields.add("key", kind::text("key", 2, 0..=65_535));
    fields.add("attributes", attributes_elements().and_unknown());
    fields.add("body", kind::bytes(4, 0..=4_294_967_295));
    fields.late("deadline_ms", kind::any_number(8));
    fields.record()
}

/// A job as it stands.
pub(super) fn shown_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("shown");
    fields.add("job", kind::any_number(8));
    fields.add("due_ms", kind::any_number(8));
    fields.add("state", kind::open_choice(1, &[0, 1, 2, 3, 4]));
    fields.add("buried", kind::open_choice(1, &[0, 1, 2, 3]));
    fields.add("priority", kind::any_number(4));
    fields.add("attempts", kind::any_number(4));
    fields.add("ttr_ms", kind::any_number(4));
    fields.add("ttr_left_ms", kind::any_number(4));
    fields.add("topic", kind::text("topic", 1, 0..=255));
    fields.add("key", kind::text("key", 2, 0..=65_535));
    fields.add("attributes", attributes_elements().and_unknown());
    fields.add("body", kind::bytes(4, 0..=4_294_967_295));
    fields.record()
}

/// A job on a page of a list.
pub(super) fn listed_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("listed");
    fields.add("job", kind::any_number(8));
    fields.add("due_ms", kind::any_number(8));
    fields.add("state", kind::open_choice(1, &[0, 1, 2, 3, 4]));
    fields.add("buried", kind::open_choice(1, &[0, 1, 2, 3]));
    fields.add("priority", kind::any_number(4));
    fields.add("attempts", kind::any_number(4));
    fields.add("ttr_ms", kind::any_number(4));
    fields.add("ttr_left_ms", kind::any_number(4));
    fields.add("topic", kind::text("topic", 1, 0..=255));
    fields.add("key", kind::text("key", 2, 0..=65_535));
    fields.add("attributes", attributes_elements().and_unknown());
    fields.add("body", kind::bytes(4, 0..=4_294_967_295));
    fields.add("body_bytes", kind::any_number(4));
    fields.add("pushed_ms", kind::any_number(8));
    fields.add("reserved_first_ms", kind::any_number(8));
    fields.add("reserved_last_ms", kind::any_number(8));
    fields.add("edited_ms", kind::any_number(8));
    fields.add("held_by", kind::text("held_by", 1, 0..=255));
    fields.add("reason", kind::text("reason", 2, 0..=65_535));
    fields.record()
}

/// Counts, of one topic or of all.
pub(super) fn totals_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("totals");
    fields.add("delayed", kind::any_number(8));
    fields.add("ready", kind::any_number(8));
    fields.add("reserved", kind::any_number(8));
    fields.add("buried", kind::any_number(8));
    fields.add("pushed", kind::any_number(8));
    fields.add("finished", kind::any_number(8));
    fields.add("deleted", kind::any_number(8));
    fields.add("expired", kind::any_number(8));
    fields.add("oldest_ready_ms", kind::any_number(8));
    fields.record()
}

/// The counts of one topic.
pub(super) fn topic_count_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("topic_count");
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("consumers", kind::any_number(4));
    fields.add("late_ms", kind::any_number(8));
    fields.add("topic", kind::text("topic", 1, 0..=255));
    fields.add("delayed", kind::any_number(8));
    fields.add("ready", kind::any_number(8));
    fields.add("reserved", kind::any_number(8));
    fields.add("buried", kind::any_number(8));
    fields.add("pushed", kind::any_number(8));
    fields.add("finished", kind::any_number(8));
    fields.add("deleted", kind::any_number(8));
    fields.add("expired", kind::any_number(8));
    fields.add("oldest_ready_ms", kind::any_number(8));
    fields.record()
}

/// How long one stage of the work on a node took, over its last minutes. Times are in microseconds.
pub(super) fn stage_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("stage");
    fields.add("stage", kind::text("stage", 1, 0..=255));
    fields.add("count", kind::any_number(8));
    fields.add("p50_us", kind::any_number(8));
    fields.add("p99_us", kind::any_number(8));
    fields.add("p999_us", kind::any_number(8));
    fields.add("max_us", kind::any_number(8));
    fields.record()
}

/// The jobs of a COUNT that are due in a part of a time.
pub(super) fn due_bar_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("due_bar");
    fields.add("start_ms", kind::any_number(8));
    fields.add("jobs", kind::any_number(8));
    fields.record()
}

/// One client that is connected to the node.
pub(super) fn connection_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("connection");
    fields.add("connection", kind::any_number(8));
    fields.add("session", kind::any_number(8));
    fields.add("since_ms", kind::any_number(8));
    fields.add("leases", kind::any_number(4));
    fields.add("subscriptions", kind::any_number(4));
    fields.add("reserves", kind::any_number(4));
    fields.add("credit_jobs", kind::any_number(8));
    fields.add("credit_bytes", kind::any_number(8));
    fields.add("unsent_bytes", kind::any_number(8));
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("address", kind::text("address", 1, 0..=255));
    fields.add("client_name", kind::text("client_name", 1, 0..=255));
    fields.add("topics", kind::texts("topics"));
    fields.record()
}

/// One node of the cluster, as clients see it.
pub(super) fn member_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("member");
    fields.add("node", kind::any_number(8));
    fields.add("marks", kind::bits(1, 0x01));
    fields.add("address", kind::text("address", 1, 0..=255));
    fields.record()
}

/// One member of the cluster, as one node sees it. Unknown values are 0.
pub(super) fn node_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("node");
    fields.add("node", kind::any_number(8));
    fields.add("role", kind::open_choice(1, &[0, 1, 2]));
    fields.add("marks", kind::bits(1, 0x3f));
    fields.add("matched", kind::any_number(8));
    fields.add("applied", kind::any_number(8));
    fields.add("ahead_ms", kind::any_number(8));
    fields.add("audited", kind::any_number(8));
    fields.add("peer_address", kind::text("peer_address", 1, 0..=255));
    fields.add("client_address", kind::text("client_address", 1, 0..=255));
    fields.record()
}

/// When a schedule fires, and what it does then.
pub(super) fn schedule_rules_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("schedule_rules");
    fields.add("origin_ms", kind::any_number(8));
    fields.add("start_ms", kind::any_number(8));
    fields.add("end_ms", kind::any_number(8));
    fields.add("count", kind::any_number(8));
    fields.add("window_ms", kind::any_number(8));
    fields.add("missed_max", kind::number(4, 0..=1_000));
    fields.add("jitter_ms", kind::number(4, 0..=86_400_000));
    fields.add("failures_max", kind::any_number(4));
    fields.add("dst", kind::choice(1, &[0, 1]));
    fields.add("missed", kind::choice(1, &[0, 1, 2]));
    fields.add("overlap", kind::choice(1, &[0, 1, 2, 3]));
    fields.add("when", kind::text("when", 2, 1..=2_048));
    fields.add("zone", kind::text("zone", 1, 0..=64));
    fields.add("key", kind::text("key", 2, 0..=256));
    fields.add("note", kind::text("note", 2, 0..=256));
    fields.record()
}

/// What the jobs of a schedule have in common.
pub(super) fn job_template_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("job_template");
    fields.add("priority", kind::any_number(4));
    fields.add("ttr_ms", kind::number(4, 0..=604_800_000));
    fields.add("attributes", attributes_elements().and_unknown());
    fields.add("body", kind::bytes(4, 0..=4_294_967_295));
    fields.record()
}

/// Where a group stands.
pub(super) fn group_state_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("group_state");
    fields.add("ready", kind::any_number(8));
    fields.add("reserved", kind::any_number(8));
    fields.add("oldest_ms", kind::any_number(8));
    fields.add("until_ms", kind::any_number(8));
    fields.add("weight", kind::any_number(4));
    fields.add("hold", kind::open_choice(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]));
    fields.add("paused", kind::number(1, 0..=1));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.record()
}

/// One reason why a job, a topic or a group gives nothing now.
pub(super) fn reason_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("reason");
    fields.add("why", kind::open_choice(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]));
    fields.add("since_ms", kind::any_number(8));
    fields.add("until_ms", kind::any_number(8));
    fields.add("jobs", kind::any_number(8));
    fields.add("text", kind::text("text", 2, 0..=65_535));
    fields.record()
}

/// Where a schedule stands.
pub(super) fn schedule_state_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("schedule_state");
    fields.add("schedule", kind::any_number(8));
    fields.add("next_ms", kind::any_number(8));
    fields.add("fired", kind::any_number(8));
    fields.add("version", kind::any_number(4));
    fields.add("running", kind::any_number(4));
    fields.add("failures", kind::any_number(4));
    fields.add("paused", kind::open_choice(1, &[0, 1, 2]));
    fields.add("marks", kind::bits(1, 0x03));
    fields.record()
}

/// What a schedule did at an instant, or at several ones.
pub(super) fn firing_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("firing");
    fields.add("instant_ms", kind::any_number(8));
    fields.add("last_ms", kind::any_number(8));
    fields.add("instants", kind::any_number(8));
    fields.add("at_ms", kind::any_number(8));
    fields.add("job", kind::any_number(8));
    fields.add("fired", kind::open_choice(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8]));
    fields.record()
}

/// An instant, and what the clocks of its zone show.
pub(super) fn local_instant_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("local_instant");
    fields.add("instant_ms", kind::any_number(8));
    fields.add("local", kind::text("local", 1, 0..=255));
    fields.record()
}

/// A schedule on a page of a list.
pub(super) fn listed_schedule_record() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("listed_schedule");
    fields.add("schedule", kind::any_number(8));
    fields.add("next_ms", kind::any_number(8));
    fields.add("fired", kind::any_number(8));
    fields.add("version", kind::any_number(4));
    fields.add("running", kind::any_number(4));
    fields.add("failures", kind::any_number(4));
    fields.add("paused", kind::open_choice(1, &[0, 1, 2]));
    fields.add("marks", kind::bits(1, 0x03));
    fields.add("origin_ms", kind::any_number(8));
    fields.add("start_ms", kind::any_number(8));
    fields.add("end_ms", kind::any_number(8));
    fields.add("count", kind::any_number(8));
    fields.add("window_ms", kind::any_number(8));
    fields.add("missed_max", kind::number(4, 0..=1_000));
    fields.add("jitter_ms", kind::number(4, 0..=86_400_000));
    fields.add("failures_max", kind::any_number(4));
    fields.add("dst", kind::choice(1, &[0, 1]));
    fields.add("missed", kind::choice(1, &[0, 1, 2]));
    fields.add("overlap", kind::choice(1, &[0, 1, 2, 3]));
    fields.add("when", kind::text("when", 2, 1..=2_048));
    fields.add("zone", kind::text("zone", 1, 0..=64));
    fields.add("key", kind::text("key", 2, 0..=256));
    fields.add("note", kind::text("note", 2, 0..=256));
    fields.add("topic", kind::text("topic", 1, 0..=255));
    fields.add("name", kind::text("name", 1, 0..=255));
    fields.add("pause_note", kind::text("pause_note", 2, 0..=65_535));
    fields.record()
}

/// One header.
pub(super) fn header_value() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("header");
    fields.add("name", kind::text("name", 1, 1..=255));
    fields.add("value", kind::text("value", 0, 0..=65_535));
    fields.record()
}

/// When a job expires.
pub(super) fn expiry_value() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("expiry");
    fields.add("kind", kind::choice(1, &[0, 1]));
    fields.add("ms", kind::any_number(8));
    fields.record()
}

/// The wait between attempts.
pub(super) fn backoff_value() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("backoff");
    fields.add("kind", kind::choice(1, &[0, 1, 2, 3]));
    fields.add("jitter", kind::number(1, 0..=100));
    fields.add("waits_ms", kind::rest_numbers(1..=32));
    fields.record()
}

/// What happens to late jobs.
pub(super) fn late_value() -> BoxedStrategy<Record> {
    let mut fields = Fields::of("late");
    fields.add("after_ms", kind::number(8, 0..=315_360_000_000));
    fields.add("action", kind::choice(1, &[0, 1, 2, 3]));
    fields.add("value", kind::any_number(8));
    fields.record()
}

/// What a job can carry.
fn attributes_elements() -> Elements {
    let mut elements = Elements::of("attributes");
    elements.repeat(1, "headers", kind::composite(header_value()));
    elements.add(0x8002, "expires", kind::composite(expiry_value()));
    elements.add(0x8003, "attempts_max", kind::number(4, 1..=4_294_967_295));
    elements.add(0x8004, "backoff", kind::composite(backoff_value()));
    elements.add(5, "group", kind::text("group", 0, 1..=255));
    elements.add(6, "dedupe_retention_ms", kind::number(8, 0..=2_592_000_000));
    elements.add(7, "created_at_ms", kind::any_number(8));
    elements.add(8, "schedule_reference", kind::bytes(0, 0..=65_535));
    elements.add(9, "postpone_max_ms", kind::number(8, 0..=315_360_000_000));
    elements.add(0x800b, "buried", kind::text("buried", 0, 0..=1_024));
    elements
}

/// What a filter can ask for.
fn filter_elements() -> Elements {
    let mut elements = Elements::of("filter");
    elements.add(1, "topic", kind::text("topic", 0, 0..=200));
    elements.add(2, "states", kind::bits(1, 0x1f));
    elements.add(3, "due_from_ms", kind::any_number(8));
    elements.add(4, "due_before_ms", kind::any_number(8));
    elements.add(5, "key_prefix", kind::bytes(0, 0..=256));
    elements.add(6, "attempts_min", kind::any_number(4));
    elements.add(7, "attempts_max", kind::any_number(4));
    elements.add(8, "buried", kind::choice(1, &[0, 1, 2, 3]));
    elements.add(9, "reason", kind::text("reason", 0, 0..=256));
    elements.add(10, "group", kind::text("group", 0, 1..=255));
    elements
}

/// What a topic can decide.
fn settings_elements() -> Elements {
    let mut elements = Elements::of("settings");
    elements.add(1, "ttr_ms", kind::number(4, 100..=604_800_000));
    elements.add(2, "priority", kind::number(4, 0..=4_294_967_294));
    elements.add(3, "attempts_max", kind::number(4, 1..=4_294_967_295));
    elements.add(4, "backoff", kind::composite(backoff_value()));
    elements.add(5, "expires_after_ms", kind::number(8, 1..=315_360_000_000));
    elements.add(6, "jobs_max", kind::number(8, 1..=18_446_744_073_709_551_615));
    elements.add(7, "bytes_max", kind::number(8, 1..=18_446_744_073_709_551_615));
    elements.add(8, "body_max", kind::number(4, 1..=4_294_967_295));
    elements.add(9, "leases_max", kind::number(4, 1..=4_294_967_295));
    elements.add(10, "rate", kind::number(4, 1..=1_000_000));
    elements.add(11, "late", kind::composite(late_value()));
    elements.add(12, "dead_letters", kind::text("dead_letters", 0, 1..=200));
    elements.add(13, "remember_ms", kind::number(8, 1..=2_592_000_000));
    elements.add(14, "call_back", kind::text("call_back", 0, 1..=1_024));
    elements.add(15, "call_back_method", kind::text("call_back_method", 0, 1..=65_535));
    elements.add(16, "call_back_headers", kind::text("call_back_headers", 0, 1..=1_024));
    elements.add(17, "call_back_body", kind::text("call_back_body", 0, 1..=2_048));
    elements.add(18, "call_back_timeout_ms", kind::number(4, 100..=300_000));
    elements.add(19, "call_back_concurrency", kind::number(4, 1..=1_024));
    elements.add(20, "call_back_rate", kind::number(4, 1..=1_000_000));
    elements.add(21, "call_back_secrets", kind::text("call_back_secrets", 0, 1..=64));
    elements.add(22, "call_back_refused", kind::text("call_back_refused", 0, 1..=65_535));
    elements.add(23, "call_back_retry_if", kind::text("call_back_retry_if", 0, 1..=512));
    elements.add(24, "call_back_success", kind::text("call_back_success", 0, 1..=65_535));
    elements.add(25, "call_back_of_job", kind::flag());
    elements.add(26, "call_back_log_ms", kind::number(8, 1..=7_776_000_000));
    elements.add(27, "call_back_paused", kind::flag());
    elements.add(28, "call_back_delay_ms", kind::number(8, 1..=315_360_000_000));
    elements.add(29, "fair", kind::flag());
    elements.add(30, "group_leases_max", kind::number(4, 1..=4_294_967_295));
    elements.add(31, "group_per_second_max", kind::number(4, 1..=1_000_000));
    elements.add(32, "group_burst", kind::number(4, 1..=1_000_000));
    elements.add(33, "group_order", kind::text("group_order", 0, 1..=65_535));
    elements.add(34, "group_on_bury", kind::text("group_on_bury", 0, 1..=65_535));
    elements
}
