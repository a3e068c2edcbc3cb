//! Lists of what the schema has, for the test that looks whether the public surface has it.

use super::code::{Code, quoted};
use super::name;
use super::policy::field_name;
use crate::schema::{Element, Schema};

pub(super) fn lists(schema: &Schema) -> String {
    let mut code = Code::file("adjourn_test", &[]);
    code.lines("\n// named is one thing of the schema: its name there, its number, and the name of its constant, if it has one.");
    code.lines("type named struct {\nname     string\nnumber   uint64\nconstant string\n}");
    list(
        &mut code,
        "schemaRequests",
        schema.requests.iter().map(|frame| (frame.name.as_str(), u64::from(frame.opcode), String::new())),
    );
    let plain = |element: &Element| (element.name.clone(), u64::from(element.tag), String::new());
    for (list_name, elements) in
        [("schemaAttributes", &schema.attributes), ("schemaConditions", &schema.conditions)]
    {
        let rows: Vec<_> = elements.iter().map(plain).collect();
        list(
            &mut code,
            list_name,
            rows.iter().map(|(name, tag, constant)| (name.as_str(), *tag, constant.clone())),
        );
    }
    list(
        &mut code,
        "schemaSettings",
        schema.settings.iter().map(|setting| {
            (setting.name.as_str(), u64::from(setting.tag), format!("Setting{}", field_name(setting)))
        }),
    );
    list(
        &mut code,
        "schemaErrors",
        schema
            .errors
            .iter()
            .map(|error| (error.name.as_str(), u64::from(error.number), format!("Err{}", name(&error.name)))),
    );
    list(
        &mut code,
        "schemaLimits",
        schema.limits.iter().map(|limit| (limit.name.as_str(), limit.value, name(&limit.name))),
    );
    code.finish()
}

fn list<'a>(code: &mut Code, list_name: &str, rows: impl Iterator<Item = (&'a str, u64, String)>) {
    code.lines(&format!("\nvar {list_name} = []named{{"));
    for (row_name, number, constant) in rows {
        code.lines(&format!(
            "{{{}, {}, {}}},",
            quoted(row_name),
            super::tables::literal(number),
            quoted(&constant)
        ));
    }
    code.lines("}");
}
