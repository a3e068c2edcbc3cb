//! The names of everything that the schema has, for the test that looks for each in the public API.

use super::code::{Code, number, quoted};
use super::layout::flat;
use super::policy::property;
use crate::names::pascal;
use crate::output::Output;
use crate::schema::{Element, Kind, Schema};

pub(super) fn outputs(schema: &Schema) -> Vec<Output> {
    let mut code = Code::file("Adjourn\\Tests\\Protocol", &[]);
    code.doc(&["The names of everything that the schema has."]);
    code.begin("final class Schema");
    requests(&mut code, schema);
    elements(&mut code, "ATTRIBUTES", &schema.attributes);
    elements(&mut code, "CONDITIONS", &schema.conditions);
    elements(&mut code, "SETTINGS", &schema.settings);
    code.doc(&["The parameters of a topic's policy, by the names of the settings."]);
    code.open("public const PROPERTIES = [");
    for setting in &schema.settings {
        code.line(&format!("'{}' => '{}',", setting.name, property(setting)));
    }
    code.close("];");
    code.doc(&["Name, and whether it is retryable, by number."]);
    code.open("public const ERRORS = [");
    for error in &schema.errors {
        code.line(&format!("{} => ['{}', {}],", error.number, pascal(&error.name), error.is_retryable));
    }
    code.close("];");
    code.doc(&["By name."]);
    code.open("public const LIMITS = [");
    for limit in &schema.limits {
        code.line(&format!("'{}' => {},", limit.name, number(limit.value)));
    }
    code.close("];");
    code.end();
    vec![Output::File { path: "clients/php/client/tests/Protocol/Schema.php", text: code.text() }]
}

fn requests(code: &mut Code, schema: &Schema) {
    code.doc(&["The fields of each request, and of the items of its lists: `list.field`."]);
    code.open("public const REQUESTS = [");
    for frame in &schema.requests {
        let mut fields = Vec::new();
        for field in flat(schema, &frame.fields) {
            fields.push(quoted(&field.name));
            if let Kind::List(crate::schema::Item::Record(record)) = &field.kind {
                let record = schema.record(record);
                fields.extend(
                    record.fields.iter().map(|item| quoted(&format!("{}.{}", field.name, item.name))),
                );
            }
        }
        code.line(&format!("'{}' => [{}],", pascal(&frame.name), fields.join(", ")));
    }
    code.close("];");
}

fn elements(code: &mut Code, name: &str, elements: &[Element]) {
    code.doc(&["Tags by name."]);
    code.open(&format!("public const {name} = ["));
    for element in elements {
        code.line(&format!("'{}' => 0x{:04X},", element.name, element.tag));
    }
    code.close("];");
}
