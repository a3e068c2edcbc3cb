//! The file of alerts: targets and rules. Its text may contain secrets, so no error shows a line of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lettre::message::Mailbox;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use serde::Deserialize;
use url::Url;

use super::rule::{Measure, Rule};
use super::target::{Target, Way, WrittenTarget};
use adjourn_call_backs::{HookError, Hooks};
use adjourn_json::values;
use adjourn_server::config::toml_reason;
use adjourn_transport::tls::TlsError;
use adjourn_types::TopicPattern;

/// The most rules and targets of a file.
const RULES_MAX: usize = 256;
const TARGETS_MAX: usize = 32;
/// The longest name of a rule or a target, in bytes.
const NAME_BYTES_MAX: usize = 100;
/// The default pause between repeats: an hour.
const REPEAT_MS_DEFAULT: u64 = 3_600_000;
/// The shortest pause between repeats.
const REPEAT_MS_MIN: u64 = 60_000;

/// The content of a file of alerts.
#[derive(Debug)]
pub(super) struct AlertFile {
    pub(super) targets: Vec<Arc<Target>>,
    pub(super) rules: Vec<Rule>,
    /// The CA of all targets, as it was read.
    pub(super) ca: Option<Vec<u8>>,
    hooks: Hooks,
}

/// Why a file of alerts cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AlertsError {
    /// The file cannot be read.
    #[error("cannot read the alerts {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not TOML, or has unknown or missing keys.
    #[error("{}, line {line}: {hint}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem, without the line's text.
        hint: String,
    },
    /// A rule or a target is wrong.
    #[error("{}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: Why,
    },
    /// The CA cannot be used.
    #[error("ca of the alerts: {0}")]
    Tls(#[from] TlsError),
}

/// The problem of a rule or a target.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// There are too many.
    #[error("there can be at most {RULES_MAX} rules and {TARGETS_MAX} targets")]
    TooMany,
    /// It has no name, or the name of another one.
    #[error(
        "{0:?}: each rule and each target needs a unique name of one line, of at most {NAME_BYTES_MAX} bytes"
    )]
    Name(String),
    /// A target is neither a web hook nor a mail, or both.
    #[error("target {0:?} needs either webhook, or smtp with from and to")]
    Kind(String),
    /// A web hook cannot be used.
    #[error("target {0:?}: {1}")]
    Webhook(String, HookError),
    /// The mail server cannot be used.
    #[error(
        "target {0:?}: expected smtps://USER:PASSWORD@HOST, smtp://USER:PASSWORD@HOST?tls=required, or without a password smtp://HOST"
    )]
    Smtp(String),
    /// An address is not valid.
    #[error("target {0:?}: from and to must be addresses such as ops@example.com or Ops <ops@example.com>")]
    Address(String),
    /// The measure of a rule is unknown.
    #[error("rule {0:?}: expected when = one of {list}", list = measures())]
    Measure(String),
    /// The limit of a rule is missing, or it takes none.
    #[error("rule {0:?}: {1}")]
    Limit(String, Limit),
    /// The topics are not valid.
    #[error("rule {0:?}: topics is a name, a prefix and *, or * for all, and only for rules about topics")]
    Topics(String),
    /// A duration is not valid.
    #[error("rule {0:?}: {1}: {2}")]
    Duration(String, &'static str, values::ValueError),
    /// There is too little time between repeats.
    #[error("rule {0:?}: repeat must be at least 1m")]
    Repeat(String),
    /// Nobody would be told.
    #[error("it has rules but no target: add a [[target]] with name and webhook, or smtp, from and to")]
    NoTargets,
    /// A target is not in the file.
    #[error("there is no target {0:?}")]
    NoTarget(String),
}

/// The limit that a rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// A duration.
    #[error("lateness needs above, a duration such as \"30s\"")]
    Duration,
    /// A number.
    #[error("this measure needs above, a number")]
    Count,
    /// A number of bytes.
    #[error("disk_free needs below, a number of bytes")]
    Bytes,
    /// No limit.
    #[error("this measure has neither above nor below")]
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ca: Option<PathBuf>,
    #[serde(default, rename = "target")]
    targets: Vec<WrittenTarget>,
    #[serde(default, rename = "rule")]
    rules: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    name: String,
    when: String,
    topics: Option<String>,
    above: Option<Amount>,
    below: Option<u64>,
    #[serde(rename = "for")]
    held: Option<String>,
    repeat: Option<String>,
    tell: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(u64),
    Text(String),
}

impl AlertFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// If it cannot be used.
    pub(super) fn read(path: &Path) -> Result<Self, AlertsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| AlertsError::Unreadable { path: path.to_owned(), source })?;
        let written: Written = toml::from_str(&text).map_err(|error| malformed(path, &text, &error))?;
        let ca = written.ca.filter(|ca| !ca.as_os_str().is_empty());
        let hooks = Hooks::new(ca.clone())?;
        let pem = match &ca {
            Some(ca) => Some(
                std::fs::read(ca).map_err(|source| AlertsError::Unreadable { path: ca.clone(), source })?,
            ),
            None => None,
        };
        let wrong = |why| AlertsError::Wrong { path: path.to_owned(), why };
        if written.rules.len() > RULES_MAX || written.targets.len() > TARGETS_MAX {
            return Err(wrong(Why::TooMany));
        }
        if written.targets.is_empty() && !written.rules.is_empty() {
            return Err(wrong(Why::NoTargets));
        }
        let mut targets: Vec<Arc<Target>> = Vec::new();
        for target in written.targets {
            check_name(&target.name, targets.iter().map(|target| target.name.as_str())).map_err(wrong)?;
            targets.push(Arc::new(target.read(&hooks, pem.as_deref()).map_err(wrong)?));
        }
        let mut rules: Vec<Rule> = Vec::new();
        for rule in written.rules {
            check_name(&rule.name, rules.iter().map(|rule| rule.name.as_str())).map_err(wrong)?;
            rules.push(rule.read(&targets).map_err(wrong)?);
        }
        Ok(Self { targets, rules, ca: pem, hooks })
    }

    /// All its targets, or those of these names.
    pub(super) fn targets(&self, only: &[String]) -> Result<Vec<Arc<Target>>, Why> {
        if only.is_empty() {
            return Ok(self.targets.clone());
        }
        let found = only.iter().map(|name| {
            let target = self.targets.iter().find(|target| target.name == *name);
            target.cloned().ok_or_else(|| Why::NoTarget(name.clone()))
        });
        found.collect()
    }

    /// Closes connections that were idle for too long.
    pub(super) fn close_idle(&self) {
        self.hooks.close_idle();
    }
}

impl WrittenTarget {
    fn read(self, hooks: &Hooks, pem: Option<&[u8]>) -> Result<Target, Why> {
        let written = self.clone();
        let Self { name, webhook, headers, body, smtp, from, to } = self;
        let way = match (webhook, smtp, from) {
            (Some(url), None, None) if to.is_empty() => {
                let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let hook = hooks.hook(&url, headers).map_err(|error| Why::Webhook(name.clone(), error))?;
                Way::Webhook { hook, body }
            }
            (None, Some(url), Some(from)) if !to.is_empty() && headers.is_empty() && body.is_none() => {
                let address = |text: &String| text.parse::<Mailbox>().map_err(|_| Why::Address(name.clone()));
                let to = to.iter().map(address).collect::<Result<_, _>>()?;
                let smtp = smtp_of(&url, pem).ok_or_else(|| Why::Smtp(name.clone()))?;
                Way::Mail { smtp, from: address(&from)?, to }
            }
            _ => return Err(Why::Kind(name)),
        };
        Ok(Target { name, way, written })
    }
}

/// A mail server. A password is sent only over TLS, and never where TLS is optional.
fn smtp_of(url: &str, pem: Option<&[u8]>) -> Option<AsyncSmtpTransport<Tokio1Executor>> {
    let parsed = Url::parse(url).ok()?;
    let host = parsed.domain()?;
    let asked: Vec<_> = parsed.query_pairs().collect();
    let wraps = match asked.as_slice() {
        [] if parsed.scheme() == "smtps" => Some(true),
        [(key, value)] if parsed.scheme() == "smtp" && key == "tls" && value == "required" => Some(false),
        [] if parsed.scheme() == "smtp" && parsed.password().is_none() => None,
        _ => return None,
    };
    let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).ok()?;
    let (Some(wraps), Some(pem)) = (wraps, pem) else { return Some(builder.build()) };
    let tls = TlsParameters::builder(host.to_owned())
        .certificate_store(CertificateStore::None)
        .add_root_certificate(Certificate::from_pem(pem).ok()?)
        .build_rustls()
        .ok()?;
    Some(builder.tls(if wraps { Tls::Wrapper(tls) } else { Tls::Required(tls) }).build())
}

impl WrittenRule {
    fn read(self, targets: &[Arc<Target>]) -> Result<Rule, Why> {
        let Self { name, when, topics, above, below, held, repeat, tell } = self;
        let measure = Measure::ALL.into_iter().find(|measure| measure.name() == when);
        let measure = measure.ok_or_else(|| Why::Measure(name.clone()))?;
        let limit =
            limit_of(measure, above.as_ref(), below).map_err(|limit| Why::Limit(name.clone(), limit))?;
        let topics = match (topics, measure.is_of_topics()) {
            (None, _) => TopicPattern::all(),
            (Some(topics), true) => topics.parse().map_err(|_| Why::Topics(name.clone()))?,
            (Some(_), false) => return Err(Why::Topics(name)),
        };
        let duration = |text: Option<String>, key, default| match text {
            Some(text) => values::delay_ms(&text).map_err(|error| Why::Duration(name.clone(), key, error)),
            None => Ok(default),
        };
        let for_ms = duration(held, "for", 0)?;
        let repeat_ms = duration(repeat, "repeat", REPEAT_MS_DEFAULT)?;
        if repeat_ms < REPEAT_MS_MIN {
            return Err(Why::Repeat(name));
        }
        let all = || targets.iter().map(|target| target.name.clone()).collect();
        let tell: Vec<String> = tell.unwrap_or_else(all);
        let is_known = |told: &&String| targets.iter().any(|target| target.name == **told);
        if let Some(unknown) = tell.iter().find(|told| !is_known(told)) {
            return Err(Why::NoTarget(unknown.clone()));
        }
        Ok(Rule { name, measure, topics, limit, for_ms, repeat_ms, tell })
    }
}

fn limit_of(measure: Measure, above: Option<&Amount>, below: Option<u64>) -> Result<u64, Limit> {
    let count = |default: Option<u64>| match (above, below) {
        (Some(Amount::Number(count)), None) => Ok(*count),
        (None, None) => default.ok_or(Limit::Count),
        _ => Err(Limit::Count),
    };
    match measure {
        Measure::Lateness => match (above, below) {
            (Some(Amount::Text(text)), None) => values::delay_ms(text).map_err(|_| Limit::Duration),
            _ => Err(Limit::Duration),
        },
        Measure::Ready | Measure::Delayed => count(None),
        Measure::Buried | Measure::Destinations => count(Some(0)),
        Measure::DiskFree => below.filter(|_| above.is_none()).ok_or(Limit::Bytes),
        Measure::MemberDown | Measure::NoLeader if above.is_none() && below.is_none() => Ok(0),
        Measure::MemberDown | Measure::NoLeader => Err(Limit::None),
    }
}

fn check_name<'a>(name: &str, mut known: impl Iterator<Item = &'a str>) -> Result<(), Why> {
    let is_good = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
    if is_good && !known.any(|known| known == name) { Ok(()) } else { Err(Why::Name(name.to_owned())) }
}

fn measures() -> String {
    Measure::ALL.map(Measure::name).join(", ")
}

/// The line of an error, and its text if that is about names; a text about values may contain a secret.
fn malformed(path: &Path, text: &str, error: &toml::de::Error) -> AlertsError {
    let at = error.span().map_or(0, |span| span.start);
    let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
    let says_names = ["unknown field", "missing field", "duplicate key"];
    let hint = match error.message() {
        message if says_names.iter().any(|begin| message.starts_with(begin)) => toml_reason(error),
        _ => "expected [[target]] and [[rule]] tables as docs/alerts.md shows".to_owned(),
    };
    AlertsError::Malformed { path: path.to_owned(), line, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AlertFile, AlertsError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("alerts.toml");
        std::fs::write(&path, text).expect("written");
        AlertFile::read(&path)
    }

    const TARGETS: &str = r#"
        [[target]]
        name = "chat"
        webhook = "https://hooks.example/T0/s3cret"
        headers = { Authorization = "Bearer s3cret" }
        [[target]]
        name = "mail"
        smtp = "smtps://queue:s3cret@mail.example"
        from = "Adjourn <queue@shop.example>"
        to = ["ops@shop.example"]
    "#;

    fn rule(rule: &str) -> Result<Rule, String> {
        let text = format!("{TARGETS}\n[[rule]]\nname = \"r\"\n{rule}");
        let file = read(&text).map_err(|error| error.to_string())?;
        Ok(file.rules.first().cloned().expect("a rule"))
    }

    #[test]
    fn rules_are_read() {
        let late =
            rule("when = \"lateness\"\nabove = \"30s\"\ntopics = \"orders*\"\nfor = \"1m\"").expect("a rule");
        assert_eq!((late.limit, late.for_ms, late.repeat_ms), (30_000, 60_000, 3_600_000));
        assert!(late.topics.has("orders-eu") && !late.topics.has("mail"));
        assert_eq!(late.tell, ["chat", "mail"]);
        let disk = rule("when = \"disk_free\"\nbelow = 1_000_000\ntell = [\"mail\"]").expect("a rule");
        assert_eq!((disk.limit, disk.tell), (1_000_000, vec!["mail".to_owned()]));
        for good in ["buried", "destinations_failing", "member_down", "no_leader"] {
            assert!(rule(&format!("when = \"{good}\"")).is_ok(), "{good}");
        }
    }

    #[test]
    fn the_line_of_an_error_is_told() {
        let error = read("# 1\n# 2\n[[rule]]\nname = \"r\"\nunknown = 1\n").expect_err("wrong").to_string();
        assert!(error.contains("line 5: there is no key unknown: expected name, when,"), "{error}");
    }

    #[test]
    fn wrong_rules_are_refused_with_what_to_do() {
        for (wrong, told) in [
            ("when = \"late\"", "expected when = one of lateness, ready"),
            ("when = \"lateness\"", "a duration such as \"30s\""),
            ("when = \"lateness\"\nabove = 30", "a duration such as \"30s\""),
            ("when = \"ready\"", "needs above, a number"),
            ("when = \"ready\"\nabove = \"x\"", "needs above, a number"),
            ("when = \"disk_free\"\nabove = 1", "needs below, a number of bytes"),
            ("when = \"member_down\"\nabove = 1", "neither above nor below"),
            ("when = \"member_down\"\ntopics = \"a\"", "only for rules about topics"),
            ("when = \"buried\"\ntopics = \"a b\"", "topics is a name"),
            ("when = \"buried\"\nfor = \"x\"", "for: "),
            ("when = \"buried\"\nrepeat = \"5s\"", "repeat must be at least 1m"),
            ("when = \"buried\"\ntell = [\"pager\"]", "no target \"pager\""),
            ("when = \"buried\"\nrepaet = 1", "there is no key repaet: do you mean repeat?"),
            ("when = \"buried\"\n[[rule]]\nname = \"r\"\nwhen = \"buried\"", "a unique name"),
        ] {
            let error = rule(wrong).expect_err(wrong);
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_document_shows_files_that_can_be_used() {
        let document = include_str!("../../../docs/alerts.md");
        let files = document.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let read: Vec<AlertFile> = files.map(|(file, _)| read(file).expect(file)).collect();
        let counts: Vec<_> = read.iter().map(|file| (file.targets.len(), file.rules.len())).collect();
        assert_eq!(counts, [(2, 4), (1, 0)]);
        for measure in Measure::ALL {
            assert!(document.contains(&format!("`{}`", measure.name())), "{measure:?} is not documented");
        }
    }

    #[test]
    fn no_error_shows_a_secret() {
        for wrong in [
            "[[target]]\nname = \"a\"\nwebhook = \"s3cret\"",
            "[[target]]\nname = \"a\"\nwebhook = \"http://a\"\nheaders = { X = \"s3cret\\n\" }",
            "[[target]]\nname = \"a\"\nsmtp = \"http://u:s3cret@h\"\nfrom = \"a@b\"\nto = [\"a@b\"]",
            "[[target]]\nname = \"a\"\nsmtp = \"smtp://u:s3cret@h\"\nfrom = \"s3cret\"\nto = [\"a@b\"]",
            "[[target]]\nname = \"a\"\nsmtp = \"smtp://u:s3cret@h\"\nfrom = \"a@b\"\nto = [\"a@b\"]",
            "[[target]]\nname = \"a\"\nsmtp = \"smtp://u:s3cret@h?tls=opportunistic\"\nfrom = \"a@b\"\nto = [\"a@b\"]",
            "[[target]]\nname = \"a\"\nsmtp = [\"s3cret\"]",
            "[[target]]\nname = \"a\"\nwebhook = \"s3cret\nx",
            "ca = 7\n[[target]]\nname = \"a\"\nwebhook = \"http://a/s3cret\"",
        ] {
            let error = read(wrong).expect_err(wrong).to_string();
            assert!(!error.contains("s3cret") && error.contains("alerts.toml"), "{error}");
        }
        let file = read(TARGETS).expect("targets");
        assert!(!format!("{file:?}").contains("s3cret"));
    }
}
