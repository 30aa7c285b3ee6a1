//! The task program: each call is a parent, and a `sum` task waits for the results of its two
//! children.

use super::{Params, is_leaf, serial};
use millpond::{Access, Spawn, Write};

/// Writes Fibonacci number `n` to `r`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, n: u64, params: Params, r: Access<'_, u64, Write, S::Brand>) {
    if is_leaf(params, n) {
        s.spawn(r, move |r| r.set(serial(n)));
        return;
    }
    s.nest(r, move |s, r| {
        let (a, b) = (s.unset(), s.unset());
        tasks(s, n - 1, params, a.write());
        tasks(s, n - 2, params, b.write());
        s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
    });
}

/// The number of tasks. A leaf is one. Any other number has two (itself and its sum), plus its
/// children's.
pub fn count(params: Params) -> u64 {
    super::count_with(params, 1)
}
