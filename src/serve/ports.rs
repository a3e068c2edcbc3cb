//! The line with which a server in memory tells a test harness that it serves, and where.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use adjourn_http::Http;
use adjourn_server::Running;

/// The addresses that were taken, as one JSON object: by the keys of the configuration.
pub(super) fn line(running: &Running, http: &Http) -> String {
    let ports: [(&str, Option<SocketAddr>); 5] = [
        ("listen", Some(running.address())),
        ("http_listen", http.address()),
        ("ouqiang_listen", http.ouqiang_address()),
        ("youzan_listen", http.youzan_address()),
        ("php_delayqueue_listen", http.php_delayqueue_address()),
    ];
    let taken: BTreeMap<&str, String> =
        ports.into_iter().filter_map(|(key, address)| Some((key, address?.to_string()))).collect();
    serde_json::to_string(&taken).unwrap_or_default()
}
