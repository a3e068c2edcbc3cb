//! Conditions on the reply to a call-back, such as `{res.code} != 200 && {res.data.ok} == 'no'`.
//!
//! ```text
//! condition = all ("||" all)*
//! all       = test ("&&" test)*
//! test      = "(" condition ")" | operand ("==" | "!=" | "<=" | ">=" | "<" | ">") operand
//! operand   = "{status}" | "{body}" | "{res" ("." name)* "}" | number | 'text' | "text" | true | false | null
//! ```
//!
//! `{res.data.ok}` is a field of a JSON reply; a number in place of a name is a list index. A missing field is `null`.
//! [`compare`] says how values are compared. Nothing is ever executed.

mod compare;

use std::borrow::Cow;

use compare::Relation;
pub use compare::Rules;

/// A parsed condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Test);

/// Why a text is not a condition, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a condition: expected {expected} at character {at}")]
pub struct ConditionError {
    /// Position of the character, from 1.
    pub at: usize,
    /// What the parser expected there.
    pub expected: &'static str,
}

/// What a condition compares.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A missing field, or `null`.
    Null,
    /// True or false.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// The values of an object by their names, or of a list by their indices.
    Items(Vec<(String, Self)>),
}

/// A part of the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The HTTP status.
    Status,
    /// The reply as text.
    Body,
    /// A field of a JSON reply, by its path; an empty path is the whole reply.
    Field(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Any(Vec<Self>),
    All(Vec<Self>),
    Compare(Operand, Relation, Operand),
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Part(Part),
    Value(Value<'static>),
}

/// Limit on nested parentheses.
const DEPTH_MAX: usize = 16;

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    ///
    /// If the text is not a condition.
    pub fn read(text: &str) -> Result<Self, ConditionError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let condition = Self(reader.condition()?);
        reader.skip_space();
        if reader.rest().is_empty() { Ok(condition) } else { Err(reader.expected("&&, || or the end")) }
    }

    /// True if the condition needs the reply's body, not only its status.
    pub fn reads_reply(&self) -> bool {
        self.0.names(&|part| matches!(part, Part::Body | Part::Field(_)))
    }

    /// True if the condition is about nothing but fields of a JSON reply.
    pub fn is_about_fields(&self) -> bool {
        !self.0.names(&|part| matches!(part, Part::Status | Part::Body))
    }

    /// Evaluates the condition; `look` returns the parts of the reply.
    pub fn holds<'a>(&self, rules: Rules, look: &impl Fn(&Part) -> Value<'a>) -> bool {
        self.0.holds(rules, look)
    }
}

impl Test {
    /// True if it names such a part.
    fn names(&self, is_such: &impl Fn(&Part) -> bool) -> bool {
        match self {
            Self::Any(tests) | Self::All(tests) => tests.iter().any(|test| test.names(is_such)),
            Self::Compare(left, _, right) => {
                [left, right].into_iter().any(|side| matches!(side, Operand::Part(part) if is_such(part)))
            }
        }
    }

    fn holds<'a>(&self, rules: Rules, look: &impl Fn(&Part) -> Value<'a>) -> bool {
        match self {
            Self::Any(tests) => tests.iter().any(|test| test.holds(rules, look)),
            Self::All(tests) => tests.iter().all(|test| test.holds(rules, look)),
            Self::Compare(left, relation, right) => {
                relation.holds(rules, &left.value(look), &right.value(look))
            }
        }
    }
}

impl Operand {
    fn value<'a>(&self, look: &impl Fn(&Part) -> Value<'a>) -> Value<'a> {
        match self {
            Self::Part(part) => look(part),
            Self::Value(value) => value.clone(),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The position in bytes.
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn expected(&self, expected: &'static str) -> ConditionError {
        let before = self.text.get(..self.at).unwrap_or_default();
        ConditionError { at: before.chars().count() + 1, expected }
    }

    /// Consumes `token` if it comes next, after spaces.
    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn condition(&mut self) -> Result<Test, ConditionError> {
        let mut tests = vec![self.all()?];
        while self.take("||") {
            tests.push(self.all()?);
        }
        Ok(only(tests, Test::Any))
    }

    fn all(&mut self) -> Result<Test, ConditionError> {
        let mut tests = vec![self.test()?];
        while self.take("&&") {
            tests.push(self.test()?);
        }
        Ok(only(tests, Test::All))
    }

    fn test(&mut self) -> Result<Test, ConditionError> {
        if !self.take("(") {
            let left = self.operand()?;
            let relation = self.relation()?;
            return Ok(Test::Compare(left, relation, self.operand()?));
        }
        if self.depth == DEPTH_MAX {
            return Err(self.expected("at most 16 parentheses within each other"));
        }
        self.depth += 1;
        let inner = self.condition()?;
        self.depth -= 1;
        if self.take(")") { Ok(inner) } else { Err(self.expected("&&, || or )")) }
    }

    fn relation(&mut self) -> Result<Relation, ConditionError> {
        // Longer operators come first.
        let relations = [
            ("==", Relation::Equal),
            ("!=", Relation::Unequal),
            ("<>", Relation::Unequal),
            ("<=", Relation::LessOrEqual),
            (">=", Relation::MoreOrEqual),
            ("<", Relation::Less),
            (">", Relation::More),
        ];
        let found = relations.into_iter().find(|(token, _)| self.take(token));
        found.map(|(_, relation)| relation).ok_or_else(|| self.expected("==, !=, <, <=, > or >="))
    }

    fn operand(&mut self) -> Result<Operand, ConditionError> {
        const EXPECTED: &str = "{status}, {body}, {res...}, a number, a text in quotes, true, false or null";
        self.skip_space();
        for quote in ['\'', '"'] {
            if self.take(quote.encode_utf8(&mut [0; 4])) {
                return self.text(quote).map(|text| Operand::Value(Value::Text(Cow::Owned(text))));
            }
        }
        if self.take("{") {
            return self.part().map(Operand::Part);
        }
        let begin = self.at;
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let word = self.rest().split(|c| !is_of_word(c)).next().unwrap_or_default();
        self.at += word.len();
        // In PHP, `010` is 8.
        let is_octal = word.trim_start_matches(['+', '-']).starts_with('0') && word.parse() != Ok(0_i64);
        let value = match (&*word.to_ascii_lowercase(), word.parse(), word.parse::<f64>()) {
            ("true", ..) => Value::Truth(true),
            ("false", ..) => Value::Truth(false),
            ("null", ..) => Value::Null,
            (_, Ok(whole), _) if !is_octal => Value::Whole(whole),
            (_, Err(_), Ok(number)) if number.is_finite() => Value::Number(number),
            _ => {
                self.at = begin;
                return Err(self.expected(EXPECTED));
            }
        };
        Ok(Operand::Value(value))
    }

    /// Parses a text; the opening quotation mark is consumed. A backslash escapes as in PHP.
    fn text(&mut self, quote: char) -> Result<String, ConditionError> {
        const PLAIN: &str =
            "a text without variables, and without escapes other than \\n, \\r, \\t, \\\\, \\\" and \\$";
        let (mut text, mut characters) = (String::new(), self.rest().char_indices().peekable());
        let refused = |at: usize| Err(Self { at: self.at + at, ..*self }.expected(PLAIN));
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let escaped = match (character, next) {
                (end, _) if end == quote => {
                    self.at += at + end.len_utf8();
                    return Ok(text);
                }
                ('\\', Some(next)) if next == '\\' || next == quote => Some(next),
                ('\\', Some('n')) if quote == '"' => Some('\n'),
                ('\\', Some('r')) if quote == '"' => Some('\r'),
                ('\\', Some('t')) if quote == '"' => Some('\t'),
                ('\\', Some('$')) if quote == '"' => Some('$'),
                ('\\', Some(next)) if quote == '"' && "01234567xuvef".contains(next) => return refused(at),
                ('$', Some(next)) if quote == '"' && (next.is_alphabetic() || "_{".contains(next)) => {
                    return refused(at);
                }
                ('{', Some('$')) if quote == '"' => return refused(at),
                _ => None,
            };
            if escaped.is_some() {
                characters.next();
            }
            text.push(escaped.unwrap_or(character));
        }
        Err(self.expected("a text that ends"))
    }

    /// Parses a part of the reply; the opening brace is consumed.
    fn part(&mut self) -> Result<Part, ConditionError> {
        const EXPECTED: &str = "status}, body} or res and names, as in {res.data.ok}";
        let end = self.rest().find('}').ok_or_else(|| self.expected(EXPECTED))?;
        let path = self.rest().get(..end).unwrap_or_default().trim();
        let mut names = path.split('.').map(str::to_owned);
        let part = match (names.next().as_deref(), path) {
            (_, "status") => Part::Status,
            (_, "body") => Part::Body,
            (Some("res"), _) => Part::Field(names.collect()),
            _ => return Err(self.expected(EXPECTED)),
        };
        if let Part::Field(names) = &part
            && names.iter().any(String::is_empty)
        {
            return Err(self.expected(EXPECTED));
        }
        self.at += end + 1;
        Ok(part)
    }
}

/// A single test is returned as it is.
fn only(mut tests: Vec<Test>, several: impl Fn(Vec<Test>) -> Test) -> Test {
    match tests.pop() {
        Some(test) if tests.is_empty() => test,
        last => {
            tests.extend(last);
            several(tests)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply with status 200 and `{"code":"201","ok":"no","n":5,"yes":true}`.
    fn reply(part: &Part) -> Value<'static> {
        let text = |text: &'static str| Value::Text(Cow::Borrowed(text));
        match part {
            Part::Status => Value::Whole(200),
            Part::Body => text("the reply"),
            Part::Field(names) => match names.join(".").as_str() {
                "code" => text("201"),
                "data.ok" => text("no"),
                "n" => Value::Whole(5),
                "yes" => Value::Truth(true),
                _ => Value::Null,
            },
        }
    }

    #[test]
    fn replies_are_judged() {
        for (text, holds) in [
            ("{res.code} != 200 && {res.data.ok} == 'no'", true),
            ("{res.code}==201", true),
            ("{res.code} == '201'", true),
            ("{res.data.ok} == \"yes\" || {status} >= 200", true),
            ("{status} > 200 || {status} < 200", false),
            ("{status} == 200 && {res.n} == 4 || {res.n} <= 5", true),
            ("{status} == 200 && ({res.n} == 4 || {res.n} == -5.0)", false),
            ("{res.gone} == null", true),
            ("{res.gone} == 0", false),
            ("{res.gone} < 1", false),
            ("{res.yes} == true && {res.yes} != false", true),
            ("{res.yes} == 'true'", false),
            ("{body} == 'the reply' && 'b' > 'a'", true),
            (" ( ( {res} == null ) ) ", true),
            ("'||' == '&&'", false),
        ] {
            assert_eq!(
                Condition::read(text).map(|condition| condition.holds(Rules::Plain, &reply)),
                Ok(holds),
                "{text}"
            );
        }
    }

    #[test]
    fn those_that_read_a_reply_are_known() {
        for (text, reads) in [
            ("{status} == 200 && 1 == 1", false),
            ("{status} == 200 && (1 == 1 || 'no' == {res.ok})", true),
            ("{body} != ''", true),
        ] {
            assert_eq!(Condition::read(text).map(|condition| condition.reads_reply()), Ok(reads), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_its_place() {
        for (text, at) in [
            ("", 1),
            ("{res.code}", 11),
            ("{res.code} = 200", 12),
            ("{res.code} == ", 15),
            ("{res.code} == 200 &&", 21),
            ("{res.code} == 200 & {status} == 1", 19),
            ("({status} == 1", 15),
            ("{status} == 1)", 14),
            ("{res..a} == 1", 2),
            ("{resx} == 1", 2),
            ("{res.code == 1", 2),
            ("system('rm') == 1", 1),
            ("ä == 1", 1),
            ("'ä' == 'x", 9),
            ("1 == NaN", 6),
            ("1 == inf", 6),
            ("1 == 1e999", 6),
        ] {
            assert_eq!(Condition::read(text).map_err(|error| error.at), Err(at), "{text}");
        }
        let deep = format!("{}1 == 1{}", "(".repeat(17), ")".repeat(17));
        assert!(Condition::read(&deep).is_err());
        let just = format!("{}1 == 1{}", "(".repeat(16), ")".repeat(16));
        assert!(Condition::read(&just).is_ok());
    }
}
