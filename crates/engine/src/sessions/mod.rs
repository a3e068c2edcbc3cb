//! The sessions: holders of leases, and producers with the outcomes of their pushes.
//!
//! A lapsed session that never pushed under a sequence number has little worth keeping, so it is evicted first. One that
//! did is remembered for [`SESSION_RETENTION_MS`], under a separate limit: beyond it, no session is opened. The total
//! number of outcomes is bounded too: beyond it, the sessions with the most outcomes forget their older half.

pub(crate) mod repeat;
pub(crate) mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::hash::{Element, Kind, Sum};
use crate::job::held::some_text;
use crate::jobs::Slot;
use crate::outcome::{Reject, SessionStatus, SessionView};
use adjourn_types::limits::{
    CLIENT_BYTES_MAX, LAPSE_LEASES_MAX, LAPSED_PRODUCERS_MAX, OUTCOMES_MAX, PUSH_JOBS_MAX,
    SESSION_RETENTION_MS, SESSIONS_MAX,
};
use adjourn_types::{JobId, Millis, SessionId, SessionSecret};
use repeat::JobChecksum;
use window::{SavedWindow, Window};

/// Most lapsed sessions that one entry forgets.
pub(super) const FORGOTTEN_PER_ENTRY_MAX: usize = 64;

/// A window with at most this many outcomes loses none to make room for others. All such windows fit into [`OUTCOMES_MAX`].
const OUTCOMES_KEPT: usize = 7;

const _: () = assert!((SESSIONS_MAX + LAPSED_PRODUCERS_MAX) * OUTCOMES_KEPT < OUTCOMES_MAX);

/// Most windows that one push halves. That makes room for all its outcomes, even if the windows are short.
const HALVED_PER_PUSH_MAX: usize = PUSH_JOBS_MAX.div_ceil(OUTCOMES_KEPT.div_ceil(2));

/// What a session is opened with.
#[derive(Debug)]
pub(super) struct Opening<'a> {
    pub(super) secret: SessionSecret,
    pub(super) leases_outlive: bool,
    pub(super) client: &'a str,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    secret: SessionSecret,
    pub(super) leases_outlive: bool,
    /// Who opened it. Its jobs share the text.
    pub(super) client: Option<Arc<str>>,
    lapsed: Option<Millis>,
    /// The leases to give back when it ends; empty if they outlive it.
    pub(super) leases: BTreeSet<(JobId, Slot)>,
    window: Window,
    hashed: u128,
    changed: bool,
}

/// A session in a checkpoint. Its leases are stored with their jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedSession {
    id: SessionId,
    secret: SessionSecret,
    leases_outlive: bool,
    /// Empty for none.
    client: String,
    lapsed: Option<Millis>,
    window: SavedWindow,
}

/// All sessions that the queue remembers.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: BTreeMap<SessionId, Session>,
    last: u64,
    changed: Vec<SessionId>,
    orders: Orders,
    capture: Option<Capture>,
}

/// A walk over the sessions that existed when it began, by id. A session that changes before the walk reaches it is
/// captured as it was: its window keeps an undo log, and the other fields are kept here. Only changes are copied.
#[derive(Debug)]
struct Capture {
    /// The walk has passed the sessions before this one.
    next: SessionId,
    /// Sessions from here on were opened after the walk began.
    end: SessionId,
    /// For each session that changed since, when it had lapsed before that.
    lapsed: BTreeMap<SessionId, Option<Millis>>,
    /// Sessions that were forgotten since.
    forgotten: BTreeMap<SessionId, Session>,
}

/// The orders of eviction, and the totals of all sessions.
#[derive(Debug, Default)]
struct Orders {
    /// Lapsed sessions without remembered outcomes, by the time of the lapse.
    lapsed: BTreeSet<(Millis, SessionId)>,
    /// Lapsed sessions with remembered outcomes, by the time of the lapse.
    lapsed_producers: BTreeSet<(Millis, SessionId)>,
    /// The number of outcomes in all windows.
    outcomes: usize,
    /// The memory of all windows, in bytes.
    window_bytes: usize,
    /// The lengths of the texts that say who opened them.
    client_bytes: usize,
    /// Sessions that may lose outcomes to make room, by the logarithm of how many they have.
    by_outcomes: BTreeSet<(u32, SessionId)>,
}

impl SavedSession {
    /// True if it can be part of a state in which `last` is the last session id.
    pub(super) fn is_valid(&self, last: u64) -> bool {
        self.id.0 <= last && self.client.len() <= CLIENT_BYTES_MAX && self.window.is_valid()
    }
}

impl Sessions {
    /// Opens a session. At the limit, it evicts the session that lapsed first among those without remembered outcomes.
    pub(super) fn open(&mut self, opening: &Opening<'_>, sum: &mut Sum) -> Result<SessionId, Reject> {
        if self.orders.lapsed_producers.len() >= LAPSED_PRODUCERS_MAX {
            return Err(Reject::SessionQuota);
        }
        if self.known.len() - self.orders.lapsed_producers.len() >= SESSIONS_MAX {
            let (_, oldest) = self.first_idle(&self.orders.lapsed).ok_or(Reject::SessionQuota)?;
            self.forget(oldest, sum);
        }
        self.last += 1;
        let id = SessionId(self.last);
        let session = Session {
            secret: opening.secret,
            leases_outlive: opening.leases_outlive,
            client: some_text(opening.client, CLIENT_BYTES_MAX),
            lapsed: None,
            leases: BTreeSet::new(),
            window: Window::default(),
            hashed: 0,
            changed: false,
        };
        self.orders.add(id, &session);
        self.known.insert(id, session);
        self.change(id, |_| ());
        Ok(id)
    }

    /// True if the session exists and has not lapsed.
    pub(super) fn is_live(&self, id: SessionId) -> bool {
        self.known.get(&id).is_some_and(|session| session.lapsed.is_none())
    }

    /// All sessions, by id.
    pub(super) fn save(&self) -> Vec<SavedSession> {
        let save =
            |(id, session): (&SessionId, &Session)| session.save(*id, session.lapsed, session.window.save());
        self.known.iter().map(save).collect()
    }

    /// Begins to capture all sessions as they are now.
    pub(super) fn begin_capture(&mut self) {
        self.end_capture();
        let (next, end) = (SessionId(0), SessionId(self.last + 1));
        self.capture = Some(Capture { next, end, lapsed: BTreeMap::new(), forgotten: BTreeMap::new() });
    }

    /// The next session as it was when the capture began, and the number of its outcomes. `None` at the end.
    pub(super) fn captured(&mut self) -> Option<(SavedSession, usize)> {
        let capture = self.capture.as_mut()?;
        let known = self.known.range_mut(capture.next..capture.end).next();
        let forgotten = capture.forgotten.first_key_value().map(|(id, _)| *id);
        let (id, saved) = match (known, forgotten) {
            (Some((id, session)), forgotten) if forgotten.is_none_or(|forgotten| *id < forgotten) => {
                (*id, session.save_captured(*id, &mut capture.lapsed))
            }
            _ => {
                let Some((id, mut session)) = capture.forgotten.pop_first() else {
                    self.capture = None;
                    return None;
                };
                (id, session.save_captured(id, &mut capture.lapsed))
            }
        };
        capture.next = SessionId(id.0 + 1);
        let outcomes = saved.window.count();
        Some((saved, outcomes))
    }

    /// Ends the capture, if there is one.
    pub(super) fn end_capture(&mut self) {
        for id in self.capture.take().into_iter().flat_map(|capture| capture.lapsed.into_keys()) {
            if let Some(session) = self.known.get_mut(&id) {
                session.window.drop_undo();
            }
        }
    }

    /// Restores the saved sessions, without their leases. The saved state hash already includes them.
    pub(super) fn restore(&mut self, last: u64, saved: &[SavedSession]) {
        self.last = last;
        for SavedSession { id, secret, leases_outlive, client, lapsed, window } in saved {
            let mut session = Session {
                secret: *secret,
                leases_outlive: *leases_outlive,
                client: some_text(client, CLIENT_BYTES_MAX),
                lapsed: *lapsed,
                leases: BTreeSet::new(),
                window: Window::restore(*id, window),
                hashed: 0,
                changed: false,
            };
            session.hashed = session.hash(*id, session.window.digest());
            self.orders.add(*id, &session);
            self.known.insert(*id, session);
        }
    }

    /// Raises the last id to `skipped(last)`: the ids in between are never issued.
    pub(super) fn skip(&mut self, skipped: impl FnOnce(u64) -> u64) {
        self.last = skipped(self.last);
    }

    /// Makes a lapsed session live again.
    pub(super) fn resume(&mut self, id: SessionId, secret: &SessionSecret) -> Result<(), Reject> {
        let known = self.known.get(&id).filter(|session| session.secret == *secret);
        if known.ok_or(Reject::SessionUnknown)?.is_lapsing() {
            return Err(Reject::WrongState);
        }
        self.change(id, |session| session.lapsed = None);
        Ok(())
    }

    /// Lapses a session. The caller has to give back the returned leases: the first ones by job id, at most
    /// [`LAPSE_LEASES_MAX`].
    pub(super) fn lapse(&mut self, id: SessionId, stamp: Millis) -> Result<Vec<Slot>, Reject> {
        let leases = self.change(id, |session| {
            session.lapsed = session.lapsed.or(Some(stamp));
            session.leases.iter().map(|lease| lease.1).take(LAPSE_LEASES_MAX).collect()
        });
        leases.ok_or(Reject::SessionUnknown)
    }

    /// Removes a session that holds no lease.
    pub(super) fn forget(&mut self, id: SessionId, sum: &mut Sum) {
        if let Some(session) = self.known.remove(&id) {
            debug_assert!(session.leases.is_empty(), "its leases were given back");
            sum.subtract(session.hashed);
            self.orders.remove(id, &session);
            if let Some(capture) = self.capture.as_mut().filter(|capture| capture.is_ahead_of(id)) {
                capture.forgotten.insert(id, session);
            }
        }
    }

    /// Removes a bounded number of sessions that lapsed long ago.
    pub(super) fn forget_old(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.first_lapsed() {
                Some((lapsed, id)) if lapsed.after(SESSION_RETENTION_MS) <= stamp => self.forget(id, sum),
                _ => return,
            }
        }
    }

    /// The number of leases that a session would give back if it ended now.
    pub(super) fn lease_count(&self, id: SessionId) -> usize {
        self.known.get(&id).map_or(0, |session| session.leases.len())
    }

    /// The slots of the jobs whose leases it would give back, for job ids greater than `after`.
    pub(super) fn leases_of(&self, id: SessionId, after: JobId) -> impl Iterator<Item = Slot> + '_ {
        let leases = self.known.get(&id).map(|session| session.leases.range((after, Slot::MAX)..));
        leases.into_iter().flatten().filter(move |(job, _)| *job > after).map(|(_, slot)| *slot)
    }

    /// The lapsed sessions that still have leases to give back, by id.
    pub(super) fn lapsing(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.known.iter().filter(|(_, session)| session.is_lapsing()).map(|(id, _)| *id)
    }

    /// When the next lapsed session is forgotten, which makes room for a new one.
    pub(super) fn room_at(&self) -> Option<Millis> {
        self.first_lapsed().map(|(lapsed, _)| lapsed.after(SESSION_RETENTION_MS))
    }

    /// A live session, for a change of its leases, which are hashed with their jobs.
    pub(super) fn live(&mut self, id: SessionId) -> Option<&mut Session> {
        self.known.get_mut(&id).filter(|session| session.lapsed.is_none())
    }

    /// A session, lapsed or not, for a change of its leases.
    pub(super) fn holder(&mut self, id: SessionId) -> Option<&mut Session> {
        self.known.get_mut(&id)
    }

    /// Takes out a producer's window for a change; [`Self::put_window`] puts it back.
    pub(super) fn take_window(&mut self, id: SessionId) -> Option<Window> {
        self.change(id, |session| std::mem::take(&mut session.window))
    }

    /// Puts a producer's window back. If there are too many outcomes, the largest windows are halved.
    pub(super) fn put_window(&mut self, id: SessionId, window: Window) {
        self.change(id, |session| session.window = window);
        for _ in 0..HALVED_PER_PUSH_MAX {
            if self.orders.outcomes <= OUTCOMES_MAX {
                return;
            }
            let Some((_, most)) = self.orders.by_outcomes.last().copied() else { return };
            self.change(most, |session| session.window.forget_half(most));
        }
    }

    pub(super) fn status(&self, id: SessionId, secret: &SessionSecret) -> SessionStatus {
        match self.known.get(&id).filter(|session| session.secret == *secret) {
            None => SessionStatus::Unknown,
            Some(Session { leases_outlive, lapsed: None, .. }) => {
                SessionStatus::Live { leases_outlive: *leases_outlive }
            }
            Some(Session { leases_outlive, .. }) => SessionStatus::Lapsed { leases_outlive: *leases_outlive },
        }
    }

    pub(super) fn views(&self) -> impl Iterator<Item = SessionView> + '_ {
        let live = self.known.iter().filter(|(_, session)| session.lapsed.is_none());
        live.map(|(id, session)| SessionView { id: *id, leases_outlive: session.leases_outlive })
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The last id that was issued.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Updates the state hash with the changed sessions.
    pub(super) fn settle(&mut self, sum: &mut Sum) {
        for id in std::mem::take(&mut self.changed) {
            if let Some(session) = self.known.get_mut(&id) {
                let hash = session.hash(id, session.window.digest());
                sum.subtract(session.hashed);
                sum.add(hash);
                (session.hashed, session.changed) = (hash, false);
            }
        }
    }

    /// The sum of their hashes, computed from scratch.
    pub(super) fn hash(&self) -> u128 {
        self.known.iter().fold(0, |sum, (id, session)| {
            let (start, _) = session.window.digest();
            sum.wrapping_add(session.hash(*id, (start, session.window.recount(*id))))
        })
    }

    /// Every lease that a session would give back: session, job, slot.
    pub(super) fn leases(&self) -> impl Iterator<Item = (SessionId, JobId, Slot)> + '_ {
        self.known
            .iter()
            .flat_map(|(id, session)| session.leases.iter().map(|(job, slot)| (*id, *job, *slot)))
    }

    /// The session that lapsed first and has no leases to give back.
    fn first_lapsed(&self) -> Option<(Millis, SessionId)> {
        let Orders { lapsed, lapsed_producers, .. } = &self.orders;
        self.first_idle(lapsed).into_iter().chain(self.first_idle(lapsed_producers)).min()
    }

    /// The first of these sessions that has no lease to give back.
    fn first_idle(&self, lapsed: &BTreeSet<(Millis, SessionId)>) -> Option<(Millis, SessionId)> {
        lapsed.iter().find(|(_, id)| self.lease_count(*id) == 0).copied()
    }

    /// An estimate of the sessions' memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        /// A session and its id in a map node that is two thirds full, and its place in the orders.
        const SESSION_BYTES: usize = (size_of::<Session>() + size_of::<SessionId>()) * 3 / 2 + 64;
        self.known.len() * SESSION_BYTES + self.orders.window_bytes + self.orders.client_bytes
    }

    /// An estimate of the sessions' size in a checkpoint, in bytes.
    pub(super) fn saved_bytes(&self) -> usize {
        self.known.len() * size_of::<SavedSession>()
            + self.orders.client_bytes
            + self.orders.outcomes * (size_of::<u64>() + size_of::<JobChecksum>())
    }

    /// Changes a session, if it exists, and marks it for the state hash.
    fn change<T>(&mut self, id: SessionId, change: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let session = self.known.get_mut(&id)?;
        if !session.changed {
            session.changed = true;
            self.changed.push(id);
        }
        if let Some(capture) = self.capture.as_mut().filter(|capture| capture.is_ahead_of(id)) {
            capture.lapsed.entry(id).or_insert(session.lapsed);
            session.window.keep_undo();
        }
        self.orders.remove(id, session);
        let changed = change(session);
        self.orders.add(id, session);
        Some(changed)
    }
}

impl Capture {
    /// True if a session existed when the walk began, and the walk has not reached it.
    fn is_ahead_of(&self, id: SessionId) -> bool {
        (self.next..self.end).contains(&id)
    }
}

impl Orders {
    fn add(&mut self, id: SessionId, session: &Session) {
        let outcomes = session.window.count();
        self.outcomes += outcomes;
        self.window_bytes += session.window.memory_bytes();
        self.client_bytes += session.client.as_ref().map_or(0, |client| client.len());
        if outcomes > OUTCOMES_KEPT {
            self.by_outcomes.insert((outcomes.ilog2(), id));
        }
        if let Some(lapsed) = session.lapsed {
            self.lapsed_with(outcomes).insert((lapsed, id));
        }
    }

    /// Takes a session out before it changes or is removed.
    fn remove(&mut self, id: SessionId, session: &Session) {
        let outcomes = session.window.count();
        self.outcomes -= outcomes;
        self.window_bytes -= session.window.memory_bytes();
        self.client_bytes -= session.client.as_ref().map_or(0, |client| client.len());
        if outcomes > OUTCOMES_KEPT {
            self.by_outcomes.remove(&(outcomes.ilog2(), id));
        }
        if let Some(lapsed) = session.lapsed {
            self.lapsed_with(outcomes).remove(&(lapsed, id));
        }
    }

    fn lapsed_with(&mut self, outcomes: usize) -> &mut BTreeSet<(Millis, SessionId)> {
        if outcomes > 0 { &mut self.lapsed_producers } else { &mut self.lapsed }
    }
}

impl Session {
    /// True if it has lapsed and still has leases to give back.
    fn is_lapsing(&self) -> bool {
        self.lapsed.is_some() && !self.leases.is_empty()
    }

    fn save(&self, id: SessionId, lapsed: Option<Millis>, window: SavedWindow) -> SavedSession {
        let Self { secret, leases_outlive, ref client, .. } = *self;
        let client = client.as_deref().unwrap_or_default().to_owned();
        SavedSession { id, secret, leases_outlive, client, lapsed, window }
    }

    /// The session as it was when the capture began. `lapsed` holds the earlier value for sessions that changed.
    fn save_captured(
        &mut self,
        id: SessionId,
        lapsed: &mut BTreeMap<SessionId, Option<Millis>>,
    ) -> SavedSession {
        let window = self.window.save_undone();
        self.save(id, lapsed.remove(&id).unwrap_or(self.lapsed), window)
    }

    fn hash(&self, id: SessionId, (start, pushed): (u64, u128)) -> u128 {
        let lapsed = self.lapsed.map_or(u64::MAX, |lapsed| lapsed.0);
        let mut element = Element::new(Kind::Session);
        element.word(id.0).word(u64::from(self.leases_outlive)).wide(u128::from_le_bytes(self.secret.0));
        element.text(self.client.as_deref().unwrap_or_default());
        element.word(lapsed).word(start).wide(pushed).hash()
    }
}
