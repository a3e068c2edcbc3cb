//! Who may import whom, and what the core must not touch. Tests inside a module obey the same table.

use super::source::{Finding, SourceFile, end_of_block, leading_name};

/// Each layer with those that it may import: what stands above it. The code map of `ARCHITECTURE.md` has the same table.
pub(super) const LAYERS: [(&str, &[&str]); 14] = [
    ("types", &[]),
    ("protocol", &["types"]),
    ("json", &["types", "protocol"]),
    ("transport", &[]),
    ("engine", &["types", "protocol"]),
    ("storage", &["types", "protocol", "engine"]),
    ("raft", &["types", "protocol", "engine", "storage"]),
    ("replica", &["types", "protocol", "engine", "storage", "raft"]),
    ("server", &["types", "protocol", "json", "transport", "engine", "storage", "raft", "replica"]),
    ("client", &["types", "protocol", "transport"]),
    ("call_backs", &["types", "protocol", "json", "transport", "server"]),
    ("alerts", &["types", "protocol", "json", "transport", "server", "call_backs"]),
    ("http", &["types", "protocol", "json", "transport", "server", "call_backs", "alerts"]),
    (
        "cli",
        &[
            "types",
            "protocol",
            "json",
            "transport",
            "engine",
            "storage",
            "raft",
            "replica",
            "server",
            "client",
            "call_backs",
            "alerts",
            "http",
        ],
    ),
];

/// The layers without sockets, files, threads and clocks.
const CORE: [&str; 5] = ["types", "protocol", "engine", "raft", "replica"];

/// What those must not name.
const OUTSIDE_THE_CORE: [&str; 8] =
    ["std::fs", "std::net", "std::thread", "std::process", "std::env", "tokio::", "sled::", "rustix::"];

/// Every path that leaves a layer leads to one that it may import.
pub(super) fn imports(file: &SourceFile) -> Vec<Finding> {
    let from_crate = file.places_of("crate::").into_iter().map(|at| (at, at + "crate::".len()));
    let from_super = escapes(file).into_iter();
    from_crate
        .chain(from_super)
        .flat_map(|(at, target)| targets(&file.code[target..]).into_iter().map(move |layer| (at, layer)))
        .filter_map(|(at, target)| forbidden(file, target).map(|advice| file.finding(at, advice)))
        .collect()
}

/// The core names nothing of the world outside.
pub(super) fn core_is_pure(file: &SourceFile) -> Vec<Finding> {
    let layer = file.module().and_then(|names| names.first().copied()).unwrap_or_default();
    if !CORE.contains(&layer) {
        return Vec::new();
    }
    let named = |word: &'static str| file.places_of(word).into_iter().map(move |at| (at, word));
    OUTSIDE_THE_CORE
        .into_iter()
        .flat_map(named)
        .map(|(at, word)| {
            file.finding(at, format!("`{layer}` is pure: take what `{word}` would give as an argument"))
        })
        .collect()
}

fn forbidden(file: &SourceFile, target: &str) -> Option<String> {
    let names = file.module()?;
    let layer = *names.first()?;
    let known = |name: &str| LAYERS.iter().find(|(found, _)| *found == name);
    let Some((_, allowed)) = known(layer) else {
        return Some(format!(
            "`{layer}` is no layer: give it its place in the table of tests/tidy/layers.rs"
        ));
    };
    let is_layer = known(target).is_some();
    (is_layer && target != layer && !allowed.contains(&target)).then(|| {
        format!("`{layer}` must not import `{target}`, which stands below it: move the shared part up, or pass it in")
    })
}

/// Chains of `super::` that reach the root of the crate, and where the path goes on from there.
fn escapes(file: &SourceFile) -> Vec<(usize, usize)> {
    let Some(names) = file.module() else { return Vec::new() };
    let inline = inline_modules(&file.code);
    let mut found = Vec::new();
    let mut past = 0;
    for at in file.places_of("super::") {
        if at < past {
            continue;
        }
        let chain = &file.code[at..];
        let supers = (chain.len() - chain.trim_start_matches("super::").len()) / "super::".len();
        past = at + supers * "super::".len();
        let depth = names.len() + inline.iter().filter(|(open, close)| (*open..*close).contains(&at)).count();
        if supers >= depth {
            found.push((at, past));
        }
    }
    found
}

/// From where to where each `mod name { ... }` goes.
fn inline_modules(code: &str) -> Vec<(usize, usize)> {
    super::source::places(code, "mod")
        .into_iter()
        .filter_map(|at| {
            let after = code[at + 3..].trim_start();
            let body = after[leading_name(after).len()..].trim_start();
            let open = code.len() - body.len();
            body.starts_with('{').then(|| (open, end_of_block(code, open)))
        })
        .collect()
}

/// The first names of a path or of a group of paths, which `code` begins with.
fn targets(code: &str) -> Vec<&str> {
    if !code.starts_with('{') {
        return vec![leading_name(code)];
    }
    let group = &code[1..end_of_block(code, 0) - 1];
    let mut depth = 0_usize;
    group
        .split_inclusive([',', '{', '}'])
        .filter_map(|part| {
            let outermost = depth == 0;
            match part.chars().next_back() {
                Some('{') => depth += 1,
                Some('}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            outermost.then(|| leading_name(part.trim_start()))
        })
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        imports(&SourceFile::new(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_import_from_below_is_found() {
        assert_eq!(lines("src/engine/x.rs", "use crate::types::A;\nuse crate::server::B;"), [2]);
        assert_eq!(lines("src/types/x.rs", "fn f() { crate::protocol::g() }"), [1]);
        assert_eq!(lines("src/client/x.rs", "use crate::engine::A;\nuse crate::protocol::B;"), [1]);
        assert_eq!(lines("src/engine/x.rs", "mod tests {\n use crate::storage::A;\n}"), [2]);
    }

    #[test]
    fn groups_are_opened() {
        let text = "use crate::{types::{A, server}, raft::B, protocol};";
        assert_eq!(lines("src/engine/x.rs", text), [1]);
        assert_eq!(targets("{types::{A, server}, raft::B, protocol};"), ["types", "raft", "protocol"]);
    }

    #[test]
    fn super_does_not_get_around_the_table() {
        assert_eq!(lines("src/engine/mod.rs", "use super::server::A;"), [1]);
        assert_eq!(lines("src/engine/x.rs", "use super::server::A;\nuse super::super::server::B;"), [2]);
        assert_eq!(lines("src/engine/x.rs", "mod tests {\nuse super::super::server::A; }"), [0; 0]);
        assert_eq!(lines("src/engine/x.rs", "mod tests {\nuse super::super::super::server::A; }"), [2]);
    }

    #[test]
    fn comments_and_what_is_allowed_pass() {
        assert_eq!(lines("src/types/x.rs", "//! [`crate::engine`]\nuse crate::types::A;"), [0; 0]);
        assert_eq!(lines("src/cli/x.rs", "use crate::{server, client};"), [0; 0]);
        assert_eq!(lines("src/lib.rs", "pub use crate::engine::A;"), [0; 0]);
    }

    #[test]
    fn a_module_outside_the_table_is_found() {
        assert_eq!(lines("src/extra/x.rs", "use crate::types::A;"), [1]);
    }

    #[test]
    fn the_world_in_the_core_is_found() {
        let of = |path| core_is_pure(&SourceFile::new(path, "use std::fs::File;\nuse tokio::net::X;")).len();
        assert_eq!((of("src/replica/x.rs"), of("src/server/x.rs")), (2, 0));
        let codec = SourceFile::new("src/protocol/codec.rs", "use tokio_util::codec::Decoder;");
        assert_eq!(core_is_pure(&codec), []);
    }
}
