//! The task program with recording. A task pool has no recorder, so each task records itself. It
//! records when it was put, when and by which worker it ran, and which tasks it put. This is the
//! schedule of [TP](crate#sources) Figure 1.
//!
//! If a worker takes a task put after the end of the worker's last task, it was idle since that
//! end. All other time between two tasks of a worker counts as the pool's overhead. A task counts
//! as stolen if it runs on another worker than the one where it was put.

use super::tasks::{Step, with_parts};
use super::{Params, tasks};
use crate::workload::{PoolParts, Probe};
use millpond::memory::Memory;
use millpond::pool::Pool;
use millpond::record::{Event, Id, Role, Sink, Track, What, ticks};
use millpond::taskpool::{TaskPool, Worker};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of all tasks: `A(i)`.
const NAME: &str = "A";

/// The id of the scope that puts the initial tasks.
const SCOPE: Id = 1;

/// The number of events in a buffer before the sink gets them.
const BUFFER_EVENTS: usize = 4096;

/// The event buffers of the workers, and their sink.
struct Buffers<'s> {
    sink: &'s dyn Sink,
    buffers: Box<[Mutex<Buffer>]>,
}

/// The event buffer of one worker, which alone uses it while tasks run.
struct Buffer {
    track: Track,
    events: Vec<Event>,
    /// The number of its assigned task ids.
    numbers: u64,
    /// The end of its last task.
    ended: u64,
}

/// A task with the data of its recording.
#[derive(Clone, Copy)]
struct Recorded<'t> {
    step: Step,
    id: Id,
    /// When it was put.
    put: u64,
    /// The index of the worker where it was put.
    home: usize,
    buffers: &'t Buffers<'t>,
}

/// Like [`tasks`](super::tasks()), but also records each task to `sink`. The recording is like a
/// runtime's with the same number of workers.
///
/// ```
/// use millpond::Idle;
/// use millpond::catalogue::Registry;
/// use millpond::pool::params::Params as PoolParams;
/// use millpond::record::{Event, Sink, Track, What};
/// use millpond_workloads::synthetic::{Params, count, record};
/// use millpond_workloads::{PoolParts, Stopwatch};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Started(AtomicU64);
/// impl Sink for Started {
///     fn take(&self, _track: Track, events: &[Event]) {
///         let started = events.iter().filter(|event| matches!(event.what, What::Started { .. }));
///         self.0.fetch_add(started.count() as u64, Ordering::Relaxed);
///     }
/// }
///
/// let registry = Registry::default();
/// let (pool, memory) = (registry.pool("dq8", PoolParams::default())?, registry.memory_manager("default")?);
/// let parts = PoolParts { workers: 2, pool, memory, idle: Idle::default() };
/// let (params, started) = (Params { k: 12, f: 0 }, Started::default());
/// assert_eq!(record(params, &parts, &mut Stopwatch::default(), &started), count(12));
/// assert_eq!(started.0.into_inner(), count(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record(params: Params, parts: &PoolParts, probe: &mut dyn Probe, sink: &dyn Sink) -> u64 {
    let buffers = Buffers::new(sink, parts.workers);
    with_parts!(parts, M, P, memory, pool => {
        let pool: TaskPool<Recorded<'_>, M, P> = TaskPool::create_with(parts.workers, memory, pool, parts.idle);
        probe.start();
        init(&pool, params, &buffers);
        pool.run_all();
        probe.stop();
        buffers.finish();
        tasks::ran(&pool)
    })
}

/// Puts the initial tasks, like `tasks::init`.
fn init<'t, M: Memory, P: Pool>(
    pool: &TaskPool<Recorded<'t>, M, P>,
    Params { k, f }: Params,
    buffers: &'t Buffers<'t>,
) {
    let mut buffer = buffers.of(0);
    buffer.record(What::Opened { scope: SCOPE, within: 0, place: Location::caller() });
    for (nth, i) in (0..k as i64).rev().enumerate() {
        let home = nth % pool.workers();
        let child = buffer.puts(SCOPE, nth as u64, Step { i, f }, home, buffers);
        pool.init(home, task, child);
        buffer.record(What::Issued { body: SCOPE });
    }
    buffer.ends(SCOPE);
}

fn task<'t, M: Memory, P: Pool>(worker: &mut Worker<'_, Recorded<'t>, M, P>, this: Recorded<'t>) {
    let Recorded { step, id, buffers, .. } = this;
    let (own, mut children) = (worker.number(), 0);
    let mut buffer = buffers.of(own);
    buffer.starts(this, own);
    step.run(|child| {
        let child = buffer.puts(id, children, child, own, buffers);
        children += 1;
        worker.put(task, child);
        buffer.record(What::Issued { body: id });
    });
    buffer.ends(id);
    if buffer.events.len() >= BUFFER_EVENTS {
        buffer.give(buffers.sink);
    }
}

impl<'s> Buffers<'s> {
    fn new(sink: &'s dyn Sink, workers: usize) -> Self {
        let track = |number| Track { number, worker: Some(number) };
        let buffer = |number| Buffer { track: track(number), events: Vec::new(), numbers: SCOPE, ended: 0 };
        Buffers { sink, buffers: (0..workers as u32).map(|number| Mutex::new(buffer(number))).collect() }
    }

    fn of(&self, worker: usize) -> MutexGuard<'_, Buffer> {
        self.buffers[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tasks have run.
    fn finish(&self) {
        for worker in 0..self.buffers.len() {
            let mut buffer = self.of(worker);
            if buffer.ended > 0 {
                let idle = Event { at: buffer.ended, what: What::Idle };
                buffer.events.push(idle);
            }
            if worker == 0 {
                buffer.record(What::Completed { body: SCOPE });
            }
            buffer.give(self.sink);
        }
    }
}

impl Buffer {
    fn record(&mut self, what: What) -> u64 {
        let at = ticks();
        self.events.push(Event { at, what });
        at
    }

    /// A body puts a task.
    fn puts<'t>(&mut self, body: Id, order: u64, step: Step, home: usize, buffers: &'t Buffers<'t>) -> Recorded<'t> {
        self.numbers += 1;
        // Unique, like a runtime's ids. The ids of one track are consecutive.
        let id = (u64::from(self.track.number) << 40) | self.numbers;
        let put = self.record(What::Spawning { body });
        // A task of a pool is complete with its body.
        let (role, place) = (Role::Leaf, Location::caller());
        self.record(What::Spawned { role, task: id, spawner: body, order, place });
        self.record(What::Named { name: NAME });
        if let Ok(index) = u32::try_from(step.i) {
            self.record(What::Indexed { count: 1, indices: [index, 0, 0, 0] });
        }
        Recorded { step, id, put, home, buffers }
    }

    fn starts(&mut self, task: Recorded<'_>, worker: usize) {
        if (1..task.put).contains(&self.ended) {
            self.events.push(Event { at: self.ended, what: What::Idle });
        }
        if task.home != worker {
            self.record(What::Stole);
        }
        self.record(What::Started { task: task.id });
    }

    fn ends(&mut self, body: Id) {
        self.ended = self.record(What::Ended { body, ok: true });
    }

    fn give(&mut self, sink: &dyn Sink) {
        sink.take(self.track, &self.events);
        self.events.clear();
    }
}
