//! Lies between a client and a server, and breaks what passes: at once, or when a certain frame comes by.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::harness::PATIENCE;
use super::schema::by_name;
use adjourn_generate::Side;

/// Bytes of a frame before its opcode.
const LENGTH_BYTES: usize = 4;

/// A proxy in front of one address.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    control: Arc<Control>,
}

#[derive(Default)]
struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    target: Option<SocketAddr>,
    /// New connections are closed at once.
    refuses: bool,
    /// Nothing passes.
    is_stalled: bool,
    /// Bytes pass one at a time.
    splits: bool,
    trap: Option<Trap>,
    open: Vec<TcpStream>,
}

/// What happens when a frame comes by, once.
#[derive(Clone, Copy)]
struct Trap {
    side: Side,
    opcode: u8,
    act: Act,
}

/// What happens to a trapped frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    /// The connection ends before the frame.
    Cut,
    /// The connection ends behind the frame.
    CutBehind,
    /// The connection ends in the middle of the frame.
    Half,
    /// The frame's length becomes nonsense.
    Garble,
    /// The frame and all behind it are lost, and the connection stays.
    Silence,
}

impl Proxy {
    /// Listens; it leads nowhere before it is told where.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let control = Arc::<Control>::default();
        let shared = Arc::clone(&control);
        // The threads end with the process.
        thread::spawn(move || {
            for guest in listener.incoming().map_while(Result::ok) {
                let target =
                    Some(shared.state()).filter(|state| !state.refuses).and_then(|state| state.target);
                if let Some(target) = target {
                    let _ = shared.connect(guest, target);
                }
            }
        });
        Self { address, control }
    }

    /// Where it leads.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        self.control.state().target = Some(target);
    }

    /// Does what a step of a scenario says.
    pub(crate) fn obey(&self, order: &str) -> Result<(), String> {
        let mut state = self.control.state();
        match order {
            "cut" => state.cut(),
            "refuse" => {
                state.refuses = true;
                state.cut();
            }
            "stall" => state.is_stalled = true,
            "split" => state.splits = true,
            "flow" => {
                state.refuses = false;
                state.is_stalled = false;
                state.splits = false;
            }
            "trapped" => {
                let waiting = |state: &mut State| state.trap.is_some();
                let state =
                    self.control.changed.wait_timeout_while(state, PATIENCE, waiting).expect("whole").0;
                return if state.trap.is_none() { Ok(()) } else { Err("nothing was trapped".to_owned()) };
            }
            other => return Err(format!("the proxy does not know {other}")),
        }
        self.control.changed.notify_all();
        Ok(())
    }

    /// Lies in wait for the next frame of this name.
    pub(crate) fn trap(&self, frame: &str, act: &str) -> Result<(), String> {
        let found = [Side::Request, Side::Response].into_iter().find_map(|side| by_name(side, frame));
        let known = found.ok_or_else(|| format!("no frame {frame}"))?;
        let act = match act {
            "cut" => Act::Cut,
            "cut-behind" => Act::CutBehind,
            "half" => Act::Half,
            "garble" => Act::Garble,
            "silence" => Act::Silence,
            other => return Err(format!("the proxy cannot {other}")),
        };
        self.control.state().trap = Some(Trap { side: known.side, opcode: known.opcode, act });
        Ok(())
    }
}

impl State {
    fn cut(&mut self) {
        for stream in self.open.drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics here")
    }

    fn connect(self: &Arc<Self>, guest: TcpStream, target: SocketAddr) -> std::io::Result<()> {
        let host = TcpStream::connect(target)?;
        for stream in [&guest, &host] {
            stream.set_nodelay(true)?;
            self.state().open.push(stream.try_clone()?);
        }
        let (back_from, back_to) = (host.try_clone()?, guest.try_clone()?);
        let (there, back) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || there.pump(guest, host, Side::Request));
        thread::spawn(move || back.pump(back_from, back_to, Side::Response));
        Ok(())
    }

    /// Carries whole frames until one end is gone.
    fn pump(&self, mut from: TcpStream, mut to: TcpStream, side: Side) {
        let mut held = Vec::new();
        let mut bytes = vec![0; 64 << 10];
        let mut is_silent = false;
        'carry: while let Ok(read @ 1..) = from.read(&mut bytes) {
            held.extend_from_slice(bytes.get(..read).unwrap_or_default());
            while let Some(whole) = whole_bytes(&held) {
                let rest = held.split_off(whole);
                let frame = std::mem::replace(&mut held, rest);
                if !is_silent && !self.carry(&mut to, frame, side, &mut is_silent) {
                    break 'carry;
                }
            }
        }
        for stream in [from, to] {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Carries one frame; false ends the connection.
    fn carry(&self, to: &mut TcpStream, mut frame: Vec<u8>, side: Side, is_silent: &mut bool) -> bool {
        let mut state = self.state();
        while state.is_stalled {
            state = self.changed.wait(state).expect("whole");
        }
        let splits = state.splits;
        let opcode = frame.get(LENGTH_BYTES).copied();
        let trap = state.trap.take_if(|trap| trap.side == side && Some(trap.opcode) == opcode);
        self.changed.notify_all();
        drop(state);
        match trap.map(|trap| trap.act) {
            Some(Act::Cut) => return false,
            Some(Act::CutBehind) => {
                let _ = to.write_all(&frame);
                return false;
            }
            Some(Act::Half) => {
                let _ = to.write_all(frame.get(..frame.len() / 2).unwrap_or_default());
                return false;
            }
            Some(Act::Garble) => {
                frame.splice(..LENGTH_BYTES, [0xFF; LENGTH_BYTES]);
            }
            Some(Act::Silence) => {
                *is_silent = true;
                return true;
            }
            None => {}
        }
        if splits {
            return frame.iter().all(|byte| to.write_all(&[*byte]).is_ok());
        }
        to.write_all(&frame).is_ok()
    }
}

/// The length of the first frame, if it is there as a whole.
fn whole_bytes(held: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*held.first_chunk()?);
    let whole = LENGTH_BYTES + usize::try_from(length).ok()?;
    (held.len() >= whole).then_some(whole)
}
