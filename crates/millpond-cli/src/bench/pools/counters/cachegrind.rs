//! Cache misses in simulated caches. `valgrind --tool=cachegrind` runs the command `run synthetic`
//! of this program, and writes a file of counts.
//!
//! Cachegrind counts from the first to the last instruction of the program. So each point runs in
//! two sizes. The difference of their counts belongs to the additional tasks, and has no start-up.

use super::super::cell::Cell;
use super::Misses;
use crate::args::MAX_WORKERS;
use millpond_workloads::synthetic::{Params as Load, count};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The maximum size of the larger run. Cachegrind executes about 50 times as many instructions.
pub const MAX_K: u64 = 17;

/// The difference between both sizes. The smaller run has about 38 % of the tasks.
const SMALLER: u64 = 2;

/// The maximum length of a task. Its steps use no memory, so they cause no misses.
const MAX_F: u64 = 4;

/// The simulated caches: size, associativity, and line size in bytes. They are equal on all
/// machines, so that their counts can be compared. In a virtual machine, valgrind may find a last
/// level of hundreds of mebibytes. The second level of common processors is closer to the paper's
/// second and last level ([TP](crate#sources) §7.1).
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];

/// The same for people.
pub const CACHES_TEXT: &str = "32 KiB and 1 MiB";

/// The time limit of a run: far more than any run needs.
const LIMIT: Duration = Duration::from_secs(120);

/// The time between two checks whether a run has ended.
const POLL: Duration = Duration::from_millis(2);

/// Counts misses of this program.
#[derive(Debug)]
pub struct Cachegrind {
    program: PathBuf,
    folder: Folder,
}

impl Cachegrind {
    /// Checks with a small run that cachegrind can run this program. The error says why not.
    pub fn new() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let folder = Folder::new().map_err(|error| format!("cannot create a directory for its files: {error}"))?;
        let this = Self { program, folder };
        this.start(&[], Load { k: 1, f: 0 })?.finish()?;
        Ok(this)
    }

    /// The misses of a point's tasks. The error says why there are none.
    pub fn misses(&self, cell: &Cell, load: Load) -> Result<Misses, String> {
        let k = load.k.min(MAX_K);
        let smaller = k.saturating_sub(SMALLER);
        let start = |k| self.start(&cell.options(), Load { k, f: load.f.min(MAX_F) });
        // Both at the same time: other programs do not change simulated caches.
        let (large, small) = (start(k)?, start(smaller)?);
        let ([l1, last_level], [small_l1, small_last_level]) = (large.finish()?, small.finish()?);
        Ok(Misses {
            tasks: count(k) - count(smaller),
            l1: l1.saturating_sub(small_l1),
            last_level: last_level.saturating_sub(small_last_level),
        })
    }

    /// Starts this program's synthetic algorithm with more options.
    fn start(&self, options: &[String], load: Load) -> Result<Run, String> {
        let [counts, log] = ["counts", "log"].map(|name| self.folder.0.join(format!("{name}-{}", load.k)));
        let cannot_start = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => "valgrind is not installed".to_owned(),
            _ => format!("cannot start valgrind: {error}"),
        };
        // A file from an earlier run must not look like the result of this one.
        let _ = fs::remove_file(&counts);
        let to_log = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let child = Command::new("valgrind")
            // Without fair scheduling, a thread that waits busily can keep others from running.
            .args(["-q", "--tool=cachegrind", "--cache-sim=yes", "--fair-sched=try"])
            .args(CACHES)
            .arg(format!("--max-threads={}", MAX_WORKERS + 8))
            .arg(format!("--cachegrind-out-file={}", counts.display()))
            .arg(&self.program)
            .args(["run", "synthetic", "--json", "--k", &load.k.to_string(), "--f", &load.f.to_string()])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(to_log)
            .spawn()
            .map_err(cannot_start)?;
        Ok(Run { child, counts, log })
    }
}

/// A run under cachegrind. Dropping it ends the run.
struct Run {
    child: Child,
    counts: PathBuf,
    log: PathBuf,
}

impl Run {
    /// Waits for the end of the run. Returns the misses of data in the first and in the last level.
    fn finish(mut self) -> Result<[u64; 2], String> {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() > deadline => {
                    return Err(format!("a run takes longer than {} s", LIMIT.as_secs()));
                }
                Ok(None) => sleep(POLL),
                Err(error) => return Err(format!("cannot wait for valgrind: {error}")),
            }
        };
        if !status.success() {
            return Err(format!("valgrind ends with {status}: {}", last_line(&self.log)));
        }
        let text = fs::read_to_string(&self.counts).map_err(|error| format!("cannot read its counts: {error}"))?;
        parsed(&text).map_err(|error| format!("its file of counts has {error}"))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Both fail only if the run has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn last_line(file: &Path) -> String {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it prints nothing").trim().to_owned()
}

/// The misses of data in the first and in the last level, from cachegrind's file. The line
/// `events:` names the columns, and the line `summary:` has their sums. The error is what the file
/// lacks.
fn parsed(text: &str) -> Result<[u64; 2], String> {
    let line = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.map(|rest| rest.split_whitespace().collect::<Vec<_>>()).ok_or_else(|| format!("no line '{name}'"))
    };
    let (events, sums) = (line("events:")?, line("summary:")?);
    let sum = |event: &str| {
        let column = events.iter().position(|name| *name == event);
        let number = column.and_then(|column| sums.get(column)).ok_or_else(|| format!("no sum of {event}"))?;
        number.parse::<u64>().map_err(|_| format!("'{number}' as the sum of {event}"))
    };
    // D1 is the first-level data cache. LL is the last level, with instructions in another column.
    let both = |reads, writes| Ok::<_, String>(sum(reads)? + sum(writes)?);
    Ok([both("D1mr", "D1mw")?, both("DLmr", "DLmw")?])
}

/// A new directory, removed at the end.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let mut number = 0;
        loop {
            let path = std::env::temp_dir().join(format!("millpond-counters-{}-{number}", id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                result => return result.map(|()| Self(path)),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, some small files remain.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of cachegrind 3.19, with one function.
    const FILE: &str = "\
desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         32768 B, 64 B, 8-way associative
desc: LL cache:         33554432 B, 64 B, 16-way associative
cmd: target/release/millpond run synthetic --k 1
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=main.rs
fn=main
3 100 1 1 20 3 2 10 5 4
summary: 100 10 7 20 3000 20 10 500 100
";

    #[test]
    fn a_file_has_the_misses_of_reads_and_writes() {
        assert_eq!(parsed(FILE), Ok([3500, 120]));
        // Other versions have other columns.
        let other = "events: Ir DLmw D1mw DLmr D1mr ILmr\nsummary: 9 1 10 2 20 4";
        assert_eq!(parsed(other), Ok([30, 3]));
    }

    #[test]
    fn an_incomplete_file_is_refused() {
        let without = |line: &str| {
            let lines: Vec<_> = FILE.lines().filter(|of| !of.starts_with(line)).collect();
            parsed(&lines.join("\n"))
        };
        assert_eq!(without("summary"), Err("no line 'summary:'".to_owned()));
        assert_eq!(without("events"), Err("no line 'events:'".to_owned()));
        assert_eq!(parsed(""), Err("no line 'events:'".to_owned()));
        // Without the simulation of caches, and cut off.
        assert_eq!(parsed("events: Ir\nsummary: 100"), Err("no sum of D1mr".to_owned()));
        assert_eq!(parsed(&FILE.replace(" 500 100", "")), Err("no sum of D1mw".to_owned()));
        assert_eq!(parsed(&FILE.replace(" 3000 ", " 3,000 ")), Err("'3,000' as the sum of D1mr".to_owned()));
    }

    #[test]
    fn a_folder_is_new_and_does_not_stay() {
        let (one, other) = (Folder::new().expect("a folder"), Folder::new().expect("a folder"));
        assert_ne!(one.0, other.0);
        let path = one.0.clone();
        fs::write(path.join("file"), "").expect("a file");
        drop(one);
        assert!(!path.exists() && other.0.exists());
    }

    #[test]
    fn a_failure_is_the_last_line_of_the_log() {
        let folder = Folder::new().expect("a folder");
        let log = folder.0.join("log");
        assert_eq!(last_line(&log), "it prints nothing");
        fs::write(&log, "==1== a warning\nerror: wrong \n\n").expect("a file");
        assert_eq!(last_line(&log), "error: wrong");
    }
}
