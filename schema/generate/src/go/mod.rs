//! What the Go client takes from the schema.
//!
//! | file | content |
//! |---|---|
//! | `internal/wire` | what a client encodes and decodes, the types of all frames, opcodes and other numbers |
//! | `internal/serverside` | what a server encodes and decodes: for tests and the harness |
//! | `internal/conformance` | frames and policies in the JSON of the conformance suite |
//! | `limits`, and the client itself | limits, error codes, choices, the policy of a topic |

mod code;
mod codec;
mod elements;
mod harness;
mod lists;
mod messages;
mod policy;
mod public;
mod tables;

use crate::names::{pascal, sentence};
use crate::output::Output;
use crate::schema::{Bits, Elements, Field, Item, Kind, Record, Schema, Side};

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let file = |path: &'static str, text: String| Output::File { path, text };
    vec![
        file("clients/go/choices_gen.go", public::choices(schema)),
        file("clients/go/codes_gen.go", public::codes(schema)),
        file("clients/go/policy_gen.go", policy::public(schema)),
        file("clients/go/schema_gen_test.go", lists::lists(schema)),
        file("clients/go/limits/limits_gen.go", tables::limits(schema)),
        file("clients/go/internal/wire/tables_gen.go", tables::tables(schema)),
        file("clients/go/internal/wire/messages_gen.go", messages::messages(schema)),
        file("clients/go/internal/wire/elements_gen.go", elements::client(schema)),
        file("clients/go/internal/wire/requests_gen.go", codec::encoder(schema, Side::Request)),
        file("clients/go/internal/wire/responses_gen.go", codec::decoder(schema, Side::Response)),
        file("clients/go/internal/serverside/elements_gen.go", elements::server(schema)),
        file("clients/go/internal/serverside/requests_gen.go", codec::decoder(schema, Side::Request)),
        file("clients/go/internal/serverside/responses_gen.go", codec::encoder(schema, Side::Response)),
        file("clients/go/internal/conformance/elements_gen.go", harness::elements(schema)),
        file("clients/go/internal/conformance/frames_gen.go", harness::frames(schema)),
        file("clients/go/internal/conformance/policy_gen.go", policy::harness(schema)),
    ]
}

/// `cluster_id` as `ClusterID`.
fn name(snake: &str) -> String {
    snake
        .split('_')
        .map(|word| if word.eq_ignore_ascii_case("id") { "ID".to_owned() } else { pascal(word) })
        .collect()
}

/// A name for a variable.
fn variable(snake: &str) -> String {
    with_small_letter(&name(snake))
}

fn with_small_letter(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// `name: doc`, as a comment of something exported has it. Limits have their names in Go.
fn documented(schema: &Schema, name: &str, doc: &str) -> String {
    let mut doc = doc.trim_end_matches(": see below").to_owned();
    for limit in &schema.limits {
        doc = doc.replace(&format!("`{}`", limit.name), &format!("limits.{}", self::name(&limit.name)));
    }
    format!("{name}: {}", lowered(&sentence(&doc)))
}

/// A sentence that goes on behind a colon.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().collect::<String>() + letters.as_str()
        }
        _ => sentence.to_owned(),
    }
}

fn elements_name(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "Attributes",
        Elements::Filter => "Filter",
        Elements::Settings => "Settings",
    }
}

/// A part of a list of fields: a record whose fields stand there one after the other, or one other field.
enum Piece<'a> {
    Embedded(&'a Record),
    Field(&'a Field),
}

/// The fields with the records in them that the schema has there by `like`: in Go those are embedded.
fn pieces<'a>(schema: &'a Schema, of: &str, fields: &'a [Field]) -> Vec<Piece<'a>> {
    let (mut pieces, mut rest) = (Vec::new(), fields);
    while let Some((first, behind)) = rest.split_first() {
        let same = |record: &&Record| {
            record.name != of
                && record.fields.len() > 1
                && rest.len() >= record.fields.len()
                && record
                    .fields
                    .iter()
                    .zip(rest)
                    .all(|(one, other)| one.name == other.name && one.kind == other.kind)
        };
        // Records without a list of their own; of several that fit, the longest.
        match schema.records.iter().filter(same).max_by_key(|record| record.fields.len()) {
            Some(record) if is_shared(schema, record) => {
                pieces.push(Piece::Embedded(record));
                rest = rest.get(record.fields.len()..).unwrap_or_default();
            }
            _ => {
                pieces.push(Piece::Field(first));
                rest = behind;
            }
        }
    }
    pieces
}

/// True if no list consists of the record: it is only a part of other records and frames.
fn is_shared(schema: &Schema, record: &Record) -> bool {
    let frames = schema.requests.iter().chain(&schema.responses);
    !frames
        .flat_map(|frame| &frame.fields)
        .any(|field| field.kind == Kind::List(Item::Record(record.name.clone())))
}

/// The records that stand in the frames of one side.
fn records_of(schema: &Schema, side: Side) -> Vec<&Record> {
    let fields = || schema.frames(side).iter().flat_map(|frame| &frame.fields);
    let stands = |record: &&Record| {
        let name = &record.name;
        fields().any(|field| match &field.kind {
            Kind::List(Item::Record(of)) | Kind::Part(of) => of == name,
            _ => false,
        })
    };
    schema.records.iter().filter(stands).collect()
}

/// How many bytes a field takes in a frame, if that is always the same.
fn width(schema: &Schema, kind: &Kind) -> Option<usize> {
    match kind {
        Kind::Magic => Some(4),
        Kind::Number(width) => Some(*width),
        Kind::Signed => Some(8),
        Kind::Id => Some(16),
        Kind::Object(record) => Some(schema.record(record).fixed_bytes()),
        _ => None,
    }
}

/// The bits that a field may have, if it is a set of some.
fn known_bits(schema: &Schema, field: &Field) -> Option<u64> {
    schema.bits_of(field.bits.as_deref()).map(Bits::mask)
}
