//! Tokens that are added, changed and removed.

use super::*;
use adjourn_protocol::{JobRef, NewJob, Push};
use adjourn_types::{Attributes, IfExists, JobId, Right, When};

const FILE: &str = r#"
[[token]]
name = "shop"
sha256 = "SHOP"
allow = ["push:orders.*"]

[token.limits]
connections = 2
jobs_per_second = 10
bytes_per_second = 1000

[[token]]
name = "mail"
sha256 = "MAIL"
allow = ["consume:*"]
expires = "2999-01-01T00:00:00Z"
"#;

struct Rig {
    folder: tempfile::TempDir,
    tokens: Arc<Tokens>,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens.toml");
        put(&path, FILE);
        let tokens = Tokens::read(Some(&path)).expect("tokens");
        Self { folder, tokens }
    }

    fn write(&self, text: &str) {
        put(&self.folder.path().join("tokens.toml"), text);
        self.tokens.reload();
    }

    fn admit(&self, secret: &str) -> Result<AdmittedClient, String> {
        self.tokens.admit(secret.as_bytes()).map_err(|error| error.message)
    }
}

/// Writes the file with the hashes of the secrets "shop" and "mail".
fn put(path: &Path, text: &str) {
    let hash = |secret: &str| SecretHash::of(secret.as_bytes()).to_string();
    let text = text.replace("SHOP", &hash("shop")).replace("MAIL", &hash("mail"));
    std::fs::write(path, text).expect("written");
}

fn push(jobs: usize, body_bytes: usize) -> Request {
    let job = NewJob {
        due: When::After(0),
        priority: 1,
        ttr_ms: 1,
        if_exists: IfExists::Reject,
        key: None,
        attributes: Attributes::default(),
        body: vec![0; body_bytes].into(),
    };
    let topic = "orders.x".parse().expect("a name");
    Request::Push(Push { topic, sequence: 1, jobs: vec![job; jobs], idempotency: None })
}

#[test]
fn a_client_is_let_in_by_its_secret() {
    let rig = Rig::new();
    let shop = rig.admit("shop").expect("known");
    assert!(shop.access().has(Right::Push, "orders.1") && !shop.access().has(Right::Push, "mail"));
    assert!(rig.admit("mail").expect("known").access().has(Right::Consume, "x"));
    for unknown in ["sho", "shopp", "Shop"] {
        assert!(rig.admit(unknown).expect_err("unknown").contains("the token is unknown"), "{unknown:?}");
    }
    assert!(rig.admit("").expect_err("missing").contains("send `Authorization: Bearer TOKEN`"));
    let shown = format!("{:?} {:?}", rig.tokens, shop);
    assert!(!shown.contains(&SecretHash::of(b"shop").to_string()), "{shown}");
    let open = Tokens::read(None).expect("none");
    assert!(open.admit(b"whatever").expect("anybody").access().has_everywhere(Right::Admin));
}

#[test]
fn a_token_has_no_more_connections_than_it_may() {
    let rig = Rig::new();
    let first = rig.admit("shop").expect("the first");
    let _second = rig.admit("shop").expect("the second");
    assert!(rig.admit("shop").expect_err("the third").contains("as many connections"));
    assert!(rig.admit("shop").is_err(), "one that was refused counts no longer");
    drop(first);
    assert!(rig.admit("shop").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_token_pushes_no_more_than_it_may() {
    let rig = Rig::new();
    let shop = rig.admit("shop").expect("known");
    assert_eq!(shop.bring(&push(10, 1)), Ok(()));
    let slow = shop.bring(&push(1, 1)).expect_err("ten a second");
    assert_eq!((slow.code, slow.retry_after_ms), (ErrorCode::Busy, 100));
    assert!(slow.message.contains("the token shop may push 10 jobs a second"), "{slow}");
    tokio::time::advance(Duration::from_secs(5)).await;
    let mut edit = Edit { priority: Some(1), ..Edit::new(JobRef::Id(JobId(1))) };
    assert_eq!(shop.bring(&Request::Edit(edit.clone())), Ok(()), "it brings no body");
    edit.body = Some(vec![0; 3000].into());
    assert_eq!(shop.bring(&Request::Edit(edit)), Ok(()));
    let slow = shop.bring(&push(1, 1)).expect_err("a thousand bytes a second");
    assert_eq!(slow.retry_after_ms, 2001);
    assert!(slow.message.contains("1000 bytes of bodies a second"), "{slow}");
    // A push that is refused for its bytes is not charged to the limit of jobs.
    (0..100).for_each(|_| _ = shop.bring(&push(10, 1)).expect_err("too many bytes"));
    tokio::time::advance(Duration::from_millis(2001)).await;
    assert_eq!(shop.bring(&push(10, 1)), Ok(()));
    let mail = rig.admit("mail").expect("known");
    assert_eq!(mail.bring(&push(1000, 100)), Ok(()));
}

#[tokio::test]
async fn the_connections_of_a_token_that_has_changed_end_and_others_stay() {
    let rig = Rig::new();
    let (shop, mail) = (rig.admit("shop").expect("known"), rig.admit("mail").expect("known"));
    rig.write("[[token]");
    assert!(!shop.0.ended.is_cancelled(), "a file that cannot be used changes nothing");
    rig.write(&FILE.replace("push:orders.*", "push:*"));
    shop.ended().await;
    assert!(!mail.0.ended.is_cancelled());
    let wider = rig.admit("shop").expect("known");
    assert!(wider.access().has(Right::Push, "mail"));
    rig.write(FILE.split_once("[[token]]\nname = \"mail\"").expect("two").0);
    mail.ended().await;
    wider.ended().await;
    assert!(rig.admit("mail").is_err());
}

#[tokio::test]
async fn a_changed_file_is_noticed_and_a_token_expires() {
    let rig = Rig::new();
    let (shop, mail) = (rig.admit("shop").expect("known"), rig.admit("mail").expect("known"));
    let path = rig.folder.path().join("tokens.toml");
    put(&path, &FILE.replace("connections = 2", "connections = 1"));
    rig.tokens.look();
    rig.tokens.look();
    shop.ended().await;
    assert!(!mail.0.ended.is_cancelled());
    rig.write(&FILE.replace("2999", "1999"));
    mail.ended().await;
    assert!(rig.admit("mail").expect_err("it has expired").contains("the token mail has expired"));
}

#[tokio::test(start_paused = true)]
async fn the_requests_of_all_connections_of_a_token_are_charged() {
    let rig = Rig::new();
    rig.write(&FILE.replace("connections = 2", "requests_per_second = 100"));
    let clients = [(); 16].map(|()| rig.admit("shop").expect("known"));
    // All see the room before any of them takes it.
    assert!(clients.iter().all(|client| client.room(100) == Ok(100)));
    for client in &clients {
        client.took(100);
    }
    tokio::time::advance(Duration::from_secs(14)).await;
    assert!(clients.iter().all(|client| client.room(100).is_err()));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(clients.iter().all(|client| client.room(100) == Ok(100)));
}

#[test]
fn a_file_that_is_being_written_is_not_believed() {
    let rig = Rig::new();
    let (shop, mail) = (rig.admit("shop").expect("known"), rig.admit("mail").expect("known"));
    let path = rig.folder.path().join("tokens.toml");
    let (half, _) = FILE.split_once("[[token]]\nname = \"mail\"").expect("two");
    put(&path, half);
    rig.tokens.look();
    assert!(!mail.0.ended.is_cancelled(), "the rest may follow");
    put(&path, &FILE.replace("push:orders.*", "push:*"));
    rig.tokens.look();
    assert!(!shop.0.ended.is_cancelled(), "it has changed again");
    rig.tokens.look();
    assert!(shop.0.ended.is_cancelled() && !mail.0.ended.is_cancelled());
}

#[test]
fn a_file_that_could_not_be_read_is_read_at_the_next_look() {
    let rig = Rig::new();
    let mail = rig.admit("mail").expect("known");
    let path = rig.folder.path().join("tokens.toml");
    put(&path, FILE.split_once("[[token]]\nname = \"mail\"").expect("two").0);
    // As with too few descriptors: the read fails, and the file does not change after it.
    let source = std::io::Error::from(std::io::ErrorKind::Other);
    let failed = Err(TokenError::Unreadable { path: path.clone(), source });
    rig.tokens.take_over(&path, Mark::of(&path), failed);
    assert!(!mail.0.ended.is_cancelled());
    rig.tokens.look();
    rig.tokens.look();
    assert!(mail.0.ended.is_cancelled());
}

#[test]
fn a_file_that_is_gone_is_told_once() {
    let rig = Rig::new();
    std::fs::remove_file(rig.folder.path().join("tokens.toml")).expect("removed");
    (0..3).for_each(|_| rig.tokens.look());
    assert!(rig.admit("shop").is_ok());
    assert!(rig.tokens.held().complaint.as_ref().is_some_and(|told| told.contains("stay in use")));
}

#[test]
fn no_tokens_at_all_are_believed_if_the_file_says_so() {
    let rig = Rig::new();
    for empty in ["", "# nothing yet\n"] {
        rig.write(empty);
        assert!(rig.admit("shop").is_ok(), "{empty:?}");
        assert!(rig.tokens.held().complaint.as_ref().is_some_and(|told| told.contains("`token = []`")));
    }
    let shop = rig.admit("shop").expect("known");
    // As after the last one was revoked.
    std::fs::write(rig.folder.path().join("tokens.toml"), "token = []\n").expect("written");
    rig.tokens.reload();
    assert!(shop.0.ended.is_cancelled() && rig.admit("shop").is_err());
}
