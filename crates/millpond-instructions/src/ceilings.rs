//! The ceilings: the maximum number of instructions of a task, for each path.

/// The file at compile time: lines `way.path = instructions per task`.
const FILE: &str = include_str!("../ceilings.toml");
/// The path of the file.
pub const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ceilings.toml");

/// The margin of a recorded ceiling above the count. It allows for another compiler's or machine's
/// choice of instructions, not for a change of the path.
const MARGIN: f64 = 1.03;

const HEADER: &str = "\
# The maximum number of instructions per task of each path: the measured number plus 3 %.
# Written by `.ci/instructions --record`.
";

/// The maximum number of instructions of a path's task. A path without a ceiling has 0, so that it
/// fails until it gets one.
pub fn of(name: &str) -> f64 {
    let lines = FILE.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(key, _)| key.trim() == name).find_map(|(_, value)| value.trim().parse().ok()).unwrap_or(0.0)
}

/// The file, with ceilings above the counts.
pub fn file(counts: &[(String, f64)]) -> String {
    let line = |(name, count): &(String, f64)| format!("{name} = {:.1}\n", count * MARGIN);
    HEADER.to_owned() + &counts.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_ceiling() {
        let names = crate::names();
        assert!(names.iter().all(|name| of(name) > 0.0));
        assert_eq!(of("inline.none"), 0.0);
        // Nothing else has one.
        assert_eq!(FILE.lines().filter(|line| line.contains(" = ")).count(), names.len());
    }

    #[test]
    fn the_file_has_a_margin() {
        let counts = [("inline.flat".to_owned(), 60.0), ("queued.chain".to_owned(), 1050.0)];
        assert_eq!(file(&counts), format!("{HEADER}inline.flat = 61.8\nqueued.chain = 1081.5\n"));
    }
}
