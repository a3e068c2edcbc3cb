//! Nodes with a network namespace each. A cable leads from each of them to a switch; the clients, this process, sit at
//! the switch. A second cable from this process to each node is never touched: by it nodes are asked how they are.
//!
//! A cable is pulled by taking its end at the switch down. In one direction, packets are lost without a word: the
//! sender's neighbour table says that the receiver has a hardware address that no device has. That needs nothing but `ip`,
//! and unlike a route to nowhere it gives the sender no error.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::namespaces::{libfaketime, run, try_run};
use crate::rig::{Network, Place};

/// The place of everything that is not a node.
pub(crate) const CLIENTS: u64 = 0;
const NODES: std::ops::RangeInclusive<u64> = 1..=3;
const NOBODY: &str = "02:00:00:00:00:99";
const CLIENT_PORT: u16 = 7440;
const PEER_PORT: u16 = 7441;

/// A special property of the nodes' machines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machines {
    /// Nothing.
    Plain,
    /// Each has a disk of its own, of this size in MiB.
    Disks(u64),
    /// Each has a clock of its own.
    Clocks,
}

/// The switch and all cables.
pub(crate) struct Wires {
    machines: Machines,
    /// In the names of all devices and namespaces: no other process has the same.
    mark: u32,
}

impl Wires {
    pub(crate) fn new(machines: Machines) -> Self {
        let mark = std::process::id();
        let wires = Self { machines, mark };
        let switch = wires.switch();
        run("ip", &format!("link add {switch} type bridge"));
        run("ip", &format!("address add {}/24 dev {switch}", address(CLIENTS)));
        run("ip", &format!("link set {switch} up"));
        for node in NODES {
            let [wire, past, within] = wires.names(node);
            run("ip", &format!("netns add {within}"));
            run("ip", &format!("link add {wire} type veth peer name eth0 netns {within}"));
            run("ip", &format!("link add {past} type veth peer name eth1 netns {within}"));
            run("ip", &format!("link set {wire} master {switch} up"));
            run("ip", &format!("address add 10.78.{node}.1/24 dev {past}"));
            run("ip", &format!("link set {past} up"));
            run("ip", &format!("-n {within} address add {}/24 dev eth0", address(node)));
            run("ip", &format!("-n {within} address add {}/24 dev eth1", past_address(node)));
            for device in ["lo", "eth0", "eth1"] {
                run("ip", &format!("-n {within} link set {device} up"));
            }
        }
        wires
    }

    /// Pulls a node's cable.
    pub(crate) fn pull(&self, node: u64) {
        let [wire, ..] = self.names(node);
        run("ip", &format!("link set {wire} down"));
    }

    /// Nothing that one sends reaches the other any more.
    pub(crate) fn lose(&self, from: u64, to: u64) {
        let (place, device) =
            if from == CLIENTS { (String::new(), self.switch()) } else { (self.at(from), "eth0".to_owned()) };
        let entry = format!("{} lladdr {NOBODY} nud permanent dev {device}", address(to));
        run("ip", &format!("{place} neighbour replace {entry}"));
    }

    /// Makes all cables slow and lossy. Returns by what means.
    pub(crate) fn narrow(&self) -> &'static str {
        let all = |how: &str| {
            NODES.into_iter().try_for_each(|node| {
                try_run("tc", &format!("{} qdisc replace dev eth0 root {how}", self.at(node)))
            })
        };
        if all("netem delay 20ms 10ms loss 3%").is_ok() {
            return "loss and delay everywhere (netem)";
        }
        // A kernel without netem: what a narrow cable cannot hold waits, and then is lost.
        all("tbf rate 1mbit burst 2kb limit 6kb").expect("the kernel has neither netem nor tbf");
        "loss and delay everywhere (tbf: no netem here)"
    }

    /// All cables are whole again.
    pub(crate) fn heal(&self) {
        run("ip", &format!("neighbour flush dev {} nud permanent", self.switch()));
        for node in NODES {
            let (at, [wire, ..]) = (self.at(node), self.names(node));
            run("ip", &format!("link set {wire} up"));
            run("ip", &format!("{at} neighbour flush dev eth0 nud permanent"));
            // It says so if there is nothing to take away.
            let _ = try_run("tc", &format!("{at} qdisc delete dev eth0 root"));
        }
    }

    fn switch(&self) -> String {
        format!("switch{}", self.mark)
    }

    /// A node's cable, the one that is never touched, and its namespace.
    fn names(&self, node: u64) -> [String; 3] {
        ["wire", "past", "node"].map(|what| format!("{what}{node}-{}", self.mark))
    }

    /// What makes `ip` and `tc` act where a node is.
    fn at(&self, node: u64) -> String {
        let [.., within] = self.names(node);
        format!("-n {within}")
    }
}

/// Sets the clock of a node's machine, by so much from what it truly is.
pub(crate) fn set_clock(place: &Place, by_seconds: i64) {
    let file = clock_file(&place.data);
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{by_seconds:+}")).expect("written");
    std::fs::rename(&new, &file).expect("renamed");
}

impl Network for Wires {
    fn place(&self, number: u64, data: &Path) -> Place {
        let data = data.join(format!("node-{number}"));
        let [.., namespace] = self.names(number);
        let mut within = format!("nsenter --net=/run/netns/{namespace} setpriv --pdeathsig KILL");
        match self.machines {
            Machines::Plain => {}
            Machines::Disks(mib) => {
                std::fs::create_dir(&data).expect("a folder");
                run("mount", &format!("-t tmpfs -o size={mib}m tmpfs {}", data.display()));
            }
            Machines::Clocks => {
                let library = libfaketime().expect("it was there at the start");
                let (library, clock) = (library.display(), clock_file(&data));
                let clock = clock.display();
                let _ = write!(within, " env LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={clock}");
                // Without its cache, libfaketime (to 0.9.12) shows a thread the true time while another one reads the file.
                within += " FAKETIME_CACHE_DURATION=1 FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1";
            }
        }
        let fronts = [CLIENT_PORT, PEER_PORT].map(|port| SocketAddr::from((address(number), port)));
        let [client_front, peer_front] = fronts;
        let place = Place {
            listen: SocketAddr::from((Ipv4Addr::UNSPECIFIED, CLIENT_PORT)),
            peer_listen: peer_front,
            client_front,
            peer_front,
            asked_at: SocketAddr::from((past_address(number), CLIENT_PORT)),
            data,
            within: within.split(' ').map(str::to_owned).collect(),
        };
        if self.machines == Machines::Clocks {
            set_clock(&place, 0);
        }
        place
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        // All of it ends with this process at the latest; anything that would disturb the next test is removed now.
        for node in NODES {
            let [wire, past, within] = self.names(node);
            for what in [
                format!("link delete {wire}"),
                format!("link delete {past}"),
                format!("netns delete {within}"),
            ] {
                let _ = try_run("ip", &what);
            }
        }
        let _ = try_run("ip", &format!("link delete {}", self.switch()));
    }
}

/// Where a node, or the clients, are on the switch.
fn address(node: u64) -> Ipv4Addr {
    let number = u8::try_from(node).expect("a small number");
    Ipv4Addr::new(10, 77, 0, if node == CLIENTS { 254 } else { number })
}

/// Where a node is on the cable that is never touched.
fn past_address(node: u64) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, u8::try_from(node).expect("a small number"), 2)
}

/// What a node's clock shows, beside its data.
fn clock_file(data: &Path) -> PathBuf {
    data.with_extension("clock")
}
