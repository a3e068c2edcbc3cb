//! A server that does what a scenario says, and otherwise as little as a client needs.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use adjourn_generate::Side;
use serde_json::{Value, json};

use super::harness::PATIENCE;
use super::matching::differs;
use super::wire::{self, Newer};

/// A scripted server.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    book: Arc<Book>,
}

#[derive(Default)]
struct Book {
    pages: Mutex<Pages>,
    written: Condvar,
}

#[derive(Default)]
struct Pages {
    /// What is to come: `on` which request, what to `send`, and what `then`.
    script: Vec<Value>,
    /// Every request, as JSON.
    seen: Vec<Value>,
}

impl Fake {
    pub(crate) fn start(script: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let book = Arc::<Book>::default();
        book.pages().script = script.to_vec();
        let shared = Arc::clone(&book);
        // The threads end with the process.
        thread::spawn(move || {
            for guest in listener.incoming().map_while(Result::ok) {
                let book = Arc::clone(&shared);
                thread::spawn(move || {
                    let _ = guest.set_nodelay(true);
                    book.serve(&guest);
                    let _ = guest.shutdown(Shutdown::Both);
                });
            }
        });
        Self { address, book }
    }

    /// Waits for the n-th request of this kind, which must have these fields.
    pub(crate) fn seen(&self, opcode: &str, nth: usize, fields: &Value) -> Result<Value, String> {
        let found = |pages: &Pages| {
            pages.seen.iter().filter(|seen| seen["opcode"] == opcode).nth(nth.saturating_sub(1)).cloned()
        };
        let waiting = |pages: &mut Pages| found(pages).is_none();
        let pages =
            self.book.written.wait_timeout_while(self.book.pages(), PATIENCE, waiting).expect("whole").0;
        let seen = found(&pages).ok_or_else(|| format!("no {opcode} number {nth} came: {:?}", pages.seen))?;
        drop(pages);
        differs(fields, &seen["fields"])
            .map_or(Ok(seen["fields"].clone()), |why| Err(format!("{opcode}{why}")))
    }

    /// How many requests of this kind came so far.
    pub(crate) fn count(&self, opcode: &str) -> usize {
        self.book.pages().seen.iter().filter(|seen| seen["opcode"] == opcode).count()
    }
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("nobody panics here")
    }

    /// Serves one connection until one side ends it.
    fn serve(&self, mut guest: &TcpStream) {
        let mut held = Vec::new();
        let mut bytes = vec![0; 64 << 10];
        while let Ok(read @ 1..) = guest.read(&mut bytes) {
            held.extend_from_slice(bytes.get(..read).unwrap_or_default());
            while let Some(length) = held.first_chunk().map(|length| u32::from_le_bytes(*length)) {
                let whole = 4 + usize::try_from(length).expect("fits");
                if held.len() < whole {
                    break;
                }
                let rest = held.split_off(whole);
                let frame = std::mem::replace(&mut held, rest);
                let request = wire::read(Side::Request, &frame).expect("the frames of a client are good");
                if !self.answer(guest, &request) {
                    return;
                }
            }
        }
    }

    /// Answers one request; false ends the connection.
    fn answer(&self, mut guest: &TcpStream, request: &Value) -> bool {
        let rule = {
            let mut pages = self.pages();
            pages.seen.push(request.clone());
            let is_next = pages.script.first().is_some_and(|rule| rule["on"] == request["opcode"]);
            is_next.then(|| pages.script.remove(0))
        };
        self.written.notify_all();
        let rule = rule.unwrap_or_else(|| json!({ "send": usual(request) }));
        for sent in rule["send"].as_array().into_iter().flatten() {
            let mut bytes = bytes_of(sent, request);
            if rule["then"] == "half" {
                bytes.truncate(bytes.len() / 2);
            }
            if guest.write_all(&bytes).is_err() {
                return false;
            }
        }
        rule["then"].is_null()
    }
}

/// The bytes of what a rule sends.
fn bytes_of(sent: &Value, request: &Value) -> Vec<u8> {
    if let Some(hex) = sent["raw"].as_str() {
        let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex"));
        return pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect();
    }
    let mut frame = sent.clone();
    if frame["request_id"].is_null() {
        frame["request_id"] = request["request_id"].clone();
    }
    if frame["opcode"] == "WELCOME" {
        frame["fields"] = welcome(&frame["fields"], request);
    }
    let newer =
        if sent["newer"] == true { Newer { fixed: 3, trailing: 9, flags: 0xFF } } else { Newer::default() };
    wire::write(Side::Response, &frame, newer).expect("a scenario's frame")
}

/// An option of HELLO.
const NO_SESSION: u64 = 2;

/// A usual WELCOME, with some fields of its own.
fn welcome(fields: &Value, request: &Value) -> Value {
    let resumes = request["fields"]["session"] != "0";
    let has_session = request["fields"]["options"].as_u64().is_none_or(|options| options & NO_SESSION == 0);
    let (session, secret) =
        if has_session { ("9", "AwMDAwMDAwMDAwMDAwMDAw==") } else { ("0", "AAAAAAAAAAAAAAAAAAAAAA==") };
    let mut welcome = json!({
        "version": 1, "marks": if resumes { 3 } else { 0 }, "cluster_id": "AQEBAQEBAQEBAQEBAQEBAQ==", "session": session,
        "secret": secret, "heartbeat_ms": 10_000, "session_grace_ms": 10_000,
        "frame_bytes_max": 1_114_112, "body_bytes_max": 1_048_576, "push_jobs_max": 4_096, "leases_max": 4_096,
        "reserve_jobs_max": 1_024, "in_flight_max": 1_024, "server_name": "fake", "members": [], "clock_ms": "0",
    });
    for (name, value) in fields.as_object().into_iter().flatten() {
        welcome[name] = value.clone();
    }
    welcome
}

/// What a request gets that no rule is about.
fn usual(request: &Value) -> Value {
    match request["opcode"].as_str().unwrap_or_default() {
        "HELLO" => json!([{ "opcode": "WELCOME" }]),
        "PING" => json!([{ "opcode": "PONG", "fields": { "now": "1767225600000" } }]),
        "LEASES" => json!([{ "opcode": "LEASED" }]),
        "SUBSCRIBE" => json!([{ "opcode": "SUBSCRIBED" }]),
        "GOODBYE" | "UNSUBSCRIBE" | "CREDIT" => json!([{ "opcode": "DONE" }]),
        // The wait ends without a job, as far as it can be told.
        "CANCEL" => json!([
            { "opcode": "DONE" },
            { "opcode": "RESERVED", "request_id": request["fields"]["request"] },
        ]),
        "FINISH" | "RELEASE" | "TOUCH" | "BURY" => {
            let leases = request["fields"]["leases"].as_array().map_or(0, Vec::len);
            json!([{ "opcode": "SETTLED", "fields": { "results": vec![json!({ "code": 0 }); leases] } }])
        }
        _ => json!([]),
    }
}
