//! The columns of a list of jobs.

use crate::texts::text;
use crate::view::View;
use adjourn_http::Pairs;
use adjourn_json::state_text;
use adjourn_protocol::JobReport;
use adjourn_types::{Attributes, Key, Millis};

/// Characters of a body that a list shows.
const BODY_CHARS_MAX: usize = 80;

/// A column: its name in the address, its label, and whether it is shown unless others are chosen.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// The class of its places: numbers stand at the right.
    pub(super) class: &'static str,
    is_default: bool,
    cell: fn(&JobReport) -> Cell,
}

/// What stands in one place of the table.
pub(super) enum Cell {
    /// What a user wrote.
    Data(String),
    Number(u64),
    State(String),
    Time(Option<Millis>),
    Span(u64),
    Topic(String),
}

static COLUMNS: [Column; 13] = [
    Column { name: "key", label: text("Key"), class: "", is_default: true, cell: |job| Cell::Data(key(job)) },
    Column {
        name: "state",
        label: text("State"),
        class: "",
        is_default: true,
        cell: |job| Cell::State(state_text(job.state)),
    },
    Column {
        name: "topic",
        label: text("Topic"),
        class: "",
        is_default: true,
        cell: |job| Cell::Topic(job.topic.to_string()),
    },
    Column {
        name: "due",
        label: text("Due"),
        class: "",
        is_default: true,
        cell: |job| Cell::Time(Some(job.due)),
    },
    Column {
        name: "attempts",
        label: text("Attempts"),
        class: "n",
        is_default: true,
        cell: |job| Cell::Number(job.attempts.into()),
    },
    Column {
        name: "reason",
        label: text("Reason"),
        class: "",
        is_default: true,
        cell: |job| Cell::Data(reason(job)),
    },
    Column {
        name: "group",
        label: text("Group"),
        class: "",
        is_default: false,
        cell: |job| Cell::Data(group(job)),
    },
    Column {
        name: "priority",
        label: text("Priority"),
        class: "n",
        is_default: false,
        cell: |job| Cell::Number(job.priority.into()),
    },
    Column {
        name: "pushed",
        label: text("Pushed"),
        class: "",
        is_default: false,
        cell: |job| Cell::Time(job.history.pushed),
    },
    Column {
        name: "reserved",
        label: text("Last reserved"),
        class: "",
        is_default: false,
        cell: |job| Cell::Time(job.history.reserved_last),
    },
    Column {
        name: "left",
        label: text("Lease left"),
        class: "n",
        is_default: false,
        cell: |job| Cell::Span(job.ttr_left_ms.into()),
    },
    Column {
        name: "bytes",
        label: text("Bytes"),
        class: "n",
        is_default: false,
        cell: |job| Cell::Number(job.body_bytes.into()),
    },
    Column {
        name: "body",
        label: text("Body"),
        class: "",
        is_default: false,
        cell: |job| Cell::Data(body(job)),
    },
];

/// The columns that a person has chosen.
pub(super) struct Columns(Vec<&'static Column>);

impl Columns {
    /// The choice in a query.
    pub(super) fn of(query: &Pairs) -> Self {
        let chosen = query.all("columns");
        let is_chosen = |column: &&Column| {
            if chosen.is_empty() { column.is_default } else { chosen.iter().any(|name| name == column.name) }
        };
        Self(COLUMNS.iter().filter(is_chosen).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'static Column> {
        self.0.iter().copied()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column.name == name)
    }

    /// All of them, each with whether it is shown.
    pub(super) fn choices(&self) -> impl Iterator<Item = (&'static Column, bool)> {
        COLUMNS.iter().map(|column| (column, self.has(column.name)))
    }

    /// The row of a job.
    pub(super) fn cells(&self, job: &JobReport) -> Vec<Cell> {
        self.0.iter().map(|column| (column.cell)(job)).collect()
    }
}

impl Cell {
    /// The cell as the page shows a span.
    pub(super) fn span(view: &View, ms: &u64) -> String {
        if *ms == 0 { "–".to_owned() } else { view.span(ms) }
    }
}

fn key(job: &JobReport) -> String {
    job.key.as_ref().map(Key::as_str).unwrap_or_default().to_owned()
}

fn group(job: &JobReport) -> String {
    Attributes::group_of(job.attributes.as_bytes()).unwrap_or_default().to_owned()
}

fn reason(job: &JobReport) -> String {
    match (&job.history.reason, job.buried) {
        (Some(reason), _) => reason.clone(),
        (None, Some(buried)) => buried.to_string(),
        (None, None) => String::new(),
    }
}

fn body(job: &JobReport) -> String {
    let start = job.body.get(..BODY_CHARS_MAX * 4).unwrap_or(&job.body);
    let text = String::from_utf8_lossy(start);
    let shown: String =
        text.chars().take(BODY_CHARS_MAX).map(|one| if one.is_control() { ' ' } else { one }).collect();
    if shown.len() < job.body.len() { shown + "…" } else { shown }
}
