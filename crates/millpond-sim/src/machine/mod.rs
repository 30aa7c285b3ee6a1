//! The machine: events in the order of time, and the actions of processors at these events.
//!
//! 1. A working processor has one event: when it reaches the end of its stack, or a child taken by
//!    a thief. Until then its state is not updated. Before another processor reads its stack, the
//!    machine lets it catch up.
//! 2. At the end of a stack, its root closure finishes on the victim's stack. If the victim's stack
//!    was suspended for this closure, the processor continues with that stack. Otherwise the
//!    processor becomes a thief.
//! 3. At an unfinished stolen child, the stack is suspended. It stays with its holder, and thieves
//!    may take from it. The holder becomes a thief, and scans its own suspended stacks first
//!    ([DDS](crate#sources) §3: first locally), which may take time, too.
//! 4. A thief asks a processor chosen at random. The request takes effect after half the latency;
//!    the answer arrives after the whole. Stolen closures arrive later, by their size over the
//!    bandwidth. If it is refused, the thief asks another processor.
//! 5. With [`Config::send_results`], rule 2 changes. The result is a message to the processor that
//!    holds the victim's stack. On arrival, a holder without work continues with that stack; a
//!    working holder continues with it later. The thief looks for other work at once.
//! 6. If a thief takes several closures, each has its own stack. The thief begins the next one when
//!    it would otherwise steal. No other processor can take it.
//!
//! Simultaneous events are processed in the order of their creation, so that a seed determines
//! everything.

mod faults;
mod limits;
mod results;
#[cfg(test)]
mod tests;
mod thief;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use millpond::internals::Victims;

use crate::config::{ClusterOutcome, Config, Error, MAX_WORK_NANOS, Outcome};
use crate::frame::StackId;
use crate::load::Load;
use crate::network::Topology;
use crate::program::{Program, Work};
use crate::random::mix;
use crate::speed::Speed;
use crate::stack::{Position, Stack, Standing, Stop, Tally};

/// Simulates a program on a machine.
///
/// ```
/// use millpond_sim::{Config, Costs, programs::Fib, simulate};
///
/// let fib = Fib::new(30, 10, 100_000, Costs::PAPER);
/// let (one, many) = (simulate(&fib, &Config::of(1))?, simulate(&fib, &Config::of(16))?);
/// assert!(one.seconds == one.work_seconds && one.steals == 0);
/// assert!(many.seconds < one.seconds / 14.0);
/// # Ok::<(), millpond_sim::Error>(())
/// ```
///
/// # Errors
///
/// - No processor is ever alive, or all remaining work is held by processors that have left.
/// - A number is out of range.
/// - The program has more than 10^8 seconds of work.
/// - Almost all events are refused requests or changes of speed, so the simulation would not end.
pub fn simulate<P: Program>(program: &P, config: &Config) -> Result<Outcome, Error> {
    config.check()?;
    let size = program.size(&program.root());
    if size.work > MAX_WORK_NANOS || size.tasks == u64::MAX {
        return Err(Error::TooLarge);
    }
    Machine::new(program, config).run()
}

/// The number of refusals between two checks: several seconds.
const REFUSALS_PER_CHECK: u64 = 50_000_000;
/// The maximum number of changes of speed, over all processors, because each takes memory. The next
/// constant is the minimum per processor.
const MAX_CHANGES: usize = 10_000_000;
const MIN_CHANGES_PER_PROCESSOR: usize = 1000;

/// The events of a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// It reaches the end of its stack, or a stolen child.
    Stops,
    /// Its request for work reaches a victim.
    Asks { victim: usize },
    /// An answer arrives, or a closure from its own stacks; or it should scan again.
    Answered,
    /// Its speed changes.
    Changes,
    /// The result of a closure arrives that was stolen from a stack of this processor.
    Arrives { origin: Position },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    at: f64,
    sequence: u64,
    processor: usize,
    /// The event counts only if the processor's stamp is still this one. Changes of speed and
    /// arrivals of results always count.
    stamp: u64,
    what: What,
}

impl Eq for Event {}

/// The earliest event is the greatest.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.sequence.cmp(&self.sequence))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Processor {
    speed: Speed,
    victims: Victims,
    /// Its requests since it last worked.
    tries: u64,
    /// Neither gone nor faulty.
    alive: bool,
    active: Option<StackId>,
    /// Stacks on their way to it, and those that arrived together with one that it has begun.
    sent: VecDeque<StackId>,
    /// The fraction of a closure that it may still take, because the average need not be an
    /// integer.
    owed: f64,
    suspended: Vec<StackId>,
    /// Its capacity when it began to work on the active stack. `used` is the work since then.
    base: f64,
    used: Work,
    /// The work until its next event.
    due: Work,
    /// The time when it began.
    since: f64,
    /// It has left permanently, with an active stack.
    halted: bool,
    stamp: u64,
}

struct Machine<'a, P: Program> {
    program: &'a P,
    config: &'a Config,
    topology: Topology,
    processors: Vec<Processor>,
    stacks: HashMap<StackId, Stack<P::Task>>,
    next_stack: StackId,
    events: BinaryHeap<Event>,
    sequence: u64,
    /// The number of pending changes of speed.
    changes: usize,
    /// The number of stacks that are running or being sent, and of results on their way. While
    /// there are any, refused thieves need not give up.
    moving: usize,
    now: f64,
    finished: bool,
    /// The program's root has no holder yet, or lost it.
    is_root_unassigned: bool,
    tally: Tally,
    load: Load,
    outcome: Outcome,
    /// The number of refusals between two checks.
    refusals_per_check: u64,
    /// All processors catch up at every event. A test shows that this changes nothing.
    #[cfg(test)]
    eager: bool,
}

impl<'a, P: Program> Machine<'a, P> {
    fn new(program: &'a P, config: &'a Config) -> Self {
        Machine {
            program,
            config,
            topology: Topology::of(config),
            processors: processors(config),
            stacks: HashMap::new(),
            next_stack: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            changes: 0,
            moving: 0,
            now: 0.0,
            finished: false,
            is_root_unassigned: true,
            tally: Tally::default(),
            load: Load::new(),
            outcome: unfinished(program, config),
            refusals_per_check: REFUSALS_PER_CHECK,
            #[cfg(test)]
            eager: false,
        }
    }

    fn run(mut self) -> Result<Outcome, Error> {
        let least = self.config.fault_below;
        if !self.processors.iter_mut().any(|processor| processor.speed.first_alive(least).is_some()) {
            let none = Error::NoneAlive { processors: self.processors.len(), fault_below: least };
            return Err(self.restless().unwrap_or(none));
        }
        for number in 0..self.processors.len() {
            let alive = self.is_fast(number);
            self.processors[number].alive = alive;
            self.await_change(number);
        }
        self.assign_root();
        for number in 0..self.processors.len() {
            let idle = self.processors[number].alive && self.processors[number].active.is_none();
            if idle && !self.finished {
                self.find_work(number);
            }
        }
        while !self.finished {
            let Some(event) = self.events.pop() else { return Err(self.stuck()) };
            if self.processors[event.processor].speed.is_exhausted() {
                return Err(self.stuck());
            }
            let always = matches!(event.what, What::Changes | What::Arrives { .. });
            if always || event.stamp == self.processors[event.processor].stamp {
                self.now = event.at;
                #[cfg(test)]
                if self.eager && event.what != What::Changes {
                    (0..self.processors.len()).for_each(|number| self.catch_up(number));
                }
                self.happen(event)?;
            }
        }
        self.finish()
    }

    fn happen(&mut self, event: Event) -> Result<(), Error> {
        match event.what {
            What::Stops => self.advance(event.processor),
            What::Asks { victim } => return self.ask(event.processor, victim),
            What::Answered => self.answered(event.processor),
            What::Arrives { origin } => self.arrive(origin),
            What::Changes => {
                self.changes -= 1;
                return self.change(event.processor);
            }
        }
        Ok(())
    }

    fn push(&mut self, at: f64, processor: usize, what: What) {
        self.sequence += 1;
        let stamp = self.processors[processor].stamp;
        self.events.push(Event { at, sequence: self.sequence, processor, stamp, what });
    }

    fn new_stack(&mut self, stack: Stack<P::Task>) -> StackId {
        self.next_stack += 1;
        self.stacks.insert(self.next_stack, stack);
        self.next_stack
    }

    fn stack(&mut self, id: StackId) -> &mut Stack<P::Task> {
        self.stacks.get_mut(&id).expect("a stack exists while something refers to it")
    }

    /// Gives the root to the first live processor, if any.
    fn assign_root(&mut self) {
        let Some(first) = self.processors.iter().position(|p| p.alive) else { return };
        self.is_root_unassigned = false;
        let stack = self.new_stack(Stack::new(self.program, self.program.root(), None, first));
        self.work_on(first, stack);
    }

    /// The processor works on a stack from now on.
    fn work_on(&mut self, number: usize, id: StackId) {
        self.begin(number, id);
        self.advance(number);
    }

    /// The processor has done its due work. It continues with this stack or another, or becomes a
    /// thief.
    fn advance(&mut self, number: usize) {
        loop {
            let due = self.processors[number].due;
            let Some((id, stop)) = self.work(number, due) else { return };
            match stop {
                Stop::Budget => return self.plan(number, id),
                Stop::Stolen => {
                    self.rest(number);
                    self.stack(id).standing = Standing::Suspended;
                    self.processors[number].suspended.push(id);
                    return self.find_work(number);
                }
                Stop::End => {
                    self.rest(number);
                    let stack = self.stacks.remove(&id).expect("it was active");
                    let Some(origin) = stack.origin else {
                        self.finished = true;
                        return;
                    };
                    let send_results = self.config.send_results;
                    let upper = self.stack(origin.stack);
                    let holder = upper.holder;
                    if send_results && holder != number {
                        self.send_result(number, holder, origin, stack.result_bytes);
                        return self.find_work(number);
                    }
                    if !upper.finish_stolen(origin) {
                        return self.find_work(number);
                    }
                    self.processors[holder].suspended.retain(|&other| other != origin.stack);
                    self.begin(number, origin.stack);
                }
            }
        }
    }

    fn begin(&mut self, number: usize, id: StackId) {
        let now = self.now;
        let stack = self.stack(id);
        (stack.holder, stack.standing) = (number, Standing::Active);
        let processor = &mut self.processors[number];
        processor.base = processor.speed.capacity(now);
        (processor.used, processor.due, processor.since, processor.active) = (0, 0, now, Some(id));
        processor.tries = 0;
        self.moving += 1;
    }

    /// The processor does this much work of its active stack.
    fn work(&mut self, number: usize, budget: Work) -> Option<(StackId, Stop)> {
        let processor = &mut self.processors[number];
        let id = processor.active?;
        let before = self.tally.work;
        let stack = self.stacks.get_mut(&id).expect("an active stack is there");
        let stop = stack.run(self.program, budget, &mut self.tally);
        let done = self.tally.work - before;
        processor.used += done;
        processor.due = processor.due.saturating_sub(done);
        Some((id, stop))
    }

    /// Lets a working processor do its work until now.
    fn catch_up(&mut self, number: usize) {
        let now = self.now;
        let processor = &mut self.processors[number];
        if processor.active.is_none() {
            return;
        }
        let capacity = (processor.speed.capacity(now) - processor.base).max(0.0) as Work;
        let budget = capacity.saturating_sub(processor.used).min(processor.due);
        self.work(number, budget);
    }

    /// Computes the processor's next event.
    fn plan(&mut self, number: usize, id: StackId) {
        let due = self.stack(id).undisturbed();
        let processor = &mut self.processors[number];
        processor.due = due;
        processor.stamp += 1;
        let at = processor.speed.when(processor.base + (processor.used + due) as f64).max(self.now);
        if at.is_finite() {
            self.push(at, number, What::Stops);
        } else if !processor.halted {
            processor.halted = true;
            self.moving -= 1;
        }
    }

    /// The processor stops working.
    fn rest(&mut self, number: usize) {
        let (now, least) = (self.now, self.config.fault_below);
        let processor = &mut self.processors[number];
        processor.active = None;
        processor.stamp += 1;
        if !std::mem::take(&mut processor.halted) {
            self.moving -= 1;
        }
        let (load, busy) = (&mut self.load, &mut self.outcome.busy_seconds);
        let mut cluster = self.outcome.clusters.get_mut(self.topology.cluster_of(number));
        processor.speed.spans(processor.since, now, least, |from, to| {
            *busy += to - from;
            load.busy(from, to);
            if let Some(cluster) = &mut cluster {
                cluster.busy_seconds += to - from;
                cluster.load.busy(from, to);
            }
        });
    }

    fn finish(mut self) -> Result<Outcome, Error> {
        let (end, least) = (self.now, self.config.fault_below);
        let (mut alive, capacity) = (0.0, self.capacity());
        for (number, processor) in self.processors.iter_mut().enumerate() {
            let mut cluster = self.outcome.clusters.get_mut(self.topology.cluster_of(number));
            processor.speed.spans(0.0, end, least, |from, to| {
                alive += to - from;
                self.load.alive(from, to);
                if let Some(cluster) = &mut cluster {
                    cluster.alive_seconds += to - from;
                    cluster.load.alive(from, to);
                }
            });
        }
        if let Some(error) = self.restless() {
            return Err(error);
        }
        self.load.cut(end);
        let mut outcome = self.outcome;
        outcome.seconds = end;
        outcome.average_speed = if end > 0.0 { capacity / end } else { 0.0 };
        outcome.tasks = self.tally.tasks;
        outcome.lost_seconds = (seconds(self.tally.work) - outcome.work_seconds).max(0.0);
        outcome.alive_seconds = alive;
        outcome.idle_share = idle_share(outcome.busy_seconds, alive);
        for cluster in &mut outcome.clusters {
            cluster.idle_share = idle_share(cluster.busy_seconds, cluster.alive_seconds);
            cluster.load.cut(end);
        }
        outcome.load = self.load;
        Ok(outcome)
    }
}

/// The processors before the first event.
fn processors(config: &Config) -> Vec<Processor> {
    let most = MIN_CHANGES_PER_PROCESSOR.max(MAX_CHANGES / config.speeds.len().max(1));
    let processor = |(number, speed): (usize, &Speed)| Processor {
        speed: speed.clone().limited(most),
        victims: Victims::of_thief(mix(config.seed).wrapping_add(number as u64) as usize),
        tries: 0,
        alive: false,
        active: None,
        sent: VecDeque::new(),
        owed: 0.0,
        suspended: Vec::new(),
        base: 0.0,
        used: 0,
        due: 0,
        since: 0.0,
        halted: false,
        stamp: 0,
    };
    config.speeds.iter().enumerate().map(processor).collect()
}

/// The outcome before the first event.
fn unfinished<P: Program>(program: &P, config: &Config) -> Outcome {
    let clusters = config.network.iter().flat_map(|network| network.clusters()).map(|cluster| ClusterOutcome {
        name: cluster.name.clone(),
        site: cluster.site.clone(),
        processors: cluster.processors,
        busy_seconds: 0.0,
        alive_seconds: 0.0,
        idle_share: 0.0,
        local_steals: 0,
        remote_steals: 0,
        bytes: 0,
        load: Load::new(),
    });
    Outcome {
        processors: config.speeds.len(),
        seconds: 0.0,
        work_seconds: seconds(program.size(&program.root()).work),
        span_seconds: program.span().map(seconds),
        average_speed: 0.0,
        tasks: 0,
        steals: 0,
        local_steals: 0,
        remote_steals: 0,
        distant_steals: 0,
        results: 0,
        own_steals: 0,
        failed_attempts: 0,
        lost_seconds: 0.0,
        faults: 0,
        restarts: 0,
        busy_seconds: 0.0,
        alive_seconds: 0.0,
        idle_share: 0.0,
        bytes: 0,
        clusters: clusters.collect(),
        load: Load::new(),
    }
}

/// The share of the possible time in which processors did not work.
fn idle_share(busy: f64, alive: f64) -> f64 {
    if alive > 0.0 { (1.0 - busy / alive).max(0.0) } else { 0.0 }
}

fn seconds(work: Work) -> f64 {
    work as f64 / 1e9
}
