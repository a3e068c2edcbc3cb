//! Opcodes, choices, bits, limits and other numbers.

use super::code::{Code, quoted};
use super::{documented, name};
use crate::names::{grouped, sentence};
use crate::schema::{Frame, Repeat, Schema, Side};

/// The limits, as a package of their own.
pub(super) fn limits(schema: &Schema) -> String {
    let mut code = Code::file("limits", &[]);
    code.lines(
        "\n// The limits of a queue. A name says its unit, Bytes or Ms; all others are counts.\nconst (",
    );
    for limit in &schema.limits {
        let mut doc = documented(schema, &name(&limit.name), &limit.doc);
        if let Some(field) = &limit.welcome {
            let server = " A server may be configured otherwise: this is its default, and WELCOME shows ";
            doc = [&doc, server, field, "."].concat();
        }
        code.comment(&doc);
        code.lines(&format!("{} = {}", name(&limit.name), literal(limit.value)));
    }
    code.lines(")");
    code.finish()
}

/// A number as Go writes it.
pub(super) fn literal(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        number if number >= 1 << 60 => format!("{number:#x}"),
        number => grouped(number, '_'),
    }
}

/// The numbers of the wire.
pub(super) fn tables(schema: &Schema) -> String {
    let mut code = Code::file("wire", &[]);
    for constant in &schema.constants {
        let constant_name = name(&constant.name);
        code.lines("");
        code.comment(&documented(schema, &constant_name, &constant.doc));
        code.lines(&format!("const {constant_name} = {}", literal(constant.value)));
    }
    let job_bytes = schema.record("new_job").fixed_bytes();
    code.lines("\n// NewJobBytes is the length of the fixed part of a job.");
    code.lines(&format!("const NewJobBytes = {job_bytes}"));
    opcodes(schema, &mut code);
    for choice in &schema.choices {
        code.lines("");
        code.comment(&sentence(&choice.doc));
        code.lines("const (");
        let rows = choice.values.iter().map(|value| {
            (format!("{}{}", name(&choice.name), name(&value.name)), format!("= {}", value.number))
        });
        code.rows(&rows.collect::<Vec<_>>());
        code.lines(")");
    }
    for bits in &schema.bits {
        code.lines("");
        code.comment(&sentence(&bits.doc));
        code.lines("const (");
        // `StatesReady` is a bit, `StateReady` a choice.
        let singular = bits.name.trim_end_matches('s');
        let is_choice = schema.choices.iter().any(|choice| choice.name == singular);
        let prefix = name(if is_choice { &bits.name } else { singular });
        let rows = bits
            .values
            .iter()
            .map(|flag| (format!("{prefix}{}", name(&flag.name)), format!("= 1 << {}", flag.bit)));
        code.rows(&rows.collect::<Vec<_>>());
        code.lines(")");
    }
    code.finish()
}

fn opcodes(schema: &Schema, code: &mut Code) {
    for side in [Side::Request, Side::Response] {
        code.lines(&format!("\n// The {}s.\nconst (", side.name()));
        let row =
            |frame: &Frame| (format!("Op{}", name(&frame.name)), format!("Opcode = {:#04x}", frame.opcode));
        code.rows(&schema.frames(side).iter().map(row).collect::<Vec<_>>());
        code.lines(")");
    }
    code.lines(
        "\n// opcodes has what is known of each opcode of this version.\nvar opcodes = [256]opcodeEntry{",
    );
    let row = |frame: &Frame| {
        let repeat = match frame.repeat {
            Repeat::Safe => ", repeat: RepeatSafe",
            Repeat::SafeById => ", repeat: RepeatSafeByID",
            Repeat::Unsafe => "",
        };
        let answer =
            frame.answer.as_ref().map_or_else(String::new, |answer| format!(", answer: Op{}", name(answer)));
        let proof = if frame.is_proof { ", isProof: true" } else { "" };
        (
            format!("Op{}:", name(&frame.name)),
            format!("{{name: {}{answer}{repeat}{proof}}},", quoted(&frame.name)),
        )
    };
    code.rows(&schema.requests.iter().chain(&schema.responses).map(row).collect::<Vec<_>>());
    code.lines("}");
}
