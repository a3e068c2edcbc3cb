//! HELLO, GOODBYE, lost connections, and the grace of sessions.
//!
//! A session belongs to the token that opened it, and only that token can resume it. The state keeps a hash of its secret
//! and the token's name, so a backup does not reveal secrets.

use std::collections::{BTreeMap, BTreeSet};

use super::Leader;
use super::proposals::{Reply, Resumption};
use crate::group::Group;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::{Asker, Connections, Phase};
use crate::refusals::retry_later;
use crate::secrets::hash_of;
use adjourn_engine::{Command, Outcome, SessionStatus};
use adjourn_protocol::{ErrorCode, ErrorReply, GoingAway, Hello, Response, Welcome, heartbeat_ms};
use adjourn_types::{SessionId, SessionSecret, limits};

/// A client whose session is refused should wait at least this long, in milliseconds.
const SESSION_FULL_MS: u64 = 1000;

/// The grace of sessions without a connection, on the queue's clock. A session lapses when its grace ends, unless a client resumes it.
#[derive(Debug, Default)]
pub(crate) struct Graces {
    ends_us: BTreeMap<SessionId, u64>,
    by_end: BTreeSet<(u64, SessionId)>,
}

impl Graces {
    /// Starts the grace of a session, unless it has a connection.
    fn start(&mut self, connections: &Connections, session: SessionId, end_us: u64) {
        self.end(session);
        if connections.is_attached(session) {
            return;
        }
        self.ends_us.insert(session, end_us);
        self.by_end.insert((end_us, session));
    }

    /// Ends the grace of a session that has a connection again.
    fn end(&mut self, session: SessionId) {
        if let Some(end_us) = self.ends_us.remove(&session) {
            self.by_end.remove(&(end_us, session));
        }
    }

    /// Takes the sessions whose grace is over.
    fn take_ended(&mut self, queue_us: u64) -> Vec<SessionId> {
        let over = self.by_end.iter().take_while(|(end_us, _)| *end_us <= queue_us);
        let over: Vec<SessionId> = over.map(|(_, session)| *session).collect();
        for session in &over {
            self.end(*session);
        }
        over
    }

    /// When the next grace ends, on the queue's clock.
    pub(super) fn next_end_us(&self) -> Option<u64> {
        self.by_end.first().map(|(end_us, _)| *end_us)
    }
}

impl Leader {
    /// Starts the grace of a session, unless it has a connection.
    pub(super) fn start_grace(&mut self, node: &Node, session: SessionId) {
        let end_us = node.queue_us + node.config.session_grace_ms * 1000;
        self.graces.start(&node.connections, session, end_us);
    }

    pub(super) fn hello(&mut self, node: &mut Node, group: &Group, asker: Asker, hello: &Hello) {
        let Some(one) = node.connections.one(asker.connection) else { return };
        if !matches!(one.phase, Phase::Silent) {
            let twice =
                ErrorReply::new(ErrorCode::Invalid, "HELLO was said before: say it once a connection");
            return node.connections.refuse(asker, twice);
        }
        one.phase = Phase::Opening;
        one.heartbeat_wish_ms = hello.heartbeat_ms;
        one.client_name.clone_from(&hello.client_name);
        let secret = one.secret;
        let Some(resume) = hello.resume else {
            if hello.without_session {
                one.phase = Phase::WithoutSession;
                let secret = SessionSecret::default();
                return say_welcome(node, group, asker, SessionId::NONE, secret, Resumed::No);
            }
            return self.open(node, group, asker, secret, hello.leases_outlive);
        };
        let token = node.connections.access(asker.connection).map(|access| access.token.clone());
        let kept = hash_of(resume.secret, token.as_deref().unwrap_or_default());
        match group.state.engine.session_matches(resume.session, &kept) {
            SessionStatus::Live { .. } if !self.lapsing.contains(&resume.session) => {
                self.welcome(node, group, asker, resume.session, resume.secret, Resumed::WithLeases);
            }
            SessionStatus::Live { .. } | SessionStatus::Lapsed { .. } => {
                let command = Command::SessionResume { session: resume.session, secret: kept };
                let resumption = Resumption { secret: resume.secret, leases_outlive: hello.leases_outlive };
                let reply = Reply::Resume(asker, resumption);
                self.propose_behind_grants(node, group, resume.session, command, reply);
            }
            SessionStatus::Unknown => self.open(node, group, asker, secret, hello.leases_outlive),
        }
    }

    pub(super) fn goodbye(&mut self, node: &mut Node, group: &Group, asker: Asker, session: SessionId) {
        self.end_waiters(node, asker.connection, "the session has ended");
        node.connections.end(asker.connection);
        self.close_session(node, group, asker, session);
    }

    /// A client is gone: drops its waiters and the passes kept for it.
    pub(crate) fn stop_waiting(&mut self, connection: ConnectionId) {
        self.waiters.take_of(connection);
        self.passes.forget(connection);
    }

    /// Forgets a connection of a gone client once all its requests are taken up.
    pub(crate) fn forget_if_done(&mut self, node: &mut Node, connection: ConnectionId) {
        if !node.connections.is_done(connection) {
            return;
        }
        self.waiters.forget(connection);
        self.passes.forget(connection);
        if let Some(session) = node.connections.remove(connection) {
            self.start_grace(node, session);
        }
    }

    /// Proposes the lapse of sessions whose grace is over.
    pub(crate) fn lapse_sessions(&mut self, node: &Node, group: &Group) {
        for session in self.graces.take_ended(node.queue_us) {
            debug_assert!(
                !node.connections.is_attached(session),
                "whoever speaks for a session ends its grace"
            );
            self.lapsing.insert(session);
            let command = Command::SessionLapse { session };
            self.propose_behind_grants(node, group, session, command, Reply::Lapse(session));
        }
    }

    /// Proposes the end of a session that is ending already. One command gives back a limited number of leases; while some
    /// are left, another command follows.
    pub(super) fn end_session(&mut self, node: &Node, group: &Group, session: SessionId, reply: Reply) {
        let command = match reply {
            Reply::Close(..) => Command::SessionClose { session },
            _ => Command::SessionLapse { session },
        };
        self.lapsing.insert(session);
        self.proposals.add_command(node, group, &command, reply);
    }

    /// A session has given back all its leases: proposes the commands that waited for that.
    pub(super) fn session_ended(&mut self, node: &Node, group: &Group, session: SessionId) {
        self.lapsing.remove(&session);
        self.propose_held(node, group, session);
    }

    /// Proposes a command that ends or resumes a session, once the outcomes of all its reserves are known. By then
    /// undelivered grants are given back and do not count as attempts. An ending session is resumed only after it has given
    /// back its leases.
    pub(super) fn propose_behind_grants(
        &mut self,
        node: &Node,
        group: &Group,
        session: SessionId,
        command: Command<'static>,
        reply: Reply,
    ) {
        let revives = matches!(command, Command::SessionResume { .. });
        if self.waiters.is_reserving(session) || (revives && self.lapsing.contains(&session)) {
            self.held_ends.entry(session).or_default().push((command, reply));
        } else {
            self.proposals.add_command(node, group, &command, reply);
        }
    }

    /// Proposes the commands that waited for a reserve, or the end, of this session.
    pub(super) fn propose_held(&mut self, node: &Node, group: &Group, session: SessionId) {
        for (command, reply) in self.held_ends.remove(&session).unwrap_or_default() {
            self.propose_behind_grants(node, group, session, command, reply);
        }
    }

    /// Handles the outcome of opening a session.
    pub(super) fn opened(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        token: &str,
        outcome: &Outcome,
    ) {
        let session = if let Outcome::Session { session } = outcome { Some(*session) } else { None };
        self.token_limits.opened(token, session);
        let Some(session) = session else {
            let full = "the queue has as many sessions as it can: say GOODBYE when one is done, or wait";
            let room_ms = group.state.engine.session_room_at().map(|at| at.since(group.state.clock.stamp()));
            let room_ms = room_ms.unwrap_or(SESSION_FULL_MS).max(SESSION_FULL_MS);
            return node.refuse_session(asker, full, room_ms);
        };
        let Some(secret) = node.connections.one(asker.connection).map(|one| one.secret) else {
            // The connection closed before its session was open, so no client can use the session.
            let command = Command::SessionClose { session };
            return self.proposals.add_command(node, group, &command, Reply::Nobody);
        };
        self.welcome(node, group, asker, session, secret, Resumed::No);
    }

    /// Handles the outcome of resuming a lapsed session.
    pub(super) fn resumed(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        resumption: Resumption,
        outcome: &Outcome,
    ) {
        match outcome {
            Outcome::Session { session } if node.connections.one(asker.connection).is_some() => {
                self.welcome(node, group, asker, *session, resumption.secret, Resumed::WithoutLeases);
            }
            Outcome::Session { session } => {
                self.start_grace(node, *session);
            }
            _ => {
                let Some(fresh) = node.connections.one(asker.connection).map(|one| one.secret) else {
                    return;
                };
                self.open(node, group, asker, fresh, resumption.leases_outlive);
            }
        }
    }

    fn open(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        secret: SessionSecret,
        leases_outlive: bool,
    ) {
        let Some(access) = node.connections.access(asker.connection) else { return };
        let engine = &group.state.engine;
        if !self.token_limits.open(&access, node.now_us, |session| engine.is_session_live(session)) {
            let many = "this token has as many sessions as it may: say GOODBYE when one is done, or wait";
            return node.refuse_session(asker, many, SESSION_FULL_MS);
        }
        let client = &node.connections.who(asker.connection);
        let command = Command::SessionOpen { secret: hash_of(secret, &access.token), leases_outlive, client };
        self.proposals.add_command(node, group, &command, Reply::Open(asker, access.token.clone()));
    }

    /// Attaches the connection to the session, and answers its HELLO.
    fn welcome(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        session: SessionId,
        secret: SessionSecret,
        resumed: Resumed,
    ) {
        self.graces.end(session);
        if let Some(before) = node.connections.attach(asker.connection, session) {
            let message = "another connection took this session over";
            self.end_waiters(node, before, message);
            node.connections.say_goodbye(before, message, GoingAway::SessionTakenOver);
            node.closes.push(before);
        }
        if resumed != Resumed::No
            && let Some(access) = node.connections.access(asker.connection)
        {
            self.token_limits.resumed(&access, session);
        }
        say_welcome(node, group, asker, session, secret, resumed);
    }

    /// Answers the long polls of a connection without jobs, and ends its subscriptions with an error.
    pub(super) fn end_waiters(&mut self, node: &mut Node, connection: ConnectionId, why: &str) {
        for waiter in self.waiters.take_of(connection) {
            if waiter.is_poll() {
                node.connections.send(waiter.asker, Response::Reserved(Vec::new()));
            } else {
                let ended = ErrorReply::new(ErrorCode::SessionUnknown, why);
                node.connections.tell(waiter.asker, Response::Error(ended));
            }
        }
    }

    /// Closes another client's connection. Its session enters its grace, or ends.
    pub(super) fn disconnect(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        other: ConnectionId,
        ends_session: bool,
    ) {
        let Some(phase) = node.connections.one(other).map(|one| one.phase) else {
            let gone = "this node has no connection under that number: it was closed";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::NotFound, gone));
        };
        if other == asker.connection {
            let own = "this is the connection that asks: close it instead";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, own));
        }
        let session = match phase {
            Phase::Open(session) => Some(session),
            Phase::Silent | Phase::WithoutSession | Phase::Ended => None,
            Phase::Opening => {
                // Its session is in flight through the log, and cannot be ended here.
                let opening = "the connection is still being opened: try again";
                return node.connections.refuse(asker, retry_later(ErrorCode::Busy, opening, 100));
            }
        };
        let why = "an operator has closed this connection";
        self.end_waiters(node, other, why);
        node.connections.end(other);
        node.connections.say_goodbye(other, why, GoingAway::Disconnected);
        node.closes.push(other);
        match session {
            Some(session) if ends_session => self.close_session(node, group, asker, session),
            Some(session) => {
                self.start_grace(node, session);
                node.connections.send(asker, Response::Done);
            }
            None => node.connections.send(asker, Response::Done),
        }
    }

    /// Closes a session without a connection. The asker gets its answer when all leases are given back.
    pub(super) fn close_session(&mut self, node: &Node, group: &Group, asker: Asker, session: SessionId) {
        self.lapsing.insert(session);
        let reply = Reply::Close(asker, session);
        self.propose_behind_grants(node, group, session, Command::SessionClose { session }, reply);
    }

    /// Answers the long polls of a connection without jobs, and forgets its subscriptions.
    pub(crate) fn answer_polls(&mut self, node: &mut Node, connection: ConnectionId) {
        for waiter in self.waiters.take_of(connection) {
            if waiter.is_poll() {
                node.connections.send(waiter.asker, Response::Reserved(Vec::new()));
            }
        }
    }
}

impl Node {
    /// Refuses a session, and closes the connection.
    fn refuse_session(&mut self, asker: Asker, why: &str, retry_ms: u64) {
        let error = ErrorReply { retry_after_ms: narrow(retry_ms), ..ErrorReply::new(ErrorCode::Quota, why) };
        self.connections.refuse(asker, error);
        self.closes.push(asker.connection);
    }
}

/// Answers a HELLO.
fn say_welcome(
    node: &mut Node,
    group: &Group,
    asker: Asker,
    session: SessionId,
    secret: SessionSecret,
    resumed: Resumed,
) {
    let access = node.connections.access(asker.connection);
    let body_bytes_max = access.map_or(0, |access| access.body_bytes_max).min(node.config.body_bytes_max);
    let one = node.connections.one(asker.connection);
    let (wish_ms, in_flight_max) = one.map_or((0, 0), |one| (one.heartbeat_wish_ms, one.in_flight_max));
    let welcome = Welcome {
        version: adjourn_protocol::VERSION,
        server_name: node.config.server_name.clone(),
        cluster_id: node.config.cluster_id,
        session,
        secret,
        resumed: resumed != Resumed::No,
        leases_kept: resumed == Resumed::WithLeases,
        heartbeat_ms: heartbeat_ms(wish_ms, node.config.heartbeat_ms),
        session_grace_ms: narrow(node.config.session_grace_ms),
        frame_bytes_max: narrow(node.config.body_bytes_max + limits::FRAME_OVERHEAD_BYTES_MAX),
        body_bytes_max: narrow(body_bytes_max),
        push_jobs_max: narrow(limits::PUSH_JOBS_MAX),
        leases_max: narrow(limits::LEASES_MAX),
        reserve_jobs_max: limits::RESERVE_JOBS_MAX,
        in_flight_max,
        members: group.state.members_for_clients(node),
        clock_ms: node.clock_ms(),
    };
    node.connections.send(asker, Response::Welcome(Box::new(welcome)));
}

/// How much of a session was resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resumed {
    No,
    WithoutLeases,
    WithLeases,
}

fn narrow<T: TryInto<u32>>(value: T) -> u32 {
    value.try_into().unwrap_or(u32::MAX)
}
