//! Several nodes: what a plan says of them, how they become a cluster, and what goes wrong between them.

use adjourn_replica::Input;
use adjourn_types::FEATURE_LEVEL;

use super::clients::Wish;
use super::faults::RESIDENT_BYTES;
use super::mutants::Mutant;
use super::node::Node;
use super::plan::{EveryUs, MEMORY_BYTES, Pace, Plan};
use super::random::Random;
use super::seen::{End, NodeId, Seen};
use super::time::{MS, SECOND, Us, WallClock};
use super::world::{Event, NODE, World};

/// Where growth is calm, everything else begins when it is over.
const GROWTH: Us = 4 * SECOND;
/// Nodes that may be lost for good in one run.
const REPLACED_MAX: usize = 2;
/// So many wall clocks may be wrong at once, each in its own way or all alike.
const WRONG_MAX: usize = 3;
/// Wall clocks of a cluster differ by so much at most, unless somebody sets one: well below what counts as different.
const SKEW_MS: u64 = 150;

/// What a plan says of several nodes.
#[derive(Clone, Debug)]
pub(super) struct ClusterPlan {
    /// How many there are when the cluster has grown.
    pub(super) nodes: u64,
    /// Nodes begin with an older version, and are upgraded one after the other.
    pub(super) upgraded: bool,
    /// Nothing goes wrong while it grows.
    pub(super) calm_growth: bool,
    /// Time that a bundle takes.
    pub(super) peer_us: (Us, Us),
    /// The percentage of bundles that are lost.
    pub(super) lost_percent: u64,
    /// So many come twice.
    pub(super) twice_percent: u64,
    /// So many are sent message by message, which overtake each other.
    pub(super) split_percent: u64,
}

/// Directions that nothing gets through, for a while.
pub(super) type Cuts = Vec<(NodeId, NodeId)>;

impl ClusterPlan {
    fn calm(nodes: u64) -> Self {
        let (lost_percent, twice_percent, split_percent) = (0, 0, 0);
        let (upgraded, calm_growth, peer_us) = (false, true, (20, 300));
        Self { nodes, upgraded, calm_growth, peer_us, lost_percent, twice_percent, split_percent }
    }

    /// From now on nothing is lost, and nothing is slow.
    pub(super) fn heal(&mut self) {
        *self = Self { upgraded: self.upgraded, ..Self::calm(self.nodes) };
    }

    /// When clients begin to work, and things to go wrong.
    pub(super) fn begins(&self) -> Us {
        if self.calm_growth { GROWTH } else { 0 }
    }
}

impl Plan {
    /// A world with some nodes; one in five is calm.
    pub(super) fn of_nodes(seed: u64) -> Self {
        let mut random = Random::new(seed).fork(0x434c_5553);
        let nodes = if random.percent(85) { 3 } else { 5 };
        let calm = random.percent(20);
        let plan = if calm { Self::calm(seed, &mut random) } else { Self::rough(seed, &mut random) };
        let (every_us, cluster) = if calm {
            (EveryUs::default(), ClusterPlan::calm(nodes))
        } else {
            let (every_us, cluster) = (faults_of_nodes(&mut random), rough_wires(nodes, &mut random));
            let upgrade = if cluster.upgraded { random.within((SECOND / 2, 3 * SECOND)) } else { 0 };
            (EveryUs { upgrade, ..every_us }, cluster)
        };
        Self {
            turmoil_us: cluster.begins() + random.within((5, 25)) * SECOND,
            operators: random.within((0, 1)),
            readers: 1,
            checkpoint_log_bytes: *random.pick(&[64 << 20, 64 << 10, 16 << 10, 4 << 10]),
            memory_max_bytes: if every_us.memory_short > 0 { MEMORY_BYTES } else { 0 },
            calm: false,
            every_us,
            cluster: Some(cluster),
            ..plan
        }
        .with_glitches()
    }

    /// A world with some nodes and small checkpoints, in which hours pass while all nodes are down.
    pub(super) fn of_nodes_for_hours(seed: u64) -> Self {
        let mut random = Random::new(seed).fork(0x4e49_4748);
        let plan = Self::of_nodes(random.next());
        let every_us =
            EveryUs { night: random.within((4, 10)) * SECOND, memory_short: SECOND, ..plan.every_us };
        Self {
            seed,
            pace: Pace::Nights,
            turmoil_us: plan.turmoil_us + 15 * SECOND,
            memory_max_bytes: MEMORY_BYTES,
            operators: random.within((1, 3)),
            checkpoint_log_bytes: random.within((2, 8)) << 10,
            every_us,
            ..plan
        }
    }

    /// What the version can do that a node begins with.
    pub(super) fn first_feature_level(&self) -> u32 {
        let upgraded = self.cluster.as_ref().is_some_and(|cluster| cluster.upgraded);
        if upgraded { FEATURE_LEVEL - 1 } else { FEATURE_LEVEL }
    }
}

fn faults_of_nodes(random: &mut Random) -> EveryUs {
    let mut sometimes = |percent, range| if random.percent(percent) { random.within(range) } else { 0 };
    EveryUs {
        crash: sometimes(70, (SECOND, 10 * SECOND)),
        stop: sometimes(40, (3 * SECOND, 15 * SECOND)),
        disk_failure: sometimes(30, (5 * SECOND, 20 * SECOND)),
        folder_failure: sometimes(30, (5 * SECOND, 20 * SECOND)),
        disk_low: sometimes(20, (3 * SECOND, 10 * SECOND)),
        cut: sometimes(70, (SECOND / 4, 5 * SECOND)),
        step: sometimes(45, (SECOND, 6 * SECOND)),
        partition: sometimes(70, (SECOND, 8 * SECOND)),
        peer_lost: sometimes(60, (SECOND / 2, 5 * SECOND)),
        slow: sometimes(30, (2 * SECOND, 8 * SECOND)),
        disk_hangs: sometimes(30, (3 * SECOND, 12 * SECOND)),
        transfer: sometimes(30, (2 * SECOND, 8 * SECOND)),
        replace: sometimes(30, (4 * SECOND, 12 * SECOND)),
        state_lost: sometimes(50, (SECOND, 8 * SECOND)),
        memory_short: sometimes(60, (2 * SECOND, 10 * SECOND)),
        glitch: 0,
        upgrade: 0,
        night: 0,
    }
}

fn rough_wires(nodes: u64, random: &mut Random) -> ClusterPlan {
    ClusterPlan {
        nodes,
        calm_growth: random.percent(75),
        peer_us: (20, *random.pick(&[300, 3 * MS, 60 * MS])),
        lost_percent: *random.pick(&[0, 0, 2, 15]),
        twice_percent: *random.pick(&[0, 2, 15]),
        split_percent: *random.pick(&[0, 10, 60]),
        upgraded: random.percent(40),
    }
}

impl Node {
    /// Whether it is to be upgraded.
    fn is_older(&self) -> bool {
        !self.is_gone && self.feature_level_max < FEATURE_LEVEL
    }

    /// The wall clock of a node of several.
    pub(super) fn wall_among_others(plan: &Plan, random: &mut Random) -> WallClock {
        if plan.every_us.step == 0 && plan.every_us.partition == 0 {
            return WallClock::new(0, 0);
        }
        let ahead_ms = random.below(2 * SKEW_MS).cast_signed() - SKEW_MS.cast_signed();
        // Over the nights somebody keeps them right.
        let drift_ppm = if plan.pace == Pace::Nights { 0 } else { random.below(400).cast_signed() - 200 };
        WallClock::new(ahead_ms, drift_ppm)
    }
}

impl World {
    /// The other nodes come to be, and somebody wants them to be a cluster.
    pub(super) fn begin_cluster(&mut self) {
        let Some(plan) = self.plan.cluster.clone() else { return };
        for id in 2..=plan.nodes {
            self.new_node(id);
            self.board.wishes.push(Wish::Member(id));
        }
        self.after(0, Event::Dials);
    }

    fn new_node(&mut self, id: NodeId) {
        let random = self.random.fork(id);
        let mut node = Node::new(id, &self.plan, random);
        // Whatever sets all clocks has set this one, too.
        node.wall.step(self.now, self.all_set_ms);
        self.nodes.insert(id, node);
        let pause = self.random.below(100 * MS);
        self.after(pause, Event::Starts { node: id });
    }

    /// A node that can be harmed.
    pub(super) fn any_node(&mut self) -> NodeId {
        if self.plan.cluster.is_none() {
            return NODE;
        }
        let there: Vec<NodeId> =
            self.nodes.values().filter(|node| !node.is_gone).map(|node| node.id).collect();
        match self.leading.filter(|node| there.contains(node)) {
            Some(leader) if self.random.percent(40) => leader,
            _ => *self.random.pick(&there),
        }
    }

    fn others(&self, node: NodeId) -> Vec<NodeId> {
        self.nodes.keys().copied().filter(|other| *other != node).collect()
    }

    /// Nodes do not reach each other for a while.
    pub(super) fn partition(&mut self) {
        let node = self.any_node();
        let others = self.others(node);
        let one = *self.random.pick(&others);
        let to = |others: &[NodeId]| others.iter().map(|other| (node, *other)).collect::<Cuts>();
        let from = |others: &[NodeId]| others.iter().map(|other| (*other, node)).collect::<Cuts>();
        let cuts = match self.random.below(8) {
            0 => to(&others),
            1 => from(&others),
            2 => vec![(node, one)],
            3 => vec![(node, one), (one, node)],
            _ => [to(&others), from(&others)].concat(),
        };
        for (from, to) in &cuts {
            self.wires.cut(*from, *to);
        }
        self.see_islands();
        self.lose_clients(node);
        let short = self.random.percent(50);
        let lasts = self.random.within(if short { (100 * MS, SECOND) } else { (SECOND, 9 * SECOND) });
        if self.random.percent(60) {
            for (from, to) in &cuts {
                let notices = self.random.below(3 * SECOND);
                self.peer_ends_after(notices, *to, *from);
            }
        }
        self.after(lasts, Event::Mends { cuts });
    }

    /// Some of the clients of a node are not on its side of the network.
    fn lose_clients(&mut self, node: NodeId) {
        let of_node =
            self.links.iter().filter(|(_, link)| link.node_open && !link.broken && link.node == node);
        for link in of_node.map(|(id, _)| *id).collect::<Vec<_>>() {
            if self.random.percent(40) {
                self.break_link(link);
            }
        }
    }

    pub(super) fn mend(&mut self, cuts: &Cuts) {
        for (from, to) in cuts {
            self.wires.mend(*from, *to);
        }
        self.see_islands();
    }

    /// Reports the nodes that reach no other node.
    pub(super) fn see_islands(&mut self) {
        let alone =
            |node: &NodeId| self.others(*node).iter().all(|other| !self.wires.are_joined(*node, *other));
        let islands: Vec<NodeId> = self.nodes.keys().copied().filter(alone).collect();
        if self.plan.cluster.is_some() {
            self.see(&Seen::Islands { islands: &islands });
        }
    }

    pub(super) fn lose_peer(&mut self) {
        let node = self.any_node();
        let others = self.others(node);
        let other = *self.random.pick(&others);
        self.disconnect_nodes(node, other);
    }

    pub(super) fn slow_down(&mut self) {
        let node = self.any_node();
        let others = self.others(node);
        let other = *self.random.pick(&others);
        let way = if self.random.percent(50) { (node, other) } else { (other, node) };
        if !self.wires.slow.insert(way) {
            self.wires.slow.clear();
        }
    }

    /// A node is lost, and another one takes its place: the node is dead for good, or still runs, or comes back with an
    /// empty disk under its old number.
    pub(super) fn replace(&mut self) {
        let settled = self.board.wishes_done == self.board.wishes.len();
        let gone = self.nodes.values().filter(|node| node.is_gone).count();
        if !settled || gone >= REPLACED_MAX || self.is_a_state_lost() {
            return;
        }
        let old = self.any_node();
        self.set_right(old);
        let new = self.nodes.keys().next_back().copied().unwrap_or(NODE) + 1;
        let how = self.random.below(3);
        if how < 2 {
            self.end(old, End::PowerCut);
        }
        self.node(old).is_gone = true;
        if how == 1 {
            self.wipe(old);
            self.board.wishes.push(Wish::Refused(old));
        }
        self.new_node(new);
        let mut wishes = vec![Wish::Member(new), Wish::Gone(old)];
        if self.random.percent(50) {
            wishes.reverse();
        }
        self.board.wishes.append(&mut wishes);
        if how != 0 {
            self.board.wishes.push(Wish::Refused(old));
        }
    }

    /// A node crashes, and cannot read its state when it starts. Not while another one has none: somebody must have it.
    pub(super) fn lose_state(&mut self, node: NodeId) {
        let settled = self.board.wishes_done == self.board.wishes.len();
        if !settled || !self.has_grown() || self.is_a_state_lost() || self.nodes[&node].life.is_none() {
            return;
        }
        self.crash(node);
        self.node(node).fails_to_read = Some(self.random.within((8, 30)));
    }

    fn is_a_state_lost(&self) -> bool {
        let has_none =
            |node: &Node| node.lost_state || node.fails_to_read.is_some() || node.disk.may_fail_to_read();
        self.nodes.values().filter(|node| !node.is_gone).any(has_none)
    }

    /// A node lost its disk, and is started again as if nothing had happened.
    fn wipe(&mut self, id: NodeId) {
        let fresh = Node::new(id, &self.plan, self.random.fork(id ^ 0x5749_5045));
        let node = self.node(id);
        let (lives, storage_id) = (node.lives, node.storage_id);
        *node = Node { lives, is_gone: true, is_wiped: true, founder: false, ..fresh };
        node.storage_id = storage_id.map(|byte| byte ^ 0xff);
        if self.plan.mutant == Mutant::WipedIsKnown {
            self.node(id).storage_id = storage_id;
        }
        self.see(&Seen::Wiped { node: id });
        self.after(SECOND, Event::Starts { node: id });
    }

    /// Whether the cluster has had as many members as it was to have.
    pub(super) fn has_grown(&self) -> bool {
        self.plan.cluster.as_ref().is_none_or(|plan| self.board.wishes_done as u64 + 1 >= plan.nodes)
    }

    /// Somebody gives a node the newest version that has an older one.
    pub(super) fn upgrade(&mut self) {
        let older = self.nodes.values().find(|node| node.is_older()).map(|node| node.id);
        if let Some(node) = older.filter(|_| self.has_grown()) {
            self.give_newest(node);
        }
    }

    fn give_newest(&mut self, node: NodeId) {
        if self.nodes[&node].life.is_some() {
            self.end(node, End::Killed);
        }
        self.node(node).feature_level_max = FEATURE_LEVEL;
    }

    /// Somebody sets a wall clock of one node, or of more, alike or not, or sets one right again; or all of them are set
    /// alike.
    pub(super) fn step_one_of_many(&mut self) {
        if !self.has_grown() {
            // A node that is alone believes its own clock.
            return;
        }
        let is_wrong = |node: &&Node| node.set_wrong_ms != 0;
        let wrong: Vec<(NodeId, i64)> =
            self.nodes.values().filter(is_wrong).map(|node| (node.id, node.set_wrong_ms)).collect();
        if let Some((node, _)) = wrong.first()
            && (wrong.len() >= WRONG_MAX || self.random.percent(50))
        {
            return self.set_right(*node);
        }
        let size_ms = *self.random.pick(&[5, 200, 700, 900, 1_500, 60_000, 7_200_000, 3 * 86_400_000]);
        let by_ms = if self.random.percent(50) { size_ms } else { -size_ms };
        let by_ms = wrong.first().filter(|_| self.random.percent(30)).map_or(by_ms, |(_, by_ms)| *by_ms);
        if wrong.is_empty() && self.random.percent(25) {
            return self.set_all_clocks(by_ms);
        }
        let node = self.any_node();
        if self.nodes[&node].set_wrong_ms == 0 {
            self.set_clock(node, by_ms);
            self.node(node).set_wrong_ms = by_ms;
        }
    }

    pub(super) fn set_right(&mut self, node: NodeId) {
        let by_ms = -std::mem::take(&mut self.node(node).set_wrong_ms);
        if by_ms != 0 {
            self.set_clock(node, by_ms);
        }
    }

    pub(super) fn set_all_clocks(&mut self, by_ms: i64) {
        self.all_set_ms += by_ms;
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.set_clock(node, by_ms);
        }
    }

    fn set_clock(&mut self, node: NodeId, by_ms: i64) {
        self.see(&Seen::Set { node, by_ms });
        let now = self.now;
        self.node(node).wall.step(now, by_ms);
    }

    /// Everything that is wrong with the cluster is put right.
    pub(super) fn heal_cluster(&mut self) {
        self.heal_wires();
        self.see_islands();
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.set_right(node);
            if self.nodes[&node].is_older() {
                self.give_newest(node);
            }
            self.node(node).hangs_us = 0;
            if self.plan.strikes.is_empty() {
                self.node(node).disk.disarm();
            }
            self.hand(node, Input::DiskLow(false));
            self.hand(node, Input::Memory { resident_bytes: RESIDENT_BYTES });
        }
    }
}
