//! Receivers of call-backs: real sockets that answer as a test says, however badly.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Inbox, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What came is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// How a call is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// With a status, headers each with its end of line, and a body.
    Reply(u16, &'static str, &'static str),
    /// Not at all, while the connection stands.
    Hang,
    /// By the end of the connection.
    Reset,
    /// A byte at a time, for ever.
    Trickle,
    /// A gigabyte.
    Flood,
    /// When the test says so, with this status.
    When(Arc<Mutex<Inbox<u16>>>),
}

/// A receiver.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    calls: Inbox<Call>,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn job(&self) -> u64 {
        self.header("adjourn-job").parse().expect("a job")
    }
}

impl Receiver {
    /// One that answers each call by what it is.
    pub(crate) fn new(answer: impl Fn(&Call) -> Answer + Clone + Send + 'static) -> Self {
        Self::at("127.0.0.1:0", answer)
    }

    pub(crate) fn at(address: &str, answer: impl Fn(&Call) -> Answer + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (told, calls) = channel();
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (told, answer) = (told.clone(), answer.clone());
                thread::spawn(move || serve(stream, &told, &answer));
            }
        });
        Self { address, calls }
    }

    /// One that dies of the second call of its only connection, and of what else comes.
    pub(crate) fn mortal() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (told, calls) = channel();
        thread::spawn(move || {
            let (stream, _) = listener.accept().ok()?;
            drop(listener);
            let mut stream = BufReader::new(stream);
            let first = read(&mut stream)?;
            // The test may have ended.
            let _ = told.send(first);
            reply(stream.get_mut(), 200, "", "")?;
            let _ = told.send(read(&mut stream)?);
            Some(())
        });
        Self { address, calls }
    }

    /// One that answers all calls alike.
    pub(crate) fn always(answer: Answer) -> Self {
        Self::new(move |_| answer.clone())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The next call.
    pub(crate) fn call(&self) -> Call {
        self.calls.recv_timeout(PATIENCE).expect("a call")
    }

    /// The calls that have come by now.
    pub(crate) fn more(&self) -> Vec<Call> {
        self.calls.try_iter().collect()
    }
}

fn serve(stream: TcpStream, told: &Sender<Call>, answer: &impl Fn(&Call) -> Answer) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut stream = BufReader::new(stream);
    loop {
        let call = read(&mut stream)?;
        let answer = answer(&call);
        // The test may have ended.
        let _ = told.send(call);
        let out = stream.get_mut();
        match answer {
            Answer::Reply(status, headers, body) => reply(out, status, headers, body)?,
            Answer::When(when) => {
                let status = when.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()?;
                reply(out, status, "", "")?;
            }
            Answer::Hang => {
                // It ends when the other side does.
                while stream.read(&mut [0; 1024]).ok()? > 0 {}
                return None;
            }
            Answer::Reset => {
                rustix::net::sockopt::set_socket_linger(&*out, Some(Duration::ZERO)).ok()?;
                let _ = out.shutdown(Shutdown::Read);
                return None;
            }
            Answer::Trickle => {
                out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").ok()?;
                loop {
                    out.write_all(b"x").ok()?;
                    let (_told, never) = channel::<()>();
                    // One that nobody tells anything.
                    let _ = never.recv_timeout(Duration::from_millis(20));
                }
            }
            Answer::Flood => {
                out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n").ok()?;
                let block = vec![b'x'; 1 << 20];
                loop {
                    out.write_all(&block).ok()?;
                }
            }
        }
    }
}

fn reply(out: &mut TcpStream, status: u16, headers: &str, body: &str) -> Option<()> {
    let text = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    out.write_all(text.as_bytes()).ok()
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Call> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.first()?.clone();
    let headers = lines.iter().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    });
    let mut call = Call { line, headers: headers.collect(), body: Vec::new() };
    let length = call.header("content-length").parse().unwrap_or(0);
    call.body = vec![0; length];
    stream.read_exact(&mut call.body).ok()?;
    Some(call)
}
