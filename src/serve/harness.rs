//! A server in memory and the test harness that starts it: the line that says where it serves, and its end with the harness.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::sync::oneshot;

use adjourn_http::Http;
use adjourn_server::Running;

/// The addresses that were taken, as one JSON object: by the keys of the configuration.
pub(super) fn addresses(running: &Running, http: &Http) -> String {
    let ports: [(&str, Option<SocketAddr>); 7] = [
        ("listen", Some(running.address())),
        ("http_listen", http.address()),
        ("console_listen", http.console_listen()),
        ("ouqiang_listen", http.ouqiang_address()),
        ("youzan_listen", http.youzan_address()),
        ("php_delayqueue_listen", http.php_delayqueue_address()),
        ("beanstalkd_listen", http.beanstalkd_address()),
    ];
    let taken: BTreeMap<&str, String> =
        ports.into_iter().filter_map(|(key, address)| Some((key, address?.to_string()))).collect();
    serde_json::to_string(&taken).unwrap_or_default()
}

/// Waits until standard input ends: the harness holds the other end of that pipe, so it has closed it, or is gone, however
/// it ended. What it writes is dropped.
pub(super) async fn stdin_ended() {
    let (ended, end) = oneshot::channel();
    // A read cannot be cancelled, and tokio's own reader would keep the runtime from ending.
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        // A harness may have made its pipe non-blocking.
        if let Ok(flags) = fcntl_getfl(&stdin) {
            let _ = fcntl_setfl(&stdin, flags - OFlags::NONBLOCK);
        }
        let _ = io::copy(&mut stdin, &mut io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
