//! The commands of documents about HTTP, typed word for word with the real `curl`.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use adjourn_types::RetryDefaults;
use serde_json::Value;

use super::rig::Site;
use crate::server_rig::unconfigured;
use crate::tour::{Step, shape, typed};

const DOCUMENT: &str = include_str!("../../docs/http.md");

/// Types what a document shows, for this node, with these addresses in place of those that it names, and compares what is answered.
pub(crate) fn type_all(document: &str, site: &Site, places: &[(&str, SocketAddr)]) {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "curl is not installed");
        println!("skipped: curl is not installed");
        return;
    }
    let steps = typed(document);
    assert!(!steps.is_empty(), "no command was found");
    let binaries = Path::new(env!("CARGO_BIN_EXE_adjourn")).parent().expect("a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&others)));
    let path = path.expect("a path");
    for Step { command, shown } in steps {
        let there = places
            .iter()
            .fold(command.to_owned(), |there, (named, address)| there.replace(named, &address.to_string()));
        let mut shell = unconfigured("sh");
        shell.env("PATH", &path).env("ADJOURN_SERVER", site.node.address.to_string());
        let output = shell.args(["-c", &there]).output().expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{command}");
        let printed = String::from_utf8(output.stdout).expect("text");
        assert_eq!(plain(printed.trim_end()), plain(&shown.join("\n")), "{command}");
    }
}

/// An answer without what differs from run to run.
fn plain(answer: &str) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(answer) else { return shape(answer) };
    if let Some(cursor) = answer.get_mut("cursor") {
        assert!(cursor.is_string() || cursor.is_null());
        *cursor = Value::from("cursor");
    }
    // The machine that runs the test may have newer zone data than the binary.
    if let Some(zone_data) = answer.get_mut("zone_data") {
        assert!(zone_data.is_string());
        *zone_data = Value::from("zone data");
    }
    shape(&answer.to_string())
}

#[test]
fn the_document_shows_what_is_answered() {
    let site = Site::with(|config| config.retry_defaults = RetryDefaults::default());
    type_all(DOCUMENT, &site, &[("127.0.0.1:7480", site.node.http_address())]);
}
