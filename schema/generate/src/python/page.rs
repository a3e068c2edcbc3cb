//! A page of Python: lines, doc strings, and calls that are broken where a formatter would break them.

use crate::names::sentence;

/// The longest line.
const WIDTH: usize = 120;

/// The text of a file, as it grows.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// A file whose doc string begins with this sentence.
    pub(super) fn new(doc: &str) -> Self {
        let mut page = Self::default();
        page.line(0, &format!("\"\"\"{doc}"));
        page.line(0, "");
        page.line(0, "Generated from the schema by `make generate`: do not edit.");
        page.line(0, "\"\"\"");
        page
    }

    /// A line, or an empty one, this many steps from the left.
    pub(super) fn line(&mut self, depth: usize, text: &str) {
        if !text.is_empty() {
            self.text.push_str(&"    ".repeat(depth));
            self.text.push_str(text);
        }
        self.text.push('\n');
    }

    /// Lines that are written as they are.
    pub(super) fn lines(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Two empty lines, as between definitions.
    pub(super) fn gap(&mut self) {
        self.text.push_str("\n\n");
    }

    /// A doc string, in as many lines as it takes.
    pub(super) fn doc(&mut self, depth: usize, doc: &str) {
        let room = WIDTH - 4 * depth - 6;
        let text = sentence(doc).replace('\\', "\\\\");
        if text.len() <= room {
            self.line(depth, &format!("\"\"\"{text}\"\"\""));
            return;
        }
        let lines = filled(&text, room);
        for (place, line) in lines.iter().enumerate() {
            let begin = if place == 0 { "\"\"\"" } else { "" };
            self.line(depth, &format!("{begin}{line}"));
        }
        self.line(depth, "\"\"\"");
    }

    /// `head`, items with commas between them, `tail`: on one line, or on several if they are too many.
    pub(super) fn list(&mut self, depth: usize, head: &str, items: &[String], tail: &str) {
        let flat = items.join(", ");
        if 4 * depth + head.len() + flat.len() + tail.len() <= WIDTH {
            self.line(depth, &format!("{head}{flat}{tail}"));
            return;
        }
        self.line(depth, head);
        if 4 * (depth + 1) + flat.len() <= WIDTH && !head.ends_with('[') && !head.ends_with('{') {
            self.line(depth + 1, &flat);
        } else {
            for item in items {
                self.item(depth + 1, item);
            }
        }
        self.line(depth, tail);
    }

    /// An item on a line of its own; a sum of bits on several, if it is too long.
    pub(super) fn item(&mut self, depth: usize, item: &str) {
        if 4 * depth + item.len() < WIDTH {
            self.line(depth, &format!("{item},"));
        } else {
            self.line(depth, &item.replace(" | ", &format!("\n{}| ", "    ".repeat(depth))));
            self.text.insert(self.text.len() - 1, ',');
        }
    }

    /// A call within a call: `outer(inner(items))`.
    pub(super) fn nested(&mut self, depth: usize, outer: &str, inner: &str, items: &[String]) {
        let flat = format!("{outer}{inner}{}))", items.join(", "));
        if 4 * depth + flat.len() <= WIDTH {
            self.line(depth, &flat);
        } else {
            self.line(depth, outer);
            self.list(depth + 1, inner, items, ")");
            self.line(depth, ")");
        }
    }

    /// `a, b = value`, in parentheses if the names are too many for a line. A single name has a comma.
    pub(super) fn unpacked(&mut self, depth: usize, names: &[String], value: &str) {
        let flat = names.join(", ");
        if let [one] = names {
            self.line(depth, &format!("({one},) = {value}"));
        } else if 4 * depth + flat.len() + 3 + value.len() <= WIDTH {
            self.line(depth, &format!("{flat} = {value}"));
        } else {
            self.line(depth, "(");
            for name in names {
                self.line(depth + 1, &format!("{name},"));
            }
            self.line(depth, &format!(") = {value}"));
        }
    }

    /// True if this name stands in it.
    pub(super) fn has(&self, name: &str) -> bool {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        self.text.split(|letter| !is_word(letter)).any(|word| word == name)
    }

    /// The text, with this under its doc string.
    pub(super) fn with_head(self, head: &str) -> String {
        let end = "\"\"\"\n";
        match self.text.split_once(&format!("edit.\n{end}")) {
            Some((doc, body)) => format!("{doc}edit.\n{end}\n{head}{body}"),
            None => self.text,
        }
    }
}

/// Words on lines of at most this length.
fn filled(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_for_a_line_stands_on_several() {
        let mut page = Page::default();
        page.list(0, "f(", &["a".to_owned(), "b".to_owned()], ")");
        page.list(0, "f(", &vec!["a".repeat(50); 3], ")");
        page.unpacked(1, &["a".to_owned()], "g()");
        let long = "a".repeat(50);
        assert_eq!(
            page.text,
            format!("f(a, b)\nf(\n    {long},\n    {long},\n    {long},\n)\n    (a,) = g()\n")
        );
    }

    #[test]
    fn a_doc_string_breaks_between_words() {
        let mut page = Page::default();
        page.doc(1, &"word ".repeat(30));
        assert!(page.text.lines().all(|line| line.len() <= WIDTH));
        assert!(page.text.ends_with("word.\n    \"\"\"\n"));
    }
}
