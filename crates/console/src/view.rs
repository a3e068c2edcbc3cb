//! What every page has: its language, its person's rights, the time.

use std::sync::Arc;

use askama::Template;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::assets;
use super::shown::{self, Plain, Span, iso, long_time};
use super::texts::{Language, text};
use adjourn_http::Problem;
use adjourn_protocol::ErrorCode;
use adjourn_types::{Access, Millis, Right};

/// Nothing but files of this server, and forms that it takes itself.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The parts of the console: name, path, label, and whether they are for operators alone.
const SECTIONS: [(&str, &str, &str, bool); 9] = [
    ("overview", "/console", text("Overview"), false),
    ("topics", "/console/topics", text("Topics"), false),
    ("jobs", "/console/jobs", text("Jobs"), false),
    ("schedules", "/console/schedules", text("Schedules"), false),
    ("call-backs", "/console/call-backs", text("Call-backs"), false),
    ("consumers", "/console/consumers", text("Consumers"), true),
    ("cluster", "/console/cluster", text("Cluster"), true),
    ("alerts", "/console/alerts", text("Alerts"), true),
    ("audit", "/console/audit", text("Audit log"), true),
];

/// The states of jobs, each with its label.
const STATES: [(&str, &str); 6] = [
    ("delayed", text("delayed")),
    ("ready", text("ready")),
    ("reserved", text("reserved")),
    ("buried", text("buried")),
    ("finished", text("finished")),
    ("paused", text("paused")),
];

/// What every page has.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) language: Language,
    /// The part of the console that the page belongs to.
    pub(crate) section: &'static str,
    /// What its forms carry.
    pub(crate) form_token: Arc<str>,
    pub(crate) access: Arc<Access>,
    /// True if the person has logged in.
    pub(crate) has_session: bool,
    pub(crate) is_read_only: bool,
    pub(crate) now: Millis,
    /// Path and query of the page.
    pub(crate) here: String,
    /// What the last action did.
    pub(crate) said: Option<String>,
}

impl View {
    /// A text in the language of the page.
    pub(crate) fn say<'a>(&self, english: &'a str) -> &'a str {
        self.language.say(english)
    }

    /// A text with values.
    pub(crate) fn fill(&self, english: &str, values: &[&str]) -> String {
        self.language.fill(english, values)
    }

    /// A text with a number; `one` is the English one for the number 1.
    pub(crate) fn count(&self, english: &str, one: &str, count: impl Plain<u64>) -> String {
        let count = count.plain();
        let text = if count == 1 && self.language == Language::English { one } else { english };
        self.fill(text, &[&self.number(count)])
    }

    /// A number with commas.
    pub(crate) fn number(&self, number: impl Plain<u64>) -> String {
        shown::number(number.plain())
    }

    /// A size in bytes.
    pub(crate) fn size(&self, bytes: impl Plain<u64>) -> String {
        shown::size(bytes.plain())
    }

    /// A number a second.
    pub(crate) fn rate(&self, per_second: impl Plain<f64>) -> String {
        shown::rate(per_second.plain())
    }

    /// A name as part of a path or a query.
    pub(crate) fn segment(&self, name: impl AsRef<str>) -> String {
        shown::segment(name.as_ref())
    }

    /// The parts of the console that the person may see: name, path, label.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let sees_server = self.sees_server();
        SECTIONS
            .into_iter()
            .filter(move |one| sees_server || !one.3)
            .map(|(name, path, label, _)| (name, path, label))
    }

    /// The languages that the page is not in.
    pub(crate) fn other_languages(&self) -> impl Iterator<Item = Language> {
        let own = self.language;
        Language::ALL.into_iter().filter(move |language| *language != own)
    }

    /// A state of jobs.
    pub(crate) fn state(&self, name: &str) -> &str {
        let known = STATES.into_iter().find(|(state, _)| *state == name);
        known.map_or("?", |(_, label)| self.language.say(label))
    }

    /// Part of the URL of the files.
    pub(crate) fn version(&self) -> &'static str {
        &assets::VERSION
    }

    /// True if the person may change settings and jobs of this topic.
    pub(crate) fn may_manage(&self, topic: &str) -> bool {
        !self.is_read_only && self.access.has(Right::Manage, topic)
    }

    /// True if the person may push jobs to this topic.
    pub(crate) fn may_push(&self, topic: &str) -> bool {
        !self.is_read_only && self.access.has(Right::Push, topic)
    }

    /// True if the person may manage some topic.
    pub(crate) fn may_manage_some(&self) -> bool {
        !self.is_read_only && self.access.has_somewhere(Right::Manage)
    }

    /// True if the person may see what is about the node and all clients.
    pub(crate) fn sees_server(&self) -> bool {
        self.access.has_everywhere(Right::Admin)
    }

    /// True if the person may act on the node and on clients.
    pub(crate) fn may_administer(&self) -> bool {
        !self.is_read_only && self.sees_server()
    }

    /// How long something takes.
    pub(crate) fn span(&self, ms: impl Plain<u64>) -> String {
        Span(ms.plain()).text(self.language)
    }

    /// A time as HTML: how far away it is, with the exact one beside it.
    pub(crate) fn time(&self, at: impl Plain<Millis>) -> String {
        let at = at.plain();
        let far = at.0.abs_diff(self.now.0);
        let span = Span(far).text(self.language);
        let relative = match () {
            () if far < 1000 => self.say("now").to_owned(),
            () if at.0 >= self.now.0 => self.fill("in {0}", &[&span]),
            () => self.fill("{0} ago", &[&span]),
        };
        format!("<time datetime=\"{}\" title=\"{}\">{relative}</time>", iso(at), long_time(at))
    }

    /// The same of a time that there may not be.
    pub(crate) fn time_or_none(&self, at: &Option<Millis>) -> String {
        at.map_or_else(|| "–".to_owned(), |at| self.time(at))
    }
}

/// A page.
///
/// # Errors
///
/// If the template fails, which would be an error in the program.
pub(crate) fn page(template: &impl Template) -> Result<Response, Problem> {
    let text = template.render().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unknown, error.to_string())
    })?;
    Ok(html(StatusCode::OK, text))
}

/// A page with this text.
pub(crate) fn html(status: StatusCode, text: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        // With no referrer at all, browsers send forms from the origin `null`.
        (REFERRER_POLICY, "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (status, headers, text).into_response()
}
