//! The commands of `docs/http.md`, typed word for word with the real `curl`.
use std::process::Command;

use serde_json::Value;

use super::rig::Site;
use crate::tour::{Step, shape, typed};

const DOCUMENT: &str = include_str!("../../docs/http.md");
/// Where the document has the server.
const ADDRESS: &str = "127.0.0.1:7480";

#[test]
fn the_document_shows_what_is_answered() {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "curl is not installed");
        println!("skipped: curl is not installed");
        return;
    }
    let site = Site::new();
    let address = site.node.http_address().to_string();
    let steps = typed(DOCUMENT);
    assert!(steps.len() > 20, "only {} commands were found", steps.len());
    for Step { command, shown } in steps {
        let there = command.replace(ADDRESS, &address);
        let output = Command::new("sh").args(["-c", &there]).output().expect("a shell");
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
    shape(&answer.to_string())
}
