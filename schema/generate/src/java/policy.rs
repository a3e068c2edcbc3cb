//! The policy of a topic: a method for each setting, and one that reads it.

use crate::java::code::Code;
use crate::java::elements::{made, reader, types};
use crate::java::tables::PUBLIC;
use crate::names::{camel, capitals};
use crate::schema::{Element, ElementKind, Elements, Schema};

/// Settings that callers know under another name.
const RENAMED: [(&str, &str); 1] = [("body_max", "body_bytes_max")];
/// Settings that name a topic.
const TOPICS: [&str; 1] = ["dead_letters"];

const IMPORTS: [&str; 8] = [
    "io.adjourn.client.internal.Millis",
    "io.adjourn.client.internal.Names",
    "io.adjourn.client.internal.wire.Composites",
    "io.adjourn.client.internal.wire.Elements",
    "io.adjourn.client.internal.wire.FrameReader",
    "io.adjourn.client.internal.wire.MalformedFrameException",
    "java.time.Duration",
    "java.util.Optional",
];

pub(super) fn policy(schema: &Schema) -> String {
    let settings = schema.elements(Elements::Settings);
    let mut code = Code::file(PUBLIC, &IMPORTS);
    code.lines(
        "/**
 * What a topic decides for its jobs. In {@link Client#setTopic}, only the settings that are named here change; those that are
 * {@link #without taken away} fall back to the server's default. It cannot be changed.
 */",
    );
    code.open("public final class TopicPolicy");
    code.doc("No settings");
    code.line("public static final TopicPolicy EMPTY = new TopicPolicy(Elements.NONE);");
    setting_enum(&mut code, settings);
    late_action(&mut code, schema);
    code.blank();
    code.lines(LATE);
    for setting in settings {
        setter(&mut code, setting);
    }
    for setting in settings {
        getter(&mut code, setting);
    }
    code.blank();
    code.lines(REST);
    code.close();
    code.finish()
}

/// The name for callers: without the unit, which the type says.
fn public_name(setting: &Element) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == setting.name).map(|(_, name)| *name);
    renamed.unwrap_or(setting.name.trim_end_matches("_ms")).to_owned()
}

/// What the setting means. What the document says below its table, [`LATE`] says.
fn doc(setting: &Element) -> &str {
    setting.doc.trim_end_matches(": see below")
}

/// The expression for its tag.
fn tag(setting: &Element) -> String {
    format!("Setting.{}.tag", capitals(&public_name(setting)))
}

fn setting_enum(code: &mut Code, settings: &[Element]) {
    code.blank();
    code.doc("The settings");
    code.open("public enum Setting");
    for (place, setting) in settings.iter().enumerate() {
        let end = if place + 1 == settings.len() { ";" } else { "," };
        code.doc(doc(setting));
        code.line(&format!("{}({}){end}", capitals(&public_name(setting)), setting.tag));
    }
    code.blank();
    code.lines(
        "private final int tag;

Setting(int tag) {
    this.tag = tag;
}

int tag() {
    return tag;
}",
    );
    code.close();
}

fn late_action(code: &mut Code, schema: &Schema) {
    for choice in schema.choices.iter().filter(|choice| choice.name == "late_action") {
        code.blank();
        code.doc(&choice.doc);
        code.open("public enum LateAction");
        for (place, one) in choice.values.iter().enumerate() {
            let end = if place + 1 == choice.values.len() { ";" } else { "," };
            code.doc(&one.doc);
            code.line(&format!("{}({}){end}", capitals(&one.name), one.number));
        }
        code.blank();
        code.lines(
            "private final int number;

LateAction(int number) {
    this.number = number;
}

/** Its number on the wire. */
public int number() {
    return number;
}",
        );
        code.close();
    }
}

const LATE: &str = r"
/**
 * When a job is late, and what happens then.
 *
 * @param afterMs a job is late when it was due longer ago than this
 * @param action the number of the {@link LateAction}
 * @param value jobs per second for RATE, milliseconds for SPREAD, else 0
 */
public record Late(long afterMs, int action, long value) {
}

private final Elements settings;

private TopicPolicy(Elements settings) {
    this.settings = settings;
}

/** What happens to jobs that are late; {@code value} as in {@link Late}. */
public TopicPolicy late(Duration after, LateAction action, long value) {
    return late(new Late(Millis.of(after), action.number(), value));
}";

fn setter(code: &mut Code, setting: &Element) {
    let name = camel(&public_name(setting));
    let tag = tag(setting);
    let is_duration = setting.name.ends_with("_ms");
    let java = if is_duration { "Duration" } else { types(setting).0 };
    code.blank();
    code.doc(doc(setting));
    code.open(&format!("public TopicPolicy {name}({java} value)"));
    if setting.kind == ElementKind::Flag {
        code.open("if (!value)");
        code.line(&format!("return without(Setting.{});", capitals(&public_name(setting))));
        code.close();
        code.line(&format!("return new TopicPolicy(settings.with({}));", made(setting, &tag, "")));
    } else {
        let value = match () {
            () if is_duration => "Millis.of(value)".to_owned(),
            () if TOPICS.contains(&setting.name.as_str()) => "Names.topic(value)".to_owned(),
            () if setting.kind == ElementKind::Text => {
                format!("Names.text(value, \"{}\")", capitals(&public_name(setting)))
            }
            () => "value".to_owned(),
        };
        code.line(&format!("return new TopicPolicy(settings.with({}));", made(setting, &tag, &value)));
    }
    code.close();
}

fn getter(code: &mut Code, setting: &Element) {
    let name = camel(&public_name(setting));
    let value = format!("settings.set({}, {})", tag(setting), reader(setting));
    code.blank();
    code.doc(doc(setting));
    let (result, value) = match setting.kind {
        ElementKind::Flag => ("boolean".to_owned(), format!("{value}.orElse(false)")),
        _ if setting.name.ends_with("_ms") => {
            ("Optional<Duration>".to_owned(), format!("{value}.map(Millis::duration)"))
        }
        _ => (format!("Optional<{}>", types(setting).1), value),
    };
    code.open(&format!("public {result} {name}()"));
    code.line(&format!("return {value};"));
    code.close();
}

const REST: &str = r#"
/** Takes a setting away. */
public TopicPolicy without(Setting setting) {
    return new TopicPolicy(settings.with(new Elements.Element(setting.tag(), new byte[0])));
}

/** Whether there is such a setting. */
public boolean has(Setting setting) {
    return settings.has(setting.tag());
}

/** Whether the setting is taken away. */
public boolean takesAway(Setting setting) {
    return settings.isEmptyAt(setting.tag());
}

/** These settings, changed by {@code change} as the queue does it. */
public TopicPolicy changedBy(TopicPolicy change) {
    return new TopicPolicy(settings.changedBy(change.settings));
}

/** The settings as the protocol has them. */
public byte[] encode() {
    return settings.encode();
}

/** Reads the settings as the protocol has them. */
public static TopicPolicy decode(byte[] bytes) {
    try {
        return new TopicPolicy(Elements.decode(bytes));
    } catch (MalformedFrameException e) {
        throw new ProtocolException("settings cannot be decoded: " + e.getMessage(), e);
    }
}"#;
