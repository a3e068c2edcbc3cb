//! What documents say about the repository: links and headings.

use std::collections::BTreeSet;
use std::path::Path;

use super::source::{Finding, Text};

/// Every link inside the repository leads to a file, and to a heading if it names one.
pub(super) fn links(text: &Text, root: &Path) -> Vec<Finding> {
    let folder = root.join(&text.path).parent().map(Path::to_owned).unwrap_or_default();
    text.text
        .match_indices("](")
        .filter_map(|(at, _)| {
            let target = text.text[at + 2..].split([')', ' ', '\n']).next().unwrap_or_default();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root.join(&text.path) } else { folder.join(file) };
            if target.contains("://") || target.starts_with("mailto:") {
                None
            } else if !path.exists() {
                Some(text.finding(at, format!("`{file}` does not exist: correct the link")))
            } else if !anchor.is_empty() && !anchors(&std::fs::read_to_string(&path).ok()?).contains(anchor) {
                Some(text.finding(at, format!("`{target}` names no heading: correct the link")))
            } else {
                None
            }
        })
        .collect()
}

/// A document begins with its one title.
pub(super) fn heading(text: &Text) -> Vec<Finding> {
    let titles: Vec<usize> =
        headings(&text.text).filter(|(_, line)| line.starts_with("# ")).map(|h| h.0).collect();
    match titles.as_slice() {
        [0] => Vec::new(),
        [0, second, ..] => vec![text.finding(*second, "a document has one title: make this `##`")],
        _ => vec![text.finding(0, "begin the document with its title: `# ...`")],
    }
}

/// (place, line) of every heading outside code blocks.
fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut at, mut fenced) = (0, false);
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = at;
        at += line.len();
        fenced ^= line.trim_start().starts_with("```");
        (!fenced && line.starts_with('#')).then(|| (begin, line.trim_end()))
    })
}

/// The anchors that a renderer gives to headings.
fn anchors(text: &str) -> BTreeSet<String> {
    headings(text)
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let of = |text| links(&Text::new("README.md", text), root).len();
        assert_eq!((of("[a](nowhere.md)"), of("[a](Cargo.toml)"), of("[a](https://x.org/)")), (1, 0, 0));
        assert_eq!((of("[a](protocol.md#no-such-heading)"), of("[a](#nor-this)")), (1, 1));
    }

    #[test]
    fn anchors_are_made_as_renderers_make_them() {
        assert_eq!(anchors("# A b\n```\n# no\n```\n## 3.1 `HELLO`, done"), names(&["a-b", "31-hello-done"]));
    }

    #[test]
    fn a_document_without_its_title_is_found() {
        let of = |text| heading(&Text::new("x.md", text)).len();
        assert_eq!((of("text\n# Title"), of("# A\n# B"), of("# A\n```\n# c\n```\n## B")), (1, 1, 0));
    }
}
