//! What the server and the Rust client take from the schema: modules of the crate of the protocol, and of its tests.
//!
//! [`wire`] writes how records and frames are laid out, [`requests`] the table of the requests, [`codes`] the numbers,
//! [`strategies`] what the tests of the codec draw.

mod codes;
mod requests;
mod strategies;
mod wire;

use crate::output::Output;
use crate::schema::Schema;

/// What the docs of a generated module end with.
const DO_NOT_EDIT: &str = "//!\n//! Generated from `schema/` by `make generate`: do not edit.\n\n";

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let file = |path, text| Output::File { path, text };
    vec![
        file("crates/protocol/src/codes.rs", codes::file(schema)),
        file("crates/protocol/src/request/table.rs", requests::file(schema)),
        file("crates/protocol/src/layout/records.rs", wire::records(schema)),
        file("crates/protocol/src/layout/frames.rs", wire::frames(schema)),
        file("tests/protocol/codec/messages.rs", strategies::file(schema)),
    ]
}
