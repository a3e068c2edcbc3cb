//! Lines of PHP, with their indentation.

use crate::names::{grouped, sentence};

const INDENT: usize = 4;
/// How long a line should be at most.
pub(super) const WIDTH: usize = 130;

/// A file of PHP that grows line by line.
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// The beginning of a file: where it comes from, its namespace, and what it uses of others.
    pub(super) fn file(namespace: &str, uses: &[&str]) -> Self {
        let mut code = Self { text: "<?php\n\n".to_owned(), depth: 0 };
        code.line("// Generated from schema/*.toml by `make generate`. Do not edit.");
        code.blank();
        code.line("declare(strict_types=1);");
        code.blank();
        code.line(&format!("namespace {namespace};"));
        code.blank();
        for name in uses {
            code.line(&format!("use {name};"));
        }
        if !uses.is_empty() {
            code.blank();
        }
        code
    }

    /// A line, or several: each is indented.
    pub(super) fn line(&mut self, text: &str) {
        for part in text.lines() {
            self.text.push_str(&" ".repeat(INDENT * self.depth));
            self.text.push_str(part);
            self.text.push('\n');
        }
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line behind which the lines stand further to the right.
    pub(super) fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
    }

    /// A line from which on they stand further to the left again.
    pub(super) fn close(&mut self, text: &str) {
        self.depth -= 1;
        self.line(text);
    }

    /// The line between two branches.
    pub(super) fn close_and_open(&mut self, text: &str) {
        self.close(text);
        self.depth += 1;
    }

    /// From here on, lines stand further to the left again.
    pub(super) fn close_quietly(&mut self) {
        self.depth -= 1;
    }

    /// The head of a class or a function, with its brace on a line of its own.
    pub(super) fn begin(&mut self, text: &str) {
        self.line(text);
        self.open("{");
    }

    pub(super) fn end(&mut self) {
        self.close("}");
    }

    /// A doc comment: of one line if it is one.
    pub(super) fn doc<T: AsRef<str>>(&mut self, lines: &[T]) {
        let width = WIDTH - INDENT * self.depth;
        let lines: Vec<String> = lines.iter().flat_map(|line| wrapped(line.as_ref(), width)).collect();
        if let [line] = lines.as_slice() {
            self.line(&format!("/** {line} */"));
            return;
        }
        self.line("/**");
        for line in lines {
            self.line(if line.is_empty() { " *".to_owned() } else { format!(" * {line}") }.as_str());
        }
        self.line(" */");
    }

    /// A constant of a class, with its doc comment.
    pub(super) fn constant(&mut self, name: &str, value: u64, doc: &str) {
        self.doc(&[said(doc)]);
        self.line(&format!("public const {name} = {};", number(value)));
    }

    pub(super) fn text(self) -> String {
        self.text
    }
}

/// A number of the schema as PHP has it: from 2^63 on it is negative, with the same bits.
pub(super) fn number(value: u64) -> String {
    match value.cast_signed() {
        i64::MIN => "PHP_INT_MIN".to_owned(),
        signed if signed < 0 => signed.to_string(),
        _ if value < 10_000 => value.to_string(),
        _ => grouped(value, '_'),
    }
}

/// A doc text that cannot end the comment it stands in.
pub(super) fn said(doc: &str) -> String {
    sentence(doc).replace("*/", "* /")
}

/// A line of a comment as lines that are not too long. What stands behind a type stays there.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let indent = if line.starts_with('@') { "    " } else { "" };
    for word in line.split(' ') {
        let here = lines.last().map_or(0, String::len);
        if here > 0 && here + word.len() > width && !line.contains(" // ") {
            lines.push(format!("{indent}{word}"));
        } else if let Some(last) = lines.last_mut() {
            if here > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    if line.starts_with(' ') { vec![line.to_owned()] } else { lines }
}

/// A call, with each argument on a line of its own if it is long.
pub(super) fn call(function: &str, arguments: &[String]) -> String {
    let short = format!("{function}({})", arguments.join(", "));
    if short.len() <= WIDTH { short } else { format!("{function}(\n    {},\n)", arguments.join(",\n    ")) }
}

/// A text of PHP between single quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_bits() {
        assert_eq!((number(1_024).as_str(), number(65_536).as_str()), ("1024", "65_536"));
        assert_eq!((number(u64::MAX).as_str(), number(1 << 63).as_str()), ("-1", "PHP_INT_MIN"));
    }

    #[test]
    fn a_text_ends_where_it_should() {
        assert_eq!(quoted(r"it's \ here"), r"'it\'s \\ here'");
        assert_eq!(said("ends */ here"), "Ends * / here.");
    }
}
