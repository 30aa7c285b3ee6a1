//! The number of atomic read-modify-writes that dependence tracking costs per task, if every task
//! goes through the pool. More processors do not make these cheaper. `.ci/run scheme` prints the
//! table.

use super::Scheme;
use crate::sync::tracked::{one_counts, read_modify_writes};
use crate::{DefaultMemory, DefaultPool, Engine, Handle, Inline, Parts, Runtime, Spawn, StackEngine};

/// A program: it spawns its tasks, and returns their number.
struct Shape {
    name: &'static str,
    /// The limit for the default scheme.
    most: f64,
    handles: usize,
    spawn: fn(&dyn Spawner, usize) -> u32,
}

/// Spawns a task by its accesses: the indices of the handles that it reads, and of those that it
/// changes.
trait Spawner {
    fn spawn(&self, reads: &[usize], changes: &[usize]);
}

struct On<'a, S> {
    scope: &'a S,
    handles: &'a [Handle<u64>],
}

impl<'s, S: Spawn<'s, Brand = crate::Root>> Spawner for On<'_, S> {
    fn spawn(&self, reads: &[usize], changes: &[usize]) {
        let reads: Vec<_> = reads.iter().map(|&at| self.handles[at].read()).collect();
        let changes: Vec<_> = changes.iter().map(|&at| self.handles[at].inout()).collect();
        self.scope.spawn((reads, changes), |(_, changes)| changes.into_iter().for_each(|x| *x += 1));
    }
}

const CHAIN: u32 = 10_000;
const TILES: usize = 64;
const MANY: usize = 20;

fn chain(s: &dyn Spawner, _handles: usize) -> u32 {
    (0..CHAIN).for_each(|_| s.spawn(&[], &[0]));
    CHAIN
}

fn cholesky(s: &dyn Spawner, _handles: usize) -> u32 {
    let at = |row: usize, column: usize| row * TILES + column;
    let mut tasks = 0;
    let mut spawn = |reads: &[usize], changes: &[usize]| {
        s.spawn(reads, changes);
        tasks += 1;
    };
    for k in 0..TILES {
        spawn(&[], &[at(k, k)]);
        (k + 1..TILES).for_each(|i| spawn(&[at(k, k)], &[at(i, k)]));
        for i in k + 1..TILES {
            spawn(&[at(i, k)], &[at(i, i)]);
            (k + 1..i).for_each(|j| spawn(&[at(i, k), at(j, k)], &[at(i, j)]));
        }
    }
    tasks
}

fn many_accesses(s: &dyn Spawner, handles: usize) -> u32 {
    let all: Vec<_> = (0..handles).collect();
    (0..1000).for_each(|_| s.spawn(&[], &all));
    1000
}

static SHAPES: &[Shape] = &[
    Shape { name: "chain", most: 2.1, handles: 1, spawn: chain },
    Shape { name: "cholesky-graph", most: 4.5, handles: TILES * TILES, spawn: cholesky },
    Shape { name: "20 accesses", most: 22.0, handles: MANY, spawn: many_accesses },
];

/// Returns the number of read-modify-writes per task.
fn measure<E: Engine>(shape: &Shape, runtime: &Runtime<E>) -> f64 {
    let handles: Vec<_> = (0..shape.handles).map(|_| Handle::new(0_u64)).collect();
    let before = read_modify_writes();
    let tasks = runtime.scope(|scope| (shape.spawn)(&On { scope, handles: &handles }, shape.handles));
    (read_modify_writes() - before) as f64 / f64::from(tasks.expect("no task fails"))
}

fn read_modify_writes_a_task<D: Scheme>() {
    of_engine::<Parts<DefaultMemory, DefaultPool, D>>(D::NAME);
}

fn of_engine<E: Engine>(name: &str) {
    let _one = one_counts();
    for workers in [1, 2] {
        let builder = Runtime::builder().workers(workers).inline(Inline::Never);
        let runtime = builder.build_with::<E>().expect("every choice is in its range");
        for shape in SHAPES {
            let found = measure(shape, &runtime);
            println!("{workers} workers  {:20} {:15} {found:6.2} read-modify-writes a task", name, shape.name);
            // With other workers, a failed compare-and-swap counts too.
            let most = if workers == 1 { shape.most } else { shape.most * 1.15 };
            let most = match name {
                "parked" => most,
                // The owner makes none. With two workers there are thieves, which make some.
                StackEngine::NAME if workers == 1 => 0.0,
                _ => f64::INFINITY,
            };
            assert!(found <= most, "{}, {}: {found}, must be at most {most}", name, shape.name);
        }
    }
}

fn run<D: Scheme>(test: fn()) {
    println!("scheme {}", D::NAME);
    test();
}

tests_of_every_scheme! { run; read_modify_writes_a_task }

mod stack {
    #[test]
    fn read_modify_writes_a_task() {
        super::of_engine::<super::StackEngine>(super::StackEngine::NAME);
    }
}
