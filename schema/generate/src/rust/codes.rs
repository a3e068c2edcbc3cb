//! Numbers: opcodes of responses, error codes, choices, bits, constants.

use std::fmt::Write as _;

use super::DO_NOT_EDIT;
use crate::names::{capitals, pascal, sentence};
use crate::schema::{Kind, Schema};

/// The choices that are no enum of the crate of the types.
const CHOICES: [&str; 9] =
    ["due_kind", "job_kind", "change", "outcome", "step", "paused", "which_paused", "fired", "pause"];

pub(super) fn file(schema: &Schema) -> String {
    let mut out = format!(
        "//! The numbers of the protocol: opcodes of responses, error codes, choices, bits.\n{DO_NOT_EDIT}use std::fmt;\n\nuse crate::opcode::opcodes;\n\n"
    );
    responses(schema, &mut out);
    errors(schema, &mut out);
    let _ = writeln!(out, "/// Numbers that stand for one of some choices.\npub(crate) mod choices {{");
    for choice in schema.choices.iter().filter(|choice| CHOICES.contains(&choice.name.as_str())) {
        let _ = writeln!(out, "    /// {}\n    pub(crate) mod {} {{", sentence(&choice.doc), choice.name);
        for value in &choice.values {
            let _ = writeln!(
                out,
                "        /// {}\n        pub(crate) const {}: u8 = {};",
                sentence(&value.doc),
                capitals(&value.name),
                value.number
            );
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n\n/// Sets of bits.\npub(crate) mod bits {\n");
    for bits in schema.bits.iter().filter(|bits| bits.name != "states") {
        let number = bits_type(schema, &bits.name);
        let _ = writeln!(out, "    /// {}\n    pub(crate) mod {} {{", sentence(&bits.doc), bits.name);
        for flag in &bits.values {
            let _ = writeln!(
                out,
                "        /// {}\n        pub(crate) const {}: {number} = 1 << {};",
                sentence(&flag.doc),
                capitals(&flag.name),
                flag.bit
            );
        }
        out.push_str("    }\n");
    }
    out.push_str("}\n");
    for constant in schema.constants.iter().filter(|constant| constant.name.starts_with("RELEASE_")) {
        let _ = writeln!(
            out,
            "\n/// {}\npub(crate) const {}: u64 = {};",
            sentence(&constant.doc),
            constant.name,
            hex(constant.value)
        );
    }
    out
}

/// The type of the field that has these bits.
fn bits_type(schema: &Schema, bits: &str) -> &'static str {
    let frames = schema.requests.iter().chain(&schema.responses).flat_map(|frame| &frame.fields);
    let mut fields = frames.chain(schema.records.iter().flat_map(|record| &record.fields));
    match fields.find(|field| field.bits.as_deref() == Some(bits)).map(|field| &field.kind) {
        Some(Kind::Number(1)) => "u8",
        Some(Kind::Number(2)) => "u16",
        Some(Kind::Number(4)) => "u32",
        other => panic!("{bits}: say which type Rust has for {other:?}"),
    }
}

fn responses(schema: &Schema, out: &mut String) {
    out.push_str("opcodes! {\n    /// What a server may send.\n    ResponseOpcode {\n");
    for frame in &schema.responses {
        let _ = writeln!(
            out,
            "        /// {}\n        {} = 0x{:02X}, \"{}\";",
            sentence(&frame.doc),
            pascal(&frame.name),
            frame.opcode,
            frame.name
        );
    }
    out.push_str("    }\n}\n\n");
}

fn errors(schema: &Schema, out: &mut String) {
    out.push_str(
        "/// Why a request, or one item of a batch, was refused. The numbers are stable.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr(u16)]\npub enum ErrorCode {\n",
    );
    for code in &schema.errors {
        let _ =
            writeln!(out, "    /// {}\n    {} = {},", sentence(&code.doc), pascal(&code.name), code.number);
    }
    out.push_str(
        "    /// A code that this version does not know; a newer server sent it. Never sent itself.\n    Unknown = u16::MAX,\n}\n\n\
         impl ErrorCode {\n    /// Every code that is sent, for tables and tests.\n",
    );
    let _ = writeln!(out, "    pub const ALL: [Self; {}] = [", schema.errors.len());
    for code in &schema.errors {
        let _ = writeln!(out, "        Self::{},", pascal(&code.name));
    }
    out.push_str(
        "    ];\n\n    /// What every request may be told.\n    pub(crate) const ANY: &[Self] = &[\n",
    );
    for code in schema.errors.iter().filter(|code| code.is_for_any) {
        let _ = writeln!(out, "        Self::{},", pascal(&code.name));
    }
    out.push_str("    ];\n\n    /// True if the same request may succeed later without a change.\n");
    let retryable: Vec<String> = schema
        .errors
        .iter()
        .filter(|code| code.is_retryable)
        .map(|code| format!("Self::{}", pascal(&code.name)))
        .collect();
    let _ = writeln!(
        out,
        "    pub fn retryable(self) -> bool {{\n        matches!(self, {})\n    }}\n",
        retryable.join(" | ")
    );
    out.push_str("    /// The name that `protocol.md` gives it.\n    pub fn name(self) -> &'static str {\n        match self {\n");
    for code in &schema.errors {
        let _ = writeln!(out, "            Self::{} => \"{}\",", pascal(&code.name), code.name);
    }
    out.push_str(
        "            Self::Unknown => \"UNKNOWN\",\n        }\n    }\n}\n\n\
         impl fmt::Display for ErrorCode {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n        \
         f.write_str(self.name())\n    }\n}\n\n",
    );
}

/// A number in hex, with a `_` between each four digits.
fn hex(number: u64) -> String {
    let digits = format!("{number:016x}");
    let groups: Vec<&str> =
        digits.as_bytes().chunks(4).filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("0x{}", groups.join("_"))
}
