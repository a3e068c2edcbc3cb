//! A mail server: as much of SMTP as a client needs that logs in and sends.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

const PATIENCE: Duration = Duration::from_secs(30);

/// One mail that was accepted.
#[derive(Debug, Default)]
pub(super) struct Mail {
    /// As AUTH PLAIN has it.
    pub(super) user: String,
    pub(super) from: String,
    pub(super) to: Vec<String>,
    /// Its head and body.
    pub(super) text: String,
}

pub(super) struct MailServer {
    pub(super) address: SocketAddr,
    mails: Receiver<Mail>,
}

impl MailServer {
    pub(super) fn plain() -> Self {
        Self::start(serve::<TcpStream>)
    }

    pub(super) fn tls(certificate: &Path, key: &Path) -> Self {
        let chain = CertificateDer::pem_file_iter(certificate).expect("a file");
        let chain = chain.collect::<Result<_, _>>().expect("certificates");
        let key = PrivateKeyDer::from_pem_file(key).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_no_client_auth().with_single_cert(chain, key);
        let config = Arc::new(config.expect("a certificate"));
        Self::start(move |stream, told| {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            serve(StreamOwned::new(connection, stream), told)
        })
    }

    fn start(serve: impl Fn(TcpStream, &Sender<Mail>) -> Option<()> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (told, mails) = channel();
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                serve(stream, &told);
            }
        });
        Self { address, mails }
    }

    /// The next mail.
    pub(super) fn mail(&self) -> Mail {
        self.mails.recv_timeout(PATIENCE).expect("a mail")
    }
}

fn serve<S: Read + Write>(stream: S, told: &Sender<Mail>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut mail = Mail::default();
    say(&mut stream, "220 mail.example ESMTP")?;
    loop {
        let line = line(&mut stream)?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word.to_ascii_uppercase().as_str() {
            "EHLO" => say(&mut stream, "250-mail.example\r\n250 AUTH PLAIN")?,
            "AUTH" => {
                let bytes = BASE64_STANDARD.decode(rest.strip_prefix("PLAIN ")?).ok()?;
                mail.user = String::from_utf8(bytes).ok()?;
                say(&mut stream, "235 ok")?;
            }
            "MAIL" => {
                mail.from = address(rest)?;
                say(&mut stream, "250 ok")?;
            }
            "RCPT" => {
                mail.to.push(address(rest)?);
                say(&mut stream, "250 ok")?;
            }
            "DATA" => {
                say(&mut stream, "354 go on")?;
                loop {
                    match self::line(&mut stream)?.as_str() {
                        "." => break,
                        text => {
                            mail.text.push_str(text);
                            mail.text.push('\n');
                        }
                    }
                }
                say(&mut stream, "250 accepted")?;
                // The test may have ended.
                let _ = told.send(std::mem::take(&mut mail));
            }
            "QUIT" => return say(&mut stream, "221 bye"),
            _ => say(&mut stream, "500 what?")?,
        }
    }
}

fn address(text: &str) -> Option<String> {
    Some(text.split_once('<')?.1.split_once('>')?.0.to_owned())
}

fn say(stream: &mut BufReader<impl Read + Write>, text: &str) -> Option<()> {
    write!(stream.get_mut(), "{text}\r\n").ok()?;
    stream.get_mut().flush().ok()
}

fn line(stream: &mut BufReader<impl Read + Write>) -> Option<String> {
    let mut line = String::new();
    (stream.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
}
