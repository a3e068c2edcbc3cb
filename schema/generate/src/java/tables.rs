//! Plain tables: opcodes, choices, bits, limits and other numbers.

use crate::java::code::Code;
use crate::names::{capitals, grouped, pascal};
use crate::schema::{Choice, Schema};

pub(super) const PUBLIC: &str = "io.adjourn.client";
pub(super) const WIRE: &str = "io.adjourn.client.internal.wire";

/// Choices that callers see, as types of their own: the type, what a newer number is called, and constants with other names.
struct PublicChoice {
    choice: &'static str,
    java: &'static str,
    newer: Option<&'static str>,
    renamed: &'static [(&'static str, &'static str)],
}

const PUBLIC_CHOICES: [PublicChoice; 5] = [
    PublicChoice { choice: "if_exists", java: "IfExists", newer: None, renamed: &[] },
    PublicChoice { choice: "order", java: "ListOrder", newer: None, renamed: &[] },
    PublicChoice { choice: "state", java: "JobState", newer: Some("UNKNOWN"), renamed: &[] },
    PublicChoice {
        choice: "buried",
        java: "BuriedReason",
        newer: Some("UNKNOWN"),
        renamed: &[("CONSUMER", "BY_CONSUMER")],
    },
    PublicChoice { choice: "applied", java: "Applied", newer: None, renamed: &[] },
];

pub(super) fn opcodes(schema: &Schema) -> String {
    let mut code = Code::file(WIRE, &[]);
    code.doc("The opcodes of the protocol");
    code.open("public enum Opcode");
    let frames: Vec<_> = schema.requests.iter().chain(&schema.responses).collect();
    for (place, frame) in frames.iter().enumerate() {
        code.doc(&frame.doc);
        let end = if place + 1 == frames.len() { ";" } else { "," };
        code.line(&format!("{}({:#04x}){end}", frame.name, frame.opcode));
    }
    code.blank();
    code.lines(
        "
private static final Opcode[] BY_NUMBER = new Opcode[256];

static {
    for (Opcode opcode : values()) {
        BY_NUMBER[opcode.number] = opcode;
    }
}

private final int number;

Opcode(int number) {
    this.number = number;
}

public int number() {
    return number;
}

/** The opcode of this number, or {@code null} if a newer peer uses one that this client does not know. */
public static Opcode of(int number) {
    return BY_NUMBER[number & 0xff];
}",
    );
    code.close();
    code.finish()
}

/// The numbers of those choices that are no type of the public API.
pub(super) fn choices(schema: &Schema) -> String {
    let mut code = Code::file(WIRE, &[]);
    code.doc("The numbers of choices that are no types of the public API");
    code.open("public final class Choice");
    code.open("private Choice()");
    code.close();
    for choice in &schema.choices {
        if PUBLIC_CHOICES.iter().any(|public| public.choice == choice.name) || choice.name == "late_action" {
            continue;
        }
        let values =
            choice.values.iter().map(|one| (capitals(&one.name), one.number.to_string(), one.doc.clone()));
        numbers(&mut code, &pascal(&choice.name), &choice.doc, values);
    }
    code.close();
    code.finish()
}

pub(super) fn bits(schema: &Schema) -> String {
    let mut code = Code::file(WIRE, &[]);
    code.doc("The bits of marks, options and sets");
    code.open("public final class Bits");
    code.open("private Bits()");
    code.close();
    for bits in &schema.bits {
        let values = bits
            .values
            .iter()
            .map(|one| (capitals(&one.name), format!("{:#x}", 1 << one.bit), one.doc.clone()));
        numbers(&mut code, &pascal(&bits.name), &bits.doc, values);
    }
    code.close();
    code.finish()
}

fn numbers(code: &mut Code, name: &str, doc: &str, values: impl Iterator<Item = (String, String, String)>) {
    code.blank();
    code.doc(doc);
    code.open(&format!("public static final class {name}"));
    for (name, number, doc) in values {
        code.doc(&doc);
        code.line(&format!("public static final int {name} = {number};"));
    }
    code.blank();
    code.open(&format!("private {name}()"));
    code.close();
    code.close();
}

pub(super) fn constants(schema: &Schema) -> String {
    let mut code = Code::file(WIRE, &[]);
    code.doc("Numbers of the protocol that are no limits");
    code.open("public final class Constants");
    for constant in &schema.constants {
        code.doc(&constant.doc);
        code.line(&constant_of(&constant.name, constant.value));
    }
    for level in &schema.levels {
        code.doc(&format!("The feature level that all members of a cluster need for {}", level.doc));
        code.line(&format!("public static final int LEVEL_{} = {};", level.name, level.number));
    }
    code.blank();
    code.open("private Constants()");
    code.close();
    code.close();
    code.finish()
}

pub(super) fn limits(schema: &Schema) -> String {
    let mut code = Code::file(PUBLIC, &[]);
    code.doc(
        "The limits of the queue. A name says its unit, BYTES or MS; all others are counts. Some are settings of a server: then this is \
         their default",
    );
    code.open("public final class Limits");
    for limit in &schema.limits {
        let default = if limit.welcome.is_some() { ": the server's default" } else { "" };
        code.doc(&format!("{}{default}", limit.doc));
        code.line(&constant_of(&limit.name, limit.value));
    }
    code.blank();
    code.open("private Limits()");
    code.close();
    code.close();
    code.finish()
}

fn constant_of(name: &str, value: u64) -> String {
    match i32::try_from(value) {
        Ok(_) => format!("public static final int {name} = {};", grouped(value, '_')),
        Err(_) if i64::try_from(value).is_ok() => {
            format!("public static final long {name} = {}L;", grouped(value, '_'))
        }
        Err(_) => format!("public static final long {name} = {value:#x}L;"),
    }
}

/// A choice as a type of the public API.
pub(super) fn public_choice(schema: &Schema, name: &str) -> String {
    let public = PUBLIC_CHOICES.iter().find(|public| public.choice == name);
    let choice = schema.choice_of(Some(name));
    let (Some(public), Some(choice)) = (public, choice) else {
        panic!("the schema has no choice {name}");
    };
    let mut code = Code::file(PUBLIC, &[]);
    code.doc(&choice.doc);
    code.open(&format!("public enum {}", public.java));
    constants_of(&mut code, public, choice);
    code.blank();
    code.lines(&format!(
        "private final int number;

{}(int number) {{
    this.number = number;
}}

/** Its number on the wire. */
public int number() {{
    return number;
}}",
        public.java
    ));
    if let Some(newer) = public.newer {
        code.blank();
        code.open(&format!("static {} of(int number)", public.java));
        code.open("return switch (number)");
        for one in &choice.values {
            code.line(&format!("case {} -> {};", one.number, constant(public, &one.name)));
        }
        code.line(&format!("default -> {newer};"));
        code.close_with("};");
        code.close();
    }
    code.close();
    code.finish()
}

fn constants_of(code: &mut Code, public: &PublicChoice, choice: &Choice) {
    for (place, one) in choice.values.iter().enumerate() {
        let end = if place + 1 == choice.values.len() && public.newer.is_none() { ";" } else { "," };
        code.doc(&one.doc);
        code.line(&format!("{}({}){end}", constant(public, &one.name), one.number));
    }
    if let Some(newer) = public.newer {
        code.doc(choice.open.as_deref().unwrap_or_default());
        code.line(&format!("{newer}(-1);"));
    }
}

/// The name of a constant.
fn constant(public: &PublicChoice, name: &str) -> String {
    let plain = capitals(name);
    let renamed = public.renamed.iter().find(|(name, _)| *name == plain).map(|(_, name)| (*name).to_owned());
    renamed.unwrap_or(plain)
}

/// The tables that the test of completeness walks.
pub(super) fn for_tests(schema: &Schema) -> String {
    let mut code = Code::file(PUBLIC, &["java.util.List"]);
    code.doc("What the schema has: a test fails for each that the public API cannot reach");
    code.open("final class SchemaTables");
    code.doc("A name, and its number");
    code.open("record Named(String name, long number)");
    code.close();
    let requests = schema.requests.iter().map(|one| (one.name.as_str(), u64::from(one.opcode)));
    named(&mut code, "REQUESTS", requests);
    for (name, elements) in [
        ("ATTRIBUTES", &schema.attributes),
        ("CONDITIONS", &schema.conditions),
        ("SETTINGS", &schema.settings),
    ] {
        named(&mut code, name, elements.iter().map(|one| (one.name.as_str(), u64::from(one.tag))));
    }
    named(&mut code, "ERRORS", schema.errors.iter().map(|one| (one.name.as_str(), u64::from(one.number))));
    named(&mut code, "LIMITS", schema.limits.iter().map(|one| (one.name.as_str(), one.value)));
    for choice in &schema.choices {
        let values = choice.values.iter().map(|one| (one.name.as_str(), one.number));
        named(&mut code, &capitals(&choice.name), values);
    }
    code.blank();
    code.open("private SchemaTables()");
    code.close();
    code.close();
    code.finish()
}

fn named<'a>(code: &mut Code, name: &str, values: impl Iterator<Item = (&'a str, u64)>) {
    code.blank();
    let values: Vec<String> =
        values.map(|(name, number)| format!("new Named(\"{name}\", {number}L)")).collect();
    code.list(&format!("static final List<Named> {name} = List.of("), &values, ");");
}
