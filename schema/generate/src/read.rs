//! Reads the files of the schema and checks what they say.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::schema::{
    Bits, Choice, ChoiceValue, Composite, Constant, Element, ElementKind, Elements, ErrorCode, Field, Flag,
    Frame, Item, Kind, Level, Limit, Record, Repeat, RequestKind, Schema, Side, Unknown, UnknownCode,
};

/// Why the schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A file is no TOML, or has something that the schema does not know.
    #[error("schema/{0}.toml: {1}")]
    File(&'static str, #[source] toml::de::Error),
    /// What stands there does not fit together: where, and what is wrong.
    #[error("the schema, at {0}: {1}")]
    Wrong(String, String),
}

const FRAMES: &str = include_str!("../../frames.toml");
const CHOICES: &str = include_str!("../../choices.toml");
const ELEMENTS: &str = include_str!("../../elements.toml");
const ERRORS: &str = include_str!("../../errors.toml");
const LIMITS: &str = include_str!("../../limits.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameFile {
    record: Vec<RecordTable>,
    request: Vec<FrameTable>,
    response: Vec<FrameTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChoiceFile {
    choice: Vec<ChoiceTable>,
    bits: Vec<BitsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ElementFile {
    composite: Vec<RecordTable>,
    attribute: Vec<ElementTable>,
    condition: Vec<ElementTable>,
    setting: Vec<ElementTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorFile {
    error: Vec<ErrorTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitFile {
    limit: Vec<LimitTable>,
    constant: Vec<ConstantTable>,
    level: Vec<LevelTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordTable {
    name: String,
    doc: String,
    fields: Vec<FieldTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameTable {
    name: String,
    opcode: u8,
    doc: String,
    #[serde(default)]
    fields: Vec<FieldTable>,
    answer: Option<String>,
    kind: Option<String>,
    repeat: Option<String>,
    right: Option<String>,
    #[serde(default)]
    level: u32,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    proof: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldTable {
    name: Option<String>,
    like: Option<String>,
    r#type: Option<String>,
    of: Option<String>,
    doc: Option<String>,
    #[serde(default)]
    late: bool,
    min: Option<Bound>,
    max: Option<Bound>,
    choice: Option<String>,
    bits: Option<String>,
    default: Option<String>,
}

/// A number, or the name of a limit.
#[derive(Deserialize)]
#[serde(untagged)]
enum Bound {
    Number(u64),
    Limit(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChoiceTable {
    name: String,
    doc: String,
    open: Option<String>,
    unknown: Option<UnknownTable>,
    values: Vec<ValueTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnknownTable {
    number: u64,
    code: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueTable {
    number: u64,
    name: String,
    doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BitsTable {
    name: String,
    doc: String,
    values: Vec<FlagTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlagTable {
    bit: u32,
    name: String,
    doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ElementTable {
    tag: u16,
    name: String,
    cli: Option<String>,
    r#type: String,
    doc: String,
    #[serde(default)]
    critical: bool,
    #[serde(default)]
    repeats: bool,
    min: Option<Bound>,
    max: Option<Bound>,
    choice: Option<String>,
    bits: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorTable {
    number: u16,
    name: String,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    any: bool,
    doc: String,
    remedy: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitTable {
    name: String,
    value: u64,
    welcome: Option<String>,
    doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConstantTable {
    name: String,
    value: Word,
    doc: String,
}

/// A number, or one that TOML cannot hold, in hex.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Number(u64),
    Hex(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelTable {
    name: String,
    number: u32,
    doc: String,
}

/// The choices whose unknown numbers no client may keep: it would take an unknown outcome for a success.
const TRANSLATED: [&str; 2] = ["outcome", "applied"];

/// Set in the tag of an element that a server must understand.
const CRITICAL: u16 = 0x8000;

impl Schema {
    /// The schema of this version.
    pub fn load() -> Result<Self, SchemaError> {
        let limits: LimitFile = parse("limits", LIMITS)?;
        let frames: FrameFile = parse("frames", FRAMES)?;
        let choices: ChoiceFile = parse("choices", CHOICES)?;
        let elements: ElementFile = parse("elements", ELEMENTS)?;
        let errors: ErrorFile = parse("errors", ERRORS)?;
        let names = Names {
            limits: limits.limit.iter().map(|limit| (limit.name.clone(), limit.value)).collect(),
            choices: choices.choice.iter().map(|one| one.name.clone()).chain(["error".to_owned()]).collect(),
            bits: choices.bits.iter().map(|one| one.name.clone()).collect(),
            records: frames.record.iter().map(|one| one.name.clone()).collect(),
            composites: elements.composite.iter().map(|one| one.name.clone()).collect(),
        };
        let records = names.records(frames.record)?;
        let frames_of = |side, tables: Vec<FrameTable>| -> Result<Vec<Frame>, SchemaError> {
            tables.into_iter().map(|table| names.frame(side, table, &records)).collect()
        };
        let elements_of = |tables: Vec<ElementTable>| -> Result<Vec<Element>, SchemaError> {
            tables.into_iter().map(|table| names.element(table)).collect()
        };
        let (requests, responses) =
            (frames_of(Side::Request, frames.request)?, frames_of(Side::Response, frames.response)?);
        let (attributes, conditions, settings) = (
            elements_of(elements.attribute)?,
            elements_of(elements.condition)?,
            elements_of(elements.setting)?,
        );
        let errors: Vec<ErrorCode> = errors.error.into_iter().map(ErrorCode::from).collect();
        let schema = Self {
            composites: names.composites(elements.composite)?,
            records,
            requests,
            responses,
            choices: choices
                .choice
                .into_iter()
                .map(|table| Choice::read(table, &errors))
                .collect::<Result<_, _>>()?,
            bits: choices.bits.into_iter().map(Bits::from).collect(),
            attributes,
            conditions,
            settings,
            errors,
            limits: limits.limit.into_iter().map(Limit::from).collect(),
            constants: limits.constant.into_iter().map(Constant::read).collect::<Result<_, _>>()?,
            levels: limits.level.into_iter().map(Level::from).collect(),
        };
        schema.check()?;
        Ok(schema)
    }

    /// What one table says of another.
    fn check(&self) -> Result<(), SchemaError> {
        let any_name = |names: &[&str], wanted: &str| names.contains(&wanted);
        let responses: Vec<&str> = self.responses.iter().map(|frame| frame.name.as_str()).collect();
        let codes: Vec<&str> = self.errors.iter().map(|code| code.name.as_str()).collect();
        for request in &self.requests {
            let answer = request.answer.as_deref().unwrap_or_default();
            if !any_name(&responses, answer) {
                return wrong(&request.name, format!("no response is called {answer:?}"));
            }
            for code in &request.errors {
                if !any_name(&codes, code) {
                    return wrong(&request.name, format!("no error is called {code}"));
                }
            }
        }
        for (frames, range) in [(&self.requests, 1..0x80), (&self.responses, 0x80..0x100)] {
            let opcodes: Vec<u16> = frames.iter().map(|frame| u16::from(frame.opcode)).collect();
            if !opcodes.is_sorted_by(|one, next| one < next) || !opcodes.iter().all(|one| range.contains(one))
            {
                return wrong("the opcodes", "they do not rise, or are on the wrong side".to_owned());
            }
        }
        for elements in [&self.attributes, &self.conditions, &self.settings] {
            if !elements.is_sorted_by(|one, next| one.tag & !CRITICAL < next.tag & !CRITICAL) {
                return wrong("the tags", "they do not rise".to_owned());
            }
        }
        Ok(())
    }
}

/// What fields may refer to.
struct Names {
    limits: BTreeMap<String, u64>,
    choices: Vec<String>,
    bits: Vec<String>,
    records: Vec<String>,
    composites: Vec<String>,
}

impl Names {
    fn records(&self, tables: Vec<RecordTable>) -> Result<Vec<Record>, SchemaError> {
        let mut records: Vec<Record> = Vec::new();
        for RecordTable { name, doc, fields } in tables {
            let fields = self.fields(&name, fields, &records)?;
            records.push(Record { name, doc, fields });
        }
        Ok(records)
    }

    fn composites(&self, tables: Vec<RecordTable>) -> Result<Vec<Composite>, SchemaError> {
        let composite = |RecordTable { name, doc, fields }| {
            let fields = self.fields(&name, fields, &[])?;
            Ok(Composite { name, doc, fields })
        };
        tables.into_iter().map(composite).collect()
    }

    fn frame(&self, side: Side, table: FrameTable, records: &[Record]) -> Result<Frame, SchemaError> {
        let repeat = match (side, table.repeat.as_deref()) {
            (Side::Request, Some("safe")) => Repeat::Safe,
            (Side::Request, Some("safe_by_id")) => Repeat::SafeById,
            (Side::Request, Some("unsafe")) | (Side::Response, None) => Repeat::Unsafe,
            (_, other) => return wrong(&table.name, format!("repeat cannot be {other:?}")),
        };
        let kind = match (side, table.kind.as_deref()) {
            (Side::Request, Some("change")) => RequestKind::Change,
            (Side::Request, Some("read")) => RequestKind::Read,
            (Side::Request, Some("own")) | (Side::Response, None) => RequestKind::Own,
            (_, other) => return wrong(&table.name, format!("kind cannot be {other:?}")),
        };
        Ok(Frame {
            side,
            kind,
            fields: self.fields(&table.name, table.fields, records)?,
            name: table.name,
            opcode: table.opcode,
            doc: table.doc,
            answer: table.answer,
            repeat,
            right: table.right,
            level: table.level,
            errors: table.errors,
            is_proof: table.proof,
        })
    }

    fn fields(
        &self,
        place: &str,
        tables: Vec<FieldTable>,
        records: &[Record],
    ) -> Result<Vec<Field>, SchemaError> {
        let mut fields: Vec<Field> = Vec::new();
        for table in tables {
            if let Some(like) = &table.like {
                let Some(record) = records.iter().find(|record| record.name == *like) else {
                    return wrong(place, format!("no record {like} stands before it"));
                };
                let field = |field: &Field| Field {
                    is_late: field.is_late || table.late,
                    like: Some(like.clone()),
                    ..field.clone()
                };
                fields.extend(record.fields.iter().map(field));
            } else {
                fields.push(self.field(place, table)?);
            }
        }
        let is_late: Vec<bool> = fields.iter().map(|field| field.is_late).collect();
        if !is_late.is_sorted() {
            return wrong(place, "a field that may be absent stands before one that may not".to_owned());
        }
        Ok(fields)
    }

    fn field(&self, place: &str, table: FieldTable) -> Result<Field, SchemaError> {
        let name = table.name.unwrap_or_default();
        let place = format!("{place}.{name}");
        let kind = table.r#type.unwrap_or_default();
        Ok(Field {
            kind: self.kind(&place, &kind, table.of)?,
            doc: table.doc.unwrap_or_default(),
            is_late: table.late,
            min: self.bound(&place, table.min)?,
            max: self.bound(&place, table.max)?,
            choice: known(&place, &self.choices, table.choice)?,
            bits: known(&place, &self.bits, table.bits)?,
            default: table.default,
            like: None,
            name,
        })
    }

    fn kind(&self, place: &str, kind: &str, of: Option<String>) -> Result<Kind, SchemaError> {
        let of = match kind {
            "list" if matches!(of.as_deref(), Some("text8" | "u16")) => of,
            "list" | "part" | "object" => known(place, &self.records, of)?,
            _ => of,
        };
        Ok(match (kind, of) {
            ("magic", None) => Kind::Magic,
            ("u8", None) => Kind::Number(1),
            ("u16", None) => Kind::Number(2),
            ("u32", None) => Kind::Number(4),
            ("u64", None) => Kind::Number(8),
            ("u128", None) => Kind::Number(16),
            ("i64", None) => Kind::Signed,
            ("id", None) => Kind::Id,
            ("text8", None) => Kind::Text(1),
            ("text16", None) => Kind::Text(2),
            ("bytes8", None) => Kind::Bytes(1),
            ("bytes16", None) => Kind::Bytes(2),
            ("bytes32", None) => Kind::Bytes(4),
            ("texts8", None) => Kind::Texts,
            ("attributes", None) => Kind::Tagged(Elements::Attributes),
            ("filter", None) => Kind::Tagged(Elements::Filter),
            ("settings", None) => Kind::Tagged(Elements::Settings),
            ("reference", None) => Kind::Reference,
            ("text", None) => Kind::RestText,
            ("u32s", None) => Kind::RestNumbers,
            ("list", Some(of)) => Kind::List(match of.as_str() {
                "text8" => Item::Text,
                "u16" => Item::Number,
                _ => Item::Record(of),
            }),
            ("part", Some(of)) => Kind::Part(of),
            ("object", Some(of)) => Kind::Object(of),
            (kind, of) => return wrong(place, format!("there is no type {kind:?} of {of:?}")),
        })
    }

    fn element(&self, table: ElementTable) -> Result<Element, SchemaError> {
        let place = table.name.as_str();
        let kind = match table.r#type.as_str() {
            "u8" => ElementKind::Number(1),
            "u32" => ElementKind::Number(4),
            "u64" => ElementKind::Number(8),
            "text" => ElementKind::Text,
            "bytes" => ElementKind::Bytes,
            "flag" => ElementKind::Flag,
            composite if self.composites.iter().any(|known| known == composite) => {
                ElementKind::Composite(composite.to_owned())
            }
            other => return wrong(place, format!("there is no type {other:?}")),
        };
        Ok(Element {
            tag: if table.critical { table.tag | CRITICAL } else { table.tag },
            min: self.bound(place, table.min)?,
            max: self.bound(place, table.max)?,
            choice: known(place, &self.choices, table.choice)?,
            bits: known(place, &self.bits, table.bits)?,
            name: table.name,
            cli: table.cli,
            doc: table.doc,
            kind,
            repeats: table.repeats,
        })
    }

    fn bound(&self, place: &str, bound: Option<Bound>) -> Result<Option<u64>, SchemaError> {
        match bound {
            None => Ok(None),
            Some(Bound::Number(number)) => Ok(Some(number)),
            Some(Bound::Limit(name)) => match self.limits.get(&name) {
                Some(value) => Ok(Some(*value)),
                None => wrong(place, format!("there is no limit {name}")),
            },
        }
    }
}

fn parse<'a, T: Deserialize<'a>>(name: &'static str, text: &'a str) -> Result<T, SchemaError> {
    toml::from_str(text).map_err(|error| SchemaError::File(name, error))
}

fn wrong<T>(place: &str, why: String) -> Result<T, SchemaError> {
    Err(SchemaError::Wrong(place.to_owned(), why))
}

/// A name, if it is one of these.
fn known(place: &str, names: &[String], name: Option<String>) -> Result<Option<String>, SchemaError> {
    match name {
        Some(name) if !names.contains(&name) => wrong(place, format!("there is no {name}")),
        name => Ok(name),
    }
}

impl Choice {
    fn read(table: ChoiceTable, errors: &[ErrorCode]) -> Result<Self, SchemaError> {
        let value = |ValueTable { number, name, doc }| ChoiceValue { number, name, doc };
        let values: Vec<ChoiceValue> = table.values.into_iter().map(value).collect();
        let unknown = match table.unknown {
            None if TRANSLATED.contains(&table.name.as_str()) => {
                return wrong(&table.name, "it must say what stands for unknown numbers".to_owned());
            }
            None => None,
            Some(UnknownTable { number, .. }) if !values.iter().any(|value| value.number == number) => {
                return wrong(
                    &table.name,
                    format!("{number} cannot stand for unknown numbers: it is no choice"),
                );
            }
            Some(UnknownTable { number, code: None }) => Some(Unknown { number, code: None }),
            Some(UnknownTable { number, code: Some(name) }) => {
                match errors.iter().find(|error| error.name == name) {
                    Some(error) => {
                        Some(Unknown { number, code: Some(UnknownCode { number: error.number, name }) })
                    }
                    None => return wrong(&table.name, format!("no error is called {name}")),
                }
            }
        };
        Ok(Self { name: table.name, doc: table.doc, values, open: table.open, unknown })
    }
}

impl From<BitsTable> for Bits {
    fn from(table: BitsTable) -> Self {
        let flag = |FlagTable { bit, name, doc }| Flag { bit, name, doc };
        Self { name: table.name, doc: table.doc, values: table.values.into_iter().map(flag).collect() }
    }
}

impl From<ErrorTable> for ErrorCode {
    fn from(table: ErrorTable) -> Self {
        Self {
            number: table.number,
            name: table.name,
            is_retryable: table.retryable,
            is_for_any: table.any,
            doc: table.doc,
            remedy: table.remedy,
        }
    }
}

impl From<LimitTable> for Limit {
    fn from(table: LimitTable) -> Self {
        Self { name: table.name, value: table.value, welcome: table.welcome, doc: table.doc }
    }
}

impl Constant {
    fn read(table: ConstantTable) -> Result<Self, SchemaError> {
        let value = match &table.value {
            Word::Number(number) => Some(*number),
            Word::Hex(text) => text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()),
        };
        match value {
            Some(value) => Ok(Self { name: table.name, value, doc: table.doc }),
            None => wrong(&table.name, "its value is neither a number nor hex".to_owned()),
        }
    }
}

impl From<LevelTable> for Level {
    fn from(table: LevelTable) -> Self {
        Self { name: table.name, number: table.number, doc: table.doc }
    }
}

#[cfg(test)]
mod tests;
