//! The `millpond-bench` command.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    millpond_bench::main()
}
