//! Reads the output of the bench, and prints the instructions per task of each path. With
//! `--record`, writes new ceilings slightly above these. `.ci/instructions` runs it.
#![forbid(unsafe_code)]

use millpond_instructions::{JOIN, PATHS, ceilings, stack};
use std::process::ExitCode;

fn main() -> ExitCode {
    let output = match std::io::read_to_string(std::io::stdin()) {
        Ok(output) => output,
        Err(error) => return failed(&format!("cannot read what the bench printed: {error}")),
    };
    let counts = ceilings::counted(&output);
    // Each path has both ways; the join and the stack's paths have one.
    let (found, expected) = (counts.len(), 2 * PATHS.len() + [&JOIN].len() + stack::PATHS.len());
    if found != expected {
        return failed(&format!("the bench printed {found} counts, not {expected}"));
    }
    println!("{:<20} {:>14} {:>10}", "path", "instructions", "ceiling");
    for (name, count) in &counts {
        println!("{name:<20} {count:>14.1} {:>10.1}", ceilings::of(name));
    }
    if std::env::args().nth(1).as_deref() == Some("--record") {
        if let Err(error) = std::fs::write(ceilings::PLACE, ceilings::file(&counts)) {
            return failed(&format!("cannot write {}: {error}", ceilings::PLACE));
        }
        println!("recorded as the ceilings, with a margin");
    }
    ExitCode::SUCCESS
}

fn failed(what: &str) -> ExitCode {
    eprintln!("error: {what}");
    ExitCode::FAILURE
}
