//! HTTP: the queue for callers that have no client library.
//!
//! A request is parsed as JSON, becomes a request of the protocol, and goes over a [session](adjourn_server::LocalSession)
//! of this process with its own core. So rights, limits and answers are those of any client; this module has no logic of
//! the queue.

mod api;
mod caller;
mod connection;
mod cors;
mod declared;
mod dialects;
mod document;
mod exposition;
mod fields;
mod input;
mod listener;
mod memory;
mod patience;
mod problem;
mod query_value;
mod streams;
mod watch;
mod wording;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use jiff::tz::TimeZone;
use tracing::{info, warn};

pub use self::api::{
    ExportedJob, FilterJson, Selected, backfill, edit, excludes_some, exported_job, new_job, push, schedule,
    select,
};
pub use self::caller::{Caller, HttpState};
pub use self::connection::{HttpConnection, connection};
use self::declared::Declared;
use self::dialects::beanstalkd::Beanstalkd;
pub use self::dialects::beanstalkd::{Put as BeanstalkdJob, new_job as beanstalkd_job};
pub use self::dialects::{escaped_topic, job_with_id};
use self::dialects::{ouqiang, php_delayqueue, youzan};
pub use self::document::openapi;
pub use self::input::{Number, Pairs, Part, Parts2, SMALL_BYTES_MAX, media_type, read};
use self::listener::Site;
pub use self::problem::{Place, Problem};
use adjourn_alerts::Alerts;
use adjourn_call_backs::CallBacks;
use adjourn_protocol::ErrorCode;
use adjourn_server::config::Config;
use adjourn_server::{Port, Running, ServerError};

/// The path below which the console has its pages.
pub const CONSOLE: &str = "/console";

/// The ports for HTTP, bound but not listened on yet.
#[derive(Debug)]
pub struct Http {
    api: Option<Port>,
    console: Option<Port>,
    /// Whether the port of the API has the console, too.
    is_console_on_api: bool,
    ouqiang: Option<Port>,
    youzan: Option<Port>,
    php_delayqueue: Option<(Port, TimeZone)>,
    beanstalkd: Option<Port>,
    /// The host names of this server, for callers that need no token.
    hosts: Arc<[String]>,
    /// The origins of pages that may use the JSON API.
    cors_origins: Vec<String>,
    /// How long the connection of an admitted caller may be idle.
    keep_alive: Duration,
    /// The token of callers of older queues that show none.
    dialects_token: Option<String>,
}

impl Http {
    /// Binds the configured addresses.
    ///
    /// # Errors
    ///
    /// If one cannot be bound, or others could reach it without tokens or client certificates.
    pub async fn reserve(config: &Config) -> Result<Self, ServerError> {
        let api = match &config.http_listen {
            Some(address) => Some(Port::reserve(config, "http_listen", address).await?),
            None => None,
        };
        let console = match &config.console.listen {
            Some(address) => Some(Port::reserve(config, "console_listen", address).await?),
            None => None,
        };
        let is_console_on_api = config.console.is_at_http;
        let ouqiang = dialect(config, "ouqiang_listen", config.ouqiang_listen.as_deref()).await?;
        let youzan = dialect(config, "youzan_listen", config.youzan_listen.as_deref()).await?;
        let php_delayqueue = match &config.php_delayqueue_listen {
            Some(address) => {
                let port = Port::reserve_open(config, "php_delayqueue_listen", address).await?;
                let zone = config.php_delayqueue_time_zone.clone().unwrap_or_else(TimeZone::system);
                Some((port.without_tls(), zone))
            }
            None => None,
        };
        let beanstalkd = match &config.beanstalkd_listen {
            Some(address) => {
                Some(Port::reserve_open(config, "beanstalkd_listen", address).await?.without_tls())
            }
            None => None,
        };
        let told = config.client_address.as_deref().and_then(|address| address.rsplit_once(':'));
        let told = told.map(|(host, _)| host.to_ascii_lowercase());
        let hosts = config.http_hosts.iter().cloned().chain(told).collect();
        let cors_origins = config.http_cors_origins.clone();
        let keep_alive = Duration::from_millis(config.http_keep_alive_ms);
        let dialects_token = config.dialects_token.clone();
        Ok(Self {
            api,
            console,
            is_console_on_api,
            ouqiang,
            youzan,
            php_delayqueue,
            beanstalkd,
            hosts,
            cors_origins,
            keep_alive,
            dialects_token,
        })
    }

    /// All addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let all = [
            self.address(),
            self.console_listen(),
            self.ouqiang_address(),
            self.youzan_address(),
            self.php_delayqueue_address(),
            self.beanstalkd_address(),
        ];
        all.into_iter().flatten().collect()
    }

    /// The address for callers of `ouqiang/delay-queue`.
    pub fn ouqiang_address(&self) -> Option<SocketAddr> {
        self.ouqiang.as_ref().map(|port| port.address)
    }

    /// The address for callers of Youzan's queue.
    pub fn youzan_address(&self) -> Option<SocketAddr> {
        self.youzan.as_ref().map(|port| port.address)
    }

    /// The address for producers of `php-delayqueue`.
    pub fn php_delayqueue_address(&self) -> Option<SocketAddr> {
        self.php_delayqueue.as_ref().map(|(port, _)| port.address)
    }

    /// The address for callers of beanstalkd.
    pub fn beanstalkd_address(&self) -> Option<SocketAddr> {
        self.beanstalkd.as_ref().map(|port| port.address)
    }

    /// The address of the JSON API.
    pub fn address(&self) -> Option<SocketAddr> {
        self.api.as_ref().map(|port| port.address)
    }

    /// The address of the console, if it has one.
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console_listen().or_else(|| self.address().filter(|_| self.is_console_on_api))
    }

    /// The address of the console's own port.
    pub fn console_listen(&self) -> Option<SocketAddr> {
        self.console.as_ref().map(|port| port.address)
    }

    /// Serves all ports until the server stops. `console` makes the console's pages, with all of their paths below [`CONSOLE`].
    ///
    /// # Errors
    ///
    /// If the system does not let the server listen on a port.
    pub fn serve(
        self,
        running: &Running,
        call_backs: CallBacks,
        alerts: Alerts,
        console: impl FnOnce(HttpState) -> Router,
    ) -> Result<(), ServerError> {
        let has_console = self.console_address().is_some();
        let local = running.local();
        let state = HttpState::new(local.clone(), call_backs, alerts);
        let need_no_token = local.is_open();
        let older_need_none = need_no_token || self.dialects_token.is_some();
        if let Some(name) = self.dialects_token.as_deref().filter(|name| local.admit_as(name).is_err()) {
            warn!(name, "dialects_token names no token of tokens_file: callers that show none are refused");
        }
        let older = state.clone().acting_as(self.dialects_token);
        if let Some((port, zone)) = self.php_delayqueue {
            let (address, state) = (port.address, older.clone());
            local
                .accept(port, move |accepted| php_delayqueue::serve(accepted, state.clone(), zone.clone()))?;
            info!(%address, "listening for producers of php-delayqueue");
        }
        if let Some(port) = self.beanstalkd {
            let address = port.address;
            let served = Beanstalkd::new(older.clone())?;
            local.accept(port, move |accepted| served.clone().serve(accepted))?;
            info!(%address, "listening for callers of beanstalkd");
        }
        let site = |router, is_open: bool| {
            let hosts = (is_open && !local.has_tls()).then(|| Arc::clone(&self.hosts));
            Site::new(router, &local, hosts, self.keep_alive)
        };
        let pages = if has_console { console(state.clone()) } else { Router::new() };
        let api = router(state);
        let api = if self.is_console_on_api { api.merge(pages.clone()) } else { api };
        let api = site(api, need_no_token).with_origins(&self.cors_origins);
        let console = site(pages.fallback(to_console), need_no_token);
        let ouqiang = site(ouqiang::router(older.clone()), older_need_none).refusing(ouqiang::refusal);
        let youzan = site(youzan::router(older), older_need_none).refusing(youzan::refusal);
        let sites = [
            (self.api, api, "listening for HTTP"),
            (self.console, console, "listening for the console"),
            (self.ouqiang, ouqiang, "listening for callers of ouqiang/delay-queue"),
            (self.youzan, youzan, "listening for callers of Youzan's queue"),
        ];
        for (port, site, told) in sites {
            let Some(port) = port else { continue };
            let address = port.address;
            local.accept(port, move |accepted| site.clone().serve(accepted))?;
            info!(%address, "{told}");
        }
        Ok(())
    }
}

/// Binds the address of an older queue. If its callers need no token of their own, everyone who reaches it has the rights
/// of one.
async fn dialect(
    config: &Config,
    key: &'static str,
    address: Option<&str>,
) -> Result<Option<Port>, ServerError> {
    let Some(address) = address else { return Ok(None) };
    let port = match config.dialects_token {
        Some(_) => Port::reserve_open(config, key, address).await?,
        None => Port::reserve(config, key, address).await?,
    };
    Ok(Some(port))
}

/// All routes of the API. Each takes what the document declares.
fn router(state: HttpState) -> Router {
    let (router, document) = document::routes().split_for_parts();
    let declared = from_fn_with_state(Arc::new(Declared::of(&document)), declared::check);
    router.route_layer(declared).fallback(no_route).method_not_allowed_fallback(no_method).with_state(state)
}

/// The port of the console has nothing else.
async fn to_console() -> Redirect {
    Redirect::to(CONSOLE)
}

async fn no_route(uri: Uri) -> Problem {
    let message = format!("there is nothing at {}: /v1/openapi.json lists what there is", uri.path());
    Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
}

async fn no_method(method: Method, uri: Uri) -> Problem {
    let message = format!("{} does not take {method}: /v1/openapi.json lists what it takes", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::Unsupported, message)
}
