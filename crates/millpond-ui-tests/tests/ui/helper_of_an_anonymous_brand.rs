//! A helper takes a handle of any brand, and any scope: nothing says that they match.

use millpond::{Handle, Spawn};

fn helper<'s, B>(s: &impl Spawn<'s>, a: &Handle<u32, B>) {
    s.spawn(a.inout(), |a| *a += 1);
}

fn main() {}
