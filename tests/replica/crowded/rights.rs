//! What a token lets a client do: each request with each right, from the protocol's own list.

use std::sync::Arc;

use adjourn_protocol::{
    Advance, Bulk, Change, Count, Edit, ErrorCode, GroupList, GroupSet, Hello, IfVersion, JobRef,
    JobTemplate, List, NewJob, Push, ReleaseKind, Request, RequestOpcode, Reserve, Response, Resume,
    ScheduleConditions, ScheduleFill, ScheduleList, SchedulePreview, ScheduleSet, StatsReport, Subscribe,
    TopicSet,
};
use adjourn_replica::{Arrival, ConnectionId};
use adjourn_types::{
    Access, CallBack, Fence, Filter, JobId, Key, Late, LateAction, Lease, Millis, PolicyChange, Right,
    ScheduleRules, SessionSecret, Setting, TopicName, TopicPolicy, When,
};

use bytes::Bytes;

use super::rig::{Rig, hello};

/// A queue with a job in each of two topics, and clients with tokens.
struct Queue {
    rig: Rig,
    clients: u64,
    mine: JobId,
    others: JobId,
}

fn topic(name: &str) -> TopicName {
    name.parse().expect("a name")
}

fn filter(name: &str) -> Filter {
    Filter { topic: Some(topic(name)), ..Filter::default() }
}

fn by_key(name: &str) -> JobRef {
    JobRef::Key { topic: topic(name), key: Key::new("key"[..].into()).expect("a key") }
}

fn bulk(change: Change, filter: Filter) -> Request {
    Request::Bulk(Bulk { change, filter, jobs_max: 9, cursor: "".into() })
}

fn list(filter: Filter) -> Request {
    let (order, cursor) = (adjourn_types::ListOrder::Due, "".into());
    Request::List(List { filter, order, jobs_max: 9, with_bodies: true, cursor })
}

/// A request of each kind about a topic, and the leases on some jobs.
fn example(opcode: RequestOpcode, name: &str, leases: Vec<Lease>) -> Request {
    use RequestOpcode as Of;
    let (topics, topic) = (vec![topic(name)], topic(name));
    match opcode {
        Of::Hello => Request::Hello(hello()),
        Of::Ping => Request::Ping,
        Of::Goodbye => Request::Goodbye,
        Of::Push => {
            Request::Push(Push { topic, sequence: 0, jobs: vec![NewJob::new("x")], idempotency: None })
        }
        Of::Reserve => Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms: 0, weights: Vec::new() }),
        Of::Subscribe => {
            Request::Subscribe(Subscribe { topics, credit_jobs: 0, credit_bytes: 0, weights: Vec::new() })
        }
        Of::Credit => Request::Credit { subscription: 1, credit_jobs: 0, credit_bytes: 0 },
        Of::Unsubscribe => Request::Unsubscribe { subscription: 1 },
        Of::Cancel => Request::Cancel { request: 1 },
        Of::Leases => Request::Leases { after: JobId(0), jobs_max: 1 },
        Of::Finish => Request::Finish { leases },
        Of::Release => Request::Release { kind: ReleaseKind::Backoff, leases, reason: None },
        Of::Touch => Request::Touch { ttr_ms: None, leases },
        Of::Bury => Request::Bury { leases, reason: None },
        Of::ReserveJob => Request::ReserveJob(by_key(name)),
        Of::Get => Request::Get(by_key(name)),
        Of::Delete => Request::Delete(by_key(name)),
        Of::Reschedule => Request::Reschedule { due: When::After(0), job: by_key(name), if_version: None },
        Of::Edit => Request::Edit(Edit { priority: Some(1), ..Edit::new(by_key(name)) }),
        Of::RunNow => Request::RunNow(by_key(name)),
        Of::Kick => Request::Kick(by_key(name)),
        Of::Peek => Request::Peek { topic },
        Of::KickMany => Request::KickMany { jobs_max: 1, topic },
        Of::List => list(filter(name)),
        Of::Count => Request::Count(filter(name).into()),
        Of::Bulk => bulk(Change::Kick, filter(name)),
        Of::Pause => Request::Pause { topic, for_ms: None },
        Of::Resume => Request::Resume { topic },
        Of::Topics => Request::Topics,
        Of::Stats => Request::Stats,
        Of::Connections => Request::Connections { after: 0, connections_max: 1 },
        Of::Disconnect => Request::Disconnect { connection: 9_999, ends_session: false },
        Of::TopicSet => Request::TopicSet(TopicSet { topic, change: Box::default() }),
        Of::TopicDelete => Request::TopicDelete { topic },
        Of::TopicShow => Request::TopicShow { topic },
        Of::Why => Request::Why(by_key(name)),
        Of::Advance => Request::Advance(Advance::By(1)),
        Of::BackupBegin => Request::BackupBegin,
        Of::BackupRead => Request::BackupRead { offset: 0, bytes: 1 },
        Of::BackupEnd => Request::BackupEnd,
        Of::ClusterStatus => Request::ClusterStatus,
        Of::ClusterAdd => Request::ClusterAdd { address: "127.0.0.1:1".to_owned() },
        Of::ClusterRemove => Request::ClusterRemove { node: 9 },
        Of::ClusterTransfer => Request::ClusterTransfer { node: 9 },
        other => of_groups_or_schedules(other, topic),
    }
}

fn of_groups_or_schedules(opcode: RequestOpcode, topic: TopicName) -> Request {
    use RequestOpcode as Of;
    match opcode {
        Of::GroupSet => Request::GroupSet(GroupSet {
            topic,
            group: "ann".parse().expect("a group"),
            weight: Some(2),
            paused: None,
        }),
        Of::GroupList => Request::GroupList(GroupList {
            topic,
            after: String::new(),
            prefix: String::new(),
            groups_max: 1,
        }),
        Of::TopicWhy => Request::TopicWhy { topic, group: String::new() },
        Of::ScheduleSet => Request::ScheduleSet(ScheduleSet {
            topic,
            name: "nightly".to_owned(),
            rules: Box::new(ScheduleRules { when: "@daily".to_owned(), ..ScheduleRules::default() }),
            template: JobTemplate::default(),
            if_version: IfVersion::Any,
        }),
        Of::ScheduleFill => Request::ScheduleFill(ScheduleFill {
            topic,
            name: "nightly".to_owned(),
            from: Millis(0),
            to: Millis(0),
            is_dry_run: false,
        }),
        Of::SchedulePreview => Request::SchedulePreview(SchedulePreview {
            rules: Box::new(ScheduleRules { when: "@daily".to_owned(), ..ScheduleRules::default() }),
            from: None,
            instants_max: 1,
        }),
        Of::ScheduleShow => Request::ScheduleShow { topic, name: "nightly".to_owned() },
        Of::ScheduleList => Request::ScheduleList(ScheduleList {
            topic: Some(topic),
            conditions: ScheduleConditions::default(),
            schedules_max: 1,
            cursor: Bytes::new(),
        }),
        Of::ScheduleDelete => Request::ScheduleDelete { topic, name: "nightly".to_owned() },
        Of::SchedulePause => Request::SchedulePause { topic, name: "nightly".to_owned(), note: None },
        Of::ScheduleResume => Request::ScheduleResume { topic, name: "nightly".to_owned() },
        Of::ScheduleRun => Request::ScheduleRun { topic, name: "nightly".to_owned() },
        other => unreachable!("{other:?} is about neither groups nor schedules"),
    }
}

/// What is of no topic: a right to any topic is enough, or to the server.
fn is_of_no_topic(opcode: RequestOpcode) -> bool {
    use RequestOpcode as Of;
    let of_what_it_may =
        matches!(opcode, Of::Leases | Of::Topics | Of::Stats | Of::ClusterStatus | Of::SchedulePreview);
    // Leases on jobs of other topics are stale.
    let of_leases = matches!(opcode, Of::Finish | Of::Release | Of::Touch | Of::Bury);
    of_what_it_may || of_leases || opcode.right() == Some(Right::Admin)
}

impl Queue {
    fn new() -> Self {
        let mut queue = Self { rig: Rig::new(), clients: 0, mine: JobId(0), others: JobId(0) };
        let owner = queue.client(&["push,consume,read,manage,admin"]);
        for name in ["mine", "others"] {
            let job = NewJob { key: Some(Key::new("key"[..].into()).expect("a key")), ..NewJob::new(name) };
            let job = NewJob { due: When::After(60_000), ..job };
            let push = Push { topic: topic(name), sequence: 0, jobs: vec![job], idempotency: None };
            queue.ask(owner, Request::Push(push));
            let pushed = queue.rig.pushed(owner, 1);
            *(if name == "mine" { &mut queue.mine } else { &mut queue.others }) = pushed;
            queue.rig.answers.clear();
        }
        queue
    }

    /// A client whose token grants this.
    fn client(&mut self, grants: &[&str]) -> ConnectionId {
        let grants = grants.iter().map(|grant| grant.parse().expect("a grant")).collect();
        let access = Access { token: "shop".to_owned(), grants, ..Access::open() };
        self.arrive(access)
    }

    fn arrive(&mut self, access: Access) -> ConnectionId {
        self.arrive_with(access, hello())
    }

    fn arrive_with(&mut self, access: Access, hello: Hello) -> ConnectionId {
        self.clients += 1;
        let (secret, access) = (SessionSecret([3; 16]), Arc::new(access));
        let arrival = Arrival { access, ..Arrival::open(secret, "10.0.0.9:1") };
        let client = self.rig.open_as(self.clients, arrival);
        self.rig.ask(client, 100, Request::Hello(hello));
        self.rig.settle();
        client
    }

    /// What a request is told, if it is told anything at once.
    fn ask(&mut self, client: ConnectionId, request: Request) -> Option<Response> {
        self.rig.answers.retain(|(to, id, _)| (*to, id.0) != (client, 1));
        self.rig.ask(client, 1, request);
        self.rig.settle();
        self.rig.is_answered(client, 1).then(|| self.rig.answer(client, 1).clone())
    }

    fn refusal(&mut self, client: ConnectionId, request: Request) -> Option<ErrorCode> {
        match self.ask(client, request) {
            Some(Response::Error(error)) => Some(error.code),
            _ => None,
        }
    }

    fn stats(&mut self, client: ConnectionId) -> StatsReport {
        match self.ask(client, Request::Stats) {
            Some(Response::Stats(stats)) => *stats,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn each_request_needs_the_right_that_the_table_names() {
    for opcode in RequestOpcode::ALL.iter().copied() {
        for right in Right::ALL {
            let mut queue = Queue::new();
            let lease = Lease { job: queue.mine, fence: Fence(7) };
            let grant = match right {
                Right::Admin => "admin".to_owned(),
                // It also needs the right to push.
                Right::Manage if opcode == RequestOpcode::ScheduleSet => "push,manage:mine".to_owned(),
                // It also needs the right to read.
                Right::Push if opcode == RequestOpcode::ScheduleFill => "push,read:mine".to_owned(),
                right => format!("{}:mine", right.name()),
            };
            let mut denied = |name| {
                let client = queue.client(&[&grant]);
                let told = queue.refusal(client, example(opcode, name, vec![lease]));
                told == Some(ErrorCode::Forbidden)
            };
            let needs = opcode.right();
            let of_cluster = opcode == RequestOpcode::ClusterStatus && right == Right::Admin;
            let has = needs.is_none_or(|needs| needs == right) || of_cluster;
            assert_eq!(denied("mine"), !has, "{opcode:?} with {grant}");
            let has = needs.is_none() || (has && is_of_no_topic(opcode));
            assert_eq!(denied("others"), !has, "{opcode:?} of another topic with {grant}");
        }
    }
}

#[test]
fn whoever_sets_a_schedule_may_push_to_its_topic() {
    let mut queue = Queue::new();
    let client = queue.client(&["manage:mine"]);
    let set = example(RequestOpcode::ScheduleSet, "mine", Vec::new());
    assert_eq!(queue.refusal(client, set), Some(ErrorCode::Forbidden));
}

#[test]
fn whoever_counts_what_a_backfill_would_push_may_read_its_topic_and_need_not_push() {
    let mut queue = Queue::new();
    let count = |is_dry_run| {
        let Request::ScheduleFill(fill) = example(RequestOpcode::ScheduleFill, "mine", Vec::new()) else {
            unreachable!()
        };
        Request::ScheduleFill(ScheduleFill { is_dry_run, ..fill })
    };
    for (grant, counts, fills) in
        [("read:mine", true, false), ("push:mine", false, false), ("push,read:mine", true, true)]
    {
        let client = queue.client(&[grant]);
        let may = [true, false]
            .map(|is_dry_run| queue.refusal(client, count(is_dry_run)) != Some(ErrorCode::Forbidden));
        assert_eq!(may, [counts, fills], "{grant}");
    }
}

#[test]
fn a_list_of_all_schedules_has_those_of_the_topics_that_the_token_may_read() {
    let mut queue = Queue::new();
    let owner = queue.client(&["push,manage,read"]);
    for name in ["mine", "others", "ours"] {
        queue.ask(owner, example(RequestOpcode::ScheduleSet, name, Vec::new()));
    }
    let mut seen = |grant: &str, schedules_max| {
        let client = queue.client(&[grant]);
        let conditions = ScheduleConditions::default();
        let list = ScheduleList { topic: None, conditions, schedules_max, cursor: Bytes::new() };
        match queue.ask(client, Request::ScheduleList(list)) {
            Some(Response::Schedules(page)) => {
                let topics: Vec<_> = page.schedules.into_iter().map(|one| one.topic.to_string()).collect();
                (topics, page.cursor.is_empty())
            }
            other => panic!("{other:?}"),
        }
    };
    let topics = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(seen("read", 10), (topics(&["mine", "others", "ours"]), true));
    assert_eq!(seen("read", 1), (topics(&["mine"]), false));
    assert_eq!(seen("read:ours", 10), (topics(&["ours"]), true));
    assert_eq!(seen("read:mine", 1), (topics(&["mine"]), true), "a cursor would tell of hidden ones");
    assert_eq!(seen("read:nothing", 1), (topics(&[]), true));
}

#[test]
fn a_job_of_a_topic_that_a_token_may_not_see_is_one_that_never_was() {
    let mut queue = Queue::new();
    let (mine, others) = (queue.mine, queue.others);
    let client = queue.client(&["read,manage:mine", "manage:hidden"]);
    let of = |job: JobId| JobRef::Id(job);
    assert!(matches!(queue.ask(client, Request::Get(of(mine))), Some(Response::Job(_))));
    assert_eq!(queue.refusal(client, Request::RunNow(of(mine))), None);
    for request in [
        Request::Get(of(others)),
        Request::Delete(of(others)),
        Request::RunNow(of(others)),
        Request::Kick(of(others)),
        Request::Reschedule { due: When::After(0), job: of(others), if_version: None },
        // Neither is one that may come soon.
        Request::Delete(of(JobId(others.0 + 1))),
    ] {
        let shown = format!("{request:?}");
        assert_eq!(queue.refusal(client, request), Some(ErrorCode::NotFound), "{shown}");
    }
    // Whoever may see a job is told what is missing.
    let reader = queue.client(&["read"]);
    assert_eq!(queue.refusal(reader, Request::Delete(of(others))), Some(ErrorCode::Forbidden));
    let owner = queue.client(&["read"]);
    assert!(matches!(queue.ask(owner, Request::Get(of(others))), Some(Response::Job(_))));
}

#[test]
fn leases_on_jobs_of_other_topics_are_stale() {
    let mut queue = Queue::new();
    let owner = queue.client(&["consume,manage:others"]);
    queue.ask(owner, Request::RunNow(by_key("others")));
    let (topics, weights) = (vec![topic("others")], Vec::new());
    let reserve = Request::Reserve(Reserve { topics, jobs_max: 1, wait_ms: 0, weights });
    let Some(Response::Reserved(jobs)) = queue.ask(owner, reserve) else { panic!("no job") };
    let leases: Vec<Lease> = jobs.iter().map(|job| job.lease).collect();
    let thief = queue.client(&["consume:mine"]);
    let settled = |response: Option<Response>| match response {
        Some(Response::Settled(results)) => format!("{results:?}"),
        other => panic!("{other:?}"),
    };
    let stolen = settled(queue.ask(thief, Request::Finish { leases: leases.clone() }));
    let finished = settled(queue.ask(owner, Request::Finish { leases }));
    assert_ne!(stolen, finished, "the job was there for its owner");
}

#[test]
fn lists_counts_and_stats_show_what_a_token_may_see() {
    let mut queue = Queue::new();
    let client = queue.client(&["read:mine", "manage:mine"]);
    let Some(Response::Jobs { jobs, .. }) = queue.ask(client, list(Filter::default())) else {
        panic!("a list")
    };
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [queue.mine]);
    let stats = queue.stats(client);
    assert_eq!(stats.topics.iter().map(|topic| topic.topic.as_str()).collect::<Vec<_>>(), ["mine"]);
    assert_eq!((stats.totals.delayed, stats.totals.pushed), (1, 1));
    let Some(Response::Topics(topics)) = queue.ask(client, Request::Topics) else { panic!("topics") };
    assert_eq!(topics.len(), 1);
    let Some(Response::Jobs { jobs, cursor }) = queue.ask(client, one_of_all("k")) else { panic!("a list") };
    assert_eq!((jobs.len(), cursor.len()), (1, 0), "behind it are only jobs that it may not see");
    let other = queue.client(&["read:elsewhere"]);
    for prefix in ["key", "no key"] {
        let Some(Response::Jobs { jobs, cursor }) = queue.ask(other, one_of_all(prefix)) else {
            panic!("a list")
        };
        assert_eq!((jobs.len(), cursor.len()), (0, 0), "a cursor tells of jobs that are not shown");
    }
    // What would count or change the jobs of others needs a topic.
    for request in [Request::Count(Count::default()), bulk(Change::Delete, Filter::default())] {
        assert_eq!(queue.refusal(client, request), Some(ErrorCode::Forbidden));
    }
    let reader = queue.client(&["read"]);
    assert_eq!(queue.stats(reader).topics.len(), 2);
    assert!(matches!(
        queue.ask(reader, Request::Count(Count::default())),
        Some(Response::Counted { jobs: 2, .. })
    ));
}

/// A page of one job of all topics, by key.
fn one_of_all(key_prefix: &'static str) -> Request {
    let filter = Filter { key_prefix: Some(key_prefix.into()), ..Filter::default() };
    let (order, cursor) = (adjourn_types::ListOrder::Key, "".into());
    Request::List(List { filter, order, jobs_max: 1, with_bodies: false, cursor })
}

#[test]
fn jobs_go_to_no_topic_to_which_the_token_may_not_push() {
    let mut queue = Queue::new();
    let client = queue.client(&["manage:mine", "push:spare"]);
    for (name, denied) in [("others", true), ("spare", false)] {
        let refused = queue.refusal(client, bulk(Change::Move { to: topic(name) }, filter("mine")));
        assert_eq!(refused, denied.then_some(ErrorCode::Forbidden), "{name}");
        let of_all = queue.client(&["read,manage", "push:spare"]);
        let refused = queue.refusal(of_all, bulk(Change::Move { to: topic(name) }, Filter::default()));
        assert_eq!(refused, denied.then_some(ErrorCode::Forbidden), "all jobs to {name}");
        let set = TopicPolicy { dead_letters: Some(topic(name)), ..TopicPolicy::default() };
        let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
        let refused = queue.refusal(client, Request::TopicSet(TopicSet { topic: topic("mine"), change }));
        assert_eq!(refused, denied.then_some(ErrorCode::Forbidden), "{name}");
    }
}

#[test]
fn an_auditor_hears_of_denials_and_of_what_changes_much() {
    let mut queue = Queue::new();
    let client = queue.client(&["read,push,manage:mine", "admin"]);
    queue.rig.audited.clear();
    for request in [
        example(RequestOpcode::Push, "mine", Vec::new()),
        example(RequestOpcode::Delete, "mine", Vec::new()),
        bulk(Change::Delete, filter("mine")),
        example(RequestOpcode::Pause, "mine", Vec::new()),
        example(RequestOpcode::Connections, "mine", Vec::new()),
        example(RequestOpcode::Push, "others", Vec::new()),
        Request::Delete(JobRef::Id(queue.others)),
        // It names nothing that is there.
        Request::Delete(JobRef::Id(JobId(queue.others.0 + 1))),
    ] {
        queue.ask(client, request);
    }
    let audited: Vec<_> = queue.rig.audited.iter().map(|one| (one.request, one.denied.is_some())).collect();
    let expected = [
        (RequestOpcode::Bulk, false),
        (RequestOpcode::Pause, false),
        (RequestOpcode::Connections, false),
        (RequestOpcode::Push, true),
        (RequestOpcode::Delete, true),
    ];
    assert_eq!(audited, expected);
    let [.., denial, hidden] = queue.rig.audited.as_slice() else { panic!("two denials") };
    assert_eq!((denial.token.as_str(), denial.address.as_str()), ("shop", "10.0.0.9:1"));
    assert_eq!(denial.about, "topic others");
    assert_eq!(hidden.about, format!("job {}", queue.others));
}

#[test]
fn an_auditor_is_told_what_was_to_be_changed() {
    let mut queue = Queue::new();
    let client = queue.client(&["push,read,manage"]);
    queue.rig.audited.clear();
    let few = Filter { attempts_min: Some(3), key_prefix: Some("o-".into()), ..filter("mine") };
    queue.ask(client, bulk(Change::Move { to: topic("spare") }, few));
    let call_back = CallBack {
        url: Some("https://hooks.example:8443/T0/secret?key=secret".to_owned()),
        headers: Some("authorization: secret".to_owned()),
        paused: true,
        ..CallBack::default()
    };
    let set = TopicPolicy {
        ttr_ms: Some(1000),
        jobs_max: Some(5_000_000_000),
        dead_letters: Some(topic("dead")),
        late: Some(Late { after_ms: 5000, then: LateAction::Bury }),
        call_back: Some(Arc::new(call_back)),
        ..TopicPolicy::default()
    };
    let change = Box::new(PolicyChange { set, unset: [Setting::Rate].into() });
    queue.ask(client, Request::TopicSet(TopicSet { topic: topic("mine"), change }));
    let about: Vec<&str> = queue.rig.audited.iter().map(|one| one.about.as_str()).collect();
    assert_eq!(
        about,
        [
            "topic mine key-prefix=o- attempts-min=3 move to spare",
            "topic mine set ttr=1000,jobs_max=5000000000,late=Late { after_ms: 5000, then: Bury },dead_letters=dead,\
             call_back=https://hooks.example:8443/...,call_back_headers=(21 bytes),call_back_paused=1 unset rate"
        ]
    );
}

#[test]
fn no_other_token_resumes_a_session() {
    let mut queue = Queue::new();
    let resume_as = |queue: &mut Queue, token: &str, resume| {
        let access = Access { token: token.to_owned(), ..Access::open() };
        let client = queue.arrive_with(access, Hello { resume, ..hello() });
        match queue.rig.answer(client, 100) {
            Response::Welcome(welcome) => welcome.clone(),
            other => panic!("{other:?}"),
        }
    };
    let own = resume_as(&mut queue, "shop", None);
    let resume = Some(Resume { session: own.session, secret: own.secret });
    let stolen = resume_as(&mut queue, "thief", resume);
    assert!(!stolen.resumed && stolen.session != own.session, "the secret alone is not enough");
    let resumed = resume_as(&mut queue, "shop", resume);
    assert!(resumed.resumed && resumed.session == own.session);
}

#[test]
fn a_token_is_shown_leases_only_where_it_may_consume() {
    let mut queue = Queue::new();
    let owner = queue.client(&["push,consume,read,manage"]);
    for name in ["mine", "others"] {
        queue.ask(owner, Request::RunNow(by_key(name)));
    }
    let reserve = Reserve {
        topics: vec![topic("mine"), topic("others")],
        jobs_max: 2,
        wait_ms: 0,
        weights: Vec::new(),
    };
    let Some(Response::Reserved(jobs)) = queue.ask(owner, Request::Reserve(reserve)) else { panic!("jobs") };
    assert_eq!(jobs.len(), 2);
    let Response::Welcome(welcome) = queue.rig.answer(owner, 100).clone() else { panic!("a welcome") };
    // The token was changed, and may do less from now on.
    let grants = vec!["consume:mine".parse().expect("a grant")];
    let access = Access { token: "shop".to_owned(), grants, ..Access::open() };
    let resume = welcome.resume();
    let client = queue.arrive_with(access, Hello { resume, ..hello() });
    let asked = Request::Leases { after: JobId(0), jobs_max: 9 };
    let Some(Response::Leased(leased)) = queue.ask(client, asked) else { panic!("leases") };
    assert_eq!(leased.jobs.iter().map(|job| job.lease.job).collect::<Vec<_>>(), [queue.mine]);
}

#[test]
fn a_token_makes_no_more_topics_than_it_may() {
    let mut queue = Queue::new();
    let grants = vec!["push,manage:mine*".parse().expect("a grant")];
    let access = Access { token: "flood".to_owned(), grants, topics_max: 3, ..Access::open() };
    let client = queue.arrive(access);
    let push = |name: &str| {
        Request::Push(Push {
            topic: topic(name),
            sequence: 0,
            jobs: vec![NewJob::new("x")],
            idempotency: None,
        })
    };
    // `mine` is there, and counts.
    assert_eq!(queue.refusal(client, push("mine.1")), None);
    queue.rig.ask(client, 1, push("mine.2"));
    queue.rig.ask(client, 2, push("mine.3"));
    queue.rig.settle();
    let Response::Error(error) = queue.rig.answer(client, 2) else { panic!("the one before is on its way") };
    assert_eq!(error.code, ErrorCode::Quota);
    assert_eq!(
        queue.refusal(client, example(RequestOpcode::TopicSet, "mine.4", Vec::new())),
        Some(ErrorCode::Quota)
    );
    assert_eq!(queue.refusal(client, push("mine.2")), None, "what is there is not made");
}

#[test]
fn a_token_has_no_more_sessions_than_it_may() {
    let mut queue = Queue::new();
    let access = |token: &str| Access { token: token.to_owned(), sessions_max: 2, ..Access::open() };
    let welcomed = |queue: &mut Queue, token| {
        let client = queue.arrive(access(token));
        matches!(queue.rig.answer(client, 100), Response::Welcome(_))
    };
    assert_eq!([0; 3].map(|_| welcomed(&mut queue, "flood")), [true, true, false]);
    assert!(welcomed(&mut queue, "other"));
    let last = ConnectionId(queue.clients - 2);
    queue.ask(last, Request::Goodbye);
    queue.rig.pass(1_000);
    queue.rig.settle();
    assert!(welcomed(&mut queue, "flood"), "one of them has ended");
    // Nobody says GOODBYE, and nothing else happens on the server.
    for client in 1..=queue.clients {
        queue.rig.disconnect(ConnectionId(client));
    }
    assert!(!welcomed(&mut queue, "flood"), "their grace is not over");
    queue.rig.pass(60_000);
    queue.rig.settle();
    assert_eq!([0; 3].map(|_| welcomed(&mut queue, "flood")), [true, true, false]);
}
