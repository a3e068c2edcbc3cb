//! The `adjourn` binary.

/// Gives memory back to the system when a queue has become smaller, and costs less per job than the system's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    adjourn::main()
}
