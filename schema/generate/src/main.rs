//! Writes what follows from the schema into the repository, or into the folder that is named; with `--check` it only says what
//! would change, and fails.

use std::path::PathBuf;
use std::process::ExitCode;

use adjourn_generate::{Schema, apply, outputs};

fn main() -> ExitCode {
    let (options, folders): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let check = options.iter().any(|option| option == "--check");
    let root = folders
        .first()
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), PathBuf::from);
    let schema = match Schema::load() {
        Ok(schema) => schema,
        Err(error) => return failed(&error),
    };
    match apply(&root, &outputs(&schema), !check) {
        Err(error) => failed(&error),
        Ok(changed) => {
            for path in &changed {
                println!("{} {path}", if check { "differs from the schema:" } else { "wrote" });
            }
            if check && !changed.is_empty() {
                eprintln!("run `make generate`, and commit what it changes");
                return ExitCode::FAILURE;
            }
            ExitCode::SUCCESS
        }
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}
