//! What the server and the Rust client take from the schema: a module of the crate of the protocol.
//!
//! [`wire`] writes how records and frames are laid out, [`requests`] the table of the requests, [`codes`] the numbers.

mod codes;
mod requests;
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
    ]
}
