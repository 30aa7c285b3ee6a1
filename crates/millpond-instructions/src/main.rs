//! Counts the instructions per task of each path under callgrind, and compares them with the
//! ceilings. With `--record`, writes new ceilings slightly above the counts. `.ci/instructions`
//! runs it.
//!
//! A child process runs each path twice. It counts the second run only: callgrind collects while
//! [`counted`] runs.
#![forbid(unsafe_code)]

use std::env;
use std::process::{Command, ExitCode};

use millpond_instructions::{ceilings, names, run_twice, tasks};

/// The runtime measures how long bodies take. If a body loses its processor meanwhile, the queued
/// tasks after it cost up to 3 % more. So a new ceiling is the maximum of this many counts, and a
/// path fails only if it exceeds its ceiling twice.
const COUNTS_TO_RECORD: usize = 3;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = match args[..] {
        [] => compare(),
        ["--record"] => record(),
        // Under callgrind, for `count`.
        ["--run", name] => {
            run_twice(name, counted);
            Ok(())
        }
        _ => Err("usage: millpond-instructions [--record]".to_owned()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is counted. Callgrind finds it by its name.
#[inline(never)]
fn counted(run: &dyn Fn()) {
    run();
}

fn compare() -> Result<(), String> {
    println!("{:<20} {:>14} {:>10}", "path", "instructions", "ceiling");
    let mut above = Vec::new();
    for name in names() {
        let (mut count, ceiling) = (count(&name)?, ceilings::of(&name));
        if count > ceiling {
            count = count.min(self::count(&name)?);
        }
        println!("{name:<20} {count:>14.1} {ceiling:>10.1}");
        if count > ceiling {
            above.push(name);
        }
    }
    if above.is_empty() {
        return Ok(());
    }
    Err(format!("these paths take more instructions than their ceilings: {}", above.join(", ")))
}

fn record() -> Result<(), String> {
    let counts = names().into_iter().map(|name| {
        let counts = (0..COUNTS_TO_RECORD).map(|_| count(&name)).collect::<Result<Vec<_>, _>>()?;
        Ok((name, counts.into_iter().fold(0.0, f64::max)))
    });
    let counts = counts.collect::<Result<Vec<_>, String>>()?;
    std::fs::write(ceilings::PLACE, ceilings::file(&counts))
        .map_err(|error| format!("cannot write {}: {error}", ceilings::PLACE))?;
    println!("recorded as the ceilings, with a margin");
    Ok(())
}

/// The instructions per task of a path.
fn count(name: &str) -> Result<f64, String> {
    let this = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--toggle-collect={}::counted", env!("CARGO_CRATE_NAME")));
    let ended = valgrind.arg(this).args(["--run", name]).output();
    let ended = ended.map_err(|error| format!("cannot run valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&ended.stderr);
    match collected(&text) {
        Some(count) if ended.status.success() && count > 0 => {
            Ok(count as f64 / tasks(name).expect("a name of `names`") as f64)
        }
        _ => Err(format!("{name} under callgrind: {}\n{text}", ended.status)),
    }
}

/// The count in callgrind's messages: `==123== Collected : 456`.
fn collected(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_the_messages() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 600000\n==7== \n"), Some(600_000));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}
