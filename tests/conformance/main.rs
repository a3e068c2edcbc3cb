//! Every client against the same scenarios: `conformance/README.md` says what that is.

mod codec;
mod layout;
mod matching;
mod tagged;
mod vectors;
mod wire;

fn main() {
    if let Err(why) = vectors::check() {
        panic!("{why}");
    }
}
