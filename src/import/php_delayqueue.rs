//! `adjourn import php-delayqueue`: imports its topics.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::rows::{self, Row};
use crate::connection::{ServerArgs, Session};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::topics::policy::flag;
use adjourn_http::escaped_topic;
use adjourn_json::{NONE, SettingError, setting_change};
use adjourn_types::{NameError, PolicyChange, Setting, TopicName};

pub(super) const EXAMPLES: &str = "\
The file is what `mysqldump dq dq_topic` or `mysql --batch -e 'SELECT * FROM dq_topic' dq` writes. Topics with another status than 1
are skipped. Its jobs are in Redis: `adjourn import redis --php-delayqueue` takes them.

Examples:
  mysqldump dq dq_topic > topics.sql
  adjourn import php-delayqueue topics.sql --dry-run
  adjourn import php-delayqueue topics.sql";

/// What `adjourn import php-delayqueue` is told.
#[derive(Debug, Args)]
pub(crate) struct PhpDelayqueueArgs {
    /// The table `dq_topic`
    file: PathBuf,
    /// Print the commands that would have the same effect, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// The attempts of a job: the first one, and one after each wait. Then it is buried; the old queue drops it.
const ATTEMPTS: &str = "12";
/// The waits between the old queue's attempts.
pub(super) const BACKOFF: &str = "1m,3m,5m,7m,9m,11m,13m,15m,17m,19m,21m";
/// A lease outlives its call by this time, in milliseconds.
const TTR_BEYOND_MS: u64 = 30_000;
const TIMEOUT_MS_DEFAULT: u64 = 3000;
/// Stands for the fields of a job.
const FIELDS: &str = "{body.form.retries}";
/// A body without content. An empty text would leave the setting to its default, the job's body.
const NO_BODY: &str = " ";
/// The default of the column `re_notify_flag`.
const FLAG_DEFAULT: &str = "重试标记";

/// A topic to import.
struct Import {
    topic: TopicName,
    settings: Vec<(Setting, String)>,
    change: PolicyChange,
    /// Remarks for the user.
    remarks: Vec<String>,
}

/// Why a row cannot be imported.
#[derive(Debug, thiserror::Error)]
enum RowError {
    #[error("{0:?} is no topic's name: {1}")]
    Name(String, NameError),
    #[error("{column}: {source}")]
    Setting { column: &'static str, source: SettingError },
    #[error("{0} is no number")]
    Number(&'static str),
}

/// Runs `adjourn import php-delayqueue`.
pub(super) fn run(args: &PhpDelayqueueArgs) -> Result<(), Failure> {
    let path = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Failure::new(Exit::Usage, format_args!("cannot read {path}: {error}")))?;
    let rows =
        rows::read(&text).map_err(|error| Failure::new(Exit::Usage, format_args!("{path}: {error}")))?;
    let (mut imports, mut left_out, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        if row.get("status") != "1" {
            left_out.push(row.get("topic"));
            continue;
        }
        match Import::of(row) {
            Ok(import) => imports.push(import),
            Err(error) => wrong.push(format!("topic {}: {error}", row.get("topic"))),
        }
    }
    if !wrong.is_empty() {
        let wrong = wrong.join("\n");
        return Err(Failure::new(Exit::Usage, format_args!("{path}: nothing was changed\n{wrong}")));
    }
    if !args.dry_run {
        let mut set = 0;
        let outcome = args.server.with_client(Session::None, async |client| {
            for import in &imports {
                client.set_topic(&import.topic, import.change.clone()).await?;
                set += 1;
            }
            Ok(())
        });
        // The topics that were set are reported even if the rest failed.
        report(imports.get(..set).unwrap_or_default(), &left_out, false)?;
        return outcome;
    }
    report(&imports, &left_out, true)
}

fn report(imports: &[Import], left_out: &[&str], dry_run: bool) -> Result<(), Failure> {
    print(|out| {
        for Import { topic, settings, remarks, .. } in imports {
            if dry_run {
                write!(out, "adjourn topic set {topic}")?;
                for (setting, text) in settings {
                    write!(out, " --{} {}", flag(*setting), quoted(text))?;
                }
                writeln!(out)?;
            } else {
                writeln!(out, "{topic}: set")?;
            }
            remarks.iter().try_for_each(|remark| writeln!(out, "# {topic}: {remark}"))?;
        }
        left_out.iter().try_for_each(|topic| writeln!(out, "# {topic}: left out, its status is not 1"))?;
        let hosts: BTreeSet<&str> = imports.iter().filter_map(Import::host).collect();
        if !hosts.is_empty() {
            let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
            writeln!(
                out,
                "# the servers must be allowed to call {hosts}: see call_back_allow and call_back_ports"
            )?;
        }
        Ok(())
    })
}

impl Import {
    fn of(row: &Row) -> Result<Self, RowError> {
        let name = row.get("topic");
        let topic = escaped_topic(name).map_err(|error| RowError::Name(name.to_owned(), error))?;
        let number = |column: &'static str, default: u64| match row.get(column) {
            "" | "0" => Ok(default),
            text => text.parse::<u64>().map_err(|_| RowError::Number(column)),
        };
        let timeout_ms = number("timeout", TIMEOUT_MS_DEFAULT)?;
        let delay_s = number("delay", 0)?;
        let method = match row.get("method").trim().to_ascii_uppercase() {
            empty if empty.is_empty() => "GET".to_owned(),
            method => method,
        };
        let url = row.get("callback");
        let mut settings: Vec<(&'static str, Setting, String)> = vec![
            ("", Setting::AttemptsMax, ATTEMPTS.to_owned()),
            ("", Setting::Backoff, BACKOFF.to_owned()),
            ("timeout", Setting::Ttr, format!("{}ms", timeout_ms.saturating_add(TTR_BEYOND_MS))),
            ("timeout", Setting::CallBackTimeout, format!("{timeout_ms}ms")),
            ("", Setting::CallBackSuccess, "reply".to_owned()),
            ("", Setting::CallBackRefused, "retry".to_owned()),
        ];
        let sends_form = method == "POST";
        let url = if sends_form { url.to_owned() } else { with_fields(url) };
        settings.push(("callback", Setting::CallBackUrl, url));
        settings.push(("method", Setting::CallBackMethod, method.clone()));
        if sends_form {
            settings.push(("", Setting::CallBackBody, FIELDS.to_owned()));
        } else if method != "GET" && method != "DELETE" {
            settings.push(("", Setting::CallBackBody, NO_BODY.to_owned()));
        }
        let flag = row.get("re_notify_flag").trim();
        if !flag.is_empty() && flag != FLAG_DEFAULT {
            settings.push(("re_notify_flag", Setting::CallBackRetryIf, flag.to_owned()));
        }
        if delay_s > 0 {
            settings.push(("delay", Setting::CallBackDelay, format!("{delay_s}s")));
        }
        // Removes settings of an earlier import that are no longer in the table.
        for setting in [Setting::CallBackBody, Setting::CallBackRetryIf, Setting::CallBackDelay] {
            if settings.iter().all(|(_, set, _)| *set != setting) {
                settings.push(("", setting, NONE.to_owned()));
            }
        }
        let mut change = PolicyChange::default();
        for (column, setting, text) in &settings {
            change
                .add(&setting_change(*setting, text).map_err(|source| RowError::Setting { column, source })?);
        }
        let mut remarks = Vec::new();
        if method != "GET" && !sends_form {
            remarks.push(format!(
                "calls are {method} with the fields in the URL, as php-delayqueue makes them, and nothing in the body"
            ));
        }
        if !row.get("email").is_empty() {
            remarks.push(format!("mails to {} are a rule `buried` of alerts here", row.get("email")));
        }
        let settings = settings.into_iter().map(|(_, setting, text)| (setting, text)).collect();
        Ok(Self { topic, settings, change, remarks })
    }

    /// The host of the URL, with its port if it has one.
    fn host(&self) -> Option<&str> {
        let (_, url) = self.settings.iter().find(|(setting, _)| *setting == Setting::CallBackUrl)?;
        url.split_once("://")?.1.split(['/', '?']).next()
    }
}

/// Appends the job's fields to the URL.
fn with_fields(url: &str) -> String {
    let joint = match url.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{url}{joint}{FIELDS}")
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,%+=@".contains(&byte));
    if is_plain && !text.is_empty() { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_behind_what_the_url_has() {
        for (url, expected) in [
            ("http://a", "http://a?{body.form.retries}"),
            ("http://a/x?", "http://a/x?{body.form.retries}"),
            ("http://a/x?y=1", "http://a/x?y=1&{body.form.retries}"),
            ("http://a/x?y=1&", "http://a/x?y=1&{body.form.retries}"),
        ] {
            assert_eq!(with_fields(url), expected);
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("1m,3m"), "1m,3m");
        assert_eq!(quoted("{res.a} == 'x'"), r"'{res.a} == '\''x'\'''");
        assert_eq!(quoted(""), "''");
    }
}
