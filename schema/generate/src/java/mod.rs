//! What the Java client takes from the schema: the codec and its types, the tables that callers see, the policy of a topic, and
//! for the harness the frames as JSON.

mod bindings;
mod code;
mod elements;
mod errors;
mod fields;
mod json_elements;
mod json_requests;
mod json_responses;
mod policy;
mod requests;
mod responses;
mod tables;

use crate::output::Output;
use crate::schema::Schema;

/// The folder of a package, and the name of a file in it.
macro_rules! path {
    (public $name:literal) => {
        concat!("clients/java/src/main/java/io/adjourn/client/", $name, ".java")
    };
    (wire $name:literal) => {
        concat!("clients/java/src/main/java/io/adjourn/client/internal/wire/", $name, ".java")
    };
    (harness $name:literal) => {
        concat!("clients/java/src/conformance/java/io/adjourn/client/", $name, ".java")
    };
    (test $name:literal) => {
        concat!("clients/java/src/test/java/io/adjourn/client/", $name, ".java")
    };
}

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let file = |path: &'static str, text: String| Output::File { path, text };
    vec![
        file(path!(wire "Opcode"), tables::opcodes(schema)),
        file(path!(wire "Choice"), tables::choices(schema)),
        file(path!(wire "Bits"), tables::bits(schema)),
        file(path!(wire "Constants"), tables::constants(schema)),
        file(path!(public "Limits"), tables::limits(schema)),
        file(path!(public "IfExists"), tables::public_choice(schema, "if_exists")),
        file(path!(public "ListOrder"), tables::public_choice(schema, "order")),
        file(path!(public "JobState"), tables::public_choice(schema, "state")),
        file(path!(public "BuriedReason"), tables::public_choice(schema, "buried")),
        file(path!(public "Applied"), tables::public_choice(schema, "applied")),
        file(path!(public "ErrorCode"), errors::codes(schema)),
        file(path!(public "ServerException"), errors::exceptions(schema)),
        file(path!(public "TopicPolicy"), policy::policy(schema)),
        file(path!(wire "Request"), requests::types(schema)),
        file(path!(wire "RequestEncoder"), requests::encoder(schema)),
        file(path!(wire "Response"), responses::types(schema)),
        file(path!(wire "ResponseDecoder"), responses::decoder(schema)),
        file(path!(wire "Composites"), elements::composites(schema)),
        file(path!(wire "Attribute"), elements::attributes(schema)),
        file(path!(wire "Condition"), elements::conditions(schema)),
        file(path!(harness "ElementJson"), json_elements::mapping(schema)),
        file(path!(harness "RequestJson"), json_requests::mapping(schema)),
        file(path!(harness "ResponseJson"), json_responses::mapping(schema)),
        file(path!(test "SchemaTables"), tables::for_tests(schema)),
    ]
}
