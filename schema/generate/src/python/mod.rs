//! What the Python client takes from the schema: its codec, its tables, and what its tests and its harness need beside them.

mod composites;
mod decode;
mod elements;
mod encode;
mod frames;
mod imports;
mod json;
mod naming;
mod numbers;
mod page;
mod refusals;
mod shape;
mod tables;

use crate::output::Output;
use crate::schema::Schema;

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let file = |path: &'static str, text: String| Output::File { path, text };
    vec![
        file("clients/python/src/adjourn/protocol/numbers.py", numbers::file(schema)),
        file("clients/python/src/adjourn/protocol/elements.py", elements::file(schema)),
        file("clients/python/src/adjourn/protocol/requests.py", frames::requests(schema)),
        file("clients/python/src/adjourn/protocol/responses.py", frames::responses(schema)),
        file("clients/python/src/adjourn/errors/refusals.py", refusals::file(schema)),
        file("clients/python/harness/server.py", frames::server(schema)),
        file("clients/python/harness/frames.py", json::file(schema)),
        file("clients/python/tests/schema.py", tables::file(schema)),
    ]
}
