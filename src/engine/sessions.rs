//! The sessions: who may hold leases, and what each producer pushed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::hash::{Element, Kind, Sum};
use super::jobs::Slot;
use super::outcome::{Reject, SessionStatus, SessionView};
use super::window::{SavedWindow, Window};
use crate::types::limits::{SESSION_RETENTION_MS, SESSIONS_MAX};
use crate::types::{JobId, Millis, SessionId, SessionSecret};

/// Lapsed sessions that one entry forgets at most.
pub(super) const FORGOTTEN_PER_ENTRY_MAX: usize = 64;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    secret: SessionSecret,
    pub(super) leases_outlive: bool,
    lapsed: Option<Millis>,
    /// What it gives back when it ends; stays empty if its leases outlive it.
    pub(super) leases: BTreeSet<(JobId, Slot)>,
    window: Window,
    hashed: u128,
    changed: bool,
}

/// A session as it is written to a checkpoint. Its leases are with their jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedSession {
    id: SessionId,
    secret: SessionSecret,
    leases_outlive: bool,
    lapsed: Option<Millis>,
    window: SavedWindow,
}

/// Every session that the queue knows.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: BTreeMap<SessionId, Session>,
    lapsed: BTreeSet<(Millis, SessionId)>,
    last: u64,
    changed: Vec<SessionId>,
}

impl SavedSession {
    pub(super) fn id(&self) -> SessionId {
        self.id
    }
}

impl Sessions {
    /// A new session. When there are too many, the one that lapsed first makes room.
    pub(super) fn open(
        &mut self,
        secret: SessionSecret,
        leases_outlive: bool,
        sum: &mut Sum,
    ) -> Result<SessionId, Reject> {
        if self.known.len() >= SESSIONS_MAX {
            let (_, oldest) = self.first_lapsed().ok_or(Reject::SessionQuota)?;
            self.forget(oldest, sum);
        }
        self.last += 1;
        let id = SessionId(self.last);
        let session = Session {
            secret,
            leases_outlive,
            lapsed: None,
            leases: BTreeSet::new(),
            window: Window::default(),
            hashed: 0,
            changed: false,
        };
        self.known.insert(id, session);
        self.touch(id);
        Ok(id)
    }

    /// All of them, by id.
    pub(super) fn save(&self) -> Vec<SavedSession> {
        let save = |(id, session): (&SessionId, &Session)| SavedSession {
            id: *id,
            secret: session.secret,
            leases_outlive: session.leases_outlive,
            lapsed: session.lapsed,
            window: session.window.save(),
        };
        self.known.iter().map(save).collect()
    }

    /// Takes back what was saved, without leases. What it adds to the state hash is in the sum that comes with it.
    pub(super) fn restore(&mut self, last: u64, saved: &[SavedSession]) {
        self.last = last;
        for SavedSession { id, secret, leases_outlive, lapsed, window } in saved {
            let mut session = Session {
                secret: *secret,
                leases_outlive: *leases_outlive,
                lapsed: *lapsed,
                leases: BTreeSet::new(),
                window: Window::restore(*id, window),
                hashed: 0,
                changed: false,
            };
            session.hashed = session.hash(*id, session.window.digest());
            self.lapsed.extend(lapsed.map(|lapsed| (lapsed, *id)));
            self.known.insert(*id, session);
        }
    }

    /// The ids between the last one and what is made of it are not given out.
    pub(super) fn skip(&mut self, skipped: impl FnOnce(u64) -> u64) {
        self.last = skipped(self.last);
    }

    /// A session comes back.
    pub(super) fn resume(&mut self, id: SessionId, secret: &SessionSecret) -> Result<(), Reject> {
        let known = self.touch(id).filter(|session| session.secret == *secret);
        let session = known.ok_or(Reject::SessionUnknown)?;
        if session.is_lapsing() {
            return Err(Reject::WrongState);
        }
        let lapsed = session.lapsed.take();
        if let Some(lapsed) = lapsed {
            self.lapsed.remove(&(lapsed, id));
        }
        Ok(())
    }

    /// A session may hold leases no longer. The first of what it holds, by id and no more than `leases_max`, is to be given back
    /// by the caller.
    pub(super) fn lapse(
        &mut self,
        id: SessionId,
        stamp: Millis,
        leases_max: usize,
    ) -> Result<Vec<Slot>, Reject> {
        let session = self.touch(id).ok_or(Reject::SessionUnknown)?;
        let leases = session.leases.iter().map(|lease| lease.1).take(leases_max).collect();
        if session.lapsed.is_none() {
            session.lapsed = Some(stamp);
            self.lapsed.insert((stamp, id));
        }
        Ok(leases)
    }

    /// Removes a session, which holds no lease any more.
    pub(super) fn forget(&mut self, id: SessionId, sum: &mut Sum) {
        if let Some(session) = self.known.remove(&id) {
            debug_assert!(session.leases.is_empty(), "its leases were given back");
            sum.subtract(session.hashed);
            if let Some(lapsed) = session.lapsed {
                self.lapsed.remove(&(lapsed, id));
            }
        }
    }

    /// Removes those that lapsed long ago: a bounded number of them.
    pub(super) fn forget_old(&mut self, stamp: Millis, sum: &mut Sum) {
        for _ in 0..FORGOTTEN_PER_ENTRY_MAX {
            match self.first_lapsed() {
                Some((lapsed, id)) if lapsed.after(SESSION_RETENTION_MS) <= stamp => self.forget(id, sum),
                _ => return,
            }
        }
    }

    /// How many leases a session would give back if it ended now.
    pub(super) fn lease_count(&self, id: SessionId) -> usize {
        self.known.get(&id).map_or(0, |session| session.leases.len())
    }

    /// Those that lapsed and still have leases to give back, by id.
    pub(super) fn lapsing(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.known.iter().filter(|(_, session)| session.is_lapsing()).map(|(id, _)| *id)
    }

    /// A session that may hold leases, for a change of them, which are hashed with their jobs.
    pub(super) fn live(&mut self, id: SessionId) -> Option<&mut Session> {
        self.known.get_mut(&id).filter(|session| session.lapsed.is_none())
    }

    /// A session that may have lapsed, for a change of its leases.
    pub(super) fn holder(&mut self, id: SessionId) -> Option<&mut Session> {
        self.known.get_mut(&id)
    }

    /// A producer's window, to be changed.
    pub(super) fn window(&mut self, id: SessionId) -> Option<&mut Window> {
        self.touch(id).map(|session| &mut session.window)
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

    /// The id that was given out last.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Brings what changed into the state hash.
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

    /// The hashes of all of them, from scratch.
    pub(super) fn hash(&self) -> u128 {
        self.known.iter().fold(0, |sum, (id, session)| {
            let (start, _) = session.window.digest();
            sum.wrapping_add(session.hash(*id, (start, session.window.recount(*id))))
        })
    }

    /// Every lease that would be given back: session, job, slot.
    pub(super) fn leases(&self) -> impl Iterator<Item = (SessionId, JobId, Slot)> + '_ {
        self.known
            .iter()
            .flat_map(|(id, session)| session.leases.iter().map(|(job, slot)| (*id, *job, *slot)))
    }

    /// The session that lapsed first, but for those that have leases to give back.
    fn first_lapsed(&self) -> Option<(Millis, SessionId)> {
        self.lapsed.iter().find(|(_, id)| self.lease_count(*id) == 0).copied()
    }

    fn touch(&mut self, id: SessionId) -> Option<&mut Session> {
        let session = self.known.get_mut(&id)?;
        if !session.changed {
            session.changed = true;
            self.changed.push(id);
        }
        Some(session)
    }
}

impl Session {
    /// Whether it has lapsed and has leases to give back.
    fn is_lapsing(&self) -> bool {
        self.lapsed.is_some() && !self.leases.is_empty()
    }

    fn hash(&self, id: SessionId, (start, pushed): (u64, u128)) -> u128 {
        let lapsed = self.lapsed.map_or(u64::MAX, |lapsed| lapsed.0);
        let mut element = Element::new(Kind::Session);
        element.word(id.0).word(u64::from(self.leases_outlive)).wide(u128::from_le_bytes(self.secret.0));
        element.word(lapsed).word(start).wide(pushed).hash()
    }
}
