//! The report of a run: its work, its possible parallelism, and the rest of its time.

use std::collections::HashMap;

use millpond::record::{Cause, Role};
use serde::Serialize;

use crate::blocked::Blocked;
use crate::format::{ReadError, Recording};
use crate::graph::{Class, Graph};
use crate::idle::{Account, AtThefts, Reason, account};
use crate::model::{Ix, Kind, Run};
use crate::span::Span;

/// The numbers of a run. Times are in seconds.
///
/// Its `Display` is a table for people. It serializes as one flat object.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The workers of the runtime.
    pub workers: usize,
    /// From the first scope's opening to the last one's completion.
    pub seconds: f64,
    /// Tasks: leaves, parents, and second halves of forks.
    pub tasks: u64,
    /// Tasks without children. No schedule needs more processors to be as fast as possible
    /// ([TP](crate#sources) §2.3).
    pub leaves: u64,
    /// The runtime's own tasks, which combine reductions.
    pub combinations: u64,
    /// [TP](crate#sources)'s class of the graph.
    pub class: Class,
    /// T₁: the time of all bodies, including their spawning.
    pub work: f64,
    /// T∞: the longest chain of bodies that wait for each other, by data, spawning or waits.
    /// Sessions, and the work of non-worker threads for them, have no waits here. So consecutive
    /// sessions of a thread count as concurrent.
    pub span: f64,
    /// Bodies that have completed, although the recorded events do not allow it. Unless this is 0,
    /// a part of the recording is missing, and `span` is too small.
    pub incomplete: u64,
    /// T₁/T∞. Further workers have nothing to do.
    pub parallelism: f64,
    /// The part of `work` spent on spawning.
    pub spawning: f64,
    /// The workers' time neither in bodies nor idle: taking and completing tasks, and switching
    /// between bodies.
    pub overhead: f64,
    /// Thefts: the number of tasks taken from other workers.
    pub steals: u64,
    /// The cost of thefts; `None` if no thief stole from a dataflow stack.
    pub thefts: Option<Thefts>,
    /// The maximum number of tasks spawned and not complete at the same time.
    pub most_held: u64,
    /// Whether all root scopes had the same graph: tasks, labels, accesses and nesting. `None` if
    /// there was one.
    pub repeated: Option<bool>,
    /// A fingerprint of the graph of each root scope.
    pub graphs: Vec<u64>,
    /// Time and count by label, the largest time first.
    pub labels: Vec<LabelTime>,
    /// Workers' idle time by its reason.
    pub idle: Vec<IdleTime>,
    /// How long bodies and tasks waited, by reason.
    pub waits: Waits,
    /// How each worker spent its time.
    pub per_worker: Vec<WorkerTime>,
    /// The prediction by T₁/p + T∞.
    pub predicted: Vec<Prediction>,
}

/// The tasks of one label.
#[derive(Clone, Debug, Serialize)]
pub struct LabelTime {
    /// The name, or `file:line`.
    pub label: String,
    /// The number of tasks.
    pub tasks: u64,
    /// Their time.
    pub seconds: f64,
    /// The part of it on the critical path.
    pub on_critical_path: f64,
    /// The number of its stretches on the critical path.
    pub stretches: u64,
}

/// Idle time for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct IdleTime {
    /// The reason.
    pub reason: Reason,
    /// The time of all workers together.
    pub seconds: f64,
}

/// Thefts on the dataflow stack, all workers together ([DDS](crate#sources) §3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thefts {
    /// How often a worker scanned a stack, perhaps its own suspended one, and took closures. Taking
    /// closures that a thief had left in a pool counts, too.
    pub scans: u64,
    /// The number of closures taken by all scans. A closure left in a pool and taken from there
    /// counts each time.
    pub closures: u64,
    /// How often a worker waited at a stolen closure, and took nothing before its next body.
    pub waits: u64,
    /// The part of the overhead at thefts: waits, and all time between two bodies with a scan in
    /// between. Before some scans a worker was idle as well.
    pub seconds: f64,
    /// The workers' idle time while a task was ready, each from its first body on. Before that it
    /// had to wake up.
    pub idle: f64,
}

impl Thefts {
    fn of(run: &Run, accounts: &[(usize, Account)]) -> Option<Thefts> {
        let sum = |part: fn(&AtThefts) -> u64| total(accounts.iter().map(|(_, account)| part(&account.at_thefts)));
        let (scans, closures, waits) = (sum(|at| at.scans), sum(|at| at.closures), sum(|at| at.waits));
        let (seconds, idle) = (run.seconds(sum(|at| at.time)), run.seconds(sum(|at| at.idle)));
        (run.has_stacks && scans > 0).then_some(Thefts { scans, closures, waits, seconds, idle })
    }

    /// The average time of a scan or a wait.
    ///
    /// ```
    /// let thefts = millpond_trace::Thefts { scans: 30, closures: 45, waits: 10, seconds: 80e-6, idle: 60e-6 };
    /// assert!((thefts.seconds_each() - 2e-6).abs() < 1e-12);
    /// ```
    pub fn seconds_each(&self) -> f64 {
        self.seconds / (self.scans + self.waits).max(1) as f64
    }

    /// The idle time of workers per successful scan.
    ///
    /// ```
    /// let thefts = millpond_trace::Thefts { scans: 30, closures: 45, waits: 10, seconds: 80e-6, idle: 60e-6 };
    /// assert!((thefts.idle_per_scan() - 2e-6).abs() < 1e-12);
    /// ```
    pub fn idle_per_scan(&self) -> f64 {
        self.idle / self.scans.max(1) as f64
    }

    /// The average number of closures per scan.
    ///
    /// ```
    /// let thefts = millpond_trace::Thefts { scans: 30, closures: 45, waits: 10, seconds: 80e-6, idle: 60e-6 };
    /// assert_eq!(thefts.closures_per_scan(), 1.5);
    /// ```
    pub fn closures_per_scan(&self) -> f64 {
        self.closures as f64 / self.scans.max(1) as f64
    }
}

/// The total waiting time of tasks and bodies. Many can wait at once.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Waits {
    /// Tasks, from their spawn until their last access was granted.
    pub tasks_for_data: f64,
    /// Tasks, from then on until they had their exclusions.
    pub tasks_for_exclusion: f64,
    /// Tasks, from then on until they started.
    pub tasks_for_a_worker: f64,
    /// Bodies that waited for a datum or a task.
    pub bodies_for_data: f64,
    /// Bodies that waited for room in their window.
    pub bodies_for_window: f64,
    /// Bodies that waited for a future, or for a session.
    pub bodies_for_others: f64,
}

/// How one worker spent its time.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerTime {
    /// The worker's number.
    pub worker: u32,
    /// The time in bodies.
    pub busy: f64,
    /// The time neither in bodies nor idle.
    pub overhead: f64,
    /// The time with nothing to do.
    pub idle: f64,
    /// Idle time as a share of the total.
    pub idle_share: f64,
    /// Thefts.
    pub steals: u64,
}

/// The predicted time with a number of workers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prediction {
    /// The number of workers.
    pub workers: u32,
    /// (T₁ + overhead)/p + T∞: the maximum if no worker is idle while a task is ready.
    pub seconds: f64,
    /// max((T₁ + overhead)/p, T∞): no schedule is faster.
    pub least: f64,
}

impl Recording {
    /// Computes the report. Takes O(n log n) for n tasks and accesses.
    ///
    /// # Errors
    ///
    /// If an event cannot be read.
    pub fn report(&self) -> Result<Report, ReadError> {
        let run = Run::of(self)?;
        let graph = Graph::of(&run);
        Ok(Report::of(&run, &graph, &Span::of(&run, &graph)))
    }
}

impl Report {
    pub(crate) fn of(run: &Run, graph: &Graph, span: &Span) -> Report {
        let window = Window::of(run);
        let accounts = window.accounts(run);
        let roots: Vec<_> = run.known().filter(|(_, b)| b.kind == Kind::Scope && b.spawner.is_none()).collect();
        let graphs: Vec<_> = roots.iter().map(|(ix, _)| fingerprint(run, graph, *ix)).collect();
        let work = run.seconds(total(run.known().map(|(_, body)| body.own)));
        let span_seconds = run.seconds(span.ticks);
        let overhead = run.seconds(total(accounts.iter().map(|(_, account)| account.overhead)));
        let predict = |workers: u32| {
            let share = (work + overhead) / f64::from(workers);
            Prediction { workers, seconds: share + span_seconds, least: share.max(span_seconds) }
        };
        let own = || run.tasks().filter(|(_, task)| task.kind != Kind::Task(Role::Combine));
        Report {
            workers: run.workers,
            seconds: run.seconds(window.to.saturating_sub(window.from)),
            tasks: own().count() as u64,
            leaves: own().filter(|(ix, _)| graph.children[*ix as usize].is_empty()).count() as u64,
            combinations: (run.tasks().count() - own().count()) as u64,
            class: graph.class(run),
            work,
            span: span_seconds,
            incomplete: span.incomplete,
            parallelism: if span.ticks == 0 { 0.0 } else { work / span_seconds },
            spawning: run.seconds(total(run.tracks.iter().map(|line| line.spawning))),
            overhead,
            steals: total(run.tracks.iter().map(|line| line.steals)),
            thefts: Thefts::of(run, &accounts),
            most_held: most_held(run),
            repeated: (graphs.len() > 1).then(|| graphs.windows(2).all(|two| two[0] == two[1])),
            graphs,
            labels: by_label(run, span),
            idle: by_reason(run, &accounts),
            waits: waits(run),
            per_worker: per_worker(run, &accounts),
            predicted: (1..=10).map(|power| predict(1 << power)).collect(),
        }
    }

    /// The predicted time with `workers` workers, by T₁/p + T∞.
    pub fn predicted_seconds(&self, workers: u32) -> f64 {
        (self.work + self.overhead) / f64::from(workers) + self.span
    }
}

/// The sum of times. It saturates, because a damaged recording may have any times.
fn total(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

/// From the first root scope's opening to the last one's completion.
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    pub(crate) fn of(run: &Run) -> Window {
        let scopes = || run.known().filter(|(_, body)| body.kind == Kind::Scope);
        let from = scopes().filter_map(|(_, body)| body.started).min().unwrap_or(0);
        let to = scopes().filter_map(|(_, body)| body.completed.or(body.ended)).max().unwrap_or(from);
        Window { from, to: to.max(from) }
    }

    /// How each worker spent its time, with the index of its track.
    pub(crate) fn accounts(&self, run: &Run) -> Vec<(usize, Account)> {
        let workers = run.tracks.iter().enumerate().filter(|(_, line)| line.track.worker.is_some());
        let blocked = Blocked::of(run);
        workers.map(|(track, line)| (track, account(run, &blocked, line, self.from, self.to))).collect()
    }
}

fn by_label(run: &Run, span: &Span) -> Vec<LabelTime> {
    let mut times: HashMap<u32, LabelTime> = HashMap::new();
    let new = |label: u32| LabelTime {
        label: run.labels[label as usize].clone(),
        tasks: 0,
        seconds: 0.0,
        on_critical_path: 0.0,
        stretches: 0,
    };
    for (_, body) in run.known() {
        let entry = times.entry(body.label).or_insert_with(|| new(body.label));
        entry.tasks += u64::from(body.kind != Kind::Scope);
        entry.seconds += run.seconds(body.own);
    }
    for stretch in &span.path {
        let label = run.body(stretch.body).label;
        let entry = times.entry(label).or_insert_with(|| new(label));
        entry.on_critical_path += run.seconds(stretch.to - stretch.from);
        entry.stretches += 1;
    }
    let mut times: Vec<_> = times.into_values().collect();
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.label.cmp(&b.label)));
    times
}

fn by_reason(run: &Run, accounts: &[(usize, Account)]) -> Vec<IdleTime> {
    let of = |reason: Reason| total(accounts.iter().map(|(_, account)| account.idle[reason as usize]));
    Reason::ALL.map(|reason| IdleTime { reason, seconds: run.seconds(of(reason)) }).to_vec()
}

fn waits(run: &Run) -> Waits {
    let mut waits = Waits::default();
    for (_, task) in run.tasks() {
        let granted = task.granted.map_or(task.spawned, |(at, _)| at);
        waits.tasks_for_data += run.seconds(granted.saturating_sub(task.spawned));
        waits.tasks_for_exclusion += run.seconds(task.ready().saturating_sub(granted));
        if let Some(started) = task.started.filter(|_| task.kind != Kind::Task(Role::Fork)) {
            waits.tasks_for_a_worker += run.seconds(started.saturating_sub(task.ready()));
        }
    }
    for wait in &run.waits {
        let sum = match wait.cause {
            Cause::Join | Cause::Datum | Cause::Written => &mut waits.bodies_for_data,
            Cause::Window => &mut waits.bodies_for_window,
            _ => &mut waits.bodies_for_others,
        };
        *sum += run.seconds(wait.to.saturating_sub(wait.from));
    }
    waits
}

fn per_worker(run: &Run, accounts: &[(usize, Account)]) -> Vec<WorkerTime> {
    let time = |(track, account): &(usize, Account)| {
        let idle: u64 = account.idle.iter().sum();
        let all = (account.busy + account.overhead + idle).max(1);
        let line = &run.tracks[*track];
        WorkerTime {
            worker: line.track.worker.unwrap_or(0),
            busy: run.seconds(account.busy),
            overhead: run.seconds(account.overhead),
            idle: run.seconds(idle),
            idle_share: idle as f64 / all as f64,
            steals: line.steals,
        }
    };
    let mut times: Vec<_> = accounts.iter().map(time).collect();
    times.sort_by_key(|time| time.worker);
    times
}

/// The maximum number of tasks spawned and not complete at the same time.
fn most_held(run: &Run) -> u64 {
    let mut steps: Vec<_> = run.tasks().map(|(_, task)| (task.spawned, 1)).collect();
    steps.extend(run.tasks().filter_map(|(_, task)| Some((task.completed?.max(task.spawned), -1))));
    // At equal times the spawns come first, because a task takes time.
    steps.sort_by_key(|&(at, step)| (at, std::cmp::Reverse(step)));
    let (mut held, mut most) = (0_i64, 0);
    for (_, step) in steps {
        held += step;
        most = most.max(held);
    }
    most as u64
}

/// Equal for scopes with the same tasks in the same order: roles, labels, accesses, nesting. Data
/// are numbered by their first use. It is the same for the same graph on every machine.
fn fingerprint(run: &Run, graph: &Graph, root: Ix) -> u64 {
    let mut print = Fingerprint(0xcbf2_9ce4_8422_2325);
    let mut todo = vec![root];
    while let Some(ix) = todo.pop() {
        let (body, children) = (run.body(ix), &graph.children[ix as usize]);
        print.add_text(run.label(ix));
        print.add(if let Kind::Task(role) = body.kind { role as u64 } else { u64::MAX });
        print.add(body.count.into());
        body.indices.iter().for_each(|&index| print.add(index.into()));
        print.add(children.len() as u64);
        let mut data: HashMap<u64, u64> = HashMap::new();
        for &child in children {
            print.add(run.accesses_of(child).len() as u64);
            for access in run.accesses_of(child) {
                let next = data.len() as u64;
                print.add(access.mode as u64);
                print.add(*data.entry(access.datum).or_insert(next));
            }
        }
        todo.extend(children.iter().rev());
    }
    print.0
}

/// FNV-1a, because hashes of the standard library may change with its version.
struct Fingerprint(u64);

impl Fingerprint {
    fn add_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }

    fn add(&mut self, number: u64) {
        self.add_bytes(&number.to_le_bytes());
    }

    fn add_text(&mut self, text: &str) {
        self.add(text.len() as u64);
        self.add_bytes(text.as_bytes());
    }
}
