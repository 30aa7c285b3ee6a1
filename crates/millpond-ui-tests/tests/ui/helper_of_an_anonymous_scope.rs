//! A helper takes any scope without naming its type, so it cannot name the brand of the handles.

use millpond::{Handle, Spawn};

fn helper<'s>(s: &impl Spawn<'s>, a: &Handle<u32>) {
    s.spawn(a.inout(), |a| *a += 1);
}

fn main() {}
