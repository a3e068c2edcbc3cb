//! TLS for real: certificates that `adjourn cert` made, nodes that are processes, and the command line and the client against
//! them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{BufReader, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use adjourn_client::{Client, ClientConfig};
use adjourn_protocol::{NewJob, PushResult};
use adjourn_types::Filter;
use tempfile::TempDir;

use super::log::await_line;
use crate::call_backs::wait_for;
use crate::cli::commands::{Commands, Ended};
use crate::cluster::free_port;
use crate::server_rig::{Process, Raw, adjourn, hello};

/// A folder of certificates.
struct Certificates(TempDir);

impl Certificates {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Makes a certificate: `node 1 --host localhost`.
    fn make(&self, what: &str) {
        let made = adjourn(&["cert"]).args(what.split(' ')).args(["--dir", &self.path("")]).output().unwrap();
        assert!(made.status.success(), "{what}: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// What a server is told to serve TLS as node 1.
    fn serving(&self) -> Vec<String> {
        let (certificate, key) = (self.path("node-1.pem"), self.path("node-1.key"));
        vec!["--tls-cert".to_owned(), certificate, "--tls-key".to_owned(), key]
    }
}

fn start(data: &Path, arguments: &[String]) -> Process {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Process::start(data, &arguments)
}

/// `adjourn stats`, with these arguments before the command's.
fn stats(server: &str, arguments: &[&str]) -> Ended {
    Commands::to(&server).run(&[&["stats"], arguments].concat(), b"")
}

#[test]
fn the_command_line_speaks_tls_with_a_server_that_it_believes() {
    let (certificates, foreign, data) =
        (Certificates::new(), Certificates::new(), tempfile::tempdir().unwrap());
    certificates.make("node 1 --host localhost --host 127.0.0.1");
    foreign.make("node 1 --host localhost");
    let server = start(data.path(), &certificates.serving());
    let port = server.address.port();
    let (ca, other_ca) = (certificates.path("ca.pem"), foreign.path("ca.pem"));
    for host in ["localhost", "127.0.0.1"] {
        let told = stats(&format!("adjourns://{host}:{port}"), &["--tls-ca", &ca]);
        assert_eq!((told.code, told.errors.as_str()), (Some(0), ""), "{host}");
    }
    let refused = [
        (
            format!("adjourns://localhost:{port}"),
            vec!["--tls-ca", other_ca.as_str()],
            "invalid peer certificate",
        ),
        (format!("localhost:{port}"), vec![], "write adjourns:// before its address"),
    ];
    for (address, arguments, reason) in refused {
        let told = stats(&address, &arguments);
        assert_ne!(told.code, Some(0), "{address}");
        assert!(told.errors.contains(reason), "{address}: {}", told.errors);
    }
    assert!(server.terminate().success());
}

#[test]
fn a_server_asks_for_certificates_of_clients() {
    let (certificates, data) = (Certificates::new(), tempfile::tempdir().unwrap());
    certificates.make("node 1 --host localhost");
    certificates.make("client shop");
    let ca = certificates.path("ca.pem");
    let server = start(
        data.path(),
        &[certificates.serving(), vec!["--tls-client-ca".to_owned(), ca.clone()]].concat(),
    );
    let address = format!("adjourns://localhost:{}", server.address.port());
    let (shop, key) = (certificates.path("shop.pem"), certificates.path("shop.key"));
    let told = stats(&address, &["--tls-ca", &ca, "--tls-cert", &shop, "--tls-key", &key]);
    assert_eq!((told.code, told.errors.as_str()), (Some(0), ""));
    let told = stats(&address, &["--tls-ca", &ca]);
    assert_ne!(told.code, Some(0));
    assert!(told.errors.contains("CertificateRequired"), "{}", told.errors);
    assert!(server.terminate().success());
}

#[test]
fn whoever_is_one_too_many_gets_no_plain_bytes_from_a_port_of_tls() {
    let (certificates, data) = (Certificates::new(), tempfile::tempdir().unwrap());
    certificates.make("node 1 --host localhost");
    let one = ["--connections-per-address-max".to_owned(), "1".to_owned()];
    let server = start(data.path(), &[certificates.serving(), one.to_vec()].concat());
    let _first = TcpStream::connect(server.address).unwrap();
    let mut second = TcpStream::connect(server.address).unwrap();
    let mut said = Vec::new();
    // It may be reset.
    let _ = second.read_to_end(&mut said);
    assert_eq!(said, b"");
    assert!(server.terminate().success());
}

#[test]
fn what_cannot_be_used_is_told_before_anything_is_served() {
    let (certificates, data) = (Certificates::new(), tempfile::tempdir().unwrap());
    certificates.make("node 1 --host localhost");
    certificates.make("node 2 --host localhost");
    let fails = |arguments: &[&str], reason: &str| {
        let (code, log) = Process::try_start(data.path(), arguments).err().expect("it does not start");
        assert!(code == Some(2) && log.contains(reason), "{code:?}: {log}");
    };
    let path = |name: &str| certificates.path(name);
    fails(&["--tls-cert", &path("node-1.pem")], "tls_cert needs tls_key");
    fails(&["--tls-cert", &path("node-1.pem"), "--tls-key", &path("gone.key")], "cannot read");
    fails(&["--tls-cert", &path("node-1.key"), "--tls-key", &path("node-1.key")], "has no certificate");
    fails(
        &["--tls-cert", &path("node-1.pem"), "--tls-key", &path("node-2.key")],
        "is not the key of the certificate",
    );
    let (certificate, key, ca) = (path("node-2.pem"), path("node-2.key"), path("ca.pem"));
    let peers = ["--peer-tls-cert", &certificate, "--peer-tls-key", &key, "--peer-tls-ca", &ca];
    fails(&peers, "it is not for node-1.adjourn, the name of this node");
}

#[test]
fn nobody_beyond_this_machine_is_let_in_by_accident() {
    let (certificates, data) = (Certificates::new(), tempfile::tempdir().unwrap());
    certificates.make("node 1 --host localhost");
    let fails = |arguments: &[&str], reason: &str| {
        let (code, log) = Process::try_start(data.path(), arguments).err().expect("it does not start");
        assert!(code == Some(2) && log.contains(reason), "{code:?}: {log}");
    };
    let open = ["--listen", "0.0.0.0:0", "--client-address", "127.0.0.1:1"];
    fails(&open, "--insecure");
    let serving = certificates.serving();
    let tls: Vec<&str> = serving.iter().map(String::as_str).collect();
    fails(&[&open[..], &tls].concat(), "tokens_file");
    let loopback = ["--listen", "127.0.0.1:0", "--peer-listen", "0.0.0.0:0", "--peer-address", "127.0.0.1:1"];
    fails(&loopback, "peer_tls_cert");
    let trusted = Process::start(data.path(), &[&open[..], &["--insecure"]].concat());
    assert!(
        Raw::connect((std::net::Ipv4Addr::LOCALHOST, trusted.address.port()).into()).greet(hello()).version
            > 0
    );
    assert!(trusted.terminate().success());
}

/// Three nodes with TLS everywhere.
struct Secure {
    certificates: Certificates,
    data: TempDir,
    /// For clients and for the others.
    ports: Vec<(SocketAddr, SocketAddr)>,
    nodes: Vec<Option<Process>>,
}

impl Secure {
    fn of_three() -> Self {
        let (certificates, data) = (Certificates::new(), tempfile::tempdir().unwrap());
        let ports = (0..3).map(|_| (free_port(), free_port())).collect();
        let mut cluster = Self { certificates, data, ports, nodes: vec![None, None, None] };
        for number in 1..=3 {
            cluster.certificates.make(&format!("node {number} --host 127.0.0.1"));
            cluster.put("trusted.pem", &cluster.read("ca.pem"));
            cluster.start(number);
            if number > 1 {
                let peers = cluster.ports[number - 1].1.to_string();
                cluster.command(&["cluster", "add", &peers, "--wait"]);
            }
        }
        cluster
    }

    fn start(&mut self, number: usize) {
        let (listen, peer_listen) = self.ports[number - 1];
        let data = self.data.path().join(number.to_string());
        let (certificate, key) = (format!("node-{number}.pem"), format!("node-{number}.key"));
        let path = |name: &str| self.certificates.path(name);
        let mut arguments = vec!["--node".to_owned(), number.to_string()];
        arguments.extend(["--listen".to_owned(), listen.to_string()]);
        arguments.extend(["--peer-listen".to_owned(), peer_listen.to_string()]);
        for prefix in ["--tls", "--peer-tls"] {
            arguments.extend([
                format!("{prefix}-cert"),
                path(&certificate),
                format!("{prefix}-key"),
                path(&key),
            ]);
        }
        arguments.extend(["--peer-tls-ca".to_owned(), path("trusted.pem")]);
        match number {
            1 => arguments.push("--found".to_owned()),
            _ => arguments.extend(["--join".to_owned(), self.ports[0].1.to_string()]),
        }
        self.nodes[number - 1] = Some(start(&data, &arguments));
    }

    fn restart(&mut self, number: usize) {
        self.nodes[number - 1].take().expect("it runs").kill();
        self.start(number);
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.certificates.path(name)).unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        let (fresh, path) = (self.certificates.path("fresh"), self.certificates.path(name));
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(fresh, path).unwrap();
    }

    fn addresses(&self) -> String {
        let all: Vec<String> = self.ports.iter().map(|(listen, _)| listen.to_string()).collect();
        format!("adjourns://{}", all.join(","))
    }

    fn command(&self, arguments: &[&str]) -> String {
        let ca = self.certificates.path("trusted.pem");
        Commands::to(&self.addresses()).ok(&[arguments, &["--tls-ca", &ca]].concat())
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new(self.addresses());
        config.tls.ca = Some(PathBuf::from(self.certificates.path("trusted.pem")));
        config.request_timeout_ms = 60_000;
        config
    }
}

/// Pushes until it is told to stop. How many were acknowledged.
async fn push_on(client: Client, mut stop: tokio::sync::oneshot::Receiver<()>) -> u64 {
    let (mut pushed, topic) = (0, "t".parse().unwrap());
    while stop.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
        let job = NewJob { due: adjourn_types::When::After(3_600_000), ..NewJob::new("body") };
        let results = client.push(&topic, vec![job]).await.expect("a push is taken");
        assert!(matches!(results.as_slice(), [PushResult::Pushed(_)]), "{results:?}");
        pushed += 1;
    }
    pushed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_changes_its_ca_and_all_certificates_without_losing_a_push() {
    let mut cluster = tokio::task::spawn_blocking(Secure::of_three).await.unwrap();
    let client = Client::connect(cluster.config()).await.expect("a leader");
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let load = tokio::spawn(push_on(client.clone(), stopped));
    let cluster = tokio::task::spawn_blocking(move || {
        // Everybody believes both CAs; then each node shows a certificate of the new one; then the old one is believed no more.
        let old_ca = cluster.read("ca.pem");
        for name in ["ca.pem", "ca.key"] {
            std::fs::remove_file(cluster.certificates.path(name)).unwrap();
        }
        cluster.certificates.make("client anybody");
        let new_ca = cluster.read("ca.pem");
        for step in 0..3 {
            match step {
                0 => cluster.put("trusted.pem", &format!("{old_ca}{new_ca}")),
                1 => (1..=3)
                    .for_each(|number| cluster.certificates.make(&format!("node {number} --host 127.0.0.1"))),
                _ => cluster.put("trusted.pem", &new_ca),
            }
            for number in 1..=3 {
                cluster.restart(number);
                await_members(&cluster);
            }
        }
        cluster
    });
    let cluster = cluster.await.unwrap();
    stop.send(()).expect("it pushes");
    let pushed = load.await.unwrap();
    assert_eq!(client.count(Filter::default()).await.expect("a count"), pushed);
    assert!(pushed > 0);
    drop(cluster);
}

/// Waits until a leader has all members.
fn await_members(cluster: &Secure) {
    let is_whole = || {
        let ca = cluster.certificates.path("trusted.pem");
        let report =
            Commands::to(&cluster.addresses()).run(&["cluster", "status", "--json", "--tls-ca", &ca], b"");
        let report: serde_json::Value = serde_json::from_str(&report.out).unwrap_or_default();
        let members = report["members"].as_array().cloned().unwrap_or_default();
        !report["leader"].is_null()
            && members.len() == 3
            && members.iter().all(|member| member["connected"] == true)
    };
    let begun = crate::cluster::now();
    while !is_whole() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the cluster is not whole after a minute");
    }
}

#[test]
fn http_goes_over_the_same_tls_with_a_token() {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "curl is not installed");
        println!("skipped: curl is not installed");
        return;
    }
    let certificates = Certificates::new();
    certificates.make("node 1 --host localhost --host 127.0.0.1");
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("tokens.toml");
    let [shop] = crate::http::tokens_in(&file, [&["--allow", "push:orders.*"]]);
    let web = free_port().to_string();
    let own = ["--http-listen", &web, "--tokens-file", file.to_str().expect("a path")].map(str::to_owned);
    let _server = start(&folder.path().join("data"), &[certificates.serving(), own.to_vec()].concat());
    let port = web.rsplit_once(':').expect("a port").1;
    let begun = crate::cluster::now();
    // HTTP listens some time after the clients' port.
    while std::net::TcpStream::connect(&web).is_err() {
        assert!(begun.elapsed() < Duration::from_mins(1), "nothing listens at {web} after a minute");
    }
    let push = |host: &str, more: &[&str]| {
        let url = format!("https://{host}:{port}/v1/topics/orders.eu/jobs");
        let typed = ["-s", "-S", "-w", " %{http_code}", &url, "--json", "{\"body\": \"a\"}"];
        let output = Command::new("curl").args(typed).args(more).output().expect("curl");
        (output.status.success(), String::from_utf8(output.stdout).expect("text"))
    };
    let ca = certificates.path("ca.pem");
    let bearer = format!("Authorization: Bearer {shop}");
    assert_eq!(
        push("localhost", &["--cacert", &ca, "-H", &bearer]),
        (true, "{\"id\":1,\"result\":\"pushed\"} 201".to_owned())
    );
    let (_, unknown) = push("localhost", &["--cacert", &ca]);
    assert!(unknown.ends_with(" 401"), "{unknown}");
    assert!(!push("localhost", &["-H", &bearer]).0, "curl does not know the CA");
    let plain = format!("http://localhost:{port}/v1/topics");
    let spoken =
        Command::new("curl").args(["-s", "--http0.9", "--output", "-", &plain]).output().expect("curl");
    assert!(!String::from_utf8_lossy(&spoken.stdout).contains("topics"), "no plain answer");
}

#[test]
fn a_certificate_that_ends_soon_is_told_in_the_log_and_in_the_metrics() {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "curl is not installed");
        println!("skipped: curl is not installed");
        return;
    }
    let (certificates, data) = (Certificates::new(), tempfile::tempdir().unwrap());
    certificates.make("node 1 --host localhost --days 5");
    let web = free_port();
    let mut serve = adjourn(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    serve
        .arg("--data")
        .arg(data.path())
        .args(["--http-listen", &web.to_string(), "--peer-listen", "127.0.0.1:0"])
        .args(["--peer-tls-cert", &certificates.path("node-1.pem")])
        .args(["--peer-tls-key", &certificates.path("node-1.key")])
        .args(["--peer-tls-ca", &certificates.path("ca.pem"), "--found"])
        .args(certificates.serving());
    let mut child = serve.stderr(Stdio::piped()).spawn().expect("the binary");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let told = |text: &'static str| {
        move |event: &serde_json::Value| {
            event["message"].as_str().is_some_and(|message| message.contains(text))
        }
    };
    let warned = await_line(&mut log, told("the certificate ends soon: renew it"));
    assert!(matches!(warned["days"].as_u64(), Some(5 | 6)), "{warned}");
    let listening = await_line(&mut log, told("listening"));
    let address = listening["address"].as_str().and_then(|address| address.parse().ok()).expect("an address");
    let _server = Process { child, address };
    let url = format!("https://localhost:{}/metrics", web.port());
    let of = |text: &str, port: &str| {
        let name = format!("adjourn_tls_certificate_expires_seconds{{port=\"{port}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok())
    };
    let shown = wait_for("the metrics", || {
        let asked =
            Command::new("curl").args(["-s", "--cacert", &certificates.path("ca.pem"), &url]).output();
        let text = String::from_utf8(asked.expect("curl").stdout).expect("text");
        Some([of(&text, "clients")?, of(&text, "members")?])
    });
    assert!(shown.iter().all(|left| (5.0 * 86_400.0 - 60.0..6.0 * 86_400.0).contains(left)), "{shown:?}");
}
