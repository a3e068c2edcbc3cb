//! Alerts: the rules of this node, what is wrong by them now, and how many messages were sent.

use askama::Template;

use super::Answer;
use crate::view::{View, page};
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "alerts.html")]
struct AlertsPage {
    view: View,
    is_configured: bool,
    rules: Vec<Row>,
    /// Rules that have reported something that is not over.
    firing: usize,
    sent: u64,
    failed: u64,
}

/// A rule.
struct Row {
    name: String,
    condition: String,
    /// The targets of its messages.
    tell: String,
    /// Topics, members or nodes that were reported.
    reported: usize,
    problems: Vec<ProblemRow>,
}

/// What is wrong by a rule.
struct ProblemRow {
    subject: String,
    finding: String,
    lasted_ms: u64,
    is_reported: bool,
}

/// The rules.
pub(super) async fn show(visitor: Visitor) -> Answer {
    visitor.check_sees_server()?;
    let alerts = visitor.console.http.alerts();
    let seen = alerts.seen();
    let rules = alerts.rules().into_iter().map(|rule| {
        let problems = rule.problems.into_iter().map(|problem| ProblemRow {
            subject: problem.subject,
            finding: problem.finding,
            lasted_ms: problem.lasted_ms,
            is_reported: problem.is_reported,
        });
        Row {
            name: rule.name,
            condition: rule.condition,
            tell: rule.tell.join(", "),
            reported: rule.reported,
            problems: problems.collect(),
        }
    });
    page(&AlertsPage {
        view: visitor.view("alerts"),
        is_configured: alerts.is_configured(),
        rules: rules.collect(),
        firing: seen.firing.iter().filter(|(_, reported)| *reported > 0).count(),
        sent: seen.sent,
        failed: seen.failed,
    })
}
