//! The C++ runtimes, each in its own program; see `cpp/` and `build.rs`.

use super::Peer;
use crate::child::Child;
use crate::graph::Case;
use crate::work::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The limit of a run. The longest take a second.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A program made by the build script, if possible.
pub struct Program {
    /// The name of the executable.
    name: &'static str,
    /// The runtime's display name.
    title: &'static str,
    /// The Debian package that it needs besides a C++ compiler.
    package: &'static str,
}

/// oneTBB.
pub static ONETBB: Program = Program { name: "onetbb", title: "oneTBB", package: "libtbb-dev" };
/// OpenMP of g++.
pub static LIBGOMP: Program = Program { name: "libgomp", title: "libgomp", package: "g++" };
/// OpenMP of clang++.
pub static LIBOMP: Program = Program { name: "libomp", title: "libomp", package: "libomp-dev (with clang)" };
/// StarPU.
pub static STARPU: Program = Program { name: "starpu", title: "StarPU", package: "libstarpu-dev" };

impl Program {
    fn path(&self) -> PathBuf {
        Path::new(env!("MILLPOND_PEERS")).join(self.name)
    }

    /// Whether the build script could make it, and it still exists.
    pub fn is_here(&self) -> bool {
        self.path().is_file()
    }

    /// What to install to get it.
    pub fn missing(&self) -> String {
        let said = self.path().with_extension("txt");
        format!("{}: not here; Debian's {} brings it (see {})", self.title, self.package, said.display())
    }

    /// A peer that starts the program at the first question.
    pub fn peer(&'static self, workers: usize) -> Box<dyn Peer> {
        Box::new(Asked { command: move || self.command(workers), workers, child: None })
    }

    fn command(&self, workers: usize) -> Command {
        let mut command = Command::new(self.path());
        // StarPU: only CPUs, and no messages. It keeps its measurements of the machine next to the
        // program.
        command.env("STARPU_NCPU", workers.to_string()).env("STARPU_NCUDA", "0").env("STARPU_NOPENCL", "0");
        command.env("STARPU_SILENT", "1").env("STARPU_HOME", env!("MILLPOND_PEERS"));
        // OpenMP: the requested number of threads, whatever the user's settings.
        command.env("OMP_DYNAMIC", "false").env_remove("OMP_THREAD_LIMIT").env_remove("OMP_WAIT_POLICY");
        command
    }
}

/// A program started when needed, and again after a loss.
struct Asked<F> {
    command: F,
    workers: usize,
    child: Option<Child>,
}

impl<F: Fn() -> Command> Peer for Asked<F> {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        let mut child = match self.child.take() {
            Some(child) => child,
            None => Child::start((self.command)(), LIMIT)?,
        };
        let answer = child.ask(&question(case, self.workers))?;
        self.child = Some(child);
        outcome(&answer)
    }
}

/// "SHAPE SIZE SIZE STEPS LONG_STEPS WORKERS".
pub fn question(case: &Case, workers: usize) -> String {
    let sizes: Vec<u64> = case.graph.params().iter().map(|(_, size)| *size).collect();
    let second = sizes.get(1).copied().unwrap_or_default();
    format!("{} {} {second} {} {} {workers}", case.graph.name(), sizes[0], case.steps, case.long_steps)
}

/// "ok NANOSECONDS SUM RAN RAN ..." or "error WHY".
fn outcome(answer: &str) -> Result<Outcome, String> {
    let numbers = numbers(answer)?;
    let [nanoseconds, sum, ran @ ..] = &numbers[..] else { return Err(not_understood(answer)) };
    let mut ran = ran.to_vec();
    ran.sort_unstable_by(|a, b| b.cmp(a));
    Ok(Outcome { time: Duration::from_nanos(*nanoseconds), sum: *sum, ran })
}

/// The numbers of "ok NUMBER NUMBER ...".
pub fn numbers(answer: &str) -> Result<Vec<u64>, String> {
    if let Some(why) = answer.strip_prefix("error ") {
        return Err(why.to_owned());
    }
    let numbers = answer.strip_prefix("ok ").unwrap_or_default().split(' ').map(str::parse::<u64>);
    numbers.collect::<Result<Vec<_>, _>>().map_err(|_| not_understood(answer))
}

/// The error of an answer that is none.
pub fn not_understood(answer: &str) -> String {
    format!("answers '{answer}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    #[test]
    fn questions_have_six_words() {
        let case = Case { graph: Graph::Args { accesses: 4, tasks: 100 }, steps: 7, long_steps: 8 };
        assert_eq!(question(&case, 2), "args 4 100 7 8 2");
        assert_eq!(question(&Case::empty(Graph::Flat { tasks: 5 }), 1), "flat 5 0 0 0 1");
    }

    #[test]
    fn answers_are_taken_apart() {
        let right = Outcome { time: Duration::from_nanos(1500), sum: 7, ran: vec![4, 3] };
        assert_eq!(outcome("ok 1500 7 3 4"), Ok(right));
        assert_eq!(outcome("error no memory"), Err("no memory".to_owned()));
        for nonsense in ["", "ok", "ok 5", "ok x 5", "5 5"] {
            assert_eq!(outcome(nonsense), Err(format!("answers '{nonsense}'")));
        }
    }

    #[test]
    fn a_program_that_died_is_started_again() {
        let once = || {
            let mut command = Command::new("sh");
            command.args(["-c", "read line; echo ok 5 6 7"]);
            command
        };
        let mut peer = Asked { command: once, workers: 1, child: None };
        let mut ask = || peer.run(&Case::empty(Graph::Flat { tasks: 1 })).map(|outcome| outcome.sum);
        assert_eq!(ask(), Ok(6));
        assert_eq!(ask(), Err("died (exit status: 0)".to_owned()));
        assert_eq!(ask(), Ok(6));
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        static NOTHING: Program = Program { name: "no-such-program", title: "Nothing", package: "nothing-dev" };
        assert!(!NOTHING.is_here());
        assert!(NOTHING.missing().starts_with("Nothing: not here; Debian's nothing-dev brings it"));
    }
}
