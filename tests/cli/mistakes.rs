//! What a user is told who makes a mistake: every input of `mistakes.txt` with its exit code and its answer.
//!
//! The file is made anew by `ADJOURN_WRITE_MISTAKES=1 cargo test mistakes`: read the difference before it is committed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::server_rig::{Process, adjourn};

/// A command line with `$` before it, and variables before its name. `{server}` stands for a server that runs,
/// `{http}` for its HTTP port.
const INPUTS: &str = include_str!("mistakes.txt");

struct Scene {
    server: Process,
    http: String,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let http = free.local_addr().expect("bound").to_string();
        drop(free);
        let data = folder.path().join("data");
        let server = Process::try_start(&data, &["--http-listen", &http, "--body-bytes-max", "65536"]);
        let scene = Self { server: server.expect("it starts"), http, folder };
        for (name, content) in FILES {
            std::fs::write(scene.folder.path().join(name), content).expect("written");
        }
        scene
    }

    /// What stands for the address and for the folder in the file is the same in each run.
    fn plain(&self, text: &str) -> String {
        let text = text.replace(&self.server.address.to_string(), "{server}").replace(&self.http, "{http}");
        let text = text.replace(&self.folder.path().display().to_string(), "{folder}");
        // A port that the system has chosen.
        match text.split_once("0.0.0.0:") {
            Some((before, after)) => {
                format!(
                    "{before}0.0.0.0:{{port}}{}",
                    after.trim_start_matches(|digit: char| digit.is_ascii_digit())
                )
            }
            None => text,
        }
    }

    fn run(&self, line: &str) -> Output {
        let line = line.replace("{server}", &self.server.address.to_string()).replace("{http}", &self.http);
        let mut words = shell_words(&line).into_iter().peekable();
        let mut variables = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            variables.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        assert_eq!(words.next().as_deref(), Some("adjourn"), "{line}");
        let mut command = adjourn(&[]);
        if !line.contains("--server") && !line.contains("adjourn serve") {
            command.env("ADJOURN_SERVER", self.server.address.to_string());
        }
        command.args(words).envs(variables).current_dir(self.folder.path());
        command.output().expect("the binary")
    }
}

/// Files that the commands name.
const FILES: [(&str, &str); 19] = [
    ("text.txt", "no backup, no certificate, no configuration\n"),
    ("unit.toml", "heartbeat_ms = \"3s\"\n"),
    ("bytes.toml", "body_bytes_max = \"10MB\"\n"),
    ("range.toml", "heartbeat_ms = 1\n"),
    ("unknown.toml", "heartbeet_ms = 3000\n"),
    ("strange.toml", "colour = \"blue\"\n"),
    ("syntax.toml", "listen = 127.0.0.1:7440\n"),
    ("address.toml", "listen = \"127.0.0.1\"\n"),
    ("memory.toml", "memory_max_bytes = 1000000\n"),
    ("peer.toml", "peer_address = \"10.0.0.1:7441\"\n"),
    ("alerts.toml", "[[rule]]\nname = \"late\"\nwhen = \"lateness\"\nabove = \"30s\"\n"),
    ("tokens.toml", "tokens_file = \"some.toml\"\n"),
    ("number.toml", "listen = 7440\n"),
    ("flag.toml", "insecure = \"yes\"\n"),
    ("list.toml", "join = \"127.0.0.1:1\"\n"),
    ("webhok.toml", "[[target]]\nname = \"chat\"\nwebhok = \"http://127.0.0.1:1\"\n"),
    ("sha257.toml", "[[token]]\nname = \"shop\"\nsha257 = \"0b\"\nallow = [\"push\"]\n"),
    ("level.toml", "log_level = \"loud\"\n"),
    ("schedules.toml", SCHEDULES),
];

/// Schedules with a mistake each.
const SCHEDULES: &str = r#"
[[schedule]]
topic = "reports"
name = "daily"
when = "0 9 * *"

[[schedule]]
topic = "reports"
name = "weekly"
when = "@weekly"
zome = "Europe/Berlin"

[[schedule]]
topic = "reports"
name = "monthly"
when = "@monthly"
ttr = "30"
"#;

/// Splits a line at spaces that are not within single quotes.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for char in line.chars() {
        match char {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            char => words.last_mut().expect("never empty").push(char),
        }
    }
    words
}

#[test]
fn each_mistake_is_named_and_so_is_its_remedy() {
    let scene = Scene::new();
    for before in PREPARED {
        assert!(scene.run(before).status.success(), "{before}");
    }
    let mut found = String::new();
    for line in INPUTS.lines() {
        if line.starts_with('#') || line.is_empty() {
            writeln!(found, "{line}").expect("text");
        }
        let Some(input) = line.strip_prefix("$ ") else { continue };
        let output = scene.run(input);
        let code = output.status.code().expect("it ends by itself");
        assert!(code != 0 && code != 101, "{input}: {code}");
        let said = scene.plain(&String::from_utf8_lossy(&output.stderr));
        writeln!(found, "$ {input}\n{}[{code}]", indented(&said)).expect("text");
    }
    if std::env::var_os("ADJOURN_WRITE_MISTAKES").is_some() {
        let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/mistakes.txt");
        std::fs::write(path, &found).expect("written");
    }
    for (now, before) in found.lines().zip(INPUTS.lines()) {
        assert_eq!(now, before, "ADJOURN_WRITE_MISTAKES=1 writes all answers anew");
    }
    assert_eq!(found.lines().count(), INPUTS.lines().count());
}

/// What is set up before the mistakes.
const PREPARED: [&str; 11] = [
    "adjourn topic set full --jobs-max 1",
    "adjourn push full x",
    "adjourn topic set small --body-max 4",
    "adjourn topic set heavy --bytes-max 4",
    "adjourn push heavy 1234",
    "adjourn topic set busy --leases-max 1",
    "adjourn push busy x --key k",
    "adjourn push busy y",
    "adjourn reserve busy",
    "adjourn schedule set reports yearly @yearly",
    "adjourn schedule set full yearly @yearly",
];

/// The lines, without warnings of a log and those that point to the help, a bit to the right.
fn indented(text: &str) -> String {
    let is_said = |line: &&str| {
        !line.is_empty() && !line.starts_with("For more information") && !line.contains("  WARN ")
    };
    let lines = text.lines().filter(is_said);
    lines.flat_map(|line| ["  ", line, "\n"]).collect()
}
