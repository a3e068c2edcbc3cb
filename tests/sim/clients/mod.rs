//! The clients: what they share, which is a session that outlives connections, and what each kind does with it.
//!
//! A client knows what a real one knows: its requests, the answers, and its own clock.

mod consumer;
mod inspector;
mod many;
mod operator;
mod producer;
mod scheduler;
mod steward;
mod stranger;
mod tenants;
mod web_request;

use std::collections::{BTreeMap, VecDeque};

use adjourn_protocol::{Hello, Request, RequestId, Response, Resume, VERSION, VERSION_MIN, Welcome};
use adjourn_types::{JobId, Millis, TopicName};

use super::peers::node_at;
use super::plan::Plan;
use super::random::Random;
use super::seen::NodeId;
use super::time::{MS, SECOND, Us};
pub(super) use operator::EDIT_HEADER;

use consumer::Consumer;
use inspector::Inspector;
use operator::Operator;
use producer::Producer;
use scheduler::Scheduler;
pub(super) use scheduler::{CAUGHT_UP_WITHIN, is_of_schedule};
use steward::Steward;
pub(super) use steward::Wish;
use stranger::Stranger;
use tenants::Tenants;
pub(super) use tenants::{
    GROUP_LEASES_MAX, GROUP_TOPICS, GROUP_WEIGHT_MAX, IN_ORDER, LIMITED, NO_GROUP, group_named, has_groups,
};
use web_request::WebRequest;

/// Every topic. The leases of `brief` may outlive their session, so its jobs have a short time to run.
pub(super) const TOPICS: [&str; 4] = ["alpha", "beta", "gamma", "brief"];
/// The topic of clients whose leases outlive their session.
const BRIEF: &str = "brief";

/// The name of clients whose leases are volatile.
pub(super) const CALLER: &str = "caller";

/// After this number of failed connections a client tries more slowly.
const PATIENCE: u32 = 30;

/// What clients tell one another.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// Jobs whose push was acknowledged.
    pub(super) jobs: Vec<JobId>,
    /// Changes wanted of the cluster, in this order.
    pub(super) wishes: Vec<Wish>,
    /// Number of these that have come true.
    pub(super) wishes_done: usize,
    /// What others asked for of late.
    pub(super) overheard: VecDeque<Request>,
}

/// What a kind of client does.
pub(super) trait Role {
    /// A connection is there; `kept` is the part of the session that is left.
    fn up(&mut self, endpoint: &mut Endpoint, kept: Kept);
    /// A request was answered, or a subscription has delivered.
    fn answered(&mut self, endpoint: &mut Endpoint, id: RequestId, request: &Request, response: &Response);
    /// The connection is lost; this request had no answer.
    fn unanswered(&mut self, request: Request);
    /// Does the work that is due; returns when there is more to do.
    fn act(&mut self, endpoint: &mut Endpoint, board: &Board) -> Us;
    /// Begins nothing new from now on, and finishes all work.
    fn drain(&mut self);
    /// Looks at every job, if this client does that.
    fn inspect(&mut self) {}
    /// Whether its connections have a session. One without does not wait for its WELCOME.
    fn wants_session(&self) -> bool {
        true
    }
    /// Whether what it holds ends with its connection, also at a crash of the server.
    fn has_volatile_leases(&self) -> bool {
        false
    }
    /// Whether its work is done, if this client has an end.
    fn is_done(&self) -> bool {
        true
    }
    /// Whether it is there for the cluster, and not for jobs.
    fn looks_after_cluster(&self) -> bool {
        false
    }
    /// Number of wishes for the cluster that have come true, if this client looks after it.
    fn wishes_done(&self) -> usize {
        0
    }
}

/// What a new connection finds of the session that the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Nothing,
    Session,
    Leases,
}

/// A client's end of a connection, as its role sees it.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) now: Us,
    /// The client's own clock, which is right.
    pub(super) wall: Millis,
    pub(super) random: Random,
    pending: BTreeMap<RequestId, Request>,
    next_id: u32,
    outbox: Vec<(RequestId, Request)>,
    hang_up: bool,
}

/// What a client wants done.
#[derive(Debug)]
pub(super) enum Act {
    /// Connect to this node.
    Connect(NodeId),
    Send(Vec<(RequestId, Request)>),
    HangUp,
    WakeAt(Us),
}

/// One client.
pub(super) struct Client {
    role: Box<dyn Role + Send>,
    endpoint: Endpoint,
    state: State,
    resume: Option<Resume>,
    leases_outlive: bool,
    /// Connections that were lost before they were any good.
    failures: u32,
    /// Nodes that it knows.
    nodes: Vec<NodeId>,
    /// The one that is said to lead, to be tried next.
    hint: Option<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Down { until: Us },
    Connecting,
    Greeting,
    Up,
}

impl Endpoint {
    pub(super) fn send(&mut self, request: Request) -> RequestId {
        self.next_id += 1;
        let id = RequestId(self.next_id);
        self.pending.insert(id, request.clone());
        self.outbox.push((id, request));
        id
    }

    /// Ends the connection; the client connects again.
    pub(super) fn hang_up(&mut self) {
        self.hang_up = true;
    }

    /// Some topics, at least one.
    pub(super) fn some_topics(&mut self) -> Vec<TopicName> {
        let mut topics: Vec<TopicName> =
            TOPICS.iter().filter(|_| self.random.percent(50)).map(|name| topic(name)).collect();
        if topics.is_empty() {
            topics.push(any_topic(&mut self.random));
        }
        topics
    }
}

impl Client {
    /// The clients of a plan; the first one is the inspector.
    pub(super) fn all(plan: &Plan) -> Vec<Self> {
        let mut roles: Vec<(Box<dyn Role + Send>, bool)> = vec![(Box::new(Inspector::default()), false)];
        for number in 0..plan.producers {
            roles.push((Box::new(Producer::new(number, plan)), false));
        }
        let calm = plan.calm;
        for number in 0..plan.pollers {
            let outlive = !calm && number % 3 == 2;
            roles.push((Box::new(Consumer::poller(plan, outlive)), outlive));
        }
        for _ in 0..plan.subscribers {
            roles.push((
                Box::new(if calm { Consumer::steady(plan) } else { Consumer::subscriber(plan) }),
                false,
            ));
        }
        for _ in 0..plan.callers {
            roles.push((Box::new(Consumer::caller(plan)), false));
        }
        for _ in 0..plan.prefetchers {
            roles.push((Box::new(Consumer::prefetcher(plan)), false));
        }
        if plan.cluster.is_some() {
            roles.push((Box::new(Steward::default()), false));
        }
        for _ in 0..plan.operators {
            roles.push((Box::new(Operator::new(plan)), false));
        }
        for _ in 0..plan.readers {
            roles.push((Box::new(Operator::reader(plan)), false));
        }
        for number in 0..plan.web_requests {
            roles.push((Box::new(WebRequest::new(plan.producers + number, plan)), false));
        }
        for _ in 0..plan.schedulers {
            roles.push((Box::new(Scheduler::new(plan)), false));
        }
        for _ in 0..plan.tenants {
            roles.push((Box::new(Tenants::new(plan)), false));
        }
        // The last ones.
        for _ in 0..plan.strangers {
            roles.push((Box::new(Stranger::new(plan)), false));
        }
        let random = Random::new(plan.seed);
        (0..)
            .zip(roles)
            .map(|(label, (role, outlive))| Self::new(role, outlive, random.fork(label), plan))
            .collect()
    }

    fn new(role: Box<dyn Role + Send>, leases_outlive: bool, random: Random, plan: &Plan) -> Self {
        let nodes = (1..=plan.cluster.as_ref().map_or(1, |cluster| cluster.nodes)).collect();
        let endpoint = Endpoint {
            now: 0,
            wall: Millis(0),
            random,
            pending: BTreeMap::new(),
            next_id: 0,
            outbox: Vec::new(),
            hang_up: false,
        };
        let state = State::Down { until: 0 };
        Self { role, endpoint, state, resume: None, leases_outlive, failures: 0, nodes, hint: None }
    }

    /// Whether nothing that this client began is without its end.
    pub(super) fn is_done(&self) -> bool {
        self.role.is_done()
    }

    pub(super) fn has_volatile_leases(&self) -> bool {
        self.role.has_volatile_leases()
    }

    /// Whether it is there for the cluster, and not for jobs.
    pub(super) fn looks_after_cluster(&self) -> bool {
        self.role.looks_after_cluster()
    }

    pub(super) fn wishes_done(&self) -> usize {
        self.role.wishes_done()
    }

    pub(super) fn drain(&mut self) {
        self.role.drain();
    }

    pub(super) fn inspect(&mut self) {
        self.role.inspect();
    }

    /// Its time has come.
    pub(super) fn wake(&mut self, now: Us, wall: Millis, board: &Board) -> Vec<Act> {
        (self.endpoint.now, self.endpoint.wall) = (now, wall);
        match self.state {
            State::Down { until } if now >= until => {
                self.state = State::Connecting;
                let node = match self.hint.take() {
                    Some(node) => node,
                    None if self.nodes.len() == 1 => self.nodes[0],
                    None => *self.endpoint.random.pick(&self.nodes),
                };
                vec![Act::Connect(node)]
            }
            State::Down { until } => vec![Act::WakeAt(until)],
            State::Connecting | State::Greeting => Vec::new(),
            State::Up => self.act(board),
        }
    }

    /// The connection that it wanted is there.
    pub(super) fn opened(&mut self) -> Vec<Act> {
        self.state = State::Greeting;
        let hello = Hello {
            version_min: VERSION_MIN,
            version_max: VERSION,
            client_name: if self.has_volatile_leases() { CALLER } else { "simulated" }.to_owned(),
            resume: self.resume,
            leases_outlive: self.leases_outlive,
            without_session: !self.role.wants_session(),
            ..Hello::default()
        };
        self.endpoint.send(Request::Hello(hello));
        // A client may ask before it was welcomed; those with a session wait, so that each request has one.
        if !self.role.wants_session() {
            self.role.up(&mut self.endpoint, Kept::Nothing);
        }
        vec![Act::Send(std::mem::take(&mut self.endpoint.outbox))]
    }

    /// Its connection is gone, or it never came to be.
    pub(super) fn lost(&mut self, now: Us) -> Vec<Act> {
        for (_, request) in std::mem::take(&mut self.endpoint.pending) {
            if !matches!(request, Request::Hello(_)) {
                self.role.unanswered(request);
            }
        }
        if self.has_volatile_leases() {
            self.resume = None;
        }
        self.endpoint.outbox.clear();
        self.endpoint.hang_up = false;
        // Mostly soon enough for its session's grace.
        let pause = if self.looks_after_cluster() || self.endpoint.random.percent(85) {
            (MS, 300 * MS)
        } else {
            (SECOND, 6 * SECOND)
        };
        let pause = if self.hint.is_some() { (MS, 20 * MS) } else { pause };
        self.failures += u32::from(self.hint.is_none());
        // The only node may be down for hours.
        let pause =
            if self.failures > PATIENCE && self.nodes.len() == 1 { (9 * SECOND, 10 * SECOND) } else { pause };
        let until = now + self.endpoint.random.within(pause);
        self.state = State::Down { until };
        vec![Act::WakeAt(until)]
    }

    /// Something came from the server.
    pub(super) fn received(
        &mut self,
        now: Us,
        wall: Millis,
        responses: Vec<(RequestId, Response)>,
        board: &Board,
    ) -> Vec<Act> {
        (self.endpoint.now, self.endpoint.wall) = (now, wall);
        for (id, response) in responses {
            self.one(id, &response);
        }
        if self.state == State::Up || self.endpoint.hang_up { self.act(board) } else { Vec::new() }
    }

    fn one(&mut self, id: RequestId, response: &Response) {
        if matches!(response, Response::GoingAway { .. }) {
            return self.endpoint.hang_up();
        }
        let Some(request) = self.endpoint.pending.get(&id).cloned() else { return };
        if !matches!(request, Request::Subscribe(_)) || matches!(response, Response::Error(_)) {
            self.endpoint.pending.remove(&id);
        }
        match (&request, response) {
            (Request::Hello(_), Response::Welcome(welcome)) => {
                let kept = match (welcome.resumed, welcome.leases_kept) {
                    (false, _) => Kept::Nothing,
                    (true, false) => Kept::Session,
                    (true, true) => Kept::Leases,
                };
                self.resume = welcome.resume();
                self.learn(welcome);
                self.state = State::Up;
                self.failures = 0;
                if self.role.wants_session() {
                    self.role.up(&mut self.endpoint, kept);
                }
            }
            (Request::Hello(_), Response::Error(error)) => {
                self.hint = error.leader.as_deref().and_then(node_at);
                self.endpoint.hang_up();
            }
            (Request::Hello(_), _) => self.endpoint.hang_up(),
            (Request::Goodbye, _) => {
                self.resume = None;
                self.endpoint.hang_up();
            }
            _ => self.role.answered(&mut self.endpoint, id, &request, response),
        }
    }

    /// Learns where the members are.
    fn learn(&mut self, welcome: &Welcome) {
        for node in welcome.members.iter().filter_map(|member| node_at(&member.address)) {
            if !self.nodes.contains(&node) {
                self.nodes.push(node);
            }
        }
    }

    fn act(&mut self, board: &Board) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.endpoint.hang_up {
            acts.push(Act::WakeAt(self.role.act(&mut self.endpoint, board).max(self.endpoint.now + 1)));
        }
        if !self.endpoint.outbox.is_empty() {
            acts.push(Act::Send(std::mem::take(&mut self.endpoint.outbox)));
        }
        if self.endpoint.hang_up {
            acts.push(Act::HangUp);
        }
        acts
    }
}

pub(super) fn topic(name: &str) -> TopicName {
    name.parse().expect("it is a name")
}

fn any_topic(random: &mut Random) -> TopicName {
    let name: &&str = random.pick(&TOPICS);
    topic(name)
}
