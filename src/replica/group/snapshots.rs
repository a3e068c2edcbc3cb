//! Checkpoints from another node, for a node that is too far behind for entries.
//!
//! 1. The leader offers one. The offer is kept, and the driver fetches the checkpoint beside this node's data.
//! 2. When it is complete and verified, the offer is passed to Raft, which accepts it or has a newer one by now.
//! 3. If Raft accepts, the driver replaces log and chunks by the checkpoint, in one durable step.
//! 4. From then on the state is that of the checkpoint.
//!
//! Until step 3 nothing of this node's data is touched; a crash at any time leaves the old data or the new.

use super::Group;
use super::checkpoint::Checkpoints;
use crate::engine::Engine;
use crate::raft::{Membership, Message, Offer};
use crate::replica::io::Output;
use crate::replica::node::Node;
use crate::storage::{Records, Restored, StorageError};

/// The stage of an incoming checkpoint.
#[derive(Debug, Default)]
pub(crate) enum Incoming {
    #[default]
    Nothing,
    /// It is being fetched.
    Fetching { offer: Message, index: u64 },
    /// It is here. No checkpoint of this node's own may be under way when it is taken in.
    Here { offer: Message, restored: Box<Restored> },
    /// It is being put in its place.
    Installed { restored: Box<Restored> },
}

impl Incoming {
    /// The state that is to take the place of this node's own. Both are in memory until it does.
    pub(super) fn state(&self) -> Option<(&Engine, &Records)> {
        match self {
            Self::Here { restored, .. } | Self::Installed { restored } => {
                Some((&restored.engine, &restored.records))
            }
            Self::Nothing | Self::Fetching { .. } => None,
        }
    }

    /// Whether this node may begin a checkpoint of its own: it would be of a state that is about to go.
    pub(super) fn is_close(&self) -> bool {
        matches!(self, Self::Here { .. } | Self::Installed { .. })
    }
}

impl Group {
    /// The leader offers a checkpoint.
    pub(crate) fn offered(
        &mut self,
        node: &mut Node,
        offer: Message,
        index: u64,
    ) -> Result<(), StorageError> {
        let lost = self.has_lost_state();
        match &mut self.incoming {
            // A node that has lost its state needs a checkpoint even if it lacks no entry.
            _ if index < self.raft.commit() => return self.step(offer),
            _ if index == self.raft.commit() && !lost => return self.step(offer),
            Incoming::Installed { .. } => {}
            // The same one again, perhaps by another leader, or in another term.
            Incoming::Fetching { offer: kept, index: fetched }
                if *fetched == index && kept.from() == offer.from() =>
            {
                *kept = offer;
            }
            Incoming::Here { offer: kept, restored } if restored.base.index == index => *kept = offer,
            incoming => {
                let from = offer.from();
                *incoming = Incoming::Fetching { offer, index };
                node.due.push(Output::FetchSnapshot { from, index });
            }
        }
        Ok(())
    }

    /// A checkpoint that was fetched is here.
    ///
    /// # Errors
    ///
    /// When this node cannot do what its state asks for.
    pub(crate) fn snapshot_fetched(
        &mut self,
        node: &Node,
        fetched: u64,
        restored: Box<Restored>,
    ) -> Result<(), StorageError> {
        match std::mem::take(&mut self.incoming) {
            Incoming::Fetching { offer, index } if index == fetched => {
                let level = restored.engine.feature_level();
                self.incoming = Incoming::Here { offer, restored };
                node.check_feature_level(level)
            }
            // Another one was offered meanwhile.
            incoming => {
                self.incoming = incoming;
                Ok(())
            }
        }
    }

    /// A checkpoint that was to be fetched will not come: the leader offers another one some time.
    pub(crate) fn snapshot_gone(&mut self, gone: u64) {
        if matches!(self.incoming, Incoming::Fetching { index, .. } if index == gone) {
            self.incoming = Incoming::Nothing;
        }
    }

    /// Shows Raft the offer of the checkpoint that is here, unless one of this node's own is under way.
    pub(crate) fn take_snapshot_in(&mut self) -> Result<(), StorageError> {
        if !self.checkpoints.is_idle() {
            return Ok(());
        }
        match std::mem::take(&mut self.incoming) {
            Incoming::Here { offer, restored } => {
                self.incoming = Incoming::Installed { restored };
                let stepped = self.step(offer);
                if !self.raft.is_installing() {
                    // Raft knows better by now.
                    self.incoming = Incoming::Nothing;
                }
                stepped
            }
            incoming => {
                self.incoming = incoming;
                Ok(())
            }
        }
    }

    /// Log and chunks are those of the checkpoint at `index`: so is the state from here on.
    pub(super) fn installed(&mut self, node: &mut Node, index: u64) {
        let Incoming::Installed { restored } = std::mem::take(&mut self.incoming) else {
            unreachable!("what is installed was shown to Raft");
        };
        let Restored { number, base, voters, learners, next_chunk, engine, records, lost: _ } = *restored;
        assert!(base.index == index, "checkpoint {} was taken for that of entry {index}", base.index);
        self.state.engine = engine;
        self.state.records = records;
        self.untrusted = self.untrusted.filter(|_| !self.has_lost_state());
        node.peers.forget_states();
        self.applied = (base.index, base.term);
        self.log.committed.clear();
        self.checkpoints = Checkpoints::after(number, next_chunk);
        self.log.cut_through = None;
        self.raft.offer(Offer { index, term: base.term, members: Membership { voters, learners } });
        self.raft.applied(index);
        self.prepared = false;
        self.members_changed = true;
    }
}
