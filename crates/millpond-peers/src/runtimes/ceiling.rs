//! The ceiling: what this machine reaches with one serial process per worker.
//!
//! Two processors of a shared machine do not give twice the speed of one. So each process runs a
//! share of the serial loop, at the same time as the others. No process waits for another one.
//!
//! 1. A process is this program with a hidden argument. It writes "ready", and then answers by the
//!    protocol of `src/child.rs`.
//! 2. A question is one to the C++ programs, followed by "NUMBER MOMENT": which process this is,
//!    and when all processes start. Each process prepares its data before that moment.
//! 3. An answer is "ok START END RAN" or "error WHY". `START` and `END` are moments of the clock
//!    that all processes share, and `RAN` is the number of bodies.
//! 4. The time of the run is from the first start to the last end. A process that starts late would
//!    make this time longer, and so the ceiling lower. So all agree on the moment before. The
//!    longest time of one process is no alternative. It is too short if the processes run one after
//!    the other.
//!
//! A share is a contiguous part of the walk, on private data. So one process alone is the serial
//! loop. A plain loop of equal bodies would not be, because a processor overlaps short bodies that
//! do not need each other's results. Each graph has its own fraction of such bodies.
//!
//! Without dependences the bodies get other values, so their sum shows nothing. Each process checks
//! by its tally that it ran its share. The sum of a run is the number of all bodies, which must be
//! the number of tasks.

use super::Peer;
use super::program::{LIMIT, not_understood, numbers, question};
use super::serial::Loop;
use crate::child::Child;
use crate::graph::{Case, Graph, Sink};
use crate::work::{Outcome, measured};
use rustix::time::{ClockId, clock_gettime};
use std::convert::Infallible;
use std::hint::spin_loop;
use std::io::{BufRead, Write};
use std::mem::take;
use std::ops::Range;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The hidden argument of a process.
pub const WORKER: &str = "ceiling-worker";

/// The first line of a process.
const READY: &str = "ready";
/// The time from the questions to the start, in nanoseconds, and the addition for each process. A
/// process wakes up and prepares its data in a fraction of it.
const LEAD_NS: u64 = 10_000_000;
const LEAD_EACH_NS: u64 = 100_000;
/// The part of that time during which the processes do not sleep. It is longer than a tick of the
/// kernel, so that the kernel has given each process its own processor.
const AWAKE_NS: u64 = 5_000_000;

/// The processes, started when needed, and again after a loss.
struct Ceiling {
    workers: usize,
    processes: Vec<Child>,
}

/// The processes do not start yet.
pub fn start(workers: usize) -> Result<Box<dyn Peer>, String> {
    Ok(Box::new(Ceiling { workers, processes: Vec::new() }))
}

impl Peer for Ceiling {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        // An error drops all processes, which kills them.
        let mut processes = take(&mut self.processes);
        if processes.is_empty() {
            processes = start_processes(self.workers)?;
        }
        let question = question(case, self.workers);
        let moment = now() + LEAD_NS + LEAD_EACH_NS * self.workers as u64;
        for (number, process) in processes.iter_mut().enumerate() {
            process.send(&format!("{question} {number} {moment}"))?;
        }
        let answers = processes.iter_mut().map(Child::receive).collect::<Result<Vec<_>, _>>()?;
        self.processes = processes;
        together(&answers)
    }
}

/// Starts all processes, and waits until they are ready. Otherwise, the first run would include
/// their start.
fn start_processes(workers: usize) -> Result<Vec<Child>, String> {
    let program = std::env::current_exe().map_err(|error| format!("does not find itself: {error}"))?;
    let start = |_| {
        let mut command = Command::new(&program);
        command.arg(format!("--{WORKER}"));
        Child::start(command, LIMIT)
    };
    let mut processes = (0..workers).map(start).collect::<Result<Vec<_>, _>>()?;
    for process in &mut processes {
        let said = process.receive()?;
        if said != READY {
            return Err(not_understood(&said));
        }
    }
    Ok(processes)
}

/// The outcome of a run, from the answers of all processes.
fn together(answers: &[String]) -> Result<Outcome, String> {
    let (mut first, mut last, mut ran) = (u64::MAX, 0, Vec::new());
    for answer in answers {
        let said = numbers(answer)?;
        let [start, end, bodies] = said[..] else { return Err(not_understood(answer)) };
        first = first.min(start);
        last = last.max(end);
        ran.push(bodies);
    }
    ran.sort_unstable_by(|a, b| b.cmp(a));
    Ok(Outcome { time: Duration::from_nanos(last.saturating_sub(first)), sum: ran.iter().sum(), ran })
}

/// Nanoseconds of the clock that all processes share.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The life of a process.
pub fn worker() -> ExitCode {
    // A stopped process would miss the end of its parent. If the kernel refuses, the process still
    // ends at the end of its input, once it continues.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    match serve(std::io::stdin().lock(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Answers until the input ends.
fn serve(questions: impl BufRead, mut answers: impl Write) -> std::io::Result<()> {
    writeln!(answers, "{READY}")?;
    answers.flush()?;
    for line in questions.lines() {
        let line = line?;
        let answer = Part::parse(&line).map_or_else(|| format!("error not understood: {line}"), |part| part.answer());
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

/// A question to one process.
struct Part {
    case: Case,
    share: Range<u64>,
    moment: u64,
}

impl Part {
    fn parse(line: &str) -> Option<Self> {
        let (name, sizes) = line.split_once(' ')?;
        let sizes = sizes.split(' ').map(|size| size.parse::<u64>().ok()).collect::<Option<Vec<u64>>>()?;
        let [first, second, steps, long_steps, workers, number, moment] = sizes[..] else { return None };
        let graph = Graph::parse(name, first, second).filter(|_| number < workers)?;
        let share = share(graph.tasks(), number, workers);
        Some(Self { case: Case { graph, steps, long_steps }, share, moment })
    }

    fn answer(&self) -> String {
        let (start, outcome) = self.run();
        let (ran, want) = (outcome.ran.iter().sum::<u64>(), self.share.end - self.share.start);
        if ran == want {
            let end = start + outcome.time.as_nanos() as u64;
            format!("ok {start} {end} {ran}")
        } else {
            format!("error ran {ran} bodies, not {want}")
        }
    }

    /// Runs the share. Returns the moment of the start, and the outcome since then.
    fn run(&self) -> (u64, Outcome) {
        let graph = self.case.graph;
        let mut data: Vec<u64> = graph.start().collect();
        let mut start = 0;
        let outcome = measured::<Infallible>(|| {
            let bodies = Loop { data: &mut data, case: &self.case };
            let (share, moment) = (self.share.clone(), self.moment);
            // An empty share starts and ends at the moment.
            let mut walk = Walk { bodies, share, next: 0, moment, start: moment, end: moment };
            graph.walk(&mut walk);
            start = walk.start;
            Ok((Duration::from_nanos(walk.end - walk.start), 0))
        });
        match outcome {
            Ok(outcome) => (start, outcome),
            Err(never) => match never {},
        }
    }
}

/// The tasks of a process, by their places in the walk. All shares together are all tasks.
fn share(tasks: u64, number: u64, workers: u64) -> Range<u64> {
    tasks * number / workers..tasks * (number + 1) / workers
}

/// Runs the tasks of a share, and skips the others. The skipped ones are outside the measured time.
struct Walk<'a> {
    bodies: Loop<'a>,
    share: Range<u64>,
    /// The place of the next task.
    next: u64,
    /// The agreed start.
    moment: u64,
    /// The actual start and end.
    start: u64,
    end: u64,
}

impl<'a> Walk<'a> {
    #[inline]
    fn visit(&mut self, run: impl FnOnce(&mut Loop<'a>)) {
        let place = self.next;
        self.next += 1;
        if !self.share.contains(&place) {
            return;
        }
        if place == self.share.start {
            self.start = wait_until(self.moment);
        }
        run(&mut self.bodies);
        if self.next == self.share.end {
            self.end = now();
        }
    }
}

impl Sink for Walk<'_> {
    fn alone(&mut self, k: u64, long: bool) {
        self.visit(|bodies| bodies.alone(k, long));
    }

    fn read(&mut self, a: usize) {
        self.visit(|bodies| bodies.read(a));
    }

    fn inout(&mut self, c: usize) {
        self.visit(|bodies| bodies.inout(c));
    }

    fn update(&mut self, a: usize, c: usize) {
        self.visit(|bodies| bodies.update(a, c));
    }

    fn update_by_two(&mut self, a: usize, b: usize, c: usize) {
        self.visit(|bodies| bodies.update_by_two(a, b, c));
    }

    fn many<const N: usize>(&mut self, first: usize) {
        self.visit(|bodies| bodies.many::<N>(first));
    }
}

/// Waits for a moment. Returns when it really is, which is later if the process was late.
fn wait_until(moment: u64) -> u64 {
    std::thread::sleep(Duration::from_nanos(moment.saturating_sub(now() + AWAKE_NS)));
    loop {
        let now = now();
        if now >= moment {
            return now;
        }
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Graphs of every kind. Some have fewer tasks than processes.
    const GRAPHS: &[Graph] = &[
        Graph::Flat { tasks: 1 },
        Graph::Flat { tasks: 1000 },
        Graph::Bimodal { tasks: 2000 },
        Graph::Chains { chains: 7, length: 10 },
        Graph::Generations { rounds: 1 },
        Graph::Cholesky { tiles: 6 },
        Graph::MatmulIjk { tiles: 5 },
        Graph::MatmulKij { tiles: 5 },
        Graph::Args { accesses: 4, tasks: 101 },
    ];

    /// The lines of a process that gets these questions.
    fn said(questions: &str) -> Vec<String> {
        let mut lines = Vec::new();
        serve(questions.as_bytes(), &mut lines).expect("memory can be written");
        String::from_utf8(lines).expect("text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_shares_are_all_tasks() {
        for (tasks, workers) in [(0, 3), (1, 1), (2, 5), (100, 7), (50_653, 64)] {
            let mut next = 0;
            for share in (0..workers).map(|number| share(tasks, number, workers)) {
                assert_eq!(share.start, next);
                assert!((tasks / workers..=tasks / workers + 1).contains(&(share.end - share.start)), "{share:?}");
                next = share.end;
            }
            assert_eq!(next, tasks);
        }
    }

    #[test]
    fn all_processes_together_run_each_body_once() {
        for &graph in GRAPHS {
            let question = question(&Case { graph, steps: 5, long_steps: 50 }, 3);
            let lines: Vec<String> = (0..3).map(|number| format!("{question} {number} 0\n")).collect();
            let answers = said(&lines.concat());
            assert_eq!((answers.len(), answers[0].as_str()), (4, READY));
            let outcome = together(&answers[1..]).expect("three answers");
            assert_eq!((outcome.sum, outcome.ran.len()), (graph.tasks(), 3), "{graph:?}");
        }
    }

    #[test]
    fn one_process_is_the_serial_loop() {
        for &graph in GRAPHS {
            let case = Case { graph, steps: 5, long_steps: 50 };
            let serial = crate::runtimes::serial::start(1).and_then(|mut peer| peer.run(&case)).expect("a loop");
            let (_, alone) = Part { case, share: share(graph.tasks(), 0, 1), moment: 0 }.run();
            assert_eq!((alone.sum, alone.ran), (serial.sum, serial.ran), "{graph:?}");
        }
    }

    #[test]
    fn a_process_starts_at_the_agreed_moment() {
        let moment = now() + 20_000_000;
        let case = Case::empty(Graph::Flat { tasks: 10 });
        let (start, outcome) = Part { case, share: 0..10, moment }.run();
        assert!(start >= moment && start + outcome.time.as_nanos() as u64 <= now());
    }

    #[test]
    fn the_time_is_from_the_first_start_to_the_last_end() {
        let answers = ["ok 100 300 4", "ok 150 420 5"].map(str::to_owned);
        assert_eq!(together(&answers), Ok(Outcome { time: Duration::from_nanos(320), sum: 9, ran: vec![5, 4] }));
        for (answer, why) in [("error no memory", "no memory"), ("ok 1 2", "answers 'ok 1 2'")] {
            assert_eq!(together(&[answers[0].clone(), answer.to_owned()]), Err(why.to_owned()));
        }
    }

    #[test]
    fn nonsense_is_an_error_and_the_next_question_is_answered() {
        for nonsense in ["", "flat", "fib 5 0 0 0 1 0 0", "flat 5 0 0 0 1 1 0", "flat 5 0 0 0 1 0", "flat x"] {
            let lines = said(&format!("{nonsense}\nflat 5 0 0 0 1 0 0\n"));
            assert_eq!(lines[1], format!("error not understood: {nonsense}"));
            assert!(lines[2].starts_with("ok ") && lines[2].ends_with(" 5"), "{}", lines[2]);
        }
    }
}
