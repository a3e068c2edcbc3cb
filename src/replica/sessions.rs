//! HELLO, GOODBYE, lost connections and the grace of sessions.
//!
//! A session belongs to the token under which it was opened: no other resumes it. The state has a hash of its secret and the
//! token's name, so a backup gives no session away.

use ring::digest::{Context, SHA256};

use super::Replica;
use super::connections::Phase;
use super::io::ConnectionId;
use super::proposals::{Reply, Resumption};
use crate::engine::{Command, Outcome, SessionStatus};
use crate::protocol::{
    ErrorCode, ErrorReply, GoingAway, Hello, Member, RequestId, Response, Resume, Welcome, heartbeat_ms,
};
use crate::types::limits;
use crate::types::{FEATURE_SESSION_HASHES, SessionId, SessionSecret};

/// A client that is refused a session waits at least this long before it tries again, in milliseconds.
const SESSION_FULL_MS: u64 = 1000;

/// The last byte of every hash of a secret, and of no secret: nobody resumes a session with its hash.
const HASH_MARK: u8 = 0xa5;

impl Replica {
    pub(super) fn hello(&mut self, connection: ConnectionId, request: RequestId, hello: &Hello) {
        let Some(one) = self.connections.one(connection) else { return };
        if !matches!(one.phase, Phase::Silent) {
            let twice =
                ErrorReply::new(ErrorCode::Invalid, "HELLO was said before: say it once a connection");
            return self.connections.refuse(connection, request, twice);
        }
        one.phase = Phase::Opening;
        one.heartbeat_wish_ms = hello.heartbeat_ms;
        one.client_name.clone_from(&hello.client_name);
        let secret = one.secret;
        let Some(resume) = hello.resume else {
            return self.open(connection, request, secret, hello.leases_outlive);
        };
        let kept = self.kept_secret(connection, resume);
        match self.engine.session_matches(resume.session, &kept) {
            SessionStatus::Live { .. } if !self.lapsing.contains(&resume.session) => {
                self.welcome(connection, request, resume.session, resume.secret, Resumed::WithLeases);
            }
            SessionStatus::Live { .. } | SessionStatus::Lapsed { .. } => {
                let command = Command::SessionResume { session: resume.session, secret: kept };
                let resumption = Resumption { secret: resume.secret, leases_outlive: hello.leases_outlive };
                let reply = Reply::Resume(connection, request, resumption);
                self.propose_behind_grants(resume.session, command, reply);
            }
            SessionStatus::Unknown => self.open(connection, request, secret, hello.leases_outlive),
        }
    }

    /// What the state has of the secret that a client shows: its hash, or, of a session from a lower feature level, the secret.
    fn kept_secret(&self, connection: ConnectionId, resume: Resume) -> SessionSecret {
        let Resume { session, secret } = resume;
        let access = self.connections.access(connection);
        let hash = hash_of(secret, access.as_ref().map_or("", |access| &access.token));
        let is_hashed = self.engine.session_matches(session, &hash) != SessionStatus::Unknown;
        let may_be_kept = self.engine.feature_level() < FEATURE_SESSION_HASHES || !is_hash(secret);
        if is_hashed || !may_be_kept { hash } else { secret }
    }

    pub(super) fn goodbye(&mut self, connection: ConnectionId, request: RequestId, session: SessionId) {
        self.end_waiters(connection, "the session has ended");
        self.connections.end(connection);
        self.close_session(connection, request, session);
    }

    /// A client is gone. Its earlier requests are done all the same, in its turns.
    pub(super) fn disconnected(&mut self, connection: ConnectionId) {
        self.drop_waiters(connection);
        self.passes.forget(connection);
        self.connections.leave(connection);
        self.forget_if_done(connection);
    }

    /// Forgets a connection that is gone when all that it asked for is taken.
    pub(super) fn forget_if_done(&mut self, connection: ConnectionId) {
        if !self.connections.is_done(connection) {
            return;
        }
        self.waiters.forget(connection);
        self.passes.forget(connection);
        if let Some(session) = self.connections.remove(connection).filter(|_| self.is_serving()) {
            self.connections.start_grace(session, self.now_us + self.config.session_grace_ms * 1000);
        }
    }

    /// Proposes that sessions whose grace is over lapse.
    pub(super) fn lapse_sessions(&mut self) {
        if !self.is_serving() {
            return;
        }
        for session in self.connections.take_lapsed(self.now_us) {
            self.lapsing.insert(session);
            self.propose_behind_grants(session, Command::SessionLapse { session }, Reply::Lapse(session));
        }
    }

    /// Ends a session that this leader knows to be ending. One command gives back some or all of its leases: as long as some are
    /// left, another follows.
    pub(super) fn end_session(&mut self, session: SessionId, reply: Reply) {
        let command = match reply {
            Reply::Close(..) => Command::SessionClose { session },
            _ => Command::SessionLapse { session },
        };
        self.lapsing.insert(session);
        self.add_command(&command, reply);
    }

    /// It has given back all of them, and what waited for that is proposed.
    pub(super) fn session_ended(&mut self, session: SessionId) {
        self.lapsing.remove(&session);
        self.propose_held(session);
    }

    /// Proposes a command that ends or resumes a session, when the outcomes of all its reserves are known. By then undelivered
    /// grants are given back, and do not count as attempts. An ending session is resumed only after it has
    /// given back its leases.
    pub(super) fn propose_behind_grants(
        &mut self,
        session: SessionId,
        command: Command<'static>,
        reply: Reply,
    ) {
        let revives = matches!(command, Command::SessionResume { .. });
        if self.waiters.is_reserving(session) || (revives && self.lapsing.contains(&session)) {
            self.held_ends.entry(session).or_default().push((command, reply));
        } else {
            self.add_command(&command, reply);
        }
    }

    /// The outcome of a reserve, or of the end, of this session is known: what waited for it is proposed.
    pub(super) fn propose_held(&mut self, session: SessionId) {
        for (command, reply) in self.held_ends.remove(&session).unwrap_or_default() {
            self.propose_behind_grants(session, command, reply);
        }
    }

    /// The outcome of a session's opening.
    pub(super) fn opened(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        token: &str,
        outcome: &Outcome,
    ) {
        let session = if let Outcome::Session { session } = outcome { Some(*session) } else { None };
        self.token_limits.opened(token, session);
        let Some(session) = session else {
            let full = "the queue has as many sessions as it can: say GOODBYE when one is done, or wait";
            let room_ms = self.engine.session_room_at().map(|at| at.since(self.clock.stamp()));
            let room_ms = room_ms.unwrap_or(SESSION_FULL_MS).max(SESSION_FULL_MS);
            return self.refuse_session(connection, request, full, room_ms);
        };
        let Some(secret) = self.connections.one(connection).map(|one| one.secret) else {
            // The connection was gone before its session was open: no client will ever use it.
            let command = Command::SessionClose { session };
            return self.add_command(&command, Reply::Nobody);
        };
        self.welcome(connection, request, session, secret, Resumed::No);
    }

    fn refuse_session(&mut self, connection: ConnectionId, request: RequestId, why: &str, retry_ms: u64) {
        let error = ErrorReply { retry_after_ms: narrow(retry_ms), ..ErrorReply::new(ErrorCode::Quota, why) };
        self.connections.refuse(connection, request, error);
        self.closes.push(connection);
    }

    /// The outcome of a lapsed session's resumption.
    pub(super) fn resumed(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        resumption: Resumption,
        outcome: &Outcome,
    ) {
        match outcome {
            Outcome::Session { session } if self.connections.one(connection).is_some() => {
                self.welcome(connection, request, *session, resumption.secret, Resumed::WithoutLeases);
            }
            Outcome::Session { session } => {
                self.connections.start_grace(*session, self.now_us + self.config.session_grace_ms * 1000);
            }
            _ => {
                let Some(fresh) = self.connections.one(connection).map(|one| one.secret) else { return };
                self.open(connection, request, fresh, resumption.leases_outlive);
            }
        }
    }

    fn open(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        secret: SessionSecret,
        leases_outlive: bool,
    ) {
        let Some(access) = self.connections.access(connection) else { return };
        let engine = &self.engine;
        if !self.token_limits.open(&access, self.now_us, |session| engine.is_session_live(session)) {
            let many = "this token has as many sessions as it may: say GOODBYE when one is done, or wait";
            return self.refuse_session(connection, request, many, SESSION_FULL_MS);
        }
        let hashes = self.level_to_come() >= FEATURE_SESSION_HASHES;
        let secret = if hashes { hash_of(secret, &access.token) } else { secret };
        let command = Command::SessionOpen { secret, leases_outlive };
        self.add_command(&command, Reply::Open(connection, request, access.token.clone()));
    }

    /// Lets the connection speak for the session.
    fn welcome(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        session: SessionId,
        secret: SessionSecret,
        resumed: Resumed,
    ) {
        if let Some(before) = self.connections.attach(connection, session) {
            let message = "another connection took this session over";
            self.end_waiters(before, message);
            let (message, reason) = (message.to_owned(), GoingAway::SessionTakenOver);
            self.connections.tell(before, RequestId(0), Response::GoingAway { message, reason });
            self.closes.push(before);
        }
        let access = self.connections.access(connection);
        if let Some(access) = access.as_ref().filter(|_| resumed != Resumed::No) {
            self.token_limits.resumed(access, session);
        }
        let body_bytes_max = access.map_or(0, |access| access.body_bytes_max).min(self.config.body_bytes_max);
        let one = self.connections.one(connection);
        let (wish_ms, in_flight_max) = one.map_or((0, 0), |one| (one.heartbeat_wish_ms, one.in_flight_max));
        let welcome = Welcome {
            version: crate::protocol::VERSION,
            server_name: self.config.server_name.clone(),
            cluster_id: self.config.cluster_id,
            session,
            secret,
            resumed: resumed != Resumed::No,
            leases_kept: resumed == Resumed::WithLeases,
            heartbeat_ms: heartbeat_ms(wish_ms, self.config.heartbeat_ms),
            session_grace_ms: narrow(self.config.session_grace_ms),
            frame_bytes_max: narrow(self.config.body_bytes_max + limits::FRAME_OVERHEAD_BYTES_MAX),
            body_bytes_max: narrow(body_bytes_max),
            push_jobs_max: narrow(limits::PUSH_JOBS_MAX),
            leases_max: narrow(limits::LEASES_MAX),
            reserve_jobs_max: limits::RESERVE_JOBS_MAX,
            in_flight_max,
            members: self.members_for_clients(),
            clock_ms: self.clock_ms(),
        };
        self.connections.send(connection, request, Response::Welcome(Box::new(welcome)));
    }

    /// Where clients find each member. This node leads.
    fn members_for_clients(&self) -> Vec<Member> {
        let own = (self.config.node, self.config.client_address.clone());
        let others = self.engine.members().values().filter(|member| member.node != self.config.node);
        let others = others.map(|member| (member.node, member.client_address.clone()));
        let all = std::iter::once(own).chain(others);
        all.map(|(node, address)| Member { node, address, leader: node == self.config.node }).collect()
    }

    /// Answers the long polls of a connection, without a job, and ends its subscriptions with an error.
    pub(super) fn end_waiters(&mut self, connection: ConnectionId, why: &str) {
        for waiter in self.waiters.of(connection).into_iter().filter_map(|id| self.waiters.remove(id)) {
            if waiter.is_poll() {
                self.connections.send(connection, waiter.request, Response::Reserved(Vec::new()));
            } else {
                let ended = ErrorReply::new(ErrorCode::SessionUnknown, why);
                self.connections.tell(connection, waiter.request, Response::Error(ended));
            }
        }
    }

    fn drop_waiters(&mut self, connection: ConnectionId) {
        for id in self.waiters.of(connection) {
            self.waiters.remove(id);
        }
    }
}

/// A fresh secret that is not taken for a hash.
pub(super) fn unmarked(mut secret: SessionSecret) -> SessionSecret {
    if is_hash(secret) {
        secret.0[15] = !HASH_MARK;
    }
    secret
}

fn is_hash(secret: SessionSecret) -> bool {
    secret.0[15] == HASH_MARK
}

/// What the state has of the secret of a token's session.
fn hash_of(secret: SessionSecret, token: &str) -> SessionSecret {
    let mut context = Context::new(&SHA256);
    context.update(b"adjourn session\0");
    context.update(&secret.0);
    context.update(token.as_bytes());
    let digest = context.finish();
    let mut hash: [u8; 16] = digest.as_ref().first_chunk().copied().unwrap_or_default();
    hash[15] = HASH_MARK;
    SessionSecret(hash)
}

/// How much of a session was there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resumed {
    No,
    WithoutLeases,
    WithLeases,
}

fn narrow<T: TryInto<u32>>(value: T) -> u32 {
    value.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_token_and_never_a_secret() {
        let secret = SessionSecret([7; 16]);
        let hash = hash_of(secret, "shop");
        assert!(hash == hash_of(secret, "shop") && hash != hash_of(secret, "mail") && hash != secret);
        assert!(is_hash(hash) && hash_of(hash, "shop") != hash);
        assert!(unmarked(secret) == secret && !is_hash(unmarked(hash)));
    }
}
