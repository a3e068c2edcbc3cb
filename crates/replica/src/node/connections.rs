//! Client connections, and the session of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::push_parts::PushParts;
use super::request_queue::{Asked, Batch, RequestQueue};
use crate::account::{HeldMemory, MemoryAccount, MemoryShare};
use crate::io::{Arrival, ConnectionId, Output, Permit};
use adjourn_protocol::{ErrorReply, GoingAway, Request, RequestId, Response};
use adjourn_types::limits::CLIENT_BYTES_MAX;
use adjourn_types::{Access, Millis, Right, SessionId, SessionSecret};

/// A share with less room than this is nearly used up, in bytes.
const TIGHT_BYTES: usize = 1 << 20;

/// The request, on its connection, that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asker {
    pub(crate) connection: ConnectionId,
    pub(crate) request: RequestId,
}

/// One client's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Fresh random bytes: the secret of a session that it may open.
    pub(crate) secret: SessionSecret,
    pub(crate) phase: Phase,
    /// The heartbeat requested in its HELLO; 0 for none.
    pub(crate) heartbeat_wish_ms: u32,
    /// Most requests that it may have in flight.
    pub(crate) in_flight_max: u32,
    /// See [`Arrival::volatile_leases`].
    pub(crate) volatile_leases: bool,
    /// Its token, rights and limits.
    access: Arc<Access>,
    /// Its address, or that of the last caller over it.
    pub(crate) address: Arc<str>,
    /// When it connected, by the wall clock.
    pub(crate) since: Millis,
    /// The client's name from its HELLO.
    pub(crate) client_name: String,
    outbox: Outbox,
    share: MemoryShare,
    /// Reads that are ready to be answered and wait for room for their answers.
    held: VecDeque<(RequestId, Request)>,
    /// The read that was last taken from `held`, until it is answered, which a search can delay. It is answered even if
    /// there is no room by then, and before later reads, so that each read is answered eventually.
    resumed: Option<RequestId>,
    requests: RequestQueue,
    /// How many of its requests are not answered yet.
    unanswered: usize,
    /// The GOODBYE of a connection without a session: it is answered last.
    goodbye: Option<RequestId>,
    /// True if the client is gone and some of its requests remain.
    is_left: bool,
}

/// The responses to a connection that are not passed on yet.
#[derive(Debug)]
struct Outbox {
    responses: Vec<(RequestId, Response)>,
    /// The memory of the responses, from the connection's share.
    memory: HeldMemory,
    /// How many of the responses answer a request.
    answers: u32,
    /// Bytes sent and not reported as written.
    unwritten_bytes: usize,
}

impl Connection {
    /// Bytes that were sent to it and are not reported as written.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        self.outbox.unwritten_bytes
    }
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Before HELLO.
    Silent,
    /// HELLO was received, and its session is being opened through the log.
    Opening,
    /// It belongs to a session.
    Open(SessionId),
    /// Its HELLO was answered, and asked for no session.
    WithoutSession,
    /// After GOODBYE, or after another connection took over its session.
    Ended,
}

/// All connections, and their sessions.
#[derive(Debug)]
pub(crate) struct Connections {
    output_bytes_max: usize,
    account: MemoryAccount,
    all: BTreeMap<ConnectionId, Connection>,
    /// Connections with requests that are not taken up, in the order of their turns.
    askers: VecDeque<ConnectionId>,
    attached: BTreeMap<SessionId, ConnectionId>,
    dirty: BTreeSet<ConnectionId>,
    /// Connections that may have room for a held read.
    resumable: BTreeSet<ConnectionId>,
    /// Connections that wait until other connections of the node return memory.
    short: BTreeSet<ConnectionId>,
    /// Connections that wait for the turn of another one with the same nearly used up share.
    behind: Vec<ConnectionId>,
}

impl Connections {
    /// Starts without connections. Each will have room for `output_bytes_max` bytes of output, if the account has it.
    pub(crate) fn new(output_bytes_max: usize, account: MemoryAccount) -> Self {
        Self {
            output_bytes_max,
            account,
            all: BTreeMap::new(),
            askers: VecDeque::new(),
            attached: BTreeMap::new(),
            dirty: BTreeSet::new(),
            resumable: BTreeSet::new(),
            short: BTreeSet::new(),
            behind: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, id: ConnectionId, arrival: Arrival, since: Millis) {
        let Arrival { secret, access, address, in_flight_max, volatile_leases } = arrival;
        let share = self.account.share(&access, &address);
        let connection = Connection {
            outbox: Outbox { responses: Vec::new(), memory: share.nothing(), answers: 0, unwritten_bytes: 0 },
            unanswered: 0,
            goodbye: None,
            share,
            secret,
            access,
            phase: Phase::Silent,
            heartbeat_wish_ms: 0,
            in_flight_max,
            volatile_leases,
            address: address.into(),
            since,
            client_name: String::new(),
            held: VecDeque::new(),
            resumed: None,
            requests: RequestQueue::default(),
            is_left: false,
        };
        self.all.insert(id, connection);
    }

    /// Removes a connection. Returns its session if that has no connection now.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<SessionId> {
        self.dirty.remove(&id);
        self.short.remove(&id);
        match self.all.remove(&id)?.phase {
            Phase::Open(session) => self.detach(id, session).then_some(session),
            _ => None,
        }
    }

    /// Detaches a session from a connection. Returns false if the session has another one.
    fn detach(&mut self, id: ConnectionId, session: SessionId) -> bool {
        let was_attached = self.attached.get(&session) == Some(&id);
        if was_attached {
            self.attached.remove(&session);
        }
        was_attached
    }

    /// Queues requests for this connection's turn.
    pub(crate) fn ask(
        &mut self,
        id: ConnectionId,
        from: Option<Arc<str>>,
        requests: Vec<(RequestId, Request)>,
        permit: Permit,
    ) {
        let Some(connection) = self.all.get_mut(&id).filter(|_| !requests.is_empty()) else { return };
        connection.unanswered += requests.len();
        connection.requests.batches.push_back(Batch { from, requests: requests.into_iter(), permit });
        self.line_up(id);
    }

    /// True if a request waits for its turn.
    pub(crate) fn any_asked(&self) -> bool {
        !self.askers.is_empty()
    }

    /// The connection whose turn it is. The turn ends with [`Self::end_turn`].
    pub(crate) fn next_asker(&mut self) -> Option<ConnectionId> {
        let next = self.askers.pop_front()?;
        if let Some(connection) = self.all.get_mut(&next) {
            connection.requests.is_in_line = false;
        }
        Some(next)
    }

    /// Takes the first waiting request of a connection.
    pub(crate) fn take_asked(&mut self, id: ConnectionId) -> Option<Asked> {
        let connection = self.all.get_mut(&id).filter(|one| one.requests.is_waiting())?;
        if let Some(from) = connection.requests.take_caller() {
            connection.address = from;
        }
        connection.requests.take()
    }

    /// Ends a connection's turn, or a push of it that was proposed in parts. If requests remain, its next turn comes after
    /// all others.
    pub(crate) fn end_turn(&mut self, id: ConnectionId) {
        if let Some(connection) = self.all.get_mut(&id)
            && connection.requests.parts.is_none()
        {
            connection.requests.permit = None;
        }
        self.line_up(id);
    }

    fn line_up(&mut self, id: ConnectionId) {
        if let Some(connection) = self.all.get_mut(&id)
            && connection.requests.is_waiting()
            && !std::mem::replace(&mut connection.requests.is_in_line, true)
        {
            self.askers.push_back(id);
        }
    }

    /// Keeps a push while one of its parts is proposed, or its rest waits for the connection's turn.
    pub(crate) fn hold_parts(&mut self, id: ConnectionId, parts: PushParts) {
        if let Some(connection) = self.all.get_mut(&id) {
            connection.requests.parts = Some(parts);
        }
    }

    /// Takes the push that is proposed in parts. Later requests need not wait for it any more, unless it is held again.
    pub(crate) fn take_parts(&mut self, id: ConnectionId) -> Option<PushParts> {
        self.all.get_mut(&id)?.requests.parts.take()
    }

    /// A client is gone. Only those of its requests remain that affect others.
    pub(crate) fn leave(&mut self, id: ConnectionId) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        connection.is_left = true;
        connection.held.clear();
        connection.outbox.responses.clear();
        drop(connection.outbox.memory.take_all());
        self.dirty.remove(&id);
        self.short.remove(&id);
        connection.requests.keep_what_outlives();
    }

    /// True if the client is gone and none of its requests remain.
    pub(crate) fn is_done(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| one.is_left && one.requests.is_empty())
    }

    /// True if the client is connected.
    pub(crate) fn is_there(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| !one.is_left)
    }

    /// True if the leases of this connection are volatile.
    pub(crate) fn has_volatile_leases(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| one.volatile_leases)
    }

    /// The rights and limits of a client.
    pub(crate) fn access(&self, id: ConnectionId) -> Option<Arc<Access>> {
        self.all.get(&id).map(|one| Arc::clone(&one.access))
    }

    /// True if it may administer all topics: it then learns who the other clients are.
    pub(crate) fn is_operator(&self, id: ConnectionId) -> bool {
        self.access(id).is_some_and(|access| access.has_everywhere(Right::Admin))
    }

    /// Who the client is, for operators: its address, its token, and the name that it gave itself. Empty if it is gone.
    pub(crate) fn who(&self, id: ConnectionId) -> String {
        let Some(one) = self.all.get(&id) else { return String::new() };
        let mut who = one.address.to_string();
        if !one.access.token.is_empty() {
            who = format!("{who}, token {}", one.access.token);
        }
        // Callers in the process share a connection, whose address is its name.
        if !one.client_name.is_empty() && one.client_name != *one.address {
            who = format!("{who}, {:?}", one.client_name);
        }
        who.truncate(who.floor_char_boundary(CLIENT_BYTES_MAX));
        who
    }

    pub(crate) fn one(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.all.get_mut(&id)
    }

    /// True if it has no WELCOME yet: it needs a leader on this node to get one.
    pub(crate) fn is_stranger(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| matches!(one.phase, Phase::Silent | Phase::Opening))
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The session that a connection belongs to.
    pub(crate) fn session_of(&self, id: ConnectionId) -> Option<SessionId> {
        match self.all.get(&id)?.phase {
            Phase::Open(session) => Some(session),
            Phase::Silent | Phase::Opening | Phase::WithoutSession | Phase::Ended => None,
        }
    }

    /// The connection with the next greater number.
    pub(crate) fn next_id(&self, after: ConnectionId) -> Option<ConnectionId> {
        self.all.range((Bound::Excluded(after), Bound::Unbounded)).next().map(|(id, _)| *id)
    }

    pub(crate) fn ids(&self) -> Vec<ConnectionId> {
        self.all.keys().copied().collect()
    }

    /// Attaches a connection to a session. Returns the previous connection, unless its client is gone: its remaining
    /// requests are still carried out.
    pub(crate) fn attach(&mut self, id: ConnectionId, session: SessionId) -> Option<ConnectionId> {
        let before =
            self.attached.insert(session, id).filter(|before| *before != id && self.is_there(*before));
        if let Some(connection) = before.and_then(|before| self.all.get_mut(&before)) {
            connection.phase = Phase::Ended;
        }
        if let Some(connection) = self.all.get_mut(&id) {
            connection.phase = Phase::Open(session);
        }
        before
    }

    /// True if a session has a connection.
    pub(crate) fn is_attached(&self, session: SessionId) -> bool {
        self.attached.contains_key(&session)
    }

    /// Detaches the session from this connection, which stays open.
    pub(crate) fn end(&mut self, id: ConnectionId) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        if let Phase::Open(session) = std::mem::replace(&mut connection.phase, Phase::Ended) {
            self.detach(id, session);
        }
    }

    /// How many more bytes may be sent to a connection now; 0 if its client is gone. A single answer that exceeds this is
    /// sent whole.
    pub(crate) fn room_bytes(&self, id: ConnectionId) -> usize {
        let there = self.all.get(&id).filter(|one| !one.is_left);
        there.map_or(0, |one| {
            self.output_bytes_max.saturating_sub(one.outbox.unwritten_bytes).min(one.share.room())
        })
    }

    /// As [`Self::room_bytes`], for granting jobs. Without room, the connection waits for it. If its share is nearly used
    /// up, only one connection of the share is granted jobs at a time: `tight` has the shares whose turn is taken.
    pub(crate) fn room_for_turn(&mut self, id: ConnectionId, tight: &mut Vec<MemoryShare>) -> usize {
        let room = self.room_bytes(id);
        let Some(one) = self.all.get(&id).filter(|_| room > 0) else {
            self.wait_for_room(id);
            return 0;
        };
        if one.share.room() >= TIGHT_BYTES {
            return room;
        }
        if tight.iter().any(|share| share.is(&one.share)) {
            self.behind.push(id);
            return 0;
        }
        tight.push(one.share.clone());
        room
    }

    /// Makes a connection wait if its share has no room. A connection with too much unwritten output continues when that is
    /// written.
    fn wait_for_room(&mut self, id: ConnectionId) {
        if let Some(one) = self.all.get(&id).filter(|one| one.share.room() == 0) {
            self.short.insert(id);
            one.share.want();
        }
    }

    /// Ends a connection's turn. Returns the connections that waited for it.
    pub(crate) fn take_behind(&mut self, id: Option<ConnectionId>) -> Vec<ConnectionId> {
        let share = id.and_then(|id| self.all.get(&id)).map(|one| one.share.clone());
        let waits_for = |other: &ConnectionId| match (&share, self.all.get(other)) {
            (Some(share), Some(other)) => other.share.is(share),
            _ => true,
        };
        self.behind.extract_if(.., |other| waits_for(other)).collect()
    }

    /// Memory came back. Returns the connections that waited for it.
    pub(crate) fn take_short(&mut self) -> BTreeSet<ConnectionId> {
        self.resumable.extend(&self.short);
        std::mem::take(&mut self.short)
    }

    /// Notes that bytes were written.
    pub(crate) fn written(&mut self, id: ConnectionId, bytes: usize) {
        if let Some(connection) = self.all.get_mut(&id) {
            let unwritten = &mut connection.outbox.unwritten_bytes;
            *unwritten = unwritten.saturating_sub(bytes);
            self.resumable.insert(id);
        }
    }

    /// True if the answer to a read must wait, for room or for earlier reads.
    pub(crate) fn must_wait(&self, asker: Asker) -> bool {
        self.all.get(&asker.connection).is_some_and(|one| {
            let are_before = one.resumed.is_some() || !one.held.is_empty();
            one.resumed != Some(asker.request) && (are_before || self.room_bytes(asker.connection) == 0)
        })
    }

    /// Holds a read until there is room, without the buffer that it arrived in.
    pub(crate) fn hold(&mut self, asker: Asker, read: Request) {
        self.wait_for_room(asker.connection);
        if let Some(connection) = self.all.get_mut(&asker.connection) {
            connection.held.push_back((asker.request, read.detached()));
        }
    }

    /// Holds a read whose search has ended, in its place before later reads that were held meanwhile.
    pub(crate) fn hold_searched(&mut self, asker: Asker, read: Request) {
        self.wait_for_room(asker.connection);
        if let Some(connection) = self.all.get_mut(&asker.connection) {
            // Request ids show the order if the client counts up, wrapping at 0. Other clients get no order.
            let is_later = |later: RequestId| asker.request.0.wrapping_sub(later.0).cast_signed() < 0;
            let later = connection.held.iter().rev().take_while(|(held, _)| is_later(*held)).count();
            connection.held.insert(connection.held.len() - later, (asker.request, read.detached()));
        }
    }

    /// True if [`Self::resume`] may return a read.
    pub(crate) fn any_resumable(&self) -> bool {
        !self.resumable.is_empty()
    }

    /// Takes a held read if there is room for its answer, and earlier reads are answered.
    pub(crate) fn resume(&mut self) -> Option<(Asker, Request)> {
        while let Some(id) = self.resumable.first().copied() {
            if self.room_bytes(id) > 0
                && let Some(connection) = self.all.get_mut(&id).filter(|one| one.resumed.is_none())
                && let Some((request, read)) = connection.held.pop_front()
            {
                connection.resumed = Some(request);
                return Some((Asker { connection: id, request }, read));
            }
            self.resumable.remove(&id);
            if self.all.get(&id).is_some_and(|one| !one.held.is_empty()) {
                self.wait_for_room(id);
            }
        }
        None
    }

    /// Takes the first held read.
    pub(crate) fn take_held(&mut self, id: ConnectionId) -> Option<(Asker, Request)> {
        let (request, read) = self.all.get_mut(&id)?.held.pop_front()?;
        Some((Asker { connection: id, request }, read))
    }

    /// Queues the answer to a request. Drops it if the client is gone.
    pub(crate) fn send(&mut self, asker: Asker, response: Response) {
        self.tell(asker, response);
        if let Some(connection) = self.all.get_mut(&asker.connection).filter(|one| !one.is_left) {
            connection.outbox.answers += 1;
            if connection.resumed.take_if(|resumed| *resumed == asker.request).is_some() {
                self.resumable.insert(asker.connection);
            }
        }
        self.answered(asker);
    }

    /// Notes that a request is answered: by [`Self::send`], or by the driver.
    pub(crate) fn answered(&mut self, asker: Asker) {
        let Some(connection) = self.all.get_mut(&asker.connection) else { return };
        debug_assert!(connection.unanswered > 0, "each request is answered once");
        connection.unanswered = connection.unanswered.saturating_sub(1);
        self.answer_goodbye(asker.connection);
    }

    /// Answers the GOODBYE of a connection without a session, once all its other requests are answered.
    pub(crate) fn end_without_session(&mut self, goodbye: Asker) {
        let Some(connection) = self.all.get_mut(&goodbye.connection) else { return };
        connection.phase = Phase::Ended;
        connection.goodbye = Some(goodbye.request);
        self.answer_goodbye(goodbye.connection);
    }

    fn answer_goodbye(&mut self, id: ConnectionId) {
        if let Some(connection) = self.all.get_mut(&id).filter(|one| one.unanswered == 1)
            && let Some(request) = connection.goodbye.take()
        {
            self.send(Asker { connection: id, request }, Response::Done);
        }
    }

    /// As [`Self::send`], for an unsolicited response about a request.
    pub(crate) fn tell(&mut self, about: Asker, response: Response) {
        if let Some(connection) = self.all.get_mut(&about.connection).filter(|one| !one.is_left) {
            let bytes = response.weight_bytes();
            let outbox = &mut connection.outbox;
            outbox.unwritten_bytes = outbox.unwritten_bytes.saturating_add(bytes);
            outbox.memory.add(bytes);
            outbox.responses.push((about.request, response));
            self.dirty.insert(about.connection);
        }
    }

    /// As [`Self::send`], for an error.
    pub(crate) fn refuse(&mut self, asker: Asker, error: ErrorReply) {
        self.send(asker, Response::Error(error));
    }

    /// Tells a client that it is about to be disconnected, and why.
    pub(crate) fn say_goodbye(&mut self, id: ConnectionId, message: &str, reason: GoingAway) {
        let about = Asker { connection: id, request: RequestId(0) };
        self.tell(about, Response::GoingAway { message: message.to_owned(), reason });
    }

    /// Passes on the queued responses, one output per connection.
    pub(crate) fn flush(&mut self, outputs: &mut Vec<Output>) {
        for connection in std::mem::take(&mut self.dirty) {
            let Some(one) = self.all.get_mut(&connection) else { continue };
            let outbox = &mut one.outbox;
            let (responses, answers) =
                (std::mem::take(&mut outbox.responses), std::mem::take(&mut outbox.answers));
            let memory = outbox.memory.take_all();
            outputs.push(Output::Send { connection, responses, answers, memory });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::SessionSecret;

    #[test]
    fn a_search_that_ends_late_keeps_its_place() {
        let (id, mut connections) = (ConnectionId(1), Connections::new(1, MemoryAccount::default()));
        let access = Arc::new(Access::open());
        let arrival = Arrival { access, in_flight_max: 9, ..Arrival::open(SessionSecret([1; 16]), "") };
        connections.add(id, arrival, Millis(0));
        for request in [u32::MAX - 2, u32::MAX, 0, 2] {
            connections.hold(Asker { connection: id, request: RequestId(request) }, Request::Topics);
        }
        for searched in [1, u32::MAX - 3, 3] {
            connections.hold_searched(Asker { connection: id, request: RequestId(searched) }, Request::Stats);
        }
        let held = std::iter::from_fn(|| connections.take_held(id)).map(|(asker, _)| asker.request.0);
        let order = [u32::MAX - 3, u32::MAX - 2, u32::MAX, 0, 1, 2, 3];
        assert!(held.eq(order), "in the order in which they came");
    }
}
