//! TLS between clients and what they are tried against.
//!
//! A server alone speaks TLS itself. Fakes, proxies and the nodes of a cluster, which others here read and write plainly, have a
//! [front](Tls::front) that speaks it for them.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use adjourn_transport::tls::{Acceptor, ServerFiles};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener as AsyncListener, TcpStream};
use tokio::runtime::Runtime;

use super::server_rig::adjourn;

/// Certificates for 127.0.0.1, and what speaks TLS with them.
pub(crate) struct Tls {
    folder: TempDir,
    foreign: TempDir,
    acceptor: Arc<Acceptor>,
    /// Carries what passes the fronts.
    runtime: Runtime,
    spoken: Spoken,
}

/// Where TLS is spoken if a scenario leaves it open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Nowhere,
    /// In every second scenario; the next client begins with the other half.
    Mixed,
    Everywhere,
}

impl Tls {
    /// Makes the certificates.
    pub(crate) fn new() -> Self {
        let folder = made(&["node 1 --host 127.0.0.1", "client shop"]);
        let foreign = made(&["client stranger"]);
        let in_folder = |name: &str| folder.path().join(name);
        let (certificate, key) = (in_folder("node-1.pem"), in_folder("node-1.key"));
        let files = ServerFiles { certificate, key, client_ca: None, client_crl: None };
        let acceptor = Arc::new(Acceptor::new(files).expect("certificates"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let spoken = match std::env::var("ADJOURN_CONFORMANCE_TLS").as_deref() {
            Err(_) | Ok("") => Spoken::Nowhere,
            Ok("mixed") => Spoken::Mixed,
            Ok(_) => Spoken::Everywhere,
        };
        Self { folder, foreign, acceptor, runtime: runtime.expect("a runtime"), spoken }
    }

    /// Whether a scenario speaks TLS that leaves it open. `turn` is its number and that of the client together.
    pub(crate) fn is_spoken(&self, turn: usize) -> bool {
        match self.spoken {
            Spoken::Nowhere => false,
            Spoken::Mixed => turn.is_multiple_of(2),
            Spoken::Everywhere => true,
        }
    }

    /// How the report says it.
    pub(crate) fn told(&self) -> &'static str {
        match self.spoken {
            Spoken::Nowhere => "",
            Spoken::Mixed => ", half over TLS",
            Spoken::Everywhere => " over TLS",
        }
    }

    /// What a server is told; `asks`: for a certificate of each client.
    pub(crate) fn serving(&self, asks: bool) -> Vec<String> {
        let mut options = vec![("--tls-cert", "node-1.pem"), ("--tls-key", "node-1.key")];
        options.extend(asks.then_some(("--tls-client-ca", "ca.pem")));
        options
            .into_iter()
            .flat_map(|(name, file)| [name.to_owned(), text(self.folder.path().join(file))])
            .collect()
    }

    /// What the command line is told.
    pub(crate) fn believing(&self) -> [String; 2] {
        ["--tls-ca".to_owned(), text(self.folder.path().join("ca.pem"))]
    }

    /// What a step of a scenario may name.
    pub(crate) fn named(&self) -> [(&'static str, PathBuf); 4] {
        let own = |name: &str| self.folder.path().join(name);
        let foreign = self.foreign.path().join("ca.pem");
        [
            ("ca", own("ca.pem")),
            ("certificate", own("shop.pem")),
            ("key", own("shop.key")),
            ("foreign_ca", foreign),
        ]
    }

    /// Has a command `connect` speak TLS, and believe the CA.
    pub(crate) fn secure(&self, connect: &mut Value) {
        if let Some(Value::String(first)) = connect["addresses"].get_mut(0) {
            *first = secured(first);
        }
        connect["tls"] = json!({ "ca": text(self.folder.path().join("ca.pem")) });
    }

    /// Where TLS is spoken for what listens at `target`, or will. It ends its connections as the target does.
    pub(crate) fn front(&self, target: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a socket");
        let acceptor = Arc::clone(&self.acceptor);
        self.runtime.spawn(async move {
            let listener = AsyncListener::from_std(listener).expect("a runtime");
            while let Ok((guest, _)) = listener.accept().await {
                tokio::spawn(carry(Arc::clone(&acceptor), guest, target));
            }
        });
        address
    }
}

/// An address as clients are told it when TLS is spoken there.
pub(crate) fn secured(address: &str) -> String {
    format!("adjourns://{address}")
}

async fn carry(acceptor: Arc<Acceptor>, guest: TcpStream, target: SocketAddr) -> std::io::Result<()> {
    let mut host = TcpStream::connect(target).await?;
    for stream in [&guest, &host] {
        stream.set_nodelay(true)?;
    }
    let mut guest = acceptor.accept(guest).await.map_err(|(error, _)| error)?;
    copy_bidirectional(&mut guest, &mut host).await.map(drop)
}

/// A folder of certificates.
fn made(what: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for what in what {
        let made = adjourn(&["cert"]).args(what.split(' ')).arg("--dir").arg(folder.path()).output();
        let made = made.expect("the binary");
        assert!(made.status.success(), "{what}: {}", String::from_utf8_lossy(&made.stderr));
    }
    folder
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().expect("a path of letters")
}
