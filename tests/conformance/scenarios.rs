//! The scenarios as data: `conformance/scenarios/*.toml`.

use std::path::Path;

use serde_json::{Value, json};

use super::wire::base64_of;

/// What is tried, and what must come of it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// File and name.
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) place: Where,
    /// Of each server.
    pub(crate) arguments: Vec<String>,
    /// The client connects through a proxy.
    pub(crate) has_proxy: bool,
    pub(crate) tls: Option<Tls>,
    /// What the fake server does.
    pub(crate) script: Vec<Value>,
    pub(crate) steps: Vec<Value>,
}

/// What the client talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Server,
    Cluster,
    Fake,
}

/// Who shows a certificate, whatever the other scenarios are played with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Nobody: the server speaks no TLS.
    None,
    Server,
    /// The server asks clients for one, too.
    Both,
}

/// The levels, each with those before it.
pub(crate) const LEVELS: [&str; 6] = ["codec", "producer", "consumer", "worker", "operator", "cluster"];

/// Every scenario, in the order of the files.
pub(crate) fn read() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/scenarios");
    let entries = std::fs::read_dir(&folder).expect("scenarios");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().flat_map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> Vec<Scenario> {
    let text = std::fs::read_to_string(path).expect("a scenario");
    let parsed: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let parsed = serde_json::to_value(parsed).expect("as JSON");
    let file = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
    let scenarios = parsed["scenario"].as_array().expect("[[scenario]]");
    scenarios.iter().map(|scenario| parse(file, scenario)).collect()
}

fn parse(file: &str, data: &Value) -> Scenario {
    const KNOWN: [&str; 9] = ["name", "why", "level", "on", "arguments", "proxy", "tls", "script", "steps"];
    let name = format!("{file}/{}", data["name"].as_str().expect("a name"));
    for field in data.as_object().expect("a table").keys() {
        assert!(KNOWN.contains(&field.as_str()), "{name}: there is no {field}");
    }
    let level = data["level"].as_str().unwrap_or(file).to_owned();
    assert!(LEVELS.contains(&level.as_str()), "{name}: there is no level {level}");
    let place = match data["on"].as_str() {
        None | Some("server") => Where::Server,
        Some("cluster") => Where::Cluster,
        Some("fake") => Where::Fake,
        Some(other) => panic!("{name}: there is no {other}"),
    };
    let tls = match data["tls"].as_str() {
        None => None,
        Some("none") => Some(Tls::None),
        Some("server") => Some(Tls::Server),
        Some("both") => Some(Tls::Both),
        Some(other) => panic!("{name}: there is no {other}"),
    };
    let list = |field: &str| data[field].as_array().cloned().unwrap_or_default();
    let arguments = list("arguments").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let steps = list("steps").iter().map(with_bodies).collect();
    let script = list("script").iter().map(with_bodies).collect();
    Scenario { name, level, place, arguments, has_proxy: data["proxy"] == true, tls, script, steps }
}

/// In scenarios a body is a text; everywhere else it is base64.
fn with_bodies(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(with_bodies).collect(),
        Value::Object(fields) => {
            let converted = fields.iter().map(|(name, value)| {
                let value = match value {
                    Value::String(text) if name == "body" && text != "*" && !text.starts_with('$') => {
                        json!(base64_of(text.as_bytes()))
                    }
                    value => with_bodies(value),
                };
                (name.clone(), value)
            });
            Value::Object(converted.collect())
        }
        other => other.clone(),
    }
}
