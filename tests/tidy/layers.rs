//! The crates: which imports which, and what the core must not touch. The compiler refuses an import that a manifest does not
//! allow, in tests, too; the code map of `ARCHITECTURE.md` has the same table.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Finding, SourceFile, Text, Tree, layer_of, places};

/// Each layer with those that it imports.
pub(super) type Layers = BTreeMap<String, BTreeSet<String>>;

/// The layers without sockets, files, threads and clocks.
const CORE: [&str; 5] = ["types", "protocol", "engine", "raft", "replica"];

/// What those must not name.
const OUTSIDE_THE_CORE: [&str; 8] =
    ["std::fs", "std::net", "std::thread", "std::process", "std::env", "tokio::", "sled::", "rustix::"];

/// The layers, as the manifests have them.
pub(super) fn all(tree: &Tree) -> Layers {
    manifests(tree).map(|(layer, manifest)| (layer, imports(manifest))).collect()
}

/// Each layer with its manifest.
fn manifests(tree: &Tree) -> impl Iterator<Item = (String, &Text)> {
    let manifests = tree.texts.iter().filter(|text| text.path.ends_with("Cargo.toml"));
    manifests.filter_map(|text| Some((layer_of(&text.path)?, text)))
}

/// The layers that a manifest names as dependencies. Tests may use more.
fn imports(manifest: &Text) -> BTreeSet<String> {
    let names = names_of(manifest);
    names.iter().filter_map(|name| name.strip_prefix("adjourn-")).map(|name| name.replace('-', "_")).collect()
}

/// The dependencies of a manifest, without those of tests.
fn names_of(manifest: &Text) -> Vec<String> {
    let manifest: toml::Table = manifest.text.parse().expect("a manifest");
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    dependencies.into_iter().flat_map(toml::Table::keys).cloned().collect()
}

/// A dependency that only tests name belongs under `[dev-dependencies]`: a user of the crate would build it for nothing.
pub(super) fn dependencies(tree: &Tree) -> Vec<Finding> {
    let unused = manifests(tree).flat_map(|(layer, manifest)| {
        let sources: Vec<&SourceFile> =
            tree.rust.iter().filter(|file| file.layer().is_some_and(|of| of == layer)).collect();
        let names = names_of(manifest).into_iter();
        let unused =
            names.filter(move |name| !sources.iter().any(|file| uses(file, &name.replace('-', "_"))));
        unused.map(|name| {
            manifest.finding(0, format!("only tests use `{name}`: make it a dev-dependency, or remove it"))
        })
    });
    unused.collect()
}

/// True if code of the product names a crate. Attributes name one in a string.
fn uses(file: &SourceFile, name: &str) -> bool {
    let mut found = places(&file.text, name).into_iter().filter(|at| {
        let line = file.text[..*at].rsplit('\n').next().unwrap_or_default();
        !line.trim_start().starts_with("//")
    });
    found.any(|at| !file.is_test(at))
}

/// The core names nothing of the world outside.
pub(super) fn core_is_pure(file: &SourceFile) -> Vec<Finding> {
    let Some(layer) = file.layer().filter(|layer| CORE.contains(&layer.as_str())) else { return Vec::new() };
    let named = |word: &'static str| file.places_of(word).into_iter().map(move |at| (at, word));
    OUTSIDE_THE_CORE
        .into_iter()
        .flat_map(named)
        .map(|(at, word)| {
            file.finding(at, format!("`{layer}` is pure: take what `{word}` would give as an argument"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_says_what_its_layer_imports() {
        assert_eq!(layer_of("crates/call-backs/Cargo.toml").as_deref(), Some("call_backs"));
        assert_eq!(layer_of("fuzz/Cargo.toml"), None);
        let manifest = "[dependencies]\nadjourn-call-backs.workspace = true\nbytes = \"1\"\n\n\
                        [dev-dependencies]\nadjourn-types.workspace = true";
        assert_eq!(imports(&Text::new("Cargo.toml", manifest)), BTreeSet::from(["call_backs".to_owned()]));
    }

    #[test]
    fn what_only_tests_use_is_no_use() {
        let of = |path, text| uses(&SourceFile::new(path, text), "tempfile");
        assert!(of("crates/a/src/x.rs", "use tempfile::TempDir;"));
        assert!(of("crates/a/src/x.rs", "#[serde(with = \"tempfile\")]"));
        assert!(!of(
            "crates/a/src/x.rs",
            "/// As tempfile does.\n#[cfg(test)]\nmod tests { use tempfile::TempDir; }"
        ));
        assert!(!of("crates/a/src/x/tests.rs", "use tempfile::TempDir;"));
        assert!(!of("crates/a/src/test_files.rs", "use tempfile::TempDir;"));
    }

    #[test]
    fn the_world_in_the_core_is_found() {
        let of = |path| core_is_pure(&SourceFile::new(path, "use std::fs::File;\nuse tokio::net::X;")).len();
        assert_eq!((of("crates/replica/src/x.rs"), of("crates/server/src/x.rs")), (2, 0));
        let codec = SourceFile::new("crates/protocol/src/codec.rs", "use tokio_util::codec::Decoder;");
        assert_eq!(core_is_pure(&codec), []);
    }
}
