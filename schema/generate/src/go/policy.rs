//! The policy of a topic: its public type, and that type in the JSON of the conformance suite.

use super::code::{Code, quoted};
use super::elements::is_there;
use super::{documented, name};
use crate::schema::{Element, ElementKind, Schema};

/// Names of fields from before there was a schema.
const NAMES: [(&str, &str); 3] = [("ttr_ms", "TTR"), ("body_max", "BodyBytesMax"), ("rate", "RatePerSecond")];

/// The name of a setting in the policy.
pub(super) fn field_name(setting: &Element) -> String {
    let known = NAMES.iter().find(|(schema_name, _)| *schema_name == setting.name);
    known.map_or_else(
        || name(setting.name.strip_suffix("_ms").unwrap_or(&setting.name)),
        |(_, known)| (*known).to_owned(),
    )
}

/// How a setting goes from and to the wire.
enum Form {
    /// It is the same there.
    Same(&'static str),
    /// A duration of so many bytes.
    Duration(usize),
    Backoff,
    Late,
}

fn form(setting: &Element) -> Form {
    match &setting.kind {
        ElementKind::Number(bytes) if setting.name.ends_with("_ms") => Form::Duration(*bytes),
        ElementKind::Number(4) => Form::Same("*uint32"),
        ElementKind::Number(_) => Form::Same("*uint64"),
        ElementKind::Text => Form::Same("*string"),
        ElementKind::Flag => Form::Same("bool"),
        ElementKind::Composite(composite) if composite == "backoff" => Form::Backoff,
        ElementKind::Composite(composite) if composite == "late" => Form::Late,
        kind => panic!("no setting can be {kind:?}"),
    }
}

pub(super) fn public(schema: &Schema) -> String {
    let mut code = Code::file("adjourn", &[&["time"], &["github.com/adjourn/adjourn-go/internal/wire"]]);
    code.lines("");
    code.comment(
        "Policy is what a topic decides for its jobs. A nil field, and one that is false, is not set.",
    );
    code.lines("type Policy struct {");
    for setting in &schema.settings {
        let field = field_name(setting);
        let doc = setting.doc.replace(", in milliseconds", "");
        code.comment(&documented(
            schema,
            &field,
            if matches!(form(setting), Form::Duration(_)) { &doc } else { &setting.doc },
        ));
        let type_name = match form(setting) {
            Form::Same(type_name) => type_name,
            Form::Duration(_) => "*time.Duration",
            Form::Backoff => "*Backoff",
            Form::Late => "*Late",
        };
        code.lines(&format!("{field} {type_name}"));
    }
    code.lines(
        "}\n\n// Setting names a field of a [Policy].\ntype Setting uint16\n\n// The settings.\nconst (",
    );
    let row =
        |setting: &Element| (format!("Setting{}", field_name(setting)), format!("Setting = {}", setting.tag));
    code.rows(&schema.settings.iter().map(row).collect::<Vec<_>>());
    code.lines(")\n\nfunc (p *Policy) toWire() (w wire.Settings, err error) {");
    for setting in &schema.settings {
        let (field, on_wire) = (field_name(setting), name(&setting.name));
        match form(setting) {
            // An empty text on the wire takes the setting away.
            Form::Same("*string") => code.lines(&format!(
                "if w.{on_wire}, err = optionalText({}, p.{field}); err != nil {{\nreturn w, err\n}}",
                quoted(&field)
            )),
            Form::Same(_) => code.lines(&format!("w.{on_wire} = p.{field}")),
            Form::Duration(bytes) => {
                let helper = if bytes == 4 { "optionalMs32" } else { "optionalMs64" };
                code.lines(&format!(
                    "if w.{on_wire}, err = {helper}(p.{field}); err != nil {{\nreturn w, err\n}}"
                ));
            }
            Form::Backoff | Form::Late => {
                code.lines(&format!(
                    "if w.{on_wire}, err = p.{field}.toWire(); err != nil {{\nreturn w, err\n}}"
                ));
            }
        }
    }
    code.lines("return w, nil\n}\n\nfunc policyOf(w *wire.Settings) (p Policy) {");
    for setting in &schema.settings {
        let (field, on_wire) = (field_name(setting), name(&setting.name));
        code.lines(&match form(setting) {
            Form::Same(_) => format!("p.{field} = w.{on_wire}"),
            Form::Duration(_) => format!("p.{field} = optionalDuration(w.{on_wire})"),
            Form::Backoff => format!("p.{field} = backoffOf(w.{on_wire})"),
            Form::Late => format!("p.{field} = lateOf(w.{on_wire})"),
        });
    }
    code.lines("return p\n}");
    code.finish()
}

pub(super) fn harness(schema: &Schema) -> String {
    let mut code = Code::file("main", &[&["adjourn github.com/adjourn/adjourn-go"]]);
    code.lines("");
    code.comment("takePolicy reads a change of settings: what is set, and what is taken away.");
    code.lines("func takePolicy(f fields) (p adjourn.Policy, unset []adjourn.Setting) {");
    for setting in &schema.settings {
        let (field, key) = (field_name(setting), quoted(&setting.name));
        let value = match form(setting) {
            Form::Same("*uint32") => format!("pointer(f.u32({key}))"),
            Form::Same("*uint64") => format!("pointer(f.u64({key}))"),
            Form::Same("*string") => format!("pointer(f.text({key}))"),
            Form::Same(_) => format!("f.flag({key})"),
            Form::Duration(4) => format!("pointer(number(f.u32({key})).ms())"),
            Form::Duration(_) => format!("pointer(number(f.u64({key})).ms())"),
            Form::Backoff => format!("publicBackoff(takeBackoff(f.object({key})))"),
            Form::Late => format!("publicLate(takeLate(f.object({key})))"),
        };
        code.lines(&format!(
            "if f.isNull({key}) {{\nunset = append(unset, adjourn.Setting{field})\n}} else if f.has({key}) {{\np.{field} = {value}\n}}"
        ));
    }
    code.lines("return p, unset\n}\n\n// showPolicy has the settings that are set.\nfunc showPolicy(p *adjourn.Policy) map[string]any {\nto := map[string]any{}");
    for setting in &schema.settings {
        let (field, key) = (field_name(setting), quoted(&setting.name));
        let place = format!("p.{field}");
        let value = match form(setting) {
            Form::Same("*uint64") => format!("decimal(*{place})"),
            Form::Same("bool") => place.clone(),
            Form::Same(_) => format!("*{place}"),
            Form::Duration(4) => format!("uint32(inMs(*{place}))"),
            Form::Duration(_) => format!("decimal(inMs(*{place}))"),
            Form::Backoff => format!("showBackoff(wireBackoff({place}))"),
            Form::Late => format!("showLate(wireLate({place}))"),
        };
        code.lines(&format!("if {} {{\nto[{key}] = {value}\n}}", is_there(setting, &place)));
    }
    code.lines("return to\n}");
    code.finish()
}
