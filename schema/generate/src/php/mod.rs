//! What the PHP client takes from the schema: its codec, its tables and `TopicPolicy`; for its tests the other direction of the codec,
//! and a list of all names; for its harness the JSON of frames.
//!
//! The fields of a frame are an array by name, as `unpack` gives it: nothing is faster in PHP, and the public types are made of it.

mod code;
mod decode;
mod elements;
mod encode;
mod frames;
mod json;
mod layout;
mod lists;
mod policy;
mod tables;

use crate::output::Output;
use crate::schema::Schema;

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let of_each =
        [frames::outputs, elements::outputs, tables::outputs, policy::outputs, json::outputs, lists::outputs];
    of_each.into_iter().flat_map(|outputs| outputs(schema)).collect()
}
