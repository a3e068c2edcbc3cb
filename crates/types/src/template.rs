//! Texts with placeholders that a job fills in, such as `https://shop.example/orders/{key}?attempt={attempt}`.
//!
//! A name in braces is a placeholder. Other braces stay as they are, so that a template can be JSON.

/// A parsed template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// Filled in from the job.
    Placeholder(Placeholder),
}

/// The part of a job that a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The job's id.
    Id,
    /// Its topic.
    Topic,
    /// Its key; nothing without one.
    Key,
    /// The number of this attempt, from 1.
    Attempt,
    /// When it was due, in milliseconds since 1970.
    DueMs,
    /// Its lease, with which the receiver can finish it later.
    Lease,
    /// Its body.
    Body,
    /// Its body as a JSON string, with quotes.
    BodyJson,
    /// Its body in base64.
    BodyBase64,
    /// The fields of a JSON object in its body, form-encoded: `a=1&b=2`.
    BodyForm,
    /// As [`Self::BodyForm`], and from the second attempt on `exp_notify_nums`, the number of failed attempts, as
    /// php-delayqueue sends it.
    BodyFormRetries,
}

/// Why a text is not a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no {{name}} as at character {at}: use {{id}}, {{topic}}, {{key}}, {{attempt}}, {{due_ms}}, {{lease}}, {{body}}, \
     {{body.json}}, {{body.base64}}, {{body.form}} or {{body.form.retries}}"
)]
pub struct TemplateError {
    /// Position of the opening brace, from 1.
    pub at: usize,
}

impl Placeholder {
    /// Every placeholder, with its name.
    pub const ALL: [(&'static str, Self); 11] = [
        ("id", Self::Id),
        ("topic", Self::Topic),
        ("key", Self::Key),
        ("attempt", Self::Attempt),
        ("due_ms", Self::DueMs),
        ("lease", Self::Lease),
        ("body", Self::Body),
        ("body.json", Self::BodyJson),
        ("body.base64", Self::BodyBase64),
        ("body.form", Self::BodyForm),
        ("body.form.retries", Self::BodyFormRetries),
    ];

    /// The name between the braces.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, place)| *place == self).map_or("", |(name, _)| name)
    }
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// If a name in braces is not a known placeholder.
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, behind)) = rest.split_once('{') {
            plain.push_str(before);
            let name = behind.split_once('}').filter(|(name, _)| is_name(name));
            let Some((name, after)) = name else {
                plain.push('{');
                rest = behind;
                continue;
            };
            let place = Placeholder::ALL.into_iter().find(|(known, _)| *known == name);
            let at = || text.chars().count() - behind.chars().count();
            let (_, place) = place.ok_or_else(|| TemplateError { at: at() })?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Placeholder(place));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// True if the text depends on the job itself, and not only on its topic, attempt or due time.
    pub fn differs_by_job(&self) -> bool {
        self.0.iter().any(|piece| match piece {
            Piece::Placeholder(Placeholder::Topic | Placeholder::Attempt | Placeholder::DueMs)
            | Piece::Text(_) => false,
            Piece::Placeholder(
                Placeholder::Id
                | Placeholder::Key
                | Placeholder::Lease
                | Placeholder::Body
                | Placeholder::BodyJson
                | Placeholder::BodyBase64
                | Placeholder::BodyForm
                | Placeholder::BodyFormRetries,
            ) => true,
        })
    }

    /// Its pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }
}

/// True if this text in braces is meant as a placeholder.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_places() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let read = |text: &str| Template::read(text).map(|template| template.0);
        assert_eq!(read(""), Ok(Vec::new()));
        assert_eq!(read("{id}"), Ok(vec![Piece::Placeholder(Placeholder::Id)]));
        assert_eq!(
            read(r#"{"id":{id},"x":{"body":{body.json}}}"#),
            Ok(vec![
                text(r#"{"id":"#),
                Piece::Placeholder(Placeholder::Id),
                text(r#","x":{"body":"#),
                Piece::Placeholder(Placeholder::BodyJson),
                text("}}"),
            ])
        );
        assert_eq!(read("{}{ id }{1}{"), Ok(vec![text("{}{ id }{1}{")]));
        assert_eq!(read("é{jd}"), Err(TemplateError { at: 2 }));
        for (name, place) in Placeholder::ALL {
            assert_eq!(read(&format!("{{{name}}}")), Ok(vec![Piece::Placeholder(place)]));
        }
    }
}
