//! The cost of a portable task, compared with the same closure, in nanoseconds per task.
//!
//! `cargo bench --profile max -p millpond-dist --bench portable [-- TEXT]` runs the rows whose name
//! has that text. The rounds alternate. The result is the median of each row, and the median of the
//! rounds' ratios.

use std::time::Instant;

use millpond::{Access, Handle, Inline, Out, Runtime, Spawn, Write};
use millpond_dist::{Handles, ParentScope, Portable, PortableParent, R, Rw, SpawnPortable, TaskPortable, W, portable};
use serde::{Deserialize, Serialize};

/// Leaves per round.
const LEAVES: u64 = 200_000;
/// The Fibonacci number of a round.
const N: u64 = 21;
const ROUNDS: usize = 41;

struct Row {
    name: &'static str,
    runtime: Runtime,
    closures: fn(&Runtime) -> f64,
    portable: fn(&Runtime) -> f64,
}

fn main() {
    let rt = |workers, inline| Runtime::builder().workers(workers).inline(inline).build().expect("a runtime");
    let leaves = |name, inline| Row { name, runtime: rt(1, inline), closures: leaf_closures, portable: leaf_portable };
    let named = Row {
        name: "leaf with a name, at once",
        runtime: rt(1, Inline::Auto),
        closures: named_closures,
        portable: named_portable,
    };
    let tree = |name, workers| Row {
        name,
        runtime: rt(workers, Inline::Auto),
        closures: fib_closures,
        portable: fib_portable,
    };
    let rows = [
        leaves("leaf, 2 accesses, at once", Inline::Auto),
        leaves("leaf, 2 accesses, queued", Inline::Never),
        named,
        tree("parents: fib, no cutoff", 1),
        tree("parents: fib, no cutoff, 2 workers", 2),
    ];
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or_default();
    println!("{:<36} {:>9} {:>9} {:>7}", "nanoseconds a task", "closure", "portable", "ratio");
    for row in rows.iter().filter(|row| row.name.contains(&only)) {
        let (mut closures, mut portable, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let first = (round % 2 == 0).then(|| (row.closures)(&row.runtime));
            let of_portable = (row.portable)(&row.runtime);
            let of_closures = first.unwrap_or_else(|| (row.closures)(&row.runtime));
            closures.push(of_closures);
            portable.push(of_portable);
            ratios.push(of_portable / of_closures);
        }
        let [closures, portable, ratio] = [closures, portable, ratios].map(median);
        println!("{:<36} {closures:>9.1} {portable:>9.1} {ratio:>7.3}", row.name);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn nanoseconds(start: Instant, n: u64) -> f64 {
    start.elapsed().as_nanos() as f64 / n as f64
}

/// A round of leaves. `spawn` gets a scope, the number to add, the sum, and a factor.
macro_rules! leaves {
    ($rt:ident, |$s:ident, $a:ident, $sum:ident, $scale:ident| $spawn:expr) => {{
        let ($a, $sum) = (Handle::new(1_u64), Handle::new(0_u64));
        let start = Instant::now();
        let spawned = $rt.scope(|$s| {
            for $scale in 0..LEAVES {
                $spawn;
            }
        });
        let time = nanoseconds(start, LEAVES);
        spawned.expect("all run");
        assert_eq!($sum.into_inner().expect("the sum"), LEAVES * (LEAVES - 1) / 2);
        time
    }};
}

fn leaf_closures(rt: &Runtime) -> f64 {
    leaves!(rt, |s, a, sum, scale| s.spawn((a.read(), sum.inout()), move |(a, sum)| *sum += a * scale))
}

fn leaf_portable(rt: &Runtime) -> f64 {
    leaves!(rt, |s, a, sum, scale| s.spawn_portable((a.read(), sum.inout()), AddScaled { scale }))
}

fn named_closures(rt: &Runtime) -> f64 {
    leaves!(rt, |s, a, sum, scale| s
        .task("add")
        .index([scale as usize])
        .spawn((a.read(), sum.inout()), move |(a, sum)| *sum += a * scale))
}

fn named_portable(rt: &Runtime) -> f64 {
    leaves!(rt, |s, a, sum, scale| s
        .task("add")
        .index([scale as usize])
        .spawn_portable((a.read(), sum.inout()), AddScaled { scale }))
}

#[derive(Serialize, Deserialize)]
struct AddScaled {
    scale: u64,
}

impl Portable for AddScaled {
    type Access = (R<u64>, Rw<u64>);

    fn run(self, (a, sum): (&u64, &mut u64)) {
        *sum += a * self.scale;
    }
}

portable!(AddScaled, "bench.add");

/// A round of a tree. All its tasks except the sums are parents.
fn tree(rt: &Runtime, root: impl FnOnce(&Runtime, &Handle<u64>)) -> f64 {
    // The number of calls is twice the number of leaves of fib(n + 1), minus one. Each call with
    // children has a sum.
    let (mut leaves, mut next) = (1_u64, 1_u64);
    for _ in 0..N {
        (leaves, next) = (next, leaves + next);
    }
    let tasks = 2 * leaves - 1 + leaves - 1;
    let result = Handle::unset();
    let start = Instant::now();
    root(rt, &result);
    let time = nanoseconds(start, tasks);
    assert_eq!(result.into_inner().expect("the number"), next - leaves);
    time
}

fn fib_closures(rt: &Runtime) -> f64 {
    fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
        s.nest(r, move |s, r| {
            if n < 2 {
                return s.set(&r, n);
            }
            let (a, b) = (s.unset(), s.unset());
            fib(s, n - 1, a.write());
            fib(s, n - 2, b.write());
            s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
        });
    }
    tree(rt, |rt, r| rt.scope(|s| fib(s, N, r.write())).expect("all run"))
}

fn fib_portable(rt: &Runtime) -> f64 {
    tree(rt, |rt, r| {
        rt.scope(|s| {
            s.nest_portable(r.write(), Fib { n: N });
        })
        .expect("all run");
    })
}

#[derive(Serialize, Deserialize)]
struct Fib {
    n: u64,
}

impl PortableParent for Fib {
    type Access = W<u64>;

    fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
        if self.n < 2 {
            return s.set(&r, self.n);
        }
        let (a, b) = (s.unset(), s.unset());
        s.nest_portable(a.write(), Fib { n: self.n - 1 });
        s.nest_portable(b.write(), Fib { n: self.n - 2 });
        s.spawn_portable((a.read(), b.read(), r.write()), Sum);
    }
}

portable!(Fib, "bench.fib");

#[derive(Serialize, Deserialize)]
struct Sum;

impl Portable for Sum {
    type Access = (R<u64>, R<u64>, W<u64>);

    fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
        r.set(a + b);
    }
}

portable!(Sum, "bench.sum");
