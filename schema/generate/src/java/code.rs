//! Java source as it is written: lines with their indentation, comments, and lists that are broken at the margin.

use std::fmt::Write as _;

use crate::names::sentence;

const WIDTH: usize = 130;
/// A space at which a line is not broken.
const FIXED_SPACE: &str = "\u{a0}";
const NOTICE: &str = "// Generated from the schema by `make generate`. Do not edit.";

/// A file, or a part of one.
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// A file of this package, with these imports in their order.
    pub(super) fn file(package: &str, imports: &[&str]) -> Self {
        let mut code = Self { text: format!("{NOTICE}\npackage {package};\n\n"), depth: 0 };
        for import in imports {
            code.line(&format!("import {import};"));
        }
        if !imports.is_empty() {
            code.text.push('\n');
        }
        code
    }

    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(&"    ".repeat(self.depth));
        self.text.push_str(&text.replace(FIXED_SPACE, " "));
        self.text.push('\n');
    }

    /// Several lines, with their own indentation beside that of the block.
    pub(super) fn lines(&mut self, text: &str) {
        for line in text.trim_matches('\n').lines() {
            if line.is_empty() { self.text.push('\n') } else { self.line(line) }
        }
    }

    /// A line that begins a block.
    pub(super) fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.close_with("}");
    }

    pub(super) fn close_with(&mut self, end: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(end);
    }

    /// An empty line, unless a block has just begun.
    pub(super) fn blank(&mut self) {
        if !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// A doc comment.
    pub(super) fn doc(&mut self, text: &str) {
        self.doc_of(text, &[]);
    }

    /// A doc comment with parameters.
    pub(super) fn doc_of(&mut self, text: &str, parameters: &[(String, String)]) {
        let text = javadoc(&sentence(text));
        let short = format!("/** {text} */");
        if parameters.is_empty() && self.fits(&short) {
            return self.line(&short);
        }
        self.line("/**");
        self.wrapped(" * ", " * ", &text);
        if !parameters.is_empty() {
            self.line(" *");
        }
        for (name, doc) in parameters {
            self.wrapped(
                " * ",
                " *     ",
                &format!("@param {name} {}", javadoc(&crate::names::without_links(doc))),
            );
        }
        self.line(" */");
    }

    /// `start`, the parts with commas between them, `end`; broken at the margin.
    pub(super) fn list(&mut self, start: &str, parts: &[String], end: &str) {
        self.broken(start, parts, ", ", ",", end);
    }

    /// `start`, the calls one behind the other, `end`; broken at the margin.
    pub(super) fn chain(&mut self, start: &str, calls: &[String], end: &str) {
        self.broken(start, calls, "", "", end);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// A record with these components, and the start of its body.
    pub(super) fn open_record(&mut self, name: &str, components: &[String], rest: &str) {
        self.list(&format!("record {name}("), components, &format!("){rest} {{"));
        self.depth += 1;
    }

    fn broken(&mut self, start: &str, parts: &[String], between: &str, at_break: &str, end: &str) {
        let mut line = start.to_owned();
        for (place, part) in parts.iter().enumerate() {
            let is_last = place + 1 == parts.len();
            let tail = if is_last { end.len() } else { at_break.len() };
            let gap = if place == 0 { "" } else { between };
            let width = self.depth * 4 + line.chars().count() + gap.len() + part.chars().count() + tail;
            if place > 0 && width > WIDTH {
                self.line(&format!("{line}{at_break}"));
                line = format!("        {part}");
            } else {
                line = format!("{line}{gap}{part}");
            }
        }
        self.line(&format!("{line}{end}"));
    }

    fn fits(&self, text: &str) -> bool {
        self.depth * 4 + text.chars().count() <= WIDTH
    }

    fn wrapped(&mut self, first: &str, others: &str, text: &str) {
        let mut line = first.trim_end().to_owned();
        let mut is_empty = true;
        for word in text.split(' ') {
            if !is_empty && !self.fits(&format!("{line} {word}")) {
                self.line(&line);
                line = others.trim_end().to_owned() + &" ".repeat(others.len() - others.trim_end().len() - 1);
            }
            line = format!("{line} {word}");
            is_empty = false;
        }
        self.line(&line);
    }
}

/// A doc text with the code and the emphasis of Javadoc.
pub(super) fn javadoc(doc: &str) -> String {
    let mut out = String::new();
    for (place, part) in doc.split('`').enumerate() {
        if place % 2 == 1 {
            // It stays on one line.
            let _ = write!(out, "{{@code{FIXED_SPACE}{}}}", part.replace(' ', FIXED_SPACE));
        } else {
            out.push_str(&part.replace('&', "&amp;").replace('<', "&lt;").replace('*', ""));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_broken_at_the_margin() {
        let mut code = Code { text: String::new(), depth: 1 };
        let parts: Vec<String> = (0..30).map(|number| format!("number{number}")).collect();
        code.list("call(", &parts, ");");
        let text = code.finish();
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.starts_with("    call(number0, ") && text.ends_with("number29);\n"), "{text}");
    }

    #[test]
    fn a_doc_text_becomes_javadoc() {
        assert_eq!(javadoc("the mark *more* is `1 < 2`"), "the mark more is {@code\u{a0}1\u{a0}<\u{a0}2}");
    }
}
