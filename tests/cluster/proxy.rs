//! The network between nodes, and between nodes and clients: loopback connections that can be cut, in one direction too.
//!
//! A link that is cut does not end: bytes wait, as they do when packets are lost.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use adjourn_server::peers::frames::{PeerDecoder, PeerFrame};
use bytes::BytesMut;

use super::ports::free_port;
use super::rig::{Network, Place};

/// The place of everything that is not a node.
pub(super) const CLIENTS: u64 = 0;

/// Which links are cut: (from, to).
#[derive(Clone, Default)]
pub(super) struct Gates(Arc<Cuts>);

#[derive(Default)]
struct Cuts {
    links: Mutex<BTreeSet<(u64, u64)>>,
    healed: Condvar,
}

impl Gates {
    /// Nothing goes from one to the other any more.
    pub(super) fn cut(&self, from: u64, to: u64) {
        self.cuts().insert((from, to));
    }

    /// Everything goes everywhere.
    pub(super) fn heal(&self) {
        self.cuts().clear();
        self.0.healed.notify_all();
    }

    fn wait_open(&self, from: u64, to: u64) {
        let open = self.0.healed.wait_while(self.cuts(), |cuts| cuts.contains(&(from, to)));
        drop(open.expect("nobody panics here"));
    }

    fn cuts(&self) -> MutexGuard<'_, BTreeSet<(u64, u64)>> {
        self.0.links.lock().expect("nobody panics here")
    }
}

/// Who may come to a front.
#[derive(Clone, Copy)]
enum Dialers {
    /// Clients, who do not say who they are.
    Clients,
    /// Nodes, who say so at once.
    Nodes,
}

impl Network for Gates {
    /// A node on the loopback, behind fronts.
    fn place(&self, number: u64, data: &Path) -> Place {
        let (listen, peer_listen) = (free_port(), free_port());
        Place {
            listen,
            peer_listen,
            client_front: front(self, number, listen, Dialers::Clients),
            peer_front: front(self, number, peer_listen, Dialers::Nodes),
            asked_at: listen,
            data: data.join(format!("node-{number}")),
            within: Vec::new(),
        }
    }
}

/// Listens in front of a port of `node`. The threads end with the test.
fn front(gates: &Gates, node: u64, target: SocketAddr, dialers: Dialers) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let gates = gates.clone();
    thread::spawn(move || {
        for dialer in listener.incoming().map_while(Result::ok) {
            let gates = gates.clone();
            thread::spawn(move || _ = let_in(dialer, &gates, node, target, dialers));
        }
    });
    address
}

fn let_in(
    mut dialer: TcpStream,
    gates: &Gates,
    node: u64,
    target: SocketAddr,
    dialers: Dialers,
) -> std::io::Result<()> {
    let mut first = BytesMut::new();
    let from = match dialers {
        Dialers::Clients => CLIENTS,
        Dialers::Nodes => introduction(&mut dialer, &mut first)?,
    };
    gates.wait_open(from, node);
    let mut host = TcpStream::connect(target)?;
    for stream in [&dialer, &host] {
        stream.set_nodelay(true)?;
    }
    host.write_all(&first)?;
    let (back_from, back_to) = (host.try_clone()?, dialer.try_clone()?);
    let there = gates.clone();
    thread::spawn(move || pump(back_from, back_to, &there, node, from));
    pump(dialer, host, gates, from, node);
    Ok(())
}

/// Which node it is, by what it says first.
fn introduction(dialer: &mut TcpStream, first: &mut BytesMut) -> std::io::Result<u64> {
    loop {
        let mut looked_at = first.clone();
        match PeerDecoder::new().next(&mut looked_at) {
            Ok(Some(PeerFrame::Hello(greeting))) => return Ok(greeting.about.member.node),
            Ok(Some(PeerFrame::Join(node))) => return Ok(node),
            Ok(None) => {}
            other => panic!("no introduction: {other:?}"),
        }
        let mut bytes = [0; 4096];
        match dialer.read(&mut bytes)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => first.extend_from_slice(bytes.get(..read).unwrap_or_default()),
        }
    }
}

/// Carries bytes until one end is gone.
fn pump(mut from: TcpStream, mut to: TcpStream, gates: &Gates, sender: u64, receiver: u64) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        gates.wait_open(sender, receiver);
        if to.write_all(bytes.get(..read).unwrap_or_default()).is_err() {
            break;
        }
    }
    // The other end may be gone already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
