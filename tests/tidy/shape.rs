//! How long files and functions may be, what a module is called and how it begins.

use super::source::{Finding, SourceFile, end_of_block, leading_name};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

/// Names that say nothing about the content.
const NAMES_FORBIDDEN: [&str; 7] = ["util", "utils", "common", "manager", "helper", "helpers", "misc"];

/// A file is a concept.
pub(super) fn file_length(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().count();
    let advice = format!("{lines} lines: past {FILE_LINES_MAX}, a file is two concepts; split it");
    // What a program writes is read in the schema.
    let is_generated = file
        .text
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .any(|line| line.contains("`make generate`: do not edit"));
    if lines > FILE_LINES_MAX && !is_generated {
        vec![file.finding(file.text.len(), advice)]
    } else {
        Vec::new()
    }
}

/// A function does one thing.
pub(super) fn function_length(file: &SourceFile) -> Vec<Finding> {
    file.places_of("fn")
        .into_iter()
        .filter_map(|at| {
            let name = leading_name(file.code[at + 2..].trim_start());
            let open = at + file.code[at..].find(['{', ';']).filter(|_| !name.is_empty())?;
            let function = &file.code[at..end_of_block(&file.code, open)];
            let lines = function.lines().count();
            let advice =
                format!("`{name}` has {lines} lines: past {FUNCTION_LINES_MAX}, it is two; split it");
            (file.code[open..].starts_with('{') && lines > FUNCTION_LINES_MAX)
                .then(|| file.finding(at, advice))
        })
        .collect()
}

/// A module begins with what it is, what it promises and what it must not know.
pub(super) fn opens_with_docs(file: &SourceFile) -> Vec<Finding> {
    let first = file.text.trim_start_matches("#!").lines().next().unwrap_or_default();
    let says_something = first.strip_prefix("//! ").is_some_and(|line| line.len() > 10);
    let advice = "begin with `//!`: what this module is, promises, and must not know";
    if says_something { Vec::new() } else { vec![file.finding(0, advice)] }
}

/// A module is named for what it is.
pub(super) fn module_name(file: &SourceFile) -> Vec<Finding> {
    let is_forbidden = |name: &&str| NAMES_FORBIDDEN.contains(name);
    let in_path = file.path.trim_end_matches(".rs").split('/').find(is_forbidden).map(|name| (0, name));
    let inline = file.places_of("mod").into_iter().map(|at| {
        let name = leading_name(file.code[at + 3..].trim_start());
        (at, name)
    });
    in_path
        .into_iter()
        .chain(inline.filter(|(_, name)| is_forbidden(name)))
        .map(|(at, name)| {
            file.finding(at, format!("`{name}` says nothing: name the module for what it does"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rule: fn(&SourceFile) -> Vec<Finding>, path: &str, text: &str) -> usize {
        rule(&SourceFile::new(path, text)).len()
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(of(file_length, "src/x.rs", &"a\n".repeat(601)), 1);
        assert_eq!(of(file_length, "src/x.rs", &"a\n".repeat(600)), 0);
    }

    #[test]
    fn a_long_function_is_found() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "let x = \"}\";\n".repeat(lines - 2));
        assert_eq!(of(function_length, "src/x.rs", &function(71)), 1);
        assert_eq!(of(function_length, "src/x.rs", &function(70)), 0);
        let in_trait = format!("trait T {{ fn f();\n{}}}", "\n".repeat(80));
        assert_eq!(of(function_length, "src/x.rs", &in_trait), 0);
    }

    #[test]
    fn a_module_without_introduction_is_found() {
        assert_eq!(of(opens_with_docs, "src/x.rs", "use std::fmt;\n//! Too late, and long enough.\n"), 1);
        assert_eq!(of(opens_with_docs, "src/x.rs", "//! Jobs.\n"), 1);
        assert_eq!(of(opens_with_docs, "src/x.rs", "//! How jobs are kept.\n"), 0);
    }

    #[test]
    fn a_name_that_says_nothing_is_found() {
        assert_eq!(of(module_name, "src/server/utils.rs", ""), 1);
        assert_eq!(of(module_name, "src/common/mod.rs", ""), 1);
        assert_eq!(of(module_name, "src/x.rs", "mod helpers {\n}"), 1);
        assert_eq!(of(module_name, "src/x.rs", "mod helping_hand;"), 0);
    }
}
