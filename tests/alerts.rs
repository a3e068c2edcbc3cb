//! Alerts over real sockets: a web hook that is a [`Receiver`], and a mail server that speaks SMTP, plain or under TLS.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

mod mail;

use std::fs;
use std::path::{Path, PathBuf};

use adjourn_server::config::Config;
use serde_json::{Value, json};

use self::mail::MailServer;
use crate::call_backs::{Answer, Receiver, wait_for};
use crate::cli::commands::Commands;
use crate::http::{Site, Web};
use crate::server::openssl::certificates::{Certificates, Flaw};

const SECRET: &str = "s3cret";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// Writes the file of alerts as an editor does: a reader sees the old file or the new one.
    fn write(&self, text: &str) -> PathBuf {
        let (new, path) = (self.0.path().join("new"), self.0.path().join("alerts.toml"));
        fs::write(&new, text).expect("written");
        fs::rename(new, &path).expect("renamed");
        path
    }
}

fn chat(receiver: &Receiver) -> String {
    let url = receiver.url(&format!("/{SECRET}"));
    format!("[[target]]\nname = \"chat\"\nwebhook = \"{url}\"\nheaders = {{ X-Token = \"{SECRET}\" }}\n")
}

fn site(alerts: &Path) -> Site {
    Site::with(|config: &mut Config| config.alerts_file = Some(alerts.to_owned()))
}

fn told(receiver: &Receiver) -> Value {
    let call = receiver.call();
    assert_eq!(call.line, format!("POST /{SECRET} HTTP/1.1"));
    assert_eq!((call.header("x-token"), call.header("content-type")), (SECRET, "application/json"));
    let text = String::from_utf8(call.body).expect("text");
    assert!(!text.contains(SECRET), "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn push(web: &mut Web, topic: &str) -> u64 {
    let pushed = web.post(&format!("/v1/topics/{topic}/jobs"), &json!({"body": "x"}));
    assert_eq!(pushed.status, 201);
    pushed.json()["id"].as_u64().expect("an id")
}

#[test]
fn a_late_topic_is_told_and_told_to_have_recovered() {
    let (folder, receiver) = (Folder::new(), Receiver::always(Answer::Reply(200, "", "")));
    let rule =
        "[[rule]]\nname = \"orders are late\"\nwhen = \"lateness\"\nabove = \"1s\"\ntopics = \"order*\"\n";
    let site = site(&folder.write(&format!("{}{rule}", chat(&receiver))));
    let mut web = site.web();
    let (job, _) = (push(&mut web, "orders"), push(&mut web, "mail"));
    let firing = told(&receiver);
    assert_eq!((&firing["rule"], &firing["state"]), (&json!("orders are late"), &json!("firing")));
    assert_eq!(firing["firing"].as_array().map(Vec::len), Some(1), "{firing}");
    assert_eq!(firing["firing"][0]["subject"], json!("orders"));
    assert!(firing["firing"][0]["finding"].as_str().is_some_and(|text| text.contains("has been due for")));
    let metrics = || String::from_utf8(site.web().get("/metrics").body).expect("text");
    let gauge = "adjourn_alerts_firing{rule=\"orders are late\"} 1";
    wait_for("the gauge", || metrics().contains(gauge).then_some(()));
    let deleted = web.ask("DELETE", &format!("/v1/jobs/{job}"), None);
    assert_eq!(deleted.status, 200, "{deleted:?}");
    let recovered = told(&receiver);
    assert_eq!((&recovered["state"], &recovered["recovered"]), (&json!("recovered"), &json!(["orders"])));
    wait_for("counts", || metrics().contains("adjourn_alerts_sent_total 2").then_some(()));
    assert!(receiver.more().is_empty());
}

#[test]
fn a_node_tells_of_its_disk_by_mail() {
    let (folder, server) = (Folder::new(), MailServer::plain());
    let text = format!(
        "[[target]]\nname = \"mail\"\nsmtp = \"smtp://{}\"\nfrom = \"Queue <queue@shop.example>\"\n\
         to = [\"ops@shop.example\", \"Boss <boss@shop.example>\"]\n\
         [[rule]]\nname = \"disk is full\"\nwhen = \"disk_free\"\nbelow = 9_000_000_000_000_000_000\n",
        server.address
    );
    let _site = site(&folder.write(&text));
    let mail = server.mail();
    assert_eq!(mail.from, "queue@shop.example");
    assert_eq!(mail.to, ["ops@shop.example", "boss@shop.example"]);
    assert!(mail.text.contains("Subject: [adjourn] disk is full: firing"), "{}", mail.text);
    assert!(
        mail.text.contains("node 1: free disk space: ") && mail.text.contains(" MiB (for "),
        "{}",
        mail.text
    );
    let ids: Vec<&str> =
        mail.text.lines().filter_map(|line| line.strip_prefix("Message-ID: <")?.strip_suffix('>')).collect();
    assert!(matches!(ids.as_slice(), [id] if id.ends_with("@shop.example")), "{}", mail.text);
    assert!(!mail.text.contains(SECRET));
}

#[test]
fn buried_jobs_and_failing_destinations_are_told() {
    let (folder, chat_room) = (Folder::new(), Receiver::always(Answer::Reply(204, "", "")));
    let dead = Receiver::always(Answer::Reset);
    let rules = "[[rule]]\nname = \"dead\"\nwhen = \"destinations_failing\"\n[[rule]]\nname = \"lost\"\nwhen = \"buried\"\n";
    let alerts = folder.write(&format!("{}{rules}", chat(&chat_room)));
    let site = Site::with(|config| {
        config.alerts_file = Some(alerts.clone());
        crate::call_backs::may_call_here(config);
    });
    let mut web = site.web();
    let settings = json!({"call_back": dead.url("/"), "backoff": "10ms"});
    let set = web.ask("PATCH", "/v1/topics/dead", Some(&settings));
    assert_eq!(set.status, 204, "{set:?}");
    push(&mut web, "dead");
    let job = push(&mut web, "lost");
    let leases = web.ask("POST", "/v1/reserve?topics=lost&wait=30s", None).json();
    let lease = leases["jobs"][0]["lease"].clone();
    assert_eq!(
        web.post(&format!("/v1/leases/{}/bury", lease.as_str().expect("a lease")), &json!({})).status,
        204
    );
    let mut found = Vec::new();
    while found.len() < 2 {
        let mut alert = told(&chat_room);
        let problem = alert["firing"][0].take();
        found.push([alert["rule"].take(), problem["subject"].clone(), problem["finding"].clone()]);
    }
    found.sort_by_key(|[rule, ..]| rule.to_string());
    let expected = [["dead", "dead", "1 failing destination"], ["lost", "lost", "1 buried job"]];
    assert_eq!(found, expected.map(|texts| texts.map(|text| json!(text))), "{job}");
}

#[test]
fn a_changed_file_counts_and_a_wrong_one_does_not() {
    let (folder, receiver) = (Folder::new(), Receiver::always(Answer::Reply(200, "", "")));
    let rule = |name: &str| {
        format!(
            "{}[[rule]]\nname = \"{name}\"\nwhen = \"disk_free\"\nbelow = 9_000_000_000_000_000_000\n",
            chat(&receiver)
        )
    };
    let site = site(&folder.write(&rule("first")));
    assert_eq!(told(&receiver)["rule"], json!("first"));
    folder.write("[[rule]]\nname = \"wrong\"\n");
    let metrics = || String::from_utf8(site.web().get("/metrics").body).expect("text");
    wait_for("the gauge", || metrics().contains("adjourn_alerts_firing{rule=\"first\"} 1").then_some(()));
    folder.write(&rule("second"));
    assert_eq!(told(&receiver)["rule"], json!("second"));
    wait_for("the new rules", || metrics().contains("{rule=\"second\"}").then_some(()));
    assert!(!metrics().contains("{rule=\"first\"}"));
}

#[test]
fn a_target_that_fails_is_told_again() {
    let folder = Folder::new();
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&calls);
    let receiver = Receiver::new(move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Answer::Reply(500, "", ""),
        1 => Answer::Reset,
        _ => Answer::Reply(200, "", ""),
    });
    let rule = "[[rule]]\nname = \"disk\"\nwhen = \"disk_free\"\nbelow = 9_000_000_000_000_000_000\n";
    let _site = site(&folder.write(&format!("{}{rule}", chat(&receiver))));
    let messages = [told(&receiver), told(&receiver), told(&receiver)];
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
}

#[test]
fn smtps_to_a_port_without_tls_is_told_what_to_write() {
    let (folder, server) = (Folder::new(), MailServer::plain());
    let target = format!(
        "[[target]]\nname = \"mail\"\nsmtp = \"smtps://queue:{SECRET}@localhost:{}\"\nfrom = \"queue@shop.example\"\nto = [\"ops@shop.example\"]\n",
        server.address.port()
    );
    let path = folder.write(&target);
    let tried = Commands::to(&"").run(&["alerts", "test", "--file", path.to_str().expect("a path")], b"");
    assert_eq!(tried.code, Some(4), "{}", tried.errors);
    let advice = "mail: the mail server does not begin with TLS at this port: write smtp://USER:PASSWORD@HOST:PORT?tls=required";
    assert!(tried.out.starts_with(advice) && !tried.out.contains(SECRET), "{}", tried.out);
}

#[test]
fn targets_can_be_tried_out() {
    let (folder, receiver) = (Folder::new(), Receiver::always(Answer::Reply(200, "", "")));
    let certificates = Certificates::new();
    let (certificate, key) = certificates.sign("mail", "localhost", 1, Flaw::None);
    let server = MailServer::tls(&certificate, &key);
    let mail = format!(
        "[[target]]\nname = \"mail\"\nsmtp = \"smtps://queue:{SECRET}@localhost:{}\"\nfrom = \"queue@shop.example\"\nto = [\"ops@shop.example\"]\n",
        server.address.port()
    );
    let ca = format!("ca = \"{}\"\n", certificates.path("ca.pem").display());
    let body = "body = '{\"msgtype\":\"text\",\"text\":{\"content\":\"{text}\"}}'\n";
    let path = folder.write(&format!("{ca}{}{body}{mail}", chat(&receiver)));
    let path = path.to_str().expect("a path");
    let commands = Commands::to(&"");
    let tried = commands.run(&["alerts", "test", "--file", path], b"");
    assert_eq!(
        (tried.code, tried.out.as_str()),
        (Some(0), "chat: accepted\nmail: accepted\n"),
        "{}",
        tried.errors
    );
    let sent = told(&receiver);
    assert_eq!(sent["msgtype"], json!("text"));
    assert!(sent["text"]["content"].as_str().is_some_and(|text| text.contains("A test of")), "{sent}");
    let sent = server.mail();
    assert_eq!(sent.user, format!("\0queue\0{SECRET}"));
    let mail_text = sent.text;
    assert!(mail_text.contains("Subject: [adjourn] test: test"), "{mail_text}");
    // Without the CA, and with a web hook that refuses.
    let refusing = Receiver::always(Answer::Reply(403, "", ""));
    let path = folder.write(&format!("{}{mail}", chat(&refusing)));
    let path = path.to_str().expect("a path");
    let tried = commands.run(&["alerts", "test", "--file", path], b"");
    assert_eq!(tried.code, Some(4), "{}", tried.errors);
    assert!(tried.out.starts_with("chat: the reply has status 403\nmail: "), "{}", tried.out);
    assert!(!format!("{}{}", tried.out, tried.errors).contains(SECRET));
    let tried = commands.run(&["alerts", "test", "--file", path, "--to", "pager"], b"");
    assert_eq!(tried.code, Some(2));
    assert!(tried.errors.contains("there is no target \"pager\""), "{}", tried.errors);
}
