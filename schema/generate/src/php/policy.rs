//! `TopicPolicy`: it is the table of settings, as parameters of a constructor.

use super::code::{Code, said};
use crate::names::{camel, pascal};
use crate::output::Output;
use crate::schema::{Element, ElementKind, Schema};

/// Settings that have another name in PHP, which says the unit.
const RENAMED: [(&str, &str); 2] = [("body_max", "bodyBytesMax"), ("rate", "ratePerSecond")];
/// Composites, and the classes that have them.
const CLASSES: [(&str, &str); 2] = [("backoff", "Backoff"), ("late", "LatePolicy")];

pub(super) fn outputs(schema: &Schema) -> Vec<Output> {
    vec![Output::File { path: "clients/php/client/src/TopicPolicy.php", text: policy(schema) }]
}

/// The parameter of a setting.
pub(super) fn property(setting: &Element) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == setting.name);
    renamed.map_or_else(|| camel(&setting.name), |(_, property)| (*property).to_owned())
}

fn type_of(setting: &Element) -> String {
    match &setting.kind {
        ElementKind::Number(_) => "int".to_owned(),
        ElementKind::Text | ElementKind::Bytes => "string".to_owned(),
        ElementKind::Flag => "bool".to_owned(),
        ElementKind::Composite(name) => class_of(name),
    }
}

fn class_of(composite: &str) -> String {
    let class = CLASSES.iter().find(|(name, _)| *name == composite);
    class.map_or_else(|| pascal(composite), |(_, class)| (*class).to_owned())
}

fn policy(schema: &Schema) -> String {
    let mut code = Code::file("Adjourn", &["Adjourn\\Error\\UsageError", "Adjourn\\Protocol\\SettingsCodec"]);
    code.doc(&[
        "Settings of a topic. To change some, give these; the others stay as they are. To take settings away, name them in",
        "`unset`. A setting that is a bool is there or not: false takes it away, too. An empty text is refused.",
    ]);
    code.begin("final readonly class TopicPolicy");
    code.doc(&["Parameters, and what the settings are called in the protocol."]);
    code.open("private const NAMES = [");
    for setting in &schema.settings {
        code.line(&format!("'{}' => '{}',", property(setting), setting.name));
    }
    code.close("];");
    code.blank();
    constructor(&mut code, schema);
    code.blank();
    to_bytes(&mut code, schema);
    code.blank();
    from_bytes(&mut code, schema);
    code.end();
    code.text()
}

fn constructor(code: &mut Code, schema: &Schema) {
    let mut doc: Vec<String> = schema
        .settings
        .iter()
        .map(|setting| {
            format!("@param {}|null ${} {}", type_of(setting), property(setting), said(&setting.doc))
        })
        .collect();
    doc.push("@param list<string> $unset names of the parameters above it".to_owned());
    code.doc(&doc);
    code.open("public function __construct(");
    for setting in &schema.settings {
        code.line(&format!("public ?{} ${} = null,", type_of(setting), property(setting)));
    }
    code.line("public array $unset = [],");
    code.close_and_open(") {");
    code.open("foreach ($unset as $name) {");
    code.open("if (!isset(self::NAMES[$name])) {");
    code.line("throw new UsageError(\"\\\"$name\\\" is no setting of a topic.\");");
    code.close("}");
    code.close("}");
    code.open("foreach (self::NAMES as $name => $_) {");
    code.open("if ($this->$name === '') {");
    code.line("$unset = \"To take it away, write unset: ['$name'].\";");
    code.line("throw new UsageError(\"\\\"$name\\\" cannot be an empty text. $unset\");");
    code.close("}");
    code.close("}");
    code.end();
}

fn to_bytes(code: &mut Code, schema: &Schema) {
    code.begin("public function encode(): string");
    code.line("return SettingsCodec::encode($this->wire());");
    code.end();
    code.blank();
    code.doc(&[
        "@internal The settings by their names in the protocol; null for those that are taken away.",
        "",
        "@return array<string, mixed>",
    ]);
    code.begin("public function wire(): array");
    code.open("$settings = array_filter([");
    for setting in &schema.settings {
        let wire = if matches!(setting.kind, ElementKind::Composite(_)) { "?->wire()" } else { "" };
        code.line(&format!("'{}' => $this->{}{wire},", setting.name, property(setting)));
    }
    code.close("], static fn (mixed $value): bool => $value !== null);");
    code.open("foreach ($this->unset as $name) {");
    code.open("if ($this->$name !== null) {");
    code.line("throw new UsageError(\"\\\"$name\\\" cannot be set and taken away at once.\");");
    code.close("}");
    code.line("$settings[self::NAMES[$name]] = null;");
    code.close("}");
    code.blank();
    code.line("return $settings;");
    code.end();
}

fn from_bytes(code: &mut Code, schema: &Schema) {
    code.doc(&["@throws Protocol\\Malformed"]);
    code.begin("public static function decode(string $settings): self");
    code.line("return self::ofWire(SettingsCodec::decode($settings));");
    code.end();
    code.blank();
    code.doc(&["@internal", "", "@param array<string, mixed> $settings by their names in the protocol"]);
    code.begin("public static function ofWire(array $settings): self");
    code.open("return new self(");
    for setting in &schema.settings {
        let (property, name) = (property(setting), &setting.name);
        if let ElementKind::Composite(composite) = &setting.kind {
            let class = class_of(composite);
            code.line(&format!(
                "{property}: isset($settings['{name}']) ? {class}::ofWire($settings['{name}']) : null,"
            ));
        } else {
            code.line(&format!("{property}: $settings['{name}'] ?? null,"));
        }
    }
    code.line("unset: array_keys(array_intersect(self::NAMES, array_keys($settings, null, true))),");
    code.close(");");
    code.end();
}
