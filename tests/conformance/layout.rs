//! The fields of each frame, as `conformance/frames.txt` lists them.
//!
//! A second description of the wire beside the codec in `crates/protocol/src`: it knows where the fields are and what they are
//! called, and nothing of what they mean or which values are allowed.

use std::sync::OnceLock;

const FRAMES: &str = include_str!("../../conformance/frames.txt");

/// Who sends a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A client.
    Request,
    /// The server.
    Response,
}

/// What a frame consists of.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) side: Side,
    pub(crate) opcode: u8,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The length stands here, the bytes follow later.
    pub(crate) is_piece: bool,
    /// It may be absent.
    pub(crate) is_late: bool,
}

/// What stands in a field.
#[derive(Debug)]
pub(crate) enum Kind {
    /// The four bytes that a HELLO begins with.
    Magic,
    /// A number of so many bytes.
    Number(usize),
    /// A signed number of eight bytes.
    Signed,
    /// Sixteen bytes.
    Id,
    /// Text behind a length of so many bytes.
    Text(usize),
    /// Bytes behind a length of so many bytes.
    Bytes(usize),
    /// Elements with tags, behind a length of two bytes.
    Tagged(Elements),
    /// The bytes of all pieces so far follow here.
    Pieces,
    /// A job's id or key.
    Reference,
    /// Some texts behind their number.
    Texts,
    /// Items.
    List(Vec<Field>),
    /// Fields that are one object in JSON.
    Object(Vec<Field>),
}

/// Which elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    Attributes,
    Filter,
    Settings,
}

impl Side {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "request" => Some(Self::Request),
            "response" => Some(Self::Response),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// Every frame.
pub(crate) fn layouts() -> &'static [Layout] {
    static LAYOUTS: OnceLock<Vec<Layout>> = OnceLock::new();
    LAYOUTS.get_or_init(|| {
        let lines = FRAMES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(parse).collect()
    })
}

/// The frame with this opcode.
pub(crate) fn by_opcode(side: Side, opcode: u8) -> Option<&'static Layout> {
    layouts().iter().find(|layout| layout.side == side && layout.opcode == opcode)
}

/// The frame of this name.
pub(crate) fn by_name(side: Side, name: &str) -> Option<&'static Layout> {
    layouts().iter().find(|layout| layout.side == side && layout.name == name)
}

fn parse(line: &str) -> Layout {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_else(|| panic!("side, opcode and name: {line}"));
    let side = Side::from_name(word()).unwrap_or_else(|| panic!("a side: {line}"));
    let opcode = word().strip_prefix("0x").and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let opcode = opcode.unwrap_or_else(|| panic!("an opcode: {line}"));
    let name = word().to_owned();
    let fields = fields(&mut words);
    assert!(words.next().is_none(), "too many closing brackets: {line}");
    Layout { side, opcode, name, fields }
}

/// The fields up to the closing bracket or the end.
fn fields<'a>(words: &mut impl Iterator<Item = &'a str>) -> Vec<Field> {
    let (mut fields, mut is_late) = (Vec::new(), false);
    while let Some(word) = words.next() {
        let field =
            |name: &str, kind: Kind, is_piece: bool| Field { name: name.to_owned(), kind, is_piece, is_late };
        match word {
            "]" | "}" => break,
            "?" => is_late = true,
            "." => fields.push(field("", Kind::Pieces, false)),
            "magic" => fields.push(field("", Kind::Magic, false)),
            "ref" => fields.push(field("", Kind::Reference, false)),
            word => {
                let parsed = if let Some(name) = word.strip_suffix('[') {
                    field(name, Kind::List(self::fields(words)), false)
                } else if let Some(name) = word.strip_suffix('{') {
                    field(name, Kind::Object(self::fields(words)), false)
                } else {
                    let (name, kind) = word.split_once(':').unwrap_or_else(|| panic!("no type: {word}"));
                    field(name, self::kind(kind.trim_end_matches('^')), kind.ends_with('^'))
                };
                fields.push(parsed);
            }
        }
    }
    fields
}

fn kind(name: &str) -> Kind {
    match name {
        "u8" => Kind::Number(1),
        "u16" => Kind::Number(2),
        "u32" => Kind::Number(4),
        "u64" => Kind::Number(8),
        "u128" => Kind::Number(16),
        "i64" => Kind::Signed,
        "id" => Kind::Id,
        "text8" => Kind::Text(1),
        "text16" => Kind::Text(2),
        "bytes16" => Kind::Bytes(2),
        "bytes32" => Kind::Bytes(4),
        "texts8" => Kind::Texts,
        "attributes" => Kind::Tagged(Elements::Attributes),
        "filter" => Kind::Tagged(Elements::Filter),
        "settings" => Kind::Tagged(Elements::Settings),
        other => panic!("no type {other}"),
    }
}
