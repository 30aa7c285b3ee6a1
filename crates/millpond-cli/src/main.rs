//! The `millpond` command, with the parts of the catalogue.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    millpond_cli::main(millpond::catalogue::Registry::default())
}
