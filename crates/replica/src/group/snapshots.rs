//! Installing a checkpoint from another node, for a node that lags behind the beginning of the log.
//!
//! 1. The leader offers a checkpoint. The offer is kept, and the driver fetches the checkpoint beside this node's data.
//! 2. When it is complete and verified, the offer is passed to Raft, which accepts it, or has newer entries by now.
//! 3. If Raft accepts, the driver replaces log and chunks by the checkpoint, in one durable step.
//! 4. From then on the state is that of the checkpoint.
//!
//! Until step 3 this node's data is not touched; a crash at any time leaves the old data or the new.

use super::Group;
use super::checkpoint::Checkpoints;
use crate::io::Output;
use crate::node::Node;
use adjourn_engine::Engine;
use adjourn_raft::{Membership, Message, Offer};
use adjourn_storage::{Records, Restored, StorageError};

/// The stage of an incoming checkpoint.
#[derive(Debug, Default)]
pub(crate) enum Incoming {
    #[default]
    Nothing,
    /// It is being fetched.
    Fetching { offer: Message, index: u64 },
    /// It was fetched. It is installed once no checkpoint of this node's own is in progress.
    Here { offer: Message, restored: Box<Restored> },
    /// It is being installed.
    Installed { restored: Box<Restored> },
}

impl Incoming {
    /// The incoming state. Both states are in memory until it replaces this node's own.
    pub(super) fn state(&self) -> Option<(&Engine, &Records)> {
        match self {
            Self::Here { restored, .. } | Self::Installed { restored } => {
                Some((&restored.engine, &restored.records))
            }
            Self::Nothing | Self::Fetching { .. } => None,
        }
    }

    /// True if this node must not begin a checkpoint of its own: its state is about to be replaced.
    pub(super) fn is_close(&self) -> bool {
        matches!(self, Self::Here { .. } | Self::Installed { .. })
    }
}

impl Group {
    /// Handles the leader's offer of a checkpoint.
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
            // The same offer again, perhaps from another leader or in another term.
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

    /// Takes a fetched checkpoint.
    ///
    /// # Errors
    ///
    /// If it needs a higher feature level than this node supports.
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
            // Another checkpoint was offered in the meantime.
            incoming => {
                self.incoming = incoming;
                Ok(())
            }
        }
    }

    /// The checkpoint is not available any more. The leader will offer another one.
    pub(crate) fn snapshot_gone(&mut self, gone: u64) {
        if matches!(self.incoming, Incoming::Fetching { index, .. } if index == gone) {
            self.incoming = Incoming::Nothing;
        }
    }

    /// Passes the offer of a fetched checkpoint to Raft, unless a checkpoint of this node's own is in progress.
    pub(crate) fn take_snapshot_in(&mut self) -> Result<(), StorageError> {
        if !self.checkpoints.is_idle() {
            return Ok(());
        }
        match std::mem::take(&mut self.incoming) {
            Incoming::Here { offer, restored } => {
                self.incoming = Incoming::Installed { restored };
                let stepped = self.step(offer);
                if !self.raft.is_installing() {
                    // Raft has newer entries by now.
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

    /// Log and chunks on disk are now those of the checkpoint at `index`: replaces the state.
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
