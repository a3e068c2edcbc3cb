//! The schema of the protocol, and what is written from it.
//!
//! `schema/*.toml` says what frames there are, what stands in them and what it means. [`Schema::load`] reads and checks that;
//! [`outputs`] has every file, or part of a file, that follows from it: the codecs of the client libraries, the tables of
//! `protocol.md`. `make generate` writes them, and a test fails if that would change one.

mod document;
mod go;
mod java;
mod names;
mod output;
mod php;
mod python;
mod read;
mod rust;
mod schema;
mod typescript;

pub use output::{Output, OutputError, apply, outputs};
pub use read::SchemaError;
pub use schema::{
    Bits, Choice, ChoiceValue, Composite, Constant, Element, ElementKind, Elements, ErrorCode, Field, Flag,
    Frame, Item, Kind, Level, Limit, Record, Repeat, RequestKind, Schema, Side, Unknown, UnknownCode,
};
