//! Runs the program under test ([`PROGRAM`]), and checks its output and files. The tests of
//! `millpond-bench` include this file, too.

use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::PROGRAM;

/// The time limit for a command: far more than any command needs.
const LIMIT: Duration = Duration::from_secs(120);

/// The output of a command, and its exit status.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program with these arguments.
pub fn run(args: &[&str]) -> Ran {
    let mut child = Command::new(PROGRAM)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let started = Instant::now();
    // Reads while the command runs: a pipe holds 64 KiB, then the command would block.
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    while child.try_wait().expect("the command can be waited for").is_none() {
        if started.elapsed() > LIMIT {
            child.kill().expect("the command can be stopped");
            panic!("{args:?} takes longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = child.wait().expect("the command has ended").code().expect("an exit status");
    let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().expect("text"));
    Ran { status, stdout, stderr }
}

/// Reads an output to its end.
fn reader(output: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    let mut output = output.expect("a pipe");
    std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).expect("text");
        text
    })
}

/// Runs the program with words separated by spaces.
pub fn words(line: &str) -> Ran {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

/// The one JSON object that a successful command prints.
pub fn json(line: &str) -> Value {
    let ran = words(line);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{line}: {ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1, "{line}: {ran:?}");
    serde_json::from_str(&ran.stdout).expect("a JSON object")
}

/// The command fails with this status. It prints this one line to stderr, and nothing to stdout.
#[track_caller]
pub fn fails(args: &[&str], status: i32, says: &str) {
    let ran = run(args);
    assert_eq!(ran.status, status, "{args:?}: {ran:?}");
    assert_eq!(ran.stdout, "", "{args:?}");
    assert_eq!(ran.stderr, format!("error: {says}\n"), "{args:?}");
}

/// A directory for one test, removed afterwards.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let own = format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(own);
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    /// The path of a file in the directory.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path of text").to_owned()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
