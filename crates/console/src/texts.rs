//! The languages of the pages.
//!
//! A text is written in English where it is used. `texts/zh.toml` has each of them in Chinese. A test finds the texts in templates and
//! code: in `say("...")`, in `fill("...")`, and in `text("...")` where they are constants.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;

static CHINESE: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("../texts/zh.toml")).unwrap_or_default());

/// The cookie with the language that a person has chosen.
pub(crate) const COOKIE: &str = "adjourn_language";

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Chinese,
}

/// Marks a constant as a text of the pages.
pub(crate) const fn text(english: &'static str) -> &'static str {
    english
}

impl Language {
    /// All languages.
    pub(crate) const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Its code, as in HTML.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// Its own name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "中文",
        }
    }

    /// The language with this code.
    pub(crate) fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// The first language that a browser prefers and that there is.
    pub(crate) fn preferred(headers: &HeaderMap) -> Self {
        let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|accepted| accepted.to_str().ok());
        let mut codes = accepted.unwrap_or_default().split(',').filter_map(|one| one.trim().get(..2));
        codes.find_map(|code| Self::of_code(&code.to_ascii_lowercase())).unwrap_or(Self::English)
    }

    /// A text in this language. One that is not translated stays English.
    pub(crate) fn say(self, english: &str) -> &str {
        match self {
            Self::English => english,
            Self::Chinese => CHINESE.get(english).map_or(english, String::as_str),
        }
    }

    /// A text with values in the places of `{0}`, `{1}` and so on.
    pub(crate) fn fill(self, english: &str, values: &[&str]) -> String {
        let mut rest = self.say(english);
        let mut filled = String::with_capacity(rest.len());
        while let Some((before, behind)) = rest.split_once('{') {
            filled.push_str(before);
            let value = behind.split_once('}').and_then(|(number, behind)| {
                number.parse().ok().and_then(|number: usize| values.get(number)).map(|value| (value, behind))
            });
            if let Some((value, behind)) = value {
                filled.push_str(value);
                rest = behind;
            } else {
                filled.push('{');
                rest = behind;
            }
        }
        filled.push_str(rest);
        filled
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The texts between quotes after these names, in all files below a folder.
    fn used(folder: &Path, into: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                used(&path, into);
                continue;
            }
            let file = std::fs::read_to_string(&path).expect("a text");
            for call in ["say(\"", "fill(\"", "count(\"", "text(\"", "fill(\n", "count(\n", "text(\n"] {
                for (place, _) in file.match_indices(call) {
                    let rest = file.get(place + call.len()..).unwrap_or_default().trim_start();
                    let rest = if call.ends_with('"') { rest } else { rest.trim_start_matches('"') };
                    let end = rest.find('"').expect("a closing quote");
                    into.insert(rest.get(..end).unwrap_or_default().to_owned());
                }
            }
        }
    }

    #[test]
    fn every_text_is_in_every_language() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut all = BTreeSet::new();
        used(&root.join("templates"), &mut all);
        used(&root.join("src"), &mut all);
        all.retain(|text| !text.is_empty() && text != "...");
        let translated: BTreeSet<String> = CHINESE.keys().cloned().collect();
        let missing: Vec<_> = all.difference(&translated).collect();
        assert!(missing.is_empty(), "texts/zh.toml lacks {missing:#?}");
        let unused: Vec<_> = translated.difference(&all).collect();
        assert!(unused.is_empty(), "texts/zh.toml has what no page says: {unused:#?}");
        for (english, chinese) in CHINESE.iter() {
            for number in 0..4 {
                let place = format!("{{{number}}}");
                assert_eq!(english.contains(&place), chinese.contains(&place), "{english}");
            }
        }
    }

    #[test]
    fn values_stand_where_they_belong() {
        let filled = |text: &str, values: &[&str]| Language::English.fill(text, values);
        assert_eq!(filled("{0} of {1}, {0}", &["a", "{1}"]), "a of {1}, a");
        assert_eq!(filled("{2} {x} {", &["a"]), "{2} {x} {");
    }

    #[test]
    fn the_browser_chooses() {
        let preferred = |accepted: &str| {
            let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, accepted.parse().expect("a header"))]);
            Language::preferred(&headers)
        };
        assert_eq!(preferred("zh-CN,zh;q=0.9,en;q=0.8"), Language::Chinese);
        assert_eq!(preferred("fr, en-GB;q=0.5"), Language::English);
        assert_eq!(preferred(""), Language::English);
    }
}
