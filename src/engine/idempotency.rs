//! Pushes that carried an idempotency key: a repeat gets the answer of the first time.
//!
//! A key is a hash that the client, or the server for it, draws from what the caller says. It belongs to an owner, and other
//! owners may use the same: they neither meet nor see it. The last [`IDEMPOTENT_PUSHES_MAX`] jobs are remembered, each
//! for [`IDEMPOTENT_PUSH_MS`], with a [share](super::recent) for each owner. Unlike the
//! [window](super::window) of a session it cannot tell a push that it has forgotten from one that never was.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Engine;
use super::command::Command;
use super::hash;
use super::outcome::{Outcome, PushOutcome, Reject};
use super::recent::{Happening, Recent};
use super::repeat::{JobChecksum, checksum_of};
use super::store::JobStore;
use super::window::{pack, unpack};
use crate::types::limits::{IDEMPOTENT_PUSH_MS, IDEMPOTENT_PUSHES_MAX};
use crate::types::{GroupId, Lease, Millis};

/// One pushed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// When it was pushed, as a stamp.
    pub(super) at: Millis,
    pub(super) owner: u64,
    pub(super) key: u128,
    /// As windows pack it.
    pub(super) outcome: u64,
    pub(super) checksum: JobChecksum,
}

/// Those that are remembered.
pub(super) type IdempotentPushes = Recent<Remembered>;

/// What became of a key before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recall {
    New,
    Known(PushOutcome),
    /// It was used for another job, or for one of a longer or shorter list.
    Reused,
}

impl Engine {
    /// Pushes jobs to one topic; an outcome for each. A job whose key was used before has the outcome that it had then. If a
    /// key was used for another job, no job is pushed.
    pub(super) fn push_idempotent(
        &mut self,
        command: &Command<'_>,
        store: &mut impl JobStore,
        ended: &mut Vec<Lease>,
    ) -> Result<Outcome, Reject> {
        let &Command::PushIdempotent { owner, key, list_jobs, topic, ref jobs } = command else {
            unreachable!("it pushes under no key")
        };
        let outcomes = self.in_topic(topic, |engine, topic| {
            let seed = engine.topic_seed(topic).map(|seed| xxh3_64_with_seed(&list_jobs.to_le_bytes(), seed));
            let at = engine.clock.stamp;
            let keyed = (0..).zip(jobs).map(|(nth, job)| {
                let (key, checksum) = (key.wrapping_add(nth), checksum_of(job, seed));
                let pushed = Remembered { at, owner, key, outcome: 0, checksum };
                (pushed, recall(&engine.idempotent, &pushed, engine.group))
            });
            let keyed: Vec<_> = keyed.collect();
            let is_reused = keyed.iter().any(|(_, recall)| *recall == Recall::Reused);
            let outcomes = keyed.into_iter().zip(jobs).map(|((pushed, recall), job)| match recall {
                Recall::Known(outcome) => outcome,
                _ if is_reused => PushOutcome::Refused(Reject::SequenceReused, None),
                _ => {
                    let outcome = engine.push_one(topic, job, store, ended);
                    // What is refused was not pushed: the same may be tried again.
                    if !matches!(outcome, PushOutcome::Refused(..)) {
                        let pushed = Remembered { outcome: pack(outcome), ..pushed };
                        engine.idempotent.remember(pushed, &mut engine.sum);
                    }
                    outcome
                }
            });
            outcomes.collect()
        });
        outcomes.map(Outcome::Pushed)
    }
}

fn recall(remembered: &IdempotentPushes, pushed: &Remembered, group: GroupId) -> Recall {
    match remembered.find(pushed.key(), pushed.at) {
        None => Recall::New,
        Some(before) if before.checksum != pushed.checksum => Recall::Reused,
        Some(before) => unpack(before.outcome, group).map_or(Recall::New, Recall::Known),
    }
}

/// None yet.
pub(super) fn no_pushes() -> IdempotentPushes {
    Recent::new(IDEMPOTENT_PUSHES_MAX, IDEMPOTENT_PUSH_MS)
}

impl Happening for Remembered {
    type Owner = u64;
    type Key = (u64, u128);

    fn at(&self) -> Millis {
        self.at
    }

    fn owner(&self) -> u64 {
        self.owner
    }

    fn key(&self) -> (u64, u128) {
        (self.owner, self.key)
    }

    /// Both are hashes already.
    #[expect(clippy::cast_possible_truncation, reason = "half of it is enough")]
    fn hash_of((owner, key): (u64, u128)) -> u64 {
        owner ^ key as u64 ^ (key >> 64) as u64
    }

    fn element(&self) -> u128 {
        hash::of_idempotent(self)
    }
}
