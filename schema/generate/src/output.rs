//! What is written from the schema: whole files, and tables in files that a person writes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::schema::Schema;
use crate::{document, go, java, php, python, rust, typescript};

/// One file that follows from the schema, or a part of one.
#[derive(Debug)]
pub enum Output {
    /// A whole file.
    File {
        /// Its path in the repository.
        path: &'static str,
        /// Its text.
        text: String,
    },
    /// What stands between the line `<!-- generated: NAME -->` and the next empty line of a file.
    Table {
        /// The file's path in the repository.
        path: &'static str,
        /// The name in its marker.
        name: String,
        /// The lines that belong there, without an empty one.
        text: String,
    },
}

/// Why something cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file cannot be read or written.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// A file has no marker of this name, or several.
    #[error("{path} must have the line `<!-- generated: {1} -->` once", path = .0.display())]
    Marker(PathBuf, String),
}

/// Everything that follows from the schema.
pub fn outputs(schema: &Schema) -> Vec<Output> {
    let of_each = [
        document::outputs,
        go::outputs,
        java::outputs,
        php::outputs,
        python::outputs,
        rust::outputs,
        typescript::outputs,
    ];
    of_each.into_iter().flat_map(|outputs| outputs(schema)).collect()
}

/// Writes the outputs into the repository at `root`, if `write` is true. Returns the paths of the files that differ, or
/// differed.
pub fn apply(root: &Path, outputs: &[Output], write: bool) -> Result<Vec<String>, OutputError> {
    let mut changed = Vec::new();
    for output in outputs {
        let (Output::File { path, .. } | Output::Table { path, .. }) = output;
        let file = root.join(path);
        let failed = |error| OutputError::File(file.clone(), error);
        let text = match output {
            Output::File { text, .. } => text.clone(),
            Output::Table { name, text, .. } => {
                let whole = fs::read_to_string(&file).map_err(failed)?;
                replaced(&whole, name, text).ok_or_else(|| OutputError::Marker(file.clone(), name.clone()))?
            }
        };
        if fs::read_to_string(&file).is_ok_and(|there| there == text) {
            continue;
        }
        changed.push((*path).to_owned());
        if write {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder).map_err(failed)?;
            }
            fs::write(&file, text).map_err(failed)?;
        }
    }
    changed.dedup();
    Ok(changed)
}

/// A text with another table behind the marker of this name.
fn replaced(whole: &str, name: &str, table: &str) -> Option<String> {
    let marker = format!("<!-- generated: {name} -->\n");
    let (before, rest) = whole.split_once(&marker)?;
    if rest.contains(&marker) {
        return None;
    }
    let end = rest.find("\n\n").map_or(rest.len(), |at| at + 1);
    let after = rest.get(end..)?;
    Some(format!("{before}{marker}{}\n{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_checked_in_is_what_the_schema_says() {
        let schema = Schema::load().unwrap_or_else(|error| panic!("{error}"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let changed = apply(&root, &outputs(&schema), false).unwrap_or_else(|error| panic!("{error}"));
        assert!(changed.is_empty(), "run `make generate`, and commit what it changes: {changed:?}");
    }

    #[test]
    fn a_table_is_replaced_up_to_the_next_empty_line() {
        let whole = "a\n<!-- generated: t -->\n| old |\n|---|\n\nb\n";
        assert_eq!(
            replaced(whole, "t", "| new |").as_deref(),
            Some("a\n<!-- generated: t -->\n| new |\n\nb\n")
        );
        assert_eq!(replaced(whole, "other", "x"), None);
        assert_eq!(replaced(&whole.repeat(2), "t", "x"), None);
    }
}
