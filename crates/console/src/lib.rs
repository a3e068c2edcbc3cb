//! The console: the queue in a browser, to see it and to act on it.
//!
//! Its pages are made here and work without script. A page asks the queue as a [caller](adjourn_http::Caller) of HTTP does, over the same session, so
//! rights, limits and the audit log are those of any client. A click on a button is a form that is posted; each form carries a token
//! of its session, and [the port](adjourn_http) refuses what pages of other sites send.

#![expect(
    clippy::unused_self,
    clippy::trivially_copy_pass_by_ref,
    clippy::ref_option,
    reason = "templates call methods alone, and give them references"
)]

mod assets;
mod chart;
mod form;
mod history;
mod pages;
mod said;
mod sessions;
mod settings;
mod shown;
mod texts;
mod view;
mod visitor;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;

use adjourn_http::HttpState;
use adjourn_server::config::Config;
use history::History;
use sessions::Sessions;

/// What the console is told by the configuration.
#[derive(Clone, Debug)]
pub struct PagesConfig {
    is_read_only: bool,
    audit_log: Option<PathBuf>,
    /// This node's number.
    node: u64,
}

/// What all pages share.
#[derive(Clone, Debug)]
struct Console {
    http: HttpState,
    config: Arc<PagesConfig>,
    sessions: Arc<Sessions>,
    history: Arc<History>,
}

impl PagesConfig {
    /// The part of the configuration that is the console's.
    pub fn of(config: &Config) -> Self {
        Self {
            is_read_only: config.console.is_read_only,
            audit_log: config.audit_log.clone(),
            node: config.node,
        }
    }
}

impl FromRef<Console> for HttpState {
    fn from_ref(console: &Console) -> Self {
        console.http.clone()
    }
}

/// All pages, below [`adjourn_http::CONSOLE`]. From now on the counts of the node are kept for its charts.
pub fn router(config: PagesConfig, http: HttpState) -> Router {
    let history = History::keep(http.local().clone());
    let console =
        Console { http, config: Arc::new(config), sessions: Arc::new(Sessions::default()), history };
    pages::routes().merge(assets::routes()).with_state(console)
}
