//! Connected clients, and the session of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::account::{HeldMemory, MemoryAccount, MemoryShare};
use crate::protocol::{ErrorReply, GoingAway, Kind, Request, RequestId, Response};
use crate::replica::io::{Arrival, ConnectionId, Output, Permit};
use crate::replica::leader::pushes::PushParts;
use crate::types::{Access, Millis, SessionId, SessionSecret};

/// A share with less room than this, in bytes, is nearly used up.
const TIGHT_BYTES: usize = 1 << 20;

/// Who waits for an answer: a request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asker {
    pub(crate) connection: ConnectionId,
    pub(crate) request: RequestId,
}

/// One client's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Fresh random bytes, for the session that it may open.
    pub(crate) secret: SessionSecret,
    pub(crate) phase: Phase,
    /// The heartbeat that its HELLO asked for; 0 for none.
    pub(crate) heartbeat_wish_ms: u32,
    /// Most requests that it may have under way.
    pub(crate) in_flight_max: u32,
    /// What it may do.
    access: Arc<Access>,
    /// Where it comes from, or who asked last over it.
    pub(crate) address: Arc<str>,
    /// When it came, by the wall clock.
    pub(crate) since: Millis,
    /// What its HELLO called it.
    pub(crate) client_name: String,
    outbox: Outbox,
    share: MemoryShare,
    /// Reads for which the state is new enough, and that wait until there is room for their answers.
    held: VecDeque<(RequestId, Request)>,
    /// The one of them that was taken last, until it is answered: a search may take it long. It is answered whether there is
    /// still room by then or not, and before those that came after it: each is answered some time, however much is asked for.
    resumed: Option<RequestId>,
    requests: RequestQueue,
    /// The client is gone, and requests of it are left.
    is_left: bool,
}

/// What is sent to a connection.
#[derive(Debug)]
struct Outbox {
    responses: Vec<(RequestId, Response)>,
    /// Their memory, of the connection's share.
    memory: HeldMemory,
    /// How many of them answer a request.
    answers: u32,
    /// Of all that was sent.
    unwritten_bytes: usize,
}

/// What a connection asked for, and was not taken.
#[derive(Debug, Default)]
struct RequestQueue {
    /// Requests that wait for their turn, as they came together.
    batches: VecDeque<Batch>,
    /// A push before these that is proposed in parts.
    parts: Option<PushParts>,
    /// Of the batch whose last request is being taken up.
    permit: Option<Permit>,
    /// Whether the connection stands in line for its turn.
    is_in_line: bool,
}

impl RequestQueue {
    /// Whether something waits for its turn. Nothing does behind a part of a push that is not applied.
    fn is_waiting(&self) -> bool {
        self.parts.as_ref().map_or(!self.batches.is_empty(), |parts| !parts.is_under_way())
    }

    fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.parts.is_none()
    }

    /// What was asked for first.
    fn take(&mut self) -> Option<Asked> {
        if let Some(parts) = self.parts.take() {
            return Some(Asked::Rest(parts));
        }
        self.permit = None;
        let first = self.batches.front_mut()?;
        let (request, asked) = first.requests.next()?;
        if first.requests.as_slice().is_empty() {
            self.permit = self.batches.pop_front().map(|batch| batch.permit);
        }
        Some(Asked::Request(request, asked))
    }

    /// Who asks next, if the next request is the first of those that came together from another caller.
    fn take_caller(&mut self) -> Option<Arc<str>> {
        self.batches.front_mut().filter(|_| self.parts.is_none())?.from.take()
    }

    /// Drops what changes nothing for others.
    fn keep_what_outlives(&mut self) {
        for batch in &mut self.batches {
            let requests: Vec<_> = batch.requests.by_ref().filter(|(_, request)| outlives(request)).collect();
            batch.requests = requests.into_iter();
        }
        self.batches.retain(|batch| !batch.requests.as_slice().is_empty());
    }
}

/// What a connection asked for.
#[derive(Debug)]
pub(crate) enum Asked {
    Request(RequestId, Request),
    /// What is left of a push.
    Rest(PushParts),
}

#[derive(Debug)]
struct Batch {
    from: Option<Arc<str>>,
    requests: std::vec::IntoIter<(RequestId, Request)>,
    /// Given back when the last of them was taken up.
    permit: Permit,
}

impl Connection {
    /// Bytes that were sent to it and are not known to be written.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        self.outbox.unwritten_bytes
    }
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Nothing was said.
    Silent,
    /// HELLO was said and its session is on its way through the log.
    Opening,
    /// It speaks for a session.
    Open(SessionId),
    /// GOODBYE was said, or another connection took the session over.
    Ended,
}

/// All connections, and their sessions.
#[derive(Debug)]
pub(crate) struct Connections {
    output_bytes_max: usize,
    account: MemoryAccount,
    all: BTreeMap<ConnectionId, Connection>,
    /// Those that have asked for something that was not taken, the next one first.
    askers: VecDeque<ConnectionId>,
    attached: BTreeMap<SessionId, ConnectionId>,
    dirty: BTreeSet<ConnectionId>,
    /// Those that may have room for a read that was held.
    resumable: BTreeSet<ConnectionId>,
    /// Those that wait until others of the node give memory back.
    short: BTreeSet<ConnectionId>,
    /// Those that wait for the turn of another one, with which they share what little memory is left.
    behind: Vec<ConnectionId>,
}

impl Connections {
    /// No connections; each will have room for `output_bytes_max` bytes of output, as far as the account has it.
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
        let Arrival { secret, access, address, in_flight_max } = arrival;
        let share = self.account.share(&access, &address);
        let connection = Connection {
            outbox: Outbox { responses: Vec::new(), memory: share.nothing(), answers: 0, unwritten_bytes: 0 },
            share,
            secret,
            access,
            phase: Phase::Silent,
            heartbeat_wish_ms: 0,
            in_flight_max,
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

    /// Removes a connection. Returns its session, if that is now without a connection.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<SessionId> {
        self.dirty.remove(&id);
        self.short.remove(&id);
        match self.all.remove(&id)?.phase {
            Phase::Open(session) => self.detach(id, session).then_some(session),
            _ => None,
        }
    }

    /// The session has no connection any more, if it was this one.
    fn detach(&mut self, id: ConnectionId, session: SessionId) -> bool {
        let was_attached = self.attached.get(&session) == Some(&id);
        if was_attached {
            self.attached.remove(&session);
        }
        was_attached
    }

    /// Requests come, and wait for this connection's turn.
    pub(crate) fn ask(
        &mut self,
        id: ConnectionId,
        from: Option<Arc<str>>,
        requests: Vec<(RequestId, Request)>,
        permit: Permit,
    ) {
        let Some(connection) = self.all.get_mut(&id).filter(|_| !requests.is_empty()) else { return };
        connection.requests.batches.push_back(Batch { from, requests: requests.into_iter(), permit });
        self.line_up(id);
    }

    /// Whether a request waits for its connection's turn.
    pub(crate) fn any_asked(&self) -> bool {
        !self.askers.is_empty()
    }

    /// Whose turn it is. It ends with [`Self::end_turn`].
    pub(crate) fn next_asker(&mut self) -> Option<ConnectionId> {
        let next = self.askers.pop_front()?;
        if let Some(connection) = self.all.get_mut(&next) {
            connection.requests.is_in_line = false;
        }
        Some(next)
    }

    /// What a connection asked for first, of what waits.
    pub(crate) fn take_asked(&mut self, id: ConnectionId) -> Option<Asked> {
        let connection = self.all.get_mut(&id).filter(|one| one.requests.is_waiting())?;
        if let Some(from) = connection.requests.take_caller() {
            connection.address = from;
        }
        connection.requests.take()
    }

    /// The turn of a connection is over, or a push of it that was proposed in parts: if there is more, it comes again after all
    /// others.
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

    /// Keeps a push of which a part is proposed, or the rest waits for the connection's turn.
    pub(crate) fn hold_parts(&mut self, id: ConnectionId, parts: PushParts) {
        if let Some(connection) = self.all.get_mut(&id) {
            connection.requests.parts = Some(parts);
        }
    }

    /// The push that is proposed in parts. It is no longer before the other requests, unless it is held again.
    pub(crate) fn take_parts(&mut self, id: ConnectionId) -> Option<PushParts> {
        self.all.get_mut(&id)?.requests.parts.take()
    }

    /// A client is gone. What is left of its requests is what changes something for others.
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

    /// Whether it is gone, and nothing that it asked for is left.
    pub(crate) fn is_done(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| one.is_left && one.requests.is_empty())
    }

    /// Whether its client is there.
    pub(crate) fn is_there(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| !one.is_left)
    }

    /// What a client may do.
    pub(crate) fn access(&self, id: ConnectionId) -> Option<Arc<Access>> {
        self.all.get(&id).map(|one| Arc::clone(&one.access))
    }

    pub(crate) fn one(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.all.get_mut(&id)
    }

    /// Whether it has no WELCOME yet: without a leader here it could not ask for more.
    pub(crate) fn is_stranger(&self, id: ConnectionId) -> bool {
        self.all.get(&id).is_some_and(|one| matches!(one.phase, Phase::Silent | Phase::Opening))
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The session that a connection speaks for.
    pub(crate) fn session_of(&self, id: ConnectionId) -> Option<SessionId> {
        match self.all.get(&id)?.phase {
            Phase::Open(session) => Some(session),
            Phase::Silent | Phase::Opening | Phase::Ended => None,
        }
    }

    /// The one with the next greater number.
    pub(crate) fn next_id(&self, after: ConnectionId) -> Option<ConnectionId> {
        self.all.range((Bound::Excluded(after), Bound::Unbounded)).next().map(|(id, _)| *id)
    }

    pub(crate) fn ids(&self) -> Vec<ConnectionId> {
        self.all.keys().copied().collect()
    }

    /// Lets a connection speak for a session. Returns the connection that did so before, unless it is gone:
    /// what such a one asked for is still done.
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

    /// Whether a connection speaks for this session.
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

    /// How many bytes may be sent to a connection before some are written; 0 to one that is gone. One answer that
    /// is larger than the room is sent whole.
    pub(crate) fn room_bytes(&self, id: ConnectionId) -> usize {
        let there = self.all.get(&id).filter(|one| !one.is_left);
        there.map_or(0, |one| {
            self.output_bytes_max.saturating_sub(one.outbox.unwritten_bytes).min(one.share.room())
        })
    }

    /// The same for jobs that are about to be granted. Without room the connection waits for it. When a share is nearly used up,
    /// one connection after the other is granted jobs: `tight` has the shares whose turn is taken.
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

    /// A connection whose share has no room waits for it. One whose own output is too much goes on when that is written.
    fn wait_for_room(&mut self, id: ConnectionId) {
        if let Some(one) = self.all.get(&id).filter(|one| one.share.room() == 0) {
            self.short.insert(id);
            one.share.want();
        }
    }

    /// The turn of a connection is over: those of its share that waited for that may go on.
    pub(crate) fn take_behind(&mut self, id: Option<ConnectionId>) -> Vec<ConnectionId> {
        let share = id.and_then(|id| self.all.get(&id)).map(|one| one.share.clone());
        let waits_for = |other: &ConnectionId| match (&share, self.all.get(other)) {
            (Some(share), Some(other)) => other.share.is(share),
            _ => true,
        };
        self.behind.extract_if(.., |other| waits_for(other)).collect()
    }

    /// Memory was given back: those that waited for it may go on.
    pub(crate) fn take_short(&mut self) -> BTreeSet<ConnectionId> {
        self.resumable.extend(&self.short);
        std::mem::take(&mut self.short)
    }

    /// `bytes` bytes were written.
    pub(crate) fn written(&mut self, id: ConnectionId, bytes: usize) {
        if let Some(connection) = self.all.get_mut(&id) {
            let unwritten = &mut connection.outbox.unwritten_bytes;
            *unwritten = unwritten.saturating_sub(bytes);
            self.resumable.insert(id);
        }
    }

    /// Whether the answer to a read has to wait: for room, or for reads that came before it.
    pub(crate) fn must_wait(&self, asker: Asker) -> bool {
        self.all.get(&asker.connection).is_some_and(|one| {
            let are_before = one.resumed.is_some() || !one.held.is_empty();
            one.resumed != Some(asker.request) && (are_before || self.room_bytes(asker.connection) == 0)
        })
    }

    /// Keeps a read for when there is room, and not the buffer that it came in.
    pub(crate) fn hold(&mut self, asker: Asker, read: Request) {
        self.wait_for_room(asker.connection);
        if let Some(connection) = self.all.get_mut(&asker.connection) {
            connection.held.push_back((asker.request, read.detached()));
        }
    }

    /// The same for a read whose search has ended: it keeps its place before reads that came after it and were held meanwhile.
    pub(crate) fn hold_searched(&mut self, asker: Asker, read: Request) {
        self.wait_for_room(asker.connection);
        if let Some(connection) = self.all.get_mut(&asker.connection) {
            // Of a client that counts up, and begins again at 0; others have no order.
            let is_later = |later: RequestId| asker.request.0.wrapping_sub(later.0).cast_signed() < 0;
            let later = connection.held.iter().rev().take_while(|(held, _)| is_later(*held)).count();
            connection.held.insert(connection.held.len() - later, (asker.request, read.detached()));
        }
    }

    /// Whether [`Self::resume`] may have something.
    pub(crate) fn any_resumable(&self) -> bool {
        !self.resumable.is_empty()
    }

    /// A read that was held, when there is room for its answer and those before it are answered.
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

    /// The read that was held first.
    pub(crate) fn take_held(&mut self, id: ConnectionId) -> Option<(Asker, Request)> {
        let (request, read) = self.all.get_mut(&id)?.held.pop_front()?;
        Some((Asker { connection: id, request }, read))
    }

    /// Puts the answer to a request into a connection's outbox. Drops it if the connection is gone.
    pub(crate) fn send(&mut self, asker: Asker, response: Response) {
        self.tell(asker, response);
        if let Some(connection) = self.all.get_mut(&asker.connection).filter(|one| !one.is_left) {
            connection.outbox.answers += 1;
            if connection.resumed.take_if(|resumed| *resumed == asker.request).is_some() {
                self.resumable.insert(asker.connection);
            }
        }
    }

    /// As [`Self::send`], for a response that comes unasked, under the number of the request that it is about.
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

    /// Hands over the queued responses, one output for each connection.
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

/// Whether a request is to be done although its client is gone and hears no answer.
fn outlives(request: &Request) -> bool {
    let is_of_client = matches!(
        request,
        Request::Hello(_)
            | Request::Reserve(_)
            | Request::Subscribe(_)
            | Request::Credit { .. }
            | Request::Unsubscribe { .. }
            | Request::Cancel { .. }
            | Request::BackupBegin
    );
    request.opcode().kind() != Kind::Read && !is_of_client
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::SessionSecret;

    #[test]
    fn a_search_that_ends_late_keeps_its_place() {
        let (id, mut connections) = (ConnectionId(1), Connections::new(1, MemoryAccount::default()));
        let access = Arc::new(Access::open());
        let arrival =
            Arrival { secret: SessionSecret([1; 16]), access, address: String::new(), in_flight_max: 9 };
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
