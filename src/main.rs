//! The `adjourn` binary.

fn main() -> std::process::ExitCode {
    adjourn::cli::main()
}
