//! The annotations of the paper's micro-benchmarks ([TG](crate#sources) §2.2, Fig. 6), and the
//! object accessed by all tasks.

use millpond::depend::Mode;
use millpond::{Acc, Handle, Reducer, Root, Spawn, Sum};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, ThreadId};

/// The annotation of a task's access to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotation {
    None,
    Read,
    Write,
    Inout,
    Commutative,
    Concurrent,
    /// A sum of numbers.
    Scalar,
    /// A sum of tiles. The tasks of a worker share a copy, and the copies are combined in a tree
    /// (§2.2).
    Object,
}

/// Every annotation: its name, and the mode that a scheme must order.
pub static ANNOTATIONS: &[(Annotation, &str, Option<Mode>)] = &[
    (Annotation::None, "none", None),
    (Annotation::Read, "read", Some(Mode::Read)),
    (Annotation::Write, "write", Some(Mode::Write)),
    (Annotation::Inout, "inout", Some(Mode::Inout)),
    (Annotation::Commutative, "commutative", Some(Mode::Commutative)),
    (Annotation::Concurrent, "concurrent", Some(Mode::Concurrent)),
    (Annotation::Scalar, "reduce-scalar", Some(Mode::Reduce)),
    (Annotation::Object, "reduce-object", Some(Mode::Reduce)),
];

/// Entries of a tile: 16 × 16, the paper's ([TG](crate#sources) §5.5.1).
const ENTRIES: usize = 256;
/// The value that a `write` stores.
const WRITTEN: u64 = 9;

/// Adds tiles. They are large, so that the runtime combines them in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Add;

impl Reducer<Vec<f64>> for Add {
    const LARGE: bool = true;

    fn identity(&self, like: &Vec<f64>) -> Vec<f64> {
        vec![0.0; like.len()]
    }
    fn combine(&self, into: &mut Vec<f64>, part: Vec<f64>) {
        into.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
}

/// The object accessed by all tasks of a run: a number, and a tile for reductions of objects.
pub struct Object {
    number: Handle<u64>,
    tile: Handle<Vec<f64>>,
    /// The number's value before the tasks run. Readers must find it.
    first: u64,
    /// Whether a reader found another value, or the object was not held.
    wrong: AtomicBool,
}

/// The tile that the artificial task leaves.
fn first_tile() -> Vec<f64> {
    let mut tile = vec![0.0; ENTRIES];
    tile[0] = 1.0;
    tile
}

/// Blocks an active task until all others are spawned.
pub struct Gate {
    open: AtomicBool,
    spawner: ThreadId,
}

impl Gate {
    /// A closed gate. This thread opens it.
    pub fn new() -> Self {
        Self { open: AtomicBool::new(false), spawner: thread::current().id() }
    }

    /// Releases the task.
    pub fn open(&self) {
        self.open.store(true, Relaxed);
    }

    /// Waits, and returns whether the gate is open. The spawner cannot wait: with one worker, it
    /// calls this after all spawns.
    pub fn pass(&self) -> bool {
        while !self.open.load(Relaxed) && thread::current().id() != self.spawner {
            thread::yield_now();
        }
        self.open.load(Relaxed)
    }
}

impl Object {
    /// An object, and whether a task holds it at first.
    pub fn new(held: bool) -> Self {
        let first = u64::from(held);
        Self { number: Handle::new(0), tile: Handle::new(vec![0.0; ENTRIES]), first, wrong: AtomicBool::new(false) }
    }

    /// Spawns the artificial active task ([TG](crate#sources) §5.2). It is a parent, because a
    /// parent never runs at its spawn.
    pub fn hold<'s, S: Spawn<'s, Brand = Root>>(&'s self, s: &S, annotation: Annotation, gate: &'s Gate) {
        if annotation == Annotation::Object {
            s.nest(self.tile.inout(), |s, tile| {
                self.held(gate.pass());
                s.set(&tile, first_tile());
            });
        } else {
            s.nest(self.number.inout(), |s, number| {
                self.held(gate.pass());
                s.set(&number, 1);
            });
        }
    }

    fn held(&self, held: bool) {
        self.wrong.fetch_or(!held, Relaxed);
    }

    /// Spawns tasks that all have the same annotation.
    pub fn spawn<'s, S: Spawn<'s, Brand = Root>>(&'s self, s: &S, annotation: Annotation, tasks: u64) {
        // The annotation is matched once, and each loop is compiled for its tasks alone.
        match annotation {
            Annotation::None => (0..tasks).for_each(|_| drop(s.spawn((), |()| self.nothing()))),
            Annotation::Read => (0..tasks).for_each(|_| drop(s.spawn(self.number.read(), |n| self.check(n)))),
            Annotation::Write => (0..tasks).for_each(|_| drop(s.spawn(self.number.write(), |n| n.set(self.written())))),
            Annotation::Inout => (0..tasks).for_each(|_| drop(s.spawn(self.number.inout(), |n| self.count(n)))),
            Annotation::Commutative => {
                (0..tasks).for_each(|_| drop(s.spawn(self.number.commutative(), |n| self.count(n))));
            }
            Annotation::Concurrent => {
                (0..tasks).for_each(|_| drop(s.spawn(self.number.concurrent(), |n| self.check(n))));
            }
            Annotation::Scalar => (0..tasks).for_each(|_| drop(s.spawn(self.number.reduce(Sum), |n| self.count(n)))),
            Annotation::Object => (0..tasks).for_each(|_| drop(s.spawn(self.tile.accumulate(Add), |t| self.add(t)))),
        }
    }

    /// Spawns the generation before one of this annotation: readers of the same datum. Other
    /// readers would join them, so there the tasks are `concurrent`, with the same body.
    pub fn spawn_before<'s, S: Spawn<'s, Brand = Root>>(&'s self, s: &S, annotation: Annotation, tasks: u64) {
        match annotation {
            Annotation::Object => {
                (0..tasks).for_each(|_| drop(s.spawn(self.tile.read(), |tile| self.check_tile(tile))));
            }
            Annotation::Read => self.spawn(s, Annotation::Concurrent, tasks),
            _ => self.spawn(s, Annotation::Read, tasks),
        }
    }

    // The bodies: a call, and a result that can be checked afterwards. All capture the same
    // reference, so that their blocks differ only in their accesses.

    #[inline(never)]
    fn nothing(&self) {
        black_box(self);
    }

    #[inline(never)]
    fn check(&self, n: &u64) {
        if *n != self.first {
            self.wrong.store(true, Relaxed);
        }
    }

    #[inline(never)]
    fn check_tile(&self, tile: &[f64]) {
        if tile[0] != self.first as f64 {
            self.wrong.store(true, Relaxed);
        }
    }

    #[inline(never)]
    fn written(&self) -> u64 {
        black_box(WRITTEN)
    }

    #[inline(never)]
    fn count(&self, n: &mut u64) {
        *n += 1;
    }

    #[inline(never)]
    fn add(&self, mut tile: Acc<'_, Vec<f64>, Add>) {
        tile.partial()[0] += 1.0;
    }

    /// Whether the object has the serial program's value after this number of tasks, and readers
    /// saw the right one.
    pub fn right(self, annotation: Annotation, tasks: u64) -> Result<bool, millpond::Error> {
        let (number, tile) = (self.number.into_inner()?, self.tile.into_inner()?);
        let found = match annotation {
            Annotation::None | Annotation::Read | Annotation::Concurrent => number == self.first,
            Annotation::Write => number == if tasks > 0 { WRITTEN } else { self.first },
            Annotation::Inout | Annotation::Commutative | Annotation::Scalar => number == self.first + tasks,
            Annotation::Object => tile.iter().sum::<f64>() == (self.first + tasks) as f64,
        };
        Ok(found && !self.wrong.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::{Inline, Runtime};

    #[test]
    fn tasks_that_did_not_run_are_noticed() {
        let runtime = Runtime::builder().workers(2).build().expect("a runtime");
        for &(annotation, name, _) in ANNOTATIONS {
            let after = |spawned, claimed| {
                let object = Object::new(false);
                runtime.scope(|s| object.spawn(s, annotation, spawned)).expect("nothing fails");
                object.right(annotation, claimed).expect("a value")
            };
            assert!(after(7, 7), "{name}");
            // The runtime counts the bodies that store nothing.
            let leaves_nothing = matches!(annotation, Annotation::None | Annotation::Read | Annotation::Concurrent);
            assert!(leaves_nothing || !after(0, 7), "{name}");
        }
    }

    #[test]
    fn the_artificial_task_never_runs_at_its_spawn() {
        for inline in [Inline::Never, Inline::Always] {
            let runtime = Runtime::builder().workers(1).inline(inline).build().expect("a runtime");
            for &(annotation, name, _) in ANNOTATIONS {
                let (object, gate) = (Object::new(true), Gate::new());
                let ran = runtime.scope(|s| {
                    object.hold(s, annotation, &gate);
                    object.spawn_before(s, annotation, 5);
                    object.spawn(s, annotation, 7);
                    gate.open();
                });
                ran.expect("nothing fails");
                assert!(object.right(annotation, 7).expect("a value"), "{name}, {inline:?}");
            }
        }
    }

    #[test]
    fn readers_that_come_too_early_are_noticed() {
        let (runtime, object) = (Runtime::builder().workers(2).build().expect("a runtime"), Object::new(true));
        // No task has held the object.
        runtime.scope(|s| object.spawn(s, Annotation::Read, 1)).expect("nothing fails");
        assert!(!object.right(Annotation::Read, 1).expect("a value"));
    }
}
