//! What the wall clocks of all nodes show, and which time the state of a cluster may have by them.
//!
//! A leader takes over a step of its clock when the clocks of most voters show the same. It can see the clocks of voters that
//! are up, and that takes it a while. Where no majority agrees, its state is ahead of none of the clocks that it sees. Who
//! votes is what the leader says: other invariants find wrong members.

use adjourn_protocol::Role;
use adjourn_types::Millis;

use super::node::{Life, Node};
use super::seen::NodeId;
use super::time::{MS, SECOND, Us};
use super::world::{World, true_wall};

/// Clocks that differ by no more agree, in milliseconds.
const AGREE_MS: u64 = 500;

/// Within this time a leader has seen the clocks of a majority, if the same nodes are up and nobody sets a clock.
const SEEN_WITHIN: Us = 4 * SECOND;

/// A message that elects a leader shows the clock of its sender. It is on its way for less than this.
const VOTED_WITHIN: Us = 200 * MS;

/// How far the wall clocks are ahead of the true one, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    /// Most of them, when most of them agreed last.
    ahead_ms: i64,
    /// The most that the state of a cluster may be ahead.
    ahead_max_ms: i64,
    /// Those of the voters that are up, and since when they are these.
    up: (Us, Vec<(NodeId, i64)>),
    /// Who leads, and since when.
    leader: (Us, Option<NodeId>),
    /// The voters by the entries that the last leader has applied; none before the first leader.
    voters: (u64, Vec<NodeId>),
}

impl Agreed {
    /// The voters that are `up`, of `count`, show these clocks now.
    fn look(&mut self, now: Us, up: Vec<(NodeId, i64)>, count: usize) {
        if !are_alike(&self.up.1, &up) {
            self.up = (now, up);
        }
        let mut ahead: Vec<i64> = self.up.1.iter().map(|(_, ahead_ms)| *ahead_ms).collect();
        ahead.sort_unstable_by(|one, other| other.cmp(one));
        let majority = count / 2 + 1;
        if ahead.len() < majority {
            return;
        }
        let are_close = |some: &&[i64]| some[0].abs_diff(some[some.len() - 1]) <= AGREE_MS;
        let agreed = ahead.windows(majority).find(are_close).map(|some| some[0]);
        let since = self.up.0.max(self.leader.0);
        let all_are_seen = self.leader.1.is_some() && now >= since + SEEN_WITHIN;
        // Those that elected it showed it their clocks; which these are is not known.
        let some_are_seen = self.leader.1.is_some() && self.leader.0 > self.up.0 + VOTED_WITHIN;
        self.ahead_max_ms = match agreed {
            Some(ahead_ms) if all_are_seen => ahead_ms,
            Some(ahead_ms) => ahead_ms.max(self.ahead_max_ms),
            None if all_are_seen || some_are_seen => ahead[0].min(self.ahead_max_ms),
            None => self.ahead_max_ms,
        };
    }
}

/// Whether the same nodes show the same time.
fn are_alike(some: &[(NodeId, i64)], others: &[(NodeId, i64)]) -> bool {
    let is_like = |((one, ahead_ms), (other, other_ms)): (&(NodeId, i64), &(NodeId, i64))| {
        one == other && ahead_ms.abs_diff(*other_ms) <= AGREE_MS
    };
    some.len() == others.len() && some.iter().zip(others).all(is_like)
}

impl World {
    /// What the wall clocks show, the one that is furthest ahead first.
    fn walls(&self) -> Vec<Millis> {
        let among = self.nodes.values().filter(|node| !node.is_gone || self.plan.cluster.is_none());
        let mut walls: Vec<Millis> = among.map(|node| node.wall.show(self.now)).collect();
        walls.sort_unstable();
        walls.reverse();
        walls
    }

    /// What the clocks of most nodes show, or more.
    fn most_walls(&self) -> Millis {
        let walls = self.walls();
        walls.get(walls.len() / 2).copied().unwrap_or_default()
    }

    /// What the first leader may believe when all were down: any clock that agrees with those of most, for only voters count
    /// to it, and some are learners.
    pub(super) fn believable_wall(&self) -> Millis {
        let most = self.most_walls();
        self.walls().into_iter().find(|wall| wall.0 <= most.0 + AGREE_MS).unwrap_or(most)
    }

    /// Who leads now, and who votes as far as that node knows.
    fn see_leader(&mut self) {
        let leader = self.leading.and_then(|leader| self.nodes.get(&leader)?.life.as_ref());
        let is_new = self.agreed.leader.1 != self.leading;
        if is_new {
            self.agreed.leader = (self.now, self.leading);
        }
        let Some(Life { replica, .. }) = leader else { return };
        let applied = replica.applied_index();
        if is_new || self.agreed.voters.0 != applied {
            let members = replica.observe(None).cluster.members;
            let voters = members.iter().filter(|member| member.role != Role::Learner);
            self.agreed.voters = (applied, voters.map(|member| member.node).collect());
        }
    }

    /// The time that most clocks show if they agree; if not, the time that they would show now if they still agreed. And the most
    /// that the state may take for the time.
    pub(super) fn agreed_walls(&mut self) -> (Millis, Millis) {
        let walls = self.walls();
        let agree = |some: &[Millis]| some[0].0 - some[some.len() - 1].0 <= AGREE_MS;
        let now = true_wall(self.now).0.cast_signed();
        if walls.windows(walls.len() / 2 + 1).any(agree) {
            self.agreed.ahead_ms = self.most_walls().0.cast_signed() - now;
        }
        let agreed = Millis((now + self.agreed.ahead_ms).cast_unsigned());
        if self.plan.cluster.is_none() {
            return (agreed, agreed);
        }
        self.see_leader();
        let voters = &self.agreed.voters.1;
        // A node that was wiped is another machine with the number of one that voted.
        let is_up = |node: &&Node| node.life.is_some() && !node.is_wiped && voters.contains(&node.id);
        let up = self.nodes.values().filter(is_up);
        let up = up.map(|node| (node.id, node.wall.show(self.now).0.cast_signed() - now)).collect();
        self.agreed.look(self.now, up, voters.len());
        (agreed, Millis((now + self.agreed.ahead_max_ms).cast_unsigned()))
    }
}
