//! The task program as portable tasks: a struct for each closure.

use super::{Params, is_leaf, serial};
use millpond::{Access, In, Out, Spawn, Write};
use millpond_dist::{Handles, ParentScope, Portable, PortableParent, R, SpawnPortable, W, portable};
use serde::{Deserialize, Serialize};

/// Writes Fibonacci number `n` to `r`.
pub fn portable<'s, S: Spawn<'s>>(s: &S, n: u64, params: Params, r: Access<'_, u64, Write, S::Brand>) {
    if is_leaf(params, n) {
        s.spawn_portable(r, Leaf { n });
    } else {
        s.nest_portable(r, Fib { n, params });
    }
}

/// The same in a task.
fn call<'t>(s: &impl ParentScope<'t>, n: u64, params: Params, r: Access<'_, u64, Write, In<'t>>) {
    if is_leaf(params, n) {
        s.spawn_portable(r, Leaf { n });
    } else {
        s.nest_portable(r, Fib { n, params });
    }
}

/// A number computed without further tasks.
#[derive(Serialize, Deserialize)]
struct Leaf {
    n: u64,
}

impl Portable for Leaf {
    type Access = W<u64>;

    fn run(self, r: Out<'_, u64>) {
        r.set(serial(self.n));
    }
}

portable!(Leaf, "fib.leaf");

/// A number, as the sum of two others.
#[derive(Serialize, Deserialize)]
struct Fib {
    n: u64,
    params: Params,
}

impl PortableParent for Fib {
    type Access = W<u64>;

    fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
        let (a, b) = (s.unset(), s.unset());
        call(s, self.n - 1, self.params, a.write());
        call(s, self.n - 2, self.params, b.write());
        s.spawn_portable((a.read(), b.read(), r.write()), Sum);
    }
}

portable!(Fib, "fib");

/// The sum.
#[derive(Serialize, Deserialize)]
struct Sum;

impl Portable for Sum {
    type Access = (R<u64>, R<u64>, W<u64>);

    fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
        r.set(a + b);
    }
}

portable!(Sum, "fib.sum");
