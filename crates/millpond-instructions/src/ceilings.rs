//! The ceilings: the maximum number of instructions of a task, for each path.

use crate::tasks;

/// The file at compile time: lines `way.path = instructions per task`.
const FILE: &str = include_str!("../ceilings.toml");
/// The path of the file.
pub const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ceilings.toml");

/// The margin of a recorded ceiling above the count. It allows for another compiler's or machine's
/// choice of instructions, not for a change of the path.
const MARGIN: f64 = 1.03;

const HEADER: &str = "\
# The most instructions that a task of each path may take: what was counted, and 3 % more.
# Written by `.ci/instructions --record`.
";

/// The maximum number of instructions of a path's task. A path without a ceiling has 0, so that it
/// fails until it gets one.
pub fn of(name: &str) -> f64 {
    let lines = FILE.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(key, _)| key.trim() == name).find_map(|(_, value)| value.trim().parse().ok()).unwrap_or(0.0)
}

/// The instructions per task of each path, by `way.path`, from the output of the bench. If a path
/// has several runs, the maximum counts.
///
/// # Panics
///
/// If it names an unknown path.
pub fn counted(output: &str) -> Vec<(String, f64)> {
    let mut counts: Vec<(String, f64)> = Vec::new();
    let mut at = None;
    for line in output.lines() {
        if let Some(bench) = line.strip_prefix("instructions::paths::") {
            at = bench.split(':').next().and_then(|names| names.split_once(' '));
        } else if let Some(count) = line.trim().strip_prefix("Instructions:") {
            let count = count.trim().split('|').next().and_then(|count| count.parse::<f64>().ok());
            if let (Some((way, name)), Some(count)) = (at.take(), count) {
                let (name, count) = (format!("{way}.{name}"), count / tasks(name) as f64);
                match counts.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, most)) => *most = most.max(count),
                    None => counts.push((name, count)),
                }
            }
        }
    }
    counts
}

/// The file, with ceilings above the counts.
pub fn file(counts: &[(String, f64)]) -> String {
    let line = |(name, count): &(String, f64)| format!("{name} = {:.1}\n", count * MARGIN);
    HEADER.to_owned() + &counts.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JOIN, PATHS, stack};

    #[test]
    fn every_path_has_a_ceiling() {
        for name in PATHS.iter().map(|path| path.name) {
            assert!(of(&format!("inline.{name}")) > 0.0 && of(&format!("queued.{name}")) > 0.0, "{name}");
        }
        assert!(of(&format!("inline.{}", JOIN.name)) > 0.0);
        assert!(stack::PATHS.iter().all(|path| of(&format!("stack.{}", path.name)) > 0.0));
        assert_eq!(of("inline.none"), 0.0);
    }

    #[test]
    fn counts_are_found_in_the_output() {
        let output = "instructions::paths::inline flat:(at_once(\"flat\"))\n  Instructions:     600000|N/A   (*)\n\n\
             Performance has regressed: Instructions (600000) exceeds limit by 1 (>599999)\n\
             instructions::paths::queued chain:(through_the_pool(\"chain\"))\n  Instructions:  10500000|9 (*)\n\n\
             Regressions:\n\n  instructions::paths::inline flat:\n    Callgrind: Instructions (6): 6 exceeds 5 by 1\n";
        let counts = counted(output);
        assert_eq!(counts, [("inline.flat".to_owned(), 60.0), ("queued.chain".to_owned(), 1050.0)]);
        let again = output.replace("600000|", "500000|").replace("10500000|", "11000000|");
        assert_eq!(counted(&(output.to_owned() + &again))[0], counts[0]);
        assert_eq!(counted(&(output.to_owned() + &again))[1].1, 1100.0);
        assert_eq!(file(&counts), format!("{HEADER}inline.flat = 61.8\nqueued.chain = 1081.5\n"));
    }
}
