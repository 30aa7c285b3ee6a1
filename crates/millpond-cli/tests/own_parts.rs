//! A program that adds its own parts to the registry provides the whole command with them. The
//! parts are two pools, a memory manager, and a scheme from another crate. This test is such a
//! program, and runs itself as a user runs the command.

use millpond::catalogue::{Registry, Row};
use millpond::memory::named::{Parts, Variant};
use millpond::memory::{Named as NamedMemory, variants::Dlf};
use millpond::pool::Named as NamedPool;
use millpond::pool::variants::{Dq8, Rq1};
use millpond_extension_tests::renamed::{Name, Renamed};
use millpond_extension_tests::scheme::Queues;
use serde_json::Value;
use std::process::{Command, ExitCode};

/// Set if this program acts as the command.
const IS_COMMAND: &str = "MILLPOND_TEST_IS_COMMAND";

/// A pool of the paper under another name.
type OwnPool = Renamed<NamedPool<Dq8>, OwnName>;

/// A pool of the paper under another name, with one of its parameters.
type Tuned = Renamed<NamedPool<Rq1>, TunedName>;

/// A memory manager of the paper under another name.
type OwnMemory = NamedMemory<OwnRow>;

enum OwnName {}

impl Name for OwnName {
    const NAME: &'static str = "own-pool";
}

enum TunedName {}

impl Name for TunedName {
    const NAME: &'static str = "own-tuned";
}

#[derive(Debug)]
enum OwnRow {}

impl Variant for OwnRow {
    const NAME: &'static str = "own-memory";
    const PARTS: Parts = Dlf::PARTS;
}

fn registry() -> Registry {
    let pool = Row::of_pool::<OwnPool>("a pool of this program", "this test");
    let memory = Row::of_memory::<OwnMemory>("a memory manager of this program", "this test");
    // A named option: it is refused if it is given and the pool does not have it.
    let pool = Row { params: &["queues"], ..pool };
    let tuned = Row { params: &["queues"], ..Row::of_pool::<Tuned>("a pool with queues", "this test") };
    let scheme = Row::of_scheme::<Queues>("a scheme of another crate", "this test");
    Registry::default()
        .with_tuned_pool::<Tuned>(tuned, |params| *params)
        .and_then(|registry| registry.with_pool::<OwnPool>(pool))
        .and_then(|registry| registry.with_memory::<OwnMemory>(memory))
        .and_then(|registry| registry.with_scheme::<Queues>(scheme))
        .expect("the names are free")
}

fn main() -> ExitCode {
    if std::env::var_os(IS_COMMAND).is_some() {
        return millpond_cli::main(registry());
    }
    the_lists_have_them();
    runs_have_them();
    suites_have_them();
    refusals_name_them();
    ExitCode::SUCCESS
}

/// Exit status, stdout and stderr.
fn run(line: &str) -> (Option<i32>, String, String) {
    let own = std::env::current_exe().expect("this program");
    let output = Command::new(own).args(line.split(' ')).env(IS_COMMAND, "").output().expect("it runs");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    (output.status.code(), stdout, stderr)
}

#[track_caller]
fn json(line: &str) -> Value {
    let (status, stdout, stderr) = run(line);
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{line}: {stdout}");
    serde_json::from_str(&stdout).expect("a JSON object")
}

fn the_lists_have_them() {
    let lists = json("list --json");
    for (family, name) in [("pools", "own-pool"), ("memory", "own-memory"), ("schemes", "queues")] {
        let last = lists[family].as_array().and_then(|rows| rows.last()).expect("rows");
        assert_eq!(
            (&last["name"], &last["source"], &last["default"]),
            (&name.into(), &"this test".into(), &false.into())
        );
        let table = run(&format!("list {family}")).1;
        assert!(table.contains(name), "{table}");
    }
}

fn runs_have_them() {
    for line in [
        "run cholesky --n 100 --tile 25 --scheme list --pool own-pool --memory own-memory --workers 2 --json",
        "run synthetic --k 12 --f 0 --pool own-pool --memory own-memory --workers 2 --json",
        "run synthetic --k 12 --f 0 --pool own-pool --workers 2 --json",
        "profile fib --n 10 --memory own-memory --pool own-pool --workers 2 --json",
        "run stencil --n 1000 --steps 20 --scheme queues --pool own-pool --workers 2 --json",
        "profile cholesky --n 100 --tile 25 --scheme queues --pool own-pool --workers 2 --json",
        "run inverse --n 60 --tile 20 --scheme queues --pool own-pool --memory own-memory --workers 2 --json",
    ] {
        let run = json(line);
        assert_eq!((&run["verified"], &run["config"]["pool"]), (&true.into(), &"own-pool".into()), "{line}");
        assert_eq!(line.contains(" queues "), run["config"]["scheme"] == "queues", "{line}");
    }
    let run = json("run fib --n 10 --pool own-tuned --pool-queues 2 --workers 2 --json");
    assert_eq!((&run["verified"], &run["config"]["pool_queues"]), (&true.into(), &2.into()));
}

fn suites_have_them() {
    let rows = |line: &str| json(line)["rows"].as_array().expect("rows").clone();
    let only = rows("bench pools --shape best --pool own-pool --memory own-memory --k 6 --reps 1 --workers 1 --json");
    assert_eq!((only.len(), &only[0]["pool"], &only[0]["memory"]), (1, &"own-pool".into(), &"own-memory".into()));
    let all = rows("bench memory --shape dq8 --k 6 --reps 1 --workers 1 --json");
    assert!(all.iter().any(|row| row["memory"] == "own-memory"), "{all:?}");
    let all = rows("bench pools --shape best --memory default --k 6 --reps 1 --workers 1 --json");
    assert!(all.iter().any(|row| row["pool"] == "own-pool"), "{all:?}");
    // Each point of this suite is a separate process.
    let bytes = rows("bench bytes --shape own --pool own-pool --tasks 1000 --reps 2 --json");
    assert_eq!((bytes.len(), &bytes[0]["config"]["pool"]), (1, &"own-pool".into()));
    let bytes = rows("bench bytes --shape own --scheme queues --tasks 1000 --reps 2 --json");
    assert_eq!((bytes.len(), &bytes[0]["config"]["scheme"]), (1, &"queues".into()));
}

fn refusals_name_them() {
    let (status, stdout, stderr) = run("run fib --pool own-pol");
    assert_eq!((status, stdout.as_str()), (Some(2), ""));
    assert!(
        stderr.starts_with("error: unknown pool 'own-pol'; the nearest valid: own-pool; all: default, "),
        "{stderr}"
    );
    let (status, stdout, stderr) = run("run fib --scheme queue");
    assert_eq!((status, stdout.as_str()), (Some(2), ""));
    assert!(stderr.starts_with("error: unknown scheme 'queue'; the nearest valid: queues; all: parked, "), "{stderr}");
    for option in ["--pool-share half", "--pool-queues 2"] {
        let says =
            format!("error: {}: the pool own-pool has no parameters\n", option.split(' ').next().expect("a word"));
        let line = format!("run fib --pool own-pool {option}");
        assert_eq!(run(&line), (Some(2), String::new(), says), "{line}");
    }
    let says = "error: --pool-share: the pool own-tuned has no such parameter; its parameters: --pool-queues\n";
    assert_eq!(run("run fib --pool own-tuned --pool-share half"), (Some(2), String::new(), says.to_owned()));
    let stack = run("run fib --scheme stack --memory own-memory");
    assert_eq!((stack.0, stack.1.as_str()), (Some(2), ""));
    assert!(stack.2.starts_with("error: --memory own-memory cannot be used with --scheme stack"), "{}", stack.2);
}
