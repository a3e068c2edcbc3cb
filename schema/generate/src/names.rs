//! Names in the styles of the languages, and doc texts without Markdown.

/// `new_job` or `NEW_JOB` as `NewJob`.
pub(crate) fn pascal(name: &str) -> String {
    name.split('_').map(capitalised).collect()
}

/// `new_job` or `NEW_JOB` as `newJob`.
pub(crate) fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let mut letters = pascal.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}

/// `new_job` as `NEW_JOB`.
pub(crate) fn capitals(name: &str) -> String {
    name.to_ascii_uppercase()
}

/// A number with a comma between each three digits.
pub(crate) fn grouped(number: u64, comma: char) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(comma);
        }
        out.push(digit);
    }
    out
}

/// A doc text as a sentence: with a capital, a full stop, and the words of a link in place of the link.
pub(crate) fn sentence(doc: &str) -> String {
    let plain = without_links(doc);
    let text = plain.trim().trim_end_matches('.');
    if text.is_empty() {
        return String::new();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str() + "."
}

/// `[words](#place)` as `words`.
pub(crate) fn without_links(doc: &str) -> String {
    let (mut out, mut rest) = (String::new(), doc);
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        let words = link.split_once("](").and_then(|(words, end)| Some((words, end.split_once(')')?.1)));
        if let Some((words, after)) = words {
            out.push_str(words);
            rest = after;
        } else {
            out.push('[');
            rest = link;
        }
    }
    out + rest
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase().to_string()).unwrap_or_default();
    first + &letters.as_str().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_the_style_of_a_language() {
        assert_eq!((pascal("TOPIC_SET").as_str(), camel("due_ms").as_str()), ("TopicSet", "dueMs"));
        assert_eq!((capitals("due_ms").as_str(), camel("KICK").as_str()), ("DUE_MS", "kick"));
    }

    #[test]
    fn a_doc_text_becomes_a_sentence() {
        assert_eq!(sentence("the [due point](#conventions), in `ms`"), "The due point, in `ms`.");
        assert_eq!(sentence("a list [1, 2]"), "A list [1, 2].");
        assert_eq!((grouped(1_048_576, ','), grouped(100, '_')), ("1,048,576".to_owned(), "100".to_owned()));
    }
}
